#include "neighbourhood/improve.hpp"

#include <numeric>

namespace omtree::neighbourhood {

namespace {

/// Trees of so few levels are soon improved from the leaves up, and end better so.
constexpr int kFewLevels = 4;

/// Put a subtree in the place of another one.
void replace(TreeNode &node, Branch fresh) {
    const TreeNode old = std::move(node);
    node = std::move(*fresh);
}

void inner_nodes(TreeNode &node, int depth, std::vector<std::vector<TreeNode *>> &found) {
    if (node.is_leaf()) {
        return;
    }
    if (static_cast<int>(found.size()) <= depth) {
        found.resize(depth + 1);
    }
    found[depth].push_back(&node);
    inner_nodes(*node.low, depth + 1, found);
    inner_nodes(*node.high, depth + 1, found);
}

void leaves_of(TreeNode &node, std::vector<TreeNode *> &found) {
    if (node.is_leaf()) {
        found.push_back(&node);
    } else {
        leaves_of(*node.low, found);
        leaves_of(*node.high, found);
    }
}

void add_up_all(TreeNode &node) {
    if (!node.is_leaf()) {
        add_up_all(*node.low);
        add_up_all(*node.high);
    }
    node.add_up();
}

/// So many tests: half of them the best ones of different views, half the best of all.
std::vector<Test> half_of_each(const std::vector<Test> &in_order, int size) {
    std::vector<Test> chosen, others;
    for (const Test &test : in_order) {
        const bool seen =
            std::any_of(chosen.begin(), chosen.end(), [&](const Test &other) { return other.view == test.view; });
        (seen || static_cast<int>(chosen.size()) >= size / 2 ? others : chosen).push_back(test);
    }
    others.resize(std::min<std::size_t>(others.size(), size - chosen.size()));
    chosen.insert(chosen.end(), others.begin(), others.end());
    return chosen;
}

} // namespace

Branch Improver::root_leaf() {
    std::vector<std::uint32_t> rows(task_.n_rows);
    std::iota(rows.begin(), rows.end(), 0U);
    return greedy_.leaf(std::move(rows), {});
}

Branch Improver::grown(Criterion criterion, bool in_any_case) {
    Branch root = root_leaf();
    greedy_.grow(*root, task_.max_leaves, criterion, in_any_case);
    return root;
}

Branch Improver::planted(const std::vector<FlatNode> &tree) {
    Branch root = root_leaf();
    if (!tree.empty()) {
        plant(*root, tree, 0);
    }
    return root;
}

void Improver::plant(TreeNode &node, const std::vector<FlatNode> &tree, int place) {
    const FlatNode &given = tree[place];
    if (given.test.view >= 0 && greedy_.split(node, given.test)) {
        plant(*node.low, tree, given.low);
        plant(*node.high, tree, given.high);
        node.add_up();
    }
}

void Improver::improve(TreeNode &root) {
    greedy_.prune(root);
    int spare = task_.max_leaves - root.leaves;
    if (task_.max_depth > kFewLevels) {
        improve_from_top(root, spare);
    }
    while (!pace_.over() && improve_below(root, spare)) {
    }
}

/// From the root down: what is gained at the top would throw away what was gained below it.
void Improver::improve_from_top(TreeNode &node, int &spare) {
    seek_anew(node, spare);
    if (!node.is_leaf() && !pace_.over()) {
        improve_from_top(*node.low, spare);
        improve_from_top(*node.high, spare);
        node.add_up();
    }
}

/// From the leaves up; `spare` is how many more leaves the whole tree may have.
bool Improver::improve_below(TreeNode &node, int &spare) {
    bool gained = false;
    if (!node.is_leaf()) {
        gained |= improve_below(*node.low, spare);
        gained |= improve_below(*node.high, spare);
        node.add_up();
    }
    return seek_anew(node, spare) || gained;
}

/// Whether the best tree in the neighbourhood of a node's is worth more; it takes its place then.
bool Improver::seek_anew(TreeNode &node, int &spare) {
    const int most = node.leaves + spare;
    if (most < 2 || node.tried >= most || pace_.over() ||
        !greedy_.supported(weight_of(task_, node.sums.data()) / 2.0)) {
        return false;
    }
    node.tried = most;
    for (const Below below : {Below::worth, Below::gini}) {
        if (below == Below::gini && task_.max_depth - node.place.levels <= 2) {
            break;
        }
        Branch fresh = rebuilt(node, most, below);
        if (fresh && fresh->worth > node.worth + greedy_.least_gain()) {
            spare = most - fresh->leaves;
            replace(node, std::move(fresh));
            return true;
        }
    }
    return false;
}

/// The best first test for two levels, and a tree grown from there; null if there is no test.
Branch Improver::rebuilt(const TreeNode &node, int most_leaves, Below below) {
    Branch fresh = greedy_.leaf(node.rows, node.place);
    const int left = task_.max_depth - node.place.levels;
    if (left >= 2 || task_.free_nesting) {
        const Test test = window_.best_first(*fresh, most_leaves, &node, random_);
        if (test.view < 0 || !greedy_.split(*fresh, test)) {
            return nullptr;
        }
        fresh->add_up();
    }
    if (below == Below::worth) {
        greedy_.grow(*fresh, std::min(most_leaves, 4), Criterion::worth);
    }
    if (left > 2 || below == Below::gini || task_.free_nesting) {
        greedy_.grow(*fresh, most_leaves, Criterion::gini);
        greedy_.prune(*fresh);
        int spare = most_leaves - fresh->leaves;
        polish(*fresh, spare);
    }
    greedy_.prune(*fresh);
    return fresh;
}

/// Seek the lowest two levels anew, where there are more.
void Improver::polish(TreeNode &node, int &spare) {
    if (node.is_leaf() || pace_.over()) {
        return;
    }
    for (TreeNode *child : {node.low.get(), node.high.get()}) {
        if (task_.max_depth - child->place.levels <= 2 || child->leaves <= 4) {
            seek_anew(*child, spare);
        } else {
            polish(*child, spare);
        }
    }
    node.add_up();
}

std::vector<Branch> Improver::variety(const TreeNode &root, int size) {
    std::vector<Branch> trees;
    const std::vector<Test> tests = half_of_each(window_.in_order(root, task_.max_leaves, &root, random_), size);
    for (std::size_t i = 0; i < tests.size() && !pace_.over(); ++i) {
        Branch fresh = root_leaf();
        if (!greedy_.split(*fresh, tests[i])) {
            continue;
        }
        greedy_.grow(*fresh, task_.max_leaves, Criterion::gini);
        greedy_.prune(*fresh);
        int spare = task_.max_leaves - fresh->leaves;
        // The window of the root would lead to the same tree every time.
        fresh->tried = task_.max_leaves;
        while (!pace_.over() && !fresh->is_leaf() && improve_below(*fresh, spare)) {
        }
        const auto same = std::find_if(trees.begin(), trees.end(),
                                       [&](const Branch &tree) { return tree->test.view == tests[i].view; });
        if (same == trees.end()) {
            trees.push_back(std::move(fresh));
        } else if (fresh->worth > (*same)->worth) {
            *same = std::move(fresh);
        }
    }
    return trees;
}

Criterion Improver::any_criterion() {
    constexpr Criterion kinds[] = {Criterion::gini, Criterion::gini, Criterion::entropy, Criterion::worth};
    return kinds[random_() % 4];
}

bool Improver::kick(TreeNode &root) {
    std::vector<std::vector<TreeNode *>> inner;
    inner_nodes(root, 0, inner);
    if (inner.empty()) {
        return false;
    }
    const bool tight = root.leaves == task_.max_leaves && root.leaves > 2 &&
                       (task_.max_depth > 30 || task_.max_leaves < 1 << task_.max_depth);
    if (tight && random_() % 2 == 0) {
        return exchange(root);
    }
    const std::vector<TreeNode *> &level = inner[random_() % inner.size()];
    TreeNode &node = *level[random_() % level.size()];
    const double before = root.worth;
    if (!regrow(node, task_.max_leaves - root.leaves)) {
        return false;
    }
    add_up_all(root);
    return root.worth > before + greedy_.least_gain();
}

/// A tree from a random first test, unless it is worth less; whether it was taken.
bool Improver::regrow(TreeNode &node, int spare) {
    std::vector<int> views = greedy_.open_views(node.place);
    std::shuffle(views.begin(), views.end(), random_);
    views.resize(std::min<std::size_t>(views.size(), 1 + random_() % 4));
    Branch fresh = greedy_.leaf(node.rows, node.place);
    const Gain first = greedy_.best_test(*fresh, any_criterion(), views);
    if (first.test.view < 0 || !greedy_.split(*fresh, first.test)) {
        return false;
    }
    const int most = node.leaves + spare;
    greedy_.grow(*fresh, most, random_() % 2 == 0 ? Criterion::gini : Criterion::entropy);
    greedy_.prune(*fresh);
    // The first test is the one to try: that of the window would lead back.
    fresh->tried = most;
    int left = most - fresh->leaves;
    while (!pace_.over() && !fresh->is_leaf() && improve_below(*fresh, left)) {
    }
    if (fresh->worth < node.worth) {
        return false;
    }
    fresh->tried = node.tried;
    replace(node, std::move(fresh));
    return true;
}

/// Give up a subtree for more leaves elsewhere.
bool Improver::exchange(TreeNode &root) {
    std::vector<std::vector<TreeNode *>> inner;
    inner_nodes(root, 0, inner);
    TreeNode *chosen = nullptr;
    double least = 0.0;
    for (int i = 0; i < 3; ++i) {
        const std::vector<TreeNode *> &level = inner[random_() % inner.size()];
        TreeNode *node = level[random_() % level.size()];
        const double loss = (node->worth - node->own) / (node->leaves - 1);
        if (chosen == nullptr || loss < least) {
            chosen = node;
            least = loss;
        }
    }
    const double before = root.worth;
    const Test test = chosen->test;
    Branch low = std::move(chosen->low), high = std::move(chosen->high);
    chosen->collapse();
    std::vector<TreeNode *> leaves;
    leaves_of(root, leaves);
    greedy_.grow(root, task_.max_leaves, any_criterion());
    int spare = 0;
    for (TreeNode *leaf : leaves) {
        greedy_.prune(*leaf);
    }
    add_up_all(root);
    spare = task_.max_leaves - root.leaves;
    for (TreeNode *leaf : leaves) {
        if (!leaf->is_leaf()) {
            improve_below(*leaf, spare);
        }
    }
    add_up_all(root);
    if (root.worth >= before) {
        return root.worth > before + greedy_.least_gain();
    }
    for (TreeNode *leaf : leaves) {
        leaf->collapse();
    }
    chosen->test = test;
    chosen->low = std::move(low);
    chosen->high = std::move(high);
    add_up_all(root);
    return false;
}

} // namespace omtree::neighbourhood
