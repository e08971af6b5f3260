// Distinct values and weighted quantiles of a column, without sorting all of it.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "data/coding.hpp"

namespace omtree {

/// The distinct values of a column in increasing order, as long as there are at most `limit` of them; one value
/// more than `limit`, not in order, when there are more. NaN and rows of weight zero don't count; an empty `weights`
/// means that all rows weigh the same.
std::vector<double> few_distinct(Numbers values, std::span<const double> weights, std::size_t limit);

/// The neighbouring distinct values (lo, hi) between which the cuts into `n_bins` parts of equal weight fall.
/// Target q = 1 .. n_bins - 1 falls on the smallest value with at least q / n_bins of the weight at or below it. The
/// cut comes above that value; a value on which several targets fall is cut off below as well, and the largest value
/// below only. Each pair comes once, in increasing order. NaN and weight zero as above.
std::vector<std::pair<double, double>> quantile_cuts(Numbers values, std::span<const double> weights,
                                                     std::size_t n_bins);

} // namespace omtree
