// Counts from rows in memory.
#pragma once

#include <vector>

#include "trees/multiway.hpp"
#include "trees/sum_pairs.hpp"

namespace omtree {

template <typename Count> class RowCounter final : public Counter<Count> {
  public:
    using typename Counter<Count>::Check;

    explicit RowCounter(const Shared<Count> &shared);

    std::vector<Count> totals(const Samples<Count> &samples) override;
    void feature(const Samples<Count> &samples, int feature, Count *histogram) override;
    const Count *slab(const Samples<Count> &samples, int feature, const std::vector<char> &used) override;
    bool cube(const Samples<Count> &samples, int feature, const std::vector<char> &used, const Check &check,
              std::vector<Count> &cube) override;
    void restrict(const Samples<Count> &samples, int feature, const std::vector<std::uint8_t> &codes, bool all_columns,
                  Samples<Count> &out) override;

  private:
    template <typename Add> void each(const Samples<Count> &samples, std::size_t i, const Add &add) const;
    void count_pairs(const Samples<Count> &samples, int feature, Count *slab);
    const Count *counted_slab(const Samples<Count> &samples, int feature) const;
    void find_places(const Samples<Count> &samples, int splitting, const std::vector<char> &used);

    const Shared<Count> &shared_;
    const SearchProblem &problem_;
    int n_features_;
    int n_classes_;
    std::vector<Count> slab_;
    std::uint64_t places_id_ = 0; ///< the samples of which these are known
    std::vector<int> active_;
    std::vector<std::uint32_t> row_places_;
    std::vector<std::uint32_t> cell_places_;
    std::vector<std::uint32_t> in_order_;
    CodeBits code_bits_;
    SumPairs sum_pairs_;
    std::uint64_t table_id_ = 0;    ///< the samples that the table is of
    std::vector<Count> pair_table_; ///< joint counts of all pairs
};

extern template class RowCounter<std::int32_t>;
extern template class RowCounter<double>;

} // namespace omtree
