// The groups into which the codes of a feature may be put.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "trees/search.hpp"

namespace omtree {

/// All blocks of one family that `k` codes in a row (and perhaps a missing code, at position k) can form.
class Blocks {
  public:
    void reset(Family family, int k, bool missing);

    int n_blocks() const { return n_blocks_; }
    int n_positions() const { return k_ + missing_; }
    /// Whether the block can be part of a way to split; the others are to be left alone.
    bool usable(int block) const { return usable_[block]; }
    /// Positions of a block's codes: begin <= p < end, and the missing code, or all but one.
    void positions(int block, std::vector<int> &out) const;
    bool is_complement(int block) const { return with_complements() && block >= k_ * k_; }
    int run(int begin, int end, bool with_missing = false) const {
        return (with_missing ? k_ * k_ : 0) + begin * k_ + end - 1;
    }

  protected:
    bool with_complements() const { return family_ == Family::run || family_ == Family::single; }

    Family family_ = Family::interval;
    int k_ = 0;
    bool missing_ = false;
    int n_blocks_ = 0;
    std::vector<char> usable_;
};

/// Gives every usable block the sum of its codes' counts, or of any other numbers: `take(block, sum)`; `counts` are
/// [code][class].
template <typename Count, typename Take>
void sum_blocks(const Blocks &blocks, const SearchFeature &feature, const std::vector<int> &present, bool missing,
                const Count *counts, int n_classes, std::vector<int> &positions, const Take &take) {
    Count sum[256];
    const bool runs = feature.family != Family::subset && feature.family != Family::value;
    const int k = static_cast<int>(present.size()) - missing;
    const auto add = [&](int position) {
        const Count *more = counts + present[position] * n_classes;
        for (int c = 0; c < n_classes; ++c) {
            sum[c] += more[c];
        }
    };
    for (int begin = 0; runs && begin < k; ++begin) {
        std::fill_n(sum, n_classes, Count{0});
        for (int end = begin + 1; end <= k; ++end) {
            add(end - 1);
            take(blocks.run(begin, end), sum);
            if (missing) {
                Count saved[256];
                std::copy_n(sum, n_classes, saved);
                add(k);
                take(blocks.run(begin, end, true), sum);
                std::copy_n(saved, n_classes, sum);
            }
        }
    }
    int block = runs ? k * k * (1 + missing) : 0;
    if (std::is_integral_v<Count> && runs && !missing && block < blocks.n_blocks()) {
        // All but one: whole numbers may be taken from their sum.
        Count all[256];
        std::fill_n(sum, n_classes, Count{0});
        for (int position = 0; position < k; ++position) {
            add(position);
        }
        std::copy_n(sum, n_classes, all);
        for (int position = 0; position < k; ++position, ++block) {
            if (blocks.usable(block)) {
                const Count *own = counts + present[position] * n_classes;
                for (int c = 0; c < n_classes; ++c) {
                    sum[c] = all[c] - own[c];
                }
                take(block, sum);
            }
        }
    }
    for (; block < blocks.n_blocks(); ++block) {
        if (blocks.usable(block)) {
            std::fill_n(sum, n_classes, Count{0});
            blocks.positions(block, positions);
            for (const int position : positions) {
                add(position);
            }
            take(block, sum);
        }
    }
}

} // namespace omtree
