// Counts from joint tables, for rows that are elsewhere: in a file, on other machines.
#pragma once

#include <vector>

#include "trees/joint_store.hpp"
#include "trees/multiway.hpp"

namespace omtree {

template <typename Count> class TableCounter final : public Counter<Count> {
  public:
    using typename Counter<Count>::Check;

    TableCounter(const Shared<Count> &shared, JointStore<Count> &store);

    /// All rows.
    Samples<Count> root() const;

    std::vector<Count> totals(const Samples<Count> &samples) override;
    void feature(const Samples<Count> &samples, int feature, Count *histogram) override;
    const Count *slab(const Samples<Count> &samples, int feature, const std::vector<char> &used) override;
    bool cube(const Samples<Count> &samples, int feature, const std::vector<char> &used, const Check &check,
              std::vector<Count> &cube) override;
    void restrict(const Samples<Count> &samples, int feature, const std::vector<std::uint8_t> &codes, bool all_columns,
                  Samples<Count> &out) override;

  private:
    const Count *pair(const std::vector<Count> &pairs, int a, int b, std::size_t &stride_a,
                      std::size_t &stride_b) const;
    /// Puts the counts of one code of a feature where the search looks for them in a histogram over all features.
    void place(const Count *from, int feature, int code, Count *histogram) const {
        const auto [offset, code_stride, class_stride] = shared_.place[feature];
        Count *to = histogram + offset + code * code_stride;
        for (int c = 0; c < n_classes_; ++c) {
            to[c * class_stride] = from[c];
        }
    }

    const Shared<Count> &shared_;
    const SearchProblem &problem_;
    JointStore<Count> &store_;
    int n_features_;
    int n_classes_;
    std::vector<Count> totals_; ///< of all rows, by class
    std::vector<Count> slab_;
};

/// The same search over joint tables. The problem has no rows of its own but one that stands for all: its counts are
/// the weight by class. `bytes` is the room for tables.
SearchResult search_tables(const SearchProblem &problem, JointSource &source, std::size_t bytes, Control &control);

extern template class TableCounter<std::int32_t>;
extern template class TableCounter<double>;

} // namespace omtree
