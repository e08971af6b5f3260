#include "trees/cuts/cut_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace omtree {

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();

int most_leaves(int depth) {
    return depth > 20 ? 1 << 20 : 1 << depth;
}
} // namespace

CutSearcher::CutSearcher(const CutProblem &problem, std::function<bool()> stopped)
    : problem_(problem), stopped_(std::move(stopped)) {}

void CutSearcher::check() const {
    if (losses_->work >= problem_.most_work || stopped_()) {
        throw OutOfTime{};
    }
}

CutResult CutSearcher::run() {
    CutResult result;
    std::vector<std::uint32_t> orders;
    const bool sorted = !problem_.views.empty() && ranks_.sort(problem_, stopped_, orders);
    losses_ = std::make_unique<SideLosses>(problem_, ranks_);
    tolerance_ = losses_->whole() ? 0.0 : 1e-11 * losses_->scale();
    if (!sorted) {
        std::vector<std::uint32_t> rows(problem_.n_rows);
        std::iota(rows.begin(), rows.end(), 0u);
        result.value = losses_->leaf(rows);
        result.finished = problem_.views.empty();
        result.bound = result.finished ? result.value : 0.0;
        result.tree.emplace_back().label = losses_->label(rows);
        return result;
    }
    all_ = std::make_unique<CutRows>(problem_.views.size(), std::move(orders));
    inside_.resize(problem_.n_rows);
    find_twins();
    const std::span<const std::uint32_t> rows = all_->order(0);
    best_ = {losses_->mass(rows) >= problem_.min_support ? losses_->leaf(rows) : infinity, nullptr, 1};
    bound_ = least_loss(rows);
    top_leaves_ = problem_.max_leaves;
    top_depth_ = std::min(problem_.max_depth, problem_.max_leaves - 1);
    try {
        ViewFloors floors(problem_.views.size());
        const CutAnswer answer = solve(*all_, {top_depth_, top_leaves_, infinity, problem_.min_support}, floors);
        best_ = answer;
        bound_ = answer.value;
        result.finished = true;
    } catch (const OutOfTime &) {
        bound_ = std::min(bound_, best_.value);
        result.finished = reaches(bound_, best_.value);
    }
    result.value = best_.value;
    result.bound = result.finished ? best_.value : bound_;
    if (best_.value < infinity) {
        complete(*all_, best_.shape.get(), best_.open, result.tree);
    }
    result.sweeps = losses_->sweeps;
    return result;
}

double CutSearcher::least_loss(std::span<const std::uint32_t> rows) const {
    if (twin_loss_.empty()) {
        return 0.0;
    }
    double sum = 0.0;
    for (const std::uint32_t row : rows) {
        sum += twin_loss_[row];
    }
    return sum;
}

void CutSearcher::offer(const CutRows &rows, const CutAnswer &answer, int depth) {
    if (&rows == all_.get() && depth <= top_depth_ && answer.value < best_.value) {
        best_ = answer;
    }
}

CutAnswer CutSearcher::solve(const CutRows &rows, Request request, ViewFloors &floors) {
    request.depth = std::min(request.depth, request.leaves - 1);
    request.leaves = std::min(request.leaves, most_leaves(request.depth));
    const std::span<const std::uint32_t> all = rows.order(0);
    CutAnswer leaf{losses_->leaf(all), nullptr, 1};
    const double floor = least_loss(all);
    const bool enough = losses_->any_row_will_do(request.least) || losses_->mass(all) >= request.least;
    if (!enough) {
        leaf.value = infinity;
    }
    if (request.depth == 0 || (enough && reaches(floor, leaf.value)) || !enough) {
        return leaf;
    }
    double bound = *std::min_element(floors.least.begin(), floors.least.end());
    bound = std::max(std::min(bound, leaf.value), floor);
    if (reaches(bound, request.cutoff) || reaches(bound, leaf.value)) {
        leaf.value = bound;
        return leaf;
    }
    check();
    if (request.depth == 1) {
        return one_split(rows, request);
    }
    return request.depth == 2 ? two_levels(rows, request, floors) : more_levels(rows, request, floors);
}

CutAnswer CutSearcher::one_split(const CutRows &rows, const Request &request) {
    losses_->enter(rows);
    const int whole[1] = {static_cast<int>(rows.size())};
    SidePair sides;
    losses_->with_one_split(0, whole, &request.least, &request.least, sides);
    return {sides.left[0], nullptr, 2};
}

void CutSearcher::cuts_of(const CutRows &rows, std::size_t view, double least, std::vector<int> &cuts) const {
    cuts.clear();
    const std::span<const std::uint32_t> order = rows.order(view);
    const std::uint32_t *rank = ranks_.of_row[view].data();
    const int n = static_cast<int>(order.size());
    if (losses_->any_row_will_do(least)) {
        for (int place = 1; place < n; ++place) {
            if (rank[order[place - 1]] != rank[order[place]]) {
                cuts.push_back(place);
            }
        }
        return;
    }
    const double all = losses_->mass(order);
    const double slack = 1e-9 * all;
    double below = 0.0;
    for (int place = 1; place < n; ++place) {
        below += losses_->mass(order[place - 1]);
        if (rank[order[place - 1]] != rank[order[place]] && below >= least - slack && all - below >= least - slack) {
            cuts.push_back(place);
        }
    }
}

void CutSearcher::masses_below(const CutRows &rows, std::size_t view, std::vector<double> &below) const {
    const std::span<const std::uint32_t> order = rows.order(view);
    below.resize(order.size() + 1);
    below[0] = 0.0;
    for (std::size_t place = 0; place < order.size(); ++place) {
        below[place + 1] = below[place] + losses_->mass(order[place]);
    }
}

CutShape CutSearcher::shape(const CutRows &rows, std::size_t view, int place) const {
    CutShape shape;
    shape.view = static_cast<int>(view);
    shape.below = ranks_.of_row[view][rows.order(view)[place - 1]];
    return shape;
}

CutResult search_cuts(const CutProblem &problem, const std::function<bool()> &stopped) {
    return CutSearcher(problem, stopped).run();
}

} // namespace omtree
