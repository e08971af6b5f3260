// The best multiway tree of any size.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "trees/any_size_worker.hpp"

namespace omtree {

/// A tree with what it costs.
struct SizedTree {
    SearchTree nodes;
    std::vector<std::int64_t> errors; ///< of each node as a leaf
    int leaves = 0;
    double loss = infinity;
};

/// The tree cut back to so many leaves, with as few errors as can be.
SizedTree cut_back(const SizedTree &tree, int max_leaves);

/// Finds one number for every subproblem where the search within a limit on leaves needs one for each number of leaves.
/// Where the best tree has no more leaves than are allowed, it is the best within the limit; where it has more, what
/// was found bounds all subproblems of the search within the limit.
class AnySizeSearch {
  public:
    using Count = AnySizeWorker::Count;
    using MakeCounter = std::function<std::unique_ptr<Counter<Count>>()>;

    AnySizeSearch(const Shared<Count> &shared, Control &control, const Samples<Count> &samples, double floor,
                  MakeCounter make_counter);

    /// Whether the problem is one for this search.
    static bool suits(const SearchProblem &problem, const LeafCost<Count> &cost, double total);

    /// Looks for the best tree of at most this depth, from two on; false when it had to stop.
    bool solve(int depth);
    /// The best tree so far; no nodes where there is none. Where the time did not suffice, `control` says so, and the
    /// tree may be worse than what was found.
    SizedTree tree(Control &control);
    /// No tree within the limits is better, once their depth was reached.
    double bound() const;
    AnySizeBounds bounds() { return {cache_, error_cost_}; }
    SearchStatistics statistics() const;

  private:
    bool deepen(int depth);
    int build(const Samples<Count> &samples, const ConditionSet &path, int depth, Found found, SizedTree &tree);
    AnySizeWorker &worker(int i);

    const Shared<Count> &shared_;
    const SearchProblem &problem_;
    Control &control_;
    const Samples<Count> &samples_;
    double floor_;
    MakeCounter make_counter_;
    int max_leaves_;
    Value error_cost_; ///< so that no number of leaves within the limit outweighs an error
    AnySizeCache cache_;
    std::vector<std::unique_ptr<AnySizeWorker>> workers_; ///< one per thread; what they counted serves again
    std::vector<Value> score_;                            ///< by feature at the root, from the last depth
    Found best_;
    int depth_ = 1; ///< that was reached
};

} // namespace omtree
