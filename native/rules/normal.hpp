// The normal matrix of an interior-point step over a sparse 0/1 matrix.
#pragma once

#include <cstdint>
#include <span>

namespace omtree {

/// Adds sum over columns j of weight[j] * a_j a_j' to the lower triangle of `out` (size x size, row by row), where
/// column j has ones in the rows index[start[j] .. start[j + 1]), in increasing order.
void add_normal_matrix(std::span<const std::int32_t> start, std::span<const std::int32_t> index,
                       std::span<const double> weight, std::span<double> out, std::size_t size);

} // namespace omtree
