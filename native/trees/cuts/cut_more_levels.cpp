// Trees of depth three and more: intervals of cuts of the root, over all views,
// the most promising first.
#include <algorithm>
#include <deque>
#include <limits>
#include <queue>

#include "trees/cuts/cut_search.hpp"

namespace omtree {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Most leaves of the left and of the right side.
struct Shares {
    int left;
    int right;
};

/// Lower bounds of one side of a cut for each way to share the leaves, and by
/// the view that comes next.
struct SideBounds {
    std::vector<double> values;
    std::vector<ViewFloors> floors;

    SideBounds(std::size_t n_shares, double value, const ViewFloors &by_view)
        : values(n_shares, value), floors(n_shares, by_view) {}
    /// The larger bounds: of more rows, and of these rows and some others that
    /// cost so much at most.
    SideBounds(const SideBounds &fewer, const SideBounds &more, double others) : SideBounds(fewer) {
        for (std::size_t s = 0; s < values.size(); ++s) {
            values[s] = std::max(values[s], more.values[s] - others);
            floors[s].raise(more.floors[s], others);
        }
    }
    void raise(const SideBounds &other) {
        for (std::size_t s = 0; s < values.size(); ++s) {
            values[s] = std::max(values[s], other.values[s]);
            floors[s].raise(other.floors[s], 0.0);
        }
    }
};

/// A cut that has been looked at. Where a least support is asked for, its sides
/// are bounded with that support (`here`) and with what is left of it at the
/// cuts up to the neighbours it had: only the latter bounds those.
struct Mark {
    int place;
    SideBounds left, right;
    SideBounds left_here, right_here;
};

struct Interval {
    double bound;
    std::size_t number; ///< of intervals with equal bounds the older comes first
    std::size_t view;
    int lower, upper; ///< its marks
};

struct Later {
    bool operator()(const Interval &a, const Interval &b) const {
        return a.bound != b.bound ? a.bound > b.bound : a.number > b.number;
    }
};

} // namespace

class MoreLevels {
  public:
    MoreLevels(CutSearcher &searcher, const CutRows &rows, int depth, int leaves, double cutoff, double least,
               ViewFloors &floors);
    CutAnswer run();
    double bound() const;

  private:
    double limit() const { return std::min(best_.value, cutoff_); }
    void open(std::size_t view);
    void examine(const Interval &interval);
    void look(const Interval &interval, std::size_t from, std::size_t to, std::size_t place_index);
    void push(std::size_t view, int lower, int upper, std::size_t from, std::size_t to, double at_least);
    /// The least that a cut at a place between two marks can cost.
    double at(const Mark &a, const Mark &b, int place) const;
    /// Solve one side of a cut for a share of the leaves; false where it cannot
    /// be part of a better tree.
    CutAnswer side(const CutRows &rows, int leaves, double cutoff, double least, ViewFloors &floors);

    CutSearcher &searcher_;
    SideLosses &losses_;
    const CutRows &rows_;
    int depth_;
    double cutoff_;
    double least_;
    ViewFloors &floors_;
    bool supported_;
    double per_row_;
    double slack_per_row_;
    std::vector<Shares> shares_;
    CutAnswer best_;
    CutAnswer shallow_; ///< one level less, for all rows
    ViewFloors shallow_floors_;
    std::vector<std::vector<int>> cuts_;
    std::vector<std::vector<double>> below_;
    std::vector<std::deque<Mark>> marks_;
    std::vector<double> found_;
    std::priority_queue<Interval, std::vector<Interval>, Later> queue_;
    std::size_t pushed_ = 0;
    double working_on_ = infinity;
    int leaves_;
};

MoreLevels::MoreLevels(CutSearcher &searcher, const CutRows &rows, int depth, int leaves, double cutoff, double least,
                       ViewFloors &floors)
    : searcher_(searcher), losses_(*searcher.losses_), rows_(rows), depth_(depth), cutoff_(cutoff), least_(least),
      floors_(floors), supported_(!losses_.any_row_will_do(least)), per_row_(losses_.most_per_row()),
      shallow_floors_(floors.least.size()), cuts_(floors.least.size()), below_(floors.least.size()),
      marks_(floors.least.size()), leaves_(leaves) {
    const int most = 1 << (depth - 1);
    if (leaves >= 2 * most) {
        shares_.push_back({most, most});
    } else {
        for (int left = std::max(1, leaves - most); left <= std::min(most, leaves - 1); ++left) {
            shares_.push_back({left, leaves - left});
        }
    }
}

double MoreLevels::at(const Mark &a, const Mark &b, int place) const {
    // Leaves that have the support keep it when rows come in, and a row more
    // costs no more than itself.
    const double up = per_row_ * (b.place - place);
    const double down = per_row_ * (place - a.place);
    double least = infinity;
    for (std::size_t s = 0; s < shares_.size(); ++s) {
        least = std::min(least, std::max(a.left.values[s], b.left_here.values[s] - up) +
                                    std::max(b.right.values[s], a.right_here.values[s] - down));
    }
    return least;
}

