// The inner loops of the search over sums: tables of pairs of columns, in the best version this processor has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omtree {

/// What is summed over the samples of a cell.
struct CellSum {
    double weight = 0.0;
    double target = 0.0;
};

/// Where the sums of a table lie. A table begins with the sums over all samples; then follow, for each column, those
/// over the samples in it and in each of the columns from its own block of eight on: eight weights, eight targets.
struct PairLayout {
    int n_columns = 0;
    int n_blocks = 0; ///< of eight columns; those beyond the last one are empty

    explicit PairLayout(int columns = 0) : n_columns(columns), n_blocks((columns + 7) / 8) {}
    static constexpr std::size_t head = 8; ///< weight and target of all samples, padded
    /// Where the blocks of column i begin; its own block is the first of them.
    std::size_t row(int i) const {
        const std::size_t full = i / 8;
        const std::size_t before = 8 * (full * n_blocks - full * (full - 1) / 2) + (i % 8) * (n_blocks - full);
        return head + before * 16;
    }
    std::size_t size() const { return row(8 * n_blocks); }
    /// Where the weight of column j's samples in column i lies, i's block not after j's; the target is 8 further.
    std::size_t at(int i, int j) const { return row(i) + static_cast<std::size_t>(j / 8 - i / 8) * 16 + j % 8; }
};

/// A table, or what is left of one: `plus - minus - other + both`, where null stands for nothing.
struct PairSums {
    const double *plus = nullptr;
    const double *minus = nullptr;
    const double *other = nullptr;
    const double *both = nullptr;
};

/// What the sides of every column cost as leaves and with one more split; infinite below the support.
struct SideLosses {
    double *leaf_in;
    double *leaf_out;
    double *second_in;
    double *second_out;
};

enum class SumLoss : std::uint8_t {
    squared, ///< squared distances from the mean, the sum of squares apart: that is the same for every tree
    poisson  ///< half the deviance from the mean, the sum of y log y apart
};

struct SumKernels {
    const char *name;
    /// The arrays of `losses` have room for 8 columns per block; `scratch` for twice that, aligned to 64.
    void (*best_second)(SumLoss loss, const PairLayout &layout, const PairSums &sums, double support,
                        const SideLosses &losses, double *scratch);
    /// Element by element; n is a multiple of 8, tables are aligned to 64.
    void (*add)(const double *from, std::size_t n, double *to);
    void (*subtract)(const double *a, const double *b, std::size_t n, double *to);
};

const SumKernels &sum_kernels();

} // namespace omtree
