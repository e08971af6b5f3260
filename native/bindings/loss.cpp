// The judge of rules for Python.
#include "bindings/arrays.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <tuple>

#include "loss/rule_judge.hpp"

namespace omtree::bindings {

namespace {

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
    if (parts.size() != 5) {
        throw nb::value_error("RuleJudge: this kind of loss is not known");
    }
    const auto costs = nb::cast<Vector<double>>(parts[4]);
    return omtree::formula_loss(omtree::loss_named(kind), nb::cast<int>(parts[1]), nb::cast<int>(parts[3]),
                                {costs.data(), costs.data() + costs.size()});
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

} // namespace

void bind_loss(nb::module_ &m) {
    bind_judge(m);
}

} // namespace omtree::bindings
