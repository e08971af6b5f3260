// The best multiway tree over all cuts for the rows of a node: on each view
// the cheapest way along the points and cells of a grid, whose parts are
// evaluated and whose cells are cut finer until no way is below the best tree
// known.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "trees/cuts/cut_data.hpp"
#include "trees/cuts/side_losses.hpp"
#include "trees/cuts/view_grid.hpp"

namespace omtree {

struct WideShape;

/// A tree: a shape, or where there is none, what is found again from the rows: at most so many leaves of one split.
struct WideTree {
    std::shared_ptr<const WideShape> shape;
    int open = 1;
};

struct WideShape {
    int view = -1;
    std::vector<std::uint32_t> below; ///< ranks of the largest values left of the cuts
    std::vector<WideTree> children;
};

/// What all nodes of a search share.
struct WideContext {
    const CutRanks &ranks;
    SideLosses &losses;
    std::function<bool()> stopped;
    std::vector<std::uint8_t> inside;
    double most_work = std::numeric_limits<double>::infinity();
    double tolerance = 0.0;
    const CutRows *entered = nullptr; ///< the rows that the losses are about

    void check() const {
        if (losses.work >= most_work || stopped()) {
            throw OutOfTime{};
        }
    }
};

/// Lower bounds by the view of the root, and by leaves.
using FloorsByView = std::vector<LossByLeaves>;

class WideNode {
  public:
    /// `floors` are lower bounds that are known before.
    WideNode(WideContext &context, CutRows rows, int depth, int leaves, FloorsByView floors);
    WideNode(const WideNode &) = delete;

    /// Look for the best tree until it is known or no tree is below the cutoff. `progress` is called with a lower bound
    /// after every step.
    void search(double cutoff, const std::function<void(double)> &progress = [](double) {});

    /// Lower bounds by leaves; that of all leaves is the least loss where `exact`.
    LossByLeaves bounds() const;
    bool exact() const { return exact_; }
    const WideTree &tree() const { return tree_; }
    const FloorsByView &floors() const { return floors_; }

  private:
    /// What was found for the rows of an interval of a view.
    struct Child {
        int from, to; ///< places
        FloorsByView floors;
    };
    struct Branch {
        std::unique_ptr<ViewGrid> grid;
        std::vector<Child> children;
        std::map<std::tuple<int, int, int>, WideTree> trees; ///< by places and leaves
    };

    void step(std::size_t view);
    void open(std::size_t view);
    void improve(std::size_t view);
    void evaluate(std::size_t view, const std::vector<Part> &parts, double cost);
    void sweep(std::size_t view, std::vector<Part> parts, int most);
    void settle(std::size_t view, const Part &part, double cutoff);
    void descend(std::size_t view, const Part &part, double cutoff);
    FloorsByView inherited(std::size_t view, const Part &part) const;

    WideContext &context_;
    CutRows rows_;
    int depth_;
    int leaves_;
    double leaf_;
    double limit_ = 0.0; ///< trees that cost as much are of no use
    bool exact_ = false;
    WideTree tree_;
    FloorsByView floors_;
    std::vector<Branch> branches_;
};

} // namespace omtree
