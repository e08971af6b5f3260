// Trees of depth two, from the joint counts of three features.
#include "trees/split.hpp"

namespace omtree {

/// With the joint counts at hand, more is known about what no tree of depth two avoids: a leaf for every combination
/// of the codes of three features.
template <typename Count> void Searcher<Count>::raise_floors(Level &level, int feature) {
    const int n_codes = problem_.features[feature].n_codes;
    const std::size_t width = shared_.width;
    level.pair_floors.assign(static_cast<std::size_t>(n_codes) * n_features_, 0.0);
    level.cell_floors.assign(static_cast<std::size_t>(n_codes) * shared_.n_codes, 0.0);
    std::vector<Count> counts(n_classes_);
    for (int other = 0; other < n_features_; ++other) {
        if (used[other]) {
            continue;
        }
        used[other] = 1; // within one of its codes a feature tells no more
        open_.find(shared_, used);
        const auto [offset, code_stride, class_stride] = shared_.place[other];
        for (const int code : level.present) {
            double *floors = &level.pair_floors[static_cast<std::size_t>(code) * n_features_];
            const std::size_t first = static_cast<std::size_t>(code) * shared_.n_codes + shared_.first_code[other];
            for (int b = 0; b < problem_.features[other].n_codes; ++b) {
                const Count *row = level.cube.data() + (first + b) * width;
                for (int c = 0; c < n_classes_; ++c) {
                    counts[c] = row[offset + b * code_stride + c * class_stride];
                }
                const double leaf = shared_.cost.loss(counts.data());
                level.cell_floors[first + b] = leaf > 0.0 ? split_floor(row, leaf) : 0.0;
                floors[other] += level.cell_floors[first + b];
            }
        }
        used[other] = 0;
    }
    for (const int code : level.present) {
        double least = shared_.cost.loss(level.histogram.data() + code * n_classes_);
        for (int other = 0; other < n_features_; ++other) {
            if (!used[other]) {
                least = std::min(least, level.pair_floors[static_cast<std::size_t>(code) * n_features_ + other]);
            }
        }
        level.all_floors += std::max(0.0, least - level.floors[code]);
        level.floors[code] = std::max(level.floors[code], least);
    }
    Partition &partition = level.partition;
    std::vector<int> positions;
    for (int block = 0; block < partition.n_blocks(); ++block) {
        if (partition.usable(block)) {
            partition.positions(block, positions);
            double floor = 0.0;
            for (const int position : positions) {
                floor += level.floors[level.present[position]];
            }
            double *values = partition.values(block);
            for (int m = 2; m <= partition.child_budget(); ++m) {
                values[m] = std::min(values[1], std::max(values[m], floor));
            }
        }
    }
}

template <typename Count> void Searcher<Count>::second_split(Level &above, int closed, int budget, Values &out) {
    const std::vector<double> &upper = above.child_upper;
    const double tolerance = shared_.cost.tolerance();
    for (int feature = 0; feature < n_features_; ++feature) {
        if (used[feature] || feature == closed) {
            continue;
        }
        check();
        bool of_use = !problem_.use_bounds;
        double floor = 0.0;
        for (const std::uint8_t code : above.codes) {
            floor += of_use ? 0.0 : above.pair_floors[static_cast<std::size_t>(code) * n_features_ + feature];
        }
        // Features come in order, so that a later one has to be better, not equal.
        for (int m = 2; m <= budget && !of_use; ++m) {
            of_use = std::max(floor, above.child_lower[m]) < std::min(upper[m], out.loss[m]) - tolerance;
        }
        if (of_use) {
            const bool known = problem_.use_bounds && above.codes.size() == 1;
            const std::size_t first = static_cast<std::size_t>(above.codes[0]) * shared_.n_codes;
            second_feature(shared_.slab(above.cube, above.codes, feature, above.slab), feature, budget, upper, out,
                           false, known ? &above.cell_floors[first + shared_.first_code[feature]] : nullptr);
        }
    }
    for (int m = 1; m <= budget; ++m) {
        out.loss[m] = std::min(out.loss[m], upper[m]);
    }
}

template class Searcher<std::int32_t>;
template class Searcher<double>;

} // namespace omtree
