// The only file of the kernel that knows Python.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <tuple>

#include "coding.hpp"
#include "exact_cover.hpp"
#include "general_fronts.hpp"
#include "general_search.hpp"
#include "joint_counts.hpp"
#include "normal.hpp"
#include "pricing.hpp"
#include "pricing_general.hpp"
#include "quantiles.hpp"
#include "rule_judge.hpp"
#include "rule_tables.hpp"
#include "search.hpp"
#include "search_tables.hpp"
#include "texts.hpp"

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
template <typename T> std::span<const T> view(const Matrix<T> &array) {
    return {array.data(), array.size()};
}

/// Conditions that each of some rules has room for.
int width_of(const Matrix<std::int32_t> &rules) {
    return static_cast<int>(rules.shape(1));
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

/// A two-dimensional numpy array that owns the vector's elements, row by row.
template <typename T> auto to_numpy(std::vector<T> &&vector, std::size_t n_rows, std::size_t n_columns) {
    auto *kept = new std::vector<T>(std::move(vector));
    nb::capsule owner(kept, [](void *p) noexcept { delete static_cast<std::vector<T> *>(p); });
    return nb::ndarray<nb::numpy, T, nb::ndim<2>>(kept->data(), {n_rows, n_columns}, owner);
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

/// Runs a kernel call on a thread of its own, so that this one can look for Ctrl-C; true when it came. The call is then
/// asked to stop through `cancelled` and still returns what it has.
template <typename Call> bool interruptibly(std::atomic<bool> &cancelled, const Call &call) {
    std::mutex mutex;
    std::condition_variable finished;
    bool done = false;
    bool interrupted = false;
    std::exception_ptr error;
    nb::gil_scoped_release release;
    std::thread worker([&] {
        try {
            call();
        } catch (...) {
            error = std::current_exception();
        }
        const std::lock_guard lock(mutex);
        done = true;
        finished.notify_one();
    });
    {
        std::unique_lock lock(mutex);
        while (!finished.wait_for(lock, std::chrono::milliseconds(20), [&] { return done; })) {
            lock.unlock();
            {
                nb::gil_scoped_acquire acquire;
                if (PyErr_CheckSignals() != 0) {
                    PyErr_Clear();
                    interrupted = true;
                    cancelled = true;
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

void raise_if(bool interrupted) {
    if (interrupted) {
        PyErr_SetNone(PyExc_KeyboardInterrupt);
        throw nb::python_error();
    }
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

nb::list trees_as_lists(const std::vector<omtree::SearchTree> &trees) {
    nb::list lists;
    for (const omtree::SearchTree &tree : trees) {
        lists.append(tree_as_lists(tree));
    }
    return lists;
}

nb::tuple search_answer(const omtree::SearchResult &result, bool interrupted) {
    return nb::make_tuple(result.losses, trees_as_lists(result.trees), result.bound, result.finished, interrupted,
                          result.statistics.subproblems, result.statistics.cache_hits, result.statistics.cache_entries);
}

omtree::SearchFeature search_feature(const std::string &family, int n_codes, bool has_missing,
                                     const std::vector<int> &order, const std::uint8_t *codes) {
    omtree::SearchFeature feature;
    feature.n_codes = n_codes;
    feature.family = family == "interval" ? omtree::Family::interval
                     : family == "subset" ? omtree::Family::subset
                     : family == "run"    ? omtree::Family::run
                                          : omtree::Family::value;
    feature.has_missing = has_missing;
    feature.order.assign(order.begin(), order.end());
    feature.codes = codes;
    return feature;
}

std::chrono::steady_clock::time_point moment(double seconds) {
    using Clock = std::chrono::steady_clock;
    return seconds < 1e9
               ? Clock::now() +
                     std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::max(seconds, 0.0)))
               : Clock::time_point::max();
}

void bind_search(nb::module_ &m) {
    m.def(
        "search_trees",
        [](Matrix<std::uint8_t> codes, Matrix<double> counts, Matrix<double> costs, const std::vector<int> &columns,
           const std::vector<int> &n_codes, const std::vector<std::string> &families,
           const std::vector<bool> &has_missing, const std::vector<std::vector<int>> &orders, int max_depth,
           int max_leaves, double min_support, bool binary, int max_children, int n_threads, std::size_t cache_bytes,
           double seconds, bool use_bounds, bool use_cache, const std::string &counting, bool every_size) {
            if (costs.shape(0) != counts.shape(1) || costs.shape(1) == 0) {
                throw nb::value_error("search_trees: costs must have a row per class and a column per label");
            }
            if (counts.shape(1) > 256) {
                throw nb::value_error("search_trees: there may be at most 256 classes");
            }
            omtree::SearchProblem problem;
            for (std::size_t i = 0; i < columns.size(); ++i) {
                problem.features.push_back(search_feature(families[i], n_codes[i], has_missing[i], orders[i],
                                                          codes.data() + columns[i] * codes.shape(1)));
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
                               : counting == "tables"    ? omtree::Counting::tables
                                                         : omtree::Counting::automatic;
            omtree::Control control;
            control.until = moment(seconds);
            omtree::SearchResult result;
            const bool interrupted =
                interruptibly(control.cancelled, [&] { result = omtree::search_trees(problem, control); });
            return search_answer(result, interrupted);
        },
        nb::arg("codes"), nb::arg("counts"), nb::arg("costs"), nb::kw_only(), nb::arg("columns"), nb::arg("n_codes"),
        nb::arg("families"), nb::arg("has_missing"), nb::arg("orders"), nb::arg("max_depth"), nb::arg("max_leaves"),
        nb::arg("min_support"), nb::arg("binary"), nb::arg("max_children"), nb::arg("n_threads"),
        nb::arg("cache_bytes"), nb::arg("seconds"), nb::arg("use_bounds"), nb::arg("use_cache"), nb::arg("counting"),
        nb::arg("every_size"));
}

/// Rows that Python knows how to count.
class CalledSource final : public omtree::JointSource {
  public:
    CalledSource(nb::callable call, std::shared_ptr<omtree::Control> control)
        : call_(std::move(call)), control_(std::move(control)) {}

    std::vector<double> tables(std::span<const std::int32_t> sets, int width) override {
        nb::gil_scoped_acquire acquire;
        auto *copy = new std::vector<std::int32_t>(sets.begin(), sets.end());
        nb::capsule owner(copy, [](void *p) noexcept { delete static_cast<std::vector<std::int32_t> *>(p); });
        const auto columns = static_cast<std::size_t>(width);
        nb::ndarray<nb::numpy, std::int32_t, nb::ndim<2>> array(copy->data(), {copy->size() / columns, columns}, owner);
        const nb::object stopped = nb::cpp_function([control = control_] {
            return control->cancelled || control->stop || std::chrono::steady_clock::now() >= control->until;
        });
        const nb::object answer = call_(array, stopped);
        if (answer.is_none()) {
            control_->stop = true;
            throw omtree::Stopped{};
        }
        const auto counts = nb::cast<Vector<double>>(answer);
        return {counts.data(), counts.data() + counts.size()};
    }

  private:
    nb::callable call_;
    std::shared_ptr<omtree::Control> control_;
};

void bind_joint_counts(nb::module_ &m) {
    m.def("count_joint",
          [](Matrix<std::uint8_t> codes, Vector<std::uint16_t> labels, Vector<double> weights,
             Matrix<std::int32_t> sets, const std::vector<int> &n_codes, int n_classes, MutableVector<double> tables) {
              const auto width = static_cast<int>(sets.shape(1));
              const std::span<const std::int32_t> all(sets.data(), sets.size());
              const bool known = std::all_of(all.begin(), all.end(), [&](std::int32_t f) {
                  return f >= 0 && f < static_cast<std::int32_t>(n_codes.size());
              });
              if (width == 0 || n_classes < 1 || n_classes > 256 || codes.shape(0) != n_codes.size() ||
                  codes.shape(1) != labels.size() || (weights.size() != 0 && weights.size() != labels.size()) ||
                  !known || tables.size() != omtree::joint_size(all, width, n_codes, n_classes)) {
                  throw nb::value_error("count_joint: codes, labels, weights, sets and tables do not fit together");
              }
              const omtree::RowBlock block{{codes.data(), codes.size()}, view(labels), view(weights)};
              nb::gil_scoped_release release;
              omtree::count_joint(block, 0, labels.size(), all, width, n_codes, n_classes, tables.data());
          });
    m.def(
        "search_tables",
        [](nb::callable tables, Vector<double> totals, Matrix<double> costs, const std::vector<int> &n_codes,
           const std::vector<std::string> &families, const std::vector<bool> &has_missing,
           const std::vector<std::vector<int>> &orders, int max_depth, int max_leaves, double min_support, bool binary,
           int max_children, int n_threads, std::size_t cache_bytes, std::size_t table_bytes, double seconds,
           bool whole, bool every_size) {
            if (costs.shape(0) != totals.size() || costs.shape(1) == 0 || totals.size() > 256) {
                throw nb::value_error("search_tables: costs must have a row for each of at most 256 classes");
            }
            omtree::SearchProblem problem;
            for (std::size_t i = 0; i < n_codes.size(); ++i) {
                problem.features.push_back(search_feature(families[i], n_codes[i], has_missing[i], orders[i], nullptr));
            }
            problem.n_rows = 1;
            problem.n_classes = static_cast<int>(totals.size());
            problem.counts = view(totals);
            problem.costs = {costs.data(), costs.size()};
            problem.max_depth = max_depth;
            problem.max_leaves = max_leaves;
            problem.min_support = min_support;
            problem.binary = binary;
            problem.max_children = binary ? 2 : max_children;
            problem.n_threads = n_threads;
            problem.cache_bytes = cache_bytes;
            problem.every_size = every_size;
            const auto control = std::make_shared<omtree::Control>();
            control->until = moment(seconds);
            CalledSource source(std::move(tables), control);
            omtree::SearchResult result;
            const bool interrupted = interruptibly(control->cancelled, [&] {
                result = omtree::search_tables(problem, source, whole, table_bytes, *control);
            });
            return search_answer(result, interrupted);
        },
        nb::arg("tables"), nb::arg("totals"), nb::arg("costs"), nb::kw_only(), nb::arg("n_codes"), nb::arg("families"),
        nb::arg("has_missing"), nb::arg("orders"), nb::arg("max_depth"), nb::arg("max_leaves"), nb::arg("min_support"),
        nb::arg("binary"), nb::arg("max_children"), nb::arg("n_threads"), nb::arg("cache_bytes"),
        nb::arg("table_bytes"), nb::arg("seconds"), nb::arg("whole"), nb::arg("every_size"));
}

/// A pricer together with the arrays it reads.
struct BoundPricer {
    Matrix<std::uint8_t> codes;
    omtree::Pricer pricer;
};

/// What a pricer found, as arrays.
auto priced_rules(const omtree::PricingResult &result, int max_depth) {
    const std::size_t n = result.rules.size();
    const auto width = static_cast<std::size_t>(std::max(1, max_depth));
    std::vector<std::int32_t> conditions(n * width, -1);
    std::vector<std::int32_t> labels(n);
    std::vector<double> costs(n);
    for (std::size_t r = 0; r < n; ++r) {
        const omtree::PricedRule &rule = result.rules[r];
        std::copy_n(rule.conditions.begin(), rule.length, conditions.begin() + static_cast<std::ptrdiff_t>(r * width));
        labels[r] = rule.label;
        costs[r] = rule.cost;
    }
    return std::make_tuple(to_numpy(std::move(conditions)), to_numpy(std::move(labels)), to_numpy(std::move(costs)),
                           result.least, result.complete, result.overflow, result.looked_at);
}

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
                 if (std::min(max_depth, static_cast<int>(self.pricer.graph().levels().size())) >
                     omtree::max_rule_length) {
                     throw nb::value_error("price: max_depth is more than the conditions a rule can hold");
                 }
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
                 PricingResult result;
                 std::atomic<bool> cancelled{false};
                 raise_if(interruptibly(cancelled, [&] {
                     result = k_best ? self.pricer.shortest_paths(task, k_best, cancelled)
                                     : self.pricer.exact(task, cancelled);
                 }));
                 return priced_rules(result, max_depth);
             })
        .def("cover",
             [](const BoundPricer &self, Matrix<std::int32_t> rules, Vector<std::int32_t> rows) {
                 std::vector<std::int64_t> start;
                 std::vector<std::int32_t> places;
                 {
                     nb::gil_scoped_release release;
                     self.pricer.cover(view(rules), width_of(rules), view(rows), start, places);
                 }
                 return std::make_tuple(to_numpy(std::move(start)), to_numpy(std::move(places)));
             })
        .def("coverage",
             [](const BoundPricer &self, Matrix<std::int32_t> rules, Vector<double> share, Vector<std::int32_t> rows) {
                 std::vector<double> sums;
                 {
                     nb::gil_scoped_release release;
                     sums = self.pricer.coverage(view(rules), width_of(rules), view(share), view(rows));
                 }
                 return to_numpy(std::move(sums));
             })
        .def("totals", [](const BoundPricer &self, Matrix<std::int32_t> rules, Matrix<double> statistics) {
            std::vector<double> sums;
            std::vector<std::uint64_t> hashes;
            {
                nb::gil_scoped_release release;
                self.pricer.totals(view(rules), width_of(rules), view(statistics), sums, hashes);
            }
            return std::make_tuple(to_numpy(std::move(sums)), to_numpy(std::move(hashes)));
        });
}

void bind_rule_tables(nb::module_ &m) {
    using omtree::RuleTables;
    m.attr("MAX_TABLED_LENGTH") = omtree::max_tabled_length;
    nb::class_<RuleTables>(m, "RuleTables")
        .def(
            "__init__",
            [](RuleTables *self, const BoundPricer &pricer, Matrix<double> statistics, Vector<double> weight_of_slot,
               int max_depth, double seconds) {
                std::atomic<bool> cancelled{false};
                std::optional<RuleTables> tables;
                raise_if(interruptibly(cancelled, [&] {
                    tables.emplace(pricer.pricer, view(statistics), view(weight_of_slot), max_depth, seconds,
                                   cancelled);
                }));
                new (self) RuleTables(std::move(*tables));
            },
            nb::keep_alive<1, 2>())
        .def_prop_ro("complete", &RuleTables::complete)
        .def("price",
             [](const RuleTables &self, Matrix<double> worth, Vector<std::int32_t> rows, Vector<double> price,
                double constant, double min_support, double threshold, std::size_t limit, bool stop_when_full,
                bool all_labels, double seconds, int width) {
                 omtree::TableTask task;
                 task.worth = view(worth);
                 task.rows = view(rows);
                 task.price = view(price);
                 task.rules.constant = constant;
                 task.rules.min_support = min_support;
                 task.rules.threshold = threshold;
                 task.rules.limit = limit;
                 task.rules.stop_when_full = stop_when_full;
                 task.rules.all_labels = all_labels;
                 task.rules.seconds = seconds;
                 omtree::PricingResult result;
                 std::atomic<bool> cancelled{false};
                 raise_if(interruptibly(cancelled, [&] { result = self.price(task, cancelled); }));
                 return priced_rules(result, width);
             })
        .def("totals", [](const RuleTables &self, Matrix<std::int32_t> rules) {
            std::vector<double> sums;
            std::vector<std::uint64_t> hashes;
            {
                nb::gil_scoped_release release;
                self.totals(view(rules), width_of(rules), sums, hashes);
            }
            return std::make_tuple(to_numpy(std::move(sums)), to_numpy(std::move(hashes)));
        });
}

using Rows = nb::ndarray<nb::numpy, const std::uint32_t, nb::ndim<1>>;

/// What a Python function says about a rule; called from the kernel's threads.
omtree::Verdict ask(const nb::callable &function, omtree::RowNumbers rows, const char *allowed, int n_labels) {
    nb::gil_scoped_acquire acquire;
    nb::object labels = nb::none();
    if (allowed != nullptr) {
        nb::list flags;
        for (int label = 0; label < n_labels; ++label) {
            flags.append(allowed[label] != 0);
        }
        labels = flags;
    }
    const auto [loss, label] =
        nb::cast<std::pair<double, int>>(function(Rows(rows.data(), {rows.size()}, nb::handle()).cast(), labels));
    return {loss, label};
}

omtree::RowSamples row_samples(const nb::tuple &parts) {
    const auto start = nb::cast<Vector<std::int64_t>>(parts[1]);
    const auto target = nb::cast<Vector<double>>(parts[2]);
    const auto weight = nb::cast<Vector<double>>(parts[3]);
    return {{start.data(), start.data() + start.size()},
            {target.data(), target.data() + target.size()},
            {weight.data(), weight.data() + weight.size()}};
}

std::unique_ptr<omtree::RuleLoss> rule_loss(const nb::tuple &parts) {
    const auto kind = nb::cast<std::string>(parts[0]);
    if (kind == "linear") {
        const auto costs = nb::cast<Matrix<double>>(parts[1]);
        return omtree::linear_loss({costs.data(), costs.data() + costs.size()}, static_cast<int>(costs.shape(1)));
    }
    if (kind == "gini" || kind == "entropy") {
        return omtree::impurity_loss(kind == "entropy", nb::cast<int>(parts[1]));
    }
    if (kind == "squared") {
        return omtree::squared_loss();
    }
    if (kind == "poisson") {
        return omtree::poisson_loss();
    }
    if (kind == "quantile") {
        return omtree::quantile_loss(row_samples(parts), nb::cast<double>(parts[4]));
    }
    if (kind == "huber") {
        return omtree::huber_loss(row_samples(parts), nb::cast<double>(parts[4]));
    }
    if (kind == "rows") {
        const auto function = nb::cast<nb::callable>(parts[1]);
        const int n_labels = nb::cast<int>(parts[2]);
        return omtree::row_loss(
            [function, n_labels](omtree::RowNumbers rows, const char *allowed) {
                return ask(function, rows, allowed, n_labels);
            },
            n_labels);
    }
    throw nb::value_error("RuleJudge: this kind of loss is not known");
}

/// The statistics of a rule with these rows.
std::vector<double> sums_over(const omtree::RuleJudge &judge, omtree::RowNumbers rows) {
    std::vector<double> sums(judge.n_statistics(), 0.0);
    for (const std::uint32_t row : rows) {
        if (row >= judge.n_rows()) {
            throw nb::value_error("judge: there is no such row");
        }
        for (int s = 0; s < judge.n_statistics(); ++s) {
            sums[s] += judge.row(row)[s];
        }
    }
    return sums;
}

void bind_judge(nb::module_ &m) {
    using omtree::RuleJudge;
    using Limit = std::tuple<Matrix<double>, double>;
    using Ratio = std::tuple<int, int, int, int, double>;
    using Prices = std::tuple<std::vector<double>, std::vector<double>, std::vector<int>, double, double>;
    nb::class_<RuleJudge>(m, "RuleJudge")
        .def(
            "__init__",
            [](RuleJudge *self, Matrix<double> statistics, const nb::tuple &loss, double min_support,
               const std::vector<Limit> &linear, const std::vector<Ratio> &ratios, const std::optional<Prices> &prices,
               const std::vector<std::tuple<std::vector<int>, int>> &at_most,
               const std::vector<std::tuple<int, std::vector<int>, bool>> &needs,
               const std::vector<std::tuple<int, int>> &above, int root, const std::optional<nb::callable> &predicate,
               bool refines) {
                new (self) RuleJudge({statistics.data(), statistics.size()}, static_cast<int>(statistics.shape(1)),
                                     rule_loss(loss), min_support);
                for (const auto &[coefficient, at_least] : linear) {
                    self->linear.push_back({{coefficient.data(), coefficient.data() + coefficient.size()},
                                            coefficient.shape(1) > 1,
                                            at_least});
                }
                for (const auto &[a, b, c, d, tolerance] : ratios) {
                    self->ratios.push_back({a, b, c, d, tolerance});
                }
                if (prices) {
                    const auto &[full, again, group, limit, weight] = *prices;
                    self->prices = {full, again, group, limit, weight};
                }
                for (const auto &[features, n] : at_most) {
                    self->shape.at_most.push_back({features, n});
                }
                for (const auto &[feature, others, first] : needs) {
                    self->shape.needs.push_back({feature, others, first});
                }
                for (const auto &[early, late] : above) {
                    self->shape.above.push_back({early, late});
                }
                self->shape.root = root;
                if (predicate) {
                    const nb::callable function = *predicate;
                    self->predicate = [function](std::span<const omtree::JudgedCondition> conditions,
                                                 omtree::RowNumbers rows, int label) {
                        nb::gil_scoped_acquire acquire;
                        nb::list described;
                        for (const omtree::JudgedCondition &condition : conditions) {
                            nb::list codes;
                            for (int code = 0; code < 256; ++code) {
                                if (condition.codes[code / 64] >> (code % 64) & 1) {
                                    codes.append(code);
                                }
                            }
                            described.append(nb::make_tuple(condition.feature, nb::tuple(codes)));
                        }
                        return nb::cast<bool>(
                            function(described, Rows(rows.data(), {rows.size()}, nb::handle()).cast(), label));
                    };
                }
                self->refines = refines;
                self->finish();
            },
            nb::arg("statistics"), nb::arg("loss"), nb::kw_only(), nb::arg("min_support"), nb::arg("linear"),
            nb::arg("ratios"), nb::arg("prices").none(), nb::arg("at_most"), nb::arg("needs"), nb::arg("above"),
            nb::arg("root"), nb::arg("predicate").none(), nb::arg("refines"))
        .def(
            "judge",
            [](const RuleJudge &self, Vector<std::uint32_t> rows,
               const std::vector<std::pair<int, std::vector<int>>> &conditions) {
                const std::vector<double> sums = sums_over(self, view(rows));
                std::vector<std::array<std::uint64_t, 4>> masks(conditions.size());
                std::vector<omtree::JudgedCondition> judged;
                std::vector<int> features;
                for (std::size_t i = 0; i < conditions.size(); ++i) {
                    masks[i].fill(0);
                    for (const int code : conditions[i].second) {
                        masks[i][code / 64] |= std::uint64_t{1} << (code % 64);
                    }
                    features.push_back(conditions[i].first);
                    judged.push_back({conditions[i].first, masks[i].data()});
                }
                const omtree::Verdict verdict = self.judge(sums.data(), view(rows), judged, features);
                return std::make_pair(verdict.loss, verdict.label);
            },
            nb::arg("rows"), nb::arg("conditions"))
        .def(
            "bare_loss",
            [](const RuleJudge &self, Vector<std::uint32_t> rows) {
                const std::vector<double> sums = sums_over(self, view(rows));
                return self.bare_loss(sums.data(), view(rows));
            },
            nb::arg("rows"))
        .def("floor", [](const RuleJudge &self) { return to_numpy(std::vector<double>(self.floor())); });
}

omtree::GeneralProblem general_problem(const Matrix<std::uint8_t> &codes, const omtree::RuleJudge &judge,
                                       const std::vector<int> &columns, const std::vector<int> &n_codes,
                                       const std::vector<std::string> &families, const std::vector<bool> &has_missing,
                                       const std::vector<std::vector<int>> &orders) {
    if (codes.shape(1) != judge.n_rows()) {
        throw nb::value_error("codes and judge differ in the number of rows");
    }
    omtree::GeneralProblem problem;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        problem.features.push_back(search_feature(families[i], n_codes[i], has_missing[i], orders[i],
                                                  codes.data() + columns[i] * codes.shape(1)));
    }
    problem.columns = columns;
    problem.judge = &judge;
    return problem;
}

void bind_general_search(nb::module_ &m) {
    m.def(
        "search_general",
        [](Matrix<std::uint8_t> codes, const omtree::RuleJudge &judge, const std::vector<int> &columns,
           const std::vector<int> &n_codes, const std::vector<std::string> &families,
           const std::vector<bool> &has_missing, const std::vector<std::vector<int>> &orders, int max_depth,
           int max_leaves, bool binary, int max_children, int n_threads, std::size_t cache_bytes, double seconds,
           bool use_bounds, bool use_cache) {
            omtree::GeneralProblem problem =
                general_problem(codes, judge, columns, n_codes, families, has_missing, orders);
            problem.max_depth = max_depth;
            problem.max_leaves = max_leaves;
            problem.binary = binary;
            problem.max_children = binary ? 2 : max_children;
            problem.n_threads = n_threads;
            problem.cache_bytes = cache_bytes;
            problem.use_bounds = use_bounds;
            problem.use_cache = use_cache;
            omtree::Control control;
            control.until = moment(seconds);
            omtree::SearchResult result;
            const bool interrupted =
                interruptibly(control.cancelled, [&] { result = omtree::search_general(problem, control); });
            return search_answer(result, interrupted);
        },
        nb::arg("codes"), nb::arg("judge"), nb::kw_only(), nb::arg("columns"), nb::arg("n_codes"), nb::arg("families"),
        nb::arg("has_missing"), nb::arg("orders"), nb::arg("max_depth"), nb::arg("max_leaves"), nb::arg("binary"),
        nb::arg("max_children"), nb::arg("n_threads"), nb::arg("cache_bytes"), nb::arg("seconds"),
        nb::arg("use_bounds"), nb::arg("use_cache"));
}

void bind_general_pricing(nb::module_ &m) {
    using omtree::GeneralPricer;
    nb::class_<GeneralPricer>(m, "GeneralPricer")
        .def(
            "__init__",
            [](GeneralPricer *self, const BoundPricer &pricer, const omtree::RuleJudge &judge, Matrix<double> floors,
               double unit, bool every_path) {
                if (judge.n_rows() != pricer.pricer.n_rows() || floors.shape(0) != judge.n_rows()) {
                    throw nb::value_error("GeneralPricer: pricer, judge and floors differ in their rows");
                }
                new (self) GeneralPricer(pricer.pricer, judge, {floors.data(), floors.size()}, unit, every_path);
            },
            nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
        .def("price",
             [](const GeneralPricer &self, Matrix<double> credit, double constant, int max_depth, double threshold,
                std::size_t limit, bool stop_when_full, bool all_labels, double seconds, std::size_t k_best) {
                 const int longest = std::min(max_depth, static_cast<int>(self.pricer().graph().levels().size()));
                 const auto n_labels = static_cast<std::size_t>(self.judge().n_labels());
                 if (longest > omtree::max_rule_length) {
                     throw nb::value_error("price: max_depth is more than the conditions a rule can hold");
                 }
                 if (credit.shape(0) != self.pricer().n_rows() || credit.shape(1) != (all_labels ? n_labels : 1)) {
                     throw nb::value_error("price: credits must have a row per row and a column per free label");
                 }
                 omtree::PricingTask task;
                 task.value = {credit.data(), credit.size()};
                 task.constant = constant;
                 task.max_depth = longest;
                 task.min_support = self.judge().min_support();
                 task.threshold = threshold;
                 task.limit = limit;
                 task.stop_when_full = stop_when_full;
                 task.all_labels = all_labels;
                 task.costs_differ = self.judge().prices.weight != 0.0;
                 task.seconds = seconds;
                 omtree::PricingResult result;
                 std::atomic<bool> cancelled{false};
                 raise_if(interruptibly(cancelled, [&] {
                     result = k_best ? self.shortest_paths(task, k_best, cancelled) : self.exact(task, cancelled);
                 }));
                 return priced_rules(result, max_depth);
             })
        .def("losses", [](const GeneralPricer &self, Matrix<std::int32_t> rules, Vector<std::int32_t> labels) {
            if (rules.shape(0) != labels.size()) {
                throw nb::value_error("losses: rules and labels differ in length");
            }
            std::vector<std::int32_t> chosen(labels.data(), labels.data() + labels.size());
            std::vector<double> found;
            {
                nb::gil_scoped_release release;
                found = self.losses({rules.data(), rules.size()}, static_cast<int>(rules.shape(1)), chosen);
            }
            return std::make_tuple(to_numpy(std::move(found)), to_numpy(std::move(chosen)));
        });
}

void bind_fronts(nb::module_ &m) {
    m.def(
        "attainable_vectors",
        [](Matrix<std::uint8_t> codes, const omtree::RuleJudge &judge, Matrix<double> costs,
           nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu> forms,
           const std::vector<std::string> &sense, double test_weight, Matrix<double> demands, Vector<double> at_least,
           double budget, double least, std::size_t most_vectors, const std::vector<int> &columns,
           const std::vector<int> &n_codes, const std::vector<std::string> &families,
           const std::vector<bool> &has_missing, const std::vector<std::vector<int>> &orders, int max_depth,
           int max_leaves, bool binary, int max_children, std::size_t cache_bytes, double seconds, bool use_bounds,
           bool use_cache) {
            using Sense = omtree::FrontTask::Sense;
            omtree::FrontTask task;
            task.problem = general_problem(codes, judge, columns, n_codes, families, has_missing, orders);
            task.problem.max_depth = max_depth;
            task.problem.max_leaves = max_leaves;
            task.problem.binary = binary;
            task.problem.max_children = binary ? 2 : max_children;
            task.problem.cache_bytes = cache_bytes;
            task.problem.use_bounds = use_bounds;
            task.problem.use_cache = use_cache;
            task.n_forms = static_cast<int>(forms.shape(0));
            task.n_strata = static_cast<int>(forms.shape(1));
            task.n_labels = static_cast<int>(forms.shape(2));
            if (sense.size() != forms.shape(0) || demands.shape(0) != at_least.size() ||
                forms.shape(0) + at_least.size() > static_cast<std::size_t>(omtree::FrontTask::most_numbers) ||
                costs.shape(0) != forms.shape(1) || costs.shape(1) != forms.shape(2)) {
                throw nb::value_error("attainable_vectors: the shapes do not fit");
            }
            task.costs.assign(costs.data(), costs.data() + costs.size());
            task.forms.assign(forms.data(), forms.data() + forms.size());
            for (const std::string &name : sense) {
                task.sense.push_back(name == "min" ? Sense::least : name == "max" ? Sense::most : Sense::equal);
            }
            task.test_weight = test_weight;
            task.demands.assign(demands.data(), demands.data() + demands.size());
            task.at_least.assign(at_least.data(), at_least.data() + at_least.size());
            task.budget = budget;
            task.least = least;
            task.most_vectors = most_vectors;
            omtree::Control control;
            control.until = moment(seconds);
            omtree::FrontResult result;
            const bool interrupted =
                interruptibly(control.cancelled, [&] { result = omtree::attainable_vectors(task, control); });
            return nb::make_tuple(to_numpy(std::move(result.vectors)), to_numpy(std::move(result.losses)),
                                  to_numpy(std::move(result.leaves)), trees_as_lists(result.trees), result.best,
                                  result.finished, result.overflow, interrupted);
        },
        nb::arg("codes"), nb::arg("judge"), nb::arg("costs"), nb::arg("forms"), nb::kw_only(), nb::arg("sense"),
        nb::arg("test_weight"), nb::arg("demands"), nb::arg("at_least"), nb::arg("budget"), nb::arg("least"),
        nb::arg("most_vectors"), nb::arg("columns"), nb::arg("n_codes"), nb::arg("families"), nb::arg("has_missing"),
        nb::arg("orders"), nb::arg("max_depth"), nb::arg("max_leaves"), nb::arg("binary"), nb::arg("max_children"),
        nb::arg("cache_bytes"), nb::arg("seconds"), nb::arg("use_bounds"), nb::arg("use_cache"));
}

void bind_normal(nb::module_ &m) {
    using MutableMatrix = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
    m.def("add_normal_matrix",
          [](Vector<std::int32_t> start, Vector<std::int32_t> index, Vector<double> weight, MutableMatrix out) {
              const auto s = view(start);
              const auto i = view(index);
              const auto w = view(weight);
              nb::gil_scoped_release release;
              omtree::add_normal_matrix(s, i, w, {out.data(), out.size()}, out.shape(1));
          });
}

void bind_exact_cover(nb::module_ &m) {
    m.def(
        "exact_cover",
        [](std::size_t n_rows, Vector<std::int32_t> start, Vector<std::int32_t> index, Vector<double> loss,
           Vector<double> reduced_cost, Matrix<double> extra, Vector<double> at_least, double bound, double cutoff,
           double step, int max_rules, double seconds, const std::optional<nb::callable> &conflict) {
            omtree::CoverTask task;
            if (conflict) {
                task.conflict = [&conflict](std::int32_t a, std::int32_t b) {
                    nb::gil_scoped_acquire acquire;
                    return nb::cast<bool>((*conflict)(a, b));
                };
            }
            task.n_rows = n_rows;
            task.start = view(start);
            task.index = view(index);
            task.loss = view(loss);
            task.reduced_cost = view(reduced_cost);
            task.extra = {extra.data(), extra.size()};
            task.at_least = view(at_least);
            task.bound = bound;
            task.cutoff = cutoff;
            task.step = step;
            task.max_rules = max_rules;
            task.seconds = seconds;
            omtree::CoverResult result;
            std::atomic<bool> cancelled{false};
            raise_if(interruptibly(cancelled, [&] { result = omtree::exact_cover(task, cancelled); }));
            return std::make_tuple(to_numpy(std::move(result.rules)), result.loss, result.complete, result.nodes);
        },
        nb::arg("n_rows"), nb::arg("start"), nb::arg("index"), nb::arg("loss"), nb::arg("reduced_cost"),
        nb::arg("extra"), nb::arg("at_least"), nb::arg("bound"), nb::arg("cutoff"), nb::arg("step"),
        nb::arg("max_rules"), nb::arg("seconds"), nb::arg("conflict") = nb::none());
}

} // namespace

NB_MODULE(_native, m) {
    bind_search(m);
    bind_joint_counts(m);
    bind_coding(m);
    bind_texts(m);
    bind_quantiles(m);
    bind_pricing(m);
    bind_rule_tables(m);
    bind_judge(m);
    bind_general_search(m);
    bind_general_pricing(m);
    bind_fronts(m);
    bind_normal(m);
    bind_exact_cover(m);
}
