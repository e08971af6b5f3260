// Nested columns as codes: what the search over sums counts by.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "trees/code_columns.hpp"
#include "trees/search.hpp"

namespace omtree {

/// Columns in the order of their chains. Each column of a chain holds all samples of the next one, as thresholds of one
/// number do, so that one code tells which of them a sample is in: the first so many.
struct Chains {
    static constexpr int most_columns = 7; ///< of a chain

    std::vector<SplitColumn> columns;
    std::vector<int> first;          ///< column of each chain; one more entry at the end
    std::vector<int> chain_of;       ///< by column
    std::vector<std::uint8_t> codes; ///< rows x chains

    int n_chains() const { return static_cast<int>(first.size()) - 1; }
    int n_columns() const { return static_cast<int>(columns.size()); }
    int length(int chain) const { return first[chain + 1] - first[chain]; }
    const std::uint8_t *row(std::size_t i) const { return codes.data() + i * n_chains(); }
};

/// Every way to split any feature in two with enough weight on both sides, none twice. `check` throws when there is no
/// time left.
Chains find_chains(const SearchProblem &problem, std::span<const double> weights, double support,
                   const std::function<void()> &check);

} // namespace omtree
