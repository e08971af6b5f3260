// When a kernel has to stop, and how far it is.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <limits>

namespace omtree {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Thrown inside a search when it has to end.
struct Stopped {};

/// How far a search is: it writes, and whoever waits for it reads.
struct Standing {
    std::atomic<double> best{infinity};   ///< least loss of the trees known
    std::atomic<double> bound{-infinity}; ///< no tree has a lower loss
    std::atomic<std::size_t> branches{0}; ///< of the root, at the depth that is looked at
    std::atomic<std::size_t> done{0};

    void found(double loss) {
        double known = best;
        while (loss < known && !best.compare_exchange_weak(known, loss)) {
        }
    }
};

/// When to stop early: a moment, or a flag that another thread sets.
struct Control {
    std::chrono::steady_clock::time_point until = std::chrono::steady_clock::time_point::max();
    std::atomic<bool> cancelled{false};
    std::atomic<bool> stop{false}; ///< set by the search itself once either holds
    Standing standing;
};

} // namespace omtree
