// Trees of depth two: sixteen cuts of the root at a time, their sides by
// sweeps, until no cut is left that could be better.
#include <algorithm>
#include <limits>
#include <numeric>

#include "trees/cuts/cut_search.hpp"
#include "trees/cuts/known_cuts.hpp"

namespace omtree {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

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
          supported_(!losses_.any_row_will_do(least)), between_(leaves >= 4, losses_.most_per_row()),
          inherits_(between_.four() && !supported_) {}

    CutAnswer run();
    /// What is proven so far.
    double bound() const;

  private:
    double limit() const { return std::min(best_.value, cutoff_); }
    void find_cuts(std::size_t view);
    void inherit(std::size_t view);
    void pass_on(std::size_t view);
    double remaining(const ViewCuts &cuts, std::vector<int> &left) const;
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
    bool inherits_; ///< whether bounds by cut are taken and given
    CutAnswer best_;
    double one_split_ = -1.0;  ///< what all rows cost with one split, once known
    double free_split_ = 0.0;  ///< the same whatever the support
    double whole_floor_ = 0.0; ///< at least this, before it is known
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
        const double value = between_.at(fresh.back());
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
    cuts.add(fresh);
}

void TwoLevels::find_cuts(std::size_t view) {
    ViewCuts &cuts = views_[view];
    if (supported_) {
        searcher_.cuts_of(rows_, view, least_, cuts.places);
        searcher_.masses_below(rows_, view, cuts.below);
        return;
    }
    const std::span<const std::uint8_t> last = losses_.last_of_value(view);
    for (std::size_t place = 1; place < last.size(); ++place) {
        if (last[place - 1]) {
            cuts.places.push_back(static_cast<int>(place));
        }
    }
}

void TwoLevels::inherit(std::size_t view) {
    // A cut of some of these rows has no more rows on either side than the same cut here.
    std::vector<KnownCut> &known = views_[view].known;
    const std::span<const std::uint32_t> order = rows_.order(view);
    const std::uint32_t *rank = searcher_.ranks_.of_row[view].data();
    const auto add = [&](std::uint32_t ranks_left, double left, double right) {
        const int place =
            static_cast<int>(std::partition_point(order.begin(), order.end(),
                                                  [&](std::uint32_t row) { return rank[row] < ranks_left; }) -
                             order.begin());
        if (known.empty() || known.back().place != place) {
            known.push_back({place, left, right, left, right, 0.0, 0.0, false});
            return;
        }
        KnownCut &same = known.back();
        same.left = same.left_here = std::max(same.left, left);
        same.right = same.right_here = std::max(same.right, right);
    };
    for (const CutFloor &floor : *floors_.cuts[view]) {
        add(floor.first, floor.left, floor.right);
        add(floor.last, floor.left, floor.right);
    }
}

void TwoLevels::pass_on(std::size_t view) {
    const std::vector<KnownCut> &known = views_[view].known;
    const std::span<const std::uint32_t> order = rows_.order(view);
    const std::uint32_t *rank = searcher_.ranks_.of_row[view].data();
    auto floors = std::make_shared<CutFloors>();
    double left = -1.0;
    for (std::size_t i = 0; i < known.size(); ++i) {
        const KnownCut &cut = known[i];
        if (cut.left > left || i + 1 == known.size() || cut.right > known[i + 1].right) {
            const std::size_t place = static_cast<std::size_t>(cut.place);
            floors->push_back({place == 0 ? 0u : rank[order[place - 1]] + 1,
                               place == order.size() ? static_cast<std::uint32_t>(searcher_.ranks_.values[view].size())
                                                     : rank[order[place]],
                               cut.left, cut.right});
            left = cut.left;
        }
    }
    floors_.cuts[view] = std::move(floors);
}

