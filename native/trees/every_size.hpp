// The trees of all sizes that a search found, in the order in which they are wanted.
#pragma once

#include <algorithm>
#include <atomic>
#include <vector>

#include "trees/search.hpp"

namespace omtree {

/// Builds the tree behind each of the `known` losses by leaves (from 1) with `build(leaves, tree)`, which returns the
/// loss of what it built. The largest comes first, and once `stop` is set no other is begun: where the time ends on the
/// way, it is the one that is asked for. Of equal trees the smaller is taken, and where none was built, too.
template <typename Build>
void build_every_size(const std::vector<double> &known, double tolerance, const std::atomic<bool> &stop,
                      const Build &build, SearchResult &result) {
    const int most = std::min(static_cast<int>(result.losses.size()), static_cast<int>(known.size()) - 1);
    bool any = false;
    for (int m = most; m >= 1; --m) {
        const bool better = m == 1 || known[m] < known[m - 1] - tolerance;
        if (known[m] < infinity && better && (m == 1 || !any || !stop.load(std::memory_order_relaxed))) {
            result.losses[m - 1] = build(m, result.trees[m - 1]);
            any = true;
        }
    }
    for (std::size_t m = 1; m < result.losses.size(); ++m) {
        if (result.losses[m - 1] < infinity && !(result.losses[m] < result.losses[m - 1] - tolerance)) {
            result.losses[m] = result.losses[m - 1];
            result.trees[m] = result.trees[m - 1];
        }
    }
}

} // namespace omtree
