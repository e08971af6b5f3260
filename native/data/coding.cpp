#include "data/coding.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "core/clones.hpp"
#include "data/threshold_finder.hpp"

namespace omtree {

namespace {

/// Rows handled at a time: small enough for their scratch space to stay in the first cache.
constexpr std::size_t kBlock = 512;
/// Up to here comparing with every threshold (vectorised) beats a search.
constexpr std::size_t kFewThresholds = 8;

void prefetch([[maybe_unused]] const void *address) {
#if defined(__GNUC__) || defined(__clang__)
    __builtin_prefetch(address, 1);
#endif
}

OMTREE_CLONES
void bin_block_linear(const double *values, std::size_t size, std::span<const double> thresholds, std::uint8_t missing,
                      std::uint8_t *codes) {
    // Counters as wide as the numbers, so that comparing and counting stay in the same vector lanes.
    std::array<std::int64_t, kBlock> count{};
    for (const double threshold : thresholds) {
        for (std::size_t i = 0; i < size; ++i) {
            count[i] += threshold <= values[i] ? 1 : 0;
        }
    }
    for (std::size_t i = 0; i < size; ++i) {
        count[i] = values[i] == values[i] ? count[i] : missing;
    }
    for (std::size_t i = 0; i < size; ++i) {
        codes[i] = static_cast<std::uint8_t>(count[i]);
    }
}

OMTREE_CLONES void bin_block_search(const double *values, const ThresholdFinder &finder, std::uint8_t *codes) {
    std::array<std::uint32_t, ThresholdFinder::kAtOnce> at;
    for (std::size_t i = 0; i < kBlock; i += at.size()) {
        finder(values + i, at.data());
        for (std::size_t j = 0; j < at.size(); ++j) {
            codes[i + j] = static_cast<std::uint8_t>(at[j]);
        }
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

/// Hash of the key at `key, key + step, ...`.
std::uint64_t hash_of(const std::uint64_t *key, std::size_t n_words, std::size_t step) {
    std::uint64_t hash = 0;
    for (std::size_t w = 0; w < n_words; ++w) {
        hash = (hash ^ key[w * step]) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 32;
    }
    hash *= 0xD6E8FEB86659FD93u;
    return hash ^ (hash >> 32);
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
        const std::uint32_t row = n_rows_++;
        slots_[place] = {tag, row};
        for (std::size_t w = 0; w < words_; ++w) {
            keys_.push_back(key[w * step]);
        }
        if (2 * std::size_t{n_rows_} > slots_.size()) {
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
        const std::size_t size = 2 * slots_.size();
        slots_ = {}; // before the larger table is there, for the sake of memory
        slots_.resize(size);
        for (std::uint32_t row = 0; row < n_rows_; ++row) {
            const std::uint64_t hash = hash_of(keys_.data() + row * words_, words_, 1);
            std::size_t place = hash & (size - 1);
            while (slots_[place].row != kEmpty) {
                place = (place + 1) & (size - 1);
            }
            slots_[place] = {static_cast<std::uint32_t>(hash >> 32), row};
        }
    }

    std::size_t words_;
    std::vector<Slot> slots_;
    std::uint32_t n_rows_ = 0;
    std::vector<std::uint64_t> keys_;
};

} // namespace

void bin_codes(Numbers values, std::span<const double> thresholds, std::uint8_t missing,
               std::span<std::uint8_t> codes) {
    if (thresholds.size() > ThresholdFinder::kMost) {
        throw std::length_error("bin_codes: more thresholds than codes");
    }
    std::array<double, kBlock> block{};
    std::array<std::uint8_t, kBlock> found;
    const ThresholdFinder finder(thresholds);
    for (std::size_t begin = 0; begin < values.size; begin += kBlock) {
        const std::size_t size = std::min(kBlock, values.size - begin);
        const double *from = values.data + begin;
        if (values.stride != 1) {
            for (std::size_t i = 0; i < size; ++i) {
                block[i] = values[begin + i];
            }
            from = block.data();
        }
        std::uint8_t *out = codes.data() + begin;
        if (thresholds.size() <= kFewThresholds) {
            bin_block_linear(from, size, thresholds, missing, out);
        } else {
            std::copy_n(from, from == block.data() ? 0 : size, block.data());
            bin_block_search(block.data(), finder, found.data());
            for (std::size_t i = 0; i < size; ++i) {
                out[i] = std::isnan(block[i]) ? missing : found[i];
            }
        }
    }
}

std::vector<std::uint32_t> merge_rows(std::span<const std::uint8_t> codes, std::span<std::int64_t> row_of) {
    const std::size_t n_rows = row_of.size();
    std::vector<std::uint32_t> first;
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
            hash[i] = hash_of(keys.data() + i, n_words, kBlock);
            seen.prefetch_slot(hash[i]);
        }
        for (std::size_t i = 0; i < size; ++i) {
            bool is_new = false;
            row_of[begin + i] = seen.insert(keys.data() + i, kBlock, hash[i], is_new);
            if (is_new) {
                first.push_back(static_cast<std::uint32_t>(begin + i));
            }
        }
    }
    return first;
}

void count_classes(std::span<const std::int64_t> row_of, std::span<const std::int64_t> classes,
                   std::span<const double> weights, std::size_t n_classes, std::span<double> counts) {
    for (std::size_t i = 0; i < row_of.size(); ++i) {
        const auto row = static_cast<std::size_t>(row_of[i]);
        const auto label = static_cast<std::size_t>(classes[i]);
        if (label >= n_classes || row * n_classes + label >= counts.size()) {
            throw std::out_of_range("count_classes: no such row or class");
        }
        counts[row * n_classes + label] += weights.empty() ? 1.0 : weights[i];
    }
}

std::vector<double> count_codes(std::span<const std::int32_t> codes, std::size_t n_codes,
                                std::span<const std::int64_t> classes, std::size_t n_classes,
                                std::span<const double> weights) {
    const auto place_of = [&](std::size_t i) {
        const auto code = static_cast<std::size_t>(std::int64_t{codes[i]} + 1);
        const auto label = classes.empty() ? std::size_t{0} : static_cast<std::size_t>(classes[i]);
        if (code > n_codes || label >= n_classes) {
            throw std::out_of_range("count_codes: no such code or class");
        }
        return code * n_classes + label;
    };
    std::vector<double> total((n_codes + 1) * n_classes);
    if (!weights.empty()) {
        for (std::size_t i = 0; i < codes.size(); ++i) {
            total[place_of(i)] += weights[i];
        }
        return total;
    }
    // Neighbours that are alike would wait for each other if they were counted in the same place.
    constexpr std::size_t kLanes = 4;
    std::vector<std::array<std::int64_t, kLanes>> count(total.size());
    for (std::size_t i = 0; i < codes.size(); ++i) {
        ++count[place_of(i)][i % kLanes];
    }
    for (std::size_t place = 0; place < total.size(); ++place) {
        total[place] = static_cast<double>(count[place][0] + count[place][1] + count[place][2] + count[place][3]);
    }
    return total;
}

} // namespace omtree
