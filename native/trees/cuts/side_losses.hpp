// What the rows on either side of cuts cost with at most one more split.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "trees/cuts/cut_data.hpp"
#include "trees/cuts/interval_sweep.hpp"
#include "trees/cuts/sweep.hpp"

namespace omtree {

/// Losses by the number of leaves, 1 .. max_parts; entry 0 is not used.
using LossByLeaves = std::array<double, max_parts + 1>;

/// Losses of both sides of some cuts.
struct SidePair {
    double left[sweep_lanes];
    double right[sweep_lanes];
};

class SideLosses {
  public:
    SideLosses(const CutProblem &problem, const CutRanks &ranks);

    /// Whether losses are whole numbers.
    bool whole() const { return whole_; }
    /// More than any model costs, less than what stands for "no leaf".
    double scale() const { return scale_; }
    /// What one row more can cost at most.
    double most_per_row() const { return most_per_row_; }
    /// The least support that is not met by any single row.
    bool any_row_will_do(double least) const { return least <= least_mass_ * (1.0 + 1e-9); }

    /// How far above a limit losses are worth knowing, by row of an interval of
    /// cuts, where rows cost `mean`.
    double slack_per_row(double mean) const {
        return 0.5 * (problem_.loss == CutLoss::errors ? scale_ / static_cast<double>(problem_.n_rows) : mean);
    }
    double leaf(std::span<const std::uint32_t> rows) const;
    double mass(std::span<const std::uint32_t> rows) const;
    double mass(std::uint32_t row) const { return masses_.empty() ? 1.0 : masses_[row]; }
    /// The label that costs least.
    int label(std::span<const std::uint32_t> rows) const;

    /// The rows that the calls to come are about.
    void enter(const CutRows &rows);
    /// By place of a view: whether the next place has another value.
    std::span<const std::uint8_t> last_of_value(std::size_t view) const {
        return {last_.data() + view * rows_->size(), rows_->size()};
    }
    /// With at most one more split a side, each of whose leaves has the least
    /// support of its lane and side. `places` are increasing: a cut at place p
    /// has the first p rows on its left.
    void with_one_split(std::size_t view, std::span<const int> places, const double *least_left,
                        const double *least_right, SidePair &out);
    /// Rows at places of a view (from one up to another), split once more into at
    /// most 1, 2, ... `n_parts` intervals; errors with whole weights only.
    void with_parts(std::size_t view, std::span<const std::pair<int, int>> places, int n_parts,
                    std::vector<LossByLeaves> &out);
    /// As single leaves, whatever their support.
    void as_leaves(std::size_t view, std::span<const int> places, SidePair &out) const;

    /// The loss of two leaves, by the cuts of a view.
    std::vector<std::pair<int, double>> single_splits(const CutRows &rows, std::size_t view,
                                                      std::span<const int> places) const;

    std::size_t sweeps = 0;
    double work = 0.0; ///< rows walked along a view, here and wherever these are parted

  private:
    template <typename T>
    void run(std::span<const int> places, const std::vector<T> &weights, const std::vector<T> &masses,
             const double *least_left, const double *least_right, SidePair &out);
    void run_squares(std::span<const int> places, const double *least_left, const double *least_right, SidePair &out);
    template <typename T>
    void run_parts(std::span<const int> ends, std::span<const std::pair<int, int>> places,
                   const std::vector<T> &weights, int n_parts, std::vector<LossByLeaves> &out) const;
    template <typename T> SweepTask<T> task() const;
    void set_codes(std::size_t view, std::span<const int> places);

    const CutProblem &problem_;
    const CutRanks &ranks_;
    const CutRows *rows_ = nullptr;
    std::vector<std::uint8_t> last_;
    std::vector<std::uint8_t> tied_;
    std::vector<std::uint16_t> code_;
    std::vector<double> weights_; ///< empty where all are one
    std::vector<double> masses_;
    std::vector<double> sums_; ///< weight times target
    std::vector<std::int16_t> narrow_weights_, narrow_masses_;
    std::vector<std::int32_t> wide_weights_, wide_masses_;
    bool whole_ = true;
    double scale_ = 0.0;
    double most_per_row_ = 1.0;
    double least_mass_ = 1.0;
    bool unit_ = true;  ///< whether all rows weigh one
    double most_ = 0.0; ///< what they weigh; infinite where that is no whole number
};

} // namespace omtree
