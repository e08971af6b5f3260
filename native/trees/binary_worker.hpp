// One thread of the search for binary trees.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "trees/binary.hpp"

namespace omtree {

/// What is known about the children of a node while its columns are tried.
struct BinarySearch::Context {
    std::vector<double> leaf_in; ///< loss of each column's sides as leaves
    std::vector<double> leaf_out;
    std::vector<double> second_in; ///< with one more split
    std::vector<double> second_out;
    std::vector<double> paid; ///< for the column's test
    double least_paid = 0.0;
    std::vector<double> floor_in; ///< what no tree avoids
    double floor = 0.0;
    std::vector<int> order;
    std::vector<double> weight;             ///< cost at most saved per pair of columns, [i * n + j]
    std::vector<std::vector<double>> known; ///< losses or bounds by column and side, from solved children
    std::vector<int> solved;                ///< columns with an entry
    double all = 0.0;
    bool any_perfect = false; ///< whether a perfect tree will do, with whatever leaves
    std::mutex *mutex = nullptr;
};

class BinarySearch::Worker {
  public:
    /// While it lives, the feature is tested above the nodes that are solved.
    class Tested {
      public:
        Tested(Worker &worker, int feature);
        ~Tested() { tested_.resize(before_); }
        Tested(const Tested &) = delete;
        Tested &operator=(const Tested &) = delete;

      private:
        std::vector<int> &tested_;
        std::size_t before_;
    };

    Worker(BinarySearch &search, Control &control);

    void solve(const BitNode &node, const ConditionSet &path, int depth, int sizes, const std::vector<double> &upper,
               BinaryValues &out);
    /// The same for a node whose best split is remembered.
    void solve_again(const BitNode &node, const ConditionSet &path, int depth, int sizes,
                     const std::vector<double> &upper, BinaryValues &out);
    /// The best trees of depth two, and what trying deeper ones needs. The node must be counted.
    void open(const BitNode &node, int depth, int sizes, Context &context, BinaryValues &out);
    void try_column(const BitNode &node, const ConditionSet &path, int depth, int sizes, Context &context, int place,
                    const std::vector<double> &upper, BinaryValues &out);
    /// The samples of one side with all columns, not yet counted.
    void side(const BitNode &node, int column, bool inside, BitNode &child) const;
    /// Joint counts of a node; those of large ones in steps.
    void count(BitNode &node);
    /// A loss that no tree with this column at the root undercuts.
    double least(const BitNode &node, const Context &context, int column, int depth) const;

    /// What testing one more feature costs a unit of weight here.
    double test_price(int feature) const;
    /// Throws when the search has to end.
    void check();

    SearchStatistics statistics;

  private:
    struct Level {
        Context context;
        BitNode inside;
        BitNode outside;
        BitNode all_inside; ///< with the parent's columns
        std::vector<std::uint64_t> mask;
        std::vector<std::int32_t> counts;
        std::vector<std::int32_t> single;
        std::vector<std::int32_t> total;
        std::vector<double> bound_in, bound_out, upper, child_upper;
        BinaryValues values;
        Known known;
        std::vector<std::int32_t> second_in, second_out;
        std::vector<double> real_in, real_out;
        std::vector<int> places;
    };

    void count_pairs(const BitView &bits, const std::uint64_t *mask, std::int32_t *counts);
    void bound_sides(const BitNode &node, const Context &context, int column, int sizes, std::vector<double> &in,
                     std::vector<double> &out) const;
    int feature_of(const BitNode &node, int column) const { return search_.columns_[node.columns[column]].feature; }
    bool hopeless(const std::vector<double> &in, const std::vector<double> &out, int sizes,
                  const std::vector<double> &upper) const;
    void limit(const std::vector<double> &other, int sizes, const std::vector<double> &upper,
               std::vector<double> &out) const;
    /// Best trees of depth two from joint counts; returns where each column's sides stand.
    void two_levels(const PairView &pairs, const std::vector<int> &columns, Level &scratch, Context *context, int sizes,
                    BinaryValues &out);
    void child_node(const BitNode &node, int column, bool inside, const std::vector<std::int32_t> &counts,
                    bool counted_inside, BitNode &child, Level &level);
    bool remembered(const ConditionSet &path, int depth, Level &level, std::vector<double> &bound,
                    const std::vector<double> &child_upper) const;

    /// What testing a second feature costs below a first, by pairs, below the features tested here.
    const double *second_prices();

    BinarySearch &search_;
    Control &control_;
    std::vector<int> tested_; ///< features above the node that is being solved
    std::map<std::vector<int>, std::vector<double>> second_prices_;
    std::vector<int> feature_;
    std::vector<double> room_;
    std::vector<std::unique_ptr<Level>> levels_;
};

} // namespace omtree
