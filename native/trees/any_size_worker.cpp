#include "trees/any_size_worker.hpp"

#include <algorithm>
#include <numeric>

#include "core/threads.hpp"

namespace omtree {

template <typename Count, typename Value>
AnySizeWorker<Count, Value>::AnySizeWorker(const Shared<Count> &shared, const Caches &caches, Control &control,
                                           std::unique_ptr<Counter<Count>> counter)
    : used(shared.problem.features.size(), 0),
      score(shared.problem.max_depth + 1, std::vector<Value>(shared.problem.features.size(), 0)), shared_(shared),
      problem_(shared.problem), caches_(caches), control_(&control), counter_(std::move(counter)),
      n_features_(static_cast<int>(shared.problem.features.size())), n_classes_(shared.problem.n_classes),
      scratch_(shared.scratch / 8 + 8) {
    for (int depth = 0; depth <= problem_.max_depth; ++depth) {
        levels_.push_back(std::make_unique<Level>());
    }
}

template <typename Count, typename Value> void AnySizeWorker<Count, Value>::check() {
    if ((++ticks_ & 15) == 0 &&
        (control_->cancelled.load(std::memory_order_relaxed) || std::chrono::steady_clock::now() >= control_->until)) {
        control_->stop.store(true, std::memory_order_relaxed);
    }
    if (control_->stop.load(std::memory_order_relaxed)) {
        throw Stopped{};
    }
}

template <typename Count, typename Value> Value AnySizeWorker<Count, Value>::value_of(double loss, int leaves) const {
    return static_cast<Value>(loss) * prices().loss + prices().leaf * static_cast<Value>(leaves);
}

template <typename Count, typename Value> Value AnySizeWorker<Count, Value>::leaf_value(const Count *counts) const {
    const double loss = shared_.cost.leaf(counts);
    return loss < infinity ? value_of(loss, 1) : no_tree<Value>;
}

template <typename Count, typename Value>
Found<Value> AnySizeWorker<Count, Value>::solve(const Samples<Count> &samples, const NodePath &path, int depth,
                                                Value upper) {
    Found<Value> best{std::min(upper, leaf_value(counter_->totals(samples).data())), -1, 0};
    ClosedFeatures closed(used);
    double floor = 0.0;
    for (const std::uint32_t i : samples.floored) {
        floor += samples.floor[i];
    }
    std::vector<int> order(n_features_);
    std::iota(order.begin(), order.end(), 0);
    // Shallower trees are nearly free, bound the deeper ones, and say which features are promising.
    for (int height = std::min(depth, 2); height <= depth && height > 0; ++height) {
        if (height > 2) {
            order = in_order_of(score[height - 1]);
        }
        if (height == 3) {
            closed.features =
                shared_.close(*counter_, samples, used); // nearly free as well once there are joint counts
        }
        // What shallower trees do not have: more leaves than there are levels.
        const Value least = value_of(floor, height > 2 ? height + 1 : 2);
        for (const int feature : order) {
            // Of equal trees the shallower one, then that of the earlier feature.
            const bool earlier = best.height == height && feature < best.feature;
            const Value limit = std::min(upper, prices().to_beat(best.value, earlier));
            const bool closed = used[feature] || shared_.idle_again(path, feature);
            score[height][feature] = closed ? no_tree<Value> : least;
            if (closed || least >= limit) {
                continue;
            }
            const Value value = try_feature(samples, path, height, feature, limit, nullptr);
            if (value < limit) {
                best = {value, feature, height};
            }
        }
    }
    return best;
}

/// Prepares the ways to split by a feature whose counts and floors the level has; false when there is nothing to split.
template <typename Count, typename Value> bool AnySizeWorker<Count, Value>::begin(Level &level, int feature) {
    const SearchFeature &f = problem_.features[feature];
    if (!shared_.find_present(level.histogram.data(), feature, level.present, level.missing)) {
        return false;
    }
    const int n = static_cast<int>(level.present.size());
    AnySizeWays<Value> &ways = level.ways;
    ways.reset(f.family, n - level.missing, level.missing);
    level.exact.assign(ways.n_blocks(), 1);
    level.leaf.resize(ways.n_blocks());
    sum_blocks(ways, f, level.present, level.missing, level.histogram.data(), n_classes_, level.positions,
               [&](int block, const Count *sum) {
                   const Value leaf = leaf_value(sum);
                   const bool divisible = shared_.cost.most_leaves(shared_.cost.weight(sum), 2) > 1;
                   level.leaf[block] = leaf;
                   level.exact[block] = !divisible;
                   ways.value(block) = divisible ? 0 : leaf;
               });
    raise_blocks(level, feature);
    return true;
}

/// A block that is not known costs at least what its codes cannot avoid and two leaves, or what it costs as a leaf.
template <typename Count, typename Value> void AnySizeWorker<Count, Value>::raise_blocks(Level &level, int feature) {
    AnySizeWays<Value> &ways = level.ways;
    sum_blocks(ways, problem_.features[feature], level.present, level.missing, level.floors.data(), 1, level.positions,
               [&](int block, const double *floor) {
                   if (level.exact[block]) {
                       return;
                   }
                   Value &value = ways.value(block);
                   value = std::max(value, value_of(*floor, 2));
                   if (value >= level.leaf[block]) {
                       value = level.leaf[block];
                       level.exact[block] = 1;
                   }
               });
}

template <typename Count, typename Value> void AnySizeWorker<Count, Value>::choose(Level &level, int block) const {
    level.ways.positions(block, level.positions);
    level.codes.clear();
    for (const int position : level.positions) {
        level.codes.push_back(static_cast<std::uint8_t>(level.present[position]));
    }
    std::sort(level.codes.begin(), level.codes.end());
    level.leaf_of_wanted = level.leaf[block];
}

template <typename Count, typename Value>
void AnySizeWorker<Count, Value>::take(const Level &level, int feature, FoundSplit<Value> &record) const {
    record.feature = feature;
    record.complement = false;
    record.children.clear();
    std::vector<int> positions;
    for (const int block : level.choice) {
        level.ways.positions(block, positions);
        std::vector<std::uint8_t> codes;
        for (const int position : positions) {
            codes.push_back(static_cast<std::uint8_t>(level.present[position]));
        }
        std::sort(codes.begin(), codes.end());
        record.children.emplace_back(std::move(codes), level.ways.value(block));
        record.complement |= level.ways.is_complement(block);
    }
}

template <typename Count, typename Value>
Value AnySizeWorker<Count, Value>::try_feature(const Samples<Count> &samples, const NodePath &path, int depth,
                                               int feature, Value upper, FoundSplit<Value> *record) {
    check();
    Level &level = *levels_[depth];
    if (depth == 2) {
        open_.find(shared_, used);
        return second_feature(counter_->slab(samples, feature, used), feature, upper, nullptr, record);
    }
    const SearchFeature &f = problem_.features[feature];
    level.histogram.assign(f.n_codes * n_classes_, 0);
    counter_->feature(samples, feature, level.histogram.data());
    if (depth == 1) {
        return last_feature(level, feature, upper, record);
    }
    // Errors that no tree avoids, by code: rows that are equal but for their labels.
    level.floors.assign(f.n_codes, 0);
    if (!samples.floored.empty()) {
        const std::uint8_t *column = samples.column(feature);
        for (const std::uint32_t i : samples.floored) {
            level.floors[column[i]] += samples.floor[i];
        }
    }
    level.recalled = level.counted = false;
    if (!begin(level, feature)) {
        score[depth][feature] = no_tree<Value>;
        return upper;
    }
    return try_blocks(level, depth, feature, upper, record, [&](Value child_upper, Value &value) {
        const NodePath longer(path, feature, level.codes);
        FoundBefore<Value> known;
        if (recall(longer.set(), depth - 1, known) && (known.exact || known.found.value >= child_upper)) {
            ++statistics.cache_hits;
            value = known.found.value;
            return true;
        }
        const Value told = recall_prices(longer.set(), depth - 1);
        if (told >= child_upper) {
            value = told;
            return true;
        }
        if (depth == 3 && !level.recalled) {
            level.recalled = true;
            if (recall_floors(level, path, feature)) {
                return false;
            }
        }
        if (depth == 3 && !level.counted) {
            count_cube(level, samples, path, feature);
            if (level.tables) {
                return false;
            }
        }
        ++statistics.subproblems;
        if (depth == 3 && level.tables) {
            known.found = second_split(level, shared_.idle_again(longer, feature) ? feature : -1, child_upper);
        } else {
            counter_->restrict(samples, feature, level.codes, true, level.child);
            known.found = solve(level.child, longer, depth - 1, child_upper);
        }
        known.exact = known.found.value < child_upper;
        value = known.found.value;
        if (problem_.use_cache) {
            cache().store(longer.set(), depth - 1, known);
        }
        return true;
    });
}

template class AnySizeWorker<std::int32_t, std::int64_t>;
template class AnySizeWorker<double, double>;

} // namespace omtree
