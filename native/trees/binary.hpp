// The search for binary trees over 0/1 columns.
#pragma once

#include <cmath>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "loss/rule_judge.hpp"
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
    int depth = 2; ///< that the tree was looked for with
};

/// Least losses by number of leaves, from 1. Where the sizes do not matter there is one entry, for any number; it
/// carries a small price for every leaf, so that of equal trees the one with the fewest leaves is the best; only of
/// deep ones that are perfect any will do.
struct BinaryValues {
    std::vector<double> loss;
    std::vector<BinaryChoice> choice;
    std::vector<int> place; ///< of the choice in the order of trial
};

class BinarySearch {
  public:
    /// What a test costs that no path may contain: more than any tree, and yet a number.
    static constexpr double unaffordable = 1e100;

    /// `prices` are what testing features costs, if anything.
    BinarySearch(const SearchProblem &problem, TestPrices prices, Control &control);

    /// Whether the problem is one for this search.
    static bool suits(const SearchProblem &problem);

    SearchResult run();

  private:
    struct Context;
    class Worker;

    int n_sizes(int depth) const {
        return !every_size_ ? 1 : depth >= 30 ? problem_.max_leaves : std::min(problem_.max_leaves, 1 << depth);
    }
    bool priced() const { return !prices_.empty(); }
    /// What testing these features costs a unit of weight; far more than any tree where it is not allowed.
    double price_of(std::span<const int> features) const;
    /// What a unit of weight pays at most where a tree from below a test of `feature` is used below one of `other`:
    /// that test as well, or it cannot be used at all.
    double foreign_price(int feature, int other) const;
    /// The loss in a value that carries prices, or a bound for it from a bound for such values.
    double loss_of(double value) const { return price_ > 0.0 ? std::ceil(value - 0.5) : value; }
    SearchResult single_leaf();
    /// Whether no tree has a lower loss, whatever its size.
    bool perfect(double value, double floor) const {
        return !every_size_ && problem_.use_bounds && loss_of(value) <= floor + cost_.tolerance();
    }
    bool try_columns(int depth, const std::vector<std::unique_ptr<Worker>> &workers, Context &context,
                     std::vector<double> &score, BinaryValues &best);
    void build_all(const BinaryValues &best, SearchResult &result);
    int build(Worker &worker, const BitNode &node, ConditionSet path, const BinaryChoice &choice, int leaves,
              SearchTree &tree, double &total);

    const SearchProblem &problem_;
    TestPrices prices_;
    Control &control_;
    bool every_size_; ///< otherwise only the best tree of any size is looked for
    LeafCost<std::int32_t> cost_;
    std::int32_t support_;
    double largest_cost_;  ///< of a unit of weight: its error, and all tests
    bool limited_ = false; ///< whether some tests are too dear together
    double price_;         ///< of a leaf
    std::vector<SplitColumn> columns_;
    BitNode root_;
    SearchCache cache_;
    SearchStatistics statistics_;
};

} // namespace omtree
