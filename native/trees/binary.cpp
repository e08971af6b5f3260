#include "trees/binary.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <memory>
#include <numeric>

#include "core/threads.hpp"
#include "trees/binary_worker.hpp"
#include "trees/every_size.hpp"

namespace omtree {

bool BinarySearch::suits(const SearchProblem &problem) {
    if (problem.loss != Loss::linear || !problem.counts_whole() || problem.total_weight() >= no_leaf) {
        return false;
    }
    bool two_codes = true;
    for (const SearchFeature &feature : problem.features) {
        two_codes = two_codes && feature.n_codes <= 2;
    }
    std::vector<SplitColumn> columns;
    if (!(problem.max_children == 2 || two_codes) || problem.counting == Counting::histogram || problem.max_depth < 1 ||
        problem.max_leaves < 2 || problem.features.empty() || !split_columns(problem, columns)) {
        return false;
    }
    const double bytes = 4.0 * problem.n_classes * static_cast<double>(columns.size()) * columns.size();
    return bytes < 256e6;
}

/// What a leaf may cost so that no number of leaves outweighs a difference in loss; 0 where there is no such price, as
/// losses are not whole numbers.
static double leaf_price(const SearchProblem &problem, double total) {
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

/// Where the limit on leaves binds, the best tree needs all smaller budgets below it.
static bool needs_every_size(const SearchProblem &problem) {
    return problem.every_size || (problem.max_depth < 30 && problem.max_leaves < 1 << problem.max_depth);
}

BinarySearch::BinarySearch(const SearchProblem &problem, TestPrices prices, Control &control)
    : problem_(problem), prices_(std::move(prices)), control_(control), every_size_(needs_every_size(problem)),
      cost_(problem, problem.total_weight()),
      support_(static_cast<std::int32_t>(std::max(1.0, std::ceil(problem.min_support * (1.0 - 1e-9))))),
      largest_cost_(*std::max_element(problem.costs.begin(), problem.costs.end())),
      price_(every_size_ || priced() ? 0.0 : leaf_price(problem, problem.total_weight())), cache_(problem.cache_bytes) {
    split_columns(problem, columns_);
    if (priced()) {
        std::vector<int> all(problem.features.size());
        std::iota(all.begin(), all.end(), 0);
        largest_cost_ += prices_.weight * prices_.price(all);
        limited_ = price_of(all) >= unaffordable;
    }
}

double BinarySearch::foreign_price(int feature, int other) const {
    if (!priced() || feature == other) {
        return 0.0;
    }
    return limited_ ? unaffordable : prices_.weight * prices_.full[feature];
}

double BinarySearch::price_of(std::span<const int> features) const {
    const double price = prices_.price(features);
    return price <= prices_.limit * (1.0 + 1e-12) + 1e-12 ? prices_.weight * price : unaffordable;
}

SearchResult BinarySearch::run() {
    SearchResult result;
    std::vector<std::unique_ptr<Worker>> workers;
    workers.push_back(std::make_unique<Worker>(*this, control_));
    try {
        root_ = bit_root(problem_, columns_, cost_.unit(), [&] { workers[0]->check(); });
        workers[0]->count(root_);
    } catch (const Stopped &) {
        return single_leaf();
    }
    const int n_threads = problem_.max_depth < 3 ? 1 : std::clamp(problem_.n_threads, 1, root_.n_columns());
    while (static_cast<int>(workers.size()) < n_threads) {
        workers.push_back(std::make_unique<Worker>(*this, control_));
    }
    // Shallow trees first: they are nearly free, they bound the deep ones, and what they tell about the columns puts
    // these in a better order.
    BinaryValues best;
    std::vector<double> score;
    double bound = infinity;
    bool complete = true;
    for (int depth = std::min(3, problem_.max_depth); depth <= problem_.max_depth && complete; ++depth) {
        Context context;
        BinaryValues found;
        workers[0]->open(root_, depth, n_sizes(depth), context, found);
        for (int m = 1; !best.loss.empty() && m < static_cast<int>(found.loss.size()); ++m) {
            const int known = std::min(m, static_cast<int>(best.loss.size()) - 1);
            if (best.loss[known] < found.loss[m]) {
                found.loss[m] = best.loss[known];
                found.choice[m] = best.choice[known];
            }
        }
        best = found;
        if (depth > 2) {
            complete = try_columns(depth, workers, context, score, best);
        }
        bound = complete ? best.loss.back() : context.floor;
        if (!complete && depth == problem_.max_depth) {
            // What is not yet tried costs at least what its two sides are known to cost.
            bound = infinity;
            for (const int column : context.order) {
                bound = std::min(bound, workers[0]->least(root_, context, column, depth));
            }
        }
        if (perfect(best.loss.back(), context.floor)) {
            break;
        }
    }
    result.finished = complete;
    result.bound = loss_of(std::min(bound, best.loss.back()));
    for (const auto &worker : workers) {
        result.statistics.subproblems += worker->statistics.subproblems;
        result.statistics.cache_hits += worker->statistics.cache_hits;
    }
    result.statistics.cache_entries = cache_.size();
    build_all(best, result);
    return result;
}

/// Tries all columns at the root of trees of this depth; false when the time did not suffice. `score` is what is known
/// about them from the depth before.
bool BinarySearch::try_columns(int depth, const std::vector<std::unique_ptr<Worker>> &workers, Context &context,
                               std::vector<double> &score, BinaryValues &best) {
    const int sizes = n_sizes(depth);
    std::mutex mutex;
    context.mutex = &mutex;
    // Shallow ones are worth the time to find the one with the fewest leaves.
    context.any_perfect = depth > 4;
    if (!score.empty()) {
        std::stable_sort(context.order.begin(), context.order.end(), [&](int a, int b) { return score[a] < score[b]; });
    }
    std::vector<int> places(context.order.size());
    std::iota(places.begin(), places.end(), 0);
    const std::vector<double> unlimited(sizes + 1, infinity);
    const bool complete = share_out(places, static_cast<int>(workers.size()), control_, [&](int thread, int place) {
        {
            // It ends the search; of several the one of the first column is taken, whoever found his first.
            const std::lock_guard lock(mutex);
            if (context.any_perfect && best.place.back() < place && perfect(best.loss.back(), context.floor)) {
                return;
            }
        }
        workers[thread]->try_column(root_, {}, depth, sizes, context, place, unlimited, best);
        const std::lock_guard lock(mutex);
        control_.standing.found(best.loss.back());
    });
    score.assign(root_.n_columns(), infinity);
    for (const int column : context.solved) {
        score[column] = context.known[2 * column].back() + context.known[2 * column + 1].back() + context.paid[column];
    }
    return complete;
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

void BinarySearch::build_all(const BinaryValues &best, SearchResult &result) {
    // What is built is mostly remembered. Where it has to be found again there may be no time for it, and a node gets
    // the best split known by then.
    Control grace;
    const auto least = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    grace.until = result.finished ? std::max(control_.until, least) : least;
    Worker worker(*this, grace);
    result.losses.assign(problem_.max_leaves, infinity);
    result.trees.resize(problem_.max_leaves);
    const auto build_one = [&](int size, SearchTree &tree) {
        double loss = 0.0;
        build(worker, root_, {}, best.choice[size], size, tree, loss);
        return loss;
    };
    if (every_size_) {
        build_every_size(best.loss, cost_.tolerance(), grace.stop, build_one, result);
    } else if (best.loss[1] < infinity) {
        result.losses.back() = build_one(1, result.trees.back());
    }
    result.finished = result.finished && !grace.stop;
}

int BinarySearch::build(Worker &worker, const BitNode &node, ConditionSet path, const BinaryChoice &choice, int leaves,
                        SearchTree &tree, double &total) {
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
    total += worker.test_price(column.feature) * cost_.weight(node.total.data());
    const Worker::Tested tested(worker, column.feature);
    for (const bool inside : {true, false}) {
        BitNode child;
        worker.side(node, choice.column, inside, child);
        const int own = every_size_ ? (inside ? choice.leaves : leaves - choice.leaves) : 1;
        const int depth = choice.depth - 1;
        const int sizes = std::min(own, n_sizes(depth));
        const double value = inside ? choice.inside : choice.outside;
        const std::vector<double> upper(sizes + 1, value + 2 * cost_.tolerance());
        ConditionSet longer = path;
        longer.add(2 * number + inside, {});
        BinaryValues values;
        values.choice.resize(sizes + 1); // a leaf, where there is no time for more
        if (depth > 0 && (own > 1 || !every_size_)) {
            try {
                worker.count(child);
                worker.solve_again(child, longer, depth, sizes, upper, values);
            } catch (const Stopped &) {
                // The best split known by then is taken.
            }
        }
        const int below = build(worker, child, longer, values.choice[sizes], own, tree, total);
        tree[position].branches.emplace_back(inside ? column.inside : column.outside, below);
    }
    return position;
}

} // namespace omtree
