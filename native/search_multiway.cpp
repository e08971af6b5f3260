#include "search_multiway.hpp"

#include <algorithm>
#include <cstring>

namespace omtree {

template <typename Count>
Shared<Count>::Shared(const SearchProblem &problem, Control &control, double total)
    : problem(problem), control(control), cost(problem, total), cache(problem.cache_bytes) {
    int widest = 2;
    for (const SearchFeature &feature : problem.features) {
        offset.push_back(width);
        width += feature.n_codes * problem.n_classes;
        widest = std::max(widest, feature.n_codes);
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
Searcher<Count>::Searcher(Shared<Count> &shared)
    : used(shared.problem.features.size(), 0), shared_(shared), problem_(shared.problem),
      n_features_(static_cast<int>(shared.problem.features.size())), n_classes_(shared.problem.n_classes) {
    for (int depth = 0; depth <= problem_.max_depth; ++depth) {
        levels_.push_back(std::make_unique<Level>());
    }
}

template <typename Count> void Searcher<Count>::check() {
    Control &control = shared_.control;
    if ((++ticks_ & 63) == 0 &&
        (control.cancelled.load(std::memory_order_relaxed) || std::chrono::steady_clock::now() >= control.until)) {
        control.stop.store(true, std::memory_order_relaxed);
    }
    if (control.stop.load(std::memory_order_relaxed)) {
        throw Stopped{};
    }
}

template <typename Count> void Searcher<Count>::start(const Samples<Count> &samples, int budget, Values &out) const {
    std::vector<Count> total(n_classes_, 0);
    for (std::size_t i = 0; i < samples.size; ++i) {
        total[samples.label[i]] += samples.weight[i];
    }
    out.loss.assign(budget + 1, shared_.cost.leaf(total.data()));
    out.feature.assign(budget + 1, -1);
    out.split.clear();
}

template <typename Count>
void Searcher<Count>::count_feature(const Samples<Count> &samples, int feature, Count *histogram) const {
    const std::uint8_t *column = samples.column(feature);
    for (std::size_t i = 0; i < samples.size; ++i) {
        histogram[column[i] * n_classes_ + samples.label[i]] += samples.weight[i];
    }
}

/// Joint counts of a feature with every feature: one histogram per code of the feature.
template <typename Count>
void Searcher<Count>::count_pairs(const Samples<Count> &samples, int feature, Count *slab) const {
    const std::uint8_t *outer = samples.column(feature);
    for (int other = 0; other < n_features_; ++other) {
        const std::uint8_t *inner = samples.column(other);
        Count *base = slab + shared_.offset[other];
        for (std::size_t i = 0; i < samples.size; ++i) {
            base[outer[i] * shared_.width + inner[i] * n_classes_ + samples.label[i]] += samples.weight[i];
        }
    }
}

template <typename Count>
void Searcher<Count>::restrict(const Samples<Count> &samples, int feature, const std::vector<std::uint8_t> &codes,
                               Samples<Count> &out) const {
    bool inside[256] = {};
    for (const std::uint8_t code : codes) {
        inside[code] = true;
    }
    const std::uint8_t *column = samples.column(feature);
    std::vector<std::uint32_t> kept;
    for (std::size_t i = 0; i < samples.size; ++i) {
        if (inside[column[i]]) {
            kept.push_back(static_cast<std::uint32_t>(i));
        }
    }
    out.size = kept.size();
    out.codes.resize(n_features_ * kept.size());
    out.label.resize(kept.size());
    out.weight.resize(kept.size());
    out.floor.resize(kept.size());
    for (int f = 0; f < n_features_; ++f) {
        const std::uint8_t *from = samples.column(f);
        std::uint8_t *to = out.codes.data() + f * kept.size();
        for (std::size_t i = 0; i < kept.size(); ++i) {
            to[i] = from[kept[i]];
        }
    }
    for (std::size_t i = 0; i < kept.size(); ++i) {
        out.label[i] = samples.label[kept[i]];
        out.weight[i] = samples.weight[kept[i]];
        out.floor[i] = samples.floor[kept[i]];
    }
}

/// The feature's codes that occur, in the order of its runs, "missing" last; false when there is nothing to split.
template <typename Count>
bool Searcher<Count>::find_present(const Count *counts, int feature, std::vector<int> &present, bool &missing) const {
    const SearchFeature &f = problem_.features[feature];
    present.clear();
    missing = false;
    for (int i = 0; i < f.n_codes; ++i) {
        const int code = f.order.empty() ? i : f.order[i];
        bool occurs = false;
        for (int c = 0; c < n_classes_; ++c) {
            occurs |= counts[code * n_classes_ + c] > 0;
        }
        if (occurs) {
            present.push_back(code);
            missing = f.family == Family::interval && f.has_missing && code == f.n_codes - 1;
        }
    }
    return present.size() > 1;
}

/// Loss of every block as a leaf, into its value for one leaf.
template <typename Count>
static void fill_leaves(Partition &partition, const SearchFeature &feature, const std::vector<int> &present,
                        bool missing, const Count *counts, const LeafCost<Count> &cost, std::vector<int> &positions) {
    const int n_classes = cost.n_classes();
    Count sum[256];
    const bool runs = feature.family == Family::interval || feature.family == Family::run;
    const int k = static_cast<int>(present.size()) - missing;
    const auto add = [&](int position) {
        const Count *more = counts + present[position] * n_classes;
        for (int c = 0; c < n_classes; ++c) {
            sum[c] += more[c];
        }
    };
    for (int begin = 0; runs && begin < k; ++begin) {
        std::fill_n(sum, n_classes, Count{0});
        for (int end = begin + 1; end <= k; ++end) {
            add(end - 1);
            partition.values(partition.run(begin, end))[1] = cost.leaf(sum);
            if (missing) {
                Count saved[256];
                std::copy_n(sum, n_classes, saved);
                add(k);
                partition.values(partition.run(begin, end, true))[1] = cost.leaf(sum);
                std::copy_n(saved, n_classes, sum);
            }
        }
    }
    for (int block = runs ? k * k * (1 + missing) : 0; block < partition.n_blocks(); ++block) {
        if (partition.usable(block)) {
            std::fill_n(sum, n_classes, Count{0});
            partition.positions(block, positions);
            for (const int position : positions) {
                add(position);
            }
            partition.values(block)[1] = cost.leaf(sum);
        }
    }
}

/// Take over what the partition found, where it is better; of equal splits the earlier feature's.
template <typename Count>
void Searcher<Count>::accept(const Partition &partition, const std::vector<int> &present, int feature, int budget,
                             const std::vector<double> &upper, Values &out, bool record) {
    const double tolerance = shared_.cost.tolerance();
    std::vector<std::pair<int, int>> choice;
    std::vector<int> positions;
    for (int m = 2; m <= budget; ++m) {
        if (m <= partition.budget()) {
            const double value = partition.best(m);
            const bool better = value < out.loss[m] - tolerance;
            if (value < upper[m] && (better || (feature < out.feature[m] && value <= out.loss[m] + tolerance))) {
                out.loss[m] = value;
                out.feature[m] = feature;
                if (record) {
                    out.split.resize(budget + 1);
                    Split &split = out.split[m];
                    split.feature = feature;
                    split.complement = false;
                    split.children.clear();
                    partition.choice(m, choice);
                    for (const auto &[block, leaves] : choice) {
                        partition.positions(block, positions);
                        std::vector<std::uint8_t> codes;
                        for (const int position : positions) {
                            codes.push_back(static_cast<std::uint8_t>(present[position]));
                        }
                        split.children.emplace_back(std::move(codes), leaves);
                        split.complement |= partition.is_complement(block);
                    }
                }
            }
        }
        if (out.loss[m] >= out.loss[m - 1] - tolerance) {
            out.loss[m] = out.loss[m - 1];
            out.feature[m] = out.feature[m - 1];
            if (record && !out.split.empty()) {
                out.split[m] = out.split[m - 1];
            }
        }
    }
}

template <typename Count>
void Searcher<Count>::last_feature(const Count *histogram, int feature, int budget, const std::vector<double> &upper,
                                   Values &out, bool record) {
    Level &level = *levels_[1];
    bool missing = false;
    const Count *counts = histogram + shared_.offset[feature];
    if (!find_present(counts, feature, level.present, missing)) {
        return;
    }
    const SearchFeature &f = problem_.features[feature];
    const int n = static_cast<int>(level.present.size());
    int most = std::min(budget, n);
    if (problem_.max_children > 0) {
        most = std::min(most, problem_.max_children);
    }
    level.partition.reset(f.family, n - missing, missing, problem_.max_children, most, 1);
    fill_leaves(level.partition, f, level.present, missing, counts, shared_.cost, level.positions);
    level.partition.solve();
    accept(level.partition, level.present, feature, budget, upper, out, record);
}

template <typename Count>
void Searcher<Count>::last_split(const Count *histogram, int budget, const std::vector<double> &upper, Values &out,
                                 bool record) {
    for (int feature = 0; feature < n_features_; ++feature) {
        if (!used[feature]) {
            last_feature(histogram, feature, budget, upper, out, record);
        }
    }
}

template <typename Count>
void Searcher<Count>::try_feature(const Samples<Count> &samples, const ConditionSet &path, int depth, int budget,
                                  int feature, const std::vector<double> &upper, Values &out, bool record) {
    check();
    Level &level = *levels_[depth];
    const SearchFeature &f = problem_.features[feature];
    const LeafCost<Count> &cost = shared_.cost;
    const int width = shared_.width;
    if (depth == 1) {
        level.histogram.assign(width, 0);
        count_feature(samples, feature, level.histogram.data() + shared_.offset[feature]);
        last_feature(level.histogram.data(), feature, budget, upper, out, record);
        return;
    }

    level.histogram.assign(f.n_codes * n_classes_, 0);
    count_feature(samples, feature, level.histogram.data());
    bool missing = false;
    if (!find_present(level.histogram.data(), feature, level.present, missing)) {
        return;
    }
    const int n = static_cast<int>(level.present.size());
    const int child_budget = std::min(budget - 1, shared_.most_leaves[depth - 1]);
    Partition &partition = level.partition;
    partition.reset(f.family, n - missing, missing, problem_.max_children, budget, child_budget);
    fill_leaves(partition, f, level.present, missing, level.histogram.data(), cost, level.positions);

    // A loss below which no tree gets, by code.
    level.floors.assign(f.n_codes, 0.0);
    if (depth == 2) {
        level.slab.assign(f.n_codes * width, 0);
        count_pairs(samples, feature, level.slab.data());
        if (problem_.use_bounds) {
            for (const int code : level.present) {
                double least = cost.loss(level.histogram.data() + code * n_classes_);
                for (int other = 0; other < n_features_; ++other) {
                    const Count *counts = level.slab.data() + code * width + shared_.offset[other];
                    double sum = 0.0;
                    for (int b = 0; b < problem_.features[other].n_codes; ++b) {
                        sum += cost.loss(counts + b * n_classes_);
                    }
                    least = used[other] ? least : std::min(least, sum);
                }
                level.floors[code] = least;
            }
        }
    } else if (problem_.use_bounds) {
        const std::uint8_t *column = samples.column(feature);
        for (std::size_t i = 0; i < samples.size; ++i) {
            level.floors[column[i]] += samples.floor[i];
        }
    }
    double all_floors = 0.0;
    for (const int code : level.present) {
        all_floors += level.floors[code];
    }
    const auto floor_of = [&](const std::vector<int> &positions) {
        double sum = 0.0;
        for (const int position : positions) {
            sum += level.floors[level.present[position]];
        }
        return sum;
    };

    const double tolerance = cost.tolerance();
    level.exact.assign(partition.n_blocks(), 1);
    for (int block = 0; block < partition.n_blocks(); ++block) {
        if (!partition.usable(block)) {
            continue;
        }
        double *values = partition.values(block);
        double least = values[1];
        if (values[1] != infinity && child_budget > 1) {
            partition.positions(block, level.positions);
            const double floor = floor_of(level.positions);
            if (!problem_.use_bounds || floor < values[1] - tolerance) {
                level.exact[block] = 0;
                least = floor;
            }
        }
        std::fill(values + 2, values + child_budget + 1, least);
    }

    const bool once = !problem_.binary;
    used[feature] = used[feature] || once;
    const auto evaluate = [&](int block) {
        check();
        level.exact[block] = 1;
        partition.positions(block, level.positions);
        const double rest = all_floors - floor_of(level.positions);
        double *values = partition.values(block);
        level.child_upper.assign(child_budget + 1, infinity);
        if (problem_.use_bounds) {
            for (int m = 1; m <= child_budget; ++m) {
                level.child_upper[m] = level.upper[std::min(m + 1, budget)] - rest + tolerance;
            }
        }
        ++statistics.subproblems;
        level.codes.clear();
        for (const int position : level.positions) {
            level.codes.push_back(static_cast<std::uint8_t>(level.present[position]));
        }
        Values &child = level.values;
        if (depth == 2) {
            Count *sum = levels_[1]->histogram.data();
            std::fill_n(sum, width, Count{0});
            for (const std::uint8_t code : level.codes) {
                const Count *row = level.slab.data() + code * width;
                for (int i = 0; i < width; ++i) {
                    sum[i] += row[i];
                }
            }
            child.loss.assign(child_budget + 1, values[1]);
            child.feature.assign(child_budget + 1, -1);
            last_split(sum, child_budget, level.child_upper, child, false);
        } else {
            std::sort(level.codes.begin(), level.codes.end());
            ConditionSet longer = path;
            longer.add(feature, level.codes);
            Known &known = level.known;
            if (problem_.use_cache && shared_.cache.find(longer, depth - 1, known) &&
                static_cast<int>(known.values.size()) > child_budget) {
                bool enough = true;
                for (int m = 1; m <= child_budget; ++m) {
                    enough = enough && (known.exact[m] || known.values[m] >= level.child_upper[m]);
                }
                if (enough) {
                    ++statistics.cache_hits;
                    std::copy_n(known.values.begin() + 1, child_budget, values + 1);
                    return;
                }
            }
            restrict(samples, feature, level.codes, level.child);
            solve(level.child, longer, depth - 1, child_budget, level.child_upper, child, false);
            if (problem_.use_cache) {
                known.values.assign(child.loss.begin(), child.loss.end());
                known.exact.assign(child_budget + 1, false);
                for (int m = 1; m <= child_budget; ++m) {
                    known.exact[m] = child.loss[m] < level.child_upper[m];
                }
                shared_.cache.store(longer, depth - 1, known);
            }
        }
        std::copy_n(child.loss.begin() + 1, child_budget, values + 1);
    };

    level.upper.assign(budget + 1, infinity);
    const auto refresh = [&] {
        for (int m = 1; m <= budget; ++m) {
            const double tie = feature < out.feature[m] ? tolerance : -tolerance;
            level.upper[m] = std::min(upper[m], out.loss[m] + tie);
        }
    };
    refresh();
    levels_[1]->histogram.resize(width);
    if (!problem_.use_bounds) {
        for (int block = 0; block < partition.n_blocks(); ++block) {
            if (!level.exact[block]) {
                evaluate(block);
            }
        }
    }
    // Evaluate only the children of the way that looks best, until the best way has no unknown child.
    for (bool more = true; more;) {
        more = false;
        partition.solve();
        for (int m = 2; m <= budget; ++m) {
            if (partition.best(m) < level.upper[m]) {
                partition.choice(m, level.choice);
                for (const auto &[block, leaves] : level.choice) {
                    if (leaves > 1 && !level.exact[block]) {
                        evaluate(block);
                        more = true;
                    }
                }
            }
        }
    }
    if (once) {
        used[feature] = 0;
    }
    accept(partition, level.present, feature, budget, upper, out, record);
}

template <typename Count>
void Searcher<Count>::solve(const Samples<Count> &samples, const ConditionSet &path, int depth, int budget,
                            const std::vector<double> &upper, Values &out, bool record) {
    start(samples, budget, out);
    if (depth > 0 && budget > 1) {
        for (int feature = 0; feature < n_features_; ++feature) {
            if (!used[feature]) {
                try_feature(samples, path, depth, budget, feature, upper, out, record);
            }
        }
    }
    for (int m = 1; m <= budget; ++m) {
        out.loss[m] = std::min(out.loss[m], upper[m]);
    }
}

template struct Shared<std::int32_t>;
template struct Shared<double>;
template class Searcher<std::int32_t>;
template class Searcher<double>;

} // namespace omtree
