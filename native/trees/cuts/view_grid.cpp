#include "trees/cuts/view_grid.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>
#include <utility>

#include "core/clones.hpp"

// Vectors wider than the baseline's are passed within this file only, so their
// calling convention is nobody's concern.
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace omtree {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr std::size_t width = sizeof(LossByLeaves) / sizeof(double);

typedef double Lanes __attribute__((vector_size(max_parts * sizeof(double))));

inline __attribute__((always_inline)) Lanes load(const double *from) {
    Lanes lanes;
    __builtin_memcpy(&lanes, from, sizeof lanes);
    return lanes;
}

inline __attribute__((always_inline)) void store(double *to, const Lanes &lanes) {
    __builtin_memcpy(to, &lanes, sizeof lanes);
}

/// The least of both.
inline __attribute__((always_inline)) Lanes smaller(const Lanes &a, const Lanes &b) {
    return a < b ? a : b;
}

/// The least of ways that share their leaves with one part more. `padded` has as many infinite entries first, so that
/// an entry so many before another one is that of so many leaves less.
inline __attribute__((always_inline)) Lanes joined(const double *padded, const double *part, int leaves,
                                                   const Lanes &least) {
    Lanes found = least;
    for (int own = 1; own < leaves; ++own) {
        found = smaller(found, load(padded + max_parts - own) + part[own]);
    }
    return found;
}

/// The least of ways with two ends, by the leaves of both.
OMTREE_CLONES void join_ends(const double *starts, std::size_t n_starts, const double *lower, std::size_t stride,
                             int leaves, double *end) {
    Lanes found = load(end);
    for (std::size_t i = 0; i < n_starts; ++i) {
        found = joined(starts + i * 2 * max_parts, lower + i * stride, leaves, found);
    }
    store(end, found);
}

/// The larger of bounds that intervals have and those that they get from one inside: [row][column].
OMTREE_CLONES void raise_around(const double *before, const double *inside, const double *after, std::size_t n_after,
                                std::size_t after_stride, double *bounds, std::size_t stride) {
    const Lanes base = load(before) + load(inside);
    for (std::size_t j = 0; j < n_after; ++j) {
        const Lanes raised = base + load(after + j * after_stride);
        const Lanes own = load(bounds + j * stride);
        store(bounds + j * stride, own > raised ? own : raised);
    }
}

} // namespace

ViewGrid::Padded::Padded() {
    std::fill(std::begin(values), std::end(values), infinity);
}

const ViewGrid::Padded ViewGrid::nowhere;
const ViewGrid::Padded ViewGrid::nothing = [] {
    Padded free;
    std::fill(free.values + max_parts, std::end(free.values), 0.0);
    return free;
}();

ViewGrid::ViewGrid(std::vector<int> cuts, int n_rows, int n_first, std::function<double(int)> most_cost)
    : cuts_(std::move(cuts)), points_{0}, most_cost_(std::move(most_cost)) {
    const long long n = static_cast<long long>(cuts_.size());
    const int wanted = static_cast<int>(std::min<long long>(n, n_first));
    for (int j = 0; j < wanted; ++j) {
        points_.push_back(n <= n_first ? cuts_[j] : cuts_[(2 * j + 1) * n / (2 * wanted)]);
    }
    points_.push_back(n_rows);
    halvings_.assign(points_.size(), 0);
    cost_below_.resize(points_.size());
    std::transform(points_.begin(), points_.end(), cost_below_.begin(), most_cost_);
    lower_.assign(points_.size() * points_.size(), LossByLeaves{});
    exact_.assign(points_.size() * points_.size(), 0);
    mark_cells();
}

std::size_t ViewGrid::point(int place) const {
    return std::lower_bound(points_.begin(), points_.end(), place) - points_.begin();
}

std::size_t ViewGrid::middle(std::size_t from, std::size_t to) const {
    std::size_t best = from;
    for (std::size_t at = from + 1; at < to; ++at) {
        const auto rank = [&](std::size_t point) {
            return std::pair(halvings_[point], std::abs(2 * points_[point] - points_[from] - points_[to]));
        };
        best = best == from || rank(at) < rank(best) ? at : best;
    }
    return best;
}

