// Many trees at once: parts of them in the order of their losses, and the nodes that they share.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <utility>
#include <vector>

#include "trees/general_search.hpp"
#include "trees/general_searcher.hpp"

namespace omtree::general {

struct KeyHash {
    std::size_t operator()(const ConditionSet &key) const { return key.a ^ key.b; }
};

/// A tree for the rows of a box, or the first children of one.
struct Part {
    double value = 0.0;
    ConditionSet leaves_hash; ///< the sum over the leaves: the same for the same leaves
    int node = -1;            ///< of a whole tree
    int link = -1;            ///< of the first children
    int child = -1;           ///< the last child, where the link is that of those before
    short leaves = 0;
    bool plain = true; ///< of children: all are leaves; of a tree: it is a leaf
};

using Parts = std::vector<Part>;

/// Of a leaf, from the two sums that tell sets of rows apart.
ConditionSet leaf_hash(double first, double second);

/// A child of a split, and those before it.
struct ChildLink {
    int before;
    int split; ///< in `splits`
    int codes;
    int child;
    bool complement;
};

/// The trees on the rows of a box while they are put together.
struct Box {
    std::vector<int> splits; ///< their features
    std::vector<ChildLink> links;
    Parts found;
};

/// Keeps lists of parts short.
class Sieve {
  public:
    Sieve(std::size_t most_trees, int max_leaves, std::size_t room)
        : most_trees_(most_trees), max_leaves_(max_leaves), room_(room) {}

    /// In the order of their values, each once, without those of no use: wherever one of them would stand, enough
    /// others of no more leaves would be at least as good. One that may end up trivial is no such other, but to its
    /// like.
    void tidy(Parts &parts, bool whole);

    bool overflow = false; ///< there was no room for all

  private:
    std::size_t most_trees_;
    int max_leaves_;
    std::size_t room_;
    std::unordered_set<ConditionSet, KeyHash> seen_;
    std::vector<std::size_t> any_;
    std::vector<std::size_t> firm_;
};

/// Nodes that many trees share.
class NodeStore {
  public:
    /// Nothing but a leaf for each label, whose number is the label.
    void forget(int n_labels);
    /// The number of some codes.
    int keep(std::vector<std::uint8_t> codes);
    /// The number of a new node, the parent of the children up to a link.
    int add(const Box &box, int link, int label);
    /// Adds the tree below a node to another, and gives its place there.
    int write(int number, SearchTree &tree) const;

  private:
    struct Node {
        int label = 0;
        int feature = -1;
        bool complement = false;
        std::vector<std::pair<int, int>> branches; ///< codes, child
    };
    std::vector<Node> nodes_;
    std::vector<std::vector<std::uint8_t>> codes_;
};

} // namespace omtree::general
