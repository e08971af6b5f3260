// From values to trees of any size, and back to trees within a limit.
#include <algorithm>
#include <functional>

#include "trees/any_size.hpp"

namespace omtree {

/// Appends the tree on these samples that was found; where the time does not suffice a node stays a leaf.
int AnySizeSearch::build(const Samples<Count> &samples, const ConditionSet &path, int depth, Found found,
                         SizedTree &tree) {
    AnySizeWorker &worker = *workers_[0];
    const std::vector<Count> counts = worker.counter().totals(samples);
    const Value leaf = worker.leaf_value(counts.data());
    const int position = static_cast<int>(tree.nodes.size());
    tree.nodes.emplace_back();
    tree.nodes[position].label = shared_.cost.label(counts.data());
    tree.errors.push_back(static_cast<std::int64_t>(shared_.cost.loss(counts.data())));
    FoundSplit split;
    if (leaf > found.value) {
        try {
            // Of equal trees the shallowest.
            const int n_features = static_cast<int>(problem_.features.size());
            for (int f = 0; f < n_features && split.feature < 0; ++f) {
                if (!worker.used[f]) {
                    worker.try_feature(samples, path, 1, f, found.value + 1, &split);
                }
            }
            if (split.feature < 0 && found.feature < 0) {
                found = worker.solve(samples, path, depth, found.value + 1);
            }
            if (split.feature < 0 && found.feature >= 0) {
                worker.try_feature(samples, path, found.height, found.feature, found.value + 1, &split);
            }
        } catch (const Stopped &) {
            split.feature = -1;
        }
    }
    if (split.feature < 0) {
        ++tree.leaves;
        tree.loss += static_cast<double>(tree.errors[position]);
        return position;
    }
    tree.nodes[position].feature = split.feature;
    tree.nodes[position].complement = split.complement;
    worker.used[split.feature] = 1;
    for (const auto &[codes, value] : split.children) {
        Samples<Count> below;
        worker.counter().restrict(samples, split.feature, codes, true, below);
        ConditionSet longer = path;
        longer.add(split.feature, codes);
        FoundBefore known;
        Found child{value, -1, 0};
        const int height = std::max(found.height - 1, 0);
        if (problem_.use_cache && cache_.find(longer, height, known) && known.exact && known.found.value == value) {
            child = known.found;
        }
        const int next = build(below, longer, height, child, tree);
        tree.nodes[position].branches.emplace_back(codes, next);
    }
    worker.used[split.feature] = 0;
    return position;
}

SizedTree AnySizeSearch::tree(Control &control) {
    SizedTree tree;
    if (best_.value >= no_tree) {
        return tree;
    }
    tree.loss = 0.0;
    workers_[0]->watch(control);
    try {
        build(samples_, {}, best_.height, best_, tree);
    } catch (const Stopped &) {
        // Even the weight of a leaf may have to be counted elsewhere, for which there is no time left.
        control.stop = true;
        tree = {};
    }
    workers_[0]->watch(control_);
    return tree;
}

SizedTree cut_back(const SizedTree &tree, int max_leaves) {
    const int n = static_cast<int>(tree.nodes.size());
    const int most = std::min(max_leaves, tree.leaves);
    // Fewest errors of a node with up to so many leaves; children come after their parents.
    std::vector<std::vector<std::int64_t>> least(n);
    std::vector<std::vector<std::vector<std::int64_t>>> steps(n);
    for (int node = n - 1; node >= 0; --node) {
        least[node].assign(most + 1, tree.errors[node]);
        const auto &branches = tree.nodes[node].branches;
        if (branches.empty()) {
            continue;
        }
        std::vector<std::int64_t> sum(most + 1, no_tree);
        sum[0] = 0;
        steps[node].push_back(sum);
        for (const auto &[codes, child] : branches) {
            std::vector<std::int64_t> more(most + 1, no_tree);
            for (int a = 0; a <= most; ++a) {
                for (int b = 1; a + b <= most && sum[a] < no_tree; ++b) {
                    more[a + b] = std::min(more[a + b], sum[a] + least[child][b]);
                }
            }
            sum = more;
            steps[node].push_back(sum);
        }
        for (int m = 1; m <= most; ++m) {
            least[node][m] = std::min({least[node][m], sum[m], least[node][m - 1]});
        }
    }
    SizedTree small;
    small.loss = 0.0;
    const std::function<int(int, int)> copy = [&](int node, int leaves) {
        const int position = static_cast<int>(small.nodes.size());
        small.nodes.push_back(tree.nodes[node]);
        small.nodes[position].branches.clear();
        small.errors.push_back(tree.errors[node]);
        const std::int64_t goal = least[node][leaves];
        if (goal == tree.errors[node]) {
            small.nodes[position].feature = -1;
            ++small.leaves;
            small.loss += static_cast<double>(goal);
            return position;
        }
        const auto &branches = tree.nodes[node].branches;
        int left = leaves;
        while (steps[node].back()[left] != goal) {
            --left;
        }
        std::vector<int> shares(branches.size());
        for (std::size_t i = branches.size(); i-- > 0;) {
            int own = 1;
            while (steps[node][i][left - own] + least[branches[i].second][own] != steps[node][i + 1][left]) {
                ++own;
            }
            shares[i] = own;
            left -= own;
        }
        for (std::size_t i = 0; i < branches.size(); ++i) {
            const int child = copy(branches[i].second, shares[i]);
            small.nodes[position].branches.emplace_back(branches[i].first, child);
        }
        return position;
    };
    copy(0, most);
    return small;
}

} // namespace omtree
