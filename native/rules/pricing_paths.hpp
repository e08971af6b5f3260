// The paper's pricing heuristic: K shortest paths through the feature graph, where the cost of a path is not a sum over
// its arcs but what the rows of the rule it spells so far would cost under no limits. Paths that can still become rules
// go on, those that are rules are offered. `Costs` is the policy, as in pricing_walk.hpp.
#pragma once

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <thread>
#include <tuple>

#include "rules/pricing.hpp"

namespace omtree {

/// Runs work(thread, begin, end) over [0, n) in equal pieces.
template <typename Work> void in_parallel(int n_threads, std::size_t n, const Work &work) {
    const auto pieces = static_cast<std::size_t>(std::max(1, n_threads));
    std::vector<std::thread> threads;
    for (std::size_t t = 1; t < pieces; ++t) {
        threads.emplace_back(work, t, n * t / pieces, n * (t + 1) / pieces);
    }
    work(std::size_t{0}, std::size_t{0}, n / pieces);
    for (auto &thread : threads) {
        thread.join();
    }
}

template <typename Costs> class ShortestPaths {
  public:
    ShortestPaths(const Pricer &pricer, const Costs &costs, const PricingTask &task, std::size_t k,
                  const std::atomic<bool> &cancelled)
        : pricer_(pricer), costs_(costs), task_(task), k_(k), watch_(task.seconds, cancelled), offer_(costs, task),
          pool_(task), benches_(static_cast<std::size_t>(std::max(1, pricer.n_threads()))) {}

    PricingResult run() {
        std::vector<std::int32_t> all(pricer_.n_rows());
        std::iota(all.begin(), all.end(), 0);
        PartialPath source;
        source.rows_hash = std::accumulate(pricer_.row_hash().begin(), pricer_.row_hash().end(), std::uint64_t{0});
        source.rows = std::make_shared<const std::vector<std::int32_t>>(std::move(all));
        std::vector<double> sums;
        costs_.sum_all(sums);
        source.rank = costs_.rank(sums.data(), source.rule.label);
        look_at(source, sums.data());
        std::vector<PartialPath> frontier{std::move(source)};
        for (std::size_t l = 0; l < levels().size() && task_.max_depth > 0 && !watch_.expired(); ++l) {
            frontier = advance(frontier, l);
        }
        PricingResult result;
        result.complete = false; // a heuristic proves nothing
        result.least = least_;
        for (const Bench &bench : benches_) {
            result.looked_at += bench.looked_at;
        }
        result.rules = pool_.finish(result.overflow);
        return result;
    }

  private:
    using Rows = std::shared_ptr<const std::vector<std::int32_t>>;

    struct PartialPath {
        PricedRule rule;
        double rank = 0.0;
        typename Costs::Path path;
        std::uint64_t rows_hash = 0;
        Rows rows;
    };

    /// An extension that may be kept: `parent` with condition `node` of the level, or with SKIP (node == level.size()).
    struct Extension {
        double rank;
        int length;
        std::size_t parent;
        int node;
        int label;
        std::uint64_t key; // equal for paths that are worth the same
        std::uint64_t rows_hash;
    };

    /// What one thread works with.
    struct Bench {
        std::vector<std::vector<Extension>> lists; // for each node of the level, and SKIP
        std::vector<double> histogram;
        std::vector<double> sums;
        std::vector<std::uint64_t> hashes;
        std::uint64_t looked_at = 0;
    };

    const std::vector<Level> &levels() const { return pricer_.graph().levels(); }

    /// Keeps the k cheapest, one for each key: the shortest, which can be extended at least as far as the others.
    void keep_best(std::vector<Extension> &list) const {
        std::sort(list.begin(), list.end(), [](const Extension &a, const Extension &b) {
            return std::tie(a.key, a.length, a.rank, a.parent, a.node) <
                   std::tie(b.key, b.length, b.rank, b.parent, b.node);
        });
        const auto same = [](const Extension &a, const Extension &b) { return a.key == b.key; };
        list.erase(std::unique(list.begin(), list.end(), same), list.end());
        const std::size_t kept = std::min(k_, list.size());
        std::partial_sort(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(kept), list.end(),
                          [](const Extension &a, const Extension &b) {
                              return std::tie(a.rank, a.parent, a.node) < std::tie(b.rank, b.parent, b.node);
                          });
        list.resize(kept);
    }

    void look_at(const PartialPath &partial, const double *sums) {
        const auto hash = [&] { return partial.rows_hash; };
        least_ = std::min(least_, offer_(partial.rule, sums, *partial.rows, partial.path, pool_, hash));
    }

    /// Every path of the frontier with each condition of the level or none; the best ones of each node go on.
    std::vector<PartialPath> advance(const std::vector<PartialPath> &frontier, std::size_t l) {
        const Level &level = levels()[l];
        const auto skip = static_cast<std::size_t>(level.size());
        for (Bench &bench : benches_) {
            bench.lists.assign(skip + 1, {});
        }
        in_parallel(pricer_.n_threads(), frontier.size(), [&](std::size_t t, std::size_t begin, std::size_t end) {
            for (std::size_t p = begin; p < end && !watch_.expired(); ++p) {
                list_extensions(frontier[p], p, l, benches_[t]);
            }
        });
        std::vector<PartialPath> following;
        for (std::size_t node = 0; node <= skip; ++node) {
            std::vector<Extension> &best = benches_.front().lists[node];
            for (std::size_t t = 1; t < benches_.size(); ++t) {
                const auto &more = benches_[t].lists[node];
                best.insert(best.end(), more.begin(), more.end());
            }
            keep_best(best);
            for (const Extension &extension : best) {
                if (watch_.expired()) {
                    return following;
                }
                PartialPath next = frontier[extension.parent];
                next.rank = extension.rank;
                next.rule.label = extension.label;
                next.rows_hash = extension.rows_hash;
                if (node != skip) {
                    extend(next, level, extension.node);
                }
                if (next.rule.length < task_.max_depth &&
                    costs_.may_go_on(next.path, next.rule.length, static_cast<int>(l))) {
                    following.push_back(std::move(next));
                }
            }
        }
        if constexpr (Costs::rank_is_cost) {
            // Only paths that go on pay for a list of their rows.
            in_parallel(pricer_.n_threads(), following.size(), [&](std::size_t, std::size_t begin, std::size_t end) {
                for (std::size_t p = begin; p < end; ++p) {
                    const PricedRule &rule = following[p].rule;
                    const int last = rule.length ? rule.conditions[static_cast<std::size_t>(rule.length) - 1] : -1;
                    if (last >= level.first) { // or it came through SKIP: same rows as before
                        following[p].rows = rows_of(*following[p].rows, level, last - level.first);
                    }
                }
            });
        }
        return following;
    }

    void list_extensions(const PartialPath &partial, std::size_t number, std::size_t l, Bench &bench) const {
        const Level &level = levels()[l];
        bench.lists.back().push_back({partial.rank, partial.rule.length, number, level.size(), partial.rule.label,
                                      costs_.key(partial.rule, partial.rows_hash), partial.rows_hash});
        typename Costs::Path path = partial.path;
        const int length = partial.rule.length + 1;
        path.set(partial.rule.length, level, 0);
        const bool open = length < task_.max_depth && costs_.may_go_on(path, length, static_cast<int>(l));
        if (!open && !costs_.may_be_rule(path, length)) {
            return;
        }
        const std::size_t width = costs_.short_width();
        sum_conditions(costs_.vectors(width), pricer_.codes_of(level.feature), level, *partial.rows, Costs::add_only,
                       bench.histogram, bench.sums);
        pricer_.hash_codes(level, *partial.rows, bench.hashes);
        const auto n_rows = static_cast<double>(partial.rows->size());
        for (int j = 0; j < level.size(); ++j) {
            const double *sums = bench.sums.data() + static_cast<std::size_t>(j) * width;
            const double count = costs_.count(sums);
            if (!costs_.supported(sums) || count == 0.0 || (count == n_rows && !costs_.idle_conditions_count())) {
                continue;
            }
            ++bench.looked_at;
            const std::uint64_t hash = hash_of_condition(level, j, bench.hashes);
            PricedRule rule = partial.rule;
            rule.conditions[static_cast<std::size_t>(rule.length++)] = level.first + j;
            auto &list = bench.lists[static_cast<std::size_t>(j)];
            int label = 0;
            const double rank = costs_.rank(sums, label);
            list.push_back({rank, rule.length, number, j, label, costs_.key(rule, hash), hash});
            if (list.size() > 4 * k_ + 1024) {
                keep_best(list);
            }
        }
    }

    Rows rows_of(const std::vector<std::int32_t> &rows, const Level &level, int node) const {
        const std::uint8_t *codes = pricer_.codes_of(level.feature);
        const CodeSet &set = level.sets[static_cast<std::size_t>(node)];
        std::vector<std::int32_t> kept;
        for (const std::int32_t i : rows) {
            if (contains(set, codes[i])) {
                kept.push_back(i);
            }
        }
        return std::make_shared<const std::vector<std::int32_t>>(std::move(kept));
    }

    /// Adds a condition to a path, and looks at it as a rule.
    void extend(PartialPath &next, const Level &level, int node) {
        next.path.set(next.rule.length, level, node);
        next.rule.conditions[static_cast<std::size_t>(next.rule.length++)] = level.first + node;
        if constexpr (Costs::rank_is_cost) {
            least_ = std::min(least_, offer_.at_rank(next.rule, next.rank, next.rows_hash, pool_));
        } else {
            next.rows = rows_of(*next.rows, level, node);
            std::vector<double> sums(costs_.short_width(), 0.0);
            const RowVectors vectors = costs_.vectors(sums.size());
            for (const std::int32_t i : *next.rows) {
                for (std::size_t s = 0; s < sums.size(); ++s) {
                    sums[s] += vectors.data[static_cast<std::size_t>(i) * vectors.stride + s];
                }
            }
            look_at(next, sums.data());
        }
    }

    const Pricer &pricer_;
    const Costs &costs_;
    const PricingTask &task_;
    std::size_t k_;
    Stopwatch watch_;
    typename Costs::Offer offer_;
    RulePool pool_;
    std::vector<Bench> benches_;
    double least_ = std::numeric_limits<double>::infinity();
};

} // namespace omtree
