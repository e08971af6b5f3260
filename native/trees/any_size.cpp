#include "trees/any_size.hpp"

#include <algorithm>
#include <mutex>

#include "core/threads.hpp"
#include "trees/kernels.hpp"

namespace omtree {

template <typename Count, typename Value>
AnySizeSearch<Count, Value>::AnySizeSearch(const Shared<Count> &shared, Control &control, const Samples<Count> &samples,
                                           double floor, MakeCounter make_counter)
    : shared_(shared), problem_(shared.problem), control_(control), samples_(samples), floor_(floor),
      make_counter_(std::move(make_counter)), score_(problem_.features.size(), 0) {}

template <typename Count, typename Value> bool AnySizeSearch<Count, Value>::suits(const SearchProblem &problem) {
    return !problem.every_size && problem.use_bounds && problem.max_children == 0 &&
           problem.counting != Counting::histogram && problem.max_depth > 2 && problem.max_leaves > 1;
}

template <typename Count, typename Value> void AnySizeSearch<Count, Value>::set_prices(const Prices<Value> &prices) {
    // Later prices are near to what is wanted, so that less has to be known about them.
    caches_.push_back(std::make_unique<PricedCache<Value>>(
        prices, problem_.cache_bytes / 2 >> std::min<std::size_t>(caches_.size() + !whole_values<Value>, 6)));
    best_ = {};
    depth_ = 1;
}

template <typename Count, typename Value>
typename AnySizeSearch<Count, Value>::Worker &AnySizeSearch<Count, Value>::worker(int i) {
    while (i >= static_cast<int>(workers_.size())) {
        auto worker = std::make_unique<Worker>(shared_, caches_, control_, make_counter_());
        shared_.close(worker->counter(), samples_, worker->used);
        workers_.push_back(std::move(worker));
    }
    return *workers_[i];
}

template <typename Count, typename Value> bool AnySizeSearch<Count, Value>::solve(int depth) {
    // Shallow trees first: they are nearly free, they bound the deep ones, and of equal trees they are simpler.
    while (depth_ < depth && deepen(depth_ + 1)) {
        ++depth_;
    }
    return depth_ == depth;
}

template <typename Count, typename Value> bool AnySizeSearch<Count, Value>::deepen(int depth) {
    const Prices<Value> &prices = caches_.back()->prices;
    const Value least = static_cast<Value>(floor_) * prices.loss + prices.leaf * (depth > 2 ? depth + 1 : 2);
    const int n_threads = std::clamp(problem_.n_threads, 1, static_cast<int>(problem_.features.size()));
    try {
        worker(n_threads - 1);
        if (best_.value >= no_tree<Value>) {
            Worker &first = worker(0);
            best_ = {first.leaf_value(first.counter().totals(samples_).data()), -1, 0};
        }
    } catch (const Stopped &) {
        return false; // even this may have to be counted elsewhere
    }
    std::mutex mutex;
    // Promising features first: what they cost at the depth before tells.
    return share_out(in_order_of(score_), n_threads, control_, [&](int thread, int feature) {
        Worker &own = *workers_[thread];
        if (own.used[feature]) {
            return;
        }
        // Of equal trees the shallower one, then that of the earlier feature.
        const auto limit = [&] {
            return prices.to_beat(best_.value, best_.height == depth && feature < best_.feature);
        };
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

template <typename Count, typename Value>
bool AnySizeSearch<Count, Value>::raise(const ConditionSet &path, int depth, int most, double *least) {
    bool raised = false;
    for (const auto &cache : caches_) {
        FoundBefore<Value> known;
        if (cache->known.find(path, depth, known)) {
            for (int m = 2; m <= most; ++m) {
                const double bound = std::max(cache->prices.least_loss(known.found.value, m), known.floor);
                raised = raised || bound > least[m] + (whole_values<Value> ? 0.0 : shared_.cost.tolerance());
                least[m] = std::max(least[m], bound);
            }
        }
    }
    return raised;
}

template <typename Count, typename Value> SearchStatistics AnySizeSearch<Count, Value>::statistics() const {
    SearchStatistics sum;
    for (const auto &worker : workers_) {
        sum.subproblems += worker->statistics.subproblems;
        sum.cache_hits += worker->statistics.cache_hits;
    }
    for (const auto &cache : caches_) {
        sum.cache_entries += cache->known.size();
    }
    return sum;
}

template class AnySizeSearch<std::int32_t, std::int64_t>;
template class AnySizeSearch<double, double>;

} // namespace omtree
