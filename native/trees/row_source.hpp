// Joint tables of rows in memory.
#pragma once

#include <vector>

#include "trees/distant_tables.hpp"

namespace omtree {

class RowSource final : public JointSource {
  public:
    RowSource(const SearchProblem &problem, Samples<std::int32_t> samples, Control &control);

    /// Whether to count all sets of as many features as a path has, once and in one go, is faster than to count what
    /// the search asks for.
    static bool pays(const SearchProblem &problem, std::size_t n_samples);
    std::vector<double> tables(std::span<const std::int32_t> sets, int width) override;

    static constexpr std::size_t most_bytes = std::size_t{256} << 20; ///< room for tables

  private:
    const SearchProblem &problem_;
    Samples<std::int32_t> samples_;
    Control &control_;
    std::vector<int> n_codes_;
    std::vector<double> weights_; ///< empty where all are one
};

} // namespace omtree
