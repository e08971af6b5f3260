// Coding of columns, texts and quantiles for Python.
#include "bindings/arrays.hpp"

#include "data/best_cuts.hpp"
#include "data/coding.hpp"
#include "data/quantiles.hpp"
#include "data/readable.hpp"
#include "data/texts.hpp"

namespace omtree::bindings {

namespace {

using Column = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>;

omtree::Numbers numbers(const Column &array) {
    return {array.data(), array.stride(0), array.size()};
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
    // Of many columns at once: a call for each would take longer than small columns themselves.
    m.def("bin_columns", [](const std::vector<Column> &columns, const std::vector<Vector<double>> &thresholds,
                            const std::vector<std::uint8_t> &missing,
                            nb::ndarray<std::uint8_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> codes) {
        const std::size_t n_rows = codes.shape(1);
        if (columns.size() != thresholds.size() || columns.size() != missing.size() ||
            columns.size() != codes.shape(0)) {
            throw nb::value_error(
                "bin_columns: columns, thresholds, codes of missing cells and codes differ in number");
        }
        for (const Column &column : columns) {
            if (column.size() != n_rows) {
                throw nb::value_error("bin_columns: columns and codes differ in length");
            }
        }
        nb::gil_scoped_release release;
        for (std::size_t c = 0; c < columns.size(); ++c) {
            omtree::bin_codes(numbers(columns[c]), view(thresholds[c]), missing[c],
                              {codes.data() + c * n_rows, n_rows});
        }
    });
    m.def("merge_rows", [](Matrix<std::uint8_t> codes, MutableVector<std::int64_t> row_of) {
        if (codes.shape(1) != row_of.size()) {
            throw nb::value_error("merge_rows: codes and row_of differ in length");
        }
        const std::span<const std::uint8_t> in(codes.data(), codes.size());
        const auto out = view(row_of);
        std::vector<std::uint32_t> first;
        {
            nb::gil_scoped_release release;
            first = omtree::merge_rows(in, out);
        }
        return to_numpy(std::move(first));
    });
    m.def("count_classes", [](Vector<std::int64_t> row_of, Vector<std::int64_t> classes, Vector<double> weights,
                              nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu> counts) {
        if (classes.size() != row_of.size() || (weights.size() != 0 && weights.size() != row_of.size())) {
            throw nb::value_error("count_classes: rows, classes and weights differ in length");
        }
        const auto rows = view(row_of);
        const auto labels = view(classes);
        const auto weight = view(weights);
        const std::span<double> out(counts.data(), counts.size());
        const std::size_t n_classes = counts.shape(1);
        nb::gil_scoped_release release;
        omtree::count_classes(rows, labels, weight, n_classes, out);
    });
    m.def("count_codes", [](Vector<std::int32_t> codes, std::size_t n_codes, Vector<std::int64_t> classes,
                            std::size_t n_classes, Vector<double> weights) {
        if ((classes.size() != 0 && classes.size() != codes.size()) ||
            (weights.size() != 0 && weights.size() != codes.size())) {
            throw nb::value_error("count_codes: codes, classes and weights differ in length");
        }
        const auto in = view(codes);
        const auto labels = view(classes);
        const auto weight = view(weights);
        std::vector<double> counts;
        std::vector<double> totals(n_codes + 1);
        {
            nb::gil_scoped_release release;
            counts = omtree::count_codes(in, n_codes, labels, n_classes, weight);
            for (std::size_t i = 0; i < counts.size(); ++i) {
                totals[i / n_classes] += counts[i];
            }
        }
        return std::pair(std::move(totals), to_numpy(std::move(counts), n_codes + 1, n_classes));
    });
}

void bind_texts(nb::module_ &m) {
    // Whoever hands over the cells may need the interpreter for it, so it is not released.
    m.def("code_texts", [](nb::capsule stream) {
        auto *cells = static_cast<omtree::ArrowStream *>(PyCapsule_GetPointer(stream.ptr(), "arrow_array_stream"));
        if (cells == nullptr) {
            nb::raise_python_error();
        }
        if (cells->release == nullptr) {
            throw nb::value_error("code_texts: the stream was read before");
        }
        omtree::CodedTexts coded = omtree::code_texts(*cells);
        return std::tuple(to_numpy(std::move(coded.codes)), std::move(coded.levels), coded.has_missing);
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
    m.def("first_values", [](const std::vector<Column> &columns) {
        std::vector<std::vector<double>> found;
        nb::gil_scoped_release release;
        for (const Column &column : columns) {
            found.push_back(omtree::few_distinct(numbers(column), {}, 2));
        }
        return found;
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
    m.def("best_cuts", [](Matrix<double> below, int count, bool squared) {
        const auto impurity = squared ? omtree::Impurity::squared : omtree::Impurity::entropy;
        const int width = static_cast<int>(below.shape(1));
        if (below.shape(0) < 2 || width < (squared ? 3 : 1)) {
            throw nb::value_error("best_cuts: the sums must be of two places at least, and three for squared errors");
        }
        nb::gil_scoped_release release;
        return omtree::best_cuts({below.data(), below.size()}, width, count, impurity);
    });
    m.def("readable_between", [](Vector<double> low, Vector<double> high) {
        if (low.size() != high.size()) {
            throw nb::value_error("readable_between: the lower and the upper ends differ in number");
        }
        std::vector<double> chosen(low.size());
        for (std::size_t i = 0; i < chosen.size(); ++i) {
            chosen[i] = omtree::readable_between(low.data()[i], high.data()[i]);
        }
        return to_numpy(std::move(chosen));
    });
}

} // namespace

void bind_data(nb::module_ &m) {
    bind_coding(m);
    bind_texts(m);
    bind_quantiles(m);
}

} // namespace omtree::bindings
