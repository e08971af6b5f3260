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
    : loss_(problem.loss), terms_(problem.terms()), kernels_(&leaf_kernels<Count>(problem.loss)),
      unit_(problem.loss == Loss::linear && problem.n_labels() == problem.n_classes) {
    double largest = 0.0;
    for (std::size_t i = 0; i < problem.costs.size(); ++i) {
        const auto width = static_cast<std::size_t>(problem.n_labels());
        unit_ = unit_ && problem.costs[i] == (i / width == i % width ? 0.0 : 1.0);
        largest = std::max(largest, problem.costs[i]);
    }
    if (problem.loss != Loss::linear) {
        std::vector<double> sums(problem.n_classes, 0.0);
        for (std::size_t i = 0; i < problem.counts.size(); ++i) {
            sums[i % problem.n_classes] += problem.counts[i];
        }
        largest = leaf_loss(loss_, sums.data(), terms_) / total;
    }
    // A leaf without rows is of no use, so some weight is always asked for.
    least_ = std::max(problem.min_support * (1.0 - 1e-9), total * 1e-15);
    tolerance_ = 1e-10 * std::max(total * largest, 1e-300);
}

template class LeafCost<std::int32_t>;
template class LeafCost<double>;

} // namespace omtree
