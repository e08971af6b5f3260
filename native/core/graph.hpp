// The feature graph as the kernel sees it: levels of conditions, each a set of codes of one feature.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace omtree {

using CodeSet = std::array<std::uint64_t, 4>;

inline bool contains(const CodeSet &set, unsigned code) {
    return set[code >> 6] >> (code & 63) & 1;
}

/// How the sum over a condition's codes is formed from sums already known: start from that of condition `base`
/// of the same level (`nothing`: zero, `everything`: all codes), then add (or, from everything, take away) `codes`.
struct SumPlan {
    static constexpr int nothing = -1;
    static constexpr int everything = -2;
    int base = nothing;
    std::vector<std::uint8_t> codes;
};

struct Level {
    int feature = 0;
    int n_codes = 0;
    int first = 0; // number of its first condition in the whole graph
    std::vector<CodeSet> sets;
    std::vector<SumPlan> plans;

    int size() const { return static_cast<int>(sets.size()); }
};

class Graph {
  public:
    /// Arrays as in omtree.graph.PackedGraph; `n_codes[f]` is the number of codes of the table's feature f.
    Graph(std::span<const std::int32_t> feature, std::span<const std::int32_t> start,
          std::span<const std::uint64_t> masks, std::span<const std::int32_t> n_codes);

    const std::vector<Level> &levels() const { return levels_; }
    int n_conditions() const { return static_cast<int>(level_of_.size()); }
    /// The level of a condition, by its number in the whole graph.
    int level_of(int condition) const { return level_of_[static_cast<std::size_t>(condition)]; }
    const CodeSet &codes_of(int condition) const {
        const Level &level = levels_[static_cast<std::size_t>(level_of(condition))];
        return level.sets[static_cast<std::size_t>(condition - level.first)];
    }

  private:
    std::vector<Level> levels_;
    std::vector<int> level_of_;
};

} // namespace omtree
