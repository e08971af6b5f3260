// Whether a rule is allowed, and what it costs: the one place that both engines ask about any rule.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "loss/rule_loss.hpp"

namespace omtree {

/// `sum of coefficient * statistic >= at_least`; `coefficient` is statistics x labels where it depends on the label.
struct LinearLimit {
    std::vector<double> coefficient;
    bool by_label = false;
    double at_least = 0.0;
};

/// `|a / b - c / d| <= tolerance` for four statistics, wherever both denominators are positive.
struct RatioLimit {
    int a = 0;
    int b = 0;
    int c = 0;
    int d = 0;
    double tolerance = 0.0;
};

/// What testing a set of features costs: the first test of a group has its full price, the others a lower one.
struct TestPrices {
    std::vector<double> full;
    std::vector<double> again;
    std::vector<int> group; ///< by feature; -1: none
    double limit = 0.0;     ///< most that the tests of one rule may cost
    double weight = 0.0;    ///< what one unit of price, paid by one unit of row weight, adds to the loss

    bool empty() const { return full.empty(); }
    /// Within a group the largest discount is the one not given, so that the order of the tests does not matter.
    double price(std::span<const int> features) const;
};

/// Which features may stand on one path, and in which order.
struct PathShape {
    struct AtMost {
        std::vector<int> features;
        int n = 0;
    };
    struct Needs {
        int feature = 0;
        std::vector<int> others; ///< all of them
        bool first = false;      ///< they stand above the feature in a tree
    };
    struct Above {
        int early = 0;
        int late = 0; ///< never stands above `early` in a tree
    };
    std::vector<AtMost> at_most;
    std::vector<Needs> needs;
    std::vector<Above> above;
    int root = -1; ///< every rule tests it, a tree tests it first; -1: no such demand

    /// Whether `feature` may be tested below these in a tree.
    bool may_follow(std::span<const int> path, int feature) const;
    /// Whether these features, in any order, may be part of a rule with more of them.
    bool may_grow(std::span<const int> path) const;
    /// Whether a rule may test exactly these.
    bool complete(std::span<const int> path) const;
};

/// A condition on the path of a rule: a feature of the table and the codes that satisfy it, as a mask of 256 bits.
struct JudgedCondition {
    int feature = 0;
    const std::uint64_t *codes = nullptr;
};

class RuleJudge {
  public:
    /// `statistics` is rows x n_statistics: the row's weight, then what the loss needs, then what the limits need.
    RuleJudge(std::span<const double> statistics, int n_statistics, std::unique_ptr<RuleLoss> loss, double min_support);

    std::vector<LinearLimit> linear;
    std::vector<RatioLimit> ratios;
    TestPrices prices;
    PathShape shape;
    /// Any other demand; asked last. Null where there is none.
    std::function<bool(std::span<const JudgedCondition>, RowNumbers, int label)> predicate;
    /// Whether splitting a rule never costs more than leaving it whole, which bounds rest on.
    bool refines = true;

    int n_statistics() const { return n_statistics_; }
    int n_labels() const { return loss_->n_labels(); }
    std::size_t n_rows() const { return statistics_.size() / n_statistics_; }
    bool needs_rows() const { return loss_->needs_rows() || predicate; }
    const double *row(std::size_t i) const { return statistics_.data() + i * n_statistics_; }
    double min_support() const { return min_support_; }
    bool supported(double weight) const { return weight > 0.0 && weight >= min_support_ * (1.0 - 1e-9) - 1e-12; }

    /// Infinite where the rule is not allowed. `features` are those of the conditions.
    Verdict judge(const double *statistics, RowNumbers rows, std::span<const JudgedCondition> conditions,
                  std::span<const int> features) const;
    /// Whether a rule may test exactly these features; sets what a unit of row weight pays for the tests then.
    bool may_test(std::span<const int> features, double &paid) const;
    /// The same for a rule whose features are known to be allowed and what is paid for them.
    /// `wanted` has a flag for every label it may have, where not all.
    Verdict judge_tested(const double *statistics, RowNumbers rows, std::span<const JudgedCondition> conditions,
                         double paid, const std::vector<char> *wanted = nullptr) const;
    /// Whether some label is allowed, features aside; `labels` has a flag per label then, or is empty: all of them.
    bool allow(const double *statistics, RowNumbers rows, std::span<const JudgedCondition> conditions,
               std::vector<char> &labels) const;
    /// Whether no rule for some of these rows can be allowed: they lack what fewer rows have even less of.
    bool hopeless(const double *statistics) const;
    /// Whether the rule is allowed with some label. `labels` gets a flag per label, or stays empty when the rule may
    /// predict every one.
    bool allows(const double *statistics, RowNumbers rows, std::span<const JudgedCondition> conditions,
                std::span<const int> features, std::vector<char> &labels) const;
    /// The loss under one label, limits and prices apart.
    double loss_under(int label, const double *statistics, RowNumbers rows) const;
    /// What the tests of a rule of this weight add to its loss.
    double paid(double weight, std::span<const int> features) const {
        return prices.empty() || prices.weight == 0.0 ? 0.0 : prices.weight * prices.price(features) * weight;
    }
    /// Whether the tests of these features, and so of any of them, are within the limit of the prices.
    bool affordable(std::span<const int> features) const {
        return prices.empty() || prices.price(features) <= prices.limit * (1.0 + 1e-12) + 1e-12;
    }
    /// The loss alone, of rows under any limits: what bounds are made of.
    Verdict bare(const double *statistics, RowNumbers rows) const {
        return loss_->judge(statistics + 1, rows, nullptr);
    }
    double bare_loss(const double *statistics, RowNumbers rows) const {
        return loss_->least_loss(statistics + 1, rows);
    }
    /// Whether nothing but support is asked of a rule whose features are allowed.
    bool unlimited() const { return linear.empty() && ratios.empty() && !predicate; }
    /// Whether statistics decide the loss, whatever the limits need.
    bool additive_loss() const { return !loss_->needs_rows(); }
    /// A loss that row i adds to every rule that covers it, whatever the rule; 0 where nothing is known.
    const std::vector<double> &floor() const { return floor_; }
    /// To be called once all the members are set.
    void finish();

  private:
    double linear_value(const LinearLimit &limit, const double *statistics, int label) const;

    std::vector<double> statistics_;
    int n_statistics_;
    std::unique_ptr<RuleLoss> loss_;
    double min_support_;
    double tolerance_ = 0.0;
    std::vector<double> floor_;
    std::vector<char> growing_; ///< by linear limit: every row adds to it, whatever the label
};

} // namespace omtree
