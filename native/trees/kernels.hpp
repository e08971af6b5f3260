// The inner loops of the search over 0/1 columns, in the best version this processor has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omtree {

/// Samples of one class and one power-of-two weight: words begin .. end - 1 of every bitset.
struct Segment {
    int begin = 0;
    int end = 0;
    int label = 0;
    std::int32_t weight = 1;
};

/// Losses at or above this stand for "no tree".
constexpr std::int32_t no_leaf = 1 << 28;

/// Columns as bitsets: `rows[i * n_words + w]`, and the same transposed, `words[w * stride + i]`.
struct BitView {
    const std::uint64_t *rows;
    const std::uint64_t *words;
    int n_columns;
    int stride; ///< multiple of 16; columns beyond n_columns are zero
    int n_words;
    const Segment *segments;
    int n_segments;
};

/// Joint counts of one node: `counts[(c * n_columns + i) * stride + j]` for j >= i.
struct PairView {
    const std::int32_t *counts;
    const std::int32_t *minus;  ///< subtracted where given
    const std::int32_t *total;  ///< by class
    const std::int32_t *single; ///< [c * stride + j]
    int n_columns;
    int stride;
    int n_classes;
};

/// What leaves cost, and what it costs to test a column below another one.
struct SecondCosts {
    const double *costs; ///< [true, predicted]
    int n_labels;
    const int *feature; ///< by column; null: tests are free
    int n_features;
    const double *prices; ///< [a * n_features + b]: what a test of b below one of a costs by unit of weight
    double *room;         ///< for twice the stride
};

/// Up to sixteen features whose counts lie side by side: [code][class][feature].
struct LaneGroup {
    int offset = 0;
    int k = 0; ///< most codes of those that may be split
    bool subsets = false;
    bool complements = false;      ///< whether one code against all others is a split, too
    std::int32_t penalty[16] = {}; ///< keeps features that may not be split, and lanes without one, from being chosen
};

struct Kernels {
    const char *name;
    /// Adds to `counts`; only samples in `mask` count when it is given.
    void (*count_pairs)(const BitView &bits, const std::uint64_t *mask, std::int32_t *counts);
    /// Least loss of splitting each side of each column once more, for 0/1 costs.
    void (*best_second)(const PairView &pairs, std::int32_t support, std::int32_t *inside, std::int32_t *outside);
    /// The same for any costs and prices of tests.
    void (*best_second_costs)(const PairView &pairs, const SecondCosts &costs, std::int32_t support, double *inside,
                              double *outside);
    /// Best splits of sixteen features at once into up to `most` leaves: counts are [code][class][feature]. Lowers
    /// `best[m]`, m >= 2; `penalty` by feature excludes those that may not be split. `scratch` has room for
    /// `split_scratch` bytes and is aligned to 64.
    void (*split_intervals)(const std::int32_t *histogram, int k, int n_classes, std::int32_t support, int most,
                            const std::int32_t *penalty, void *scratch, std::int32_t *best);
    void (*split_subsets)(const std::int32_t *histogram, int k, int n_classes, std::int32_t support, int most,
                          const std::int32_t *penalty, void *scratch, std::int32_t *best);
    /// Least loss over all features of one leaf per code, whatever the support.
    std::int32_t (*split_floor)(const std::int32_t *histogram, const LaneGroup *groups, int n_groups, int n_classes);
    /// Least value over all features of one more split, or none: every error costs `error_cost`, every leaf
    /// `leaf_cost`.
    /// `scratch` as above, for `split_scratch` with `most` 1.
    std::int32_t (*split_any_size)(const std::int32_t *histogram, const LaneGroup *groups, int n_groups, int n_classes,
                                   std::int32_t support, std::int32_t error_cost, std::int32_t leaf_cost,
                                   void *scratch);
    /// Element by element; n is a multiple of 16.
    void (*add)(const std::int32_t *a, const std::int32_t *b, std::size_t n, std::int32_t *to);
    void (*subtract)(const std::int32_t *a, const std::int32_t *b, std::size_t n, std::int32_t *to);
    /// The bits of `from` where `mask` has one, moved together.
    void (*compress)(const std::uint64_t *from, const std::uint64_t *mask, int begin, int end, std::uint64_t *to);
};

/// Sums and differences of counts; n is a multiple of 16.
template <typename Count> void add_counts(const Count *a, const Count *b, std::size_t n, Count *to);
template <typename Count> void subtract_counts(const Count *a, const Count *b, std::size_t n, Count *to);
template <> void add_counts(const std::int32_t *a, const std::int32_t *b, std::size_t n, std::int32_t *to);
template <> void add_counts(const double *a, const double *b, std::size_t n, double *to);
template <> void subtract_counts(const std::int32_t *a, const std::int32_t *b, std::size_t n, std::int32_t *to);
template <> void subtract_counts(const double *a, const double *b, std::size_t n, double *to);

/// Room the splits of k codes need.
inline std::size_t split_scratch(int k, int n_classes, int most, bool subsets) {
    const std::size_t states = subsets ? std::size_t{1} << k : k + 1;
    return states * (n_classes + 2 + most) * 64;
}

const Kernels &kernels();

} // namespace omtree
