// The best first test of a tree with two levels of tests, over all pairs of some cuts of some views.
#pragma once

#include <random>

#include "neighbourhood/greedy.hpp"

namespace omtree::neighbourhood {

struct Crossed;
struct Four;

class Window {
  public:
    Window(const Task &task, Greedy &greedy, Pace &pace) : task_(task), greedy_(greedy), pace_(pace) {}

    /// The test for the rows of a node after which one further test on each side is worth most, if the tree below may
    /// have `most_leaves` leaves; none if there is no such test. `from` is a tree whose tests are looked at closely.
    Test best_first(const TreeNode &node, int most_leaves, const TreeNode *from, std::mt19937_64 &random);

    /// All such tests, the most promising first.
    std::vector<Test> in_order(const TreeNode &node, int most_leaves, const TreeNode *from, std::mt19937_64 &random);

  private:
    /// A view of the window with its cuts.
    struct Axis {
        int view = 0;
        std::vector<int> cuts;          ///< ranks after which there is a cut
        std::vector<std::uint8_t> bins; ///< of the rows
        std::vector<float> sums;        ///< by plane and bin, added up along the bins
        std::vector<float> low, high;   ///< what each side of a cut is worth with the best test of its own
    };

    void choose_rows(const TreeNode &node);
    std::vector<int> choose_views(const TreeNode &node, const TreeNode *from, std::mt19937_64 &random);
    void make_axis(Axis &axis, const TreeNode *from, int most_bins);
    void count(const Axis &first, const Axis &second);
    void cross(Axis &first, Axis &second);
    void twice(Axis &axis);
    void evaluate(const Crossed &sums, int n_cuts, Four &out) const;
    std::vector<Test> choose(const std::vector<Axis> &axes, int most_leaves) const;

    const Task &task_;
    Greedy &greedy_;
    Pace &pace_;
    std::vector<std::uint32_t> rows_;
    std::vector<float> amount_; ///< what the rows add, in their order; targets are centred
    std::vector<float> total_;  ///< sums of all rows of the window
    std::vector<float> table_;
    float least_weight_ = 0.0F;
    double scale_ = 1.0; ///< how many rows one row of the window stands for
};

} // namespace omtree::neighbourhood
