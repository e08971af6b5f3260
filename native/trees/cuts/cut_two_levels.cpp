// Trees of depth two: sixteen cuts of the root at a time, their sides by
// sweeps, until no cut is left that could be better.
#include <algorithm>
#include <limits>
#include <numeric>

#include "trees/cuts/cut_search.hpp"

namespace omtree {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// A cut of the root whose sides are known: with one more split each, and as
/// leaves where a side may be a leaf alone. `left` is a bound for the left
/// sides of all cuts up to the next known one, `right` for those from the one
/// before; with a least support they are below `left_here` and `right_here`,
/// the losses of the sides themselves.
struct KnownCut {
    int place;
    double left, right;
    double left_here, right_here;
    double left_leaf, right_leaf;
};

/// The cuts of one view.
struct ViewCuts {
    std::vector<int> places;     ///< where the view can be cut
    std::vector<KnownCut> known; ///< increasing; both ends included
    std::vector<double> below;   ///< mass by place, where there is a least support
};

/// What trees with at most three or four leaves cost whose cut lies from one
/// known cut to another.
class Between {
  public:
    Between(bool four, double per_row) : four_(four), per_row_(per_row) {}

    double ends(const KnownCut &a, const KnownCut &b) const { return join(a.left, a.left_leaf, b.right, b.right_leaf); }
    double at(const KnownCut &a, const KnownCut &b, int place) const {
        // Leaves that have the support keep it when rows come in, and a row more
        // costs no more than itself.
        const double up = per_row_ * (b.place - place);
        const double down = per_row_ * (place - a.place);
        return join(std::max(a.left, b.left_here - up), std::max(a.left_leaf, b.left_leaf - up),
                    std::max(b.right, a.right_here - down), std::max(b.right_leaf, a.right_leaf - down));
    }
    double join(double left, double left_leaf, double right, double right_leaf) const {
        return four_ ? left + right : std::min(left_leaf + right, left + right_leaf);
    }
    bool four() const { return four_; }

  private:
    bool four_;
    double per_row_;
};

/// Some of the places, evenly.
void spread(const std::vector<int> &from, int wanted, std::vector<int> &out) {
    out.clear();
    const long long n = static_cast<long long>(from.size());
    if (n <= wanted) {
        out = from;
        return;
    }
    for (int j = 0; j < wanted; ++j) {
        out.push_back(from[(2 * j + 1) * n / (2 * wanted)]);
    }
}

} // namespace

/// The search for one node, taken apart.
class TwoLevels {
  public:
    TwoLevels(CutSearcher &searcher, const CutRows &rows, int leaves, double cutoff, double least, ViewFloors &floors)
        : searcher_(searcher), losses_(*searcher.losses_), rows_(rows), cutoff_(cutoff), least_(least), floors_(floors),
          supported_(!losses_.any_row_will_do(least)), between_(leaves >= 4, losses_.most_per_row()) {}

    CutAnswer run();
    /// What is proven so far.
    double bound() const;

  private:
    double limit() const { return std::min(best_.value, cutoff_); }
    void first_look(std::size_t view);
    void finish(std::size_t view);
    void look(std::size_t view, std::vector<int> &places, bool with_whole);

    CutSearcher &searcher_;
    SideLosses &losses_;
    const CutRows &rows_;
    double cutoff_;
    double least_;
    ViewFloors &floors_;
    bool supported_;
    Between between_;
    CutAnswer best_;
    double one_split_ = -1.0; ///< what all rows cost with one split, once known
    double free_split_ = 0.0; ///< the same whatever the support
    double whole_leaf_ = 0.0;
    std::vector<ViewCuts> views_;
    std::vector<std::size_t> open_; ///< views looked at and not done
};

