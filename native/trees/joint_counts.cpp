#include "trees/joint_counts.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <string>

#include "trees/joint_bits.hpp"

namespace omtree {
namespace {

/// Rows at a time: their places in all tables stay in cache.
constexpr std::size_t chunk_rows = 2048;
/// The same for bitsets, which are read many times over and take a bit a code.
constexpr std::size_t bits_rows = std::size_t{1} << 17;
/// Whole counts of so many rows fit in 32 bits.
constexpr std::size_t most_rows = (std::size_t{1} << 31) - 1;

class JointCounter {
  public:
    JointCounter(const RowBlock &block, std::span<const std::int32_t> sets, int width, const std::vector<int> &n_codes,
                 int n_classes)
        : block_(block), sets_(sets), width_(width), n_codes_(n_codes), n_classes_(n_classes),
          n_rows_(block.labels.size()), inner_(n_codes.size()), outer_(width) {}

    template <typename Sum> void run(std::size_t begin, std::size_t end, Sum *tables) {
        for (std::size_t first = begin; first < end; first += chunk_rows) {
            chunk(first, std::min(end, first + chunk_rows), tables);
        }
    }

  private:
    template <typename Sum> void chunk(std::size_t first, std::size_t end, Sum *tables) {
        const std::size_t n = end - first;
        for (std::vector<std::uint16_t> &places : inner_) {
            places.clear();
        }
        std::uint32_t stride = 0;
        for (const std::int32_t *set = sets_.data(); set != sets_.data() + sets_.size(); set += width_) {
            // The place among the codes of all features but the last, which this set may share with the one before.
            bool same = stride != 0;
            std::size_t size = n_classes_;
            for (int d = 0; d < width_ - 1; ++d) {
                same = same && set[d] == set[d - width_];
                if (!same) {
                    add_feature(first, n, set[d], d);
                }
                size *= n_codes_[set[d]];
            }
            const int last = set[width_ - 1];
            const auto wide = static_cast<std::uint32_t>(n_codes_[last] * n_classes_);
            if (width_ > 1 && (!same || wide != stride)) {
                const std::uint32_t *places = outer_[width_ - 2].data();
                scaled_.resize(n);
                for (std::size_t i = 0; i < n; ++i) {
                    scaled_[i] = places[i] * wide;
                }
            }
            stride = wide;
            add(n, first, inner(first, n, last), tables);
            tables += size * n_codes_[last];
        }
    }

    void add(std::size_t n, std::size_t, const std::uint16_t *inner, std::int32_t *table) const {
        if (width_ == 1) {
            for (std::size_t i = 0; i < n; ++i) {
                ++table[inner[i]];
            }
            return;
        }
        const std::uint32_t *outer = scaled_.data();
        for (std::size_t i = 0; i < n; ++i) {
            ++table[outer[i] + inner[i]];
        }
    }
    void add(std::size_t n, std::size_t first, const std::uint16_t *inner, double *table) const {
        const double *weights = block_.weights.data() + first;
        for (std::size_t i = 0; i < n; ++i) {
            table[(width_ > 1 ? scaled_[i] : 0) + inner[i]] += weights[i];
        }
    }

    /// The places of the chunk's rows among the codes of a feature and the classes.
    const std::uint16_t *inner(std::size_t first, std::size_t n, int feature) {
        std::vector<std::uint16_t> &places = inner_[feature];
        if (places.empty()) {
            places.resize(n);
            const std::uint8_t *codes = column(feature, first);
            const std::uint16_t *labels = block_.labels.data() + first;
            for (std::size_t i = 0; i < n; ++i) {
                places[i] = static_cast<std::uint16_t>(codes[i] * n_classes_ + labels[i]);
            }
        }
        return places.data();
    }

    void add_feature(std::size_t first, std::size_t n, int feature, int d) {
        std::vector<std::uint32_t> &to = outer_[d];
        to.resize(n);
        const std::uint8_t *codes = column(feature, first);
        if (d == 0) {
            std::copy_n(codes, n, to.data());
            return;
        }
        const std::uint32_t *above = outer_[d - 1].data();
        const auto k = static_cast<std::uint32_t>(n_codes_[feature]);
        for (std::size_t i = 0; i < n; ++i) {
            to[i] = above[i] * k + codes[i];
        }
    }

    const std::uint8_t *column(int feature, std::size_t first) const {
        return block_.codes.data() + feature * n_rows_ + first;
    }

