// The search for binary trees over 0/1 columns.
#pragma once

#include <cmath>
#include <mutex>
#include <vector>

#include "trees/cache.hpp"
#include "trees/code_columns.hpp"
#include "trees/search.hpp"
#include "trees/search_data.hpp"

namespace omtree {

/// How a node is split for one number of leaves; column -1 is a leaf.
struct BinaryChoice {
    int column = -1; ///< place among the node's columns
    int leaves = 0;  ///< of the side inside
    double inside = 0.0;
    double outside = 0.0;
};

/// Least losses by number of leaves, from 1. Where the sizes do not matter there is one entry, for any number; it
/// carries a small price for every leaf, so that of equal trees the one with the fewest leaves is the best.
struct BinaryValues {
    std::vector<double> loss;
    std::vector<BinaryChoice> choice;
    std::vector<int> place; ///< of the choice in the order of trial
};

class BinarySearch {
  public:
    /// Without `every_size` only the best tree of any size is looked for; that takes a price of a leaf.
    BinarySearch(const SearchProblem &problem, Control &control, double total, bool every_size);

    /// Whether the problem is one for this search.
    static bool suits(const SearchProblem &problem, double total);
    /// What a leaf may cost so that no number of leaves outweighs a difference in loss; 0 where there is no such price,
    /// as losses are not whole numbers.
    static double leaf_price(const SearchProblem &problem, double total);

    SearchResult run();

  private:
    struct Context;
    class Worker;

    int n_sizes(int depth) const {
        return !every_size_ ? 1 : depth >= 30 ? problem_.max_leaves : std::min(problem_.max_leaves, 1 << depth);
    }
    /// The loss in a value that carries prices, or a bound for it from a bound for such values.
    double loss_of(double value) const { return price_ > 0.0 ? std::ceil(value - 0.5) : value; }
    SearchResult single_leaf();
    void build_all(BinaryValues &best, int depth, SearchResult &result);
    int build(Worker &worker, const BitNode &node, ConditionSet path, int depth, const BinaryChoice &choice, int leaves,
              SearchTree &tree, double &total);

    const SearchProblem &problem_;
    Control &control_;
    bool every_size_;
    LeafCost<std::int32_t> cost_;
    std::int32_t support_;
    double largest_cost_;
    double price_; ///< of a leaf
    std::vector<SplitColumn> columns_;
    BitNode root_;
    SearchCache cache_;
    SearchStatistics statistics_;
};

} // namespace omtree
