#include "trees/binary.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <numeric>

#include "core/threads.hpp"
#include "trees/binary_worker.hpp"

namespace omtree {

bool BinarySearch::suits(const SearchProblem &problem, double total) {
    bool two_codes = true;
    for (const SearchFeature &feature : problem.features) {
        two_codes = two_codes && feature.n_codes <= 2;
    }
    std::vector<SplitColumn> columns;
    if (!(problem.binary || two_codes) || problem.counting == Counting::histogram || problem.max_depth < 1 ||
        problem.max_leaves < 2 || total >= no_leaf || problem.features.empty() || !split_columns(problem, columns)) {
        return false;
    }
    const double bytes = 4.0 * problem.n_classes * static_cast<double>(columns.size()) * columns.size();
    return bytes < 256e6;
}

double BinarySearch::leaf_price(const SearchProblem &problem, double total) {
    double largest = 0.0;
    for (const double cost : problem.costs) {
        if (cost != std::floor(cost)) {
            return 0.0;
        }
        largest = std::max(largest, cost);
    }
    // All leaves together cost half at most. Values are sums of these prices and of whole numbers: exact, but for the
    // tolerance to tell them apart the data must not be too large.
    const double price = problem.max_depth < 30 ? std::ldexp(1.0, -problem.max_depth - 1) : 0.0;
    return price > 1e-9 * total * largest ? price : 0.0;
}

BinarySearch::BinarySearch(const SearchProblem &problem, Control &control, double total, bool every_size)
    : problem_(problem), control_(control), every_size_(every_size), cost_(problem, total),
      support_(static_cast<std::int32_t>(std::max(1.0, std::ceil(problem.min_support * (1.0 - 1e-9))))),
      largest_cost_(*std::max_element(problem.costs.begin(), problem.costs.end())),
      price_(every_size ? 0.0 : leaf_price(problem, total)), cache_(problem.cache_bytes) {
    split_columns(problem, columns_);
}

SearchResult BinarySearch::run() {
    SearchResult result;
    const int depth = problem_.max_depth;
    const int sizes = n_sizes(depth);
    BinaryValues best;
    Worker first(*this, control_);
    Context context;
    try {
        root_ = bit_root(problem_, columns_, cost_.unit(), [&] { first.check(); });
        first.count(root_);
    } catch (const Stopped &) {
        return single_leaf();
    }
    const std::vector<double> unlimited(sizes + 1, infinity);
    first.open(root_, depth, sizes, context, best);
    bool complete = true;
    double bound = infinity;
    if (depth > 2) {
        std::mutex mutex;
        context.mutex = &mutex;
        const int n_threads = std::clamp(problem_.n_threads, 1, root_.n_columns());
        std::vector<std::unique_ptr<Worker>> workers;
        for (int i = 1; i < n_threads; ++i) {
            workers.push_back(std::make_unique<Worker>(*this, control_));
        }
        std::vector<int> places(context.order.size());
        std::iota(places.begin(), places.end(), 0);
        complete = share_out(places, n_threads, control_, [&](int thread, int place) {
            Worker &worker = thread == 0 ? first : *workers[thread - 1];
            worker.try_column(root_, {}, depth, sizes, context, place, unlimited, best);
        });
        for (const auto &worker : workers) {
            first.statistics.subproblems += worker->statistics.subproblems;
            first.statistics.cache_hits += worker->statistics.cache_hits;
        }
        if (!complete) {
            // What is not yet tried costs at least what its two sides are known to cost.
            for (int place = 0; place < static_cast<int>(context.order.size()); ++place) {
                bound = std::min(bound, first.least(root_, context, context.order[place], depth));
            }
        }
    }
    result.finished = complete;
    result.bound = loss_of(std::min(bound, best.loss[sizes]));
    result.statistics = first.statistics;
    result.statistics.cache_entries = cache_.size();
    build_all(best, depth, result);
    return result;
}

/// The answer when there was no time even for the joint counts.
SearchResult BinarySearch::single_leaf() {
    std::vector<std::int32_t> total(problem_.n_classes, 0);
    for (std::size_t i = 0; i < problem_.counts.size(); ++i) {
        total[i % problem_.n_classes] += static_cast<std::int32_t>(problem_.counts[i]);
    }
    SearchResult result;
    result.losses.assign(problem_.max_leaves, cost_.leaf(total.data()));
    result.trees.resize(problem_.max_leaves);
    if (result.losses[0] < infinity) {
        SearchNode leaf;
        leaf.label = cost_.label(total.data());
        result.trees.assign(problem_.max_leaves, {leaf});
    }
    return result;
}

void BinarySearch::build_all(BinaryValues &best, int depth, SearchResult &result) {
    // What is built is mostly remembered. Where it has to be found again there may be no time for it, and a node gets
    // the best split known by then.
    Control grace;
    const auto least = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    grace.until = result.finished ? std::max(control_.until, least) : least;
    Worker worker(*this, grace);
    const int sizes = n_sizes(depth);
    result.losses.assign(problem_.max_leaves, infinity);
    result.trees.resize(problem_.max_leaves);
    for (int m = 1; m <= problem_.max_leaves; ++m) {
        const int size = every_size_ ? std::min(m, sizes) : 1;
        if ((!every_size_ && m < problem_.max_leaves) || best.loss[size] == infinity) {
            continue;
        }
        if (m > 1 && every_size_ && best.loss[size] >= result.losses[m - 2] - cost_.tolerance()) {
            result.losses[m - 1] = result.losses[m - 2];
            result.trees[m - 1] = result.trees[m - 2];
            continue;
        }
        result.losses[m - 1] = 0.0;
        build(worker, root_, {}, depth, best.choice[size], size, result.trees[m - 1], result.losses[m - 1]);
    }
    result.finished = result.finished && !grace.stop;
}

int BinarySearch::build(Worker &worker, const BitNode &node, ConditionSet path, int depth, const BinaryChoice &choice,
                        int leaves, SearchTree &tree, double &total) {
    const int position = static_cast<int>(tree.size());
    tree.emplace_back();
    tree[position].label = cost_.label(node.total.data());
    if (choice.column < 0) {
        total += cost_.leaf(node.total.data());
        return position;
    }
    const int number = node.columns[choice.column];
    const SplitColumn &column = columns_[number];
    tree[position].feature = column.feature;
    tree[position].complement = column.complement;
    for (const bool inside : {true, false}) {
        BitNode child;
        worker.side(node, choice.column, inside, child);
        const int own = every_size_ ? (inside ? choice.leaves : leaves - choice.leaves) : 1;
        const int sizes = std::min(own, n_sizes(depth - 1));
        const double value = inside ? choice.inside : choice.outside;
        const std::vector<double> upper(sizes + 1, value + 2 * cost_.tolerance());
        ConditionSet longer = path;
        longer.add(2 * number + inside, {});
        BinaryValues values;
        values.choice.resize(sizes + 1); // a leaf, where there is no time for more
        try {
            worker.count(child);
            worker.solve_again(child, longer, depth - 1, sizes, upper, values);
        } catch (const Stopped &) {
            // The best split known by then is taken.
        }
        const int below = build(worker, child, longer, depth - 1, values.choice[sizes], own, tree, total);
        tree[position].branches.emplace_back(inside ? column.inside : column.outside, below);
    }
    return position;
}

} // namespace omtree
