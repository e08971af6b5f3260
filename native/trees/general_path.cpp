#include <algorithm>
#include <cmath>
#include <utility>

#include "trees/general_searcher.hpp"

namespace omtree::general {

Path::Path(const GeneralProblem &problem) : problem_(problem), place_(problem.features.size(), -1) {
    for (const SearchFeature &feature : problem.features) {
        CodeMask mask{};
        for (int code = 0; code < feature.n_codes; ++code) {
            mask[code / 64] |= std::uint64_t{1} << (code % 64);
        }
        everything_.push_back(mask);
    }
    given_ = problem.forced.empty() ? -1 : 0;
    // The judge is given pointers to the masks: they must not move.
    masks_.reserve(problem.features.size());
}

std::span<const int> Path::columns_with(int feature) {
    if (tests(feature)) {
        return columns_;
    }
    longer_ = columns_;
    longer_.push_back(problem_.columns[feature]);
    return longer_;
}

ConditionSet Path::key() const {
    ConditionSet set;
    set.b = ConditionSet::mix(given_ + 1); // the same rows may be reached where other things are given
    for (std::size_t i = 0; i < masks_.size(); ++i) {
        std::uint64_t x = 0x9e3779b97f4a7c15ull * (columns_[i] + 1);
        for (const std::uint64_t word : masks_[i]) {
            x = ConditionSet::mix(x ^ word) + word;
        }
        set.a += ConditionSet::mix(x);
        set.b += ConditionSet::mix(x ^ 0xd6e8feb86659fd93ull);
    }
    return set;
}

int Path::position_below(int feature, int code) const {
    const ForcedNode *given = this->given();
    if (given == nullptr || given->children.empty()) {
        return -1;
    }
    if (given->feature < 0 || given->parts.empty()) {
        return given->children[0];
    }
    for (std::size_t part = 0; feature == given->feature && part < given->parts.size(); ++part) {
        if (given->parts[part][code / 64] >> (code % 64) & 1) {
            return given->children[part];
        }
    }
    // The free code alone has a child of its own.
    return given->children.size() > given->parts.size() ? given->children.back() : -1;
}

Path::Step::Step(Path &path, int feature, const CodeMask &mask, int code)
    : path_(path), feature_(feature), added_(!path.tests(feature)),
      given_(std::exchange(path.given_, path.position_below(feature, code))) {
    if (added_) {
        path.place_[feature] = static_cast<int>(path.masks_.size());
        path.masks_.push_back(mask);
        path.columns_.push_back(path.problem_.columns[feature]);
        path.conditions_.push_back({path.problem_.columns[feature], path.masks_.back().data()});
    } else {
        before_ = std::exchange(path.masks_[path.place_[feature]], mask);
    }
}

Path::Step::~Step() {
    path_.given_ = given_;
    if (added_) {
        path_.place_[feature_] = -1;
        path_.masks_.pop_back();
        path_.columns_.pop_back();
        path_.conditions_.pop_back();
    } else {
        path_.masks_[path_.place_[feature_]] = before_;
    }
}

void Values::start(int budget, double leaf) {
    loss.assign(budget + 1, leaf);
    feature.assign(budget + 1, -1);
    split.clear();
}

Shared::Shared(const GeneralProblem &problem)
    : problem(problem), judge(*problem.judge), cache(problem.cache_bytes),
      n_features(static_cast<int>(problem.features.size())), n_statistics(judge.n_statistics()),
      by_rows(judge.needs_rows()), bounded(judge.refines && problem.use_bounds) {
    int widest = 2;
    for (const SearchFeature &feature : problem.features) {
        widest = std::max(widest, feature.n_codes);
        first_code.push_back(n_codes);
        n_codes += feature.n_codes;
    }
    if (problem.max_children > 0) {
        widest = std::min(widest, problem.max_children);
    }
    most_leaves.push_back(1);
    for (int depth = 1; depth <= problem.max_depth; ++depth) {
        most_leaves.push_back(std::min<std::int64_t>(problem.max_leaves, std::int64_t{most_leaves.back()} * widest));
    }
    codes.resize(judge.n_rows() * n_features);
    std::vector<double> total(n_statistics, 0.0);
    for (std::uint32_t i = 0; i < judge.n_rows(); ++i) {
        for (int f = 0; f < n_features; ++f) {
            codes[static_cast<std::size_t>(i) * n_features + f] = problem.features[f].codes[i];
        }
        if (judge.row(i)[0] > 0.0) {
            rows.push_back(i);
        }
        for (int s = 0; s < n_statistics; ++s) {
            total[s] += judge.row(i)[s];
        }
    }
    const double whole = rows.empty() ? 0.0 : std::abs(judge.bare_loss(total.data(), rows));
    tolerance = std::isfinite(whole) ? std::max(1e-11 * whole, 1e-13) : 1e-11;
}

} // namespace omtree::general
