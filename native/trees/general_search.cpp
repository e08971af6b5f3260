#include "trees/general_search.hpp"

#include <algorithm>
#include <mutex>

#include "core/threads.hpp"
#include "trees/general_searcher.hpp"

namespace omtree {
namespace general {
namespace {

/// Turns losses that the search found into trees, by finding the splits behind them again.
class Builder {
  public:
    Builder(Shared &shared, Searcher &searcher) : shared_(shared), searcher_(searcher) {}

    /// The loss of the tree, infinite where the time did not suffice to find one that is allowed.
    double build(int depth, int leaves, double loss, const Split *split, SearchTree &tree) {
        tree.clear();
        total_ = 0.0;
        node(shared_.rows, depth, leaves, loss, split, tree);
        return total_;
    }

  private:
    int node(const RowList &rows, int depth, int leaves, double loss, const Split *split, SearchTree &tree) {
        const int position = static_cast<int>(tree.size());
        const Verdict verdict = searcher_.judge_leaf(rows);
        tree.emplace_back();
        tree[position].label = verdict.loss < infinity ? verdict.label : bare_label(rows);
        Values values;
        if (split == nullptr && depth > 0 && leaves > 1 && !(verdict.loss <= loss + shared_.tolerance)) {
            try {
                find(rows, depth, leaves, loss, verdict.loss, values);
                split = values.split.empty() ? nullptr : &values.split[leaves];
            } catch (const Stopped &) {
                split = nullptr;
            }
        }
        if (split == nullptr || split->feature < 0) {
            total_ += verdict.loss;
            return position;
        }
        tree[position].feature = split->feature;
        tree[position].complement = split->complement;
        for (const Branch &branch : split->children) {
            RowList below;
            searcher_.restrict(rows, split->feature, branch.mask, below);
            const Path::Step step(searcher_.path, split->feature, branch.mask, branch.codes[0]);
            const int child = node(below, depth - 1, branch.leaves, branch.loss, nullptr, tree);
            tree[position].branches.emplace_back(branch.codes, child);
        }
        return position;
    }

    void find(const RowList &rows, int depth, int leaves, double loss, double leaf, Values &values) {
        const double enough = loss + shared_.tolerance;
        const std::vector<double> upper(leaves + 1, loss + 4 * shared_.tolerance);
        const auto reached = [&] { return !values.split.empty() && values.loss[leaves] <= enough; };
        values.start(leaves, leaf);
        const int hint = remembered(depth, leaves);
        if (hint >= 0) {
            searcher_.try_feature(rows, depth, leaves, hint, upper, values, true);
        }
        for (int f = 0; f < shared_.n_features && !reached(); ++f) {
            searcher_.try_feature(rows, depth, leaves, f, upper, values, true);
        }
    }

    int remembered(int depth, int leaves) const {
        Known known;
        const bool found = shared_.problem.use_cache && shared_.cache.find(searcher_.path.key(), depth, known) &&
                           static_cast<int>(known.values.size()) > leaves && known.exact[leaves];
        return found ? known.feature[leaves] : -1;
    }

    int bare_label(const RowList &rows) const {
        std::vector<double> sums(shared_.n_statistics, 0.0);
        for (const std::uint32_t i : rows) {
            for (int s = 0; s < shared_.n_statistics; ++s) {
                sums[s] += shared_.judge.row(i)[s];
            }
        }
        return shared_.judge.bare(sums.data(), rows).label;
    }

    Shared &shared_;
    Searcher &searcher_;
    double total_ = 0.0;
};

class Run {
  public:
    Run(const GeneralProblem &problem, Control &control) : problem_(problem), control_(control), shared_(problem) {}

    SearchResult operator()() {
        SearchResult result;
        const int budget = shared_.most_leaves[problem_.max_depth];
        searchers_.push_back(std::make_unique<Searcher>(shared_, control_));
        best_.start(budget, searchers_[0]->judge_leaf(shared_.rows).loss);
        best_.split.resize(budget + 1);
        best_.score.assign(shared_.n_features, 0.0);
        depth_of_.assign(budget + 1, 0);
        result.losses.assign(problem_.max_leaves, infinity);
        result.trees.resize(problem_.max_leaves);
        // Shallow trees first: they are nearly free, they bound the deep ones, and they are there if time runs out.
        result.finished = true;
        for (int depth = 1; depth <= problem_.max_depth && budget > 1 && result.finished; ++depth) {
            result.finished = solve_depth(depth, budget);
            const bool limited = control_.until != std::chrono::steady_clock::time_point::max();
            if (limited && result.finished && depth < problem_.max_depth) {
                build(budget, result);
            }
        }
        const bool proven = result.finished;
        build_all(budget, result);
        double floor = 0.0;
        for (const std::uint32_t i : shared_.rows) {
            floor += shared_.judge.floor()[i];
        }
        result.bound = proven ? best_.loss[budget] : std::min(floor, best_.loss[budget]);
        for (const auto &searcher : searchers_) {
            result.statistics.subproblems += searcher->statistics.subproblems;
            result.statistics.cache_hits += searcher->statistics.cache_hits;
        }
        result.statistics.cache_entries = shared_.cache.size();
        return result;
    }

