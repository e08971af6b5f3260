#include "trees/binary_worker.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace omtree {

BinarySearch::Worker::Worker(BinarySearch &search, Control &control) : search_(search), control_(control) {
    for (int depth = 0; depth <= search.problem_.max_depth; ++depth) {
        levels_.push_back(std::make_unique<Level>());
    }
}

BinarySearch::Worker::Tested::Tested(Worker &worker, int feature)
    : tested_(worker.tested_), before_(worker.tested_.size()) {
    if (std::find(tested_.begin(), tested_.end(), feature) == tested_.end()) {
        tested_.push_back(feature);
    }
}

double BinarySearch::Worker::test_price(int feature) const {
    if (!search_.priced() || std::find(tested_.begin(), tested_.end(), feature) != tested_.end()) {
        return 0.0;
    }
    std::vector<int> more(tested_);
    more.push_back(feature);
    return std::min(search_.price_of(more) - search_.price_of(tested_), unaffordable);
}

const double *BinarySearch::Worker::second_prices() {
    std::vector<int> key(tested_);
    std::sort(key.begin(), key.end());
    const auto [found, fresh] = second_prices_.try_emplace(std::move(key));
    std::vector<double> &prices = found->second;
    if (fresh) {
        const int n = static_cast<int>(search_.problem_.features.size());
        for (int first = 0; first < n; ++first) {
            const Tested tested(*this, first);
            for (int second = 0; second < n; ++second) {
                prices.push_back(test_price(second));
            }
        }
    }
    return prices.data();
}

void BinarySearch::Worker::check() {
    if (control_.cancelled.load(std::memory_order_relaxed) || std::chrono::steady_clock::now() >= control_.until) {
        control_.stop.store(true, std::memory_order_relaxed);
    }
    if (control_.stop.load(std::memory_order_relaxed)) {
        throw Stopped{};
    }
}

void BinarySearch::Worker::count_pairs(const BitView &bits, const std::uint64_t *mask, std::int32_t *counts) {
    count_in_steps(bits, mask, counts, [this] { check(); });
}

void BinarySearch::Worker::count(BitNode &node) {
    check(); // clearing the counts of thousands of columns takes time as well
    node.pairs.assign(node.total.size() * node.columns.size() * node.stride, 0);
    count_pairs(node.view(), nullptr, node.pairs.data());
    node.find_singles();
}

static void offer(BinaryValues &out, int size, double value, double tolerance, const BinaryChoice &choice) {
    if (value < out.loss[size] - tolerance) {
        out.loss[size] = value;
        out.choice[size] = choice;
        out.place[size] = -1;
    }
}

static void start(BinaryValues &out, int sizes, double leaf) {
    out.loss.assign(sizes + 1, leaf);
    out.choice.assign(sizes + 1, {});
    out.place.assign(sizes + 1, -1);
}

/// A larger number of leaves is no worse, and of equal trees the smaller is taken.
static void settle(BinaryValues &out, int sizes, double tolerance) {
    for (int m = 2; m <= sizes; ++m) {
        if (out.loss[m] >= out.loss[m - 1] - tolerance) {
            out.loss[m] = out.loss[m - 1];
            out.choice[m] = out.choice[m - 1];
            out.place[m] = out.place[m - 1];
        }
    }
}

