// The best way to split a feature's codes into children, given what each possible child costs.
#pragma once

#include <utility>
#include <vector>

#include "trees/blocks.hpp"

namespace omtree {

/// All ways to split the codes into blocks. Each block has a value for 1 .. child_budget leaves; a way's value shares
/// the leaves among its blocks.
class Partition : public Blocks {
  public:
    void reset(Family family, int k, bool missing, int max_children, int budget, int child_budget);

    int budget() const { return budget_; }
    int child_budget() const { return child_budget_; }
    double *values(int block) { return &values_[static_cast<std::size_t>(block) * (child_budget_ + 1)]; }

    double value(int block, int leaves) const { return values(block)[leaves]; }

    void solve();
    /// Least value with at most m leaves and at least two blocks.
    double best(int m) const { return best_[m]; }
    /// Least value, by leaves, of the blocks that can stand beside this one; false where that is not known. Calls for
    /// `solve` before.
    bool beside(int block, std::vector<double> &out);
    /// The blocks of that way with the leaves each may have.
    void choice(int m, std::vector<std::pair<int, int>> &out) const;

  private:
    static constexpr int room = 8; ///< before and after the values of a state, which are taken eight at a time

    void clear_states(std::size_t n);
    void solve_runs();
    void solve_subsets();
    void relax(int from, int to, int block);
    bool came_by(int from, int block, double value, int &m, std::vector<std::pair<int, int>> &out) const;
    bool limited() const { return max_children_ > 0 && max_children_ < n_positions() && child_budget_ > 1; }
    /// State of the dynamic programme: how many blocks (only where limited), and which codes they hold.
    int run_state(int layer, bool placed_missing, int placed) const {
        return (layer * 2 + placed_missing) * (k_ + 1) + placed;
    }
    double *state(int index) { return &steps_[index * step_stride_ + room]; }
    const double *state(int index) const { return &steps_[index * step_stride_ + room]; }
    const double *values(int block) const { return &values_[static_cast<std::size_t>(block) * (child_budget_ + 1)]; }

    int max_children_ = 0;
    int budget_ = 0;
    int child_budget_ = 0;
    std::size_t step_stride_ = 0;
    std::vector<double> values_;
    std::vector<double> best_;
    std::vector<int> single_; ///< per m: position split off against all others, or -1
    std::vector<int> single_leaves_;
    std::vector<double> steps_;
    std::vector<int> reach_;         ///< most leaves a way to each state has
    std::vector<double> steps_back_; ///< the same from the right, for plain runs
};

} // namespace omtree
