// From columns to codes: binning numbers and merging equal rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace omtree {

/// A column of numbers where it lies in memory; the distance between neighbours is counted in numbers.
struct Numbers {
    const double *data;
    std::ptrdiff_t stride;
    std::size_t size;

    double operator[](std::size_t i) const { return data[static_cast<std::ptrdiff_t>(i) * stride]; }
};

/// Code of each value: the number of thresholds that are <= it, and `missing` for NaN.
void bin_codes(Numbers values, std::span<const double> thresholds, std::uint8_t missing, std::span<std::uint8_t> codes);

/// Finds rows with equal codes. `codes` holds one feature after the other, `row_of.size()` codes each.
/// Fills `row_of` with the merged row of every row and returns the first row of every merged row;
/// merged rows are numbered in order of their first appearance.
std::vector<std::uint32_t> merge_rows(std::span<const std::uint8_t> codes, std::span<std::int64_t> row_of);

/// Adds the weight of every sample to `counts`, one row of `n_classes` numbers per merged row. Empty `weights` mean one
/// each.
void count_classes(std::span<const std::int64_t> row_of, std::span<const std::int64_t> classes,
                   std::span<const double> weights, std::size_t n_classes, std::span<double> counts);

/// The weight of each class among the cells that are missing (code -1), then among those with each code below
/// `n_codes`: one row of `n_classes` numbers after the other. Empty `classes` mean that all are of class 0, empty
/// `weights` one each.
std::vector<double> count_codes(std::span<const std::int32_t> codes, std::size_t n_codes,
                                std::span<const std::int64_t> classes, std::size_t n_classes,
                                std::span<const double> weights);

} // namespace omtree
