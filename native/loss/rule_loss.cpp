#include "loss/rule_loss.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace omtree {

namespace {

constexpr double none = std::numeric_limits<double>::infinity();

class FormulaLoss final : public RuleLoss {
  public:
    FormulaLoss(Loss loss, int n_sums, int n_labels, std::vector<double> costs)
        : loss_(loss), costs_(std::move(costs)), terms_{n_sums, 0, n_labels, costs_.data(), nullptr} {}

    int n_labels() const override { return terms_.n_labels; }
    Verdict judge(const double *statistics, RowNumbers, const char *allowed) const override {
        LossTerms terms = terms_;
        terms.allowed = allowed;
        const int label = leaf_label(loss_, statistics, terms);
        return label < 0 ? Verdict{none, 0} : Verdict{leaf_loss(loss_, statistics, terms), label};
    }
    double least_loss(const double *statistics, RowNumbers) const override {
        return leaf_loss(loss_, statistics, terms_);
    }

  private:
    Loss loss_;
    std::vector<double> costs_;
    LossTerms terms_;
};

/// Samples in the order of their targets, so that those of a set of rows come out sorted without sorting.
class SampleLoss : public RuleLoss {
  public:
    explicit SampleLoss(const RowSamples &samples) : start_(samples.start) {
        const std::size_t n = samples.target.size();
        std::vector<std::uint32_t> order(n);
        std::iota(order.begin(), order.end(), 0u);
        std::stable_sort(order.begin(), order.end(),
                         [&](std::uint32_t a, std::uint32_t b) { return samples.target[a] < samples.target[b]; });
        rank_.resize(n);
        for (std::size_t r = 0; r < n; ++r) {
            rank_[order[r]] = static_cast<std::uint32_t>(r);
            target_.push_back(samples.target[order[r]]);
            weight_.push_back(samples.weight[order[r]]);
        }
    }

    bool needs_rows() const override { return true; }
    Verdict judge(const double *, RowNumbers rows, const char *) const override {
        thread_local std::vector<std::uint64_t> marked;
        thread_local std::vector<std::uint32_t> sorted;
        sorted.clear();
        std::size_t n_samples = 0;
        for (const std::uint32_t row : rows) {
            n_samples += static_cast<std::size_t>(start_[row + 1] - start_[row]);
        }
        if (n_samples < target_.size() / 256) {
            // So few are sorted sooner than all marks are looked at.
            for (const std::uint32_t row : rows) {
                sorted.insert(sorted.end(), rank_.begin() + start_[row], rank_.begin() + start_[row + 1]);
            }
            std::sort(sorted.begin(), sorted.end());
            return {sorted.empty() ? 0.0 : std::max(0.0, least(sorted)), 0};
        }
        marked.assign((target_.size() + 63) / 64, 0);
        for (const std::uint32_t row : rows) {
            for (std::int64_t i = start_[row]; i < start_[row + 1]; ++i) {
                marked[rank_[i] / 64] |= std::uint64_t{1} << (rank_[i] % 64);
            }
        }
        for (std::size_t w = 0; w < marked.size(); ++w) {
            for (std::uint64_t word = marked[w]; word != 0; word &= word - 1) {
                sorted.push_back(static_cast<std::uint32_t>(w * 64 + std::countr_zero(word)));
            }
        }
        return {sorted.empty() ? 0.0 : std::max(0.0, least(sorted)), 0};
    }

  protected:
    /// Least loss of the samples with these ranks, which increase.
    virtual double least(const std::vector<std::uint32_t> &sorted) const = 0;

    std::vector<double> target_;
    std::vector<double> weight_;

  private:
    std::vector<std::int64_t> start_;
    std::vector<std::uint32_t> rank_;
};

class QuantileLoss final : public SampleLoss {
  public:
    QuantileLoss(const RowSamples &samples, double level) : SampleLoss(samples), level_(level) {}

