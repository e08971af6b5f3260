// The best way to cover every row exactly once with few rules, by depth-first search under a budget.
//
// Every rule has a reduced cost (>= 0 up to rounding) against some dual solution; the loss of a model is the dual bound
// plus the reduced costs of its rules plus terms that are never negative. So a model of loss at most T spends at most
// T - bound on reduced costs: with a small gap few combinations are left, where a general MIP solver has to branch.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace omtree {

struct CoverTask {
    std::size_t n_rows = 0;
    std::span<const std::int32_t> start; // rows of rule j: index[start[j] .. start[j + 1]), increasing
    std::span<const std::int32_t> index;
    std::span<const double> loss;
    std::span<const double> reduced_cost;
    std::span<const double> extra;    // rules x constraints: what a rule adds to each constraint
    std::span<const double> at_least; // what must be reached
    double bound = 0.0;               // loss of a model >= bound + its reduced costs
    double cutoff = 0.0;              // only models with at most this loss count
    double step = 0.0;                // by how much a further model must be better
    int max_rules = 0;
    double seconds = 1e30;
    /// Whether two rules may not be chosen together; null where any may.
    std::function<bool(std::int32_t, std::int32_t)> conflict;
};

struct CoverResult {
    std::vector<std::int32_t> rules; // of the best model; empty when there is none
    double loss = 0.0;
    bool complete = true; // the search was not cut off
    std::uint64_t nodes = 0;
};

CoverResult exact_cover(const CoverTask &task, const std::atomic<bool> &cancelled);

} // namespace omtree
