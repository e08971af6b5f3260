// The best way to split a feature's codes into children where the number of leaves does not matter.
#pragma once

#include <vector>

#include "trees/any_size_cache.hpp"
#include "trees/blocks.hpp"

namespace omtree {

/// All ways to split the codes into two blocks or more, each block with a value.
template <typename Value> class AnySizeWays : public Blocks {
  public:
    void reset(Family family, int k, bool missing);

    Value &value(int block) { return values_[block]; }
    Value value(int block) const { return values_[block]; }

    /// The least sum of values.
    Value solve();
    /// The blocks of that way, the first of several in a fixed order. Calls for `solve` before.
    void choice(std::vector<int> &out) const;
    /// The least sum of the blocks that can stand beside this one; -1 where that is not known. Calls for `solve`
    /// before.
    Value beside(int block);

  private:
    void solve_runs();
    void solve_subsets();
    int state(bool placed_missing, int placed) const { return placed_missing * (k_ + 1) + placed; }

    std::vector<Value> values_;
    std::vector<Value> states_; ///< by the codes that are dealt with
    std::vector<Value> after_;  ///< plain runs: from here to the end
    bool after_known_ = false;
    Value best_ = no_tree<Value>;
    int single_ = -1; ///< position split off against all others
};

extern template class AnySizeWays<std::int64_t>;
extern template class AnySizeWays<double>;

} // namespace omtree
