// One view of a node: a grid of cut points laid over it, and what is known of
// the intervals between them.
//
// A cut lies either at a point of the grid or somewhere in a cell between two
// points, and then the rows of that cell cost nothing: the best way along
// points and cells is a lower bound for all cuts, since fewer rows never cost
// more.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "trees/cuts/side_losses.hpp"

namespace omtree {

/// Consecutive points of a grid as one part of a split, with at most so many leaves.
struct Part {
    std::size_t from, to;
    int leaves;
};

/// A way from the first to the last point.
struct Way {
    std::vector<Part> parts;        ///< without those that have only rows of cells
    std::vector<std::size_t> cells; ///< that it cuts somewhere inside
};

/// A part and the least that ways through it cost.
struct Through {
    double cost;
    Part part;
};

class ViewGrid {
  public:
    /// Lays a few points over the cuts of a view, which are increasing places. `most_cost` is what rows cost at most,
    /// by their number from the first on.
    ViewGrid(std::vector<int> cuts, int n_rows, int n_first, std::function<double(int)> most_cost);

    std::size_t size() const { return points_.size(); }
    int place(std::size_t point) const { return points_[point]; }
    /// The point at a place where there is one.
    std::size_t point(int place) const;
    const LossByLeaves &lower(std::size_t from, std::size_t to) const { return lower_[from * size() + to]; }
    /// The point of the first grid, or of the oldest cell, nearest to the middle between two points; the first of them
    /// where there is none between.
    std::size_t middle(std::size_t from, std::size_t to) const;
    bool exact(const Part &part) const { return exact_[part.from * size() + part.to] >> part.leaves & 1; }

    /// Lower bounds of an interval, by leaves; those of `exact` bits are its losses. All other intervals learn from it:
    /// losses of parts add up to no more than that of the whole, and a row costs no more than itself.
    void learn(std::size_t from, std::size_t to, const LossByLeaves &bounds, std::uint16_t exact);
    /// New points in the middle of cells.
    void halve(const std::vector<std::size_t> &cells);

    /// The least that any split can cost, by leaves up to so many; nothing but a few parts is no better than it was.
    LossByLeaves least(int leaves);
    /// The way that costs so little; after `least`.
    Way cheapest(int leaves) const;
    /// Parts that are not known exactly, on ways below a limit, the cheapest and widest first; after `least`.
    std::vector<Through> open_parts(int leaves, double limit, std::size_t most);
    /// The least loss of a split into intervals that are known exactly; infinite where there is none, or no interval
    /// has been learned since it was asked before.
    double best_known(int leaves, std::vector<Part> &parts);

  private:
    /// Losses by leaves behind as many entries that no way reaches.
    struct Padded {
        double values[2 * max_parts];
        Padded();
    };
    static const Padded nowhere;
    static const Padded nothing;

    bool has_cut_inside(std::size_t cell) const;
    void mark_cells();
    void forward(int leaves);
    void backward(int leaves);
    void spread(std::size_t from, std::size_t to);

    std::vector<int> cuts_;   ///< where the view can be cut
    std::vector<int> points_; ///< increasing, both ends of the rows included
    std::function<double(int)> most_cost_;
    std::vector<int> halvings_;        ///< how often a cell had been halved when the point came
    std::vector<double> cost_below_;   ///< what all rows below a point cost at most
    std::vector<LossByLeaves> lower_;  ///< [from * points + to]
    std::vector<std::uint16_t> exact_; ///< by bits: whether `lower_` is the loss itself
    std::vector<std::uint8_t> cell_;   ///< whether there is a cut inside
    std::vector<Padded> starts_;       ///< the least up to a cut at a point or in the cell before it
    std::vector<Padded> ends_;         ///< the least of parts up to a point, the last of which ends there
    std::vector<Padded> rests_;        ///< the least from a part's end at a point to the last point
    int ways_leaves_ = 0;
    bool more_known_ = false;
};

} // namespace omtree
