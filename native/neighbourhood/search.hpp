// The best tree that neighbourhoods lead to, from several starts.
#pragma once

#include "core/stopwatch.hpp"
#include "neighbourhood/task.hpp"

namespace omtree::neighbourhood {

struct Found {
    std::vector<FlatNode> tree; ///< the root first
    double worth = 0.0;
    bool ended = false; ///< whether patience, not work or time, ended the search
    int kicks = 0;
};

/// Improve the given trees and greedy ones, then change the best at random for as long as the task allows.
Found search(const Task &task, const std::vector<std::vector<FlatNode>> &starts, const Stopwatch &watch);

} // namespace omtree::neighbourhood
