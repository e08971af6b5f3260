// What is known about subproblems where every leaf has a price and their number is free.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "trees/cache.hpp"

namespace omtree {

/// Losses and prices of leaves together: whole numbers for errors, so that ties are ties, and real ones otherwise.
template <typename Value> constexpr bool whole_values = std::is_integral_v<Value>;

/// Values from here on stand for "no tree"; several of them may be added.
template <typename Value>
constexpr Value no_tree = whole_values<Value> ? static_cast<Value>(std::int64_t{1} << 40) : static_cast<Value>(1e300);

/// What a unit of loss and a leaf cost, and by how much values have to differ.
template <typename Value> struct Prices {
    Value loss = 1;
    Value leaf = 1;
    Value step = 1; ///< what is nearer than that is equal

    /// Least loss of a tree with up to so many leaves, given that no tree has a lower value.
    double least_loss(Value value, int leaves) const {
        const Value rest = value - leaf * static_cast<Value>(leaves);
        if (rest <= 0) {
            return 0.0;
        }
        if constexpr (whole_values<Value>) {
            return static_cast<double>((rest + loss - 1) / loss);
        }
        return static_cast<double>(rest / loss);
    }
    /// What a value has to be below in order to be better: of equal ones only that of an earlier feature is.
    Value to_beat(Value best, bool earlier) const {
        return whole_values<Value> ? best + (earlier ? step : 0) : best + (earlier ? step : -step);
    }
};

/// The least value of a subproblem and the root of its tree; where it is not below what was asked for, a lower bound.
template <typename Value> struct Found {
    Value value = no_tree<Value>;
    int feature = -1; ///< -1: a leaf
    int height = 0;   ///< depth of the search that found the tree
};

template <typename Value> struct FoundBefore {
    Found<Value> found{0, -1, 0};
    bool exact = false;
    double floor = 0.0; ///< loss that no tree of this depth avoids, whatever the support
};

template <typename Value> std::size_t bytes_of(const FoundBefore<Value> &) {
    return 64 + sizeof(FoundBefore<Value>);
}

template <typename Value> using AnySizeCache = BoundedCache<FoundBefore<Value>>;

/// Lower bounds for the search within a limit on leaves.
class SizeBounds {
  public:
    virtual ~SizeBounds() = default;
    /// Raises what trees of 2, 3, ... leaves cost at least; false where that is known already.
    virtual bool raise(const ConditionSet &path, int depth, int most, double *least) = 0;
};

} // namespace omtree
