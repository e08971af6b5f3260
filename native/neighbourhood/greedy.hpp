// Trees grown one test after the other, each the most promising one over all cuts.
#pragma once

#include <span>
#include <vector>

#include "neighbourhood/pace.hpp"
#include "neighbourhood/tree.hpp"
#include "neighbourhood/worth.hpp"

namespace omtree::neighbourhood {

/// A test with what it gains.
struct Gain {
    Test test;
    double gain = 0.0;
};

class Greedy {
  public:
    Greedy(const Task &task, Pace &pace);

    /// A leaf of these rows.
    Branch leaf(std::vector<std::uint32_t> rows, Place place) const;

    /// Which views may be tested at a place: all, a part of them, or none.
    std::vector<int> open_views(const Place &place) const;

    /// The best test of these rows by a criterion; equal ones are told apart by the impurity, then by their place.
    Gain best_test(const TreeNode &node, Criterion criterion, std::span<const int> views);

    /// The best gain of each view, by a criterion.
    std::vector<double> gain_by_view(const TreeNode &node, Criterion criterion, std::span<const int> views);

    /// Give a leaf two branches; false, and no change, if one has too little support.
    bool split(TreeNode &leaf, Test test) const;

    /// Split the leaves below, the most promising first, while there are fewer than `most_leaves` of them and time is
    /// left, or in any case.
    void grow(TreeNode &node, int most_leaves, Criterion criterion, bool in_any_case = false);

    /// Give up branches that gain nothing.
    void prune(TreeNode &node) const;

    /// The smallest gain that counts.
    double least_gain() const { return least_gain_; }

    /// Whether rows of this weight may be a leaf.
    bool supported(double weight) const { return weight >= least_weight_; }

  private:
    /// Sums of the rows at every rank of the views, those of a view one after the other.
    void count(const TreeNode &node, std::span<const int> views);
    template <typename Take>
    void each_cut(const TreeNode &node, Criterion criterion, std::span<const int> views, const Take &take);

    template <typename Look>
    void each_cut_of_few(const TreeNode &node, std::span<const int> views, std::vector<double> &low, const Look &look);

    const Task &task_;
    Pace &pace_;
    double least_gain_;
    double least_weight_;
    std::vector<int> every_view_;
    std::vector<double> counts_;
    std::vector<std::size_t> offset_;
};

} // namespace omtree::neighbourhood
