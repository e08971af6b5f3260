// Many trees at once: parts of them in the order of their losses, and the nodes that they share.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <type_traits>
#include <unordered_set>
#include <utility>
#include <vector>

#include "trees/general_nearby.hpp"
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

/// The same where every label of a leaf makes another tree. Its hash knows labels, and which leaves are children of
/// one node.
struct LabelledPart : Part {
    std::uint64_t rows_hash = 0; ///< the sum over the leaves, whatever their labels
    std::array<double, NearbyTask::most_demands> missed{};
};

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

/// How the trees on the rows of a box are put together.
struct Links {
    std::vector<int> splits; ///< their features
    std::vector<ChildLink> links;
};

/// Keeps lists of parts short.
class Sieve {
  public:
    Sieve(std::size_t most_trees, int max_leaves, std::size_t room)
        : most_trees_(most_trees), max_leaves_(max_leaves), room_(room) {}

    /// In the order of their values, each once, without those of no use: wherever one of them would stand, enough
    /// others of no more leaves would be at least as good. One that may end up trivial is no such other, but to its
    /// like.
    template <class AnyPart> void tidy(std::vector<AnyPart> &parts, bool whole);

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
    int add(const Links &box, int link, int label);
    /// Adds the tree below a node to another, and gives its place there.
    int write(int number, SearchTree &tree) const;
    /// The first so many of a list as a result; with their shapes where these are wanted.
    template <class AnyPart>
    void write_all(const std::vector<AnyPart> &found, std::size_t n, int n_demands, bool shapes,
                   NearbyResult &result) const;

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

template <class AnyPart>
void NodeStore::write_all(const std::vector<AnyPart> &found, std::size_t n, int n_demands, bool shapes,
                          NearbyResult &result) const {
    result.losses.clear();
    result.leaves.clear();
    result.marks.clear();
    result.row_marks.clear();
    result.missed.clear();
    result.trees.clear();
    for (std::size_t i = 0; i < n; ++i) {
        result.losses.push_back(found[i].value);
        result.leaves.push_back(found[i].leaves);
        result.marks.push_back(found[i].leaves_hash.a);
        if constexpr (std::is_same_v<AnyPart, LabelledPart>) {
            result.row_marks.push_back(found[i].rows_hash);
            result.missed.insert(result.missed.end(), found[i].missed.begin(), found[i].missed.begin() + n_demands);
        }
        if (shapes) {
            write(found[i].node, result.trees.emplace_back());
        }
    }
}

template <class AnyPart> void Sieve::tidy(std::vector<AnyPart> &parts, bool whole) {
    if (parts.size() < 2) {
        return;
    }
    std::stable_sort(parts.begin(), parts.end(), [](const AnyPart &a, const AnyPart &b) {
        return a.value != b.value ? a.value < b.value : a.leaves < b.leaves;
    });
    if (whole) {
        seen_.clear();
        std::erase_if(parts, [&](const AnyPart &part) { return !seen_.insert(part.leaves_hash).second; });
    }
    if (parts.size() > most_trees_) {
        any_.assign(max_leaves_ + 1, 0);
        firm_.assign(max_leaves_ + 1, 0);
        std::erase_if(parts, [&](const AnyPart &part) {
            // In a list of whole trees only a leaf can make its parent trivial.
            const bool plain = whole ? part.node >= 0 : part.plain;
            if ((plain ? any_ : firm_)[part.leaves] >= most_trees_) {
                return true;
            }
            for (int m = part.leaves; m <= max_leaves_; ++m) {
                ++any_[m];
                firm_[m] += !plain;
            }
            return false;
        });
    }
    if (parts.size() > room_) {
        parts.resize(room_);
        overflow = true;
    }
}

} // namespace omtree::general
