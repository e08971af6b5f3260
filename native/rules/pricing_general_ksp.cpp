// The K-shortest-path heuristic for any judge: partial paths are ranked by what their rows would cost under no limits;
// those that can still become rules go on, those that are rules are offered.
#include <algorithm>
#include <memory>
#include <numeric>
#include <tuple>

#include "rules/pricing_general.hpp"

namespace omtree {
namespace {

struct PartialPath {
    PricedRule rule;
    double rank = 0.0;
    GeneralPath path;
    std::uint64_t rows_hash = 0;
    std::shared_ptr<const std::vector<std::int32_t>> rows;
};

/// An extension that may be kept: `parent` with condition `node` of the level, or with SKIP (node == level.size()).
struct Extension {
    double rank;
    int length;
    std::size_t parent;
    int node;
    std::uint64_t key; // equal for paths that are worth the same
    std::uint64_t rows_hash;
};

/// Keeps the k cheapest, one for each key: the shortest.
void keep_best(std::vector<Extension> &list, std::size_t k) {
    std::sort(list.begin(), list.end(), [](const Extension &a, const Extension &b) {
        return std::tie(a.key, a.length, a.rank, a.parent, a.node) <
               std::tie(b.key, b.length, b.rank, b.parent, b.node);
    });
    const auto same = [](const Extension &a, const Extension &b) { return a.key == b.key; };
    list.erase(std::unique(list.begin(), list.end(), same), list.end());
    const std::size_t kept = std::min(k, list.size());
    std::partial_sort(list.begin(), list.begin() + static_cast<std::ptrdiff_t>(kept), list.end(),
                      [](const Extension &a, const Extension &b) {
                          return std::tie(a.rank, a.parent, a.node) < std::tie(b.rank, b.parent, b.node);
                      });
    list.resize(kept);
}

class Sweep {
  public:
    Sweep(const GeneralPricer &general, const PricingTask &task, std::size_t k, const std::atomic<bool> &cancelled)
        : general_(general), task_(task), k_(k), stats_(general, task), watch_(task.seconds, cancelled),
          offer_(general, task, stats_), pool_(task) {}

    PricingResult run() {
        std::vector<std::int32_t> all(general_.pricer().n_rows());
        std::iota(all.begin(), all.end(), 0);
        PartialPath source;
        for (const std::uint64_t hash : general_.pricer().row_hash()) {
            source.rows_hash += hash;
        }
        source.rows = std::make_shared<const std::vector<std::int32_t>>(std::move(all));
        std::vector<double> sums;
        stats_.sum_all(sums);
        source.rank = rank(sums.data());
        look_at(source, sums.data());
        std::vector<PartialPath> frontier{std::move(source)};
        const auto &levels = general_.pricer().graph().levels();
        for (std::size_t l = 0; l < levels.size() && task_.max_depth > 0 && !watch_.expired(); ++l) {
            frontier = advance(frontier, l);
        }
        result_.complete = false; // a heuristic proves nothing
        result_.least = least_;
        result_.rules = pool_.finish(result_.overflow);
        return std::move(result_);
    }

  private:
    /// What the rows cost under no limits, or the least they can cost where to know that takes long.
    double rank(const double *sums) const {
        const RuleJudge &judge = general_.judge();
        if (judge.needs_rows()) {
            return stats_.low(sums);
        }
        if (!task_.all_labels) {
            return judge.bare_loss(sums, {}) / general_.unit() - stats_.credit(sums, 0);
        }
        double least = std::numeric_limits<double>::infinity();
        for (int label = 0; label < judge.n_labels(); ++label) {
            least = std::min(least, judge.loss_under(label, sums, {}) / general_.unit() - stats_.credit(sums, label));
        }
        return least;
    }

    void look_at(const PartialPath &partial, const double *sums) {
        const auto hash = [&] { return partial.rows_hash; };
        least_ = std::min(least_, offer_(partial.rule, sums, as_numbers(*partial.rows), partial.path, pool_, hash));
    }

    /// Every path of the frontier with each condition of the level or none; the best ones of each node go on.
    std::vector<PartialPath> advance(const std::vector<PartialPath> &frontier, std::size_t l) {
        const Level &level = general_.pricer().graph().levels()[l];
        const auto skip = static_cast<std::size_t>(level.size());
        std::vector<std::vector<Extension>> lists(skip + 1);
        for (std::size_t p = 0; p < frontier.size() && !watch_.expired(); ++p) {
            list_extensions(frontier[p], p, l, lists);
        }
        std::vector<PartialPath> following;
        for (std::size_t node = 0; node <= skip; ++node) {
            keep_best(lists[node], k_);
            for (const Extension &extension : lists[node]) {
                if (watch_.expired()) {
                    return following;
                }
                PartialPath next = frontier[extension.parent];
                next.rank = extension.rank;
                next.rows_hash = extension.rows_hash;
                if (node != skip) {
                    extend(next, level, extension.node);
                }
                const auto features = next.path.first_features(next.rule.length);
                if (next.rule.length < task_.max_depth && general_.may_go_on(features, static_cast<int>(l))) {
                    following.push_back(std::move(next));
                }
            }
        }
        return following;
    }

