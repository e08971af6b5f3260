// What rules cost where a judge says so, and whether they are allowed: any loss, any limits.
//
// A rule with label l costs  constant + loss / unit - sum over its rows of credit[i, l]: the credits are all the duals
// that belong to a row. Where the judge's loss never grows when a rule is split, every row has a lowest contribution,
// from which the bounds are made.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "loss/rule_judge.hpp"
#include "rules/pricing.hpp"

namespace omtree {

/// The coded rows together with their judge.
class GeneralPricer {
  public:
    /// `floors` is rows x cases: whatever a rule predicts, in one of the cases each of its rows adds at least
    /// floors[i, case] to its loss. Cases are labels, or intervals of predicted numbers, or a single one. With
    /// `every_path` rules for the same rows stay apart when their conditions differ. Pricer and judge must outlive
    /// this.
    GeneralPricer(const Pricer &pricer, const RuleJudge &judge, std::span<const double> floors, double unit,
                  bool every_path);

    /// As that of the plain pricer, in both ways. The task's `value` holds the credits: rows x 1, or rows x labels
    /// where it demands all labels.
    PricingResult price(const PricingTask &task, std::size_t k, const std::atomic<bool> &cancelled) const;

    /// Loss, divided by the unit, of each rule under its label (with the best label, which is filled in, where that is
    /// -1); infinite for a rule that is not allowed.
    std::vector<double> losses(std::span<const std::int32_t> rules, int width, std::vector<std::int32_t> &labels) const;

    const Pricer &pricer() const { return pricer_; }
    const RuleJudge &judge() const { return judge_; }
    std::span<const double> floors() const { return floors_; }
    double unit() const { return unit_; }
    bool every_path() const { return every_path_; }
    /// Whether a condition that all rows of a rule meet can make a difference.
    bool idle_conditions_count() const {
        return every_path_ || judge_.predicate || !judge_.shape.needs.empty() || judge_.shape.root >= 0;
    }
    /// Whether a rule that tests these features, the last of them on this level, can have extensions that are allowed.
    bool may_go_on(std::span<const int> features, int level) const;

  private:
    const Pricer &pricer_;
    const RuleJudge &judge_;
    std::vector<double> floors_;
    double unit_;
    bool every_path_;
    std::vector<int> level_of_feature_;
};

/// A rule under construction, as the judge wants to see it.
struct JudgedPath {
    std::array<JudgedCondition, max_rule_length> conditions{};
    std::array<int, max_rule_length> features{};

    void set(int place, const Level &level, int node) {
        features[static_cast<std::size_t>(place)] = level.feature;
        conditions[static_cast<std::size_t>(place)] = {level.feature,
                                                       level.sets[static_cast<std::size_t>(node)].data()};
    }
    std::span<const JudgedCondition> first_conditions(int n) const {
        return {conditions.data(), static_cast<std::size_t>(n)};
    }
    std::span<const int> first_features(int n) const { return {features.data(), static_cast<std::size_t>(n)}; }
};

inline RowNumbers as_numbers(std::span<const std::int32_t> rows) {
    return {reinterpret_cast<const std::uint32_t *>(rows.data()), rows.size()};
}

/// Tells rules for the same rows apart by their conditions.
inline std::uint64_t with_conditions(std::uint64_t hash, const PricedRule &rule) {
    for (int c = 0; c < rule.length; ++c) {
        hash = (hash ^ static_cast<std::uint64_t>(rule.conditions[static_cast<std::size_t>(c)] + 1)) * 0x100000001b3ULL;
    }
    return hash;
}

/// The policy of pricing by a judge. What adds up over the rows of a rule, for one task: the judge's statistics, the
/// credits, a one, the rows' lowest contributions where the judge is slow, and (for the bound) their negative parts.
class JudgedCosts {
  public:
    /// No sum is a difference: limits ask for sums that are exactly zero.
    static constexpr bool add_only = true;
    static constexpr bool rank_is_cost = false;
    using Path = JudgedPath;

    JudgedCosts(const GeneralPricer &pricer, const PricingTask &task);
    std::size_t short_width() const { return short_; } // without the bound
    std::size_t full_width() const { return stride_; }
    RowVectors vectors(std::size_t width) const { return {data_.data(), stride_, width}; }
    void sum_all(std::vector<double> &sums) const;

