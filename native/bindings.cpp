// The only file of the kernel that knows Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "coding.hpp"
#include "quantiles.hpp"
#include "search.hpp"

namespace nb = nanobind;

namespace {

template <typename T> using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T> using MutableVector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T> using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <typename T> std::span<const T> view(const Vector<T> &array) {
    return {array.data(), array.size()};
}
template <typename T> std::span<T> view(const MutableVector<T> &array) {
    return {array.data(), array.size()};
}

using Column = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>;

omtree::Numbers numbers(const Column &array) {
    return {array.data(), array.stride(0), array.size()};
}

/// A one-dimensional numpy array that owns the vector's elements.
template <typename T> auto to_numpy(std::vector<T> &&vector) {
    auto *kept = new std::vector<T>(std::move(vector));
    nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner);
}

void bind_coding(nb::module_ &m) {
    m.def("bin_codes",
          [](Column values, Vector<double> thresholds, std::uint8_t missing, MutableVector<std::uint8_t> codes) {
              if (values.size() != codes.size()) {
                  throw nb::value_error("bin_codes: values and codes differ in length");
              }
              const auto in = numbers(values);
              const auto cuts = view(thresholds);
              const auto out = view(codes);
              nb::gil_scoped_release release;
              omtree::bin_codes(in, cuts, missing, out);
          });
    m.def("merge_rows", [](Matrix<std::uint8_t> codes, MutableVector<std::int64_t> row_of) {
        if (codes.shape(1) != row_of.size()) {
            throw nb::value_error("merge_rows: codes and row_of differ in length");
        }
        const std::span<const std::uint8_t> in(codes.data(), codes.size());
        const auto out = view(row_of);
        std::vector<std::int64_t> first;
        {
            nb::gil_scoped_release release;
            first = omtree::merge_rows(in, out);
        }
        return to_numpy(std::move(first));
    });
}

void bind_quantiles(nb::module_ &m) {
    m.def("few_distinct", [](Column values, Vector<double> weights, std::size_t limit) {
        if (weights.size() != 0 && weights.size() != values.size()) {
            throw nb::value_error("few_distinct: values and weights differ in length");
        }
        const auto in = numbers(values);
        const auto weight = view(weights);
        std::vector<double> distinct;
        {
            nb::gil_scoped_release release;
            distinct = omtree::few_distinct(in, weight, limit);
        }
        return to_numpy(std::move(distinct));
    });
    m.def("quantile_cuts", [](Column values, Vector<double> weights, std::size_t n_bins) {
        if (weights.size() != 0 && weights.size() != values.size()) {
            throw nb::value_error("quantile_cuts: values and weights differ in length");
        }
        const auto in = numbers(values);
        const auto weight = view(weights);
        nb::gil_scoped_release release;
        return omtree::quantile_cuts(in, weight, n_bins);
    });
}

// Runs the search on a thread of its own, so that this one can look for Ctrl-C; true when it came.
bool search_interruptibly(const omtree::SearchProblem &problem, omtree::Control &control,
                          omtree::SearchResult &result) {
    std::mutex mutex;
    std::condition_variable finished;
    bool done = false;
    bool interrupted = false;
    std::exception_ptr error;
    std::thread worker([&] {
        try {
            result = omtree::search_trees(problem, control);
        } catch (...) {
            error = std::current_exception();
        }
        const std::lock_guard lock(mutex);
        done = true;
        finished.notify_one();
    });
    {
        nb::gil_scoped_release release;
        std::unique_lock lock(mutex);
        while (!finished.wait_for(lock, std::chrono::milliseconds(20), [&] { return done; })) {
            lock.unlock();
            {
                nb::gil_scoped_acquire acquire;
                if (PyErr_CheckSignals() != 0) {
                    PyErr_Clear();
                    interrupted = true;
                    control.cancelled = true;
                }
            }
            lock.lock();
        }
    }
    worker.join();
    if (error) {
        std::rethrow_exception(error);
    }
    return interrupted;
}

