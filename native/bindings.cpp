// The only file of the kernel that knows Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "coding.hpp"
#include "quantiles.hpp"

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

} // namespace

NB_MODULE(_native, m) {
    bind_coding(m);
    bind_quantiles(m);
}
