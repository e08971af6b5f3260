// The inner loops of the search over sums: tables of pairs of columns, in the best version this processor has.
#pragma once

#include <cstddef>
#include <cstdint>

namespace omtree {

/// Where the sums of a table lie. A table begins with the sums over all samples; then follow, for each column, those
/// over the samples in it and in each of the columns from its own block of eight on: eight of each sum.
struct PairLayout {
    int n_columns = 0;
    int n_sums = 2;   ///< of a cell: its weight, and what decides the loss
    int n_blocks = 0; ///< of eight columns; those beyond the last one are empty

    explicit PairLayout(int columns = 0, int sums = 2)
        : n_columns(columns), n_sums(sums), n_blocks((columns + 7) / 8) {}
    /// Numbers of a block of eight columns.
    std::size_t block() const { return 8 * static_cast<std::size_t>(n_sums); }
    /// Where the blocks of column i begin; its own block is the first of them.
    std::size_t row(int i) const {
        const std::size_t head = (n_sums + 7) / 8 * 8;
        const std::size_t full = i / 8;
        const std::size_t before = 8 * (full * n_blocks - full * (full - 1) / 2) + (i % 8) * (n_blocks - full);
        return head + before * block();
    }
    std::size_t size() const { return row(8 * n_blocks); }
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
    squared, ///< squared distances from the means of all targets, the squares apart: they are the same for every tree
    poisson, ///< half the deviance from the mean, the sum of y log y apart
    least    ///< the least of the sums: what the labels cost
};

struct SumKernels {
    const char *name;
    /// The arrays of `losses` have room for 8 columns per block; `scratch` for `n_sums` times that, aligned to 64.
    void (*best_second)(SumLoss loss, const PairLayout &layout, const PairSums &sums, double support,
                        const SideLosses &losses, double *scratch);
    /// Element by element; n is a multiple of 8, tables are aligned to 64.
    void (*add)(const double *from, std::size_t n, double *to);
    void (*subtract)(const double *a, const double *b, std::size_t n, double *to);
    /// Adds the numbers of a sample to the cells of all pairs of its places; `stride` numbers, a multiple of 4, a cell,
    /// and `width` cells a line.
    void (*add_pairs)(const int *places, int n_places, const double *numbers, std::size_t stride, std::size_t width,
                      double *cells);
};

const SumKernels &sum_kernels();

} // namespace omtree
