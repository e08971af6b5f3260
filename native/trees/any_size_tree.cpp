// From values to trees of any size, and back to trees within a limit.
#include <algorithm>
#include <functional>

#include "trees/any_size.hpp"

namespace omtree {

/// Appends the tree on these samples that was found; where the time does not suffice a node stays a leaf.
template <typename Count, typename Value>
int AnySizeSearch<Count, Value>::build(const Samples<Count> &samples, const NodePath &path, int depth,
                                       Found<Value> found, SizedTree &tree) {
    Worker &worker = *workers_[0];
    const Value enough = found.value + caches_.back()->prices.step;
    const std::vector<Count> counts = worker.counter().totals(samples);
    const Value leaf = worker.leaf_value(counts.data());
    const int position = static_cast<int>(tree.nodes.size());
    tree.nodes.emplace_back();
    tree.nodes[position].label = shared_.cost.label(counts.data());
    tree.losses.push_back(shared_.cost.loss(counts.data()));
    FoundSplit<Value> split;
    if (leaf >= enough) {
        try {
            // Of equal trees the shallowest.
            const int n_features = static_cast<int>(problem_.features.size());
            for (int f = 0; f < n_features && split.feature < 0; ++f) {
                if (!worker.used[f]) {
                    worker.try_feature(samples, path, 1, f, enough, &split);
                }
            }
            if (split.feature < 0 && found.feature < 0) {
                found = worker.solve(samples, path, depth, enough);
            }
            if (split.feature < 0 && found.feature >= 0) {
                worker.try_feature(samples, path, found.height, found.feature, enough, &split);
            }
        } catch (const Stopped &) {
            split.feature = -1;
        }
    }
    if (split.feature < 0) {
        ++tree.leaves;
        tree.loss += tree.losses[position];
        return position;
    }
    tree.nodes[position].feature = split.feature;
    tree.nodes[position].complement = split.complement;
    for (const auto &[codes, value] : split.children) {
        Samples<Count> below;
        worker.counter().restrict(samples, split.feature, codes, true, below);
        const NodePath longer(path, split.feature, codes);
        FoundBefore<Value> known;
        Found<Value> child{value, -1, 0};
        const int height = std::max(found.height - 1, 0);
        if (problem_.use_cache && caches_.back()->known.find(longer.set(), height, known) && known.exact &&
            known.found.value == value) {
            child = known.found;
        }
        const int next = build(below, longer, height, child, tree);
        tree.nodes[position].branches.emplace_back(codes, next);
    }
    return position;
}

template <typename Count, typename Value> SizedTree AnySizeSearch<Count, Value>::tree(Control &control) {
    SizedTree tree;
    if (best_.value >= no_tree<Value>) {
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

template class AnySizeSearch<std::int32_t, std::int64_t>;
template class AnySizeSearch<double, double>;

SizedTree cut_back(const SizedTree &tree, int max_leaves) {
    const int n = static_cast<int>(tree.nodes.size());
    const int most = std::min(max_leaves, tree.leaves);
    // Least loss of a node with up to so many leaves; children come after their parents.
    std::vector<std::vector<double>> least(n);
    std::vector<std::vector<std::vector<double>>> steps(n);
    for (int node = n - 1; node >= 0; --node) {
        least[node].assign(most + 1, tree.losses[node]);
        const auto &branches = tree.nodes[node].branches;
        if (branches.empty()) {
            continue;
        }
        std::vector<double> sum(most + 1, infinity);
        sum[0] = 0;
        steps[node].push_back(sum);
        for (const auto &[codes, child] : branches) {
            std::vector<double> more(most + 1, infinity);
            for (int a = 0; a <= most; ++a) {
                for (int b = 1; a + b <= most && sum[a] < infinity; ++b) {
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
        small.losses.push_back(tree.losses[node]);
        const double goal = least[node][leaves];
        if (goal == tree.losses[node]) {
            small.nodes[position].feature = -1;
            ++small.leaves;
            small.loss += goal;
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
