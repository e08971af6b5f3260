// What a rule costs, from the rows it covers: one class per kind of loss.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace omtree {

using RowNumbers = std::span<const std::uint32_t>;

/// What a rule costs with its best prediction, and which label that is (0 where predictions are numbers).
struct Verdict {
    double loss;
    int label;
};

/// The least loss over the predictions a rule may make. `statistics` are sums over the rule's rows; `rows` are the rows
/// themselves, in increasing order, given wherever `needs_rows` says so.
class RuleLoss {
  public:
    virtual ~RuleLoss() = default;
    virtual bool needs_rows() const { return false; }
    virtual int n_labels() const { return 1; }
    /// `allowed` has a flag per label, or is null when every label is allowed; infinite where none is.
    virtual Verdict judge(const double *statistics, RowNumbers rows, const char *allowed) const = 0;
};

/// Statistics are weights of strata (classes, or classes within groups); a label costs what each stratum costs under
/// it: `costs` is strata x labels.
std::unique_ptr<RuleLoss> linear_loss(std::vector<double> costs, int n_labels);

/// Statistics are weights of classes. Gini: weight times the chance that two draws differ. Entropy: weight times the
/// entropy in nats.
std::unique_ptr<RuleLoss> impurity_loss(bool entropy, int n_classes);

/// Statistics are weight, sum of targets and sum of squared targets: the squared distance from the mean.
std::unique_ptr<RuleLoss> squared_loss();

/// Statistics are weight, sum of x and sum of (1 + x) log(1 + x) - x, where targets are 1 + x: half the deviance of a
/// Poisson mean.
std::unique_ptr<RuleLoss> poisson_loss();

/// Losses that the samples of each row decide: row i has the samples start[i] .. start[i + 1] - 1.
struct RowSamples {
    std::vector<std::int64_t> start;
    std::vector<double> target;
    std::vector<double> weight;
};

/// Pinball loss around the best quantile: `level` times the distance above, 1 - `level` times that below.
std::unique_ptr<RuleLoss> quantile_loss(RowSamples samples, double level);

/// Huber loss around the best centre: half the square within `delta`, linear beyond.
std::unique_ptr<RuleLoss> huber_loss(RowSamples samples, double delta);

/// Any function of the rows.
std::unique_ptr<RuleLoss> row_loss(std::function<Verdict(RowNumbers, const char *)> function, int n_labels);

} // namespace omtree
