// Vectors of sums over the leaves of a tree, and which of them are worth keeping.
#pragma once

#include <array>
#include <vector>

#include "trees/general_fronts.hpp"
#include "trees/general_searcher.hpp"

namespace omtree::general {

/// The sums of a tree, or of some of its parts.
struct Entry {
    /// The forms, then by how much each demand is missed against the most that the same rows could give.
    std::array<double, FrontTask::most_numbers> number{};
    double value = 0.0; ///< the judge's loss
    int leaves = 0;
    int link = -1;  ///< how it came about
    int child = -1; ///< the last part, where the link is that of all before it
};

using Front = std::vector<Entry>;

class VectorOrder {
  public:
    VectorOrder(const FrontTask &task, const RuleJudge &judge);

    bool count_leaves = true; ///< whether fewer leaves are better

    int n_numbers() const { return task_.n_forms + n_demands_; }
    /// The loss of a leaf with this label; also its numbers.
    double leaf(const double *sums, int label, double paid, std::array<double, FrontTask::most_numbers> &number) const;
    /// A bound on the loss of splits of a feature into leaves that do not all have one label, from the statistics of
    /// its codes.
    double least_mixed(const double *sums, int feature);
    /// Whether the demands can be met if all other rows give the most they can.
    bool may_meet_demands(const Entry &entry) const;
    /// Leaves the vectors that no other equals or betters, in the order of their values.
    void prune(Front &front) const;
    /// Leaves the best so many by value, and the best of each number of leaves; false where there are no more.
    bool cut(Front &front, std::size_t most) const;

  private:
    const FrontTask &task_;
    int n_demands_;
    std::vector<double> missed_; ///< demands x strata x labels: what a unit gives less than it could
    std::vector<double> slack_;  ///< by demand: how much may be missed in all
    std::vector<double> tolerance_;
    std::vector<int> equal_;
    std::vector<std::pair<int, double>> better_; ///< forms to compare, with the sign that makes less better
    std::vector<double> weight_;
    std::vector<double> more_;
    std::vector<std::pair<double, double>> cheapest_;
};

} // namespace omtree::general