void TwoLevels::look(std::size_t view, std::vector<int> &places, bool with_whole) {
    searcher_.check();
    ViewCuts &cuts = views_[view];
    const int n = static_cast<int>(rows_.size());
    const std::size_t m = places.size();
    if (with_whole) {
        places.push_back(n);
    }
    double least_left[sweep_lanes];
    double least_right[sweep_lanes];
    std::fill(least_left, least_left + sweep_lanes, least_);
    std::fill(least_right, least_right + sweep_lanes, least_);
    if (supported_) {
        // A cut further on has more rows on its left: leaves that have the support
        // there have at least this here.
        std::size_t next = 0;
        for (std::size_t j = 0; j < m; ++j) {
            while (next < cuts.known.size() && cuts.known[next].place < places[j]) {
                ++next;
            }
            int after = next < cuts.known.size() ? cuts.known[next].place : n;
            int before = next > 0 ? cuts.known[next - 1].place : 0;
            after = j + 1 < m ? std::min(after, places[j + 1]) : after;
            before = j > 0 ? std::max(before, places[j - 1]) : before;
            least_left[j] = least_ - (cuts.below[after] - cuts.below[places[j]]);
            least_right[j] = least_ - (cuts.below[places[j]] - cuts.below[before]);
        }
        if (with_whole) {
            least_left[m] = 0.0;
        }
    }
    SidePair sides;
    losses_.with_one_split(view, places, least_left, least_right, sides);
    SidePair leaves;
    if (!between_.four()) {
        losses_.as_leaves(view, places, leaves);
    }
    SidePair exact = sides;
    if (supported_) {
        std::fill(least_left, least_left + sweep_lanes, least_);
        std::fill(least_right, least_right + sweep_lanes, least_);
        losses_.with_one_split(view, places, least_left, least_right, exact);
    }
    if (with_whole) {
        free_split_ = sides.left[m];
        one_split_ = exact.left[m];
        if (one_split_ < best_.value) {
            best_ = {one_split_, nullptr, 2};
            searcher_.offer(rows_, best_, 1);
        }
        places.pop_back();
    }
    std::vector<KnownCut> fresh;
    for (std::size_t j = 0; j < m; ++j) {
        const double left_leaf = between_.four() ? 0.0 : leaves.left[j];
        const double right_leaf = between_.four() ? 0.0 : leaves.right[j];
        fresh.push_back(
            {places[j], sides.left[j], sides.right[j], exact.left[j], exact.right[j], left_leaf, right_leaf});
        const double value = between_.join(exact.left[j], left_leaf, exact.right[j], right_leaf);
        if (value < best_.value) {
            auto shape = std::make_shared<CutShape>(searcher_.shape(rows_, view, places[j]));
            shape->open_left = shape->open_right = 2;
            if (!between_.four()) {
                const bool leaf_left = left_leaf + exact.right[j] <= exact.left[j] + right_leaf;
                (leaf_left ? shape->open_left : shape->open_right) = 1;
            }
            best_ = {value, std::move(shape), 1};
            searcher_.offer(rows_, best_, 2);
        }
    }
    std::vector<KnownCut> merged;
    merged.reserve(cuts.known.size() + fresh.size());
    std::merge(cuts.known.begin(), cuts.known.end(), fresh.begin(), fresh.end(), std::back_inserter(merged),
               [](const KnownCut &a, const KnownCut &b) { return a.place < b.place; });
    cuts.known.swap(merged);
}

void TwoLevels::first_look(std::size_t view) {
    ViewCuts &cuts = views_[view];
    searcher_.cuts_of(rows_, view, least_, cuts.places);
    if (supported_) {
        searcher_.masses_below(rows_, view, cuts.below);
    }
    const bool with_whole = one_split_ < 0.0;
    std::vector<int> places;
    spread(cuts.places, with_whole ? sweep_lanes - 1 : sweep_lanes, places);
    if (places.empty() && !with_whole) {
        // Cuts beyond the rows leave one side empty.
        floors_[view] = std::max(floors_[view], std::min(limit(), free_split_));
        return;
    }
    look(view, places, with_whole);
    const int n = static_cast<int>(rows_.size());
    cuts.known.insert(cuts.known.begin(), {0, 0.0, free_split_, 0.0, one_split_, 0.0, whole_leaf_});
    cuts.known.push_back({n, free_split_, 0.0, one_split_, 0.0, whole_leaf_, 0.0});
    open_.push_back(view);
}

