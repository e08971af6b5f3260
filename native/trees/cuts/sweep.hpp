// Sixteen cuts of one view at a time: what the rows on either side of each cost
// with at most one more split.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omtree {

constexpr int sweep_lanes = 16;
/// Codes of a row in a sweep: its label times this, plus the number of cuts at
/// or below its place.
constexpr int sweep_blocks = 32;

/// How often the next place of a view has the same value: never, at times, or at most places.
enum Ties : std::uint8_t { no_ties, some_ties, many_ties };

/// The rows of a node, sorted by every view, and the cuts that the lanes stand
/// for.
template <typename T> struct SweepTask {
    int n_rows;
    int n_views;
    int n_classes;
    const std::uint32_t *order; ///< [view * n_rows + place]: the row
    const std::uint8_t *last;   ///< [view * n_rows + place]: whether the next place
                                ///< has another value
    const std::uint8_t *tied;   ///< [view]: one of `Ties`
    const std::uint16_t *code;  ///< [row]
    const T *weight;            ///< [row]: what an error costs; null where it is one everywhere
    const T *mass;              ///< [row]: what counts towards the support; null where it is
                                ///< one everywhere
    const T *least_left;        ///< [lane]: least support of a leaf left of the cut;
                                ///< null where any row will do
    const T *least_right;       ///< [lane]
};

/// A loss that stands for "no leaf has the support".
template <typename T> constexpr T no_leaf_loss() {
    return sizeof(T) == 2 ? T(32000) : sizeof(T) == 4 ? T(2000000000) : T(1e300);
}

/// The least number of wrong rows left and right of every lane's cut.
template <typename T> void sweep_errors(const SweepTask<T> &task, T *left, T *right);

/// The same for squared distances: what is explained of them, to be taken from
/// what the rows cost about zero. `sum` is weight times target by row.
void sweep_squares(const SweepTask<double> &task, const double *sum, double *left, double *right);

/// The instruction set that the sweeps use here: "portable", "avx2" or
/// "avx512".
const char *sweep_instructions();

} // namespace omtree
