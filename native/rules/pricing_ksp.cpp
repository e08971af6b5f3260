// The paper's pricing heuristic: K shortest paths through the feature graph, where the cost of a path is not a sum over
// its arcs but the reduced cost of the rule it spells so far.
#include <algorithm>
#include <memory>
#include <numeric>
#include <thread>

#include "rules/pricing.hpp"

namespace omtree {
namespace {

using Rows = std::shared_ptr<const std::vector<std::int32_t>>;

struct PartialPath {
    PricedRule rule;
    Rows rows;
};

/// An extension that may be kept: `parent` with condition `node` of the level, or with SKIP (node == level.size()).
struct Extension {
    double cost;
    int length;
    std::size_t parent;
    int node;
    int label;
    std::uint64_t rows_hash;
};

bool cheaper(const Extension &a, const Extension &b) {
    return std::tie(a.cost, a.parent, a.node) < std::tie(b.cost, b.parent, b.node);
}

/// Keeps the k cheapest, one for each set of rows: the shortest, which can be extended at least as far as the others.
void keep_best(std::vector<Extension> &list, std::size_t k) {
    std::sort(list.begin(), list.end(), [](const Extension &a, const Extension &b) {
        return std::tie(a.rows_hash, a.length, a.cost, a.parent, a.node) <
               std::tie(b.rows_hash, b.length, b.cost, b.parent, b.node);
    });
    const auto same = [](const Extension &a, const Extension &b) { return a.rows_hash == b.rows_hash; };
    list.erase(std::unique(list.begin(), list.end(), same), list.end());
    const std::size_t kept = std::min(k, list.size());
    std::partial_sort(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(kept), list.end(), cheaper);
    list.resize(kept);
}

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

} // namespace

PricingResult Pricer::shortest_paths(const PricingTask &task, std::size_t k, const std::atomic<bool> &cancelled) const {
    const RowStats stats(*this, task);
    const Stopwatch watch(task.seconds, cancelled);
    const std::size_t width = stats.short_width();
    const double support = with_tolerance(task.min_support);
    const auto n_threads = static_cast<std::size_t>(std::max(1, n_threads_));
    RulePool sink(task);
    PricingResult result;
    result.least = 1e300;
    result.complete = false; // a heuristic proves nothing

    PartialPath source;
    {
        std::vector<double> sums;
        source.rule = empty_rule(*this, task, stats, sums);
        std::vector<std::int32_t> all(n_rows());
        std::iota(all.begin(), all.end(), 0);
        source.rows = std::make_shared<const std::vector<std::int32_t>>(std::move(all));
    }
    std::vector<PartialPath> frontier{source};
    const auto visit = [&](const PartialPath &path) {
        result.least = std::min(result.least, path.rule.cost);
        if (path.rule.cost < task.threshold && path.rule.cost <= sink.threshold()) {
            sink.add(path.rule);
        }
    };
    visit(source);

    for (const Level &level : graph_.levels()) {
        if (watch.expired() || task.max_depth < 1) {
            break;
        }
        const auto skip = static_cast<std::size_t>(level.size());
        const std::uint8_t *codes = codes_of(level.feature);
        std::vector<std::vector<std::vector<Extension>>> lists(
            n_threads, std::vector<std::vector<Extension>>(static_cast<std::size_t>(level.size()) + 1));
        std::vector<std::uint64_t> looked_at(n_threads, 0);
        in_parallel(n_threads_, frontier.size(), [&](std::size_t t, std::size_t begin, std::size_t end) {
            std::vector<double> histogram;
            std::vector<double> sums;
            std::vector<std::uint64_t> hashes(static_cast<std::size_t>(level.n_codes));
            for (std::size_t p = begin; p < end && !watch.expired(); ++p) {
                const PartialPath &path = frontier[p];
                stats.sum(*this, level, *path.rows, width, histogram, sums);
                std::fill(hashes.begin(), hashes.end(), 0);
                for (const std::int32_t i : *path.rows) {
                    hashes[codes[i]] += row_hash_[static_cast<std::size_t>(i)];
                }
                lists[t][skip].push_back(
                    {path.rule.cost, path.rule.length, p, level.size(), path.rule.label, path.rule.rows_hash});
                for (int j = 0; j < level.size(); ++j) {
                    const double *s = sums.data() + static_cast<std::size_t>(j) * width;
                    const double count = s[stats.count_slot()];
                    if (s[stats.weight_slot()] < support || count == 0.0 ||
                        count == static_cast<double>(path.rows->size())) {
                        continue;
                    }
                    ++looked_at[t];
                    const int label = stats.best_label(s);
                    std::uint64_t hash = 0;
                    for (unsigned code = 0; code < hashes.size(); ++code) {
                        hash += contains(level.sets[static_cast<std::size_t>(j)], code) ? hashes[code] : 0;
                    }
                    auto &list = lists[t][static_cast<std::size_t>(j)];
                    list.push_back({task.constant + s[label], path.rule.length + 1, p, j, label, hash});
                    if (list.size() > 4 * k + 1024) {
                        keep_best(list, k);
                    }
                }
            }
        });
        std::vector<PartialPath> following;
        for (std::size_t node = 0; node <= skip; ++node) {
            std::vector<Extension> &best = lists[0][node];
            for (std::size_t t = 1; t < n_threads; ++t) {
                best.insert(best.end(), lists[t][node].begin(), lists[t][node].end());
            }
            keep_best(best, k);
            for (const Extension &extension : best) {
                PartialPath next = frontier[extension.parent];
                if (node != skip) {
                    next.rule.cost = extension.cost;
                    next.rule.label = extension.label;
                    next.rule.rows_hash = extension.rows_hash;
                    next.rule.conditions[static_cast<std::size_t>(next.rule.length++)] = level.first + extension.node;
                    visit(next);
                    if (next.rule.length >= task.max_depth) {
                        continue; // complete: it has nowhere to go
                    }
                }
                following.push_back(std::move(next));
            }
        }
        // Only paths that were kept pay for a list of their rows.
        in_parallel(n_threads_, following.size(), [&](std::size_t, std::size_t begin, std::size_t end) {
            for (std::size_t p = begin; p < end; ++p) {
                PricedRule &rule = following[p].rule;
                const int last = rule.length ? rule.conditions[static_cast<std::size_t>(rule.length) - 1] : -1;
                if (last < level.first) {
                    continue; // came through SKIP: same rows as before
                }
                const CodeSet &set = level.sets[static_cast<std::size_t>(last - level.first)];
                std::vector<std::int32_t> kept;
                for (const std::int32_t i : *following[p].rows) {
                    if (contains(set, codes[i])) {
                        kept.push_back(i);
                    }
                }
                following[p].rows = std::make_shared<const std::vector<std::int32_t>>(std::move(kept));
            }
        });
        result.looked_at += std::accumulate(looked_at.begin(), looked_at.end(), std::uint64_t{0});
        frontier = std::move(following);
    }
    result.rules = sink.finish(result.overflow);
    return result;
}

} // namespace omtree
