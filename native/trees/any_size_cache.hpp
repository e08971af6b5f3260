// What is known about subproblems where the number of leaves does not matter.
#pragma once

#include <cstdint>

#include "trees/cache.hpp"

namespace omtree {

/// Errors, each of which costs the same, and leaves, each of which costs one: so little that no number of leaves within
/// the limit outweighs an error.
using Value = std::int64_t;

/// Values from here on stand for "no tree"; several of them may be added.
constexpr Value no_tree = Value{1} << 40;

/// The least value of a subproblem and the root of its tree; where it is not below what was asked for, a lower bound.
struct Found {
    Value value = no_tree;
    int feature = -1; ///< -1: a leaf
    int height = 0;   ///< depth of the search that found the tree
};

struct FoundBefore {
    Found found{0, -1, 0};
    bool exact = false;
    std::int32_t floor = 0; ///< errors that no tree of this depth avoids, whatever the support
};

inline std::size_t bytes_of(const FoundBefore &) {
    return 64 + sizeof(FoundBefore);
}

using AnySizeCache = BoundedCache<FoundBefore>;

/// Fewest errors that a tree with up to so many leaves can have, given the least value of any tree.
inline Value fewest_errors(Value value, int leaves, Value error_cost) {
    return value > leaves ? (value - leaves + error_cost - 1) / error_cost : 0;
}

/// Lower bounds for the search within a limit on leaves.
struct AnySizeBounds {
    AnySizeCache &cache;
    Value error_cost;
};

} // namespace omtree
