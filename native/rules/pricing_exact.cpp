// Depth-first pricing: every rule is looked at unless a bound shows that neither it nor any extension is wanted.
#include <algorithm>
#include <numeric>
#include <thread>

#include "rules/pricing.hpp"

namespace omtree {
namespace {

struct Search {
    const Pricer &pricer;
    const PricingTask &task;
    const RowStats &stats;
    const Stopwatch &watch;
    std::atomic<bool> &stop;
    double support;

    std::size_t n_levels() const { return pricer.graph().levels().size(); }
};

/// One thread's walk: buffers for each depth, and the rules it has met.
class Walk {
  public:
    Walk(const Search &search)
        : search_(search), pool_(search.task), frames_(static_cast<std::size_t>(search.task.max_depth) + 1) {}

    /// Looks at all rules that extend `rule` by conditions of levels from `first` on.
    void extend(const PricedRule &rule, std::span<const std::int32_t> rows, std::size_t first) {
        for (std::size_t l = first; l < search_.n_levels() && !stopped(); ++l) {
            extend_at(rule, rows, l, 0, search_.pricer.graph().levels()[l].size());
        }
    }

    /// The same for the conditions [from, to) of one level, and for what follows them.
    void extend_at(const PricedRule &rule, std::span<const std::int32_t> rows, std::size_t l, int from, int to) {
        const Level &level = search_.pricer.graph().levels()[l];
        Frame &frame = frames_[static_cast<std::size_t>(rule.length)];
        const bool last = rule.length + 1 >= search_.task.max_depth || l + 1 >= search_.n_levels();
        const std::size_t width = last ? search_.stats.short_width() : search_.stats.full_width();
        // All first conditions of a level share the sums over all rows.
        if (rule.length > 0 || static_cast<int>(l) != level_at_root_) {
            search_.stats.sum(search_.pricer, level, rows, width, frame.histogram, frame.sums);
            frame.hashes.clear();
        }
        level_at_root_ = rule.length > 0 ? level_at_root_ : static_cast<int>(l);
        const auto n_rows = static_cast<double>(rows.size());
        looked_at_ += static_cast<std::uint64_t>(to - from);
        for (int j = from; j < to; ++j) {
            const double *sums = frame.sums.data() + static_cast<std::size_t>(j) * width;
            const double count = sums[search_.stats.count_slot()];
            if (sums[search_.stats.weight_slot()] < search_.support || count == 0.0) {
                continue;
            }
            // A condition that all rows meet changes nothing.
            if (count == n_rows) {
                continue;
            }
            const double fixed = search_.task.constant;
            const int label = search_.stats.best_label(sums);
            const double cost = fixed + sums[label];
            least_ = std::min(least_, cost);
            const bool wanted = cost < search_.task.threshold && cost <= pool_.threshold();
            const bool deeper = !last && fixed + search_.stats.bound(sums) <= pool_.threshold();
            if (!wanted && !deeper) {
                continue;
            }
            PricedRule next = rule;
            next.cost = cost;
            next.label = label;
            next.conditions[static_cast<std::size_t>(next.length++)] = level.first + j;
            if (wanted) {
                next.rows_hash = hash_of(level, j, rows, frame);
                offer(next, sums, fixed);
                if (search_.task.stop_when_full && pool_.overflowed()) {
                    search_.stop = true;
                    return;
                }
            }
            if (deeper) {
                if (search_.watch.expired()) {
                    search_.stop = true;
                }
                if (stopped()) {
                    return;
                }
                descend(next, rows, l, j, frame);
            }
        }
    }

