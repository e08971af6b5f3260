#include "coding.hpp"

#include <cmath>

namespace omtree {

void bin_codes(std::span<const double> values, std::span<const double> thresholds, std::uint8_t missing,
               std::span<std::uint8_t> codes) {
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double value = values[i];
        unsigned code = 0;
        for (const double threshold : thresholds) {
            code += threshold <= value;
        }
        codes[i] = std::isnan(value) ? missing : static_cast<std::uint8_t>(code);
    }
}

} // namespace omtree
