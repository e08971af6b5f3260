// What rules cost where it is a sum over their rows for each class: the policy of plain pricing.
#pragma once

#include <algorithm>

#include "rules/pricing.hpp"

namespace omtree {

/// Row statistics in one flat array, so that a histogram adds whole vectors: the values of the classes, the weight, a
/// one, and (for the bound) the negative parts of the values.
class PlainCosts {
  public:
    /// Differences of sums will do: nothing hangs on a sum that is exactly zero.
    static constexpr bool add_only = false;
    /// The rank of a path is what it costs as a rule.
    static constexpr bool rank_is_cost = true;

    /// Any conditions may follow each other.
    struct Path {
        void set(int, const Level &, int) {}
    };

    PlainCosts(const Pricer &pricer, const PricingTask &task);
    std::size_t short_width() const { return short_; } // without the bound
    std::size_t full_width() const { return stride_; }
    RowVectors vectors(std::size_t width) const { return {data_.data(), stride_, width}; }
    void sum_all(std::vector<double> &sums) const;

    double count(const double *sums) const { return sums[n_classes_ + 1]; }
    bool supported(const double *sums) const { return sums[n_classes_] >= support_; }
    bool idle_conditions_count() const { return false; }
    bool may_be_rule(const Path &, int) const { return true; }
    bool may_go_on(const Path &, int, int) const { return true; }
    double least_fixed(const Path &, int) const { return constant_; }
    /// No rule for some of these rows costs less, constant apart.
    double bound(const double *sums) const { return least_of(sums + short_); }
    bool needs_rows() const { return false; }
    bool is_worth_judging(const double *sums, double fixed, double below) const {
        const double cost = fixed + least_of(sums);
        return cost < threshold_ && cost <= below;
    }
    double rank(const double *sums, std::int32_t &label) const {
        label = static_cast<std::int32_t>(std::min_element(sums, sums + n_classes_) - sums);
        return constant_ + sums[label];
    }
    std::uint64_t key(const PricedRule &, std::uint64_t rows_hash) const { return rows_hash; }

    /// Offers a rule, with its best label or with all of them, to a pool.
    class Offer {
      public:
        Offer(const PlainCosts &costs, const PricingTask &task) : costs_(costs), task_(task) {}

        /// The least cost of the rule. `hash` is asked for only if the rule is wanted.
        template <typename Hash>
        double operator()(PricedRule rule, const double *sums, std::span<const std::int32_t>, const Path &,
                          RulePool &pool, const Hash &hash) const {
            const double least = costs_.rank(sums, rule.label);
            if (least >= task_.threshold || least > pool.threshold()) {
                return least;
            }
            rule.rows_hash = hash();
            for (std::size_t label = 0; label < costs_.n_classes_; ++label) {
                const double cost = task_.constant + sums[label];
                if (task_.all_labels ? cost < task_.threshold : static_cast<std::int32_t>(label) == rule.label) {
                    PricedRule labelled = rule;
                    labelled.label = static_cast<std::int32_t>(label);
                    labelled.cost = cost;
                    pool.add(labelled);
                }
            }
            return least;
        }

        /// The same for a path with its best label, whose cost is known.
        double at_rank(PricedRule rule, double cost, std::uint64_t hash, RulePool &pool) const {
            if (cost < task_.threshold && cost <= pool.threshold()) {
                rule.cost = cost;
                rule.rows_hash = hash;
                pool.add(rule);
            }
            return cost;
        }

      private:
        const PlainCosts &costs_;
        const PricingTask &task_;
    };

  private:
    double least_of(const double *classes) const { return *std::min_element(classes, classes + n_classes_); }

    std::size_t n_classes_;
    std::size_t short_;
    std::size_t stride_;
    double support_;
    double constant_;
    double threshold_;
    std::vector<double> data_;
};

} // namespace omtree
