// The last two levels of trees of any size, from joint counts.
#include <algorithm>

#include "trees/any_size_worker.hpp"
#include "trees/kernels.hpp"

namespace omtree {

/// Splits a feature, whose counts the level has, into leaves.
template <typename Count, typename Value>
Value AnySizeWorker<Count, Value>::last_feature(Level &level, int feature, Value upper, FoundSplit<Value> *record) {
    level.floors.assign(problem_.features[feature].n_codes, 0);
    if (!begin(level, feature)) {
        return upper;
    }
    for (int block = 0; block < level.ways.n_blocks(); ++block) {
        if (level.ways.usable(block)) {
            level.ways.value(block) = level.leaf[block];
        }
    }
    const Value total = level.ways.solve();
    if (record != nullptr && total < upper) {
        level.ways.choice(level.choice);
        take(level, feature, *record);
    }
    return std::min(total, upper);
}

template <typename Count, typename Value> Value AnySizeWorker<Count, Value>::last_split(const Count *histogram) {
    Value best = no_tree<Value>;
    Level &level = *levels_[1];
    for (const int feature : shared_.alone) {
        if (!used[feature]) {
            level.histogram.resize(problem_.features[feature].n_codes * n_classes_);
            shared_.gather(histogram, feature, level.histogram.data());
            best = last_feature(level, feature, best, nullptr);
        }
    }
    void *scratch = scratch_.data();
    std::size_t room = scratch_.size() * 8;
    scratch = std::align(64, shared_.scratch, scratch, room);
    if constexpr (whole_values<Value>) {
        const Count found =
            kernels().split_any_size(histogram, open_.groups.data(), open_.size(), n_classes_, shared_.support,
                                     static_cast<Count>(prices().loss), static_cast<Count>(prices().leaf), scratch);
        return found < no_leaf ? std::min<Value>(best, found) : best;
    } else {
        return std::min(best, shared_.cost.kernels().split_priced(histogram, open_.groups.data(), open_.size(),
                                                                  shared_.cost.terms(), shared_.cost.least_weight(),
                                                                  prices().leaf, scratch));
    }
}

/// Least loss of one more split with a leaf for every value, whatever the support, or `leaf` if that is less.
template <typename Count, typename Value>
double AnySizeWorker<Count, Value>::split_floor(const Count *histogram, double leaf) {
    double least = leaf;
    if constexpr (whole_values<Value>) {
        least =
            std::min<double>(least, kernels().split_floor(histogram, open_.groups.data(), open_.size(), n_classes_));
    } else {
        least = std::min(
            least, shared_.cost.kernels().floor(histogram, open_.groups.data(), open_.size(), shared_.cost.terms()));
    }
    for (const int feature : shared_.alone) {
        if (!used[feature]) {
            least = std::min(least, shared_.leaf_per_code(histogram, feature, least, levels_[1]->histogram));
        }
    }
    return least;
}

/// Joint counts of the codes that the level has chosen with those of all features.
template <typename Count, typename Value>
const Count *AnySizeWorker<Count, Value>::block_counts(Level &level, const Count *slab) {
    const std::size_t width = shared_.width;
    if (level.codes.size() == 1) {
        return slab + level.codes[0] * width;
    }
    level.sum.resize(width);
    const int first = level.positions.front();
    const int last = level.positions.back();
    const std::size_t left_out = last - first + 1 - level.positions.size();
    if (shared_.subtracts && left_out <= 1 && last - first > 1) {
        // Neighbours in the order of the codes, or all of these but one, are the difference of two sums from the left.
        if (!level.summed) {
            level.sums.resize((level.present.size() + 1) * width);
            std::fill_n(level.sums.begin(), width, 0);
            for (std::size_t i = 0; i < level.present.size(); ++i) {
                add_counts(&level.sums[i * width], slab + level.present[i] * width, width,
                           &level.sums[(i + 1) * width]);
            }
            level.summed = true;
        }
        subtract_counts(&level.sums[(last + 1) * width], &level.sums[first * width], width, level.sum.data());
        if (left_out == 1) {
            int other = first;
            while (level.positions[other - first] == other) {
                ++other;
            }
            subtract_counts(level.sum.data(), slab + level.present[other] * width, width, level.sum.data());
        }
        return level.sum.data();
    }
    add_counts(slab + level.codes[0] * width, slab + level.codes[1] * width, width, level.sum.data());
    for (std::size_t i = 2; i < level.codes.size(); ++i) {
        add_counts(level.sum.data(), slab + level.codes[i] * width, width, level.sum.data());
    }
    return level.sum.data();
}

template <typename Count, typename Value>
Value AnySizeWorker<Count, Value>::second_feature(const Count *slab, int feature, Value upper, const double *floors,
                                                  FoundSplit<Value> *record) {
    Level &level = *levels_[2];
    const SearchFeature &f = problem_.features[feature];
    const std::size_t width = shared_.width;
    const auto [offset, code_stride, class_stride] = shared_.place[feature];
    level.histogram.resize(f.n_codes * n_classes_);
    for (int code = 0; code < f.n_codes; ++code) {
        for (int c = 0; c < n_classes_; ++c) {
            level.histogram[code * n_classes_ + c] =
                slab[code * width + offset + code * code_stride + c * class_stride];
        }
    }
    const Use use(used[feature], shared_.idle_child(feature));
    if (shared_.idle_child(feature)) {
        open_.set(feature, false);
    }
    level.floors.resize(f.n_codes);
    for (int code = 0; code < f.n_codes; ++code) {
        if (floors != nullptr) {
            level.floors[code] = floors[code];
            continue;
        }
        const double leaf = shared_.cost.loss(level.histogram.data() + code * n_classes_);
        level.floors[code] = leaf > 0.0 ? split_floor(slab + code * width, leaf) : 0.0;
    }
    level.summed = false;
    Value found = upper;
    if (begin(level, feature)) {
        found = try_blocks(level, 2, feature, upper, record, [&](Value, Value &value) {
            value = std::min(level.leaf_of_wanted, last_split(block_counts(level, slab)));
            return true;
        });
    } else {
        score[2][feature] = no_tree<Value>;
    }
    open_.set(feature, true);
    return found;
}

template <typename Count, typename Value>
bool AnySizeWorker<Count, Value>::recall(const ConditionSet &path, int depth, FoundBefore<Value> &known) const {
    return problem_.use_cache && cache().find(path, depth, known);
}

/// The value is a concave function of the price of a leaf, grows by one price at least, and is none below zero.
template <typename Count, typename Value>
Value AnySizeWorker<Count, Value>::recall_prices(const ConditionSet &path, int depth) const {
    Value least = 0;
    if constexpr (!whole_values<Value>) {
        const double price = prices().leaf;
        double below = 0.0; // nearest price that is lower, and the value at it
        double at_below = 0.0;
        double above = infinity;
        double at_above = 0.0;
        FoundBefore<Value> known;
        for (std::size_t i = 0; problem_.use_cache && i + 1 < caches_.size(); ++i) {
            const double other = caches_[i]->prices.leaf;
            if (!caches_[i]->known.find(path, depth, known)) {
                continue;
            }
            if (other <= price && other >= below) {
                below = other;
                at_below = known.found.value;
            } else if (other > price && other < above) {
                above = other;
                at_above = known.found.value;
            }
        }
        least = below > 0.0 ? at_below + (price - below) : 0.0;
        if (above < infinity) {
            least = std::max(least, at_below + (at_above - at_below) * ((price - below) / (above - below)));
        }
    }
    return least;
}

template <typename Count, typename Value>
bool AnySizeWorker<Count, Value>::recall_floors(Level &level, const NodePath &path, int feature) {
    bool raised = false;
    for (const int code : level.present) {
        const auto own = static_cast<std::uint8_t>(code);
        FoundBefore<Value> known;
        if (recall(NodePath(path, feature, {&own, 1}).set(), 2, known) && known.floor > level.floors[code]) {
            level.floors[code] = known.floor;
            raised = true;
        }
    }
    if (raised) {
        raise_blocks(level, feature);
    }
    return raised;
}

/// Counts all that trees of depth two below the feature need, and finds what they cannot avoid: the errors of a leaf
/// for every combination of the codes of three features.
template <typename Count, typename Value>
void AnySizeWorker<Count, Value>::count_cube(Level &level, const Samples<Count> &samples, const NodePath &path,
                                             int feature) {
    level.counted = true;
    level.tables = counter_->cube(samples, feature, used, [this] { check(); }, level.cube);
    if (!level.tables) {
        return;
    }
    const int n_codes = problem_.features[feature].n_codes;
    const std::size_t width = shared_.width;
    level.pair_floors.assign(static_cast<std::size_t>(n_codes) * n_features_, 0);
    level.cell_floors.assign(static_cast<std::size_t>(n_codes) * shared_.n_codes, 0);
    std::vector<Count> counts(n_classes_);
    open_.find(shared_, used);
    for (int other = 0; other < n_features_; ++other) {
        if (used[other]) {
            continue;
        }
        // Within one of its codes a feature tells no more.
        const Use use(used[other], true);
        open_.set(other, false);
        const auto [offset, code_stride, class_stride] = shared_.place[other];
        for (const int code : level.present) {
            const std::size_t first = static_cast<std::size_t>(code) * shared_.n_codes + shared_.first_code[other];
            for (int b = 0; b < problem_.features[other].n_codes; ++b) {
                const Count *row = level.cube.data() + (first + b) * width;
                for (int c = 0; c < n_classes_; ++c) {
                    counts[c] = row[offset + b * code_stride + c * class_stride];
                }
                const double leaf = shared_.cost.loss(counts.data());
                level.cell_floors[first + b] = leaf > 0.0 ? split_floor(row, leaf) : 0.0;
                level.pair_floors[static_cast<std::size_t>(code) * n_features_ + other] += level.cell_floors[first + b];
            }
        }
        open_.set(other, true);
    }
    for (const int code : level.present) {
        double least = shared_.cost.loss(level.histogram.data() + code * n_classes_);
        for (int other = 0; other < n_features_; ++other) {
            if (!used[other]) {
                least = std::min(least, level.pair_floors[static_cast<std::size_t>(code) * n_features_ + other]);
            }
        }
        level.floors[code] = std::max(level.floors[code], least);
        if (problem_.use_cache) {
            const auto own = static_cast<std::uint8_t>(code);
            const NodePath longer(path, feature, {&own, 1});
            FoundBefore<Value> known;
            cache().find(longer.set(), 2, known);
            known.floor = level.floors[code];
            cache().store(longer.set(), 2, known);
        }
    }
    raise_blocks(level, feature);
    const std::size_t table = shared_.n_codes * width;
    for (int code = 1; shared_.subtracts && code < n_codes; ++code) {
        Count *plane = level.cube.data() + code * table;
        add_counts(plane, plane - table, table, plane);
    }
}

template <typename Count, typename Value>
Found<Value> AnySizeWorker<Count, Value>::second_split(Level &above, int closed, Value upper) {
    Found<Value> best{std::min(upper, above.leaf_of_wanted), -1, 0};
    open_.find(shared_, used);
    for (int feature = 0; feature < n_features_; ++feature) {
        if (used[feature] || feature == closed) {
            continue;
        }
        check();
        double floor = 0.0;
        for (const std::uint8_t code : above.codes) {
            floor += above.pair_floors[static_cast<std::size_t>(code) * n_features_ + feature];
        }
        // Features come in order, so that a later one has to be better, not equal.
        if (value_of(floor, 2) >= prices().to_beat(best.value, false)) {
            continue;
        }
        const std::size_t first = static_cast<std::size_t>(above.codes[0]) * shared_.n_codes;
        const double *known = &above.cell_floors[first + shared_.first_code[feature]];
        const Value value =
            second_feature(shared_.slab(above.cube, above.codes, feature, above.slab), feature,
                           prices().to_beat(best.value, false), above.codes.size() == 1 ? known : nullptr, nullptr);
        if (value < prices().to_beat(best.value, false)) {
            best = {value, feature, 2};
        }
    }
    return best;
}

template class AnySizeWorker<std::int32_t, std::int64_t>;
template class AnySizeWorker<double, double>;

} // namespace omtree
