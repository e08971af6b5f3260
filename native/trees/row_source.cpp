#include "trees/row_source.hpp"

#include <algorithm>
#include <exception>
#include <mutex>
#include <thread>

#include "trees/joint_bits.hpp"

namespace omtree {
namespace {

/// Below this many samples the tables have more entries than are ever looked at.
constexpr std::size_t least_samples = 50'000;

} // namespace

RowSource::RowSource(const SearchProblem &problem, Samples<std::int32_t> samples, Control &control)
    : problem_(problem), samples_(std::move(samples)), control_(control) {
    for (const SearchFeature &feature : problem.features) {
        n_codes_.push_back(feature.n_codes);
    }
    const auto one = [](std::int32_t weight) { return weight == 1; };
    if (!std::all_of(samples_.weight.begin(), samples_.weight.end(), one)) {
        weights_.assign(samples_.weight.begin(), samples_.weight.end());
    }
}

bool RowSource::pays(const SearchProblem &problem, std::size_t n_samples) {
    const int n_features = static_cast<int>(problem.features.size());
    const int width = std::min(problem.max_depth, n_features);
    if (problem.counting == Counting::tables) {
        return true;
    }
    if (problem.counting != Counting::automatic || !problem.use_bounds || problem.max_children == 2 || width < 3 ||
        n_samples < least_samples) {
        return false;
    }
    double codes = 0.0;
    std::vector<int> n_codes;
    for (const SearchFeature &feature : problem.features) {
        n_codes.push_back(feature.n_codes);
        codes += feature.n_codes;
    }
    const JointExtent extent = extent_of_all_sets(n_codes, width);
    const double cells = extent.cells * problem.n_classes;
    if (cells * 12.0 > static_cast<double>(most_bytes) || extent.sets > 1e5) {
        return false;
    }
    // Both roughly in nanoseconds; the search counts all pairs for most features at the root, and again below.
    const auto n = static_cast<double>(n_samples);
    const double by_bits = (n_features / 16.0 + 1.5) * codes * codes / 64.0;
    const double by_row = std::min(by_bits, 0.7 * n_features * n_features * n_features) * n;
    const std::vector<std::int32_t> sets = all_sets(n_features, width);
    const JointBits bits(sets, width, n_codes, problem.n_classes);
    return bits.nanoseconds() * n + 2.0 * cells < by_row * (width > 3 ? 10.0 : 0.7);
}

std::vector<double> RowSource::tables(std::span<const std::int32_t> sets, int width) {
    const std::size_t size = joint_size(sets, width, n_codes_, problem_.n_classes);
    // Samples that are counted before the time is looked at.
    const std::size_t chunk = std::size_t{1} << (sets.size() / width > 5000 ? 15 : 17);
    const int n_threads = std::clamp(problem_.n_threads, 1, static_cast<int>(samples_.size / chunk) + 1);
    std::vector<std::vector<double>> parts(n_threads);
    std::mutex mutex;
    std::exception_ptr failure;
    const auto work = [&](int thread) {
        parts[thread].assign(size, 0.0);
        try {
            for (std::size_t begin = thread * chunk; begin < samples_.size; begin += n_threads * chunk) {
                if (control_.cancelled || std::chrono::steady_clock::now() >= control_.until) {
                    control_.stop = true;
                }
                if (control_.stop) {
                    throw Stopped{};
                }
                count_joint(RowBlock{samples_.codes, samples_.label, weights_}, begin,
                            std::min(samples_.size, begin + chunk), sets, width, n_codes_, problem_.n_classes,
                            parts[thread].data());
            }
        } catch (...) {
            const std::lock_guard lock(mutex);
            failure = std::current_exception();
        }
    };
    std::vector<std::thread> threads;
    for (int thread = 1; thread < n_threads; ++thread) {
        threads.emplace_back(work, thread);
    }
    work(0);
    for (std::thread &thread : threads) {
        thread.join();
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
    for (int thread = 1; thread < n_threads; ++thread) {
        for (std::size_t i = 0; i < size; ++i) {
            parts[0][i] += parts[thread][i];
        }
    }
    return std::move(parts[0]);
}

} // namespace omtree