    const RowBlock &block_;
    std::span<const std::int32_t> sets_;
    int width_;
    const std::vector<int> &n_codes_;
    int n_classes_;
    std::size_t n_rows_;
    std::vector<std::vector<std::uint16_t>> inner_; ///< by feature
    std::vector<std::vector<std::uint32_t>> outer_; ///< by number of features
    std::vector<std::uint32_t> scaled_;             ///< those of all features but the last, in terms of the table
};

/// Whether every code and label has a place in the tables: what comes from files may not be what was written to them.
void check_range(const RowBlock &block, std::size_t begin, std::size_t end, std::span<const std::int32_t> sets,
                 const std::vector<int> &n_codes, int n_classes) {
    const std::size_t n_rows = block.labels.size();
    std::vector<char> counted(n_codes.size(), 0);
    for (const std::int32_t feature : sets) {
        counted[feature] = 1;
    }
    for (std::size_t f = 0; f < n_codes.size(); ++f) {
        const std::uint8_t *codes = block.codes.data() + f * n_rows;
        std::uint8_t largest = 0;
        for (std::size_t i = begin; i < end; ++i) {
            largest = std::max(largest, codes[i]);
        }
        if (counted[f] && largest >= n_codes[f]) {
            throw std::invalid_argument("A row has the code " + std::to_string(largest) + " of feature " +
                                        std::to_string(f) + ", which has " + std::to_string(n_codes[f]) +
                                        " codes; the rows were coded for other features, or are damaged.");
        }
    }
    if (std::any_of(block.labels.begin() + begin, block.labels.begin() + end,
                    [&](int label) { return label >= n_classes; })) {
        throw std::invalid_argument("A row has a label beyond the " + std::to_string(n_classes) +
                                    " classes; the rows were coded for another target, or are damaged.");
    }
}

} // namespace

std::vector<std::int32_t> all_sets(int n_features, int width) {
    std::vector<std::int32_t> sets;
    std::vector<std::int32_t> set(width);
    std::iota(set.begin(), set.end(), 0);
    for (int last = width <= n_features ? 0 : -1; last >= 0;) {
        sets.insert(sets.end(), set.begin(), set.end());
        last = width - 1;
        while (last >= 0 && set[last] == n_features - width + last) {
            --last;
        }
        if (last >= 0) {
            std::iota(set.begin() + last, set.end(), set[last] + 1);
        }
    }
    return sets;
}

JointExtent extent_of_all_sets(const std::vector<int> &n_codes, int width) {
    std::vector<JointExtent> by_width(width + 1);
    by_width[0] = {1.0, 1.0};
    for (const int k : n_codes) {
        for (int n = width; n > 0; --n) {
            by_width[n].sets += by_width[n - 1].sets;
            by_width[n].cells += k * by_width[n - 1].cells;
        }
    }
    return by_width[width];
}

std::size_t joint_size(std::span<const std::int32_t> sets, int width, const std::vector<int> &n_codes, int n_classes) {
    std::size_t total = 0;
    for (std::size_t s = 0; s < sets.size(); s += width) {
        std::size_t size = n_classes;
        for (int d = 0; d < width; ++d) {
            size *= n_codes[sets[s + d]];
        }
        total += size;
    }
    return total;
}

void count_joint(const RowBlock &block, std::size_t begin, std::size_t end, std::span<const std::int32_t> sets,
                 int width, const std::vector<int> &n_codes, int n_classes, double *tables) {
    check_range(block, begin, end, sets, n_codes, n_classes);
    const std::span<const double> weights =
        block.weights.empty() ? block.weights : block.weights.subspan(begin, end - begin);
    if (width > 1 && JointBits::suits(weights)) {
        JointBits bits(sets, width, n_codes, n_classes);
        if (bits.pays()) {
            for (; begin < end; begin += bits_rows) {
                bits.count(block, begin, std::min(end, begin + bits_rows), tables);
            }
            return;
        }
    }
    JointCounter counter(block, sets, width, n_codes, n_classes);
    if (!weights.empty()) {
        counter.run(begin, end, tables);
        return;
    }
    // Whole numbers first: they are faster to add to, and half as large.
    std::vector<std::int32_t> whole(joint_size(sets, width, n_codes, n_classes));
    for (; begin < end; begin += most_rows) {
        std::fill(whole.begin(), whole.end(), 0);
        counter.run(begin, std::min(end, begin + most_rows), whole.data());
        for (std::size_t i = 0; i < whole.size(); ++i) {
            tables[i] += whole[i];
        }
    }
}

} // namespace omtree
