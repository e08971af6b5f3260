// The searches for trees for Python.
#include "bindings/arrays.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <tuple>

#include "trees/any_depth.hpp"
#include "trees/any_depth_sums.hpp"
#include "trees/binary.hpp"
#include "trees/distant_tables.hpp"
#include "trees/general_fronts.hpp"
#include "trees/general_nearby.hpp"
#include "trees/general_search.hpp"
#include "trees/joint_counts.hpp"
#include "trees/kernels.hpp"
#include "trees/search.hpp"
#include "trees/sum_search.hpp"

namespace omtree::bindings {

namespace {

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

/// Feature, codes of the children, free code, children, leaf, closed features, labels; the features by their places.
using Forced = std::vector<
    std::tuple<int, std::vector<std::vector<int>>, int, std::vector<int>, bool, std::vector<bool>, std::vector<bool>>>;

/// What every search for trees is told besides the rows and their loss: features and how their codes may be grouped,
/// which trees are looked for, and for how long.
struct TreeTask {
    std::vector<int> columns; ///< where the codes of each feature are
    std::vector<int> n_codes;
    std::vector<std::string> families;
    std::vector<bool> has_missing;
    std::vector<std::vector<int>> orders;
    Forced forced; ///< a part of the tree that is given, to searches that can keep to it
    int max_depth;
    int max_leaves;
    double min_support;
    int max_children; ///< 0: no limit
    int n_threads;
    std::size_t cache_bytes;
    double seconds;
    bool use_bounds;
    bool use_cache;
    bool every_size;
    nb::object progress; ///< told the best loss, a bound, and how many of how many branches of the root are done

    /// The problem as far as it is told here.
    template <typename Problem> Problem problem(const Matrix<std::uint8_t> *codes) const {
        Problem made;
        static_cast<omtree::SearchOptions &>(made) = {max_depth,   max_leaves, min_support, max_children, n_threads,
                                                      cache_bytes, use_bounds, use_cache,   every_size};
        made.features = features(codes);
        return made;
    }

    /// The features, with their codes where there are rows.
    std::vector<omtree::SearchFeature> features(const Matrix<std::uint8_t> *codes) const {
        std::vector<omtree::SearchFeature> found(columns.size());
        for (std::size_t i = 0; i < columns.size(); ++i) {
            const std::string &family = families[i];
            found[i].n_codes = n_codes[i];
            found[i].family = family == "interval" ? omtree::Family::interval
                              : family == "subset" ? omtree::Family::subset
                              : family == "run"    ? omtree::Family::run
                              : family == "single" ? omtree::Family::single
                                                   : omtree::Family::value;
            found[i].has_missing = has_missing[i];
            found[i].order.assign(orders[i].begin(), orders[i].end());
            found[i].codes = codes == nullptr ? nullptr : codes->data() + columns[i] * codes->shape(1);
        }
        return found;
    }

    /// Runs a search within its time, and tells how far it is; true when Ctrl-C came.
    template <typename Search> bool run(omtree::Control &control, const Search &search) const {
        control.until = moment(seconds);
        std::function<void()> report;
        if (!progress.is_none()) {
            report = [this, &control, next = std::chrono::steady_clock::now() + pause]() mutable {
                if (std::chrono::steady_clock::now() < next) {
                    return;
                }
                const omtree::Standing &standing = control.standing;
                progress(standing.best.load(), standing.bound.load(), standing.done.load(), standing.branches.load());
                next = std::chrono::steady_clock::now() + pause;
            };
        }
        return interruptibly(control.cancelled, search, report);
    }

