#include "core/graph.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace omtree {
namespace {

int size_of(const CodeSet &set) {
    int n = 0;
    for (const auto word : set) {
        n += std::popcount(word);
    }
    return n;
}

/// The cheapest way to sum over a set: add one code to an earlier set, or take the complement from all.
SumPlan plan_for(const CodeSet &set, int n_codes, const std::map<CodeSet, int> &earlier) {
    SumPlan plan;
    for (int code = 0; code < n_codes; ++code) {
        if (contains(set, static_cast<unsigned>(code))) {
            CodeSet smaller = set;
            smaller[static_cast<std::size_t>(code) / 64] &= ~(std::uint64_t{1} << (code % 64));
            if (const auto found = earlier.find(smaller); found != earlier.end()) {
                return {found->second, {static_cast<std::uint8_t>(code)}};
            }
        }
    }
    const int size = size_of(set);
    const bool by_complement = n_codes - size < size;
    plan.base = by_complement ? SumPlan::everything : SumPlan::nothing;
    for (int code = 0; code < n_codes; ++code) {
        if (contains(set, static_cast<unsigned>(code)) != by_complement) {
            plan.codes.push_back(static_cast<std::uint8_t>(code));
        }
    }
    return plan;
}

} // namespace

Graph::Graph(std::span<const std::int32_t> feature, std::span<const std::int32_t> start,
             std::span<const std::uint64_t> masks, std::span<const std::int32_t> n_codes) {
    for (std::size_t l = 0; l < feature.size(); ++l) {
        Level level;
        level.feature = feature[l];
        level.n_codes = n_codes[static_cast<std::size_t>(level.feature)];
        level.first = start[l];
        for (auto i = static_cast<std::size_t>(start[l]); i < static_cast<std::size_t>(start[l + 1]); ++i) {
            CodeSet set;
            std::copy_n(masks.begin() + static_cast<std::ptrdiff_t>(4 * i), 4, set.begin());
            level.sets.push_back(set);
            level_of_.push_back(static_cast<int>(l));
        }
        std::map<CodeSet, int> earlier;
        for (int i = 0; i < level.size(); ++i) {
            const CodeSet &set = level.sets[static_cast<std::size_t>(i)];
            level.plans.push_back(plan_for(set, level.n_codes, earlier));
            earlier.emplace(set, i);
        }
        levels_.push_back(std::move(level));
    }
}

} // namespace omtree
