// Rules of least reduced cost where a judge says what a rule costs and whether it is allowed: any loss, any limits.
//
// A rule with label l costs  constant + loss / unit - sum over its rows of credit[i, l]: the credits are all the duals
// that belong to a row. Where the judge's loss never grows when a rule is split, every row has a lowest contribution,
// from which the bounds are made.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "loss/rule_judge.hpp"
#include "rules/pricing.hpp"

namespace omtree {

class GeneralPricer {
  public:
    /// `floors` is rows x cases: whatever a rule predicts, in one of the cases each of its rows adds at least
    /// floors[i, case] to its loss. Cases are labels, or intervals of predicted numbers, or a single one. With
    /// `every_path` rules for the same rows stay apart when their conditions differ. Pricer and judge must outlive
    /// this.
    GeneralPricer(const Pricer &pricer, const RuleJudge &judge, std::span<const double> floors, double unit,
                  bool every_path);

    /// All rules below the threshold, or the cheapest `limit` of them. The task's `value` holds the credits: rows x 1,
    /// or rows x labels where it demands all labels.
    PricingResult exact(const PricingTask &task, const std::atomic<bool> &cancelled) const;

    /// The paper's K-shortest-path heuristic: level by level, the `k` cheapest partial paths of every node go on.
    PricingResult shortest_paths(const PricingTask &task, std::size_t k, const std::atomic<bool> &cancelled) const;

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

/// What adds up over the rows of a rule, for one task: the judge's statistics, the credits, a one, the rows' lowest
/// contributions where the judge is slow, and (for the bound) their negative parts.
class GeneralStats {
  public:
    GeneralStats(const GeneralPricer &pricer, const PricingTask &task);
    std::size_t short_width() const { return short_; } // without the bound
    std::size_t full_width() const { return stride_; }
    RowVectors vectors(std::size_t width) const { return {data_.data(), stride_, width}; }
    void sum_all(std::vector<double> &sums) const;

    double count(const double *sums) const { return sums[count_]; }
    double credit(const double *sums, int label) const { return sums[credit_ + (n_credits_ > 1 ? label : 0)]; }
    /// No rule for exactly these rows costs less, constant and prices apart; only where the judge needs rows.
    double low(const double *sums) const { return least_of(sums + low_); }
    /// No rule for some of these rows costs less, constant and prices apart; only in vectors of full width.
    double bound(const double *sums) const { return least_of(sums + short_); }

  private:
    double least_of(const double *cases) const;
    std::size_t credit_;
    std::size_t n_credits_;
    std::size_t count_;
    std::size_t low_;
    std::size_t n_cases_;
    std::size_t short_;
    std::size_t stride_;
    std::vector<double> data_;
};

/// A rule under construction, as the judge wants to see it.
struct GeneralPath {
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

/// Judges one rule and offers it, with its best label or with all of them, to a pool.
class GeneralOffer {
  public:
    GeneralOffer(const GeneralPricer &pricer, const PricingTask &task, const GeneralStats &stats)
        : pricer_(pricer), task_(task), stats_(stats) {}
    /// The least cost of the rule; infinite when it is not allowed. `hash` is asked for only if the rule is wanted.
    template <typename Hash>
    double operator()(PricedRule rule, const double *sums, RowNumbers rows, const GeneralPath &path, RulePool &pool,
                      const Hash &hash);

  private:
    const GeneralPricer &pricer_;
    const PricingTask &task_;
    const GeneralStats &stats_;
    std::vector<char> labels_;
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

template <typename Hash>
double GeneralOffer::operator()(PricedRule rule, const double *sums, RowNumbers rows, const GeneralPath &path,
                                RulePool &pool, const Hash &hash) {
    const RuleJudge &judge = pricer_.judge();
    const auto conditions = path.first_conditions(rule.length);
    const auto features = path.first_features(rule.length);
    double least = std::numeric_limits<double>::infinity();
    bool hashed = false;
    const auto consider = [&](double loss, int label) {
        const double cost = task_.constant + loss / pricer_.unit() - stats_.credit(sums, label);
        least = std::min(least, cost);
        if (cost < task_.threshold && cost <= pool.threshold()) {
            if (!hashed) {
                rule.rows_hash = pricer_.every_path() ? with_conditions(hash(), rule) : hash();
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
