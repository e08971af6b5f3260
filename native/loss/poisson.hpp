// Half the Poisson deviance of targets that are written as 1 + x.
#pragma once

#include <cmath>

namespace omtree {

/// (1 + x) log(1 + x) - x, by its series where the two nearly cancel out.
inline double poisson_excess(double x) {
    if (std::abs(x) < 1e-3) {
        return x * x * (0.5 - x * (1.0 / 6 - x * (1.0 / 12 - x / 20)));
    }
    return x > -1.0 ? (1.0 + x) * std::log1p(x) - x : 1.0;
}

} // namespace omtree