nb::object tree_as_lists(const omtree::SearchTree &tree) {
    if (tree.empty()) {
        return nb::none();
    }
    nb::list nodes;
    for (const omtree::SearchNode &node : tree) {
        nb::list branches;
        for (const auto &[codes, child] : node.branches) {
            nb::list members;
            for (const std::uint8_t code : codes) {
                members.append(static_cast<int>(code));
            }
            branches.append(nb::make_tuple(members, child));
        }
        nodes.append(nb::make_tuple(node.label, node.feature, node.complement, branches));
    }
    return nodes;
}

void bind_search(nb::module_ &m) {
    m.def(
        "search_trees",
        [](Matrix<std::uint8_t> codes, Matrix<double> counts, Matrix<double> costs, const std::vector<int> &columns,
           const std::vector<int> &n_codes, const std::vector<std::string> &families,
           const std::vector<bool> &has_missing, const std::vector<std::vector<int>> &orders, int max_depth,
           int max_leaves, double min_support, bool binary, int max_children, int n_threads, std::size_t cache_bytes,
           double seconds, bool use_bounds, bool use_cache, const std::string &counting, bool every_size) {
            omtree::SearchProblem problem;
            for (std::size_t i = 0; i < columns.size(); ++i) {
                omtree::SearchFeature feature;
                feature.n_codes = n_codes[i];
                feature.family = families[i] == "interval" ? omtree::Family::interval
                                 : families[i] == "subset" ? omtree::Family::subset
                                 : families[i] == "run"    ? omtree::Family::run
                                                           : omtree::Family::value;
                feature.has_missing = has_missing[i];
                feature.order.assign(orders[i].begin(), orders[i].end());
                feature.codes = codes.data() + columns[i] * codes.shape(1);
                problem.features.push_back(std::move(feature));
            }
            problem.n_rows = counts.shape(0);
            problem.n_classes = static_cast<int>(counts.shape(1));
            problem.counts = {counts.data(), counts.size()};
            problem.costs = {costs.data(), costs.size()};
            problem.max_depth = max_depth;
            problem.max_leaves = max_leaves;
            problem.min_support = min_support;
            problem.binary = binary;
            problem.max_children = binary ? 2 : max_children;
            problem.n_threads = n_threads;
            problem.cache_bytes = cache_bytes;
            problem.use_bounds = use_bounds;
            problem.use_cache = use_cache;
            problem.every_size = every_size;
            problem.counting = counting == "bits"        ? omtree::Counting::bits
                               : counting == "histogram" ? omtree::Counting::histogram
                                                         : omtree::Counting::automatic;
            omtree::Control control;
            if (seconds < 1e9) {
                control.until =
                    std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                                           std::chrono::duration<double>(std::max(seconds, 0.0)));
            }
            omtree::SearchResult result;
            const bool interrupted = search_interruptibly(problem, control, result);
            nb::list trees;
            for (const omtree::SearchTree &tree : result.trees) {
                trees.append(tree_as_lists(tree));
            }
            return nb::make_tuple(result.losses, trees, result.bound, result.finished, interrupted,
                                  result.statistics.subproblems, result.statistics.cache_hits,
                                  result.statistics.cache_entries);
        },
        nb::arg("codes"), nb::arg("counts"), nb::arg("costs"), nb::kw_only(), nb::arg("columns"), nb::arg("n_codes"),
        nb::arg("families"), nb::arg("has_missing"), nb::arg("orders"), nb::arg("max_depth"), nb::arg("max_leaves"),
        nb::arg("min_support"), nb::arg("binary"), nb::arg("max_children"), nb::arg("n_threads"),
        nb::arg("cache_bytes"), nb::arg("seconds"), nb::arg("use_bounds"), nb::arg("use_cache"), nb::arg("counting"),
        nb::arg("every_size"));
}

} // namespace

NB_MODULE(_native, m) {
    bind_search(m);
    bind_coding(m);
    bind_quantiles(m);
}