bool ViewGrid::has_cut_inside(std::size_t cell) const {
    const auto next = std::upper_bound(cuts_.begin(), cuts_.end(), points_[cell]);
    return next != cuts_.end() && *next < points_[cell + 1];
}

void ViewGrid::mark_cells() {
    cell_.resize(size() - 1);
    for (std::size_t cell = 0; cell + 1 < size(); ++cell) {
        cell_[cell] = has_cut_inside(cell);
    }
}

void ViewGrid::learn(std::size_t from, std::size_t to, const LossByLeaves &bounds, std::uint16_t exact) {
    const std::size_t entry = from * size() + to;
    LossByLeaves &own = lower_[entry];
    bool raised = false;
    for (int l = 1; l <= max_parts; ++l) {
        if (exact_[entry] >> l & 1) {
            continue;
        }
        const double bound = exact >> l & 1 ? bounds[l] : std::max(own[l], bounds[l]);
        raised = raised || bound > own[l];
        own[l] = bound;
    }
    more_known_ = more_known_ || (exact & ~exact_[entry]);
    exact_[entry] |= exact;
    if (raised) {
        spread(from, to);
    }
}

void ViewGrid::spread(std::size_t from, std::size_t to) {
    const std::size_t n = size();
    const LossByLeaves inside = lower(from, to);
    // Losses that are known stay as they are, whatever the rounding of sums.
    const auto kept = [&](std::size_t i, std::size_t j, auto &&change) {
        LossByLeaves &own = lower_[i * n + j];
        const std::uint16_t exact = exact_[i * n + j];
        const LossByLeaves before = own;
        change(own);
        for (int l = 1; exact != 0 && l <= max_parts; ++l) {
            own[l] = exact >> l & 1 ? before[l] : own[l];
        }
    };
    for (std::size_t i = 0; i <= from; ++i) {
        std::size_t j = to;
        while (j < n) {
            if (exact_[i * n + j] != 0) {
                kept(i, j, [&](LossByLeaves &own) {
                    raise_around(&lower(i, from)[1], &inside[1], &lower(to, j)[1], 1, width, &own[1], width);
                });
                ++j;
                continue;
            }
            std::size_t end = j + 1;
            while (end < n && exact_[i * n + end] == 0) {
                ++end;
            }
            raise_around(&lower(i, from)[1], &inside[1], &lower(to, j)[1], end - j, width, &lower_[i * n + j][1],
                         width);
            j = end;
        }
    }
    const double most = *std::max_element(inside.begin() + 1, inside.end());
    const double before_all = cost_below_[from];
    const double all = cost_below_[to];
    for (std::size_t i = from; i < to; ++i) {
        const double skipped = cost_below_[i] - before_all;
        for (std::size_t j = to; j > i && skipped < most; --j) {
            const double less = skipped + all - cost_below_[j];
            if (less >= most) {
                break;
            }
            kept(i, j, [&](LossByLeaves &own) {
                for (int l = 1; l <= max_parts; ++l) {
                    own[l] = std::max(own[l], inside[l] - less);
                }
            });
        }
    }
}

void ViewGrid::halve(const std::vector<std::size_t> &cells) {
    std::vector<int> fresh;
    std::vector<int> fresh_halvings;
    std::vector<std::size_t> from; // the last old point up to here, and the first from here on
    std::vector<std::size_t> to;
    for (std::size_t i = 0; i < size(); ++i) {
        fresh.push_back(points_[i]);
        fresh_halvings.push_back(halvings_[i]);
        from.push_back(i);
        to.push_back(i);
        if (std::find(cells.begin(), cells.end(), i) != cells.end()) {
            const auto first = std::upper_bound(cuts_.begin(), cuts_.end(), points_[i]);
            const auto last = std::lower_bound(first, cuts_.end(), points_[i + 1]);
            fresh.push_back(first[(last - first) / 2]);
            fresh_halvings.push_back(std::max(halvings_[i], halvings_[i + 1]) + 1);
            from.push_back(i);
            to.push_back(i + 1);
        }
    }
    const std::size_t n = fresh.size();
    std::vector<double> fresh_cost(n);
    std::transform(fresh.begin(), fresh.end(), fresh_cost.begin(), most_cost_);
    std::vector<LossByLeaves> fresh_lower(n * n, LossByLeaves{});
    std::vector<std::uint16_t> fresh_exact(n * n, 0);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = i + 1; j < n; ++j) {
            if (from[i] == to[i] && from[j] == to[j]) {
                store(&fresh_lower[i * n + j][1], load(&lower(from[i], from[j])[1]));
                fresh_exact[i * n + j] = exact_[from[i] * size() + from[j]];
                continue;
            }
            // What is inside costs no more, and what is around costs no less than without the rows outside.
            LossByLeaves &own = fresh_lower[i * n + j];
            if (to[i] < from[j]) {
                own = lower(to[i], from[j]);
            }
            const double less = fresh_cost[i] - cost_below_[from[i]] + cost_below_[to[j]] - fresh_cost[j];
            const LossByLeaves &around = lower(from[i], to[j]);
            for (int l = 1; l <= max_parts; ++l) {
                own[l] = std::max(own[l], around[l] - less);
            }
        }
    }
    points_.swap(fresh);
    halvings_.swap(fresh_halvings);
    cost_below_.swap(fresh_cost);
    lower_.swap(fresh_lower);
    exact_.swap(fresh_exact);
    mark_cells();
}

