// The ways to split a feature's codes as paths through states, for sums that are more than one number.
#pragma once

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

} // namespace omtree::general
