#include "trees/general_vectors.hpp"

#include <algorithm>
#include <cmath>

namespace omtree::general {

VectorOrder::VectorOrder(const FrontTask &task, const RuleJudge &judge)
    : task_(task), n_demands_(static_cast<int>(task.at_least.size())) {
    const int cells = task.n_strata * task.n_labels;
    std::vector<double> total(task.n_strata, 0.0);
    double weight = 0.0;
    for (std::size_t i = 0; i < judge.n_rows(); ++i) {
        weight += judge.row(i)[0];
        for (int s = 0; s < task.n_strata; ++s) {
            total[s] += judge.row(i)[1 + s];
        }
    }
    for (int form = 0; form < task.n_forms; ++form) {
        double largest = 0.0;
        for (int cell = 0; cell < cells; ++cell) {
            largest = std::max(largest, std::abs(task.forms[form * cells + cell]));
        }
        tolerance_.push_back(1e-11 * std::max(1e-9, largest * weight));
        if (task.sense[form] == FrontTask::Sense::equal) {
            equal_.push_back(form);
        } else {
            better_.emplace_back(form, task.sense[form] == FrontTask::Sense::least ? 1.0 : -1.0);
        }
    }
    for (int d = 0; d < n_demands_; ++d) {
        double most = 0.0;
        for (int s = 0; s < task.n_strata; ++s) {
            std::vector<double> gives(task.n_labels, 0.0);
            for (int label = 0; label < task.n_labels; ++label) {
                for (int form = 0; form < task.n_forms; ++form) {
                    gives[label] +=
                        task.demands[d * task.n_forms + form] * task.forms[form * cells + s * task.n_labels + label];
                }
            }
            const double best = *std::max_element(gives.begin(), gives.end());
            most += best * total[s];
            for (const double give : gives) {
                missed_.push_back(best - give);
            }
        }
        slack_.push_back(most - task.at_least[d] + 1e-9 * std::max(1.0, std::abs(task.at_least[d])));
    }
}

double VectorOrder::leaf(const double *sums, int label, double paid,
                         std::array<double, FrontTask::most_numbers> &number) const {
    double value = paid * sums[0];
    const int cells = task_.n_strata * task_.n_labels;
    for (int s = 0; s < task_.n_strata; ++s) {
        const int cell = s * task_.n_labels + label;
        value += sums[1 + s] * task_.costs[cell];
        for (int form = 0; form < task_.n_forms; ++form) {
            number[form] += sums[1 + s] * task_.forms[form * cells + cell];
        }
        for (int d = 0; d < n_demands_; ++d) {
            number[task_.n_forms + d] += sums[1 + s] * missed_[d * cells + cell];
        }
    }
    // What tests cost counts as loss; it can only take from a demand.
    const RuleJudge &judge = *task_.problem.judge;
    if (task_.test_weight > 0.0 && judge.prices.weight > 0.0) {
        const double cost = paid / judge.prices.weight * task_.test_weight * sums[0];
        number[0] += cost;
        for (int d = 0; d < n_demands_; ++d) {
            number[task_.n_forms + d] -= cost * task_.demands[d * task_.n_forms];
        }
    }
    return value;
}

double VectorOrder::least_mixed(const double *sums, int feature) {
    const RuleJudge &judge = *task_.problem.judge;
    const int stride = judge.n_statistics();
    const int n_labels = task_.n_labels;
    // What every code costs with a leaf of its own, and what each label costs more there.
    double floor = 0.0;
    weight_.clear();
    more_.clear();
    for (int code = 0; code < task_.problem.features[feature].n_codes; ++code, sums += stride) {
        if (sums[0] <= 0.0) {
            continue;
        }
        weight_.push_back(sums[0]);
        double least = infinity;
        for (int label = 0; label < n_labels; ++label) {
            double cost = 0.0;
            for (int s = 0; s < task_.n_strata; ++s) {
                cost += sums[1 + s] * task_.costs[s * n_labels + label];
            }
            more_.push_back(cost);
            least = std::min(least, cost);
        }
        floor += least;
        for (std::size_t i = more_.size() - n_labels; i < more_.size(); ++i) {
            more_[i] -= least;
        }
    }
    // Two labels have a leaf each, of codes of enough weight: the cheapest ones, perhaps with a part of the last.
    const double support = judge.min_support() * (1.0 - 1e-9) - 1e-12;
    double first = infinity;
    double second = infinity;
    for (int label = 0; label < n_labels; ++label) {
        cheapest_.clear();
        for (std::size_t i = 0; i < weight_.size(); ++i) {
            cheapest_.emplace_back(more_[i * n_labels + label] / weight_[i], weight_[i]);
        }
        std::sort(cheapest_.begin(), cheapest_.end());
        double extra = 0.0;
        double left = support;
        for (const auto &[price, weight] : cheapest_) {
            if (left <= 0.0) {
                break;
            }
            extra += price * std::min(left, weight);
            left -= weight;
        }
        second = std::min(second, std::max(first, extra));
        first = std::min(first, extra);
    }
    return floor + first + second;
}

bool VectorOrder::may_meet_demands(const Entry &entry) const {
    for (int d = 0; d < n_demands_; ++d) {
        if (entry.number[task_.n_forms + d] > slack_[d]) {
            return false;
        }
    }
    return true;
}

void VectorOrder::prune(Front &front) const {
    if (front.size() > 1) {
        // Numbers that are equal but for rounding fall into one step of the tolerance, or into two: then both are kept.
        const auto step = [&](const Entry &entry, int form) {
            return std::nearbyint(entry.number[form] / (100.0 * tolerance_[form]));
        };
        std::sort(front.begin(), front.end(), [&](const Entry &a, const Entry &b) {
            for (const int form : equal_) {
                const double x = step(a, form);
                const double y = step(b, form);
                if (x != y) {
                    return x < y;
                }
            }
            for (const auto &[form, sign] : better_) {
                if (a.number[form] != b.number[form]) {
                    return sign * a.number[form] < sign * b.number[form];
                }
            }
            return a.leaves < b.leaves;
        });
        const auto same = [&](const Entry &a, const Entry &b) {
            return std::all_of(equal_.begin(), equal_.end(), [&](int form) { return step(a, form) == step(b, form); });
        };
        const auto as_good = [&](const Entry &a, const Entry &b) {
            return (!count_leaves || a.leaves <= b.leaves) &&
                   std::all_of(better_.begin(), better_.end(), [&](const auto &part) {
                       const auto &[form, sign] = part;
                       return sign * (a.number[form] - b.number[form]) <= tolerance_[form];
                   });
        };
        std::size_t kept = 0;
        std::size_t group = 0;
        for (std::size_t i = 0; i < front.size(); ++i) {
            if (kept > group && !same(front[group], front[i])) {
                group = kept;
            }
            bool dominated = false;
            for (std::size_t j = kept; j > group && !dominated; --j) {
                dominated = as_good(front[j - 1], front[i]);
            }
            if (!dominated) {
                front[kept++] = front[i];
            }
        }
        front.resize(kept);
    }
    std::stable_sort(front.begin(), front.end(), [](const Entry &a, const Entry &b) { return a.value < b.value; });
}

bool VectorOrder::cut(Front &front, std::size_t most) const {
    if (front.size() <= most) {
        return false;
    }
    std::vector<char> seen;
    std::size_t kept = 0;
    for (const Entry &entry : front) {
        seen.resize(std::max<std::size_t>(seen.size(), entry.leaves + 1), 0);
        if (kept < most || !seen[entry.leaves]) {
            front[kept++] = entry;
        }
        seen[entry.leaves] = 1;
    }
    const bool dropped = kept < front.size();
    front.resize(kept);
    return dropped;
}

} // namespace omtree::general
