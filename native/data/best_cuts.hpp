// Cuts of a column where the target changes most.
#pragma once

#include <span>
#include <vector>

namespace omtree {

/// What a cut lessens: the entropy of classes, or the squared distances from the mean.
enum class Impurity { entropy, squared };

/// The `count` places, 1 .. n - 2, that best-first splitting takes first, in that order. Row i of `below` (of `width`
/// numbers) is what the samples before place i add up to: weights of classes, or weight, sum and sum of squares.
std::vector<int> best_cuts(std::span<const double> below, int width, int count, Impurity impurity);

} // namespace omtree
