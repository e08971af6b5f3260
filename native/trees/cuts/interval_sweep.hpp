// Sixteen intervals of one view at a time: what the rows of each cost with one
// more split into a few parts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "trees/cuts/sweep.hpp"

namespace omtree {

/// Codes of a row: its label times this, plus the number of ends of intervals
/// at or below its place.
constexpr int interval_blocks = 64;
/// Most parts of the last split.
constexpr int max_parts = 8;

template <typename T> struct IntervalTask {
    int n_rows;
    int n_views;
    int n_classes;
    const std::uint32_t *order;  ///< [view * n_rows + place]: the row
    const std::uint8_t *last;    ///< [view * n_rows + place]: whether the next place
                                 ///< has another value
    const std::uint16_t *code;   ///< [row]
    const T *weight;             ///< [row]: what an error costs; null where it is one everywhere
    int first[sweep_lanes];      ///< a lane has the rows of the blocks behind this one
    int last_block[sweep_lanes]; ///< up to this one
};

/// For every lane the weight of rows that are right with at most 1, 2, ...
/// parts: `right_rows[l * sweep_lanes + lane]`.
template <typename T> void sweep_intervals(const IntervalTask<T> &task, int n_parts, T *right_rows);

} // namespace omtree
