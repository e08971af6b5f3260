// What a rule costs, from the rows it covers: one class per kind of loss.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "loss/additive.hpp"

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
    /// The loss alone, where every label is allowed.
    virtual double least_loss(const double *statistics, RowNumbers rows) const {
        return judge(statistics, rows, nullptr).loss;
    }
};

/// A formula of the statistics; `costs` is statistics x labels where it is linear.
std::unique_ptr<RuleLoss> formula_loss(Loss loss, int n_sums, int n_labels, std::vector<double> costs = {});

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
