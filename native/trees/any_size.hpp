// The best multiway tree where every leaf has a price, and their number is free.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "trees/any_size_worker.hpp"

namespace omtree {

/// A tree with what it costs.
struct SizedTree {
    SearchTree nodes;
    std::vector<double> losses; ///< of each node as a leaf
    int leaves = 0;
    double loss = infinity;
};

/// The tree cut back to so many leaves, with as little loss as can be.
SizedTree cut_back(const SizedTree &tree, int max_leaves);

/// Finds one number for every subproblem where the search within a limit on leaves needs one for each number of leaves.
/// Where the best tree has no more leaves than are allowed, it is the best of its size; where it has more, what was
/// found bounds all subproblems of the search within the limit.
template <typename Count, typename Value> class AnySizeSearch final : public SizeBounds {
  public:
    using MakeCounter = std::function<std::unique_ptr<Counter<Count>>()>;

    AnySizeSearch(const Shared<Count> &shared, Control &control, const Samples<Count> &samples, double floor,
                  MakeCounter make_counter);

    /// Whether the problem is one for this search, whatever a leaf costs.
    static bool suits(const SearchProblem &problem);

    /// What a leaf costs from now on. What is known for other prices bounds what is not known for this one.
    void set_prices(const Prices<Value> &prices);
    /// Looks for the best tree of at most this depth, from two on; false when it had to stop.
    bool solve(int depth);
    /// The best tree so far; no nodes where there is none. Where the time did not suffice, `control` says so, and the
    /// tree may be worse than what was found.
    SizedTree tree(Control &control);
    /// No tree of at most so many leaves has a lower loss, once its depth was reached.
    double bound(int leaves) const { return caches_.back()->prices.least_loss(best_.value, leaves); }
    bool raise(const ConditionSet &path, int depth, int most, double *least) override;
    SearchStatistics statistics() const;

  private:
    using Worker = AnySizeWorker<Count, Value>;

    bool deepen(int depth);
    int build(const Samples<Count> &samples, const NodePath &path, int depth, Found<Value> found, SizedTree &tree);
    Worker &worker(int i);

    const Shared<Count> &shared_;
    const SearchProblem &problem_;
    Control &control_;
    const Samples<Count> &samples_;
    double floor_;
    MakeCounter make_counter_;
    typename Worker::Caches caches_;               ///< one a price
    std::vector<std::unique_ptr<Worker>> workers_; ///< one per thread; what they counted serves again
    std::vector<Value> score_;                     ///< by feature at the root, from the last depth
    Found<Value> best_;
    int depth_ = 1; ///< that was reached
};

extern template class AnySizeSearch<std::int32_t, std::int64_t>;
extern template class AnySizeSearch<double, double>;

} // namespace omtree
