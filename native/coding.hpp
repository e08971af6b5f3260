// From columns to codes: binning numbers and merging equal rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace omtree {

/// Code of each value: the number of thresholds that are <= it, and `missing` for NaN.
void bin_codes(std::span<const double> values, std::span<const double> thresholds, std::uint8_t missing,
               std::span<std::uint8_t> codes);

} // namespace omtree
