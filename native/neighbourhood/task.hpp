// What a search by neighbourhoods is asked: rows seen through tests, what a leaf of them is worth, and limits.
#pragma once

#include <cstdint>
#include <vector>

namespace omtree::neighbourhood {

/// A feature along one order of its codes; its tests are "the rank is at most `cut`".
struct View {
    int feature;
    int n_ranks; ///< at least two
    bool nests;  ///< whether nested tests of the feature may be one node with several branches
};

/// What makes a leaf good: the best label's gain, or what is explained of the target or of the classes.
enum class Worth { label, squared, squares, lines, planes, poisson, hazard, logrank, gini, entropy };

struct Test {
    int view = -1; ///< none, if negative
    int cut = 0;
};

struct Task {
    int n_rows = 0;
    int n_planes = 0;    ///< sums over rows that decide what a leaf is worth
    bool weighs = false; ///< whether plane 0 is the weight; otherwise the planes add up to it
    Worth worth = Worth::label;
    std::vector<View> views;
    std::vector<std::uint8_t> ranks; ///< by row, one for each view
    // Row i adds amount[j] to plane[j] for start[i] <= j < start[i + 1].
    std::vector<std::uint32_t> start;
    std::vector<std::uint16_t> plane;
    std::vector<float> amount;
    std::vector<double> weight;
    int max_depth = 1;
    int max_leaves = 2;
    double min_support = 1.0;
    double leaf_price = 0.0;   ///< what every leaf takes off the worth of a tree
    bool free_nesting = false; ///< whether a test of its parent's feature takes no level of its own, if the view nests
    bool once = false;         ///< whether a feature may not be tested again below a test of another one
    double work = 0.0;         ///< most steps, as a measure of time that does not depend on the machine
    int variety = 0;           ///< first tests to look at, the best tree of each of their views is kept
    int patience = 0;          ///< random moves without a gain after which the search ends
    std::uint64_t seed = 0;

    int n_views() const { return static_cast<int>(views.size()); }
    const std::uint8_t *ranks_of(std::uint32_t row) const {
        return ranks.data() + static_cast<std::size_t>(row) * views.size();
    }
};

/// A node of a tree as it is handed over: its test and the places of its branches, or a leaf.
struct FlatNode {
    Test test;
    int low = -1;
    int high = -1;
    int label = 0;
};

} // namespace omtree::neighbourhood
