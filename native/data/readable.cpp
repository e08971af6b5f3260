#include "data/readable.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>

namespace omtree {
namespace {

/// The nearest number with so many decimals in scientific notation.
double rounded(double number, int decimals) {
    char text[40];
#ifdef __cpp_lib_to_chars
    const auto end = std::to_chars(text, text + sizeof text, number, std::chars_format::scientific, decimals).ptr;
    std::from_chars(text, end, number);
    return number;
#else
    std::snprintf(text, sizeof text, "%.*e", decimals, number);
    return std::strtod(text, nullptr);
#endif
}

} // namespace

double readable_between(double low, double high) {
    if (low < 0.0 && high >= 0.0) {
        return 0.0;
    }
    const bool whole = low == std::floor(low) && high == std::floor(high) && std::isfinite(low) && std::isfinite(high);
    const double middle = low / 2 + high / 2;
    for (int decimals = 0; decimals < 17; ++decimals) {
        // The number nearest to the middle is the only candidate, but for the upper end, which alone is included.
        for (const double candidate : {rounded(middle, decimals), high}) {
            if (low < candidate && candidate <= high && (!whole || candidate == std::floor(candidate)) &&
                rounded(candidate, decimals) == candidate) {
                return candidate;
            }
        }
    }
    return high;
}

} // namespace omtree
