#include "trees/tree_builder.hpp"

#include <algorithm>

namespace omtree {

template <typename Count>
double TreeBuilder<Count>::build(const Samples<Count> &samples, int depth, int leaves, int feature,
                                 const std::vector<double> &losses, SearchTree &tree) {
    const double tolerance = shared_.cost.tolerance();
    const Values *values = nullptr;
    if (feature >= 0) {
        Values &root = roots_[{depth, feature}];
        // Larger trees are found as time goes by, so an earlier look may not know this one.
        if (static_cast<int>(root.split.size()) <= leaves || root.loss[leaves] > losses[leaves] + tolerance) {
            const int budget = static_cast<int>(losses.size()) - 1;
            std::vector<double> upper(losses);
            for (double &value : upper) {
                value += 2 * tolerance;
            }
            try {
                searcher_.start(samples, budget, root);
                searcher_.try_feature(samples, {}, depth, budget, feature, upper, root, true);
            } catch (const Stopped &) {
                root = {};
            }
        }
        const bool found = static_cast<int>(root.split.size()) > leaves && root.split[leaves].feature >= 0 &&
                           root.loss[leaves] <= losses[leaves] + tolerance;
        values = found ? &root : nullptr;
    }
    double total = 0.0;
    tree.clear();
    node(samples, {}, values != nullptr ? depth : 0, leaves, losses[leaves], feature, values, tree, total);
    return total;
}

/// The feature that the cache remembers for the root of this subproblem, or -1.
template <typename Count> int TreeBuilder<Count>::hint(const ConditionSet &path, int depth, int leaves, double loss) {
    const double tolerance = shared_.cost.tolerance();
    Known known;
    if (!shared_.problem.use_cache || depth < 2 || !shared_.cache.find(path, depth, known) ||
        static_cast<int>(known.values.size()) <= leaves || !known.exact[leaves]) {
        return -1;
    }
    // Where a smaller tree might be as good, the one to prefer is not known.
    for (int m = 1; m < leaves; ++m) {
        if (!known.exact[m] && known.values[m] <= loss + 4 * tolerance) {
            return -1;
        }
    }
    return known.feature[leaves];
}

/// The split of the simplest tree with this loss.
template <typename Count>
void TreeBuilder<Count>::find(const Samples<Count> &samples, const NodePath &path, int depth, int leaves, double loss,
                              int feature, Values &values, int &height) {
    const SearchProblem &problem = shared_.problem;
    const double tolerance = shared_.cost.tolerance();
    const std::vector<double> upper(leaves + 1, loss + 2 * tolerance);
    const auto reached = [&] { return values.loss[leaves] <= loss + tolerance && !values.split.empty(); };
    const int n_features = static_cast<int>(problem.features.size());
    // In deeper problems a remembered feature was strictly better than every shallower tree.
    height = feature >= 0 && depth > 2 && problem.use_bounds ? depth : 1;
    for (; height <= depth; ++height) {
        searcher_.start(samples, leaves, values);
        if (feature >= 0 && height == depth) {
            searcher_.try_feature(samples, path, height, leaves, feature, upper, values, true);
            if (reached()) {
                return;
            }
        }
        for (int f = 0; f < n_features; ++f) {
            if (!searcher_.used[f]) {
                searcher_.try_feature(samples, path, height, leaves, f, upper, values, true);
            }
        }
        if (reached()) {
            return;
        }
    }
}

/// Appends the best tree on the samples, whose loss is known, and adds up the losses of its leaves.
template <typename Count>
int TreeBuilder<Count>::node(const Samples<Count> &samples, const NodePath &path, int depth, int leaves, double loss,
                             int feature, const Values *values, SearchTree &tree, double &total) {
    const int position = static_cast<int>(tree.size());
    const std::vector<Count> counts = searcher_.counter().totals(samples);
    tree.emplace_back();
    tree[position].label = shared_.cost.label(counts.data());
    const double leaf = shared_.cost.leaf(counts.data());
    Values own;
    bool found = depth > 0 && leaves > 1 && leaf > loss + shared_.cost.tolerance();
    if (found && values == nullptr) {
        try {
            find(samples, path, depth, leaves, loss, feature, own, depth);
        } catch (const Stopped &) {
            own = {};
        }
        values = &own;
        found = static_cast<int>(own.split.size()) > leaves && own.split[leaves].feature >= 0;
    }
    if (!found) {
        total += leaf;
        return position;
    }
    const Split split = values->split[leaves];
    tree[position].feature = split.feature;
    tree[position].complement = split.complement;
    for (const Branch &branch : split.children) {
        Samples<Count> below;
        searcher_.counter().restrict(samples, split.feature, branch.codes, branch.leaves > 1, below);
        auto sorted = branch.codes;
        std::sort(sorted.begin(), sorted.end());
        const NodePath longer(path, split.feature, sorted);
        const double weight = shared_.cost.weight(searcher_.counter().totals(below).data());
        const int own = shared_.cost.most_leaves(weight, branch.leaves);
        const int next = hint(longer.set(), depth - 1, own, branch.loss);
        const int child = node(below, longer, depth - 1, own, branch.loss, next, nullptr, tree, total);
        tree[position].branches.emplace_back(sorted, child);
    }
    return position;
}

template class TreeBuilder<std::int32_t>;
template class TreeBuilder<double>;

} // namespace omtree