void ViewGrid::forward(int leaves) {
    const std::size_t n = size();
    starts_.resize(n);
    ends_.resize(n);
    double *first = ends_[0].values + max_parts;
    std::fill(first, first + max_parts, 0.0); // rows of the first cell alone
    for (std::size_t to = 1; to < n; ++to) {
        double *end = ends_[to].values + max_parts;
        for (int l = 1; l <= max_parts; ++l) {
            end[l - 1] = lower(0, to)[std::min(l, leaves - 1)];
        }
        join_ends(starts_[1].values, to - 1, lower_[n + to].data(), n * width, leaves, end);
        double *start = starts_[to].values + max_parts;
        // A cut at the point, or in the cell before; then there may be one in the cell behind as well.
        const double *before = (cell_[to - 1] ? ends_[to - 1] : nowhere).values + max_parts;
        for (int l = 0; l < max_parts; ++l) {
            start[l] = std::min(end[l], before[l]);
            end[l] = std::min(end[l], before[l - 1]);
        }
    }
}

void ViewGrid::backward(int leaves) {
    const std::size_t n = size();
    rests_.resize(n);
    std::vector<Padded> from_start(n); // from a part's start at a point on
    for (std::size_t at = n - 1; at-- > 0;) {
        double *start = from_start[at].values + max_parts;
        for (int l = 1; l <= max_parts; ++l) {
            start[l - 1] = lower(at, n - 1)[std::min(l, leaves - 1)];
        }
        join_ends(rests_[at + 1].values, n - 2 - at, lower(at, at + 1).data(), width, leaves, start);
        double *rest = rests_[at].values + max_parts;
        // Behind the last cell there may be nothing but its own rows.
        const double *behind = (!cell_[at] ? nowhere : at + 2 == n ? nothing : from_start[at + 1]).values + max_parts;
        for (int l = 0; l < max_parts; ++l) {
            rest[l] = std::min(start[l], behind[l]);
            start[l] = std::min(start[l], behind[l - 1]);
        }
    }
}

LossByLeaves ViewGrid::least(int leaves) {
    forward(leaves);
    ways_leaves_ = leaves;
    LossByLeaves found{};
    for (int l = 1; l <= leaves; ++l) {
        found[l] = ends_.back().values[max_parts + l - 1];
    }
    return found;
}

Way ViewGrid::cheapest(int leaves) const {
    Way way;
    const auto end = [&](std::size_t at, int l) { return l == 0 ? infinity : ends_[at].values[max_parts + l - 1]; };
    std::size_t at = size() - 1;
    int left = leaves;
    while (at > 0) {
        const double cost = end(at, left);
        Part part{0, at, 0};
        bool in_cell = false;
        for (std::size_t from = 0; from < at && part.leaves == 0; ++from) {
            for (int own = std::min(left, ways_leaves_ - 1); own >= 1 && part.leaves == 0; --own) {
                const double start = from == 0     ? 0.0
                                     : own == left ? infinity
                                                   : starts_[from].values[max_parts + left - own - 1];
                if (start + lower(from, at)[own] <= cost) {
                    part = {from, at, own};
                    in_cell = from > 0 && cell_[from - 1] && end(from - 1, left - own) <= start;
                }
            }
        }
        if (part.leaves == 0) {
            // Nothing but rows of the cells on either side.
            way.cells.push_back(at - 1);
            at -= 1;
            left -= 1;
            continue;
        }
        way.parts.push_back(part);
        left -= part.leaves;
        at = part.from;
        if (in_cell) {
            way.cells.push_back(at - 1);
            at -= 1;
        }
    }
    return way;
}

