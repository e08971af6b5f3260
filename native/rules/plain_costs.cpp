#include "rules/plain_costs.hpp"

#include "rules/pricing_paths.hpp"
#include "rules/pricing_walk.hpp"

namespace omtree {

PlainCosts::PlainCosts(const Pricer &pricer, const PricingTask &task)
    : n_classes_(static_cast<std::size_t>(pricer.n_classes())), short_(whole_lanes(n_classes_ + 2)),
      stride_(short_ + whole_lanes(n_classes_)), support_(with_tolerance(task.min_support)), constant_(task.constant),
      threshold_(task.threshold), data_(pricer.n_rows() * stride_, 0.0) {
    for (std::size_t i = 0; i < pricer.n_rows(); ++i) {
        double *row = data_.data() + i * stride_;
        const double *value = task.value.data() + i * n_classes_;
        for (std::size_t c = 0; c < n_classes_; ++c) {
            row[c] = value[c];
            row[short_ + c] = std::min(0.0, value[c]);
        }
        row[n_classes_] = pricer.weight()[i];
        row[n_classes_ + 1] = 1.0;
    }
}

void PlainCosts::sum_all(std::vector<double> &sums) const {
    sums.assign(stride_, 0.0);
    for (std::size_t i = 0; i < data_.size(); ++i) {
        sums[i % stride_] += data_[i];
    }
}

PricingResult Pricer::price(const PricingTask &task, std::size_t k, const std::atomic<bool> &cancelled) const {
    const PlainCosts costs(*this, task);
    return k ? ShortestPaths(*this, costs, task, k, cancelled).run() : price_exactly(*this, costs, task, cancelled);
}

} // namespace omtree
