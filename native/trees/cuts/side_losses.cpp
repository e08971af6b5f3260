#include "trees/cuts/side_losses.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace omtree {

namespace {

/// Half of what lanes can hold, since their losses stand for "no leaf" as well.
constexpr double narrow_limit = 16000.0;
constexpr double wide_limit = 1e9;

/// Weights as they are kept: none where all are one.
std::vector<double> unless_one(std::span<const double> weights) {
    if (std::all_of(weights.begin(), weights.end(), [](double w) { return w == 1.0; })) {
        return {};
    }
    return {weights.begin(), weights.end()};
}

double total(const std::vector<double> &weights, std::size_t n_rows) {
    return weights.empty() ? static_cast<double>(n_rows) : std::accumulate(weights.begin(), weights.end(), 0.0);
}

bool are_whole(const std::vector<double> &weights) {
    return std::all_of(weights.begin(), weights.end(), [](double w) { return w == std::floor(w); });
}

} // namespace

SideLosses::SideLosses(const CutProblem &problem, const CutRanks &ranks)
    : problem_(problem), ranks_(ranks), code_(problem.n_rows), weights_(unless_one(problem.weights)),
      masses_(unless_one(problem.masses)) {
    if (!masses_.empty()) {
        least_mass_ = *std::min_element(masses_.begin(), masses_.end());
    }
    if (problem.loss == CutLoss::squares) {
        whole_ = false;
        const auto [low, high] = std::minmax_element(problem.targets.begin(), problem.targets.end());
        most_per_row_ = (*high - *low) * (*high - *low);
        if (!weights_.empty()) {
            most_per_row_ *= *std::max_element(weights_.begin(), weights_.end());
        }
        sums_.resize(problem.n_rows);
        for (std::size_t row = 0; row < problem.n_rows; ++row) {
            const double weight = weights_.empty() ? 1.0 : weights_[row];
            sums_[row] = weight * problem.targets[row];
            scale_ += sums_[row] * problem.targets[row];
        }
        return;
    }
    scale_ = total(weights_, problem.n_rows);
    whole_ = are_whole(weights_);
    if (!weights_.empty()) {
        most_per_row_ = *std::max_element(weights_.begin(), weights_.end());
    }
    const double most = std::max(scale_, total(masses_, problem.n_rows));
    most_ = most;
    unit_ = weights_.empty() && masses_.empty();
    if (whole_ && are_whole(masses_)) {
        if (most < narrow_limit) {
            narrow_weights_.assign(weights_.begin(), weights_.end());
            narrow_masses_.assign(masses_.begin(), masses_.end());
        }
        if (most < wide_limit) {
            wide_weights_.assign(weights_.begin(), weights_.end());
            wide_masses_.assign(masses_.begin(), masses_.end());
        }
    } else {
        most_ = std::numeric_limits<double>::infinity();
    }
}

double SideLosses::mass(std::span<const std::uint32_t> rows) const {
    if (masses_.empty()) {
        return static_cast<double>(rows.size());
    }
    double sum = 0.0;
    for (const std::uint32_t row : rows) {
        sum += masses_[row];
    }
    return sum;
}

double SideLosses::leaf(std::span<const std::uint32_t> rows) const {
    if (problem_.loss == CutLoss::squares) {
        double weight = 0.0, sum = 0.0, squares = 0.0;
        for (const std::uint32_t row : rows) {
            weight += weights_.empty() ? 1.0 : weights_[row];
            sum += sums_[row];
            squares += sums_[row] * problem_.targets[row];
        }
        return rows.empty() ? 0.0 : std::max(0.0, squares - sum * sum / weight);
    }
    // Every node asks for this: whole numbers add up faster, and most have few classes.
    const auto wrong = [&]<typename T>(T *counts, const std::vector<T> &weights) {
        for (const std::uint32_t row : rows) {
            counts[problem_.labels[row]] += weights.empty() ? T(1) : weights[row];
        }
        T *end = counts + problem_.n_classes;
        return static_cast<double>(std::accumulate(counts, end, T(0)) - *std::max_element(counts, end));
    };
    if (most_ < wide_limit && problem_.n_classes <= 16) {
        std::int32_t counts[16] = {};
        return wrong(counts, wide_weights_);
    }
    std::vector<double> counts(problem_.n_classes);
    return wrong(counts.data(), weights_);
}

