#include "neighbourhood/search.hpp"

#include "neighbourhood/improve.hpp"

namespace omtree::neighbourhood {

namespace {

int flatten(const Task &task, const TreeNode &node, std::vector<FlatNode> &flat) {
    const int place = static_cast<int>(flat.size());
    flat.push_back({node.test, -1, -1, label_of(task, node.sums.data())});
    if (!node.is_leaf()) {
        const int low = flatten(task, *node.low, flat);
        const int high = flatten(task, *node.high, flat);
        flat[place].low = low;
        flat[place].high = high;
    }
    return place;
}

} // namespace

Found search(const Task &task, const std::vector<std::vector<FlatNode>> &starts, const Stopwatch &watch) {
    Pace pace(task.work, watch);
    Improver improver(task, pace);
    std::vector<Branch> trees;
    for (const std::vector<FlatNode> &start : starts) {
        trees.push_back(improver.planted(start));
    }
    trees.push_back(improver.grown(Criterion::gini));
    if (task.worth == Worth::label && !pace.over()) {
        trees.push_back(improver.grown(Criterion::entropy));
    }
    for (Branch &tree : trees) {
        improver.prune(*tree);
    }
    std::stable_sort(trees.begin(), trees.end(), [](const Branch &a, const Branch &b) { return a->worth > b->worth; });
    std::size_t best = 0;
    for (std::size_t i = 0; i < trees.size() && !pace.over(); ++i) {
        improver.improve(*trees[i]);
        best = trees[i]->worth > trees[best]->worth ? i : best;
    }
    Found found;
    TreeNode &root = *trees[best];
    int idle = 0;
    while (idle < task.patience && !root.is_leaf() && !pace.over()) {
        idle = improver.kick(root) ? 0 : idle + 1;
        if (idle == 0) {
            improver.improve(root);
        }
        ++found.kicks;
    }
    found.ended = !pace.over();
    found.worth = root.worth;
    flatten(task, root, found.tree);
    return found;
}

} // namespace omtree::neighbourhood
