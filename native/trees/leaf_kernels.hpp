// Splits of many features at once into leaves, for every loss that adds up, in the best version this processor has.
#pragma once

#include <cstdint>

#include "loss/additive.hpp"
#include "trees/kernels.hpp"

namespace omtree {

/// How many features' counts lie side by side in a group: one cache line.
template <typename Count> constexpr int n_lanes = static_cast<int>(64 / sizeof(Count));

template <typename Count> struct LeafKernels {
    /// Least loss of a leaf with these sums, whatever its weight.
    double (*leaf)(const Count *sums, const LossTerms &terms);
    /// Best splits of the group's features into up to `most` leaves that weigh `least` or more: lowers `best[m]`,
    /// m >= 2. `scratch` has room for `split_scratch` bytes and is aligned to 64.
    void (*split)(const Count *histogram, const LaneGroup &group, const LossTerms &terms, double least, int most,
                  void *scratch, double *best);
    /// Least loss over all features of one more split, or none, where every leaf costs `price`. `scratch` as above,
    /// with `most` 1.
    double (*split_priced)(const Count *histogram, const LaneGroup *groups, int n_groups, const LossTerms &terms,
                           double least, double price, void *scratch);
    /// Least loss over all features of one leaf per code, whatever its weight.
    double (*floor)(const Count *histogram, const LaneGroup *groups, int n_groups, const LossTerms &terms);
};

template <typename Count> const LeafKernels<Count> &leaf_kernels(Loss loss);
template <> const LeafKernels<std::int32_t> &leaf_kernels(Loss loss);
template <> const LeafKernels<double> &leaf_kernels(Loss loss);

} // namespace omtree