    /// The rule without conditions; `sums` are the values of the classes over all rows.
    void consider(const PricedRule &rule, const double *sums) {
        least_ = std::min(least_, rule.cost);
        if (rule.cost < search_.task.threshold) {
            offer(rule, sums, search_.task.constant);
        }
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

    /// Adds the rule with its cheapest class, or with every class that is cheap enough.
    void offer(PricedRule rule, const double *sums, double fixed) {
        if (!search_.task.all_labels) {
            pool_.add(rule);
            return;
        }
        for (int label = 0; label < search_.pricer.n_classes(); ++label) {
            rule.label = label;
            rule.cost = fixed + sums[label];
            if (rule.cost < search_.task.threshold) {
                pool_.add(rule);
            }
        }
    }

    bool stopped() const { return search_.stop.load(std::memory_order_relaxed); }

    void descend(const PricedRule &next, std::span<const std::int32_t> rows, std::size_t l, int j, Frame &frame) {
        const Level &level = search_.pricer.graph().levels()[l];
        const std::uint8_t *codes = search_.pricer.codes_of(level.feature);
        const CodeSet &set = level.sets[static_cast<std::size_t>(j)];
        frame.rows.resize(rows.size());
        std::size_t n = 0;
        for (const std::int32_t i : rows) {
            frame.rows[n] = i;
            n += contains(set, codes[i]);
        }
        extend(next, {frame.rows.data(), n}, l + 1);
    }

    std::uint64_t hash_of(const Level &level, int j, std::span<const std::int32_t> rows, Frame &frame) const {
        if (frame.hashes.empty()) {
            frame.hashes.assign(static_cast<std::size_t>(level.n_codes), 0);
            const std::uint8_t *codes = search_.pricer.codes_of(level.feature);
            for (const std::int32_t i : rows) {
                frame.hashes[codes[i]] += search_.pricer.row_hash()[static_cast<std::size_t>(i)];
            }
        }
        std::uint64_t hash = 0;
        for (unsigned code = 0; code < frame.hashes.size(); ++code) {
            hash += contains(level.sets[static_cast<std::size_t>(j)], code) ? frame.hashes[code] : 0;
        }
        return hash;
    }

    const Search &search_;
    RulePool pool_;
    std::vector<Frame> frames_;
    int level_at_root_ = -1;
    double least_ = 1e300;
    std::uint64_t looked_at_ = 0;
};

} // namespace

PricedRule empty_rule(const Pricer &pricer, const PricingTask &task, const RowStats &stats, std::vector<double> &sums) {
    sums.assign(static_cast<std::size_t>(pricer.n_classes()), 0.0);
    PricedRule rule;
    for (std::size_t i = 0; i < pricer.n_rows(); ++i) {
        for (std::size_t c = 0; c < sums.size(); ++c) {
            sums[c] += stats.row(i)[c];
        }
        rule.rows_hash += pricer.row_hash()[i];
    }
    rule.label = static_cast<std::int32_t>(std::min_element(sums.begin(), sums.end()) - sums.begin());
    rule.cost = task.constant + sums[static_cast<std::size_t>(rule.label)];
    return rule;
}

PricingResult Pricer::exact(const PricingTask &task, const std::atomic<bool> &cancelled) const {
    const RowStats stats(*this, task);
    const Stopwatch watch(task.seconds, cancelled);
    std::atomic<bool> stop{false};
    const Search search{*this, task, stats, watch, stop, with_tolerance(task.min_support)};
    std::vector<std::int32_t> all(n_rows());
    std::iota(all.begin(), all.end(), 0);
    std::vector<double> root_sums;
    const PricedRule root = empty_rule(*this, task, stats, root_sums);

    // A unit of work is a first condition with everything after it; threads take units from one counter.
    std::vector<std::pair<std::size_t, int>> units;
    for (std::size_t l = 0; l < graph_.levels().size(); ++l) {
        for (int j = 0; j < graph_.levels()[l].size(); ++j) {
            units.emplace_back(l, j);
        }
    }
    std::vector<Walk> walks(static_cast<std::size_t>(std::max(1, n_threads_)), Walk(search));
    walks.front().consider(root, root_sums.data());
    if (task.max_depth > 0) {
        std::atomic<std::size_t> next{0};
        const auto work = [&](Walk &walk) {
            for (std::size_t u = next++; u < units.size() && !stop; u = next++) {
                walk.extend_at(root, all, units[u].first, units[u].second, units[u].second + 1);
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
    }
    PricingResult result;
    result.least = 1e300;
    RulePool pool(task);
    for (Walk &walk : walks) {
        result.least = std::min(result.least, walk.least());
        result.looked_at += walk.looked_at();
        pool.absorb(std::move(walk.pool()));
    }
    // What was ruled out unseen costs at least the threshold.
    result.least = std::min(result.least, task.threshold);
    result.complete = !stop;
    result.rules = pool.finish(result.overflow);
    return result;
}

} // namespace omtree