std::vector<Through> ViewGrid::open_parts(int leaves, double limit, std::size_t most) {
    backward(leaves);
    std::vector<Through> found;
    const std::size_t n = size();
    for (std::size_t from = 0; from + 1 < n; ++from) {
        const double *before = starts_[from].values + max_parts;
        const double least_before = from == 0 ? 0.0 : before[max_parts - 1];
        for (std::size_t to = from + 1; to < n; ++to) {
            const std::uint16_t exact = exact_[from * n + to];
            const double *behind = rests_[to].values + max_parts;
            const LossByLeaves &own_loss = lower(from, to);
            if ((exact >> (leaves - 1) & 1) ||
                least_before + own_loss[leaves - 1] + (to + 1 == n ? 0.0 : behind[max_parts - 1]) >= limit) {
                continue;
            }
            Through best{limit, {from, to, 0}};
            for (int own = 1; own < leaves; ++own) {
                const int rest = leaves - own;
                double around = infinity;
                if (from == 0 || to + 1 == n) {
                    around = from > 0 ? before[rest - 1] : to + 1 < n ? behind[rest - 1] : 0.0;
                }
                for (int l = 1; from > 0 && l < rest; ++l) {
                    around = std::min(around, before[l - 1] + behind[rest - l - 1]);
                }
                if (!(exact >> own & 1) && around + own_loss[own] < best.cost) {
                    best = {around + own_loss[own], {from, to, own}};
                }
            }
            if (best.part.leaves > 0) {
                found.push_back(best);
            }
        }
    }
    const auto middle = found.begin() + static_cast<std::ptrdiff_t>(std::min(most, found.size()));
    std::partial_sort(found.begin(), middle, found.end(), [&](const Through &a, const Through &b) {
        const int wide_a = points_[a.part.to] - points_[a.part.from];
        const int wide_b = points_[b.part.to] - points_[b.part.from];
        return a.cost != b.cost   ? a.cost < b.cost
               : wide_a != wide_b ? wide_a > wide_b
                                  : std::pair(a.part.from, a.part.to) < std::pair(b.part.from, b.part.to);
    });
    found.erase(middle, found.end());
    return found;
}

double ViewGrid::best_known(int leaves, std::vector<Part> &parts) {
    if (!more_known_) {
        return infinity;
    }
    more_known_ = false;
    const std::size_t n = size();
    struct Came {
        std::size_t from = 0;
        int leaves = 0;
    };
    LossByLeaves none;
    none.fill(infinity);
    std::vector<LossByLeaves> best(n, none); // by leaves at most
    std::vector<std::array<Came, max_parts + 1>> came(n);
    best[0].fill(0.0);
    for (std::size_t to = 1; to < n; ++to) {
        for (std::size_t from = 0; from < to; ++from) {
            const std::uint16_t exact = exact_[from * n + to];
            if (exact == 0 || best[from][leaves - 1] == infinity) {
                continue;
            }
            for (int own = 1; own < leaves; ++own) {
                for (int l = own; (exact >> own & 1) && l <= leaves; ++l) {
                    const double cost = best[from][l - own] + lower(from, to)[own];
                    if (cost < best[to][l]) {
                        best[to][l] = cost;
                        came[to][l] = {from, own};
                    }
                }
            }
        }
    }
    parts.clear();
    int left = leaves;
    for (std::size_t at = n - 1; at > 0 && best[n - 1][leaves] < infinity;) {
        const Came step = came[at][left];
        parts.push_back({step.from, at, step.leaves});
        at = step.from;
        left -= step.leaves;
    }
    std::reverse(parts.begin(), parts.end());
    return best[n - 1][leaves];
}

} // namespace omtree
