// Turns losses that the search found into trees.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "trees/multiway.hpp"

namespace omtree {

/// Finds the splits behind known losses again, mostly from what the cache remembers. Where the time does not suffice
/// a node stays a leaf: the tree is complete then, but its loss is more than was known to be possible.
template <typename Count> class TreeBuilder {
  public:
    TreeBuilder(Shared<Count> &shared, Searcher<Count> &searcher) : shared_(shared), searcher_(searcher) {}

    /// The tree of this size over all samples; `losses` are by leaves, the root splits on `feature` (-1: a leaf) at
    /// `depth`. Returns the loss of the tree.
    double build(const Samples<Count> &samples, int depth, int leaves, int feature, const std::vector<double> &losses,
                 SearchTree &tree);

  private:
    int node(const Samples<Count> &samples, const NodePath &path, int depth, int leaves, double loss, int feature,
             const Values *values, SearchTree &tree, double &total);
    void find(const Samples<Count> &samples, const NodePath &path, int depth, int leaves, double loss, int feature,
              Values &values, int &height);
    int hint(const ConditionSet &path, int depth, int leaves, double loss);

    Shared<Count> &shared_;
    Searcher<Count> &searcher_;
    std::map<std::pair<int, int>, Values> roots_; ///< by depth and feature: one look serves all sizes
};

extern template class TreeBuilder<std::int32_t>;
extern template class TreeBuilder<double>;

} // namespace omtree
