// Pricing, covers and the linear algebra of the master for Python.
#include "bindings/arrays.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <tuple>

#include "rules/exact_cover.hpp"
#include "rules/judged_costs.hpp"
#include "rules/normal.hpp"
#include "rules/pricing.hpp"
#include "rules/rule_tables.hpp"

namespace omtree::bindings {

namespace {

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
             [](const BoundPricer &self, Matrix<double> value, double constant, int max_depth, double min_support,
                double threshold, std::size_t limit, bool stop_when_full, bool all_labels, double seconds,
                std::size_t k_best) {
                 if (std::min(max_depth, static_cast<int>(self.pricer.graph().levels().size())) >
                     omtree::max_rule_length) {
                     throw nb::value_error("price: max_depth is more than the conditions a rule can hold");
                 }
                 PricingTask task;
                 task.value = {value.data(), value.size()};
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
                 raise_if(interruptibly(cancelled, [&] { result = self.pricer.price(task, k_best, cancelled); }));
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
                 raise_if(interruptibly(cancelled, [&] { result = self.price(task, k_best, cancelled); }));
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

void bind_rules(nb::module_ &m) {
    bind_pricing(m);
    bind_rule_tables(m);
    bind_general_pricing(m);
    bind_normal(m);
    bind_exact_cover(m);
}

} // namespace omtree::bindings
