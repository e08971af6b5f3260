// Samples as bitsets over 0/1 columns: what the search for binary trees works on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "trees/kernels.hpp"
#include "trees/search.hpp"

namespace omtree {

/// One way to split a feature in two: codes inside and codes outside.
struct SplitColumn {
    int feature = 0;
    std::vector<std::uint8_t> inside;
    std::vector<std::uint8_t> outside;
    bool complement = false;
};

/// Every way to split any feature in two; false when the families do not allow it (one child per value).
bool split_columns(const SearchProblem &problem, std::vector<SplitColumn> &columns);

/// The samples that reach a node, and its joint counts once they are asked for.
struct BitNode {
    std::vector<int> columns; ///< those that can still be split with the support
    int stride = 0;
    int n_words = 0;
    std::vector<Segment> segments;
    std::vector<std::uint64_t> rows;
    std::vector<std::uint64_t> words;
    std::vector<std::uint64_t> valid;       ///< bits that stand for samples
    std::vector<std::uint64_t> unavoidable; ///< samples that err in every tree, as rows equal to them have other labels
    std::vector<std::int32_t> total;        ///< by class
    std::vector<std::int32_t> pairs;
    std::vector<std::int32_t> single;

    int n_columns() const { return static_cast<int>(columns.size()); }
    const std::uint64_t *row(int column) const { return rows.data() + static_cast<std::size_t>(column) * n_words; }
    BitView view() const {
        return {rows.data(),
                words.data(),
                n_columns(),
                stride,
                n_words,
                segments.data(),
                static_cast<int>(segments.size())};
    }
    std::int32_t pair(int label, int i, int j) const {
        return pairs[(static_cast<std::size_t>(label) * columns.size() + std::min(i, j)) * stride + std::max(i, j)];
    }
    PairView pair_view() const {
        return {
            pairs.data(), nullptr, total.data(), single.data(), n_columns(), stride, static_cast<int>(total.size())};
    }
    void transpose();
    void find_singles();
};

/// All samples; weights must be integers.
BitNode bit_root(const SearchProblem &problem, const std::vector<SplitColumn> &columns, bool unit_costs,
                 const std::function<void()> &check);

/// The samples of `parent` in the mask, with the columns at these places. Counts are left to the caller.
void compress_node(const BitNode &parent, const std::uint64_t *mask, const std::vector<int> &places, BitNode &child);

/// Joint counts of the columns, added to `counts`; those of many samples in steps, with a call of `check` before each.
void count_in_steps(BitView bits, const std::uint64_t *mask, std::int32_t *counts, const std::function<void()> &check);

} // namespace omtree
