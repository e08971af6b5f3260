#include "trees/search.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <utility>

#include "core/threads.hpp"
#include "trees/binary.hpp"
#include "trees/codes_in_order.hpp"
#include "trees/distant_tables.hpp"
#include "trees/expanded_samples.hpp"
#include "trees/leaf_prices.hpp"
#include "trees/multiway.hpp"
#include "trees/row_counter.hpp"
#include "trees/row_source.hpp"
#include "trees/tree_builder.hpp"

namespace omtree {
namespace {

template <typename Count> class Run {
  public:
    Run(const SearchProblem &problem, Control &control, Samples<Count> samples)
        : problem_(problem), control_(control), shared_(problem, problem.total_weight()), samples_(std::move(samples)),
          floor_(floor_of(samples_)) {}
    /// Counts from elsewhere; `floor` is what no tree avoids, as far as that is known.
    Run(const SearchProblem &problem, Control &control, JointStore<Count> &store, double floor)
        : problem_(problem), control_(control), store_(&store), shared_(problem, problem.total_weight()),
          samples_(TableCounter<Count>(shared_, store).root()), floor_(floor) {}

    SearchResult operator()() {
        SearchResult result;
        const int budget = shared_.most_leaves[problem_.max_depth];
        Values best;
        add_searcher();
        searchers_[0]->start(samples_, budget, best);
        result.finished = true;
        try {
            searchers_[0]->close(samples_);
        } catch (const Stopped &) {
            // Even this may have to be counted elsewhere.
            result.finished = false;
        }
        // Shallow trees first: they are nearly free, they bound the deep ones, and of equal trees they are simpler.
        depth_of_.assign(budget + 1, 0);
        score_.assign(problem_.features.size(), 0.0);
        control_.standing.bound = floor_;
        const double enough = problem_.use_bounds ? floor_ + shared_.cost.tolerance() : -infinity;
        for (int depth = 1; depth <= problem_.max_depth && budget > 1 && result.finished; ++depth) {
            // A tree of this depth has more leaves than that.
            if (best.loss[std::min(depth + 1, budget)] <= enough) {
                break;
            }
            if (depth > 2 && any_size_tells(depth, best, budget, result.finished)) {
                continue;
            }
            Values found = best;
            std::fill(found.feature.begin(), found.feature.end(), -1);
            result.finished = solve_depth(depth, budget, found);
            // Also of a depth that is not done: what was found is a tree.
            for (int m = 1; m <= budget; ++m) {
                if (found.feature[m] >= 0) {
                    best.loss[m] = found.loss[m];
                    best.feature[m] = found.feature[m];
                    depth_of_[m] = depth;
                }
            }
            if (depth < problem_.max_depth && result.finished) {
                keep(best, budget);
            }
        }
        if (known_.leaves > 0 && known_.loss <= best.loss[budget] && best.loss[known_.leaves - 1] > known_.loss) {
            return known(result.finished);
        }
        if (!problem_.every_size) {
            forget_smaller(best, budget);
        }
        const bool proven = result.finished;
        result.statistics = statistics();
        build_all(best, budget, result);
        result.bound = proven ? best.loss[budget] : std::min(bound_, best.loss[budget]);
        return result;
    }

  private:
    static constexpr bool whole = std::is_same_v<Count, std::int32_t>;
    using Sized = AnySizeSearch<Count, std::conditional_t<whole, std::int64_t, double>>;

    std::unique_ptr<Counter<Count>> new_counter() {
        if (store_ != nullptr) {
            return std::make_unique<TableCounter<Count>>(shared_, *store_);
        }
        return std::make_unique<RowCounter<Count>>(shared_);
    }

    void add_searcher() { searchers_.push_back(std::make_unique<Searcher<Count>>(shared_, control_, new_counter())); }

    /// Whether what trees of any size cost tells what the best tree of this depth within the limit on leaves is, or
    /// there was no time to find out. Otherwise what was found bounds the search within the limit.
    bool any_size_tells(int depth, Values &best, int budget, bool &finished) {
        if (!Sized::suits(problem_)) {
            return false;
        }
        if constexpr (whole) {
            // Values of all trees must fit the kernels.
            const double most_leaves = std::min<double>(problem_.max_leaves, shared_.total);
            const bool fits = shared_.cost.unit() && shared_.total * (most_leaves + 2.0) < no_leaf;
            // Where even trees of depth two need all leaves, deeper ones will have far more than are allowed.
            const bool binds = sized_ == nullptr && best.loss[budget] < best.loss[budget - 1];
            return fits && !binds && fewest_errors_tell(depth, best, budget, static_cast<int>(most_leaves), finished);
        } else {
            // Of real numbers little is known beforehand, so that one number for each subproblem is far less to find.
            return problem_.sums_together() && depth == problem_.max_depth && depth > 3 &&
                   prices_tell(depth, best, budget, finished);
        }
    }

    Sized &sized() {
        if (sized_ == nullptr) {
            sized_ = std::make_unique<Sized>(shared_, control_, samples_, floor_, [this] { return new_counter(); });
        }
        return *sized_;
    }

    /// The same where a leaf costs so little that no number of leaves within the limit outweighs an error.
    bool fewest_errors_tell(int depth, Values &best, int budget, int most_leaves, bool &finished) {
        if (sized_ == nullptr) {
            sized().set_prices({most_leaves + 1, 1, 1});
        }
        finished = sized_->solve(depth);
        if (finished && depth == problem_.max_depth) {
            bound_ = std::max(bound_, sized_->bound(most_leaves));
        }
        Control control;
        const auto least = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
        control.until = finished ? std::max(control_.until, least) : least;
        SizedTree tree = sized_->tree(control);
        finished = finished && !control.stop; // or some node stayed a leaf, for lack of time
        const bool within = tree.leaves <= budget;
        if (finished && !within) {
            shared_.any_size = sized_.get();
            return false;
        }
        take(within ? std::move(tree) : cut_back(tree, budget), best, budget);
        return true;
    }

    bool prices_tell(int depth, Values &best, int budget, bool &finished) {
        // A leaf is worth about half as much as one of the upper half of those that shallower trees have.
        const int half = budget / 2;
        const double worth = 0.5 * (best.loss[half] - best.loss[budget]) / (budget - half);
        PricedAnswer answer =
            LeafPrices(sized(), depth, budget, shared_.cost.tolerance(), control_)(best.loss[budget], worth);
        finished = answer.finished;
        bound_ = std::max(bound_, answer.bound);
        take(std::move(answer.tree), best, budget);
        shared_.any_size = sized_.get();
        return answer.proven || !finished;
    }

    /// Keeps a tree within the limit on leaves, where it is the best so far.
    void take(SizedTree tree, Values &best, int budget) {
        if (tree.loss < known_.loss || (tree.loss == known_.loss && tree.leaves < known_.leaves)) {
            known_ = std::move(tree);
        }
        if (known_.loss < incumbent_loss_) {
            incumbent_loss_ = known_.loss;
            incumbent_ = known_.nodes;
        }
        control_.standing.found(known_.loss);
        for (int m = std::max(1, known_.leaves); m <= budget; ++m) {
            best.loss[m] = std::min(best.loss[m], known_.loss);
        }
    }

    /// The answer where a tree that was looked for without a limit on leaves is the best.
    SearchResult known(bool finished) const {
        SearchResult result;
        result.losses.assign(problem_.max_leaves, infinity);
        result.trees.resize(problem_.max_leaves);
        result.losses.back() = known_.loss;
        result.trees.back() = known_.nodes;
        result.finished = finished;
        result.bound = finished ? known_.loss : std::min(bound_, known_.loss);
        result.statistics = statistics();
        return result;
    }

    SearchStatistics statistics() const {
        SearchStatistics sum;
        const auto add = [&](const SearchStatistics &more) {
            sum.subproblems += more.subproblems;
            sum.cache_hits += more.cache_hits;
            sum.cache_entries += more.cache_entries;
        };
        if (sized_ != nullptr) {
            add(sized_->statistics());
        }
        for (const auto &searcher : searchers_) {
            add(searcher->statistics);
        }
        sum.cache_entries += shared_.cache.size();
        return sum;
    }

    bool solve_depth(int depth, int budget, Values &best) {
        const int n_features = static_cast<int>(problem_.features.size());
        const int n_threads = depth < 2 ? 1 : std::clamp(problem_.n_threads, 1, n_features);
        while (static_cast<int>(searchers_.size()) < n_threads) {
            add_searcher();
            searchers_.back()->close(samples_);
        }
        std::mutex mutex;
        // Promising features first: what they cost at the depth before tells.
        return share_out(in_order_of(score_), n_threads, control_, [&](int thread, int feature) {
            Searcher<Count> &searcher = *searchers_[thread];
            if (searcher.used[feature]) {
                return;
            }
            Values mine;
            {
                const std::lock_guard lock(mutex);
                mine = best;
            }
            // Of the smaller sizes only those may be wanted that are as good as the largest.
            std::vector<double> upper(budget + 1, infinity);
            if (!problem_.every_size) {
                std::fill_n(upper.begin(), budget, mine.loss[budget] + shared_.cost.tolerance());
            }
            searcher.try_feature(samples_, {}, depth, budget, feature, upper, mine, false);
            const std::lock_guard lock(mutex);
            merge(mine, best);
            score_[feature] = mine.score[feature];
            control_.standing.found(best.loss[budget]);
        });
    }

    void merge(const Values &mine, Values &best) const {
        const double tolerance = shared_.cost.tolerance();
        for (std::size_t m = 1; m < best.loss.size(); ++m) {
            if (mine.loss[m] < best.loss[m] - tolerance ||
                (mine.loss[m] <= best.loss[m] + tolerance && mine.feature[m] >= 0 &&
                 (best.feature[m] < 0 || mine.feature[m] < best.feature[m]))) {
                best.loss[m] = mine.loss[m];
                best.feature[m] = mine.feature[m];
            }
        }
    }

    /// Leaves the least size that is as good as the largest: what was found for the smaller ones may not be the best.
    void forget_smaller(Values &best, int budget) {
        int least = budget;
        while (least > 1 && best.loss[least - 1] <= best.loss[budget] + shared_.cost.tolerance()) {
            --least;
        }
        std::fill_n(best.loss.begin(), least, infinity);
    }

    /// Trees for all sizes: the largest first, as it is the one most wanted where time is short.
    void build_all(const Values &best, int budget, SearchResult &result) {
        Control &control = result.finished ? control_ : grace_;
        const auto least = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
        control.until = result.finished ? std::max(control_.until, least) : least;
        searchers_[0]->watch(control);
        TreeBuilder<Count> builder(shared_, *searchers_[0]);
        const double tolerance = shared_.cost.tolerance();
        result.losses.assign(problem_.max_leaves, infinity);
        result.trees.resize(problem_.max_leaves);
        if (best.loss[budget] == infinity) {
            return;
        }
        const auto build = [&](int m) {
            SearchTree tree;
            std::vector<double> losses = best.loss;
            std::replace(losses.begin(), losses.end(), infinity, losses[budget]);
            try {
                const double loss = builder.build(samples_, depth_of_[m], m, best.feature[m], losses, tree);
                if (loss < result.losses[m - 1]) {
                    result.losses[m - 1] = loss;
                    result.trees[m - 1] = std::move(tree);
                }
            } catch (const Stopped &) {
                // Even the weight of a leaf may have to be counted elsewhere, for which there is no time left.
                control.stop = true;
            }
        };
        if (!incumbent_.empty()) {
            result.losses[budget - 1] = incumbent_loss_;
            result.trees[budget - 1] = incumbent_;
        }
        if (best.loss[1] < infinity) {
            build(1);
        }
        for (int m = budget; m > 1; --m) {
            // Of equal trees the smaller one is built, and taken over below.
            if (best.loss[m] < best.loss[m - 1] - tolerance) {
                build(m);
            }
        }
        for (int m = 2; m <= problem_.max_leaves; ++m) {
            if (!(result.losses[m - 1] < result.losses[m - 2] - tolerance)) {
                result.losses[m - 1] = result.losses[m - 2];
                result.trees[m - 1] = result.trees[m - 2];
            }
        }
        if (control.stop) {
            result.finished = false;
        }
    }

    /// Keeps the best tree of a depth that is done, in case there is no time to build a deeper one.
    void keep(const Values &best, int budget) {
        if (best.feature[budget] < 0 || control_.until == std::chrono::steady_clock::time_point::max()) {
            return;
        }
        try {
            SearchTree tree;
            TreeBuilder<Count> builder(shared_, *searchers_[0]);
            const double loss =
                builder.build(samples_, depth_of_[budget], budget, best.feature[budget], best.loss, tree);
            if (incumbent_.empty() || loss < incumbent_loss_) {
                incumbent_loss_ = loss;
                incumbent_ = std::move(tree);
            }
        } catch (const Stopped &) {
            // The search will notice as well.
        }
    }

    const SearchProblem &problem_;
    Control &control_;
    JointStore<Count> *store_ = nullptr;
    Shared<Count> shared_;
    Samples<Count> samples_;
    double floor_;
    double bound_ = floor_; ///< no tree within the limits has a lower loss
    std::unique_ptr<Sized> sized_;
    SizedTree known_; ///< the best tree within the limit of those that were looked for without one
    std::vector<std::unique_ptr<Searcher<Count>>> searchers_; ///< one per thread; what they counted serves again
    Control grace_;                                           ///< for building trees once the time is up
    SearchTree incumbent_;
    double incumbent_loss_ = infinity;
    std::vector<double> score_; ///< by feature at the root, from the last depth
    std::vector<int> depth_of_; ///< depth at which the best tree with so many leaves was found
};

template <typename Count>
SearchResult run_tables(const SearchProblem &problem, JointSource &source, std::size_t bytes, Control &control) {
    JointStore<Count> store(problem, source, bytes);
    return Run<Count>(problem, control, store, 0.0)();
}

template <typename Count> SearchResult run_rows(const SearchProblem &problem, Control &control) {
    Samples<Count> samples = expand<Count>(problem, LeafCost<Count>(problem, problem.total_weight()));
    if constexpr (std::is_same_v<Count, std::int32_t>) {
        if (RowSource::pays(problem, samples.size)) {
            const double floor = floor_of(samples);
            RowSource source(problem, std::move(samples), control);
            JointStore<Count> store(problem, source, RowSource::most_bytes);
            return Run<Count>(problem, control, store, floor)();
        }
    }
    return Run<Count>(problem, control, std::move(samples))();
}

} // namespace

SearchResult search_tables(const SearchProblem &problem, JointSource &source, std::size_t bytes, Control &control) {
    // As for rows in memory, so that the same of equal trees is found.
    const CodesInOrder ordered(problem);
    TablesInOrder tables(ordered, source);
    SearchResult result = problem.counts_whole() ? run_tables<std::int32_t>(ordered.problem(), tables, bytes, control)
                                                 : run_tables<double>(ordered.problem(), tables, bytes, control);
    ordered.restore(result.trees);
    return result;
}

SearchResult search_trees(const SearchProblem &problem, Control &control) {
    if (BinarySearch::suits(problem)) {
        return BinarySearch(problem, {}, control).run();
    }
    const CodesInOrder ordered(problem);
    SearchResult result = problem.counts_whole() ? run_rows<std::int32_t>(ordered.problem(), control)
                                                 : run_rows<double>(ordered.problem(), control);
    ordered.restore(result.trees);
    return result;
}

} // namespace omtree
