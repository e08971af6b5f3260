// How many of some thresholds are at or below a number.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace omtree {

/// Counts in a fixed number of branch-free steps, so that searches overlap.
class ThresholdFinder {
  public:
    /// As many thresholds as there are codes in a byte.
    static constexpr std::size_t kMost = 255;
    static constexpr std::size_t kAtOnce = 8;

    /// `thresholds` are in increasing order.
    explicit ThresholdFinder(std::span<const double> thresholds) {
        padded_.fill(NAN); // which is below nothing
        std::copy(thresholds.begin(), thresholds.end(), padded_.begin());
    }

    /// For `kAtOnce` values side by side, because each search is a chain of dependent steps.
    void operator()(const double *values, std::uint32_t *at) const {
        std::fill_n(at, kAtOnce, 0u);
        for (std::uint32_t step = 128; step > 0; step /= 2) {
            for (std::size_t j = 0; j < kAtOnce; ++j) {
                at[j] += padded_[at[j] + step - 1] <= values[j] ? step : 0u;
            }
        }
    }

  private:
    std::array<double, kMost> padded_;
};

} // namespace omtree
