// How a searcher splits one node by one feature.
#pragma once

#include <algorithm>

#include "trees/general_searcher.hpp"

namespace omtree::general {

/// Lazily where there are bounds: evaluates children only where the way to split that looks best has one not yet known,
/// or, where the level is to be thorough, all that a way below the cap has.
/// `evaluate` finds the codes of the child, and what it may cost at most, in the level; its condition is on the path.
template <typename Evaluate>
void Searcher::split(Level &level, int feature, int budget, const std::vector<double> &upper, Values &out, bool record,
                     int child_depth, const Evaluate &evaluate) {
    Partition &partition = level.partition;
    const int child_budget = partition.child_budget();
    const int n = shared_.n_statistics;
    // Below, a child's loss takes long to find, so that it pays to know first what it may be at most.
    const bool deep = child_depth > 1 || shared_.by_rows || level.thorough;
    const auto find_out = [&](int block) {
        check();
        double *values = partition.values(block);
        partition.positions(block, level.positions);
        double rest = level.all_floors;
        level.codes.clear();
        for (const int position : level.positions) {
            rest -= level.histogram[level.present[position] * width_ + n];
            level.codes.push_back(static_cast<std::uint8_t>(level.present[position]));
        }
        level.child_upper.assign(child_budget + 1, infinity);
        for (int m = 1; shared_.bounded && m <= child_budget; ++m) {
            level.child_upper[m] = level.upper[std::min(m + 1, budget)] - rest + shared_.tolerance;
        }
        if (shared_.bounded && deep && partition.beside(block, level.beside)) {
            bool of_use = false;
            for (int m = 1; m <= child_budget; ++m) {
                double most = values[m];
                // Into leaves a feature has no more children than codes, however many leaves are allowed.
                for (int others = 1; m + others <= partition.budget(); ++others) {
                    const double left = level.upper[m + others] - level.beside[others] + shared_.tolerance;
                    of_use = of_use || left > values[m];
                    most = std::max(most, left);
                }
                level.child_upper[m] = std::min(level.child_upper[m], most);
            }
            if (!of_use) {
                return false;
            }
        }
        const Path::Step step(path, feature, mask_of(level, feature, block), level.codes[0]);
        if (level.known[block] == 0) {
            judge_child(level, block);
            if (shared_.bounded || level.known[block] == 2) {
                return true;
            }
        }
        ++statistics.subproblems;
        level.known[block] = 2;
        level.values.start(child_budget, values[1]);
        evaluate();
        for (int m = 1; m <= child_budget; ++m) {
            values[m] = shared_.bounded ? std::max(values[m], level.values.loss[m]) : level.values.loss[m];
        }
        return true;
    };
    for (int block = 0; !shared_.bounded && block < partition.n_blocks(); ++block) {
        if (level.known[block] < 2 && partition.usable(block)) {
            find_out(block);
        }
    }
    do {
        partition.solve();
        level.wanted.clear();
        for (int m = 2; m <= partition.budget(); ++m) {
            if (partition.best(m) < level.upper[m]) {
                partition.choice(m, level.choice);
                for (const auto &[block, leaves] : level.choice) {
                    if (level.known[block] == 0 || (leaves > 1 && level.known[block] == 1)) {
                        level.wanted.push_back(block);
                    }
                }
            }
        }
        std::sort(level.wanted.begin(), level.wanted.end());
        level.wanted.erase(std::unique(level.wanted.begin(), level.wanted.end()), level.wanted.end());
        bool changed = false;
        for (const int block : level.wanted) {
            changed |= find_out(block);
            if (deep) {
                partition.solve();
            }
        }
        if (!changed) {
            break;
        }
    } while (!level.wanted.empty());
    for (int block = 0; level.thorough && partition.best(partition.budget()) < level.upper[partition.budget()] &&
                        block < partition.n_blocks();
         ++block) {
        if (level.known[block] < 2 && partition.usable(block) && find_out(block)) {
            if (level.known[block] == 1) {
                find_out(block);
            }
            partition.solve();
        }
    }
    if (!out.score.empty()) {
        out.score[feature] = partition.best(partition.budget());
    }
    accept(level, feature, budget, upper, out, record);
}

} // namespace omtree::general
