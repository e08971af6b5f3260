// The best trees of depth three and four from tables that add up.
#pragma once

#include <vector>

#include "trees/sum_worker.hpp"

namespace omtree {

/// Depth three needs the best trees of depth two for each side of each column, depth four those for each pair of sides
/// of two columns. The samples of one code of a chain are counted once; the tables of all sides are sums and
/// differences of these. The items of work are independent of each other: single chains, and pairs of chains.
class SumLevels {
  public:
    /// `total` is the table of these samples, `path` leads to them.
    SumLevels(const SumSearch &search, SumWorker &worker, const SampleRows &rows, const SumTable &total,
              const ConditionSet &path, int depth);

    int n_items() const { return static_cast<int>(items_.size()); }
    void work(SumWorker &worker, int item);
    /// Once all items are done: splits at the root that are better than what is known.
    void best(SumValues &out) const;

  private:
    void one_chain(SumWorker &worker, int chain);
    void two_chains(SumWorker &worker, int f, int g);
    /// Tables of the samples whose codes are at least (q, r), in `worker.cells`; one chain where g is -1. Those with q
    /// or r zero are not among them where the tables of all columns are kept.
    void count_cells(SumWorker &worker, int f, int g);
    /// The table of the samples in two columns that are chains of their own: from the smallest of the four quarters.
    void count_quarter(SumWorker &worker, int f, int g);
    /// What is known of the sides of two chains from another order of the conditions; whether it is all.
    bool recall(int f, int g);
    ConditionSet key(int a, int b) const;
    /// Calls it for each two sides of the chains, until it says no; whether it never did.
    template <typename Work> bool for_sides(int f, int g, const Work &work) const;
    /// Counts the tables of all columns that are to be kept.
    void keep_tables(SumWorker &worker);
    static int side(int column, bool inside) { return 2 * column + inside; }
    double *single(int side) { return singles_.data() + static_cast<std::size_t>(side) * sizes_; }
    double *pair(int a, int b) { return pairs_.data() + (static_cast<std::size_t>(a) * n_sides_ + b) * sizes_; }
    const double *pair(int a, int b) const {
        return pairs_.data() + (static_cast<std::size_t>(a) * n_sides_ + b) * sizes_;
    }
    void keep_pair(int a, int b, const double *values);

    const SumSearch &search_;
    const SampleRows &rows_;
    const SumTable &total_;
    ConditionSet path_;
    int depth_;
    int sizes_; ///< numbers of leaves of a tree of depth two, or one for any
    int n_sides_;
    std::vector<std::pair<int, int>> items_;
    std::vector<SumTable> tables_; ///< of all columns, where there is room
    std::vector<double> singles_;  ///< [side][leaves]
    std::vector<double> pairs_;    ///< [side][side][leaves]
};

} // namespace omtree
