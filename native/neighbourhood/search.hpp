// The best tree that neighbourhoods lead to, from several starts.
#pragma once

#include "core/stopwatch.hpp"
#include "neighbourhood/task.hpp"

namespace omtree::neighbourhood {

struct Found {
    std::vector<std::vector<FlatNode>> trees; ///< the best first, then others with other roots; of each the root first
    bool ended = false;                       ///< whether patience, not work or time, ended the search
};

/// Improve the given trees and greedy ones, then change the best at random for as long as the task allows.
Found search(const Task &task, const std::vector<std::vector<FlatNode>> &starts, const Stopwatch &watch);

} // namespace omtree::neighbourhood
