// A tree that gets better: any subtree is sought anew for the rows that reach it, and kept if it is worth more.
#pragma once

#include "neighbourhood/window.hpp"

namespace omtree::neighbourhood {

class Improver {
  public:
    Improver(const Task &task, Pace &pace)
        : task_(task), pace_(pace), greedy_(task, pace), window_(task, greedy_, pace), random_(task.seed) {}

    /// The greedy tree by a criterion, as far as time allows or in any case.
    Branch grown(Criterion criterion, bool in_any_case);

    /// A given tree; what has too little support in it is left out.
    Branch planted(const std::vector<FlatNode> &tree);

    /// Seek every subtree anew until none gets better.
    void improve(TreeNode &root);

    /// The best tree from each view that is among the most promising first tests.
    std::vector<Branch> variety(const TreeNode &root, int size);

    /// Change a part of the tree at random, improve it, and keep it unless it is worth less. Whether it is worth more.
    bool kick(TreeNode &root);

    /// Give up branches that gain nothing.
    void prune(TreeNode &root) const { greedy_.prune(root); }

  private:
    enum class Below { worth, gini };

    Branch root_leaf();
    void plant(TreeNode &node, const std::vector<FlatNode> &tree, int place);
    void improve_from_top(TreeNode &node, int &spare);
    bool improve_below(TreeNode &node, int &spare);
    bool seek_anew(TreeNode &node, int &spare);
    Branch rebuilt(const TreeNode &node, int most_leaves, Below below);
    void polish(TreeNode &node, int &spare);
    bool regrow(TreeNode &node, int spare);
    bool exchange(TreeNode &root);
    Criterion any_criterion();

    const Task &task_;
    Pace &pace_;
    Greedy greedy_;
    Window window_;
    std::mt19937_64 random_;
};

} // namespace omtree::neighbourhood
