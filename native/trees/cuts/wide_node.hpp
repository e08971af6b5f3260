// The best multiway tree over all cuts for the rows of a node.
//
// A grid of cut points is laid over each view. A cut lies either at a point of
// the grid or somewhere in a cell between two points, and then the rows of that
// cell cost nothing: the best way along points and cells is a lower bound for
// all cuts, since fewer rows never cost more. What such ways pass through is
// evaluated, or cut finer, until none is left below the best tree known.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "trees/cuts/cut_data.hpp"
#include "trees/cuts/interval_sweep.hpp"
#include "trees/cuts/side_losses.hpp"

namespace omtree {

/// The shape of a multiway tree; children without a shape are found again from
/// their rows.
struct WideShape {
    int view = -1;
    std::vector<std::uint32_t> below; ///< ranks of the largest values left of the cuts
    std::vector<std::shared_ptr<const WideShape>> children;
    std::vector<int> open; ///< most leaves of the children without a shape, which
                           ///< have at most one split
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

class WideNode;

/// One view of a node: its grid, and what is known of the intervals between
/// points of it.
struct ViewGrid {
    std::vector<int> cuts;            ///< where the view can be cut
    std::vector<int> points;          ///< increasing, both ends of the rows included
    std::vector<LossByLeaves> lower;  ///< [from * points + to]
    std::vector<std::uint16_t> exact; ///< by bits: whether `lower` is the loss itself
    std::vector<std::uint8_t> dead;   ///< points (even) and cells (odd) that no better tree passes
    std::map<std::pair<int, int>, std::unique_ptr<WideNode>> children;

    std::size_t at(std::size_t from, std::size_t to) const { return from * points.size() + to; }
    bool is_exact(std::size_t from, std::size_t to, int leaves) const { return exact[at(from, to)] >> leaves & 1; }
    void start(std::vector<int> all_cuts, int n_rows, int n_first);
    /// New points, each inside a cell.
    void refine(std::vector<int> added);
    /// Bounds of intervals from those inside and around them.
    void spread(int leaves, double per_row);
    bool has_cut_inside(std::size_t cell) const;
};

class WideNode {
  public:
    WideNode(WideContext &context, CutRows rows, int depth, int max_leaves);

    /// The least loss with at most so many leaves: exact if below the cutoff,
    /// otherwise a lower bound. A tree that is found is in `shape`. `progress` is
    /// called with a lower bound and the best loss after every step.
    template <typename Progress> double query(int leaves, double cutoff, const Progress &progress);
    double query(int leaves, double cutoff) {
        return query(leaves, cutoff, [](double, double) {});
    }

    double lower(int leaves) const { return lower_[leaves]; }
    bool exact(int leaves) const { return exact_[leaves]; }
    void raise(int leaves, double bound) {
        if (!exact_[leaves]) {
            lower_[leaves] = std::max(lower_[leaves], bound);
        }
    }
    std::shared_ptr<const WideShape> shape(int leaves) const { return shapes_[leaves]; }
    /// Most leaves where there is no shape: the rows are one leaf, or split once.
    int open(int leaves) const { return open_[leaves]; }

  private:
    struct Step {
        double bound;
        bool done;
    };
    Step step(std::size_t view, int leaves, double &limit);
    void forward(const ViewGrid &grid, int leaves);
    void backward(const ViewGrid &grid, int leaves);
    bool improve(ViewGrid &grid, std::size_t view, int leaves, double &limit);
    bool evaluate(ViewGrid &grid, std::size_t view, int leaves, double limit);
    bool halve(ViewGrid &grid, int leaves, double limit);
    double bound_of(int leaves) const;

    WideContext &context_;
    CutRows rows_;
    int depth_;
    int max_leaves_;
    LossByLeaves lower_{};
    std::array<bool, max_parts + 1> exact_{};
    std::array<std::shared_ptr<const WideShape>, max_parts + 1> shapes_;
    std::array<int, max_parts + 1> open_{};
    std::vector<LossByLeaves> floors_; ///< by view
    std::vector<std::unique_ptr<ViewGrid>> grids_;
    std::vector<int> active_;
    std::vector<LossByLeaves> before_, after_;
};

template <typename Progress> double WideNode::query(int leaves, double cutoff, const Progress &progress) {
    const double tolerance = context_.tolerance;
    leaves = std::min(leaves, max_leaves_);
    for (int more = leaves + 1; more <= max_leaves_; ++more) {
        raise(leaves, lower_[more]);
    }
    if (exact_[leaves] || lower_[leaves] >= cutoff - tolerance) {
        return lower_[leaves];
    }
    // The best tree known with fewer leaves.
    int known = 1;
    for (int fewer = 2; fewer < leaves; ++fewer) {
        known = exact_[fewer] && lower_[fewer] < lower_[known] ? fewer : known;
    }
    shapes_[leaves] = shapes_[known];
    open_[leaves] = open_[known];
    const double leaf_or_fewer = lower_[known];
    double limit = std::min(leaf_or_fewer, cutoff);
    for (std::size_t view = 0; view < grids_.size(); ++view) {
        if (grids_[view]) {
            std::fill(grids_[view]->dead.begin(), grids_[view]->dead.end(), std::uint8_t{0});
        }
    }
    for (;;) {
        std::size_t next = 0;
        for (std::size_t view = 1; view < floors_.size(); ++view) {
            next = floors_[view][leaves] < floors_[next][leaves] ? view : next;
        }
        const double bound = floors_[next][leaves];
        progress(std::min(bound, leaf_or_fewer), limit);
        if (bound >= limit - tolerance) {
            break;
        }
        const Step made = step(next, leaves, limit);
        for (int fewer = 1; fewer <= leaves; ++fewer) {
            // Ways below the limit of this query only: what is dead may cost as little as that.
            const double proven = made.done ? limit : std::min(made.bound, limit);
            floors_[next][fewer] = std::max(floors_[next][fewer], proven);
        }
    }
    if (limit < cutoff - tolerance) {
        lower_[leaves] = limit;
        exact_[leaves] = true;
        return limit;
    }
    raise(leaves, std::min(leaf_or_fewer, bound_of(leaves)));
    return lower_[leaves];
}

} // namespace omtree
