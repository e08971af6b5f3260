// How the branches at the root of a search are shared among threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "core/control.hpp"

namespace omtree {

/// Positions by their score, the least first; of equals the first.
template <typename Score> std::vector<int> in_order_of(const std::vector<Score> &score) {
    std::vector<int> order(score.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return score[a] < score[b]; });
    return order;
}

/// Threads take the branches one after the other in this order: `work(thread, branch)`. False when one had to stop.
template <typename Work>
bool share_out(const std::vector<int> &order, int n_threads, Control &control, const Work &work) {
    control.standing.done = 0;
    control.standing.branches = order.size();
    std::atomic<std::size_t> next{0};
    std::atomic<bool> complete{true};
    std::mutex mutex;
    std::exception_ptr failure;
    const auto take = [&](int thread) {
        try {
            for (std::size_t i = next++; i < order.size(); i = next++) {
                work(thread, order[i]);
                ++control.standing.done;
            }
        } catch (const Stopped &) {
            complete = false;
        } catch (...) {
            // A source of counts may fail; the other threads need not go on then.
            control.stop = true;
            const std::lock_guard lock(mutex);
            failure = std::current_exception();
        }
    };
    std::vector<std::thread> threads;
    for (int thread = 1; thread < n_threads; ++thread) {
        threads.emplace_back(take, thread);
    }
    take(0);
    for (std::thread &thread : threads) {
        thread.join();
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
    return complete;
}

} // namespace omtree
