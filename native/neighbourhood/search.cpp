#include "neighbourhood/search.hpp"

#include <iterator>

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
    // A tree is wanted even where there is no time for any, but not one of however many leaves.
    trees.push_back(improver.grown(Criterion::gini, starts.empty()));
    if (task.worth == Worth::label && !pace.over()) {
        trees.push_back(improver.grown(Criterion::entropy, false));
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
    std::swap(trees[0], trees[best]);
    if (task.variety > 0 && !pace.over()) {
        std::vector<Branch> others = improver.variety(*trees[0], task.variety);
        std::stable_sort(others.begin(), others.end(),
                         [](const Branch &a, const Branch &b) { return a->worth > b->worth; });
        if (!others.empty() && others.front()->worth > trees[0]->worth) {
            std::swap(others.front(), trees[0]);
        }
        trees.resize(1);
        std::move(others.begin(), others.end(), std::back_inserter(trees));
    } else {
        trees.resize(1);
    }
    int idle = 0;
    while (idle < task.patience && !trees[0]->is_leaf() && !pace.over()) {
        idle = improver.kick(*trees[0]) ? 0 : idle + 1;
        if (idle == 0) {
            improver.improve(*trees[0]);
        }
    }
    Found found;
    found.ended = !pace.over();
    for (const Branch &tree : trees) {
        found.trees.emplace_back();
        flatten(task, *tree, found.trees.back());
    }
    return found;
}

} // namespace omtree::neighbourhood
