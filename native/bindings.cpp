// The only file of the kernel that knows Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "coding.hpp"

namespace nb = nanobind;

namespace {

template <typename T> using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T> using MutableVector = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <typename T> using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <typename T> std::span<const T> view(const Vector<T> &array) { return {array.data(), array.size()}; }
template <typename T> std::span<T> view(const MutableVector<T> &array) { return {array.data(), array.size()}; }

void bind_coding(nb::module_ &m) {
    m.def("bin_codes",
          [](Vector<double> values, Vector<double> thresholds, std::uint8_t missing,
             MutableVector<std::uint8_t> codes) {
              const auto in = view(values);
              const auto cuts = view(thresholds);
              const auto out = view(codes);
              nb::gil_scoped_release release;
              omtree::bin_codes(in, cuts, missing, out);
          });
}

} // namespace

NB_MODULE(_native, m) { bind_coding(m); }
