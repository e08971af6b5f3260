// Rows and counts as the tree search sees them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "trees/leaf_kernels.hpp"
#include "trees/search.hpp"

namespace omtree {

template <typename Count> class NodeTables;

/// Weighted samples of one class each, feature by feature, or samples that have all sums of a loss. `Count` is an
/// integer type where all weights are integers.
template <typename Count> struct Samples {
    std::size_t size = 0;
    std::uint64_t id = 0;                      ///< tells one set of samples from every other
    std::vector<std::uint8_t> codes;           ///< n_features x size
    std::vector<std::uint16_t> label;          ///< empty where a sample has all sums
    std::vector<Count> weight;                 ///< by sample, or by sample and sum
    std::vector<double> floor;                 ///< loss that no tree avoids, because equal rows have different labels
    std::vector<std::uint32_t> floored;        ///< samples where that is more than nothing
    std::shared_ptr<NodeTables<Count>> tables; ///< instead of all that, where the samples are elsewhere

    const std::uint8_t *column(int feature) const { return codes.data() + feature * size; }
};

/// A number that was never given before.
std::uint64_t new_samples_id();

/// What a leaf costs, and whether it has the support.
template <typename Count> class LeafCost {
  public:
    LeafCost(const SearchProblem &problem, double total);

    int n_classes() const { return terms_.n_sums; }
    const LossTerms &terms() const { return terms_; }
    const LeafKernels<Count> &kernels() const { return *kernels_; }
    /// Whether the labels are the classes, and every error costs one.
    bool unit() const { return unit_; }
    /// Differences below this are rounding.
    double tolerance() const { return tolerance_; }
    double least_weight() const { return least_; }
    bool supported(double weight) const { return weight >= least_; }
    /// Most leaves that samples of this weight have the support for, up to a limit.
    int most_leaves(double weight, int limit) const {
        return weight >= limit * least_ ? limit : std::max(1, static_cast<int>(weight / least_ + 1e-6));
    }

    double weight(const Count *counts) const {
        Count sum = 0;
        for (int c = 0; c < terms_.n_weights; ++c) {
            sum += counts[c];
        }
        return static_cast<double>(sum);
    }

    /// Least loss over the predictions, whatever the support.
    double loss(const Count *counts) const {
        if (unit_) {
            Count sum = 0;
            Count most = 0;
            for (int c = 0; c < terms_.n_sums; ++c) {
                sum += counts[c];
                most = counts[c] > most ? counts[c] : most;
            }
            return static_cast<double>(sum - most);
        }
        return kernels_->leaf(counts, terms_);
    }

    /// The same, infinite without the support.
    double leaf(const Count *counts) const { return supported(weight(counts)) ? loss(counts) : infinity; }

    int label(const Count *counts) const {
        const std::vector<double> sums(counts, counts + terms_.n_sums);
        return leaf_label(loss_, sums.data(), terms_);
    }

  private:
    Loss loss_;
    LossTerms terms_;
    const LeafKernels<Count> *kernels_;
    bool unit_;
    double least_;
    double tolerance_;
};

extern template class LeafCost<std::int32_t>;
extern template class LeafCost<double>;

} // namespace omtree