    void list_extensions(const PartialPath &partial, std::size_t number, std::size_t l,
                         std::vector<std::vector<Extension>> &lists) {
        const Level &level = general_.pricer().graph().levels()[l];
        const RuleJudge &judge = general_.judge();
        const bool idle = general_.idle_conditions_count();
        const auto key = [&](const PricedRule &rule, std::uint64_t rows) {
            return idle ? with_conditions(rows, rule) : rows;
        };
        lists.back().push_back({partial.rank, partial.rule.length, number, level.size(),
                                key(partial.rule, partial.rows_hash), partial.rows_hash});
        GeneralPath path = partial.path;
        path.set(partial.rule.length, level, 0);
        const auto features = path.first_features(partial.rule.length + 1);
        const bool open =
            partial.rule.length + 1 < task_.max_depth && general_.may_go_on(features, static_cast<int>(l));
        if (!open && !(judge.shape.complete(features) && judge.affordable(features))) {
            return;
        }
        const std::uint8_t *codes = general_.pricer().codes_of(level.feature);
        const std::size_t width = stats_.short_width();
        sum_conditions(stats_.vectors(width), codes, level, *partial.rows, true, histogram_, sums_);
        std::vector<std::uint64_t> hashes(static_cast<std::size_t>(level.n_codes), 0);
        for (const std::int32_t i : *partial.rows) {
            hashes[codes[i]] += general_.pricer().row_hash()[static_cast<std::size_t>(i)];
        }
        for (int j = 0; j < level.size(); ++j) {
            const double *sums = sums_.data() + static_cast<std::size_t>(j) * width;
            const double count = stats_.count(sums);
            if (!judge.supported(sums[0]) || count == 0.0 ||
                (count == static_cast<double>(partial.rows->size()) && !idle)) {
                continue;
            }
            ++result_.looked_at;
            std::uint64_t hash = 0;
            for (unsigned code = 0; code < hashes.size(); ++code) {
                hash += contains(level.sets[static_cast<std::size_t>(j)], code) ? hashes[code] : 0;
            }
            PricedRule rule = partial.rule;
            rule.conditions[static_cast<std::size_t>(rule.length++)] = level.first + j;
            auto &list = lists[static_cast<std::size_t>(j)];
            list.push_back({rank(sums), rule.length, number, j, key(rule, hash), hash});
            if (list.size() > 4 * k_ + 1024) {
                keep_best(list, k_);
            }
        }
    }

    /// Adds a condition to a path, lists its rows, and looks at it as a rule.
    void extend(PartialPath &next, const Level &level, int node) {
        next.path.set(next.rule.length, level, node);
        next.rule.conditions[static_cast<std::size_t>(next.rule.length++)] = level.first + node;
        const std::uint8_t *codes = general_.pricer().codes_of(level.feature);
        const CodeSet &set = level.sets[static_cast<std::size_t>(node)];
        std::vector<std::int32_t> kept;
        std::vector<double> sums(stats_.short_width(), 0.0);
        const RowVectors vectors = stats_.vectors(sums.size());
        for (const std::int32_t i : *next.rows) {
            if (contains(set, codes[i])) {
                kept.push_back(i);
                for (std::size_t s = 0; s < sums.size(); ++s) {
                    sums[s] += vectors.data[static_cast<std::size_t>(i) * vectors.stride + s];
                }
            }
        }
        next.rows = std::make_shared<const std::vector<std::int32_t>>(std::move(kept));
        look_at(next, sums.data());
    }

    const GeneralPricer &general_;
    const PricingTask &task_;
    std::size_t k_;
    GeneralStats stats_;
    Stopwatch watch_;
    GeneralOffer offer_;
    RulePool pool_;
    PricingResult result_;
    double least_ = std::numeric_limits<double>::infinity();
    std::vector<double> histogram_;
    std::vector<double> sums_;
};

} // namespace

PricingResult GeneralPricer::shortest_paths(const PricingTask &task, std::size_t k,
                                            const std::atomic<bool> &cancelled) const {
    return Sweep(*this, task, k, cancelled).run();
}

} // namespace omtree