    static constexpr std::chrono::milliseconds pause{250};
};

/// Which sums decide the loss of a leaf, and how.
void set_loss(const nb::tuple &parts, int n_sums, omtree::SearchProblem &problem) {
    const auto costs = nb::cast<Vector<double>>(parts[4]);
    problem.loss = omtree::loss_named(nb::cast<std::string>(parts[0]));
    problem.n_classes = nb::cast<int>(parts[1]);
    problem.n_weights = nb::cast<int>(parts[2]);
    problem.costs = view(costs);
    const std::size_t n_labels = nb::cast<std::size_t>(parts[3]);
    const bool linear = problem.loss == omtree::Loss::linear;
    if (problem.n_classes != n_sums || n_sums > 256 || (linear && costs.size() != n_sums * n_labels) || n_labels == 0) {
        throw nb::value_error("The loss must be of at most 256 sums, those that are counted.");
    }
}

/// Full price, price once another of the group is paid, and group of each feature; limit and weight.
using Prices = std::tuple<std::vector<double>, std::vector<double>, std::vector<int>, double, double>;

void bind_search(nb::module_ &m) {
    m.def("kernels_in_use", [] { return std::string(omtree::kernels().name); });
    m.def(
        "search_trees",
        [](Matrix<std::uint8_t> codes, Matrix<double> counts, const nb::tuple &loss, const TreeTask &task,
           const std::string &counting, const std::optional<Prices> &prices, double leaf_price) -> nb::object {
            auto problem = task.problem<omtree::SearchProblem>(&codes);
            set_loss(loss, static_cast<int>(counts.shape(1)), problem);
            problem.n_rows = counts.shape(0);
            problem.counts = {counts.data(), counts.size()};
            problem.whole_weights = true;
            for (std::size_t i = 0; i < counts.size(); ++i) {
                const bool weight = static_cast<int>(i % counts.shape(1)) < problem.n_weights;
                problem.whole_weights &= !weight || problem.counts[i] == std::floor(problem.counts[i]);
            }
            problem.counting = counting == "bits"        ? omtree::Counting::bits
                               : counting == "histogram" ? omtree::Counting::histogram
                               : counting == "tables"    ? omtree::Counting::tables
                                                         : omtree::Counting::automatic;
            omtree::TestPrices paid;
            if (prices) {
                const auto &[full, again, group, limit, weight] = *prices;
                paid = {full, again, group, limit, weight};
                if (!omtree::BinarySearch::suits(problem)) {
                    return nb::none();
                }
            }
            const bool in_bits = omtree::AnyDepthSearch::suits(problem);
            if (leaf_price > 0.0 && !in_bits && !omtree::AnyDepthSums::suits(problem)) {
                return nb::none();
            }
            omtree::Control control;
            omtree::SearchResult result;
            const bool interrupted = task.run(control, [&] {
                if (leaf_price > 0.0) {
                    result = in_bits ? omtree::AnyDepthSearch(problem, leaf_price, control).run()
                                     : omtree::AnyDepthSums(problem, leaf_price, control).run();
                    return;
                }
                result = prices ? omtree::BinarySearch(problem, paid, control).run()
                                : omtree::search_trees(problem, control);
            });
            return search_answer(result, interrupted);
        },
        nb::arg("codes"), nb::arg("counts"), nb::arg("loss"), nb::arg("task"), nb::kw_only(), nb::arg("counting"),
        nb::arg("prices").none(), nb::arg("leaf_price") = 0.0);
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
        [](nb::callable tables, Vector<double> totals, const nb::tuple &loss, const TreeTask &task,
           std::size_t table_bytes, bool whole) {
            auto problem = task.problem<omtree::SearchProblem>(nullptr);
            set_loss(loss, static_cast<int>(totals.size()), problem);
            problem.n_rows = 1;
            problem.counts = view(totals);
            problem.whole_weights = whole;
            const auto control = std::make_shared<omtree::Control>();
            CalledSource source(std::move(tables), control);
            omtree::SearchResult result;
            const bool interrupted =
                task.run(*control, [&] { result = omtree::search_tables(problem, source, table_bytes, *control); });
            return search_answer(result, interrupted);
        },
        nb::arg("tables"), nb::arg("totals"), nb::arg("loss"), nb::arg("task"), nb::kw_only(), nb::arg("table_bytes"),
        nb::arg("whole"));
}

omtree::GeneralProblem general_problem(const Matrix<std::uint8_t> &codes, const omtree::RuleJudge &judge,
                                       const TreeTask &task) {
    if (codes.shape(1) != judge.n_rows()) {
        throw nb::value_error("codes and judge differ in the number of rows");
    }
    auto problem = task.problem<omtree::GeneralProblem>(&codes);
    problem.columns = task.columns;
    problem.judge = &judge;
    for (const auto &[feature, parts, free_code, children, leaf, closed, labels] : task.forced) {
        omtree::ForcedNode &node = problem.forced.emplace_back();
        node.feature = feature;
        for (const std::vector<int> &part : parts) {
            std::array<std::uint64_t, 4> &mask = node.parts.emplace_back();
            mask.fill(0);
            for (const int code : part) {
                mask[code / 64] |= std::uint64_t{1} << (code % 64);
            }
        }
        node.free_code = free_code;
        node.children = children;
        node.leaf = leaf;
        node.closed.assign(closed.begin(), closed.end());
        node.labels.assign(labels.begin(), labels.end());
    }
    return problem;
}

void bind_general_search(nb::module_ &m) {
    m.def(
        "search_general",
        [](Matrix<std::uint8_t> codes, const omtree::RuleJudge &judge, const TreeTask &task) {
            const omtree::GeneralProblem problem = general_problem(codes, judge, task);
            omtree::Control control;
            omtree::SearchResult result;
            const bool interrupted = task.run(control, [&] { result = omtree::search_general(problem, control); });
            return search_answer(result, interrupted);
        },
        nb::arg("codes"), nb::arg("judge"), nb::arg("task"));
}

void bind_sum_search(nb::module_ &m) {
    m.def(
        "search_sums",
        [](Matrix<std::uint8_t> codes, Matrix<double> statistics, const std::string &loss,
           const TreeTask &task) -> nb::object {
            if (statistics.shape(1) < 3 || statistics.shape(0) != codes.shape(1)) {
                throw nb::value_error("search_sums: statistics must have three columns or more and the table's rows");
            }
            const int n_sums = static_cast<int>(statistics.shape(1)) - 1;
            auto problem = task.problem<omtree::SearchProblem>(&codes);
            problem.n_rows = statistics.shape(0);
            const std::span<const double> sums{statistics.data(), statistics.size()};
            if (!omtree::SumSearch::suits(problem, sums, n_sums)) {
                return nb::none();
            }
            omtree::Control control;
            omtree::SearchResult result;
            const bool interrupted = task.run(control, [&] {
                const auto kind = loss == "squared"   ? omtree::SumLoss::squared
                                  : loss == "poisson" ? omtree::SumLoss::poisson
                                                      : omtree::SumLoss::least;
                result = omtree::SumSearch(problem, sums, n_sums, kind, control).run();
            });
            return search_answer(result, interrupted);
        },
        nb::arg("codes"), nb::arg("statistics"), nb::arg("loss"), nb::arg("task"));
}

void bind_fronts(nb::module_ &m) {
    m.def(
        "attainable_vectors",
        [](Matrix<std::uint8_t> codes, const omtree::RuleJudge &judge, Matrix<double> costs,
           nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu> forms, const TreeTask &trees,
           const std::vector<std::string> &sense, double test_weight, Matrix<double> demands, Vector<double> at_least,
           double budget, double least, std::size_t most_vectors) {
            using Sense = omtree::FrontTask::Sense;
            omtree::FrontTask task;
            task.problem = general_problem(codes, judge, trees);
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
            omtree::FrontResult result;
            const bool interrupted = trees.run(control, [&] { result = omtree::attainable_vectors(task, control); });
            return nb::make_tuple(to_numpy(std::move(result.vectors)), to_numpy(std::move(result.losses)),
                                  to_numpy(std::move(result.leaves)), trees_as_lists(result.trees), result.best,
                                  result.finished, result.overflow, interrupted);
        },
        nb::arg("codes"), nb::arg("judge"), nb::arg("costs"), nb::arg("forms"), nb::arg("task"), nb::kw_only(),
        nb::arg("sense"), nb::arg("test_weight"), nb::arg("demands"), nb::arg("at_least"), nb::arg("budget"),
        nb::arg("least"), nb::arg("most_vectors"));
}

void bind_task(nb::module_ &m) {
    nb::class_<TreeTask>(m, "TreeTask")
        .def(nb::init<std::vector<int>, std::vector<int>, std::vector<std::string>, std::vector<bool>,
                      std::vector<std::vector<int>>, Forced, int, int, double, int, int, std::size_t, double, bool,
                      bool, bool, nb::object>(),
             nb::kw_only(), nb::arg("columns"), nb::arg("n_codes"), nb::arg("families"), nb::arg("has_missing"),
             nb::arg("orders"), nb::arg("forced"), nb::arg("max_depth"), nb::arg("max_leaves"), nb::arg("min_support"),
             nb::arg("max_children"), nb::arg("n_threads"), nb::arg("cache_bytes"), nb::arg("seconds"),
             nb::arg("use_bounds"), nb::arg("use_cache"), nb::arg("every_size"), nb::arg("progress").none());
}

/// Trees that become lists only when they are asked for.
struct PackedTrees {
    std::vector<omtree::SearchTree> trees;
};

void bind_nearby(nb::module_ &m) {
    nb::class_<PackedTrees>(m, "PackedTrees")
        .def("__len__", [](const PackedTrees &packed) { return packed.trees.size(); })
        .def("__getitem__", [](const PackedTrees &packed, std::size_t i) {
            if (i >= packed.trees.size()) {
                throw nb::index_error();
            }
            return tree_as_lists(packed.trees[i]);
        });
    m.def(
        "nearby_trees",
        [](Matrix<std::uint8_t> codes, const omtree::RuleJudge &judge, const TreeTask &trees, std::size_t most_trees,
           double known, double bound, double cap, bool trivial, bool shapes, std::size_t room, double leaf_price,
           bool labelled, bool by_conditions, int n_strata, std::vector<double> missed, std::vector<double> slack) {
            omtree::NearbyTask task;
            task.problem = general_problem(codes, judge, trees);
            task.most_trees = most_trees;
            task.known = known;
            task.bound = bound;
            task.cap = cap;
            task.trivial = trivial;
            task.shapes = shapes;
            task.room = room;
            task.leaf_price = leaf_price;
            task.labelled = labelled;
            task.by_conditions = by_conditions;
            task.n_strata = n_strata;
            task.missed = std::move(missed);
            task.slack = std::move(slack);
            if (task.slack.size() > omtree::NearbyTask::most_demands ||
                task.missed.size() != task.slack.size() * n_strata * judge.n_labels()) {
                throw std::invalid_argument("demands on trees must be few, with a number for every stratum and label");
            }
            omtree::Control control;
            omtree::NearbyResult result;
            const bool interrupted = trees.run(control, [&] { result = omtree::nearby_trees(task, control); });
            return nb::make_tuple(to_numpy(std::move(result.losses)), to_numpy(std::move(result.leaves)),
                                  to_numpy(std::move(result.marks)), PackedTrees{std::move(result.trees)},
                                  result.reached, result.finished, result.overflow, result.exhausted, interrupted,
                                  to_numpy(std::move(result.row_marks)), to_numpy(std::move(result.missed)));
        },
        nb::arg("codes"), nb::arg("judge"), nb::arg("task"), nb::kw_only(), nb::arg("most_trees"), nb::arg("known"),
        nb::arg("bound"), nb::arg("cap"), nb::arg("trivial"), nb::arg("shapes"), nb::arg("room"), nb::arg("leaf_price"),
        nb::arg("labelled"), nb::arg("by_conditions"), nb::arg("n_strata"), nb::arg("missed"), nb::arg("slack"));
}

} // namespace

void bind_trees(nb::module_ &m) {
    bind_task(m);
    bind_search(m);
    bind_joint_counts(m);
    bind_general_search(m);
    bind_sum_search(m);
    bind_fronts(m);
    bind_nearby(m);
}

} // namespace omtree::bindings
