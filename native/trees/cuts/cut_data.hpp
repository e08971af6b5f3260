// Rows that may be cut between any two distinct values: what a search over all
// cuts is given, and the rows of a node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

namespace omtree {

/// What is minimised: the weight of wrong rows, or squared distances from the
/// mean.
enum class CutLoss { errors, squares };

/// Columns in an order each, called views: a column with missing cells has one
/// view with them first and one with them last, a group of levels against the
/// others has one of two values.
struct CutProblem {
    std::size_t n_rows = 0;
    std::vector<std::span<const double>> views; ///< by row; never NaN
    CutLoss loss = CutLoss::errors;
    std::span<const std::int32_t> labels; ///< errors: the class of each row
    int n_classes = 1;
    std::span<const double> targets; ///< squares: the number of each row
    std::span<const double> weights; ///< what a row costs; empty where all cost one
    std::span<const double> masses;  ///< what a row counts towards the support; empty: one each
    double min_support = 1.0;
    int max_depth = 2;
    int max_leaves = 4;
    double most_work = std::numeric_limits<double>::infinity(); ///< rows walked along a view, after which to stop
};

/// Thrown where the time is over, or the work that is allowed is done.
struct OutOfTime {};

/// A node in preorder. The cuts of a view lie between two of its values each
/// among the rows of the node.
struct CutNode {
    int label = 0;
    int view = -1;
    std::vector<double> below; ///< largest value left of each cut
    std::vector<double> above; ///< smallest value right of it
    std::vector<int> children;
};

struct CutResult {
    double value = 0.0;
    double bound = 0.0; ///< no tree over any cuts costs less
    bool finished = false;
    std::vector<CutNode> tree;
    std::size_t sweeps = 0;
};

/// The rows of a node in the order of every view.
class CutRows {
  public:
    /// All rows.
    CutRows(std::size_t n_views, std::vector<std::uint32_t> orders) : n_views_(n_views), orders_(std::move(orders)) {}

    std::size_t size() const { return n_views_ == 0 ? 0 : orders_.size() / n_views_; }
    std::span<const std::uint32_t> order(std::size_t view) const { return {orders_.data() + view * size(), size()}; }
    const std::uint32_t *orders() const { return orders_.data(); }

    /// The rows at places begin .. end - 1 of a view. `inside` has a flag for
    /// every row of the problem.
    CutRows part(std::size_t view, std::size_t begin, std::size_t end, std::vector<std::uint8_t> &inside) const;

  private:
    std::size_t n_views_;
    std::vector<std::uint32_t> orders_;
};

/// Values of the views as ranks, and all rows sorted.
struct CutRanks {
    std::vector<std::vector<std::uint32_t>> of_row;
    std::vector<std::vector<double>> values; ///< by rank

    /// Fills in the ranks and the rows in the order of every view; false where
    /// `stopped`, asked between views, was true.
    bool sort(const CutProblem &problem, const std::function<bool()> &stopped, std::vector<std::uint32_t> &orders);
};

} // namespace omtree
