// The best binary tree over all cuts: an exact search, best first over
// intervals of cuts.
//
// A cut between two others has more rows on its left than the lower one has,
// and more on its right than the upper one, and more rows never cost less; so
// two cuts bound all those between them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "trees/cuts/cut_data.hpp"
#include "trees/cuts/side_losses.hpp"

namespace omtree {

/// The shape of a tree: leaves, and nodes with one split, are found again from
/// their rows where they are `open`.
struct CutShape {
    int view = -1;
    std::uint32_t below = 0; ///< rank of the largest value on the left
    std::shared_ptr<const CutShape> left, right;
    int open_left = 1; ///< most leaves where `left` is empty: one, or two
    int open_right = 1;
};

/// What is known of the best tree for some rows.
struct CutAnswer {
    double value = 0.0; ///< exact if below what was asked for, otherwise a lower bound
    std::shared_ptr<const CutShape> shape;
    int open = 1; ///< most leaves where there is no shape
};

/// What the sides of a cut cost at least with one more split each; the ranks
/// below any from `first` up to `last` are on its left.
struct CutFloor {
    std::uint32_t first, last;
    double left, right;
};
using CutFloors = std::vector<CutFloor>; ///< increasing

/// Lower bounds on trees by the view that their root splits, and, where they
/// have two levels, by its cuts. They hold for all rows that include these.
struct ViewFloors {
    std::vector<double> least;
    std::vector<std::shared_ptr<const CutFloors>> cuts;

    explicit ViewFloors(std::size_t n_views) : least(n_views, 0.0), cuts(n_views) {}
    /// The larger ones: of these rows, and of more that cost `others` at most.
    void raise(const ViewFloors &more, double others) {
        for (std::size_t view = 0; view < least.size(); ++view) {
            least[view] = std::max(least[view], more.least[view] - others);
        }
    }
};

class CutSearcher {
  public:
    CutSearcher(const CutProblem &problem, std::function<bool()> stopped);
    CutResult run();

  private:
    struct Request {
        int depth;
        int leaves;
        double cutoff; ///< trees that cost as much are of no use
        double least;  ///< support of a leaf
    };
    friend class TwoLevels;
    friend class MoreLevels;

    CutAnswer solve(const CutRows &rows, Request request, ViewFloors &floors);
    CutAnswer one_split(const CutRows &rows, const Request &request);
    CutAnswer two_levels(const CutRows &rows, const Request &request, ViewFloors &floors);
    CutAnswer more_levels(const CutRows &rows, const Request &request, ViewFloors &floors);

    /// The places where a view can be cut, and the support allows it.
    void cuts_of(const CutRows &rows, std::size_t view, double least, std::vector<int> &cuts) const;
    /// Mass of the first rows of a view, by their number.
    void masses_below(const CutRows &rows, std::size_t view, std::vector<double> &below) const;
    CutShape shape(const CutRows &rows, std::size_t view, int place) const;
    bool reaches(double bound, double limit) const { return bound >= limit - tolerance_; }
    double least_loss(std::span<const std::uint32_t> rows) const;
    void check() const;
    /// A tree for all rows.
    void offer(const CutRows &rows, const CutAnswer &answer, int depth);
    void find_twins();
    void complete(const CutRows &rows, const CutShape *shape, int open, std::vector<CutNode> &tree);
    bool best_single_split(const CutRows &rows, CutShape &found);

    const CutProblem &problem_;
    std::function<bool()> stopped_;
    CutRanks ranks_;
    std::unique_ptr<SideLosses> losses_;
    std::unique_ptr<CutRows> all_;
    std::vector<std::uint8_t> inside_;
    std::vector<double> twin_loss_; ///< what a row costs in any tree, since
                                    ///< another row has the same values
    CutAnswer best_;
    double bound_ = 0.0;
    double tolerance_ = 0.0;
    int top_depth_ = 0;
    int top_leaves_ = 0;
};

/// The best binary tree over all cuts, or the best one known when `stopped`
/// becomes true.
CutResult search_cuts(const CutProblem &problem, const std::function<bool()> &stopped);

} // namespace omtree
