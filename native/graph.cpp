#include "graph.hpp"

#include <algorithm>
#include <bit>

namespace omtree {
namespace {

int size_of(const CodeSet &set) {
    int n = 0;
    for (const auto word : set) {
        n += std::popcount(word);
    }
    return n;
}

bool inside(const CodeSet &small, const CodeSet &large) {
    for (std::size_t w = 0; w < small.size(); ++w) {
        if (small[w] & ~large[w]) {
            return false;
        }
    }
    return true;
}

/// The cheapest way to sum over a set: extend the largest earlier set inside it, or take its complement from all.
SumPlan plan_for(const std::vector<CodeSet> &sets, std::size_t which, int n_codes) {
    const CodeSet &set = sets[which];
    const int size = size_of(set);
    SumPlan plan;
    int covered = 0;
    for (std::size_t other = 0; other < which; ++other) {
        const int other_size = size_of(sets[other]);
        if (other_size > covered && other_size < size && inside(sets[other], set)) {
            plan.base = static_cast<int>(other);
            covered = other_size;
        }
    }
    const bool by_complement = n_codes - size < size - covered;
    if (by_complement) {
        plan.base = SumPlan::everything;
    }
    for (int code = 0; code < n_codes; ++code) {
        const auto c = static_cast<unsigned>(code);
        const bool known = plan.base >= 0 && contains(sets[static_cast<std::size_t>(plan.base)], c);
        if (by_complement ? !contains(set, c) : contains(set, c) && !known) {
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
        for (std::size_t i = 0; i < level.sets.size(); ++i) {
            level.plans.push_back(plan_for(level.sets, i, level.n_codes));
        }
        levels_.push_back(std::move(level));
    }
}

} // namespace omtree
