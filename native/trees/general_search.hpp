// Exact search for the best tree under any loss of a rule and any limits on rules.
#pragma once

#include <vector>

#include "loss/rule_judge.hpp"
#include "trees/search.hpp"

namespace omtree {

struct GeneralProblem {
    std::vector<SearchFeature> features; ///< in graph order
    std::vector<int> columns;            ///< the number by which the judge knows each of them
    const RuleJudge *judge = nullptr;
    int max_depth = 0;
    int max_leaves = 1;
    bool binary = false;
    int max_children = 0; ///< 0: no limit
    int n_threads = 1;
    std::size_t cache_bytes = 0;
    bool use_bounds = true;
    bool use_cache = true;
};

SearchResult search_general(const GeneralProblem &problem, Control &control);

} // namespace omtree
