#include "trees/any_depth_sums.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>

namespace omtree {

namespace {

constexpr std::size_t kMostColumns = 4000;
constexpr int kCodes = 256;

} // namespace

AnyDepthSums::AnyDepthSums(const SearchProblem &problem, double leaf_price, Control &control)
    : problem_(problem), price_(leaf_price), control_(&control), cost_(problem, problem.total_weight()),
      cache_(problem.cache_bytes) {
    split_columns(problem, columns_);
    inside_.assign(columns_.size() * kCodes, 0);
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        for (const std::uint8_t code : columns_[c].inside) {
            inside_[c * kCodes + code] = 1;
        }
    }
    first_.assign(1, 0);
    for (const SearchFeature &feature : problem.features) {
        first_.push_back(first_.back() + feature.n_codes);
    }
    sums_.resize(problem.n_rows * width());
    row_keys_.resize(problem.n_rows);
    for (std::size_t row = 0; row < problem.n_rows; ++row) {
        double *sums = sums_.data() + row * width();
        std::copy_n(problem.counts.data() + row * problem.n_classes, problem.n_classes, sums);
        sums[problem.n_classes] = cost_.loss(sums);
        row_keys_[row] = {ConditionSet::mix(row + 1), ConditionSet::mix(~row)};
    }
}

bool AnyDepthSums::suits(const SearchProblem &problem) {
    std::vector<SplitColumn> columns;
    return split_columns(problem, columns) && columns.size() <= kMostColumns;
}

void AnyDepthSums::check() {
    if ((++ticks_ & 15) == 0 &&
        (control_->cancelled.load(std::memory_order_relaxed) || std::chrono::steady_clock::now() >= control_->until)) {
        control_->stop.store(true, std::memory_order_relaxed);
    }
    if (control_->stop.load(std::memory_order_relaxed)) {
        throw Stopped{};
    }
}

SearchResult AnyDepthSums::run() {
    SearchResult result;
    result.trees.resize(1);
    result.losses.assign(1, 0.0);
    Control grace;
    Node root;
    root.rows.resize(problem_.n_rows);
    std::iota(root.rows.begin(), root.rows.end(), 0U);
    for (const ConditionSet &key : row_keys_) {
        root.key = {root.key.a + key.a, root.key.b + key.b};
    }
    Known known = open(root).known;
    if (known.upper == infinity) {
        result.losses[0] = result.bound = infinity;
        result.finished = true;
        return result;
    }
    try {
        // Step by step, so that something is known of all first columns before much is known of one.
        while (!known.exact()) {
            const double step = std::max(price_, (known.upper - known.lower) / 2);
            known = solve(root, problem_.use_bounds ? known.lower + step : infinity);
        }
        result.finished = true;
    } catch (const Stopped &) {
        cache_.find(root.key, 0, known);
        grace.until = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
        control_ = &grace;
    }
    build(root, result.finished, result.trees[0], result.losses[0]);
    // What was forgotten for lack of memory may have been found again less well, for lack of time.
    const double rounding = cost_.tolerance() * static_cast<double>(result.trees[0].size());
    result.finished = result.finished && result.losses[0] <= known.upper + rounding;
    result.bound = result.finished ? result.losses[0] : std::min(known.lower, result.losses[0]);
    result.statistics = statistics_;
    result.statistics.cache_entries = cache_.size();
    return result;
}

AnyDepthSums::Side AnyDepthSums::side_of(const double *sums) const {
    Side side;
    side.upper = cost_.leaf(sums) + price_;
    // A split has two leaves and avoids no more than what can be avoided.
    side.lower = std::min(side.upper, sums[problem_.n_classes] + 2 * price_);
    if (!cost_.supported(cost_.weight(sums) / 2) || side.upper - side.lower <= cost_.tolerance()) {
        side.lower = side.upper;
    }
    return side;
}

AnyDepthSums::Opened AnyDepthSums::open(const Node &node) const {
    const std::size_t n_sums = width();
    std::vector<double> by_code(first_.back() * n_sums, 0.0);
    std::vector<double> total(n_sums, 0.0);
    for (const std::uint32_t row : node.rows) {
        const double *sums = sums_.data() + row * n_sums;
        for (std::size_t s = 0; s < n_sums; ++s) {
            total[s] += sums[s];
        }
        for (std::size_t f = 0; f < problem_.features.size(); ++f) {
            double *at = by_code.data() + (first_[f] + problem_.features[f].codes[row]) * n_sums;
            for (std::size_t s = 0; s < n_sums; ++s) {
                at[s] += sums[s];
            }
        }
    }
    Opened opened;
    const Side whole = side_of(total.data());
    opened.known = {whole.upper, whole.lower, -1};
    if (whole.exact()) {
        return opened;
    }
    std::vector<double> part(2 * n_sums);
    for (std::size_t c = 0; c < columns_.size(); ++c) {
        const SplitColumn &column = columns_[c];
        const double *codes = by_code.data() + first_[column.feature] * n_sums;
        std::fill(part.begin(), part.end(), 0.0);
        // Both sides are added up: differences would lose digits.
        for (const int inside : {0, 1}) {
            for (const std::uint8_t code : inside ? column.inside : column.outside) {
                for (std::size_t s = 0; s < n_sums; ++s) {
                    part[inside * n_sums + s] += codes[code * n_sums + s];
                }
            }
        }
        if (!cost_.supported(cost_.weight(part.data())) || !cost_.supported(cost_.weight(part.data() + n_sums))) {
            continue;
        }
        const Choice choice{static_cast<int>(c), {side_of(part.data()), side_of(part.data() + n_sums)}};
        if (choice.most() < opened.known.upper) {
            opened.known.upper = choice.most();
            opened.known.column = choice.column;
        }
        if (!choice.sides[0].exact() || !choice.sides[1].exact()) {
            opened.choices.push_back(choice);
        }
    }
    // What has not been tried yet has three leaves or more.
    const double least = total[problem_.n_classes] + 3 * price_;
    opened.known.lower = std::min(opened.known.upper, least);
    if (problem_.use_bounds) {
        const double most = opened.known.upper - cost_.tolerance();
        std::erase_if(opened.choices, [&](const Choice &choice) { return choice.least() >= most || least >= most; });
    }
    if (opened.choices.empty()) {
        opened.known.lower = opened.known.upper;
    }
    std::stable_sort(opened.choices.begin(), opened.choices.end(),
                     [](const Choice &x, const Choice &y) { return x.most() < y.most(); });
    return opened;
}