void TwoLevels::finish(std::size_t view) {
    ViewCuts &cuts = views_[view];
    std::vector<int> left;
    std::vector<int> places;
    for (;;) {
        left.clear();
        double least = std::min(best_.value, free_split_);
        std::size_t next = 0;
        for (std::size_t i = 0; i + 1 < cuts.known.size(); ++i) {
            const KnownCut &a = cuts.known[i];
            const KnownCut &b = cuts.known[i + 1];
            if (i > 0) {
                least = std::min(least, between_.join(a.left_here, a.left_leaf, a.right_here, a.right_leaf));
            }
            const double ends = between_.ends(a, b);
            if (searcher_.reaches(ends, limit())) {
                least = std::min(least, ends);
                continue;
            }
            next = std::upper_bound(cuts.places.begin() + next, cuts.places.end(), a.place) - cuts.places.begin();
            for (; next < cuts.places.size() && cuts.places[next] < b.place; ++next) {
                const double bound = between_.at(a, b, cuts.places[next]);
                if (searcher_.reaches(bound, limit())) {
                    least = std::min(least, bound);
                } else {
                    left.push_back(cuts.places[next]);
                }
            }
        }
        if (left.empty()) {
            floors_[view] = std::max(floors_[view], least);
            return;
        }
        spread(left, sweep_lanes, places);
        look(view, places, false);
    }
}

double TwoLevels::bound() const {
    double least = best_.value;
    for (std::size_t view = 0; view < views_.size(); ++view) {
        double of_view = floors_[view];
        const std::vector<KnownCut> &known = views_[view].known;
        if (known.size() > 1 && known.front().place == 0 && known.back().place == static_cast<int>(rows_.size())) {
            double now = infinity;
            for (std::size_t i = 0; i + 1 < known.size(); ++i) {
                now = std::min(now, between_.ends(known[i], known[i + 1]));
            }
            of_view = std::max(of_view, now);
        }
        least = std::min(least, of_view);
    }
    return least;
}

CutAnswer TwoLevels::run() {
    const std::span<const std::uint32_t> all = rows_.order(0);
    whole_leaf_ = losses_.leaf(all);
    best_ = {whole_leaf_, nullptr, 1};
    losses_.enter(rows_);
    views_.resize(floors_.size());
    const double floor = searcher_.least_loss(all);
    std::vector<std::size_t> order(floors_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return floors_[a] < floors_[b]; });
    for (const std::size_t view : order) {
        if (!searcher_.reaches(floors_[view], limit())) {
            first_look(view);
            if (searcher_.reaches(floor, best_.value)) {
                return best_;
            }
        }
    }
    std::vector<std::pair<double, std::size_t>> ranked;
    for (const std::size_t view : open_) {
        double least = infinity;
        const std::vector<KnownCut> &known = views_[view].known;
        for (std::size_t i = 0; i + 1 < known.size(); ++i) {
            least = std::min(least, between_.ends(known[i], known[i + 1]));
        }
        ranked.emplace_back(least, view);
    }
    std::sort(ranked.begin(), ranked.end());
    for (const auto &[least, view] : ranked) {
        finish(view);
        if (searcher_.reaches(floor, best_.value)) {
            return best_;
        }
    }
    if (best_.value < cutoff_) {
        return best_;
    }
    const double proven = std::min(best_.value, *std::min_element(floors_.begin(), floors_.end()));
    return {std::max(cutoff_, proven), nullptr, 1};
}

CutAnswer CutSearcher::two_levels(const CutRows &rows, const Request &request, ViewFloors &floors) {
    TwoLevels search(*this, rows, request.leaves, request.cutoff, request.least, floors);
    if (&rows != all_.get() || top_depth_ != 2) {
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
