// One thread of the search over sums.
#pragma once

#include <mutex>
#include <span>
#include <vector>

#include "trees/sum_search.hpp"

namespace omtree {

class SumWorker {
  public:
    SumWorker(const SumSearch &search, SearchCache &cache, Control &control);

    /// The best trees of up to this depth. Values at or above `limit` may be those of other trees than the best.
    void solve(const SampleRows &rows, const ConditionSet &path, int depth, double limit, SumValues &out);
    /// Tries this column at the root of a tree of depth five or more.
    void try_column(const SampleRows &rows, const ConditionSet &path, int depth, int column, double limit,
                    SumValues &out, std::mutex *mutex);
    /// The table of these samples.
    void count(std::span<const std::uint32_t> rows, SumTable &table);
    /// The least losses of a node of depth two, by number of leaves or of any: 4 entries or one.
    void two_levels(const PairSums &sums, double *values);
    /// The same with how to get there. The sides of all columns are in `losses` then.
    void two_levels(const PairSums &sums, int depth, SumValues &out);
    /// Throws when the search has to end.
    void check();

    SideLosses losses;
    std::vector<SumTable> cells; ///< room for the tables of the codes of two chains
    SearchStatistics statistics;

  private:
    /// Adds the samples where their last columns of two chains meet.
    void add_rows(std::span<const std::uint32_t> rows, double *to);
    /// Moves the cells of pairs to a table, and leaves zeros.
    void move_pairs(double *to);

    const SumSearch &search_;
    SearchCache &cache_;
    Control &control_;
    std::vector<double> head_; ///< sums over all samples of a table
    SumTable scratch_;
    SumTable sides_;
    SumTable table_;
    SumTable pairs_;                  ///< by two columns, the sums of a cell side by side; zero between calls
    bool unfinished_ = false;         ///< or not, where the last call was ended
    std::vector<std::size_t> base_;   ///< where the row of a column would have its first lane
    std::vector<std::size_t> offset_; ///< of each column's lane
};

} // namespace omtree