int SideLosses::label(std::span<const std::uint32_t> rows) const {
    if (problem_.loss == CutLoss::squares) {
        return 0;
    }
    std::vector<double> counts(problem_.n_classes);
    for (const std::uint32_t row : rows) {
        counts[problem_.labels[row]] += weights_.empty() ? 1.0 : weights_[row];
    }
    return static_cast<int>(std::max_element(counts.begin(), counts.end()) - counts.begin());
}

void SideLosses::enter(const CutRows &rows) {
    rows_ = &rows;
    const std::size_t n = rows.size();
    const std::size_t n_views = ranks_.of_row.size();
    last_.resize(std::max(last_.size(), n * n_views));
    tied_.assign(n_views, 0);
    for (std::size_t view = 0; view < n_views; ++view) {
        const std::span<const std::uint32_t> order = rows.order(view);
        const std::uint32_t *rank = ranks_.of_row[view].data();
        std::uint8_t *last = last_.data() + view * n;
        std::size_t ties = 0;
        std::uint32_t here = rank[order[0]];
        for (std::size_t i = 0; i + 1 < n; ++i) {
            const std::uint32_t next = rank[order[i + 1]];
            last[i] = here != next;
            ties += here == next;
            here = next;
        }
        last[n - 1] = 1;
        tied_[view] = ties == 0 ? no_ties : 8 * ties > 7 * n ? many_ties : some_ties;
    }
}

void SideLosses::set_codes(std::size_t view, std::span<const int> places) {
    const std::span<const std::uint32_t> order = rows_->order(view);
    std::size_t from = 0;
    for (std::size_t block = 0; block <= places.size(); ++block) {
        const std::size_t to = block < places.size() ? static_cast<std::size_t>(places[block]) : order.size();
        for (; from < to; ++from) {
            const std::uint32_t row = order[from];
            const int label = problem_.loss == CutLoss::errors ? problem_.labels[row] : 0;
            code_[row] = static_cast<std::uint16_t>(label * sweep_blocks + static_cast<int>(block));
        }
    }
}

template <typename T> SweepTask<T> SideLosses::task() const {
    SweepTask<T> task{};
    task.n_rows = static_cast<int>(rows_->size());
    task.n_views = static_cast<int>(ranks_.of_row.size());
    task.n_classes = problem_.n_classes;
    task.order = rows_->orders();
    task.last = last_.data();
    task.tied = tied_.data();
    task.code = code_.data();
    return task;
}

template <typename T>
void SideLosses::run(std::span<const int> places, const std::vector<T> &weights, const std::vector<T> &masses,
                     const double *least_left, const double *least_right, SidePair &out) {
    SweepTask<T> task = this->task<T>();
    task.weight = weights.empty() ? nullptr : weights.data();
    task.mass = masses.empty() ? nullptr : masses.data();
    T least[2][sweep_lanes] = {};
    bool supported = false;
    for (std::size_t lane = 0; lane < places.size(); ++lane) {
        supported = supported || !any_row_will_do(least_left[lane]) || !any_row_will_do(least_right[lane]);
        // Whole masses reach a limit exactly when they reach the next whole number.
        const double up_left = std::is_integral_v<T> ? std::ceil(least_left[lane] * (1.0 - 1e-9)) : least_left[lane];
        const double up_right = std::is_integral_v<T> ? std::ceil(least_right[lane] * (1.0 - 1e-9)) : least_right[lane];
        least[0][lane] = static_cast<T>(std::clamp(up_left, 0.0, static_cast<double>(no_leaf_loss<T>())));
        least[1][lane] = static_cast<T>(std::clamp(up_right, 0.0, static_cast<double>(no_leaf_loss<T>())));
    }
    task.least_left = supported ? least[0] : nullptr;
    task.least_right = supported ? least[1] : nullptr;
    alignas(64) T left[sweep_lanes];
    alignas(64) T right[sweep_lanes];
    sweep_errors<T>(task, left, right);
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (std::size_t lane = 0; lane < places.size(); ++lane) {
        out.left[lane] = supported && left[lane] >= no_leaf_loss<T>() ? infinity : static_cast<double>(left[lane]);
        out.right[lane] = supported && right[lane] >= no_leaf_loss<T>() ? infinity : static_cast<double>(right[lane]);
    }
}

