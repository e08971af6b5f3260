// The only file of the kernel that knows Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <optional>
#include <thread>
#include <tuple>

#include "coding.hpp"
#include "normal.hpp"
#include "pricing.hpp"

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

void bind_coding(nb::module_ &m) {
    m.def("bin_codes", [](Vector<double> values, Vector<double> thresholds, std::uint8_t missing,
                          MutableVector<std::uint8_t> codes) {
        const auto in = view(values);
        const auto cuts = view(thresholds);
        const auto out = view(codes);
        nb::gil_scoped_release release;
        omtree::bin_codes(in, cuts, missing, out);
    });
}

template <typename T> nb::object to_numpy(std::vector<T> &&data, std::initializer_list<std::size_t> shape) {
    auto *owned = new std::vector<T>(std::move(data));
    nb::capsule owner(owned, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T>(owned->data(), shape, owner));
}

/// Runs a kernel call on another thread while this one listens for Ctrl-C; an interrupt stops the call and is raised.
template <typename Call> auto interruptible(Call &&call) {
    std::atomic<bool> cancelled{false};
    std::atomic<bool> done{false};
    using Result = decltype(call(cancelled));
    std::optional<Result> result;
    std::exception_ptr failure;
    bool interrupted = false;
    {
        nb::gil_scoped_release release;
        std::thread worker([&] {
            try {
                result.emplace(call(cancelled));
            } catch (...) {
                failure = std::current_exception();
            }
            done = true;
            done.notify_one();
        });
        for (int wait_us = 50; !done; wait_us = std::min(2 * wait_us, 20000)) {
            std::this_thread::sleep_for(std::chrono::microseconds(wait_us));
            nb::gil_scoped_acquire acquire;
            if (!interrupted && PyErr_CheckSignals() != 0) {
                interrupted = true;
                cancelled = true;
            }
        }
        worker.join();
    }
    if (interrupted) {
        throw nb::python_error();
    }
    if (failure) {
        std::rethrow_exception(failure);
    }
    return std::move(*result);
}

/// A pricer together with the arrays it reads.
struct BoundPricer {
    Matrix<std::uint8_t> codes;
    omtree::Pricer pricer;
};

void bind_pricing(nb::module_ &m) {
    using omtree::PricingResult;
    using omtree::PricingTask;
    m.attr("MAX_RULE_LENGTH") = omtree::max_rule_length;
    nb::class_<BoundPricer>(m, "Pricer")
        .def("__init__",
             [](BoundPricer *self, Matrix<std::uint8_t> codes, Vector<double> weight, int n_classes,
                Vector<std::int32_t> feature, Vector<std::int32_t> start, Matrix<std::uint64_t> masks,
                Vector<std::int32_t> n_codes, int n_threads) {
                 omtree::Graph graph(view(feature), view(start), {masks.data(), masks.size()}, view(n_codes));
                 new (self) BoundPricer{
                     codes, {{codes.data(), codes.size()}, view(weight), n_classes, std::move(graph), n_threads}};
             })
        .def("price",
             [](const BoundPricer &self, Matrix<double> value, std::optional<Vector<double>> condition_cost,
                double constant, int max_depth, double min_support, double threshold, std::size_t limit,
                bool stop_when_full, bool all_labels, double seconds, std::size_t k_best) {
                 PricingTask task;
                 task.value = {value.data(), value.size()};
                 if (condition_cost) {
                     task.condition_cost = view(*condition_cost);
                 }
                 task.constant = constant;
                 task.max_depth = max_depth;
                 task.min_support = min_support;
                 task.threshold = threshold;
                 task.limit = limit;
                 task.stop_when_full = stop_when_full;
                 task.all_labels = all_labels;
                 task.seconds = seconds;
                 const PricingResult result = interruptible([&](const std::atomic<bool> &cancelled) {
                     return k_best ? self.pricer.shortest_paths(task, k_best, cancelled)
                                   : self.pricer.exact(task, cancelled);
                 });
                 const std::size_t n = result.rules.size();
                 const auto width = static_cast<std::size_t>(std::max(1, max_depth));
                 std::vector<std::int32_t> conditions(n * width, -1);
                 std::vector<std::int32_t> labels(n);
                 std::vector<double> costs(n);
                 std::vector<std::uint64_t> hashes(n);
                 for (std::size_t r = 0; r < n; ++r) {
                     const omtree::PricedRule &rule = result.rules[r];
                     std::copy_n(rule.conditions.begin(), rule.length,
                                 conditions.begin() + static_cast<std::ptrdiff_t>(r * width));
                     labels[r] = rule.label;
                     costs[r] = rule.cost;
                     hashes[r] = rule.rows_hash;
                 }
                 return std::make_tuple(to_numpy(std::move(conditions), {n, width}), to_numpy(std::move(labels), {n}),
                                        to_numpy(std::move(costs), {n}), to_numpy(std::move(hashes), {n}), result.least,
                                        result.complete, result.overflow, result.looked_at);
             })
        .def("cover", [](const BoundPricer &self, Matrix<std::int32_t> rules) {
            std::vector<std::int64_t> start;
            std::vector<std::int32_t> rows;
            {
                nb::gil_scoped_release release;
                self.pricer.cover({rules.data(), rules.size()}, static_cast<int>(rules.shape(1)), start, rows);
            }
            const std::size_t n_start = start.size();
            const std::size_t n_rows = rows.size();
            return std::make_tuple(to_numpy(std::move(start), {n_start}), to_numpy(std::move(rows), {n_rows}));
        });
}

void bind_normal(nb::module_ &m) {
    using MutableMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
    m.def("add_normal_matrix", [](Vector<std::int32_t> start, Vector<std::int32_t> index, Vector<double> weight,
                                  MutableMatrix out) {
        const auto s = view(start);
        const auto i = view(index);
        const auto w = view(weight);
        nb::gil_scoped_release release;
        omtree::add_normal_matrix(s, i, w, {out.data(), out.size()}, out.shape(1));
    });
}

} // namespace

NB_MODULE(_native, m) {
    bind_coding(m);
    bind_pricing(m);
    bind_normal(m);
}