void MoreLevels::open(std::size_t view) {
    searcher_.cuts_of(rows_, view, least_, cuts_[view]);
    if (cuts_[view].empty()) {
        return;
    }
    if (supported_) {
        searcher_.masses_below(rows_, view, below_[view]);
    }
    const std::size_t n_shares = shares_.size();
    const ViewFloors nothing(floors_.least.size());
    const SideBounds none(n_shares, 0.0, nothing);
    const SideBounds all(n_shares, shallow_.value, shallow_floors_);
    // Sides of other cuts have leaves that need not have the support among all
    // rows.
    const SideBounds &free = supported_ ? none : all;
    const int n = static_cast<int>(rows_.size());
    Mark first{0, none, free, none, all};
    Mark last{n, free, none, all, none};
    marks_[view].push_back(std::move(first));
    marks_[view].push_back(std::move(last));
    queue_.push({floors_.least[view], pushed_++, view, 0, 1});
}

void MoreLevels::push(std::size_t view, int lower, int upper, std::size_t from, std::size_t to, double at_least) {
    if (from >= to) {
        return;
    }
    double bound = infinity;
    for (std::size_t i = from; i < to; ++i) {
        bound = std::min(bound, at(marks_[view][lower], marks_[view][upper], cuts_[view][i]));
    }
    bound = std::max(bound, at_least);
    if (searcher_.reaches(bound, limit())) {
        found_[view] = std::min(found_[view], bound);
    } else {
        queue_.push({bound, pushed_++, view, lower, upper});
    }
}

void MoreLevels::examine(const Interval &interval) {
    const std::size_t view = interval.view;
    if (searcher_.reaches(interval.bound, limit())) {
        found_[view] = std::min(found_[view], interval.bound);
        return;
    }
    const Mark &a = marks_[view][interval.lower];
    const Mark &b = marks_[view][interval.upper];
    const std::vector<int> &cuts = cuts_[view];
    std::size_t from = std::upper_bound(cuts.begin(), cuts.end(), a.place) - cuts.begin();
    std::size_t to = std::lower_bound(cuts.begin(), cuts.end(), b.place) - cuts.begin();
    double excluded = infinity;
    const auto out = [&](std::size_t i) {
        const double bound = at(a, b, cuts[i]);
        if (!searcher_.reaches(bound, limit())) {
            return false;
        }
        excluded = std::min(excluded, bound);
        return true;
    };
    while (from < to && out(from)) {
        ++from;
    }
    while (from < to && out(to - 1)) {
        --to;
    }
    found_[view] = std::min(found_[view], excluded);
    if (from == to) {
        return;
    }
    const int middle = (cuts[from] + cuts[to - 1]) / 2;
    std::size_t chosen = std::lower_bound(cuts.begin() + from, cuts.begin() + to - 1, middle) - cuts.begin();
    if (chosen > from && middle - cuts[chosen - 1] < cuts[chosen] - middle) {
        --chosen;
    }
    look(interval, from, to, chosen);
}

CutAnswer MoreLevels::side(const CutRows &rows, int leaves, double cutoff, double least, ViewFloors &floors) {
    return searcher_.solve(rows, {depth_ - 1, leaves, cutoff, least}, floors);
}