void SideLosses::run_squares(std::span<const int> places, const double *least_left, const double *least_right,
                             SidePair &out) {
    SweepTask<double> task = this->task<double>();
    task.weight = weights_.empty() ? nullptr : weights_.data();
    double least[2][sweep_lanes] = {};
    // Half a row: sums of weights that should be zero may differ from it a
    // little.
    for (std::size_t lane = 0; lane < places.size(); ++lane) {
        least[0][lane] = std::max(least_left[lane], least_mass_ / 2) * (1.0 - 1e-12);
        least[1][lane] = std::max(least_right[lane], least_mass_ / 2) * (1.0 - 1e-12);
    }
    task.least_left = least[0];
    task.least_right = least[1];
    alignas(64) double left[sweep_lanes];
    alignas(64) double right[sweep_lanes];
    sweep_squares(task, sums_.data(), left, right);
    double squares[sweep_lanes + 1] = {};
    for (const std::uint32_t row : rows_->order(0)) {
        squares[code_[row]] += sums_[row] * problem_.targets[row];
    }
    const double all = std::accumulate(squares, squares + places.size() + 1, 0.0);
    double below = 0.0;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (std::size_t lane = 0; lane < places.size(); ++lane) {
        below += squares[lane];
        const bool empty_left = places[lane] == 0;
        const bool empty_right = static_cast<std::size_t>(places[lane]) == rows_->size();
        out.left[lane] = empty_left ? 0.0 : left[lane] < 0.0 ? infinity : std::max(0.0, below - left[lane]);
        out.right[lane] = empty_right ? 0.0 : right[lane] < 0.0 ? infinity : std::max(0.0, all - below - right[lane]);
    }
}

void SideLosses::with_one_split(std::size_t view, std::span<const int> places, const double *least_left,
                                const double *least_right, SidePair &out) {
    ++sweeps;
    work += static_cast<double>(rows_->size() * ranks_.of_row.size());
    set_codes(view, places);
    const double most = unit_ ? static_cast<double>(rows_->size()) : most_;
    if (problem_.loss == CutLoss::squares) {
        run_squares(places, least_left, least_right, out);
    } else if (most < narrow_limit) {
        run<std::int16_t>(places, narrow_weights_, narrow_masses_, least_left, least_right, out);
    } else if (most < wide_limit) {
        run<std::int32_t>(places, wide_weights_, wide_masses_, least_left, least_right, out);
    } else {
        run<double>(places, weights_, masses_, least_left, least_right, out);
    }
}

template <typename T>
void SideLosses::run_parts(std::span<const int> ends, std::span<const std::pair<int, int>> places,
                           const std::vector<T> &weights, int n_parts, std::vector<LossByLeaves> &out) const {
    IntervalTask<T> task{};
    task.n_rows = static_cast<int>(rows_->size());
    task.n_views = static_cast<int>(ranks_.of_row.size());
    task.n_classes = problem_.n_classes;
    task.order = rows_->orders();
    task.last = last_.data();
    task.code = code_.data();
    task.weight = weights.empty() ? nullptr : weights.data();
    for (std::size_t lane = 0; lane < places.size(); ++lane) {
        const auto block = [&](int end) {
            return static_cast<int>(std::lower_bound(ends.begin(), ends.end(), end) - ends.begin());
        };
        task.first[lane] = block(places[lane].first);
        task.last_block[lane] = block(places[lane].second);
    }
    alignas(64) T right_rows[max_parts * sweep_lanes];
    sweep_intervals<T>(task, n_parts, right_rows);
    out.resize(places.size());
    for (std::size_t lane = 0; lane < places.size(); ++lane) {
        out[lane].fill(0.0);
        for (int l = 1; l <= max_parts; ++l) {
            // More parts than were asked for are no worse.
            out[lane][l] =
                l <= n_parts ? static_cast<double>(right_rows[(l - 1) * sweep_lanes + lane]) : out[lane][n_parts];
        }
    }
}

