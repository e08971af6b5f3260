// What a leaf is worth, from the sums of its rows; losses are a constant minus this.
#pragma once

#include "loss/additive.hpp"
#include "loss/poisson.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "neighbourhood/task.hpp"

namespace omtree::neighbourhood {

/// The measure that tells greedily which test is promising.
enum class Criterion { worth, gini, entropy };

/// Weight of the rows behind these sums.
template <typename Number> Number weight_of(const Task &task, const Number *sums) {
    if (task.weighs) {
        return sums[0];
    }
    Number weight = 0;
    for (int p = 0; p < task.n_planes; ++p) {
        weight += sums[p];
    }
    return weight;
}

namespace detail {

inline double x_log_x(double x) {
    return x > 0.0 ? x * std::log(x) : 0.0;
}

inline double squares(const double *sums, int n) {
    double total = 0.0, squared = 0.0;
    for (int p = 0; p < n; ++p) {
        total += sums[p];
        squared += sums[p] * sums[p];
    }
    return total > 0.0 ? squared / total : 0.0;
}

inline double logarithms(const double *sums, int n) {
    double total = 0.0, sum = 0.0;
    for (int p = 0; p < n; ++p) {
        total += sums[p];
        sum += x_log_x(sums[p]);
    }
    return sum - x_log_x(total);
}

/// What a leaf saves of the squares of the target, the last of the sums.
inline double saved(Loss loss, const Task &task, const double *sums) {
    return sums[task.n_planes - 1] - leaf_loss(loss, sums, {task.n_planes, 1, 1, nullptr, nullptr});
}

} // namespace detail

/// What rows with these sums are worth as one leaf.
inline double worth_of(const Task &task, const double *sums) {
    const int first = task.weighs ? 1 : 0;
    switch (task.worth) {
    case Worth::label:
        return *std::max_element(sums + first, sums + task.n_planes);
    case Worth::squared:
        return sums[0] > 0.0 ? sums[1] * sums[1] / sums[0] : 0.0;
    case Worth::squares: {
        double squared = 0.0;
        for (int p = 1; p < task.n_planes; ++p) {
            squared += sums[p] * sums[p];
        }
        return sums[0] > 0.0 ? squared / sums[0] : 0.0;
    }
    case Worth::lines:
        return detail::saved(Loss::lines, task, sums);
    case Worth::planes:
        return detail::saved(Loss::planes, task, sums);
    case Worth::poisson:
        return sums[0] > 0.0 ? sums[0] * poisson_excess(sums[1] / sums[0]) : 0.0;
    case Worth::hazard:
        return sums[1] > 0.0 ? sums[1] * poisson_excess(sums[2] / sums[1]) : 0.0;
    case Worth::logrank:
        return sums[1] > 0.0 ? sums[2] * sums[2] / sums[1] : 0.0;
    case Worth::gini:
        return detail::squares(sums + first, task.n_planes - first);
    case Worth::entropy:
        return detail::logarithms(sums + first, task.n_planes - first);
    }
    return 0.0;
}

/// How promising rows with these sums are by a criterion.
inline double promise_of(const Task &task, Criterion criterion, const double *sums) {
    const bool of_classes = task.worth == Worth::label;
    if (criterion == Criterion::worth || !of_classes) {
        return worth_of(task, sums);
    }
    const int first = task.weighs ? 1 : 0;
    return criterion == Criterion::gini ? detail::squares(sums + first, task.n_planes - first)
                                        : detail::logarithms(sums + first, task.n_planes - first);
}

/// The label of a leaf with these sums.
inline int label_of(const Task &task, const double *sums) {
    if (task.worth != Worth::label && task.worth != Worth::gini && task.worth != Worth::entropy) {
        return 0;
    }
    const int first = task.weighs ? 1 : 0;
    return static_cast<int>(std::max_element(sums + first, sums + task.n_planes) - sums) - first;
}

} // namespace omtree::neighbourhood
