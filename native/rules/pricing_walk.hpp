// Depth-first pricing: every rule is looked at unless a bound shows that neither it nor any extension is wanted.
//
// `Costs` is the policy: it has the vectors that add up over rows, and says of their sums whether a rule may cover
// these rows, what it costs, and below what no extension of it can be. `PlainCosts` and `JudgedCosts` are the two there
// are.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <limits>
#include <mutex>
#include <numeric>
#include <thread>

#include "rules/pricing.hpp"

namespace omtree {

/// One thread's walk: buffers for each depth, and the rules it has met.
template <typename Costs> class PricingWalk {
  public:
    PricingWalk(const Pricer &pricer, const Costs &costs, const PricingTask &task, const Stopwatch &watch,
                std::atomic<bool> &stop)
        : pricer_(pricer), costs_(costs), task_(task), watch_(watch), stop_(stop), offer_(costs, task), pool_(task),
          frames_(static_cast<std::size_t>(task.max_depth) + 1) {}

    /// Looks at the rules that extend `rule` by a condition of [from, to) of one level, and at what follows them.
    void extend_at(const PricedRule &rule, std::span<const std::int32_t> rows, std::size_t l, int from, int to) {
        const Level &level = levels()[l];
        const int length = rule.length + 1;
        path_.set(rule.length, level, from);
        const bool complete = costs_.may_be_rule(path_, length);
        const bool open =
            l + 1 < levels().size() && length < task_.max_depth && costs_.may_go_on(path_, length, static_cast<int>(l));
        if (!complete && !open) {
            return;
        }
        Frame &frame = frames_[static_cast<std::size_t>(rule.length)];
        const std::size_t width = open ? costs_.full_width() : costs_.short_width();
        // All first conditions of a level share the sums over all rows.
        if (rule.length > 0 || static_cast<int>(l) != level_at_root_) {
            sum_conditions(costs_.vectors(width), pricer_.codes_of(level.feature), level, rows, Costs::add_only,
                           frame.histogram, frame.sums);
            frame.hashes.clear();
        }
        level_at_root_ = rule.length > 0 ? level_at_root_ : static_cast<int>(l);
        const double fixed = costs_.least_fixed(path_, length);
        const auto n_rows = static_cast<double>(rows.size());
        looked_at_ += static_cast<std::uint64_t>(to - from);
        for (int j = from; j < to && !stopped(); ++j) {
            const double *sums = frame.sums.data() + static_cast<std::size_t>(j) * width;
            const double count = costs_.count(sums);
            // Unless conditions count as such, one that all rows meet changes nothing.
            if (!costs_.supported(sums) || count == 0.0 || (count == n_rows && !costs_.idle_conditions_count())) {
                continue;
            }
            const bool judged = complete && costs_.is_worth_judging(sums, fixed, pool_.threshold());
            bool deeper = open && fixed + costs_.bound(sums) <= pool_.threshold();
            if (!judged && !deeper) {
                continue;
            }
            PricedRule next = rule;
            next.conditions[static_cast<std::size_t>(next.length++)] = level.first + j;
            path_.set(rule.length, level, j);
            const bool listed = judged && costs_.needs_rows();
            if (listed) {
                list_rows(rows, level, j, frame);
            }
            if (judged) {
                look_at(next, sums, level, j, rows, frame);
                deeper = open && fixed + costs_.bound(sums) <= pool_.threshold();
            }
            if (!deeper || stopped()) {
                continue;
            }
            if (watch_.expired()) {
                stop_ = true;
                return;
            }
            if (!listed) {
                list_rows(rows, level, j, frame);
            }
            for (std::size_t following = l + 1; following < levels().size(); ++following) {
                extend_at(next, frame.rows, following, 0, levels()[following].size());
            }
        }
    }

    /// The rule without conditions.
    void look_at_root(std::span<const std::int32_t> rows) {
        std::vector<double> sums;
        costs_.sum_all(sums);
        const auto hash = [&] {
            return std::accumulate(pricer_.row_hash().begin(), pricer_.row_hash().end(), std::uint64_t{0});
        };
        least_ = std::min(least_, offer_(PricedRule{}, sums.data(), rows, path_, pool_, hash));
    }

    RulePool &pool() { return pool_; }
    double least() const { return least_; }
    std::uint64_t looked_at() const { return looked_at_; }

  private:
    struct Frame {
        std::vector<double> histogram;
        std::vector<double> sums;
        std::vector<std::uint64_t> hashes; // of the rows with each code; empty until a rule needs one
        std::vector<std::int32_t> rows;    // of the child being visited
    };

    const std::vector<Level> &levels() const { return pricer_.graph().levels(); }
    bool stopped() const { return stop_.load(std::memory_order_relaxed); }

    void look_at(const PricedRule &rule, const double *sums, const Level &level, int j,
                 std::span<const std::int32_t> parent_rows, Frame &frame) {
        const auto hash = [&] { return hash_of(level, j, parent_rows, frame); };
        const std::span<const std::int32_t> rows = costs_.needs_rows() ? frame.rows : std::span<const std::int32_t>{};
        least_ = std::min(least_, offer_(rule, sums, rows, path_, pool_, hash));
        if ((task_.stop_when_full && pool_.overflowed()) || (costs_.needs_rows() && watch_.expired())) {
            stop_ = true;
        }
    }

    void list_rows(std::span<const std::int32_t> rows, const Level &level, int j, Frame &frame) const {
        const std::uint8_t *codes = pricer_.codes_of(level.feature);
        const CodeSet &set = level.sets[static_cast<std::size_t>(j)];
        frame.rows.resize(rows.size());
        std::size_t n = 0;
        for (const std::int32_t i : rows) {
            frame.rows[n] = i;
            n += contains(set, codes[i]);
        }
        frame.rows.resize(n);
    }

    std::uint64_t hash_of(const Level &level, int j, std::span<const std::int32_t> rows, Frame &frame) const {
        if (frame.hashes.empty()) {
            pricer_.hash_codes(level, rows, frame.hashes);
        }
        return hash_of_condition(level, j, frame.hashes);
    }

    const Pricer &pricer_;
    const Costs &costs_;
    const PricingTask &task_;
    const Stopwatch &watch_;
    std::atomic<bool> &stop_;
    typename Costs::Offer offer_;
    RulePool pool_;
    std::vector<Frame> frames_;
    typename Costs::Path path_;
    int level_at_root_ = -1;
    double least_ = std::numeric_limits<double>::infinity();
    std::uint64_t looked_at_ = 0;
};

/// All rules below the task's threshold, or the cheapest of them.
template <typename Costs>
PricingResult price_exactly(const Pricer &pricer, const Costs &costs, const PricingTask &task,
                            const std::atomic<bool> &cancelled) {
    const Stopwatch watch(task.seconds, cancelled);
    std::atomic<bool> stop{false};
    std::vector<std::int32_t> all(pricer.n_rows());
    std::iota(all.begin(), all.end(), 0);

    // A unit of work is a first condition with everything after it; threads take units from one counter.
    const auto &levels = pricer.graph().levels();
    std::vector<std::pair<std::size_t, int>> units;
    for (std::size_t l = 0; l < levels.size() && task.max_depth > 0; ++l) {
        for (int j = 0; j < levels[l].size(); ++j) {
            units.emplace_back(l, j);
        }
    }
    using Walk = PricingWalk<Costs>;
    std::vector<Walk> walks(static_cast<std::size_t>(std::max(1, pricer.n_threads())),
                            Walk(pricer, costs, task, watch, stop));
    walks.front().look_at_root(all);
    std::atomic<std::size_t> next{0};
    std::mutex mutex;
    std::exception_ptr error;
    const auto work = [&](Walk &walk) {
        try {
            for (std::size_t u = next++; u < units.size() && !stop; u = next++) {
                walk.extend_at({}, all, units[u].first, units[u].second, units[u].second + 1);
            }
        } catch (...) { // what a function of the user's raises
            const std::lock_guard lock(mutex);
            error = std::current_exception();
            stop = true;
        }
    };
    std::vector<std::thread> threads;
    for (std::size_t t = 1; t < walks.size(); ++t) {
        threads.emplace_back(work, std::ref(walks[t]));
    }
    work(walks.front());
    for (auto &thread : threads) {
        thread.join();
    }
    if (error) {
        std::rethrow_exception(error);
    }
    PricingResult result;
    result.least = task.threshold; // what was ruled out unseen costs at least that
    RulePool pool(task);
    for (Walk &walk : walks) {
        result.least = std::min(result.least, walk.least());
        result.looked_at += walk.looked_at();
        pool.absorb(std::move(walk.pool()));
    }
    result.complete = !stop;
    result.rules = pool.finish(result.overflow);
    return result;
}

} // namespace omtree
