#include "joint_counts.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace omtree {
namespace {

/// Rows at a time: their places in all tables stay in cache.
constexpr std::size_t chunk_rows = 4096;
/// Whole counts of so many rows fit in 32 bits.
constexpr std::size_t most_rows = std::size_t{1} << 31;

class JointCounter {
  public:
    JointCounter(const RowBlock &block, std::span<const std::int32_t> sets, int width, const std::vector<int> &n_codes,
                 int n_classes)
        : block_(block), sets_(sets), width_(width), n_codes_(n_codes), n_classes_(n_classes),
          n_rows_(block.labels.size()), last_place_(n_codes.size()), places_(width) {}

    template <typename Sum> void run(std::size_t begin, std::size_t end, Sum *tables) {
        for (std::size_t first = begin; first < end; first += chunk_rows) {
            chunk(first, std::min(end, first + chunk_rows), tables);
        }
    }

  private:
    template <typename Sum> void chunk(std::size_t first, std::size_t end, Sum *tables) {
        const std::size_t n = end - first;
        const std::size_t n_sets = sets_.size() / width_;
        const std::uint16_t *labels = block_.labels.data() + first;
        for (std::vector<std::uint32_t> &place : last_place_) {
            place.clear();
        }
        for (std::size_t s = 0; s < n_sets; ++s) {
            const std::int32_t *set = sets_.data() + s * width_;
            const std::int32_t *before = s > 0 ? set - width_ : nullptr;
            // The place among the codes of all features but the last, which this set may share with the one before.
            bool same = before != nullptr;
            std::size_t size = n_classes_;
            for (int d = 0; d < width_ - 1; ++d) {
                same = same && set[d] == before[d];
                if (!same) {
                    add_feature(first, n, set[d], d);
                }
                size *= n_codes_[set[d]];
            }
            const int last = set[width_ - 1];
            const std::size_t stride = static_cast<std::size_t>(n_codes_[last]) * n_classes_;
            std::vector<std::uint32_t> &own = last_place_[last];
            if (own.empty()) {
                own.resize(n);
                const std::uint8_t *codes = column(last, first);
                for (std::size_t i = 0; i < n; ++i) {
                    own[i] = static_cast<std::uint32_t>(codes[i]) * n_classes_ + labels[i];
                }
            }
            if (width_ == 1) {
                add(n, first, [&](std::size_t i) { return own[i]; }, tables);
            } else {
                const std::uint32_t *above = places_[width_ - 2].data();
                const auto wide = static_cast<std::uint32_t>(stride);
                add(n, first, [&](std::size_t i) { return above[i] * wide + own[i]; }, tables);
            }
            tables += size * n_codes_[last];
        }
    }

    template <typename Place> void add(std::size_t n, std::size_t, const Place &place, std::int32_t *table) const {
        for (std::size_t i = 0; i < n; ++i) {
            ++table[place(i)];
        }
    }
    template <typename Place> void add(std::size_t n, std::size_t first, const Place &place, double *table) const {
        const double *weights = block_.weights.data() + first;
        for (std::size_t i = 0; i < n; ++i) {
            table[place(i)] += weights[i];
        }
    }

    void add_feature(std::size_t first, std::size_t n, int feature, int d) {
        std::vector<std::uint32_t> &to = places_[d];
        to.resize(n);
        const std::uint8_t *codes = column(feature, first);
        if (d == 0) {
            std::copy_n(codes, n, to.data());
            return;
        }
        const std::uint32_t *above = places_[d - 1].data();
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
    std::vector<std::vector<std::uint32_t>>
        last_place_;                                 ///< by feature: of the chunk's rows among its codes and classes
    std::vector<std::vector<std::uint32_t>> places_; ///< by number of features
};

/// Whether every code and label has a place in the tables: what comes from files may not be what was written to them.
void check_range(const RowBlock &block, std::span<const std::int32_t> sets, const std::vector<int> &n_codes,
                 int n_classes) {
    const std::size_t n_rows = block.labels.size();
    std::vector<char> counted(n_codes.size(), 0);
    for (const std::int32_t feature : sets) {
        counted[feature] = 1;
    }
    for (std::size_t f = 0; f < n_codes.size() && n_rows > 0; ++f) {
        const std::uint8_t *codes = block.codes.data() + f * n_rows;
        std::uint8_t largest = 0;
        for (std::size_t i = 0; i < n_rows; ++i) {
            largest = std::max(largest, codes[i]);
        }
        if (counted[f] && largest >= n_codes[f]) {
            throw std::invalid_argument("A row has the code " + std::to_string(largest) + " of feature " +
                                        std::to_string(f) + ", which has " + std::to_string(n_codes[f]) +
                                        " codes; the rows were coded for other features, or are damaged.");
        }
    }
    if (n_rows > 0 && *std::max_element(block.labels.begin(), block.labels.end()) >= n_classes) {
        throw std::invalid_argument("A row has a label beyond the " + std::to_string(n_classes) +
                                    " classes; the rows were coded for another target, or are damaged.");
    }
}

} // namespace

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

void count_joint(const RowBlock &block, std::span<const std::int32_t> sets, int width, const std::vector<int> &n_codes,
                 int n_classes, double *tables) {
    check_range(block, sets, n_codes, n_classes);
    JointCounter counter(block, sets, width, n_codes, n_classes);
    const std::size_t n_rows = block.labels.size();
    if (!block.weights.empty()) {
        counter.run(0, n_rows, tables);
        return;
    }
    // Whole numbers first: they are faster to add to, and half as large.
    std::vector<std::int32_t> whole(joint_size(sets, width, n_codes, n_classes));
    for (std::size_t begin = 0; begin < n_rows; begin += most_rows - 1) {
        std::fill(whole.begin(), whole.end(), 0);
        counter.run(begin, std::min(n_rows, begin + most_rows - 1), whole.data());
        for (std::size_t i = 0; i < whole.size(); ++i) {
            tables[i] += whole[i];
        }
    }
}

} // namespace omtree
