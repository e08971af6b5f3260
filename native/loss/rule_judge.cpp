#include "loss/rule_judge.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace omtree {

namespace {

bool contains(std::span<const int> set, int feature) {
    return std::find(set.begin(), set.end(), feature) != set.end();
}

int shared(std::span<const int> a, std::span<const int> b) {
    return static_cast<int>(std::count_if(a.begin(), a.end(), [&](int feature) { return contains(b, feature); }));
}

} // namespace

double TestPrices::price(std::span<const int> features) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < features.size(); ++i) {
        const int f = features[i];
        bool pays_in_full = true;
        for (std::size_t j = 0; j < features.size() && group[f] >= 0; ++j) {
            const int g = features[j];
            if (group[g] == group[f] &&
                (full[g] - again[g] > full[f] - again[f] || (full[g] - again[g] == full[f] - again[f] && g < f))) {
                pays_in_full = false;
            }
        }
        sum += pays_in_full ? full[f] : again[f];
    }
    return sum;
}

bool PathShape::may_follow(std::span<const int> path, int feature) const {
    if (path.empty() && root >= 0 && feature != root) {
        return false;
    }
    for (const AtMost &limit : at_most) {
        if (contains(limit.features, feature) && shared(path, limit.features) + !contains(path, feature) > limit.n) {
            return false;
        }
    }
    for (const Needs &need : needs) {
        if (need.first && need.feature == feature && shared(need.others, path) < static_cast<int>(need.others.size())) {
            return false;
        }
    }
    return std::none_of(above.begin(), above.end(), [&](const Above &order) {
        return order.early == feature && contains(path, order.late) && !contains(path, feature);
    });
}

bool PathShape::may_grow(std::span<const int> path) const {
    return std::none_of(at_most.begin(), at_most.end(),
                        [&](const AtMost &limit) { return shared(path, limit.features) > limit.n; });
}

bool PathShape::complete(std::span<const int> path) const {
    if (!may_grow(path) || (root >= 0 && !contains(path, root))) {
        return false;
    }
    return std::all_of(needs.begin(), needs.end(), [&](const Needs &need) {
        return !contains(path, need.feature) || shared(need.others, path) == static_cast<int>(need.others.size());
    });
}

RuleJudge::RuleJudge(std::span<const double> statistics, int n_statistics, std::unique_ptr<RuleLoss> loss,
                     double min_support)
    : statistics_(statistics.begin(), statistics.end()), n_statistics_(n_statistics), loss_(std::move(loss)),
      min_support_(min_support) {}

void RuleJudge::finish() {
    double largest = 0.0;
    for (const double statistic : statistics_) {
        largest = std::max(largest, std::abs(statistic));
    }
    // Statistics are sums of doubles: a limit that is missed by rounding alone counts as met.
    tolerance_ = 1e-12 * std::max(1.0, largest * static_cast<double>(n_rows()));
    floor_.assign(n_rows(), 0.0);
    for (std::uint32_t i = 0; refines && i < n_rows(); ++i) {
        floor_[i] = bare_loss(row(i), {&i, 1});
    }
    growing_.assign(linear.size(), 1);
    for (std::size_t l = 0; l < linear.size(); ++l) {
        for (std::size_t i = 0; i < n_rows() && growing_[l]; ++i) {
            growing_[l] = !linear[l].by_label && linear_value(linear[l], row(i), 0) >= 0.0;
        }
    }
}

double RuleJudge::linear_value(const LinearLimit &limit, const double *statistics, int label) const {
    const int n_labels = limit.by_label ? loss_->n_labels() : 1;
    double sum = 0.0;
    for (int s = 0; s < n_statistics_; ++s) {
        sum += statistics[s] * limit.coefficient[limit.by_label ? s * n_labels + label : s];
    }
    return sum;
}

bool RuleJudge::hopeless(const double *statistics) const {
    if (!supported(statistics[0])) {
        return true;
    }
    for (std::size_t l = 0; l < linear.size(); ++l) {
        if (growing_[l] && linear_value(linear[l], statistics, 0) < linear[l].at_least - tolerance_) {
            return true;
        }
    }
    return false;
}

bool RuleJudge::may_test(std::span<const int> features, double &paid) const {
    const double price = prices.empty() ? 0.0 : prices.price(features);
    paid = prices.weight * price;
    return affordable(features) && shape.complete(features);
}

bool RuleJudge::allow(const double *statistics, RowNumbers rows, std::span<const JudgedCondition> conditions,
                      std::vector<char> &labels) const {
    labels.clear();
    if (!supported(statistics[0])) {
        return false;
    }
    for (const RatioLimit &limit : ratios) {
        const double b = statistics[limit.b];
        const double d = statistics[limit.d];
        if (b > 0.0 && d > 0.0 &&
            std::abs(statistics[limit.a] / b - statistics[limit.c] / d) > limit.tolerance + 1e-12) {
            return false;
        }
    }
    const int n_labels = loss_->n_labels();
    const auto forbid = [&](int label) {
        if (labels.empty()) {
            labels.assign(n_labels, 1);
        }
        labels[label] = 0;
    };
    for (const LinearLimit &limit : linear) {
        for (int label = 0; label < (limit.by_label ? n_labels : 1); ++label) {
            if (linear_value(limit, statistics, label) < limit.at_least - tolerance_) {
                if (!limit.by_label) {
                    return false;
                }
                forbid(label);
            }
        }
    }
    for (int label = 0; predicate && label < n_labels; ++label) {
        if ((labels.empty() || labels[label]) && !predicate(conditions, rows, label)) {
            forbid(label);
        }
    }
    return labels.empty() || std::find(labels.begin(), labels.end(), 1) != labels.end();
}

bool RuleJudge::allows(const double *statistics, RowNumbers rows, std::span<const JudgedCondition> conditions,
                       std::span<const int> features, std::vector<char> &labels) const {
    return shape.complete(features) && affordable(features) && allow(statistics, rows, conditions, labels);
}

double RuleJudge::loss_under(int label, const double *statistics, RowNumbers rows) const {
    if (n_labels() == 1) {
        return bare_loss(statistics, rows);
    }
    std::vector<char> only(n_labels(), 0);
    only[label] = 1;
    return loss_->judge(statistics + 1, rows, only.data()).loss;
}

Verdict RuleJudge::judge(const double *statistics, RowNumbers rows, std::span<const JudgedCondition> conditions,
                         std::span<const int> features) const {
    double paid = 0.0;
    if (!may_test(features, paid)) {
        return {std::numeric_limits<double>::infinity(), 0};
    }
    return judge_tested(statistics, rows, conditions, paid);
}

Verdict RuleJudge::judge_tested(const double *statistics, RowNumbers rows, std::span<const JudgedCondition> conditions,
                                double paid, const std::vector<char> *wanted) const {
    std::vector<char> labels;
    if (!allow(statistics, rows, conditions, labels)) {
        return {std::numeric_limits<double>::infinity(), 0};
    }
    if (wanted != nullptr) {
        bool any = false;
        labels.resize(wanted->size(), 1);
        for (std::size_t label = 0; label < labels.size(); ++label) {
            labels[label] = labels[label] && (*wanted)[label];
            any = any || labels[label];
        }
        if (!any) {
            return {std::numeric_limits<double>::infinity(), 0};
        }
    }
    Verdict verdict = loss_->judge(statistics + 1, rows, labels.empty() ? nullptr : labels.data());
    verdict.loss += paid * statistics[0];
    return verdict;
}

} // namespace omtree