  protected:
    double least(const std::vector<std::uint32_t> &sorted) const override {
        double total = 0.0;
        for (const std::uint32_t i : sorted) {
            total += weight_[i];
        }
        // The loss is convex and linear between targets: its least value is at the first target that leaves at most
        // this share of the weight above.
        double below = 0.0;
        std::uint32_t centre = sorted.back();
        for (const std::uint32_t i : sorted) {
            below += weight_[i];
            if (below >= level_ * total) {
                centre = i;
                break;
            }
        }
        double loss = 0.0;
        for (const std::uint32_t i : sorted) {
            const double distance = target_[i] - target_[centre];
            loss += weight_[i] * (distance > 0.0 ? level_ * distance : (level_ - 1.0) * distance);
        }
        return loss;
    }

  private:
    double level_;
};

class HuberLoss final : public SampleLoss {
  public:
    HuberLoss(const RowSamples &samples, double delta) : SampleLoss(samples), delta_(delta) {}

  protected:
    double least(const std::vector<std::uint32_t> &sorted) const override {
        // The slope rises with the centre: bisect to the targets within reach of it, then solve among those.
        double low = target_[sorted.front()];
        double high = target_[sorted.back()];
        double centre = low;
        for (int step = 0; step < 200 && low < high; ++step) {
            centre = 0.5 * (low + high);
            double slope = 0.0;
            double near = 0.0;
            for (const std::uint32_t i : sorted) {
                const double distance = centre - target_[i];
                slope += weight_[i] * std::clamp(distance, -delta_, delta_);
                near += std::abs(distance) <= delta_ ? weight_[i] : 0.0;
            }
            if (slope == 0.0) {
                break;
            }
            (slope > 0.0 ? high : low) = centre;
            if (near > 0.0) {
                // A Newton step is exact once no target enters or leaves the reach; it is kept only within the bracket.
                const double newton = centre - slope / near;
                if (newton > low && newton < high) {
                    double there = 0.0;
                    for (const std::uint32_t i : sorted) {
                        there += weight_[i] * std::clamp(newton - target_[i], -delta_, delta_);
                    }
                    (there > 0.0 ? high : low) = newton;
                    centre = newton;
                    if (std::abs(there) <= 1e-14 * delta_ * near) {
                        break;
                    }
                }
            }
            if (high - low <= 1e-15 * std::max(std::abs(low), std::abs(high))) {
                break;
            }
        }
        double loss = 0.0;
        for (const std::uint32_t i : sorted) {
            const double distance = std::abs(target_[i] - centre);
            loss += weight_[i] * (distance <= delta_ ? 0.5 * distance * distance : delta_ * (distance - 0.5 * delta_));
        }
        return loss;
    }

  private:
    double delta_;
};

class AnyRowLoss final : public RuleLoss {
  public:
    AnyRowLoss(std::function<Verdict(RowNumbers, const char *)> function, int n_labels)
        : function_(std::move(function)), n_labels_(n_labels) {}

    bool needs_rows() const override { return true; }
    int n_labels() const override { return n_labels_; }
    Verdict judge(const double *, RowNumbers rows, const char *allowed) const override {
        return function_(rows, allowed);
    }

  private:
    std::function<Verdict(RowNumbers, const char *)> function_;
    int n_labels_;
};

} // namespace

std::unique_ptr<RuleLoss> formula_loss(Loss loss, int n_sums, int n_labels, std::vector<double> costs) {
    return std::make_unique<FormulaLoss>(loss, n_sums, n_labels, std::move(costs));
}

std::unique_ptr<RuleLoss> quantile_loss(RowSamples samples, double level) {
    return std::make_unique<QuantileLoss>(samples, level);
}

std::unique_ptr<RuleLoss> huber_loss(RowSamples samples, double delta) {
    return std::make_unique<HuberLoss>(samples, delta);
}

std::unique_ptr<RuleLoss> row_loss(std::function<Verdict(RowNumbers, const char *)> function, int n_labels) {
    return std::make_unique<AnyRowLoss>(std::move(function), n_labels);
}

} // namespace omtree
