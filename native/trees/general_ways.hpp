// The ways to split a feature's codes as paths through states, for sums that are more than one number.
#pragma once

#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "trees/partition.hpp"

namespace omtree::general {

/// A way is a path from state 0 to the last one. States are in an order in which every step leads forward.
struct Ways {
    struct Step {
        int from;
        int to;
        int block;
    };
    int n_states = 0;
    std::vector<Step> steps;      ///< by the state they start from
    std::vector<int> first_steps; ///< of each state, and their number

    Ways(const Partition &partition, Family family, int k, bool missing, int max_children);
    /// Least sum of the blocks' values from each state to the last, by leaves: states x (budget + 1).
    std::vector<double> to_the_end(const Partition &partition, int budget) const;
    /// The same from the start to each state.
    std::vector<double> from_the_start(const Partition &partition, int budget) const;
};

/// Ways that were made before: they depend on the kind of feature and the number of its codes alone.
class KnownWays {
  public:
    const Ways &of(const Partition &partition, Family family, int k, bool missing, int max_children) {
        std::unique_ptr<const Ways> &ways = known_[{family, k, missing}];
        if (ways == nullptr) {
            ways = std::make_unique<const Ways>(partition, family, k, missing, max_children);
        }
        return *ways;
    }

  private:
    std::map<std::tuple<Family, int, bool>, std::unique_ptr<const Ways>> known_;
};

} // namespace omtree::general