AnyDepthSums::Node AnyDepthSums::side(const Node &node, int column, bool inside) const {
    const std::uint8_t *codes = problem_.features[columns_[column].feature].codes;
    const char *in = inside_.data() + static_cast<std::size_t>(column) * kCodes;
    Node child;
    for (const std::uint32_t row : node.rows) {
        if ((in[codes[row]] != 0) == inside) {
            child.rows.push_back(row);
            child.key = {child.key.a + row_keys_[row].a, child.key.b + row_keys_[row].b};
        }
    }
    return child;
}

void AnyDepthSums::try_choice(const Node &node, Choice &choice, double upper, Known &known) {
    const auto most = [&] { return problem_.use_bounds ? std::min(known.upper, upper) - cost_.tolerance() : infinity; };
    if (choice.least() >= most()) {
        return;
    }
    Node children[2] = {side(node, choice.column, false), side(node, choice.column, true)};
    for (const int inside : {0, 1}) {
        Known before;
        Side &side = choice.sides[inside];
        if (!side.exact() && problem_.use_cache && cache_.find(children[inside].key, 0, before)) {
            ++statistics_.cache_hits;
            side.upper = std::min(side.upper, before.upper);
            side.lower = std::min(side.upper, std::max(side.lower, before.lower));
        }
    }
    const int small = children[1].rows.size() <= children[0].rows.size();
    for (const int inside : {small, 1 - small}) {
        Side &side = choice.sides[inside];
        if (side.exact() || choice.least() >= most()) {
            continue;
        }
        const Known found = solve(children[inside], most() - choice.sides[1 - inside].lower);
        side.upper = std::min(side.upper, found.upper);
        side.lower = std::min(side.upper, std::max(side.lower, found.lower));
    }
    if (choice.most() < known.upper - cost_.tolerance()) {
        known.upper = choice.most();
        known.column = choice.column;
    }
}

AnyDepthSums::Known AnyDepthSums::solve(const Node &node, double upper) {
    check();
    ++statistics_.subproblems;
    Opened opened = open(node);
    Known known = opened.known;
    const double least = known.lower;
    Known before;
    if (problem_.use_cache && cache_.find(node.key, 0, before) && before.upper < known.upper) {
        known = before;
    }
    const auto remember = [&] {
        known.lower = known.upper;
        for (const Choice &choice : opened.choices) {
            known.lower = std::min(known.lower, choice.least());
        }
        known.lower = std::min(known.upper, std::max({known.lower, before.lower, least}));
        if (known.upper - known.lower <= cost_.tolerance()) {
            known.lower = known.upper;
        }
        // What was found before with more room stays.
        Known stored;
        if (cache_.find(node.key, 0, stored) && stored.upper < known.upper) {
            stored.lower = std::min(stored.upper, std::max(stored.lower, known.lower));
            cache_.store(node.key, 0, stored);
        } else {
            cache_.store(node.key, 0, known);
        }
    };
    try {
        for (Choice &choice : opened.choices) {
            try_choice(node, choice, upper, known);
        }
    } catch (const Stopped &) {
        remember();
        throw;
    }
    remember();
    return known;
}

/// Appends the best tree known on these rows; where it is not known and the time does not suffice, a small one.
int AnyDepthSums::build(const Node &node, bool finished, SearchTree &tree, double &value) {
    Known known;
    // After a search that ended, what is not exact was forgotten and found again less well.
    if (!cache_.find(node.key, 0, known) || (finished && !known.exact())) {
        known = open(node).known;
        try {
            if (!known.exact()) {
                known = solve(node, infinity);
            }
        } catch (const Stopped &) {
            cache_.find(node.key, 0, known);
        }
    }
    const int position = static_cast<int>(tree.size());
    tree.emplace_back();
    std::vector<double> total(width(), 0.0);
    for (const std::uint32_t row : node.rows) {
        for (std::size_t s = 0; s < width(); ++s) {
            total[s] += sums_[row * width() + s];
        }
    }
    tree[position].label = cost_.label(total.data());
    if (known.column < 0) {
        value += cost_.leaf(total.data()) + price_;
        return position;
    }
    const SplitColumn &column = columns_[known.column];
    tree[position].feature = column.feature;
    tree[position].complement = column.complement;
    for (const bool inside : {true, false}) {
        const int below = build(side(node, known.column, inside), finished, tree, value);
        tree[position].branches.emplace_back(inside ? column.inside : column.outside, below);
    }
    return position;
}

} // namespace omtree
