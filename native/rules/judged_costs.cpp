#include "rules/judged_costs.hpp"

#include <cmath>
#include <numeric>

#include "rules/pricing_paths.hpp"
#include "rules/pricing_walk.hpp"

namespace omtree {

GeneralPricer::GeneralPricer(const Pricer &pricer, const RuleJudge &judge, std::span<const double> floors, double unit,
                             bool every_path)
    : pricer_(pricer), judge_(judge), floors_(floors.begin(), floors.end()), unit_(unit), every_path_(every_path) {
    for (std::size_t l = 0; l < pricer.graph().levels().size(); ++l) {
        const auto feature = static_cast<std::size_t>(pricer.graph().levels()[l].feature);
        level_of_feature_.resize(std::max(level_of_feature_.size(), feature + 1), -1);
        level_of_feature_[feature] = static_cast<int>(l);
    }
}

bool GeneralPricer::may_go_on(std::span<const int> features, int level) const {
    const PathShape &shape = judge_.shape;
    if (!shape.may_grow(features) || !judge_.affordable(features)) {
        return false;
    }
    const auto within_reach = [&](int feature) {
        const auto f = static_cast<std::size_t>(feature);
        return std::find(features.begin(), features.end(), feature) != features.end() ||
               (f < level_of_feature_.size() && level_of_feature_[f] > level);
    };
    if (shape.root >= 0 && !within_reach(shape.root)) {
        return false;
    }
    return std::all_of(shape.needs.begin(), shape.needs.end(), [&](const PathShape::Needs &need) {
        return std::find(features.begin(), features.end(), need.feature) == features.end() ||
               std::all_of(need.others.begin(), need.others.end(), within_reach);
    });
}

std::vector<double> GeneralPricer::losses(std::span<const std::int32_t> rules, int width,
                                          std::vector<std::int32_t> &labels) const {
    std::vector<double> found(labels.size());
    std::vector<double> sums(static_cast<std::size_t>(judge_.n_statistics()));
    std::vector<char> allowed;
    std::vector<std::int32_t> all(pricer_.n_rows());
    std::iota(all.begin(), all.end(), 0);
    std::vector<std::int32_t> rows;
    for (std::size_t r = 0; r < labels.size(); ++r) {
        const auto rule = rules.subspan(r * static_cast<std::size_t>(width), static_cast<std::size_t>(width));
        JudgedPath path;
        int length = 0;
        for (; length < width && rule[static_cast<std::size_t>(length)] >= 0; ++length) {
            const int condition = rule[static_cast<std::size_t>(length)];
            const Level &level =
                pricer_.graph().levels()[static_cast<std::size_t>(pricer_.graph().level_of(condition))];
            path.set(length, level, condition - level.first);
        }
        pricer_.covered(rule, all, rows);
        std::fill(sums.begin(), sums.end(), 0.0);
        for (const std::int32_t i : rows) {
            for (std::size_t s = 0; s < sums.size(); ++s) {
                sums[s] += judge_.row(static_cast<std::size_t>(i))[s];
            }
        }
        const auto conditions = path.first_conditions(length);
        const auto features = path.first_features(length);
        const Verdict best = judge_.judge(sums.data(), as_numbers(rows), conditions, features);
        found[r] = best.loss;
        if (labels[r] < 0) {
            labels[r] = best.label;
        } else if (labels[r] != best.label && std::isfinite(best.loss)) {
            const auto label = static_cast<std::size_t>(labels[r]);
            const bool allows = judge_.allows(sums.data(), as_numbers(rows), conditions, features, allowed) &&
                                (allowed.empty() || allowed[label]);
            found[r] =
                allows ? judge_.loss_under(labels[r], sums.data(), as_numbers(rows)) + judge_.paid(sums[0], features)
                       : std::numeric_limits<double>::infinity();
        }
        found[r] /= unit_;
    }
    return found;
}

JudgedCosts::JudgedCosts(const GeneralPricer &general, const PricingTask &task)
    : general_(general), judge_(general.judge()), task_(task),
      credit_(static_cast<std::size_t>(general.judge().n_statistics())),
      n_credits_(task.value.size() / std::max<std::size_t>(1, general.pricer().n_rows())), count_(credit_ + n_credits_),
      low_(count_ + 1) {
    const std::size_t n_rows = general.pricer().n_rows();
    const std::size_t n_floors = general.floors().size() / std::max<std::size_t>(1, n_rows);
    n_cases_ = std::max(n_credits_, n_floors);
    const bool slow = judge_.needs_rows();
    short_ = whole_lanes(low_ + (slow ? n_cases_ : 0));
    stride_ = short_ + whole_lanes(n_cases_);
    data_.assign(n_rows * stride_, 0.0);
    for (std::size_t i = 0; i < n_rows; ++i) {
        double *row = data_.data() + i * stride_;
        std::copy_n(judge_.row(i), credit_, row);
        std::copy_n(task.value.data() + i * n_credits_, n_credits_, row + credit_);
        row[count_] = 1.0;
        for (std::size_t c = 0; c < n_cases_; ++c) {
            const double value = general.floors()[i * n_floors + (n_floors > 1 ? c : 0)] / general.unit() -
                                 row[credit_ + (n_credits_ > 1 ? c : 0)];
            row[short_ + c] = std::min(0.0, value);
            if (slow) {
                row[low_ + c] = value;
            }
        }
    }
}

void JudgedCosts::sum_all(std::vector<double> &sums) const {
    sums.assign(stride_, 0.0);
    for (std::size_t i = 0; i < data_.size(); ++i) {
        sums[i % stride_] += data_[i];
    }
}

double JudgedCosts::rank(const double *sums, std::int32_t &label) const {
    label = 0; // whoever offers the rule chooses it
    if (judge_.needs_rows()) {
        return least_of(sums + low_);
    }
    if (!task_.all_labels) {
        return judge_.bare_loss(sums, {}) / general_.unit() - credit(sums, 0);
    }
    double least = std::numeric_limits<double>::infinity();
    for (int any = 0; any < judge_.n_labels(); ++any) {
        least = std::min(least, judge_.loss_under(any, sums, {}) / general_.unit() - credit(sums, any));
    }
    return least;
}

PricingResult GeneralPricer::price(const PricingTask &task, std::size_t k, const std::atomic<bool> &cancelled) const {
    const JudgedCosts costs(*this, task);
    return k ? ShortestPaths(pricer_, costs, task, k, cancelled).run() : price_exactly(pricer_, costs, task, cancelled);
}

} // namespace omtree