void SideLosses::with_parts(std::size_t view, std::span<const std::pair<int, int>> places, int n_parts,
                            std::vector<LossByLeaves> &out) {
    ++sweeps;
    work += static_cast<double>(rows_->size() * ranks_.of_row.size()) * n_parts / 2.0;
    std::vector<int> ends;
    for (const auto &[from, to] : places) {
        ends.push_back(from);
        ends.push_back(to);
    }
    std::sort(ends.begin(), ends.end());
    ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
    const std::span<const std::uint32_t> order = rows_->order(view);
    std::vector<double> weight_below(ends.size());
    double below = 0.0;
    std::size_t place = 0;
    for (std::size_t block = 0; block <= ends.size(); ++block) {
        const std::size_t to = block < ends.size() ? static_cast<std::size_t>(ends[block]) : order.size();
        for (; place < to; ++place) {
            const std::uint32_t row = order[place];
            code_[row] = static_cast<std::uint16_t>(problem_.labels[row] * interval_blocks + static_cast<int>(block));
            below += weights_.empty() ? 1.0 : weights_[row];
        }
        if (block < ends.size()) {
            weight_below[block] = below;
        }
    }
    if ((unit_ ? static_cast<double>(rows_->size()) : most_) < narrow_limit) {
        run_parts<std::int16_t>(ends, places, narrow_weights_, n_parts, out);
    } else {
        run_parts<std::int32_t>(ends, places, wide_weights_, n_parts, out);
    }
    const auto weight_at = [&](int end) {
        return weight_below[std::lower_bound(ends.begin(), ends.end(), end) - ends.begin()];
    };
    for (std::size_t lane = 0; lane < places.size(); ++lane) {
        const double all = weight_at(places[lane].second) - weight_at(places[lane].first);
        for (int l = 1; l <= max_parts; ++l) {
            out[lane][l] = all - out[lane][l];
        }
    }
}

void SideLosses::as_leaves(std::size_t view, std::span<const int> places, SidePair &out) const {
    const std::span<const std::uint32_t> order = rows_->order(view);
    for (std::size_t lane = 0; lane < places.size(); ++lane) {
        out.left[lane] = leaf(order.first(places[lane]));
        out.right[lane] = leaf(order.subspan(places[lane]));
    }
}

std::vector<std::pair<int, double>> SideLosses::single_splits(const CutRows &rows, std::size_t view,
                                                              std::span<const int> places) const {
    std::vector<std::pair<int, double>> found;
    const std::span<const std::uint32_t> order = rows.order(view);
    const bool squares = problem_.loss == CutLoss::squares;
    // By class; for squares the weight and the sum of the targets.
    const std::size_t n_sums = squares ? 2 : problem_.n_classes;
    std::vector<double> left(n_sums), right(n_sums);
    double all_squares = 0.0;
    const auto move = [&](std::vector<double> &to, std::uint32_t row, double sign) {
        const double weight = weights_.empty() ? 1.0 : weights_[row];
        if (squares) {
            to[0] += sign * weight;
            to[1] += sign * sums_[row];
        } else {
            to[problem_.labels[row]] += sign * weight;
        }
    };
    for (const std::uint32_t row : order) {
        move(right, row, 1.0);
        all_squares += squares ? sums_[row] * problem_.targets[row] : 0.0;
    }
    const auto loss = [&](const std::vector<double> &sums) {
        if (squares) {
            return -sums[1] * sums[1] / sums[0];
        }
        return std::accumulate(sums.begin(), sums.end(), 0.0) - *std::max_element(sums.begin(), sums.end());
    };
    int from = 0;
    for (const int place : places) {
        for (; from < place; ++from) {
            move(left, order[from], 1.0);
            move(right, order[from], -1.0);
        }
        found.emplace_back(place, all_squares + loss(left) + loss(right));
    }
    return found;
}

} // namespace omtree
