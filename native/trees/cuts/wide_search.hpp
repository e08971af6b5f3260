// The best multiway tree over all cuts.
#pragma once

#include <functional>

#include "trees/cuts/cut_data.hpp"

namespace omtree {

/// The best tree whose nodes split a view into any number of intervals, each of
/// which is a tree of one level less. Wrong rows are counted, with whole
/// weights; any row is a leaf of its own if need be, and there are at most
/// eight leaves. `known` is the loss of a tree that is known: the answer has no
/// tree where none is better.
CutResult search_wide_cuts(const CutProblem &problem, double known, const std::function<bool()> &stopped);

} // namespace omtree
