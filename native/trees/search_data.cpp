#include "trees/search_data.hpp"

#include <algorithm>
#include <atomic>

namespace omtree {

std::uint64_t new_samples_id() {
    static std::atomic<std::uint64_t> last{0};
    return ++last;
}

template <typename Count>
LeafCost<Count>::LeafCost(const SearchProblem &problem, double total)
    : n_classes_(problem.n_classes), n_labels_(problem.n_labels()), unit_(n_labels_ == n_classes_),
      costs_(problem.costs.begin(), problem.costs.end()) {
    double largest = 0.0;
    for (int t = 0; t < n_classes_; ++t) {
        for (int p = 0; p < n_labels_; ++p) {
            const double cost = costs_[t * n_labels_ + p];
            unit_ = unit_ && cost == (t == p ? 0.0 : 1.0);
            largest = std::max(largest, cost);
        }
    }
    // A leaf without rows is of no use, so some weight is always asked for.
    least_ = std::max(problem.min_support * (1.0 - 1e-9), total * 1e-15);
    tolerance_ = 1e-10 * std::max(total * largest, 1e-300);
}

template <typename Count> double LeafCost<Count>::general_loss(const Count *counts, int *label) const {
    double best = infinity;
    for (int p = 0; p < n_labels_; ++p) {
        double sum = 0.0;
        for (int t = 0; t < n_classes_; ++t) {
            sum += static_cast<double>(counts[t]) * costs_[t * n_labels_ + p];
        }
        if (sum < best) {
            best = sum;
            if (label != nullptr) {
                *label = p;
            }
        }
    }
    return best;
}

template class LeafCost<std::int32_t>;
template class LeafCost<double>;

} // namespace omtree
