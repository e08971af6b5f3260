#include "trees/any_depth.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "trees/binary.hpp"

namespace omtree {

AnyDepthSearch::AnyDepthSearch(const SearchProblem &problem, double leaf_price, Control &control)
    : problem_(problem), price_(leaf_price), control_(&control), cost_(problem, problem.total_weight()),
      support_(static_cast<std::int32_t>(std::max(1.0, std::ceil(problem.min_support * (1.0 - 1e-9))))),
      largest_cost_(*std::max_element(problem.costs.begin(), problem.costs.end())), cache_(problem.cache_bytes) {
    split_columns(problem, columns_);
}

bool AnyDepthSearch::suits(const SearchProblem &problem) {
    return BinarySearch::suits(problem);
}

void AnyDepthSearch::check() {
    if ((++ticks_ & 15) == 0 &&
        (control_->cancelled.load(std::memory_order_relaxed) || std::chrono::steady_clock::now() >= control_->until)) {
        control_->stop.store(true, std::memory_order_relaxed);
    }
    if (control_->stop.load(std::memory_order_relaxed)) {
        throw Stopped{};
    }
}

AnyDepthSearch::Level &AnyDepthSearch::level(int height) {
    while (height >= static_cast<int>(levels_.size())) {
        levels_.push_back(std::make_unique<Level>());
    }
    return *levels_[height];
}

SearchResult AnyDepthSearch::run() {
    SearchResult result;
    result.trees.resize(1);
    result.losses.assign(1, 0.0);
    Control grace;
    Node root;
    Known known;
    try {
        root.bits = bit_root(problem_, columns_, cost_.unit(), [this] { check(); });
        root.samples.resize(64 * root.bits.n_words);
        std::iota(root.samples.begin(), root.samples.end(), 0);
        root.key = key_of(root, root.bits.valid.data());
        if (cost_.leaf(root.bits.total.data()) == infinity) {
            result.losses[0] = result.bound = infinity;
            result.finished = true;
            return result;
        }
        grow(root, 0);
        cache_.find(root.key, 0, known);
        // Step by step, so that something is known of all first columns before much is known of one.
        while (!known.exact()) {
            const double step = std::max(price_, (known.upper - known.lower) / 2);
            known = solve(root, problem_.use_bounds ? known.lower + step : infinity, 0);
        }
        result.finished = true;
    } catch (const Stopped &) {
        cache_.find(root.key, 0, known);
        grace.until = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
        control_ = &grace;
    }
    if (root.bits.total.empty()) {
        // There was no time even to look at the samples.
        root.bits.total.assign(problem_.n_classes, 0);
        for (std::size_t i = 0; i < problem_.counts.size(); ++i) {
            root.bits.total[i % problem_.n_classes] += static_cast<std::int32_t>(problem_.counts[i]);
        }
    }
    build(root, 0, result.trees[0], result.losses[0]);
    // What was forgotten for lack of memory may have been found again less well, for lack of time.
    const double rounding = cost_.tolerance() * static_cast<double>(result.trees[0].size());
    result.finished = result.finished && result.losses[0] <= known.upper + rounding;
    result.bound = result.finished ? result.losses[0] : std::min(known.lower, result.losses[0]);
    result.statistics = statistics_;
    result.statistics.cache_entries = cache_.size();
    return result;
}

void AnyDepthSearch::try_column(const Node &node, Level &level, int column, double upper, int height, Known &known) {
    Side *sides = &level.sides[2 * column];
    const auto most = [&] { return problem_.use_bounds ? std::min(known.upper, upper) - cost_.tolerance() : infinity; };
    if (problem_.use_bounds) {
        compare_sides(node.bits, level, column);
    }
    if (level.least(column) >= most()) {
        return;
    }
    const ConditionSet inner = key_of(node, node.bits.row(column));
    const ConditionSet keys[2] = {node.key.without(inner), inner};
    for (const int inside : {0, 1}) {
        Known before;
        if (!sides[inside].exact() && problem_.use_cache && cache_.find(keys[inside], 0, before)) {
            ++statistics_.cache_hits;
            sides[inside].upper = std::min(sides[inside].upper, before.upper);
            sides[inside].lower = std::min(sides[inside].upper, std::max(sides[inside].lower, before.lower));
        }
    }
    const std::int32_t weight = level.weight[static_cast<std::size_t>(column) * (node.bits.n_columns() + 1)];
    const int small = 2 * weight <= cost_.weight(node.bits.total.data());
    for (const int inside : {small, 1 - small}) {
        Side &side = sides[inside];
        if (side.exact() || level.least(column) >= most()) {
            continue;
        }
        Node &child = inside ? level.inside : level.outside;
        make_side(node, level, column, inside, false, child);
        child.key = keys[inside];
        const Known found = solve(child, most() - sides[1 - inside].lower, height + 1);
        side.upper = std::min(side.upper, found.upper);
        side.lower = std::min(side.upper, std::max(side.lower, found.lower));
    }
    const double value = sides[0].upper + sides[1].upper;
    if (value < known.upper - cost_.tolerance()) {
        known.upper = value;
        known.column = node.bits.columns[column];
    }
}

AnyDepthSearch::Known AnyDepthSearch::solve(Node &node, double upper, int height) {
    check();
    ++statistics_.subproblems;
    Level &level = this->level(height);
    Known known = open(node, level);
    // What has not been tried yet has four leaves or more.
    const double least = known.lower + 4 * price_;
    Known before;
    if (problem_.use_cache && cache_.find(node.key, 0, before) && before.upper < known.upper) {
        known = before;
    }
    const double tolerance = cost_.tolerance();
    const auto remember = [&] {
        known.lower = known.upper;
        for (const int column : level.order) {
            known.lower = std::min(known.lower, level.least(column));
        }
        known.lower = std::max({known.lower, before.lower, std::min(least, known.upper)});
        if (known.upper - known.lower <= tolerance) {
            known.lower = known.upper;
        }
        cache_.store(node.key, 0, known);
    };
    try {
        for (const int column : level.order) {
            if (problem_.use_bounds && least >= known.upper - tolerance) {
                break;
            }
            try_column(node, level, column, upper, height, known);
        }
    } catch (const Stopped &) {
        remember();
        throw;
    }
    remember();
    return known;
}

double AnyDepthSearch::grow(Node &node, int height) {
    check();
    Level &level = this->level(height);
    Known known = open(node, level);
    if (known.column >= 0 && known.lower + 4 * price_ < known.upper && !level.order.empty()) {
        const auto found = std::find(node.bits.columns.begin(), node.bits.columns.end(), known.column);
        const int place = static_cast<int>(found - node.bits.columns.begin());
        const ConditionSet inner = key_of(node, node.bits.row(place));
        double value = 0.0;
        for (const bool inside : {true, false}) {
            Node child;
            make_side(node, level, place, inside, false, child);
            child.key = inside ? inner : node.key.without(inner);
            value += grow(child, height + 1);
        }
        known.upper = std::min(known.upper, value);
    }
    cache_.store(node.key, 0, known);
    return known.upper;
}

/// Appends the best tree known on these samples; where it is not known and the time does not suffice, a leaf.
int AnyDepthSearch::build(Node &node, int height, SearchTree &tree, double &value) {
    Level &level = this->level(height);
    Known known;
    try {
        if (!cache_.find(node.key, 0, known) && !node.bits.columns.empty()) {
            known = control_->until == std::chrono::steady_clock::time_point::max() ||
                            std::chrono::steady_clock::now() < control_->until
                        ? solve(node, infinity, height)
                        : Known{};
        }
    } catch (const Stopped &) {
        cache_.find(node.key, 0, known);
    }
    const int position = static_cast<int>(tree.size());
    tree.emplace_back();
    tree[position].label = cost_.label(node.bits.total.data());
    if (known.column < 0) {
        value += cost_.leaf(node.bits.total.data()) + price_;
        return position;
    }
    const SplitColumn &column = columns_[known.column];
    tree[position].feature = column.feature;
    tree[position].complement = column.complement;
    const auto found = std::find(node.bits.columns.begin(), node.bits.columns.end(), known.column);
    const int place = static_cast<int>(found - node.bits.columns.begin());
    const ConditionSet inner = key_of(node, node.bits.row(place));
    for (const bool inside : {true, false}) {
        Node child;
        make_side(node, level, place, inside, true, child);
        child.key = inside ? inner : node.key.without(inner);
        const int below = build(child, height + 1, tree, value);
        tree[position].branches.emplace_back(inside ? column.inside : column.outside, below);
    }
    return position;
}

} // namespace omtree
