#include "trees/any_size.hpp"

#include <algorithm>
#include <mutex>

#include "core/threads.hpp"
#include "trees/kernels.hpp"

namespace omtree {

AnySizeSearch::AnySizeSearch(const Shared<Count> &shared, Control &control, const Samples<Count> &samples, double floor,
                             MakeCounter make_counter)
    : shared_(shared), problem_(shared.problem), control_(control), samples_(samples), floor_(floor),
      make_counter_(std::move(make_counter)),
      max_leaves_(static_cast<int>(std::min<double>(problem_.max_leaves, shared.total))), error_cost_(max_leaves_ + 1),
      cache_(problem_.cache_bytes / 2), score_(problem_.features.size(), 0) {}

bool AnySizeSearch::suits(const SearchProblem &problem, const LeafCost<Count> &cost, double total) {
    // Values of all trees must fit the kernels.
    const double most = total * (std::min<double>(problem.max_leaves, total) + 2.0);
    return !problem.every_size && !problem.binary && problem.use_bounds && problem.max_children == 0 &&
           problem.counting != Counting::histogram && problem.max_depth > 2 && problem.max_leaves > 1 && cost.unit() &&
           most < no_leaf;
}

AnySizeWorker &AnySizeSearch::worker(int i) {
    while (i >= static_cast<int>(workers_.size())) {
        auto worker = std::make_unique<AnySizeWorker>(shared_, cache_, control_, error_cost_, make_counter_());
        shared_.close(worker->counter(), samples_, worker->used);
        workers_.push_back(std::move(worker));
    }
    return *workers_[i];
}

bool AnySizeSearch::solve(int depth) {
    // Shallow trees first: they are nearly free, they bound the deep ones, and of equal trees they are simpler.
    while (depth_ < depth && deepen(depth_ + 1)) {
        ++depth_;
    }
    return depth_ == depth;
}

bool AnySizeSearch::deepen(int depth) {
    const Value least = static_cast<Value>(floor_) * error_cost_ + (depth > 2 ? depth + 1 : 2);
    const int n_threads = std::clamp(problem_.n_threads, 1, static_cast<int>(problem_.features.size()));
    try {
        worker(n_threads - 1);
        if (best_.value >= no_tree) {
            AnySizeWorker &first = worker(0);
            best_ = {first.leaf_value(first.counter().totals(samples_).data()), -1, 0};
        }
    } catch (const Stopped &) {
        return false; // even this may have to be counted elsewhere
    }
    std::mutex mutex;
    // Promising features first: what they cost at the depth before tells.
    return share_out(in_order_of(score_), n_threads, control_, [&](int thread, int feature) {
        AnySizeWorker &own = *workers_[thread];
        if (own.used[feature]) {
            return;
        }
        // Of equal trees the shallower one, then that of the earlier feature.
        const auto limit = [&] { return best_.value + (best_.height == depth && feature < best_.feature); };
        std::unique_lock lock(mutex);
        const Value most = limit();
        if (least >= most) {
            score_[feature] = least;
            return;
        }
        lock.unlock();
        const Value value = own.try_feature(samples_, {}, depth, feature, most, nullptr);
        lock.lock();
        score_[feature] = own.score[depth][feature];
        if (value < limit()) {
            best_ = {value, feature, depth};
        }
    });
}

double AnySizeSearch::bound() const {
    return static_cast<double>(fewest_errors(best_.value, max_leaves_, error_cost_));
}

SearchStatistics AnySizeSearch::statistics() const {
    SearchStatistics sum;
    for (const auto &worker : workers_) {
        sum.subproblems += worker->statistics.subproblems;
        sum.cache_hits += worker->statistics.cache_hits;
    }
    sum.cache_entries = cache_.size();
    return sum;
}

} // namespace omtree
