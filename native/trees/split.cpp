#include "trees/split.hpp"

namespace omtree {

/// Loss of every block as a leaf, into its value for one leaf. Where asked, also how many leaves it has the support
/// for.
template <typename Count>
static void fill_leaves(Partition &partition, const SearchFeature &feature, const std::vector<int> &present,
                        bool missing, const Count *counts, const LeafCost<Count> &cost, std::vector<int> &positions,
                        std::vector<int> *most_leaves = nullptr) {
    const auto fill = [&](int block, const Count *sum) {
        partition.values(block)[1] = cost.leaf(sum);
        if (most_leaves != nullptr) {
            (*most_leaves)[block] = cost.most_leaves(cost.weight(sum), partition.child_budget());
        }
    };
    sum_blocks(partition, feature, present, missing, counts, cost.n_classes(), positions, fill);
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
                        split.children.push_back({std::move(codes), leaves, partition.value(block, leaves)});
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
void Searcher<Count>::last_feature(const Count *counts, int feature, int budget, const std::vector<double> &upper,
                                   Values &out, bool record) {
    Level &level = *levels_[0];
    bool missing = false;
    if (!shared_.find_present(counts, feature, level.present, missing)) {
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
    if (!out.score.empty()) {
        out.score[feature] = level.partition.best(most);
    }
    accept(level.partition, level.present, feature, budget, upper, out, record);
}

template <typename Count>
void Searcher<Count>::last_split(const Count *histogram, int budget, const std::vector<double> &upper, Values &out) {
    std::vector<Count> &counts = levels_[0]->histogram;
    const auto scalar = [&](int feature) {
        if (!used[feature]) {
            counts.resize(problem_.features[feature].n_codes * n_classes_);
            shared_.gather(histogram, feature, counts.data());
            last_feature(counts.data(), feature, budget, upper, out, false);
        }
    };
    for (const int feature : shared_.alone) {
        scalar(feature);
    }
    if (at_once_) {
        const int most = std::min({budget, problem_.max_children > 0 ? problem_.max_children : budget, 255});
        double best[256];
        split_groups(histogram, most, best);
        for (int m = 2; m <= budget; ++m) {
            out.loss[m] = std::min({out.loss[m], out.loss[m - 1], best[std::min(m, most)]});
        }
        return;
    }
    for (const auto &group : shared_.groups) {
        for (const int feature : group.features) {
            scalar(feature);
        }
    }
}

/// Least loss of one more split into 2, 3, ... leaves over all features in groups.
template <typename Count> void Searcher<Count>::split_groups(const Count *histogram, int most, double *best) {
    void *scratch = scratch_.data();
    std::size_t room = scratch_.size() * 8;
    scratch = std::align(64, shared_.scratch, scratch, room);
    std::fill_n(best, most + 1, infinity);
    if constexpr (std::is_same_v<Count, std::int32_t>) {
        if (shared_.whole_losses) {
            std::int32_t whole[256];
            std::fill_n(whole, most + 1, no_leaf);
            for (const LaneGroup &group : open_.groups) {
                const auto &run = group.subsets ? kernels().split_subsets : kernels().split_intervals;
                run(histogram + group.offset, group.k, n_classes_, shared_.support, std::min(most, group.k),
                    group.penalty, scratch, whole);
            }
            for (int m = 2; m <= most; ++m) {
                best[m] = whole[m] < no_leaf ? whole[m] : infinity;
            }
            return;
        }
    }
    for (const LaneGroup &group : open_.groups) {
        shared_.cost.kernels().split(histogram, group, shared_.cost.terms(), shared_.cost.least_weight(),
                                     std::min(most, group.k), scratch, best);
    }
}

/// Least loss of one more split with a leaf for every value, whatever the support, or `leaf` if that is less.
template <typename Count> double Searcher<Count>::split_floor(const Count *histogram, double leaf) {
    double least = leaf;
    const auto scalar = [&](int feature) {
        if (!used[feature]) {
            least = std::min(least, shared_.leaf_per_code(histogram, feature, least, levels_[0]->histogram));
        }
    };
    for (const int feature : shared_.alone) {
        scalar(feature);
    }
    if constexpr (std::is_same_v<Count, std::int32_t>) {
        if (shared_.whole_losses) {
            return std::min<double>(least,
                                    kernels().split_floor(histogram, open_.groups.data(), open_.size(), n_classes_));
        }
    }
    if (at_once_) {
        return std::min(
            least, shared_.cost.kernels().floor(histogram, open_.groups.data(), open_.size(), shared_.cost.terms()));
    }
    for (const auto &group : shared_.groups) {
        for (const int feature : group.features) {
            scalar(feature);
        }
    }
    return least;
}

/// Prepares a level for splitting by a feature whose counts and floors it has; false when there is nothing to split.
template <typename Count> bool Searcher<Count>::begin(Level &level, int feature, int depth, int budget) {
    const SearchFeature &f = problem_.features[feature];
    bool missing = false;
    if (!shared_.find_present(level.histogram.data(), feature, level.present, missing)) {
        return false;
    }
    const int n = static_cast<int>(level.present.size());
    const int child_budget = std::min(budget - 1, shared_.most_leaves[depth - 1]);
    Partition &partition = level.partition;
    partition.reset(f.family, n - missing, missing, problem_.max_children, budget, child_budget);
    level.most_leaves.assign(partition.n_blocks(), child_budget);
    fill_leaves(partition, f, level.present, missing, level.histogram.data(), shared_.cost, level.positions,
                &level.most_leaves);
    level.all_floors = 0.0;
    for (const int code : level.present) {
        level.all_floors += level.floors[code];
    }
    level.exact.assign(partition.n_blocks(), 1);
    std::vector<Count> &by_class = level.by_class;
    const auto bound = [&](int block, const double *floor) {
        if (!partition.usable(block)) {
            return;
        }
        double *values = partition.values(block);
        double least = values[1];
        bool few_leaves = false;
        if (values[1] != infinity && level.most_leaves[block] > 1) {
            if (!problem_.use_bounds || *floor < values[1] - shared_.cost.tolerance()) {
                level.exact[block] = 0;
                least = *floor;
                few_leaves = problem_.use_bounds && n_classes_ > 2 && shared_.cost.unit();
            }
        }
        std::fill(values + 2, values + child_budget + 1, least);
        if (few_leaves) {
            // So many leaves predict so many classes at most.
            by_class.assign(n_classes_, 0);
            partition.positions(block, level.positions);
            for (const int position : level.positions) {
                for (int c = 0; c < n_classes_; ++c) {
                    by_class[c] += level.histogram[level.present[position] * n_classes_ + c];
                }
            }
            std::sort(by_class.begin(), by_class.end());
            double sum = 0.0;
            for (int m = n_classes_; m > 1; --m) {
                if (m <= child_budget) {
                    values[m] = std::max(values[m], sum);
                }
                sum += static_cast<double>(by_class[n_classes_ - m]);
            }
        }
    };
    sum_blocks(partition, f, level.present, missing, level.floors.data(), 1, level.positions, bound);
    return true;
}

template <typename Count>
void Searcher<Count>::second_feature(const Count *slab, int feature, int budget, const std::vector<double> &upper,
                                     Values &out, bool record, const double *floors) {
    Level &level = *levels_[2];
    const SearchFeature &f = problem_.features[feature];
    const int width = shared_.width;
    const auto [offset, code_stride, class_stride] = shared_.place[feature];
    level.histogram.resize(f.n_codes * n_classes_);
    for (int code = 0; code < f.n_codes; ++code) {
        for (int c = 0; c < n_classes_; ++c) {
            level.histogram[code * n_classes_ + c] =
                slab[static_cast<std::size_t>(code) * width + offset + code * code_stride + c * class_stride];
        }
    }
    const char before = used[feature];
    used[feature] = 1; // within one of its codes a feature tells no more
    open_.find(shared_, used);
    // A loss below which no tree gets, by code: one more split into as many leaves as there are values.
    level.floors.assign(f.n_codes, 0.0);
    if (problem_.use_bounds && floors != nullptr) {
        std::copy_n(floors, f.n_codes, level.floors.begin());
    } else if (problem_.use_bounds) {
        for (int code = 0; code < f.n_codes; ++code) {
            const double leaf = shared_.cost.loss(level.histogram.data() + code * n_classes_);
            level.floors[code] = leaf > 0.0 ? split_floor(slab + static_cast<std::size_t>(code) * width, leaf) : 0.0;
        }
    }
    used[feature] = before || shared_.idle_child(feature);
    open_.find(shared_, used);
    used[feature] = before;
    if (!begin(level, feature, 2, budget)) {
        return;
    }
    // Splits of whole numbers have faster kernels.
    level.floored.assign(level.partition.n_blocks(), !problem_.use_bounds || std::is_same_v<Count, std::int32_t>);
    const auto from_left = [&](int position) { return &level.slab_sums[static_cast<std::size_t>(position) * width]; };
    level.slab_sums.assign((level.present.size() + 1) * width, 0);
    for (std::size_t i = 0; i < level.present.size(); ++i) {
        add_counts(from_left(i), slab + level.present[i] * static_cast<std::size_t>(width), width, from_left(i + 1));
    }
    split(level, feature, budget, upper, out, record, problem_.use_bounds, 1, [&](int child_budget, Values &child) {
        // Neighbours in the order of the codes, or all of these but one, are the difference of two sums from the left.
        const int first = level.positions.front();
        const int last = level.positions.back();
        const std::size_t left_out = last - first + 1 - level.positions.size();
        level.sum.resize(width);
        if (shared_.subtracts && left_out <= 1) {
            subtract_counts(from_left(last + 1), from_left(first), width, level.sum.data());
            if (left_out == 1) {
                int other = first;
                while (level.positions[other - first] == other) {
                    ++other;
                }
                subtract_counts(level.sum.data(), slab + level.present[other] * static_cast<std::size_t>(width), width,
                                level.sum.data());
            }
        } else {
            std::fill(level.sum.begin(), level.sum.end(), Count{0});
            for (const std::uint8_t code : level.codes) {
                add_counts(level.sum.data(), slab + code * static_cast<std::size_t>(width), width, level.sum.data());
            }
        }
        if (!level.floored[level.block]) {
            // What its own counts cannot avoid is no less than what its codes cannot, and is found far faster than its
            // splits: for about half of the blocks it is enough.
            level.floored[level.block] = 1;
            std::fill(child.loss.begin() + 2, child.loss.end(), split_floor(level.sum.data(), child.loss[1]));
            return false;
        }
        last_split(level.sum.data(), child_budget, level.child_upper, child);
        return true;
    });
}

template class Searcher<std::int32_t>;
template class Searcher<double>;

} // namespace omtree
