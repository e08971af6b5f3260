#include "loss/rule_loss.hpp"

#include "loss/poisson.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

namespace omtree {

namespace {

constexpr double none = std::numeric_limits<double>::infinity();

class LinearLoss final : public RuleLoss {
  public:
    LinearLoss(std::vector<double> costs, int n_labels)
        : costs_(std::move(costs)), n_labels_(n_labels), n_strata_(static_cast<int>(costs_.size()) / n_labels) {}

    int n_labels() const override { return n_labels_; }
    Verdict judge(const double *statistics, RowNumbers, const char *allowed) const override {
        Verdict best{none, 0};
        for (int label = 0; label < n_labels_; ++label) {
            if (allowed != nullptr && !allowed[label]) {
                continue;
            }
            double sum = 0.0;
            for (int s = 0; s < n_strata_; ++s) {
                sum += statistics[s] * costs_[s * n_labels_ + label];
            }
            if (sum < best.loss) {
                best = {sum, label};
            }
        }
        return best;
    }

  private:
    std::vector<double> costs_;
    int n_labels_;
    int n_strata_;
};

class ImpurityLoss final : public RuleLoss {
  public:
    ImpurityLoss(bool entropy, int n_classes) : entropy_(entropy), n_classes_(n_classes) {}

    int n_labels() const override { return n_classes_; }
    Verdict judge(const double *statistics, RowNumbers, const char *allowed) const override {
        int label = -1;
        double weight = 0.0;
        for (int c = 0; c < n_classes_; ++c) {
            weight += statistics[c];
            if ((allowed == nullptr || allowed[c]) && (label < 0 || statistics[c] > statistics[label])) {
                label = c;
            }
        }
        if (label < 0) {
            return {none, 0};
        }
        double loss = 0.0;
        for (int c = 0; c < n_classes_ && weight > 0.0; ++c) {
            const double share = std::max(0.0, statistics[c] / weight);
            loss += entropy_ ? (share > 0.0 ? -statistics[c] * std::log(share) : 0.0) : statistics[c] * (1.0 - share);
        }
        return {std::max(0.0, loss), label};
    }

  private:
    bool entropy_;
    int n_classes_;
};

class SquaredLoss final : public RuleLoss {
  public:
    Verdict judge(const double *statistics, RowNumbers, const char *) const override {
        const double weight = statistics[0];
        const double sum = statistics[1];
        return {weight > 0.0 ? std::max(0.0, statistics[2] - sum * sum / weight) : 0.0, 0};
    }
};

class PoissonLoss final : public RuleLoss {
  public:
    Verdict judge(const double *statistics, RowNumbers, const char *) const override {
        const double weight = statistics[0];
        return {weight > 0.0 ? std::max(0.0, statistics[2] - weight * poisson_excess(statistics[1] / weight)) : 0.0, 0};
    }
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

std::unique_ptr<RuleLoss> linear_loss(std::vector<double> costs, int n_labels) {
    return std::make_unique<LinearLoss>(std::move(costs), n_labels);
}

std::unique_ptr<RuleLoss> impurity_loss(bool entropy, int n_classes) {
    return std::make_unique<ImpurityLoss>(entropy, n_classes);
}

std::unique_ptr<RuleLoss> squared_loss() {
    return std::make_unique<SquaredLoss>();
}

std::unique_ptr<RuleLoss> poisson_loss() {
    return std::make_unique<PoissonLoss>();
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
