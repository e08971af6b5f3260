#include "coding.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace omtree {

namespace {

/// Rows handled at a time: small enough for their scratch space to stay in the first cache.
constexpr std::size_t kBlock = 512;
/// Up to here comparing with every threshold (vectorised) beats a binary search.
constexpr std::size_t kFewThresholds = 24;

void prefetch([[maybe_unused]] const void *address) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(address, 1);
#endif
}

void bin_block_linear(const double *values, std::size_t size, std::span<const double> thresholds, std::uint8_t *codes) {
    // Counters as wide as the numbers, so that comparing and counting stay in the same vector lanes.
    std::array<std::int64_t, kBlock> count{};
    for (const double threshold : thresholds) {
        for (std::size_t i = 0; i < size; ++i) {
            count[i] += threshold <= values[i] ? 1 : 0;
        }
    }
    for (std::size_t i = 0; i < size; ++i) {
        codes[i] = static_cast<std::uint8_t>(count[i]);
    }
}

void bin_block_search(const double *values, std::size_t size, std::span<const double> thresholds, std::uint8_t *codes) {
    for (std::size_t i = 0; i < size; ++i) {
        const auto above = std::upper_bound(thresholds.begin(), thresholds.end(), values[i]);
        codes[i] = static_cast<std::uint8_t>(above - thresholds.begin());
    }
}

/// Where the code of a feature sits in the packed key of a row.
struct Field {
    std::size_t word;
    int shift;
};

/// Lays the features side by side into 64-bit words, each as wide as its largest code needs.
std::vector<Field> key_layout(std::span<const std::uint8_t> codes, std::size_t n_rows, std::size_t &n_words) {
    std::vector<Field> fields;
    std::size_t word = 0;
    int used = 0;
    for (std::size_t begin = 0; begin < codes.size(); begin += n_rows) {
        unsigned all = 0;
        for (std::size_t i = 0; i < n_rows; ++i) {
            all |= codes[begin + i];
        }
        const int width = std::bit_width(all);
        if (used + width > 64) {
            ++word;
            used = 0;
        }
        fields.push_back({word, used});
        used += width;
    }
    n_words = word + 1;
    return fields;
}

/// An open-addressing set of packed rows.
class RowSet {
  public:
    explicit RowSet(std::size_t n_words) : words_(n_words), slots_(kFirstCapacity) {}

    void prefetch_slot(std::uint64_t hash) const { prefetch(&slots_[hash & (slots_.size() - 1)]); }

    /// Number of the row with this key; the key at `key, key + step, ...` is added when it is new.
    std::uint32_t insert(const std::uint64_t *key, std::size_t step, std::uint64_t hash, bool &is_new) {
        const auto tag = static_cast<std::uint32_t>(hash >> 32);
        std::size_t place = hash & (slots_.size() - 1);
        for (; slots_[place].row != kEmpty; place = (place + 1) & (slots_.size() - 1)) {
            if (slots_[place].tag == tag && equal(slots_[place].row, key, step)) {
                is_new = false;
                return slots_[place].row;
            }
        }
        is_new = true;
        const auto row = static_cast<std::uint32_t>(hashes_.size());
        slots_[place] = {tag, row};
        hashes_.push_back(hash);
        for (std::size_t w = 0; w < words_; ++w) {
            keys_.push_back(key[w * step]);
        }
        if (2 * hashes_.size() > slots_.size()) {
            grow();
        }
        return row;
    }

  private:
    static constexpr std::uint32_t kEmpty = std::numeric_limits<std::uint32_t>::max();
    static constexpr std::size_t kFirstCapacity = 1024;

    struct Slot {
        std::uint32_t tag = 0;
        std::uint32_t row = kEmpty;
    };

    bool equal(std::uint32_t row, const std::uint64_t *key, std::size_t step) const {
        const std::uint64_t *mine = keys_.data() + row * words_;
        for (std::size_t w = 0; w < words_; ++w) {
            if (mine[w] != key[w * step]) {
                return false;
            }
        }
        return true;
    }

    void grow() {
        slots_.assign(4 * slots_.size(), Slot{});
        const std::size_t mask = slots_.size() - 1;
        for (std::size_t row = 0; row < hashes_.size(); ++row) {
            std::size_t place = hashes_[row] & mask;
            while (slots_[place].row != kEmpty) {
                place = (place + 1) & mask;
            }
            slots_[place] = {static_cast<std::uint32_t>(hashes_[row] >> 32), static_cast<std::uint32_t>(row)};
        }
    }

    std::size_t words_;
    std::vector<Slot> slots_;
    std::vector<std::uint64_t> hashes_;
    std::vector<std::uint64_t> keys_;
};

} // namespace

void bin_codes(Numbers values, std::span<const double> thresholds, std::uint8_t missing,
               std::span<std::uint8_t> codes) {
    std::array<double, kBlock> block;
    for (std::size_t begin = 0; begin < values.size; begin += kBlock) {
        const std::size_t size = std::min(kBlock, values.size - begin);
        for (std::size_t i = 0; i < size; ++i) {
            block[i] = values[begin + i];
        }
        std::uint8_t *out = codes.data() + begin;
        if (thresholds.size() <= kFewThresholds) {
            bin_block_linear(block.data(), size, thresholds, out);
        } else {
            bin_block_search(block.data(), size, thresholds, out);
        }
        for (std::size_t i = 0; i < size; ++i) {
            out[i] = std::isnan(block[i]) ? missing : out[i];
        }
    }
}

std::vector<std::int64_t> merge_rows(std::span<const std::uint8_t> codes, std::span<std::int64_t> row_of) {
    const std::size_t n_rows = row_of.size();
    std::vector<std::int64_t> first;
    if (n_rows == 0) {
        return first;
    }
    if (n_rows >= std::numeric_limits<std::uint32_t>::max()) {
        throw std::length_error("merge_rows: more than 2^32 - 2 rows");
    }
    std::size_t n_words = 0;
    const std::vector<Field> fields = key_layout(codes, n_rows, n_words);
    std::vector<std::uint64_t> keys(n_words * kBlock); // word by word, the rows of a block side by side
    std::array<std::uint64_t, kBlock> hash;
    RowSet seen(n_words);
    for (std::size_t begin = 0; begin < n_rows; begin += kBlock) {
        const std::size_t size = std::min(kBlock, n_rows - begin);
        std::fill(keys.begin(), keys.end(), 0);
        for (std::size_t f = 0; f < fields.size(); ++f) {
            const std::uint8_t *code = codes.data() + f * n_rows + begin;
            std::uint64_t *key = keys.data() + fields[f].word * kBlock;
            const int shift = fields[f].shift;
            for (std::size_t i = 0; i < size; ++i) {
                key[i] |= static_cast<std::uint64_t>(code[i]) << shift;
            }
        }
        for (std::size_t i = 0; i < size; ++i) {
            std::uint64_t h = 0;
            for (std::size_t w = 0; w < n_words; ++w) {
                h = (h ^ keys[w * kBlock + i]) * 0x9E3779B97F4A7C15u;
                h ^= h >> 32;
            }
            hash[i] = h * 0xD6E8FEB86659FD93u;
            hash[i] ^= hash[i] >> 32;
            seen.prefetch_slot(hash[i]);
        }
        for (std::size_t i = 0; i < size; ++i) {
            bool is_new = false;
            row_of[begin + i] = seen.insert(keys.data() + i, kBlock, hash[i], is_new);
            if (is_new) {
                first.push_back(static_cast<std::int64_t>(begin + i));
            }
        }
    }
    return first;
}

} // namespace omtree
