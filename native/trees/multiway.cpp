#include "trees/split.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <type_traits>

#include "core/threads.hpp"

namespace omtree {

template <typename Count>
Shared<Count>::Shared(const SearchProblem &problem, double total)
    : problem(problem), cost(problem, total),
      // The other half is for the search without a limit on leaves.
      cache(problem.every_size ? problem.cache_bytes : problem.cache_bytes / 2), total(total) {
    support = static_cast<std::int32_t>(std::min(2e9, std::max(1.0, std::ceil(problem.min_support * (1.0 - 1e-9)))));
    whole_losses = std::is_same_v<Count, std::int32_t> && cost.unit() && total < no_leaf &&
                   problem.counting != Counting::histogram;
    subtracts = problem.whole_weights;
    int widest = 2;
    place.resize(problem.features.size());
    std::vector<int> grouped;
    for (int f = 0; f < static_cast<int>(problem.features.size()); ++f) {
        const SearchFeature &feature = problem.features[f];
        first_code.push_back(n_codes);
        n_codes += feature.n_codes;
        widest = std::max(widest, feature.n_codes);
        const bool plain = feature.family == Family::interval && !feature.has_missing && feature.n_codes <= 32;
        // The kernels for whole numbers know nothing of complements.
        const bool runs = feature.family == Family::run && !whole_losses && feature.n_codes <= 32 &&
                          std::is_sorted(feature.order.begin(), feature.order.end());
        if (problem.n_classes <= 32 && (plain || runs || feature.family == Family::subset)) {
            grouped.push_back(f);
        } else {
            alone.push_back(f);
            place[f] = {width, problem.n_classes, 1};
            width += feature.n_codes * problem.n_classes;
        }
    }
    constexpr int lanes = n_lanes<Count>;
    width = (width + 15) / 16 * 16;
    const auto kind = [&](int f) {
        const SearchFeature &feature = problem.features[f];
        return std::tuple(feature.family == Family::subset, feature.family == Family::run, feature.n_codes);
    };
    std::stable_sort(grouped.begin(), grouped.end(), [&](int a, int b) { return kind(a) < kind(b); });
    for (const int f : grouped) {
        const auto [subsets, complements, k] = kind(f);
        if (groups.empty() || groups.back().features.size() == lanes || groups.back().subsets != subsets ||
            groups.back().complements != complements) {
            groups.push_back({0, 0, subsets, complements, {}});
        }
        groups.back().features.push_back(f);
        groups.back().k = k;
    }
    for (Group &group : groups) {
        group.offset = width;
        for (int lane = 0; lane < static_cast<int>(group.features.size()); ++lane) {
            place[group.features[lane]] = {width + lane, lanes * problem.n_classes, lanes};
        }
        width += group.k * problem.n_classes * lanes;
        scratch = std::max(scratch, split_scratch(group.k, problem.n_classes, problem.max_leaves, group.subsets));
    }
    if (problem.max_children > 0) {
        widest = std::min(widest, problem.max_children);
    }
    most_leaves.push_back(1);
    for (int depth = 1; depth <= problem.max_depth; ++depth) {
        most_leaves.push_back(std::min<std::int64_t>(problem.max_leaves, std::int64_t{most_leaves.back()} * widest));
    }
}

template <typename Count>
Searcher<Count>::Searcher(Shared<Count> &shared, Control &control, std::unique_ptr<Counter<Count>> counter)
    : used(shared.problem.features.size(), 0), shared_(shared), counter_(std::move(counter)), control_(&control),
      problem_(shared.problem), n_features_(static_cast<int>(shared.problem.features.size())),
      n_classes_(shared.problem.n_classes) {
    for (int depth = 0; depth <= std::max(2, problem_.max_depth); ++depth) {
        levels_.push_back(std::make_unique<Level>());
    }
    at_once_ = problem_.counting != Counting::histogram;
    scratch_.resize(shared.scratch / 8 + 8);
}

template <typename Count> void Searcher<Count>::check() {
    if ((++ticks_ & 15) == 0 &&
        (control_->cancelled.load(std::memory_order_relaxed) || std::chrono::steady_clock::now() >= control_->until)) {
        control_->stop.store(true, std::memory_order_relaxed);
    }
    if (control_->stop.load(std::memory_order_relaxed)) {
        throw Stopped{};
    }
}

template <typename Count> void Searcher<Count>::start(const Samples<Count> &samples, int budget, Values &out) {
    out.loss.assign(budget + 1, shared_.cost.leaf(counter_->totals(samples).data()));
    out.feature.assign(budget + 1, -1);
    out.split.clear();
    out.score.assign(n_features_, infinity);
}

template <typename Count>
void Searcher<Count>::try_feature(const Samples<Count> &samples, const NodePath &path, int depth, int budget,
                                  int feature, const std::vector<double> &upper, Values &out, bool record) {
    check();
    Level &level = *levels_[depth];
    const SearchFeature &f = problem_.features[feature];
    const int width = shared_.width;
    const auto count = [&] {
        level.histogram.assign(f.n_codes * n_classes_, 0);
        counter_->feature(samples, feature, level.histogram.data());
    };
    if (depth == 1) {
        count();
        last_feature(level.histogram.data(), feature, budget, upper, out, record);
        return;
    }
    if (depth == 2) {
        second_feature(counter_->slab(samples, feature, used), feature, budget, upper, out, record);
        return;
    }
    count();
    // A loss below which no tree gets, by code: rows that are equal but for their labels.
    level.floors.assign(f.n_codes, 0.0);
    if (problem_.use_bounds) {
        const std::uint8_t *column = samples.column(feature);
        for (const std::uint32_t i : samples.floored) {
            level.floors[column[i]] += samples.floor[i];
        }
    }
    if (!begin(level, feature, depth, budget)) {
        return;
    }
    const std::size_t table = static_cast<std::size_t>(shared_.n_codes) * width;
    bool counted = false;
    bool tables = false;
    split(level, feature, budget, upper, out, record, problem_.use_bounds, depth - 1,
          [&](int child_budget, Values &child) {
              std::sort(level.codes.begin(), level.codes.end());
              const NodePath longer(path, feature, level.codes);
              if (raise(longer.set(), depth - 1, level.child_lower, child)) {
                  return false;
              }
              Known &known = level.known;
              if (problem_.use_cache && shared_.cache.find(longer.set(), depth - 1, known) &&
                  static_cast<int>(known.values.size()) > child_budget) {
                  bool enough = true;
                  for (int m = 1; m <= child_budget; ++m) {
                      enough = enough && (known.exact[m] || known.values[m] >= level.child_upper[m]);
                  }
                  if (enough) {
                      ++statistics.cache_hits;
                      child.loss.assign(known.values.begin(), known.values.begin() + child_budget + 1);
                      return true;
                  }
              }
              if (depth == 3 && !counted) {
                  tables = counter_->cube(samples, feature, used, [this] { check(); }, level.cube);
                  counted = true;
                  if (tables && problem_.use_bounds) {
                      raise_floors(level, feature);
                  }
                  for (int code = 1; tables && shared_.subtracts && code < f.n_codes; ++code) {
                      Count *plane = level.cube.data() + code * table;
                      add_counts(plane, plane - table, table, plane);
                  }
              }
              if (tables) {
                  second_split(level, shared_.idle_again(longer, feature) ? feature : -1, child_budget, child);
              } else {
                  counter_->restrict(samples, feature, level.codes, true, level.child);
                  solve(level.child, longer, depth - 1, child_budget, level.child_upper, child);
              }
              if (problem_.use_cache) {
                  known.values.assign(child.loss.begin(), child.loss.end());
                  known.feature.assign(child.feature.begin(), child.feature.end());
                  known.exact.assign(child_budget + 1, false);
                  for (int m = 1; m <= child_budget; ++m) {
                      known.exact[m] = child.loss[m] < level.child_upper[m];
                  }
                  shared_.cache.store(longer.set(), depth - 1, known);
              }
              return true;
          });
}

/// Raises what a child costs at least by what is known of trees of any size; false where that says nothing new.
template <typename Count>
bool Searcher<Count>::raise(const ConditionSet &path, int depth, const std::vector<double> &lower,
                            Values &child) const {
    if (shared_.any_size == nullptr) {
        return false;
    }
    const int most = static_cast<int>(child.loss.size()) - 1;
    std::vector<double> least(lower.begin(), lower.begin() + most + 1);
    if (!shared_.any_size->raise(path, depth, most, least.data())) {
        return false;
    }
    std::copy(least.begin() + 2, least.end(), child.loss.begin() + 2);
    return true;
}

template <typename Count> std::vector<int> Searcher<Count>::close(const Samples<Count> &samples) {
    return problem_.use_bounds ? shared_.close(*counter_, samples, used) : std::vector<int>();
}

template <typename Count>
void Searcher<Count>::solve(const Samples<Count> &samples, const NodePath &path, int depth, int budget,
                            const std::vector<double> &upper, Values &out) {
    start(samples, budget, out);
    if (depth > 0 && budget > 1) {
        ClosedFeatures closed(used);
        if (depth > 2) {
            closed.features = close(samples);
        }
        std::vector<int> order = in_order_of(out.score);
        if (depth > 2 && problem_.use_bounds) {
            // Shallower trees are nearly free, bound the deeper ones, and say which features are promising.
            Values &shallow = levels_[depth]->shallow;
            solve(samples, path, depth - 1, std::min(budget, shared_.most_leaves[depth - 1]), upper, shallow);
            for (int m = 1; m <= budget; ++m) {
                const int known = std::min<int>(m, static_cast<int>(shallow.loss.size()) - 1);
                out.loss[m] = std::min(out.loss[m], shallow.loss[known]);
            }
            order = in_order_of(shallow.score);
        }
        double floor = problem_.use_bounds ? shared_.cost.tolerance() : -infinity;
        for (const std::uint32_t i : samples.floored) {
            floor += samples.floor[i];
        }
        for (const int feature : order) {
            // Deeper trees have more leaves than the depth; those with that many leaves that are the best possible end
            // it.
            if (!used[feature] && !shared_.idle_again(path, feature) &&
                !(depth > 2 && out.loss[std::min(depth + 1, budget)] <= floor)) {
                try_feature(samples, path, depth, budget, feature, upper, out, false);
            }
        }
    }
    for (int m = 1; m <= budget; ++m) {
        out.loss[m] = std::min(out.loss[m], upper[m]);
    }
}

template Shared<std::int32_t>::Shared(const SearchProblem &, double);
template Shared<double>::Shared(const SearchProblem &, double);
template class Searcher<std::int32_t>;
template class Searcher<double>;

} // namespace omtree
