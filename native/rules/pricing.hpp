// Rules of least reduced cost over the feature graph: what is asked, what is answered, and the coded rows.
//
// What a rule costs is said by a policy: plain_costs.hpp where it is a sum over rows, judged_costs.hpp where a judge
// has to be asked. The ways to look for rules are pricing_walk.hpp (all of them) and pricing_paths.hpp (the paper's
// heuristic).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "core/graph.hpp"
#include "core/stopwatch.hpp"

namespace omtree {

/// Longest rule the kernel handles.
inline constexpr int max_rule_length = 16;

/// Weights are sums of doubles: a support that is short by rounding alone counts as reached.
inline double with_tolerance(double support) {
    return support * (1.0 - 1e-9) - 1e-12;
}

struct PricingTask {
    std::span<const double> value; // rows x classes
    double constant = 0.0;
    int max_depth = 1;
    double min_support = 0.0;
    double threshold = 0.0;      // only rules that cost less are wanted
    std::size_t limit = 1000;    // at most that many, the cheapest
    bool stop_when_full = false; // give up as soon as there are more
    bool all_labels = false;     // every class that is cheap enough makes a rule of its own, not only the cheapest
    bool costs_differ = false;   // rules for the same rows and class may differ in cost
    double seconds = 1e30;       // time allowed
};

struct PricedRule {
    double cost = 0.0;
    std::uint64_t rows_hash = 0; // equal for rules that cover the same rows
    std::int32_t label = 0;
    std::int32_t length = 0;
    std::array<std::int32_t, max_rule_length> conditions{}; // numbers in the whole graph, by level
};

struct PricingResult {
    std::vector<PricedRule> rules; // by cost; one for each set of rows and class
    double least = 0.0;            // no rule costs less than this, if complete
    bool complete = true;          // every rule was looked at or ruled out
    bool overflow = false;         // more than `limit` rules cost less than the threshold
    std::uint64_t looked_at = 0;   // rules whose cost was computed
};

/// The coded rows, shared by all pricing calls.
class Pricer {
  public:
    /// `codes` is features x rows and must outlive the pricer.
    Pricer(std::span<const std::uint8_t> codes, std::span<const double> weight, int n_classes, Graph graph,
           int n_threads);

    /// Rules below the task's threshold where costs add up over rows: all of them or the cheapest, depth first with
    /// pruning; or with `k` above 0 by the paper's heuristic, which sends the `k` cheapest partial paths of every node
    /// on.
    ///
    /// A row i whose rule predicts class c adds value[i, c] to the rule's reduced cost: its loss minus all duals that
    /// belong to it. A rule costs  constant + min over c of sum over its rows of value[i, c].
    PricingResult price(const PricingTask &task, std::size_t k, const std::atomic<bool> &cancelled) const;

    /// The places in `rows` of those that a rule covers (condition numbers, -1 padded).
    void covered(std::span<const std::int32_t> rule, std::span<const std::int32_t> rows,
                 std::vector<std::int32_t> &places) const;

    /// Places in `rows` of those that each rule covers, as in a compressed sparse row matrix.
    void cover(std::span<const std::int32_t> rules, int width, std::span<const std::int32_t> rows,
               std::vector<std::int64_t> &start, std::vector<std::int32_t> &places) const;

    /// How much of `share` the rules that cover it add up to, for each of `rows`.
    std::vector<double> coverage(std::span<const std::int32_t> rules, int width, std::span<const double> share,
                                 std::span<const std::int32_t> rows) const;

    /// Sums over the rows of each rule: of their statistics (rows x slots), and of their hashes.
    void totals(std::span<const std::int32_t> rules, int width, std::span<const double> statistics,
                std::vector<double> &sums, std::vector<std::uint64_t> &hashes) const;

    /// Hashes of those of the rows that have each code of the level's feature.
    void hash_codes(const Level &level, std::span<const std::int32_t> rows, std::vector<std::uint64_t> &hashes) const;

    const Graph &graph() const { return graph_; }
    std::size_t n_rows() const { return weight_.size(); }
    int n_classes() const { return n_classes_; }
    const std::uint8_t *codes_of(int feature) const {
        return codes_.data() + static_cast<std::size_t>(feature) * n_rows();
    }
    const std::vector<double> &weight() const { return weight_; }
    const std::vector<std::uint64_t> &row_hash() const { return row_hash_; }
    int n_threads() const { return n_threads_; }

  private:
    std::span<const std::uint8_t> codes_;
    std::vector<double> weight_;
    std::vector<std::uint64_t> row_hash_;
    int n_classes_;
    Graph graph_;
    int n_threads_;
};

/// The cheapest rules met so far, one for each set of rows and class; deterministic whatever the order they come in.
class RulePool {
  public:
    RulePool(const PricingTask &task)
        : threshold_(task.threshold), limit_(task.limit), costs_differ_(task.costs_differ) {}
    /// Rules that do not cost less than this need not be offered.
    double threshold() const { return threshold_; }
    void add(const PricedRule &rule);
    void absorb(RulePool &&other);
    std::vector<PricedRule> finish(bool &overflow);
    /// More distinct rules than the limit have been met.
    bool overflowed() const { return overflow_; }

  private:
    void compact();
    double threshold_;
    std::size_t limit_;
    bool costs_differ_;
    bool overflow_ = false;
    std::vector<PricedRule> rules_;
};

/// Vectors of numbers that add up over rows: `width` of the `stride` numbers of each row are used.
struct RowVectors {
    const double *data;
    std::size_t stride;
    std::size_t width;
};

/// Vectors of this length or more that are whole numbers of lanes.
inline std::size_t whole_lanes(std::size_t n) {
    return (n + 3) / 4 * 4;
}

/// Sums over the codes of every condition of the level. `histogram` holds a vector of `width` numbers for each code,
/// and behind them the sum of all.
void sum_codes(const Level &level, std::size_t width, bool add_only, const double *histogram, double *sums);

/// Sums over the rows for every code, then over every condition of the level. `sums` holds level.size() vectors. With
/// `add_only` no sum is a difference, so that what sums to zero is exactly zero.
void sum_conditions(const RowVectors &vectors, const std::uint8_t *codes, const Level &level,
                    std::span<const std::int32_t> rows, bool add_only, std::vector<double> &histogram,
                    std::vector<double> &sums);

/// Hash of the rows that meet condition `j` of a level, from those of the rows with each code.
std::uint64_t hash_of_condition(const Level &level, int j, std::span<const std::uint64_t> hashes);

} // namespace omtree