void TwoLevels::first_look(std::size_t view) {
    find_cuts(view);
    ViewCuts &cuts = views_[view];
    const int n = static_cast<int>(rows_.size());
    if (inherits_ && floors_.cuts[view] != nullptr) {
        inherit(view);
        whole_floor_ = std::max({whole_floor_, cuts.known.front().right, cuts.known.back().left});
    }
    const bool inherited = !cuts.known.empty();
    const double whole = one_split_ < 0.0 ? whole_floor_ : free_split_;
    const double whole_here = one_split_ < 0.0 ? whole_floor_ : one_split_;
    cuts.add({{0, 0.0, whole, 0.0, whole_here, 0.0, whole_leaf_}, {n, whole, 0.0, whole_here, 0.0, whole_leaf_, 0.0}});
    std::vector<int> left;
    const double least = inherited ? remaining(cuts, left) : 0.0;
    const std::vector<int> &from = inherited ? left : cuts.places;
    const bool with_whole = one_split_ < 0.0 && !searcher_.reaches(whole_floor_, limit());
    if (from.empty() && !with_whole) {
        // Cuts beyond the rows leave one side empty.
        const double beyond = one_split_ < 0.0 ? whole_floor_ : free_split_;
        floors_.least[view] = std::max(floors_.least[view], std::min({limit(), beyond, inherited ? least : beyond}));
        return;
    }
    std::vector<int> places;
    spread(from, with_whole ? sweep_lanes - 1 : sweep_lanes, places);
    look(view, places, with_whole);
    if (with_whole) {
        cuts.known.front() = {0, 0.0, free_split_, 0.0, one_split_, 0.0, whole_leaf_};
        cuts.known.back() = {n, free_split_, 0.0, one_split_, 0.0, whole_leaf_, 0.0};
    }
    open_.push_back(view);
}

/// The cuts of a view that may be part of a better tree, and the least that any other costs.
double TwoLevels::remaining(const ViewCuts &cuts, std::vector<int> &left) const {
    left.clear();
    double least = std::min(best_.value, one_split_ < 0.0 ? whole_floor_ : free_split_);
    const auto out = [&](double bound) {
        if (!searcher_.reaches(bound, limit())) {
            return false;
        }
        least = std::min(least, bound);
        return true;
    };
    std::size_t next = 0;
    for (std::size_t i = 0; i + 1 < cuts.known.size(); ++i) {
        const KnownCut &a = cuts.known[i];
        const KnownCut &b = cuts.known[i + 1];
        if (i > 0 && a.seen) {
            least = std::min(least, between_.at(a));
        } else if (i > 0 && !out(between_.at(a))) {
            left.push_back(a.place);
        }
        if (out(between_.ends(a, b))) {
            continue;
        }
        next = std::upper_bound(cuts.places.begin() + next, cuts.places.end(), a.place) - cuts.places.begin();
        for (; next < cuts.places.size() && cuts.places[next] < b.place; ++next) {
            if (!out(between_.at(a, b, cuts.places[next]))) {
                left.push_back(cuts.places[next]);
            }
        }
    }
    return least;
}

void TwoLevels::finish(std::size_t view) {
    std::vector<int> left;
    std::vector<int> places;
    for (;;) {
        const double least = remaining(views_[view], left);
        if (left.empty()) {
            floors_.least[view] = std::max(floors_.least[view], least);
            return;
        }
        spread(left, sweep_lanes, places);
        look(view, places, false);
    }
}

double TwoLevels::bound() const {
    double least = best_.value;
    for (std::size_t view = 0; view < views_.size(); ++view) {
        double of_view = floors_.least[view];
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
    views_.resize(floors_.least.size());
    const double floor = searcher_.least_loss(all);
    std::vector<std::size_t> order(floors_.least.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return floors_.least[a] < floors_.least[b]; });
    for (const std::size_t view : order) {
        if (!searcher_.reaches(floors_.least[view], limit())) {
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
    if (inherits_) {
        for (const std::size_t view : open_) {
            pass_on(view);
        }
    }
    if (best_.value < cutoff_) {
        return best_;
    }
    const double proven = std::min(best_.value, *std::min_element(floors_.least.begin(), floors_.least.end()));
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
