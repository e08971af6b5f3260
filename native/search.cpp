#include "search.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <thread>

#include "search_binary.hpp"
#include "search_multiway.hpp"

namespace omtree {
namespace {

template <typename Count> Samples<Count> expand(const SearchProblem &problem, const LeafCost<Count> &cost) {
    const std::size_t n_rows = problem.n_rows;
    const int n_classes = problem.n_classes;
    Samples<Count> samples;
    std::vector<std::uint32_t> row_of;
    std::vector<Count> counts(n_classes);
    for (std::size_t row = 0; row < n_rows; ++row) {
        for (int c = 0; c < n_classes; ++c) {
            counts[c] = static_cast<Count>(problem.counts[row * n_classes + c]);
        }
        double floor = cost.loss(counts.data());
        for (int c = 0; c < n_classes; ++c) {
            if (counts[c] > 0) {
                row_of.push_back(static_cast<std::uint32_t>(row));
                samples.label.push_back(static_cast<std::uint16_t>(c));
                samples.weight.push_back(counts[c]);
                samples.floor.push_back(floor);
                floor = 0.0;
            }
        }
    }
    samples.id = new_samples_id();
    samples.size = row_of.size();
    samples.codes.resize(problem.features.size() * samples.size);
    std::uint8_t *to = samples.codes.data();
    for (const SearchFeature &feature : problem.features) {
        for (const std::uint32_t row : row_of) {
            *to++ = feature.codes[row];
        }
    }
    return samples;
}

template <typename Count> class Run {
  public:
    Run(const SearchProblem &problem, Control &control, double total)
        : problem_(problem), control_(control), shared_(problem, control, total),
          samples_(expand<Count>(problem, shared_.cost)) {}

    SearchResult operator()() {
        SearchResult result;
        const int budget = shared_.most_leaves[problem_.max_depth];
        Values best;
        Searcher<Count>(shared_).start(samples_, budget, best);
        // Shallow trees first: they are nearly free, they bound the deep ones, and of equal trees they are simpler.
        result.finished = true;
        depth_of_.assign(budget + 1, 0);
        for (int depth = 1; depth <= problem_.max_depth && budget > 1 && result.finished; ++depth) {
            Values found = best;
            std::fill(found.feature.begin(), found.feature.end(), -1);
            result.finished = solve_depth(depth, budget, found);
            for (int m = 1; m <= budget && result.finished; ++m) {
                if (found.feature[m] >= 0) {
                    best.loss[m] = found.loss[m];
                    best.feature[m] = found.feature[m];
                    depth_of_[m] = depth;
                }
            }
        }
        double floor = 0.0;
        for (const double value : samples_.floor) {
            floor += value;
        }
        result.bound = result.finished ? best.loss[budget] : std::min(floor, best.loss[budget]);
        build_all(best, budget, result);
        result.statistics.cache_entries = shared_.cache.size();
        result.statistics.subproblems = statistics_.subproblems;
        result.statistics.cache_hits = statistics_.cache_hits;
        return result;
    }

  private:
    bool solve_depth(int depth, int budget, Values &best) {
        const int n_features = static_cast<int>(problem_.features.size());
        std::atomic<int> next{0};
        std::atomic<bool> complete{true};
        std::mutex mutex;
        const std::vector<double> unlimited(budget + 1, infinity);
        const auto work = [&] {
            Searcher<Count> searcher(shared_);
            try {
                for (int feature = next++; feature < n_features; feature = next++) {
                    Values mine;
                    {
                        const std::lock_guard lock(mutex);
                        mine = best;
                    }
                    searcher.try_feature(samples_, {}, depth, budget, feature, unlimited, mine, false);
                    const std::lock_guard lock(mutex);
                    merge(mine, best);
                }
            } catch (const Stopped &) {
                complete = false;
            }
            const std::lock_guard lock(mutex);
            statistics_.subproblems += searcher.statistics.subproblems;
            statistics_.cache_hits += searcher.statistics.cache_hits;
        };
        const int n_threads = depth < 2 ? 1 : std::clamp(problem_.n_threads, 1, n_features);
        std::vector<std::thread> threads;
        for (int i = 1; i < n_threads; ++i) {
            threads.emplace_back(work);
        }
        work();
        for (std::thread &thread : threads) {
            thread.join();
        }
        return complete;
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

    void build_all(const Values &best, int budget, SearchResult &result) {
        // No deadline here: what is built has been found before and takes little to find again.
        Control patient;
        Shared<Count> shared(problem_, patient, shared_.total);
        Searcher<Count> searcher(shared);
        const double tolerance = shared_.cost.tolerance();
        std::map<std::pair<int, int>, Values> roots;
        for (int m = 1; m <= problem_.max_leaves; ++m) {
            const int used = std::min(m, budget);
            result.losses.push_back(best.loss[used]);
            result.trees.emplace_back();
            if (best.loss[used] == infinity) {
                continue;
            }
            if (m > 1 && best.loss[used] >= result.losses[m - 2] - tolerance) {
                result.losses[m - 1] = result.losses[m - 2];
                result.trees.back() = result.trees[m - 2];
            } else {
                result.losses[m - 1] = 0.0;
                // One look at a root feature serves all sizes that begin with it.
                const int depth = depth_of_[used];
                const int feature = best.feature[used];
                const Values *known = nullptr;
                if (feature >= 0) {
                    Values &root = roots[{depth, feature}];
                    if (root.split.empty()) {
                        std::vector<double> upper(best.loss);
                        for (double &value : upper) {
                            value += 2 * tolerance;
                        }
                        searcher.start(samples_, budget, root);
                        searcher.try_feature(samples_, {}, depth, budget, feature, upper, root, true);
                    }
                    known = &root;
                }
                build(searcher, samples_, {}, depth, used, best.loss[used], feature, known, result.trees.back(),
                      result.losses[m - 1]);
            }
        }
    }

    /// Appends the best tree on the samples and adds up its leaves' losses. Its own loss and the feature at its root
    /// are known from the search.
    int build(Searcher<Count> &searcher, const Samples<Count> &samples, const ConditionSet &path, int depth, int leaves,
              double loss, int feature, const Values *known, SearchTree &tree, double &total) {
        const int position = static_cast<int>(tree.size());
        std::vector<Count> counts(problem_.n_classes, 0);
        for (std::size_t i = 0; i < samples.size; ++i) {
            counts[samples.label[i]] += samples.weight[i];
        }
        tree.emplace_back();
        tree[position].label = shared_.cost.label(counts.data());
        const double leaf = shared_.cost.leaf(counts.data());
        if (feature < 0 || leaf <= loss + shared_.cost.tolerance()) {
            total += leaf;
            return position;
        }
        Values own_values;
        if (known == nullptr) {
            const std::vector<double> upper(leaves + 1, loss + 2 * shared_.cost.tolerance());
            searcher.start(samples, leaves, own_values);
            searcher.try_feature(samples, path, depth, leaves, feature, upper, own_values, true);
        }
        const Values &values = known != nullptr ? *known : own_values;
        const Split split = values.split[leaves];
        tree[position].feature = split.feature;
        tree[position].complement = split.complement;
        const bool once = !problem_.binary;
        searcher.used[split.feature] = searcher.used[split.feature] || once;
        for (const auto &[codes, own] : split.children) {
            Samples<Count> below;
            searcher.restrict(samples, split.feature, codes, below);
            ConditionSet longer = path;
            auto sorted = codes;
            std::sort(sorted.begin(), sorted.end());
            longer.add(split.feature, sorted);
            const std::vector<double> unlimited(own + 1, infinity);
            Values value;
            searcher.solve(below, longer, depth - 1, own, unlimited, value, false);
            // Where a shallower tree is as good, the search does not say which feature it begins with.
            const double least = value.loss[own];
            int height = depth - 1;
            for (int d = 1; d < depth - 1 && value.feature[own] < 0; ++d) {
                searcher.solve(below, longer, d, own, unlimited, value, false);
                height = d;
                if (value.loss[own] > least + shared_.cost.tolerance()) {
                    value.feature[own] = -1;
                }
            }
            const int child =
                build(searcher, below, longer, height, own, least, value.feature[own], nullptr, tree, total);
            tree[position].branches.emplace_back(sorted, child);
        }
        if (once) {
            searcher.used[split.feature] = 0;
        }
        return position;
    }

    const SearchProblem &problem_;
    Control &control_;
    Shared<Count> shared_;
    Samples<Count> samples_;
    SearchStatistics statistics_;
    std::vector<int> depth_of_; ///< depth at which the best tree with so many leaves was found
};

} // namespace

SearchResult search_trees(const SearchProblem &problem, Control &control) {
    double total = 0.0;
    bool integers = true;
    for (const double count : problem.counts) {
        total += count;
        integers = integers && count == std::floor(count);
    }
    if (integers && BinarySearch::suits(problem, total)) {
        // Where the limit on leaves binds, the best tree needs all smaller budgets below it.
        const bool binds = problem.max_depth < 30 && problem.max_leaves < 1 << problem.max_depth;
        return BinarySearch(problem, control, total, problem.every_size || binds).run();
    }
    if (integers && total < 2e9) {
        return Run<std::int32_t>(problem, control, total)();
    }
    return Run<double>(problem, control, total)();
}

} // namespace omtree