void BinarySearch::Worker::two_levels(const PairView &pairs, const std::vector<int> &columns, Level &scratch,
                                      Context *context, int sizes, BinaryValues &out) {
    const auto &cost = search_.cost_;
    const int n = pairs.n_columns;
    const int n_classes = pairs.n_classes;
    const double tolerance = cost.tolerance();
    const double price = search_.price_;
    scratch.real_in.resize(pairs.stride);
    scratch.real_out.resize(pairs.stride);
    if (cost.unit() && !search_.priced()) {
        scratch.second_in.resize(pairs.stride);
        scratch.second_out.resize(pairs.stride);
        kernels().best_second(pairs, search_.support_, scratch.second_in.data(), scratch.second_out.data());
        for (int i = 0; i < n; ++i) {
            scratch.real_in[i] = scratch.second_in[i] >= no_leaf ? infinity : scratch.second_in[i];
            scratch.real_out[i] = scratch.second_out[i] >= no_leaf ? infinity : scratch.second_out[i];
        }
    } else {
        SecondCosts costs{search_.problem_.costs.data(), search_.problem_.n_labels(), nullptr, 0, nullptr, nullptr};
        if (search_.priced()) {
            feature_.resize(n);
            for (int i = 0; i < n; ++i) {
                feature_[i] = search_.columns_[columns[i]].feature;
            }
            room_.resize(2 * pairs.stride);
            costs.feature = feature_.data();
            costs.n_features = static_cast<int>(search_.problem_.features.size());
            costs.prices = second_prices();
            costs.room = room_.data();
        }
        kernels().best_second_costs(pairs, costs, search_.support_, scratch.real_in.data(), scratch.real_out.data());
    }
    const double weight = cost.weight(pairs.total);
    std::int32_t in[256];
    std::int32_t out_counts[256];
    for (int i = 0; i < n; ++i) {
        for (int c = 0; c < n_classes; ++c) {
            in[c] = pairs.single[c * pairs.stride + i];
            out_counts[c] = pairs.total[c] - in[c];
        }
        const double leaf_in = cost.leaf(in) + price;
        const double leaf_out = cost.leaf(out_counts) + price;
        const double more_in = std::min(leaf_in, scratch.real_in[i] + 2 * price);
        const double more_out = std::min(leaf_out, scratch.real_out[i] + 2 * price);
        if (context != nullptr) {
            context->leaf_in[i] = leaf_in;
            context->leaf_out[i] = leaf_out;
            context->second_in[i] = more_in;
            context->second_out[i] = more_out;
        }
        const double paid = search_.priced() ? test_price(feature_[i]) * weight : 0.0;
        if (leaf_in == infinity || leaf_out == infinity || paid >= unaffordable) {
            continue;
        }
        if (!search_.every_size_) {
            offer(out, 1, more_in + more_out + paid, tolerance, {i, 0, more_in, more_out});
            continue;
        }
        if (sizes >= 2) {
            offer(out, 2, leaf_in + leaf_out + paid, tolerance, {i, 1, leaf_in, leaf_out});
        }
        if (sizes >= 3) {
            offer(out, 3, more_in + leaf_out + paid, tolerance, {i, 2, more_in, leaf_out});
            offer(out, 3, leaf_in + more_out + paid, tolerance, {i, 1, leaf_in, more_out});
        }
        if (sizes >= 4) {
            offer(out, 4, more_in + more_out + paid, tolerance, {i, 2, more_in, more_out});
        }
    }
    settle(out, sizes, tolerance);
}

void BinarySearch::Worker::open(const BitNode &node, int depth, int sizes, Context &context, BinaryValues &out) {
    const auto &cost = search_.cost_;
    const int n = node.n_columns();
    const double tolerance = cost.tolerance();
    start(out, sizes, cost.leaf(node.total.data()) + search_.price_);
    if (depth == 0 || (search_.every_size_ && sizes == 1)) {
        return;
    }
    if (depth == 1) {
        for (int i = 0; i < n; ++i) {
            std::int32_t in[256];
            std::int32_t rest[256];
            for (std::size_t c = 0; c < node.total.size(); ++c) {
                in[c] = node.single[c * node.stride + i];
                rest[c] = node.total[c] - in[c];
            }
            const double a = cost.leaf(in) + search_.price_;
            const double b = cost.leaf(rest) + search_.price_;
            const double paid = test_price(feature_of(node, i)) * cost.weight(node.total.data());
            offer(out, search_.every_size_ ? 2 : 1, a + b + paid, tolerance, {i, 1, a, b, 1});
        }
        settle(out, sizes, tolerance);
        return;
    }
    context.leaf_in.resize(n);
    context.leaf_out.resize(n);
    context.second_in.resize(n);
    context.second_out.resize(n);
    two_levels(node.pair_view(), node.columns, *levels_[depth], &context, sizes, out);
    if (depth == 2) {
        return;
    }

    context.floor = 0.0;
    context.floor_in.assign(n, 0.0);
    if (!node.unavoidable.empty()) {
        for (const Segment &segment : node.segments) {
            for (int w = segment.begin; w < segment.end; ++w) {
                const std::uint64_t bits = node.unavoidable[w];
                context.floor += segment.weight * std::popcount(bits);
                for (int i = 0; bits != 0 && i < n; ++i) {
                    context.floor_in[i] += segment.weight * std::popcount(bits & node.row(i)[w]);
                }
            }
        }
    }
    context.order.clear();
    context.paid.assign(n, 0.0);
    context.least_paid = infinity;
    for (int i = 0; i < n; ++i) {
        context.paid[i] = test_price(feature_of(node, i)) * cost.weight(node.total.data());
        if (context.leaf_in[i] != infinity && context.leaf_out[i] != infinity && context.paid[i] < unaffordable) {
            context.order.push_back(i);
            context.least_paid = std::min(context.least_paid, context.paid[i]);
        }
    }
    const auto score = [&](int i) { return context.second_in[i] + context.second_out[i] + context.paid[i]; };
    std::stable_sort(context.order.begin(), context.order.end(), [&](int a, int b) { return score(a) < score(b); });
    context.known.assign(2 * n, {});
    context.solved.clear();
    context.weight.assign(static_cast<std::size_t>(n) * n, 0.0);
    context.all = std::accumulate(node.total.begin(), node.total.end(), 0.0);
    for (std::size_t c = 0; c < node.total.size(); ++c) {
        for (int i = 0; i < n; ++i) {
            const std::int32_t *row = &node.pairs[(c * n + i) * node.stride];
            for (int j = i; j < n; ++j) {
                context.weight[static_cast<std::size_t>(i) * n + j] += row[j];
            }
        }
    }
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < i; ++j) {
            context.weight[static_cast<std::size_t>(i) * n + j] = context.weight[static_cast<std::size_t>(j) * n + i];
        }
    }
}

