// Bindings of the search over all cuts.
#include "bindings/arrays.hpp"
#include "trees/cuts/cut_search.hpp"
#include "trees/cuts/interval_sweep.hpp"
#include "trees/cuts/wide_search.hpp"

namespace omtree::bindings {

void bind_cuts(nb::module_ &m) {
    m.def("sweep_instructions", &sweep_instructions);
    m.def(
        "search_cuts",
        [](Matrix<double> views, Vector<std::int32_t> labels, int n_classes, Vector<double> targets,
           Vector<double> weights, Vector<double> masses, int max_depth, int max_leaves, double min_support,
           bool multiway, double known, double most_work, double seconds) {
            CutProblem problem;
            problem.n_rows = views.shape(1);
            for (std::size_t view = 0; view < views.shape(0); ++view) {
                problem.views.emplace_back(views.data() + view * problem.n_rows, problem.n_rows);
            }
            const auto fits = [&](std::size_t size) { return size == 0 || size == problem.n_rows; };
            if (problem.n_rows == 0 || !fits(labels.size()) || !fits(targets.size()) || !fits(weights.size()) ||
                !fits(masses.size()) || (labels.size() == 0) == (targets.size() == 0)) {
                throw nb::value_error("search_cuts: views, labels or targets, weights and masses do not fit together");
            }
            const auto valid = [&](std::int32_t label) { return label >= 0 && label < n_classes; };
            if (n_classes < 1 || n_classes > 2000 ||
                !std::all_of(labels.data(), labels.data() + labels.size(), valid)) {
                throw nb::value_error("search_cuts: labels must be 0 .. n_classes - 1, and n_classes at most 2000");
            }
            if (max_depth < 0 || max_leaves < 1) {
                throw nb::value_error("search_cuts: max_depth must be at least 0 and max_leaves at least 1");
            }
            problem.loss = labels.size() == 0 ? CutLoss::squares : CutLoss::errors;
            problem.labels = view(labels);
            problem.n_classes = n_classes;
            problem.targets = view(targets);
            problem.weights = view(weights);
            problem.masses = view(masses);
            problem.max_depth = max_depth;
            problem.max_leaves = max_leaves;
            problem.min_support = min_support;
            problem.most_work = most_work;
            std::atomic<bool> cancelled{false};
            const auto until = moment(seconds);
            const auto stopped = [&] {
                return cancelled.load(std::memory_order_relaxed) || std::chrono::steady_clock::now() >= until;
            };
            if (multiway && (labels.size() == 0 || max_leaves > max_parts || n_classes > 1000)) {
                throw nb::value_error("search_cuts: multiway trees need labels, at most 1000 of them, and few leaves");
            }
            CutResult result;
            const bool interrupted = interruptibly(cancelled, [&] {
                result = multiway ? search_wide_cuts(problem, known, stopped) : search_cuts(problem, stopped);
            });
            std::vector<nb::tuple> nodes;
            for (const CutNode &node : result.tree) {
                nodes.push_back(nb::make_tuple(node.label, node.view, node.below, node.above, node.children));
            }
            return nb::make_tuple(result.value, result.bound, result.finished, interrupted, nodes, result.sweeps);
        },
        nb::arg("views"), nb::kw_only(), nb::arg("labels"), nb::arg("n_classes"), nb::arg("targets"),
        nb::arg("weights"), nb::arg("masses"), nb::arg("max_depth"), nb::arg("max_leaves"), nb::arg("min_support"),
        nb::arg("multiway"), nb::arg("known"), nb::arg("most_work"), nb::arg("seconds"));
}

} // namespace omtree::bindings
