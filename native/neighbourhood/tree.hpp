// A tree under change: every node knows its rows, what it is worth, and what was tried on it.
#pragma once

#include <memory>
#include <vector>

#include "neighbourhood/task.hpp"

namespace omtree::neighbourhood {

/// Where in a tree a node stands.
struct Place {
    int levels = 0;            ///< that its ancestors take
    int feature = -1;          ///< tested by its parent
    bool nests = false;        ///< whether its parent's view nests
    std::vector<int> features; ///< tested above, where none may be tested again
};

struct TreeNode {
    Test test;
    std::unique_ptr<TreeNode> low, high;
    std::vector<std::uint32_t> rows;
    std::vector<double> sums;
    double own = 0.0;   ///< worth as a leaf
    double worth = 0.0; ///< of the leaves below
    int leaves = 1;
    int tried = 0; ///< most leaves that a neighbourhood of this node was allowed without a gain
    Place place;

    bool is_leaf() const { return test.view < 0; }

    /// Add up what is below.
    void add_up() {
        worth = is_leaf() ? own : low->worth + high->worth;
        leaves = is_leaf() ? 1 : low->leaves + high->leaves;
    }

    void collapse() {
        test = {};
        low.reset();
        high.reset();
        add_up();
    }
};

using Branch = std::unique_ptr<TreeNode>;

} // namespace omtree::neighbourhood