void BinarySearch::Worker::side(const BitNode &node, int column, bool inside, BitNode &child) const {
    std::vector<std::uint64_t> mask(node.valid);
    for (int w = 0; w < node.n_words; ++w) {
        mask[w] &= inside ? node.row(column)[w] : ~node.row(column)[w];
    }
    std::vector<int> places(node.columns.size());
    std::iota(places.begin(), places.end(), 0);
    compress_node(node, mask.data(), places, child);
    child.total.resize(node.total.size());
    for (std::size_t c = 0; c < node.total.size(); ++c) {
        const std::int32_t in = node.single[c * node.stride + column];
        child.total[c] = inside ? in : node.total[c] - in;
    }
}

/// One side as a node of its own, with the columns that can still be split and counts derived from the parent's.
void BinarySearch::Worker::child_node(const BitNode &node, int column, bool inside,
                                      const std::vector<std::int32_t> &counts, bool counted_inside, BitNode &child,
                                      Level &level) {
    const int n = node.n_columns();
    const int n_classes = static_cast<int>(node.total.size());
    const bool direct = inside == counted_inside;
    const auto joint = [&](int c, int i, int j) {
        const std::size_t at = (static_cast<std::size_t>(c) * n + i) * node.stride + j;
        return direct ? counts[at] : node.pairs[at] - counts[at];
    };
    child.total.assign(n_classes, 0);
    std::int32_t all = 0;
    for (int c = 0; c < n_classes; ++c) {
        const std::int32_t in = node.single[c * node.stride + column];
        child.total[c] = inside ? in : node.total[c] - in;
        all += child.total[c];
    }
    level.places.clear();
    for (int i = 0; i < n; ++i) {
        std::int32_t in = 0;
        for (int c = 0; c < n_classes; ++c) {
            in += joint(c, i, i);
        }
        if (in >= search_.support_ && all - in >= search_.support_) {
            level.places.push_back(i);
        }
    }
    level.mask.resize(node.n_words);
    for (int w = 0; w < node.n_words; ++w) {
        level.mask[w] = node.valid[w] & (inside ? node.row(column)[w] : ~node.row(column)[w]);
    }
    compress_node(node, level.mask.data(), level.places, child);
    const int kept = child.n_columns();
    child.pairs.assign(static_cast<std::size_t>(n_classes) * kept * child.stride, 0);
    for (int c = 0; c < n_classes; ++c) {
        for (int i = 0; i < kept; ++i) {
            std::int32_t *row = &child.pairs[(static_cast<std::size_t>(c) * kept + i) * child.stride];
            for (int j = i; j < kept; ++j) {
                row[j] = joint(c, level.places[i], level.places[j]);
            }
        }
    }
    child.find_singles();
}