  private:
    bool solve_depth(int depth, int budget) {
        const std::vector<double> unlimited(budget + 1, infinity);
        const int n_threads = depth < 2 ? 1 : std::clamp(problem_.n_threads, 1, std::max(1, shared_.n_features));
        while (static_cast<int>(searchers_.size()) < n_threads) {
            searchers_.push_back(std::make_unique<Searcher>(shared_, control_));
        }
        std::mutex mutex;
        return share_out(in_order_of(best_.score), n_threads, control_, [&](int thread, int feature) {
            Values mine;
            {
                const std::lock_guard lock(mutex);
                mine = best_;
            }
            searchers_[thread]->try_feature(shared_.rows, depth, budget, feature, unlimited, mine, true);
            const std::lock_guard lock(mutex);
            merge(mine, depth);
            best_.score[feature] = mine.score[feature];
            control_.standing.found(best_.loss[budget]);
        });
    }

    /// Of trees that are equally good the shallowest, and of these the one that tests the first feature: which thread
    /// was the first to find one is chance.
    void merge(const Values &mine, int depth) {
        const double tolerance = shared_.tolerance;
        for (std::size_t m = 2; m < best_.loss.size(); ++m) {
            const bool better =
                mine.loss[m] < best_.loss[m] - tolerance || (best_.loss[m] == infinity && mine.loss[m] < infinity);
            const bool before = depth_of_[m] == depth && mine.loss[m] <= best_.loss[m] + tolerance &&
                                mine.feature[m] >= 0 && mine.feature[m] < best_.feature[m];
            if (better || before) {
                depth_of_[m] = depth;
                best_.loss[m] = mine.loss[m];
                best_.feature[m] = mine.feature[m];
                best_.split[m] = mine.split[m];
            }
        }
    }

    void build(int m, SearchResult &result) {
        if (best_.loss[m] == infinity) {
            return;
        }
        SearchTree tree;
        Builder builder(shared_, *searchers_[0]);
        const Split *split = best_.feature[m] >= 0 ? &best_.split[m] : nullptr;
        const double loss = builder.build(split != nullptr ? depth_of_[m] : 0, m, best_.loss[m], split, tree);
        if (loss < result.losses[m - 1]) {
            result.losses[m - 1] = loss;
            result.trees[m - 1] = std::move(tree);
        }
    }

    /// Trees for all sizes: the largest first, as it is the one most wanted where time is short.
    void build_all(int budget, SearchResult &result) {
        Control &control = result.finished ? control_ : grace_;
        const auto least = std::chrono::steady_clock::now() + std::chrono::milliseconds(200);
        control.until = result.finished ? std::max(control_.until, least) : least;
        searchers_[0]->watch(control);
        build(1, result);
        for (int m = budget; m > 1; --m) {
            // Of equal trees the smaller one is built, and taken over below.
            if (best_.loss[m] < best_.loss[m - 1]) {
                build(m, result);
            }
        }
        for (int m = 2; m <= problem_.max_leaves; ++m) {
            if (!(result.losses[m - 1] < result.losses[m - 2] - shared_.tolerance) && result.losses[m - 2] < infinity) {
                result.losses[m - 1] = result.losses[m - 2];
                result.trees[m - 1] = result.trees[m - 2];
            }
        }
        if (control.stop) {
            result.finished = false;
        }
    }

    const GeneralProblem &problem_;
    Control &control_;
    Shared shared_;
    std::vector<std::unique_ptr<Searcher>> searchers_; ///< one per thread
    Values best_;
    std::vector<int> depth_of_; ///< depth at which the best tree with so many leaves was found
    Control grace_;             ///< for building trees once the time is up
};

} // namespace
} // namespace general

SearchResult search_general(const GeneralProblem &problem, Control &control) {
    return general::Run(problem, control)();
}

} // namespace omtree
