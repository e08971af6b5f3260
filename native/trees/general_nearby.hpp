// The best different trees in order of their loss, and all of them within a margin.
#pragma once

#include <vector>

#include "trees/general_search.hpp"

namespace omtree {

/// Two trees are the same where their leaves have the same rows. The last two statistics of the judge tell sets of rows
/// apart: numbers drawn for every row, whose sums over a leaf have no rounding.
struct NearbyTask {
    static constexpr int most_demands = 16;

    GeneralProblem problem;
    std::size_t most_trees = 0; ///< how many of the best are wanted
    double known = 0.0;         ///< the loss of some tree: from here on the cap grows until there are enough
    double bound = -infinity;   ///< less than this no tree costs
    double cap = infinity;      ///< most that a tree may cost
    bool trivial = false;       ///< whether a split into leaves may gain nothing
    bool shapes = true;         ///< whether the trees are wanted, not their losses alone
    std::size_t room = 0;       ///< most parts of trees that are kept in one list
    double leaf_price = 0.0;    ///< what every leaf adds to the loss
    /// Whether a tree is another one with every label that its leaves may have. All trees up to the cap are listed then
    /// that meet the demands, without those in which one leaf in place of a split would do as well in all of them.
    bool labelled = false;
    bool by_conditions = false; ///< of those: whether the same rows by other conditions are another leaf
    int n_strata = 0;
    std::vector<double> missed; ///< demands x strata x labels: by how much a unit misses what it could give
    std::vector<double> slack;  ///< by demand: how much may be missed in all
};

struct NearbyResult {
    std::vector<double> losses; ///< in order
    std::vector<int> leaves;
    std::vector<std::uint64_t> marks;     ///< by which a tree is known again
    std::vector<std::uint64_t> row_marks; ///< of labelled trees: the same whatever the labels
    std::vector<double> missed;           ///< of labelled trees: trees x demands
    std::vector<SearchTree> trees;
    double reached = -infinity; ///< every tree that costs less is here
    bool finished = false;      ///< false: the time was up
    bool overflow = false;      ///< true: there was no room for all
    bool exhausted = false;     ///< there are no other trees at all
};

NearbyResult nearby_trees(const NearbyTask &task, Control &control);

} // namespace omtree