void BinarySearch::Worker::try_column(const BitNode &node, const ConditionSet &path, int depth, int sizes,
                                      Context &context, int place, const std::vector<double> &upper,
                                      BinaryValues &out) {
    check();
    Level &level = *levels_[depth];
    const bool every_size = search_.every_size_;
    const bool bounds = search_.problem_.use_bounds;
    const double tolerance = search_.cost_.tolerance();
    const int column = context.order[place];
    // What a tree must stay below to be taken: of equals, and of perfect ones, that of the first place is.
    const auto most = [&](int m) {
        if (place >= out.place[m]) {
            return out.loss[m] - tolerance;
        }
        const bool any = context.any_perfect && search_.price_ > 0.0 && search_.perfect(out.loss[m], context.floor);
        return any ? context.floor + 0.5 : out.loss[m] + tolerance;
    };
    const int below = every_size ? std::min(sizes - 1, search_.n_sizes(depth - 1)) : 1;
    {
        std::unique_lock<std::mutex> lock;
        if (context.mutex != nullptr) {
            lock = std::unique_lock(*context.mutex);
        }
        level.upper.resize(sizes + 1);
        for (int m = 1; m <= sizes; ++m) {
            level.upper[m] = std::min(upper[m], most(m)) - context.paid[column];
        }
        bound_sides(node, context, column, below, level.bound_in, level.bound_out);
    }
    const auto give_up = [&] { return bounds && hopeless(level.bound_in, level.bound_out, sizes, level.upper); };
    if (give_up()) {
        return;
    }
    ConditionSet paths[2] = {path, path};
    paths[0].add(2 * node.columns[column], {});
    paths[1].add(2 * node.columns[column] + 1, {});
    const Tested tested(*this, feature_of(node, column));
    bool done[2];
    for (const int inside : {1, 0}) {
        std::vector<double> &own = inside ? level.bound_in : level.bound_out;
        limit(inside ? level.bound_out : level.bound_in, sizes, level.upper, level.child_upper);
        done[inside] = remembered(paths[inside], depth - 1, level, own, level.child_upper);
        statistics.cache_hits += done[inside];
    }
    if (give_up()) {
        return;
    }
    const double weight_in = context.weight[static_cast<std::size_t>(column) * node.n_columns() + column];
    const int small = 2 * weight_in <= context.all;
    if (!done[0] || !done[1]) {
        level.mask.resize(node.n_words);
        for (int w = 0; w < node.n_words; ++w) {
            level.mask[w] = node.valid[w] & (small ? node.row(column)[w] : ~node.row(column)[w]);
        }
        level.counts.assign(node.pairs.size(), 0);
        const double share = std::min(weight_in, context.all - weight_in) / context.all;
        if (share < 0.3) {
            BitNode &all = level.all_inside;
            level.places.resize(node.columns.size());
            std::iota(level.places.begin(), level.places.end(), 0);
            compress_node(node, level.mask.data(), level.places, all);
            count_pairs(all.view(), nullptr, level.counts.data());
        } else {
            count_pairs(node.view(), level.mask.data(), level.counts.data());
        }
    }
    for (const int inside : {small, 1 - small}) {
        if (done[inside]) {
            continue;
        }
        if (inside != small && give_up()) {
            break;
        }
        std::vector<double> &own = inside ? level.bound_in : level.bound_out;
        limit(inside ? level.bound_out : level.bound_in, sizes, level.upper, level.child_upper);
        ++statistics.subproblems;
        const int n_classes = static_cast<int>(node.total.size());
        if (depth == 3) {
            level.total.resize(n_classes);
            level.single.assign(static_cast<std::size_t>(n_classes) * node.stride, 0);
            for (int c = 0; c < n_classes; ++c) {
                const std::int32_t in = node.single[c * node.stride + column];
                level.total[c] = inside ? in : node.total[c] - in;
                for (int j = 0; j < node.n_columns(); ++j) {
                    const std::int32_t both = node.pair(c, column, j);
                    level.single[c * node.stride + j] = inside ? both : node.single[c * node.stride + j] - both;
                }
            }
            const PairView view =
                inside == small
                    ? PairView{level.counts.data(), nullptr,     level.total.data(), level.single.data(),
                               node.n_columns(),    node.stride, n_classes}
                    : PairView{node.pairs.data(), level.counts.data(), level.total.data(), level.single.data(),
                               node.n_columns(),  node.stride,         n_classes};
            start(level.values, below, inside ? context.leaf_in[column] : context.leaf_out[column]);
            two_levels(view, node.columns, *levels_[2], nullptr, below, level.values);
        } else {
            BitNode &child = inside ? level.inside : level.outside;
            child_node(node, column, inside, level.counts, small, child, level);
            solve(child, paths[inside], depth - 1, below, level.child_upper, level.values);
        }
        std::copy(level.values.loss.begin() + 1, level.values.loss.end(), own.begin() + 1);
        if (search_.problem_.use_cache) {
            level.known.values = level.values.loss;
            level.known.exact.assign(below + 1, true);
            level.known.feature.clear();
            for (int m = 0; m <= below && depth > 3; ++m) {
                const int found = level.values.place[m] < 0 ? -1 : level.values.choice[m].column;
                level.known.exact[m] = m == 0 || level.values.loss[m] < level.child_upper[m];
                level.known.feature.push_back(found < 0 ? -1 : (inside ? level.inside : level.outside).columns[found]);
            }
            search_.cache_.store(paths[inside], depth - 1, level.known);
        }
    }

    std::unique_lock<std::mutex> lock;
    if (context.mutex != nullptr) {
        lock = std::unique_lock(*context.mutex);
    }
    context.known[2 * column + 1] = level.bound_in;
    context.known[2 * column] = level.bound_out;
    context.solved.push_back(column);
    const auto take = [&](int m, int a, double in, double rest) {
        const double value = in + rest + context.paid[column];
        if (value < most(m) && value < upper[m] && in + rest < level.upper[m]) {
            out.loss[m] = value;
            out.choice[m] = {column, a, in, rest, depth};
            out.place[m] = place;
        }
    };
    if (!every_size) {
        take(1, 0, level.bound_in[1], level.bound_out[1]);
        return;
    }
    for (int a = 1; a <= below; ++a) {
        for (int b = 1; b <= below && a + b <= sizes; ++b) {
            take(a + b, a, level.bound_in[a], level.bound_out[b]);
        }
    }
    settle(out, sizes, tolerance);
}