void MoreLevels::look(const Interval &interval, std::size_t from, std::size_t to, std::size_t chosen) {
    const std::size_t view = interval.view;
    const Mark &a = marks_[view][interval.lower];
    const Mark &b = marks_[view][interval.upper];
    const std::vector<int> &cuts = cuts_[view];
    const int place = cuts[chosen];
    const int width = std::max(cuts[to - 1] - place, place - cuts[from]);
    const CutRows left = rows_.part(view, 0, place, searcher_.inside_);
    const CutRows right = rows_.part(view, place, rows_.size(), searcher_.inside_);
    losses_.work += static_cast<double>(rows_.size() * floors_.least.size());
    double least_left = least_;
    double least_right = least_;
    if (supported_) {
        // Leaves with the support at any cut up to the next mark have at least this
        // here.
        least_left = least_ - (below_[view][b.place] - below_[view][place]);
        least_right = least_ - (below_[view][place] - below_[view][a.place]);
    }
    const double up = per_row_ * (b.place - place);
    const double down = per_row_ * (place - a.place);
    const double slack = slack_per_row_ * (width + 2);
    Mark mark{place, supported_ ? a.left : SideBounds(a.left, b.left_here, up),
              supported_ ? b.right : SideBounds(b.right, a.right_here, down), SideBounds(a.left, b.left_here, up),
              SideBounds(b.right, a.right_here, down)};
    double least_here = infinity;
    for (std::size_t s = 0; s < shares_.size(); ++s) {
        const auto both = [&](SideBounds &of_left, SideBounds &of_right, double support_left, double support_right,
                              CutAnswer(&answers)[2]) {
            for (int turn = 0; turn < 2; ++turn) {
                const bool on_left = (left.size() <= right.size()) == (turn == 0);
                SideBounds &own = on_left ? of_left : of_right;
                const SideBounds &other = on_left ? of_right : of_left;
                const double cutoff = limit() - other.values[s] + slack;
                if (searcher_.reaches(own.values[s], cutoff)) {
                    return false;
                }
                CutAnswer &answer = answers[on_left ? 0 : 1];
                answer = on_left ? side(left, shares_[s].left, cutoff, support_left, own.floors[s])
                                 : side(right, shares_[s].right, cutoff, support_right, own.floors[s]);
                own.values[s] = std::max(own.values[s], answer.value);
                if (searcher_.reaches(answer.value, cutoff)) {
                    return false;
                }
            }
            return true;
        };
        CutAnswer answers[2];
        bool exact = both(mark.left, mark.right, least_left, least_right, answers);
        mark.left_here.raise(mark.left);
        mark.right_here.raise(mark.right);
        if (exact && supported_) {
            exact = both(mark.left_here, mark.right_here, least_, least_, answers);
        }
        const double value = answers[0].value + answers[1].value;
        if (exact && value < limit()) {
            auto shape = std::make_shared<CutShape>(searcher_.shape(rows_, view, place));
            shape->left = answers[0].shape;
            shape->right = answers[1].shape;
            shape->open_left = answers[0].open;
            shape->open_right = answers[1].open;
            best_ = {value, std::move(shape), 1};
            searcher_.offer(rows_, best_, depth_);
        }
        least_here = std::min(least_here, mark.left_here.values[s] + mark.right_here.values[s]);
    }
    found_[view] = std::min(found_[view], least_here);
    const int position = static_cast<int>(marks_[view].size());
    marks_[view].push_back(std::move(mark));
    push(view, interval.lower, position, from, chosen, interval.bound);
    push(view, position, interval.upper, chosen + 1, to, interval.bound);
}

double MoreLevels::bound() const {
    double least = std::min(best_.value, working_on_);
    for (std::size_t view = 0; view < floors_.least.size(); ++view) {
        least = std::min(least, std::max(floors_.least[view], found_.empty() ? 0.0 : found_[view]));
    }
    return queue_.empty() ? least : std::min(least, queue_.top().bound);
}

CutAnswer MoreLevels::run() {
    working_on_ = 0.0; // nothing is known before the intervals are
    const int fewer = std::min(leaves_, 1 << (depth_ - 1));
    shallow_ = searcher_.solve(rows_, {depth_ - 1, fewer, infinity, least_}, shallow_floors_);
    best_ = shallow_;
    const double floor = searcher_.least_loss(rows_.order(0));
    if (searcher_.reaches(floor, best_.value)) {
        return best_;
    }
    // Half of what the rows between here and the ends of an interval weigh:
    // bounds of a side that are a little too good now save looking at it again.
    slack_per_row_ = losses_.slack_per_row(best_.value / static_cast<double>(rows_.size()));
    // A root that leaves a side empty is worth no more than one level less.
    const double cap = supported_ ? 0.0 : shallow_.value;
    found_.assign(floors_.least.size(), supported_ ? infinity : cap);
    for (std::size_t view = 0; view < floors_.least.size(); ++view) {
        if (searcher_.reaches(floors_.least[view], limit())) {
            found_[view] = floors_.least[view];
        } else {
            open(view);
        }
    }
    while (!queue_.empty()) {
        const Interval interval = queue_.top();
        queue_.pop();
        working_on_ = interval.bound;
        examine(interval);
        if (searcher_.reaches(floor, best_.value)) {
            return best_;
        }
    }
    for (std::size_t view = 0; view < floors_.least.size(); ++view) {
        floors_.least[view] = std::max(floors_.least[view], std::min(found_[view], best_.value));
    }
    if (best_.value < cutoff_) {
        return best_;
    }
    const double proven = std::min(best_.value, *std::min_element(floors_.least.begin(), floors_.least.end()));
    return {std::max(cutoff_, proven), nullptr, 1};
}

CutAnswer CutSearcher::more_levels(const CutRows &rows, const Request &request, ViewFloors &floors) {
    MoreLevels search(*this, rows, request.depth, request.leaves, request.cutoff, request.least, floors);
    if (&rows != all_.get() || top_depth_ != request.depth) {
        return search.run();
    }
    try {
        return search.run();
    } catch (const OutOfTime &) {
        bound_ = std::max(bound_, search.bound());
        throw;
    }
}

} // namespace omtree