    double count(const double *sums) const { return sums[count_]; }
    bool supported(const double *sums) const { return judge_.supported(sums[0]); }
    bool idle_conditions_count() const { return general_.idle_conditions_count(); }
    bool may_be_rule(const Path &path, int length) const {
        const auto features = path.first_features(length);
        return judge_.shape.complete(features) && judge_.affordable(features);
    }
    bool may_go_on(const Path &path, int length, int level) const {
        return general_.may_go_on(path.first_features(length), level);
    }
    /// Every extension pays at least for these tests, for at least the least support.
    double least_fixed(const Path &path, int length) const {
        return task_.constant + judge_.paid(judge_.min_support(), path.first_features(length)) / general_.unit();
    }
    /// No rule for some of these rows costs less, constant and prices apart; only in vectors of full width.
    double bound(const double *sums) const {
        return judge_.refines ? least_of(sums + short_) : -std::numeric_limits<double>::infinity();
    }
    bool needs_rows() const { return judge_.needs_rows(); }
    /// A judge that needs the rows is slow: it is spared what the rows' lowest contributions rule out.
    bool is_worth_judging(const double *sums, double fixed, double below) const {
        return !judge_.needs_rows() || !judge_.refines ||
               fixed + least_of(sums + low_) < std::min(task_.threshold, below + 1e-12);
    }
    /// What the rows cost under no limits, or the least they can cost where to know that takes long.
    double rank(const double *sums, std::int32_t &label) const;
    std::uint64_t key(const PricedRule &rule, std::uint64_t rows_hash) const {
        return idle_conditions_count() ? with_conditions(rows_hash, rule) : rows_hash;
    }

    /// Judges one rule and offers it, with its best label or with all of them, to a pool.
    class Offer {
      public:
        Offer(const JudgedCosts &costs, const PricingTask &task) : costs_(costs), task_(task) {}
        /// The least cost of the rule; infinite when it is not allowed. `hash` is asked for only if the rule is wanted.
        template <typename Hash>
        double operator()(PricedRule rule, const double *sums, std::span<const std::int32_t> rows, const Path &path,
                          RulePool &pool, const Hash &hash);

      private:
        const JudgedCosts &costs_;
        const PricingTask &task_;
        std::vector<char> labels_;
    };

  private:
    double credit(const double *sums, int label) const { return sums[credit_ + (n_credits_ > 1 ? label : 0)]; }
    double least_of(const double *cases) const { return *std::min_element(cases, cases + n_cases_); }

    const GeneralPricer &general_;
    const RuleJudge &judge_;
    const PricingTask &task_;
    std::size_t credit_;
    std::size_t n_credits_;
    std::size_t count_;
    std::size_t low_;
    std::size_t n_cases_;
    std::size_t short_;
    std::size_t stride_;
    std::vector<double> data_;
};

template <typename Hash>
double JudgedCosts::Offer::operator()(PricedRule rule, const double *sums, std::span<const std::int32_t> covered,
                                      const Path &path, RulePool &pool, const Hash &hash) {
    const RuleJudge &judge = costs_.judge_;
    const GeneralPricer &pricer = costs_.general_;
    const RowNumbers rows = as_numbers(covered);
    const auto conditions = path.first_conditions(rule.length);
    const auto features = path.first_features(rule.length);
    double least = std::numeric_limits<double>::infinity();
    bool hashed = false;
    const auto consider = [&](double loss, int label) {
        const double cost = task_.constant + loss / pricer.unit() - costs_.credit(sums, label);
        least = std::min(least, cost);
        if (cost < task_.threshold && cost <= pool.threshold()) {
            if (!hashed) {
                rule.rows_hash = pricer.every_path() ? with_conditions(hash(), rule) : hash();
                hashed = true;
            }
            rule.cost = cost;
            rule.label = label;
            pool.add(rule);
        }
    };
    if (!task_.all_labels) {
        const Verdict verdict = judge.judge(sums, rows, conditions, features);
        consider(verdict.loss, verdict.label);
    } else if (judge.allows(sums, rows, conditions, features, labels_)) {
        const double paid = judge.paid(sums[0], features);
        const std::vector<char> flags = labels_;
        for (int label = 0; label < judge.n_labels(); ++label) {
            if (flags.empty() || flags[static_cast<std::size_t>(label)]) {
                consider(judge.loss_under(label, sums, rows) + paid, label);
            }
        }
    }
    return least;
}

} // namespace omtree
