// Exact search for the best tree under any loss of a rule and any limits on rules.
#pragma once

#include <array>
#include <vector>

#include "loss/rule_judge.hpp"
#include "trees/search.hpp"

namespace omtree {

/// A node of a part of the tree that is given.
struct ForcedNode {
    int feature = -1;                                ///< that it splits; -1: any, or none
    std::vector<std::array<std::uint64_t, 4>> parts; ///< the codes of its children; empty: any
    int free_code = -1;                              ///< a code that may join any part, or stand alone
    std::vector<int> children;                       ///< by part, or one for all; -1: nothing is given below
    bool leaf = false;                               ///< whether it must not be split
    std::vector<char> closed;                        ///< by feature: not to be split here; empty: none
    std::vector<char> labels;                        ///< what it may predict as a leaf; empty: anything
};

/// The least support and what else is asked of a leaf, the judge knows.
struct GeneralProblem : SearchOptions {
    std::vector<SearchFeature> features; ///< in graph order
    std::vector<int> columns;            ///< the number by which the judge knows each of them
    const RuleJudge *judge = nullptr;
    std::vector<ForcedNode> forced; ///< the root first; empty: nothing is given
};

SearchResult search_general(const GeneralProblem &problem, Control &control);

} // namespace omtree