void BinarySearch::Worker::solve_again(const BitNode &node, const ConditionSet &path, int depth, int sizes,
                                       const std::vector<double> &upper, BinaryValues &out) {
    Known known;
    if (depth > 2 && search_.problem_.use_cache && search_.cache_.find(path, depth, known) &&
        static_cast<int>(known.values.size()) > sizes && known.exact[sizes]) {
        Context &context = levels_[depth]->context;
        open(node, depth, sizes, context, out);
        for (int place = 0; place < static_cast<int>(context.order.size()); ++place) {
            if (node.columns[context.order[place]] == known.feature[sizes]) {
                try_column(node, path, depth, sizes, context, place, upper, out);
            }
        }
        if (out.loss[sizes] <= known.values[sizes] + search_.cost_.tolerance()) {
            return;
        }
    }
    solve(node, path, depth, sizes, upper, out);
}

void BinarySearch::Worker::solve(const BitNode &node, const ConditionSet &path, int depth, int sizes,
                                 const std::vector<double> &upper, BinaryValues &out) {
    Context &context = levels_[depth]->context;
    open(node, depth, sizes, context, out);
    if (depth > 2 && (sizes > 1 || !search_.every_size_)) {
        for (int place = 0; place < static_cast<int>(context.order.size()); ++place) {
            // What has not been tried yet has four leaves or more.
            if (search_.problem_.use_bounds &&
                out.loss[sizes] <=
                    context.floor + context.least_paid + 4 * search_.price_ + search_.cost_.tolerance() &&
                (!search_.every_size_ || sizes == 2)) {
                break;
            }
            try_column(node, path, depth, sizes, context, place, upper, out);
        }
    }
    for (int m = 1; m <= sizes; ++m) {
        out.loss[m] = std::min(out.loss[m], upper[m]);
    }
}

} // namespace omtree
