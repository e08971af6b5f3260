// How a searcher splits one node by one feature.
#pragma once

#include <algorithm>

#include "trees/kernels.hpp"
#include "trees/multiway.hpp"

namespace omtree {

/// Lazily: evaluates children only where the way to split that looks best has one not yet known. `evaluate` is given
/// the number of leaves and finds the codes of the child, and what it may cost at most, in the level; it is false where
/// it has raised the lower bounds of the child instead.
template <typename Count>
template <typename Evaluate>
void Searcher<Count>::split(Level &level, int feature, int budget, const std::vector<double> &upper, Values &out,
                            bool record, bool lazily, int child_depth, const Evaluate &evaluate) {
    Partition &partition = level.partition;
    const double tolerance = shared_.cost.tolerance();
    const int child_budget = partition.child_budget();
    level.upper.assign(budget + 1, infinity);
    for (int m = 1; m <= budget; ++m) {
        const double tie = feature < out.feature[m] ? tolerance : -tolerance;
        level.upper[m] = std::min(upper[m], out.loss[m] + tie);
    }
    // Set back even when the search is stopped below.
    struct Use {
        char &flag;
        char before;
        ~Use() { flag = before; }
    } const use{used[feature], used[feature]};
    // Below, a child's loss takes long to find, so that it pays to know first what it may be at most.
    const bool deep = child_depth > 1;
    used[feature] = used[feature] || (!deep && shared_.idle_child(feature));
    const auto find_out = [&](int block) {
        check();
        level.block = block;
        level.exact[block] = 1;
        partition.positions(block, level.positions);
        double rest = level.all_floors;
        level.codes.clear();
        for (const int position : level.positions) {
            rest -= level.floors[level.present[position]];
            level.codes.push_back(static_cast<std::uint8_t>(level.present[position]));
        }
        const int budget_of_block = level.most_leaves[block];
        level.child_upper.assign(child_budget + 1, infinity);
        for (int m = 1; problem_.use_bounds && m <= child_budget; ++m) {
            level.child_upper[m] = level.upper[std::min(m + 1, budget)] - rest + tolerance;
        }
        double *values = partition.values(block);
        if (problem_.use_bounds && deep && partition.beside(block, level.beside)) {
            bool of_use = false;
            for (int m = 1; m <= child_budget; ++m) {
                double most = values[m];
                for (int others = 1; m + others <= budget; ++others) {
                    const double left = level.upper[m + others] - level.beside[others] + tolerance;
                    of_use = of_use || left > values[m];
                    most = std::max(most, left);
                }
                level.child_upper[m] = std::min(level.child_upper[m], most);
            }
            if (!of_use) {
                level.exact[block] = 0;
                return false;
            }
        }
        ++statistics.subproblems;
        level.child_lower.assign(values, values + child_budget + 1);
        level.values.loss.assign(budget_of_block + 1, values[1]);
        level.values.feature.assign(budget_of_block + 1, -1);
        // The last size stands for all larger ones, which the support does not allow.
        level.child_upper[budget_of_block] =
            *std::max_element(level.child_upper.begin() + budget_of_block, level.child_upper.end());
        level.child_upper.resize(budget_of_block + 1);
        const double floors_before = level.all_floors;
        level.exact[block] = evaluate(budget_of_block, level.values);
        bool raised = level.all_floors != floors_before;
        for (int m = 1; m <= child_budget; ++m) {
            const double found = level.values.loss[std::min(m, budget_of_block)];
            raised = raised || found > values[m];
            values[m] = std::max(problem_.use_bounds ? values[m] : 0.0, found);
        }
        return raised;
    };
    if (!lazily) {
        for (int block = 0; block < partition.n_blocks(); ++block) {
            if (!level.exact[block]) {
                find_out(block);
            }
        }
    }
    std::vector<int> &wanted = level.wanted;
    do {
        partition.solve();
        wanted.clear();
        for (int m = 2; m <= budget; ++m) {
            // Where one more leaf gains nothing, the way with fewer is as good.
            if (partition.best(m) < level.upper[m] && (m == 2 || partition.best(m) < partition.best(m - 1))) {
                partition.choice(m, level.choice);
                for (const auto &[block, leaves] : level.choice) {
                    if (leaves > 1 && !level.exact[block]) {
                        level.exact[block] = 1;
                        wanted.push_back(block);
                    }
                }
            }
        }
        for (const int block : wanted) {
            if (find_out(block) && deep) {
                partition.solve();
            }
        }
    } while (!wanted.empty());
    if (!out.score.empty()) {
        out.score[feature] = partition.best(budget);
    }
    accept(partition, level.present, feature, budget, upper, out, record);
}

} // namespace omtree
