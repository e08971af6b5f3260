#include "trees/cuts/wide_node.hpp"

#include <algorithm>
#include <limits>

namespace omtree {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr int first_points = 8; ///< of a grid
constexpr std::size_t halved_at_once = 4;

/// A split of a view into intervals that is known exactly.
struct Pieces {
    std::vector<std::size_t> points; ///< both ends included
    std::vector<int> leaves;
};

/// The best way from the first to the last point over intervals whose loss is
/// known.
double best_known(const ViewGrid &grid, int leaves, Pieces &pieces) {
    const std::size_t n = grid.points.size();
    struct Came {
        std::size_t from = 0;
        int leaves = 0;
    };
    LossByLeaves none;
    none.fill(infinity);
    std::vector<LossByLeaves> best(n, none);
    std::vector<std::array<Came, max_parts + 1>> came(n);
    best[0].fill(0.0);
    for (std::size_t to = 1; to < n; ++to) {
        for (std::size_t from = 0; from < to; ++from) {
            const std::uint16_t exact = grid.exact[grid.at(from, to)];
            if (exact == 0) {
                continue;
            }
            const LossByLeaves &loss = grid.lower[grid.at(from, to)];
            for (int own = 1; own < leaves; ++own) {
                for (int before = 0; (exact >> own & 1) && before + own <= leaves; ++before) {
                    if (best[from][before] + loss[own] < best[to][before + own]) {
                        best[to][before + own] = best[from][before] + loss[own];
                        came[to][before + own] = {from, own};
                    }
                }
            }
        }
    }
    // Entries of inner points are for exactly so many leaves.
    int used = 0;
    for (int l = 1; l <= leaves; ++l) {
        used = best[n - 1][l] < (used == 0 ? infinity : best[n - 1][used]) ? l : used;
    }
    if (used == 0) {
        return infinity;
    }
    pieces = {{n - 1}, {}};
    int left = used;
    for (std::size_t at = n - 1; at > 0;) {
        const Came step = came[at][left];
        pieces.points.push_back(step.from);
        pieces.leaves.push_back(step.leaves);
        at = step.from;
        left -= step.leaves;
    }
    std::reverse(pieces.points.begin(), pieces.points.end());
    std::reverse(pieces.leaves.begin(), pieces.leaves.end());
    return best[n - 1][used];
}

} // namespace

WideNode::WideNode(WideContext &context, CutRows rows, int depth, int max_leaves)
    : context_(context), rows_(std::move(rows)), depth_(depth), max_leaves_(max_leaves) {
    const std::size_t n_views = context.ranks.of_row.size();
    lower_[1] = context.losses.leaf(rows_.order(0));
    exact_[1] = true;
    open_.fill(1);
    floors_.assign(n_views, LossByLeaves{});
    grids_.resize(n_views);
    if (lower_[1] <= context.tolerance) {
        exact_.fill(true);
    }
}

double WideNode::bound_of(int leaves) const {
    double least = infinity;
    for (const LossByLeaves &of_view : floors_) {
        least = std::min(least, of_view[leaves]);
    }
    return least;
}

/// The least that ways from the first point to each point or cell cost, by the
/// leaves used at most.
void WideNode::forward(const ViewGrid &grid, int leaves) {
    LossByLeaves none;
    none.fill(infinity);
    before_.assign(active_.size(), none);
    before_[0].fill(0.0);
    for (std::size_t y = 1; y < active_.size(); ++y) {
        LossByLeaves &here = before_[y];
        const std::size_t to = active_[y] / 2;
        for (std::size_t x = 0; x < y; ++x) {
            const std::size_t from = (active_[x] + 1) / 2;
            const LossByLeaves &there = before_[x];
            if (from >= to) {
                for (int k = 0; k < leaves; ++k) {
                    here[k + 1] = std::min(here[k + 1], there[k]);
                }
                continue;
            }
            const LossByLeaves &loss = grid.lower[grid.at(from, to)];
            for (int own = 1; own < leaves; ++own) {
                for (int k = 0; k + own <= leaves; ++k) {
                    here[k + own] = std::min(here[k + own], there[k] + loss[own]);
                }
            }
        }
        for (int k = 1; k <= leaves; ++k) {
            here[k] = std::min(here[k], here[k - 1]);
        }
    }
}

/// The same from each point or cell to the last point.
void WideNode::backward(const ViewGrid &grid, int leaves) {
    LossByLeaves none;
    none.fill(infinity);
    after_.assign(active_.size(), none);
    after_.back().fill(0.0);
    for (std::size_t x = active_.size() - 1; x-- > 0;) {
        LossByLeaves &here = after_[x];
        const std::size_t from = (active_[x] + 1) / 2;
        for (std::size_t y = x + 1; y < active_.size(); ++y) {
            const std::size_t to = active_[y] / 2;
            const LossByLeaves &there = after_[y];
            if (from >= to) {
                for (int k = 0; k < leaves; ++k) {
                    here[k + 1] = std::min(here[k + 1], there[k]);
                }
                continue;
            }
            const LossByLeaves &loss = grid.lower[grid.at(from, to)];
            for (int own = 1; own < leaves; ++own) {
                for (int k = 0; k + own <= leaves; ++k) {
                    here[k + own] = std::min(here[k + own], there[k] + loss[own]);
                }
            }
        }
        for (int k = 1; k <= leaves; ++k) {
            here[k] = std::min(here[k], here[k - 1]);
        }
    }
}

WideNode::Step WideNode::step(std::size_t view, int leaves, double &limit) {
    context_.check();
    if (!grids_[view]) {
        grids_[view] = std::make_unique<ViewGrid>();
        std::vector<int> cuts;
        const std::span<const std::uint32_t> order = rows_.order(view);
        const std::vector<std::uint32_t> &rank = context_.ranks.of_row[view];
        for (std::size_t place = 1; place < order.size(); ++place) {
            if (rank[order[place - 1]] != rank[order[place]]) {
                cuts.push_back(static_cast<int>(place));
            }
        }
        grids_[view]->start(std::move(cuts), static_cast<int>(order.size()), first_points);
    }
    ViewGrid &grid = *grids_[view];
    active_.clear();
    for (std::size_t i = 0; i < grid.dead.size(); ++i) {
        if (i % 2 == 1 && !grid.dead[i] && !grid.has_cut_inside(i / 2)) {
            grid.dead[i] = 1;
        }
        if (!grid.dead[i]) {
            active_.push_back(static_cast<int>(i));
        }
    }
    // Both passes compare all pairs, which takes about as long as walking so many rows.
    context_.losses.work += static_cast<double>(active_.size() * active_.size() * leaves);
    forward(grid, leaves);
    const double bound = before_.back()[leaves];
    if (bound >= limit - context_.tolerance) {
        return {bound, true};
    }
    if (improve(grid, view, leaves, limit) && bound >= limit - context_.tolerance) {
        return {bound, true};
    }
    backward(grid, leaves);
    const bool more = evaluate(grid, view, leaves, limit) || halve(grid, leaves, limit);
    return {bound, !more};
}

bool WideNode::improve(ViewGrid &grid, std::size_t view, int leaves, double &limit) {
    Pieces pieces;
    const double value = best_known(grid, leaves, pieces);
    if (value >= limit - context_.tolerance) {
        return false;
    }
    limit = value;
    const std::size_t n_pieces = pieces.leaves.size();
    const auto child = [&](std::size_t i) -> std::shared_ptr<const WideShape> {
        if (depth_ == 2) {
            return nullptr;
        }
        const WideNode &node = *grid.children.at({grid.points[pieces.points[i]], grid.points[pieces.points[i + 1]]});
        return node.shape(pieces.leaves[i]);
    };
    const auto open = [&](std::size_t i) {
        if (depth_ == 2) {
            return pieces.leaves[i];
        }
        const WideNode &node = *grid.children.at({grid.points[pieces.points[i]], grid.points[pieces.points[i + 1]]});
        return node.open(pieces.leaves[i]);
    };
    if (n_pieces == 1) {
        shapes_[leaves] = child(0);
        open_[leaves] = open(0);
        return true;
    }
    auto shape = std::make_shared<WideShape>();
    shape->view = static_cast<int>(view);
    const std::span<const std::uint32_t> order = rows_.order(view);
    for (std::size_t i = 0; i < n_pieces; ++i) {
        if (i > 0) {
            shape->below.push_back(context_.ranks.of_row[view][order[grid.points[pieces.points[i]] - 1]]);
        }
        shape->children.push_back(child(i));
        shape->open.push_back(open(i));
    }
    shapes_[leaves] = std::move(shape);
    open_[leaves] = 1;
    return true;
}

bool WideNode::evaluate(ViewGrid &grid, std::size_t view, int leaves, double limit) {
    for (std::size_t x = 1; x + 1 < active_.size(); ++x) {
        double through = infinity;
        for (int k = 0; k <= leaves; ++k) {
            through = std::min(through, before_[x][k] + after_[x][leaves - k]);
        }
        grid.dead[active_[x]] = through >= limit - context_.tolerance;
    }
    struct Candidate {
        double through;
        int width;
        std::size_t from, to;
        int leaves;
    };
    std::vector<Candidate> found;
    for (std::size_t x = 0; x < active_.size(); ++x) {
        for (std::size_t y = x + 1; y < active_.size() && !grid.dead[active_[x]]; ++y) {
            const std::size_t from = (active_[x] + 1) / 2;
            const std::size_t to = active_[y] / 2;
            if (grid.dead[active_[y]] || from >= to) {
                continue;
            }
            Candidate best{infinity, grid.points[to] - grid.points[from], from, to, 0};
            for (int own = 1; own < leaves; ++own) {
                if (grid.is_exact(from, to, own)) {
                    continue;
                }
                double around = infinity;
                for (int k = 0; k + own <= leaves; ++k) {
                    around = std::min(around, before_[x][k] + after_[y][leaves - k - own]);
                }
                const double through = around + grid.lower[grid.at(from, to)][own];
                if (through < best.through) {
                    best.through = through;
                    best.leaves = own;
                }
            }
            if (best.through < limit - context_.tolerance) {
                found.push_back(best);
            }
        }
    }
    if (found.empty()) {
        return false;
    }
    std::sort(found.begin(), found.end(), [](const Candidate &a, const Candidate &b) {
        return a.through != b.through ? a.through < b.through
               : a.width != b.width   ? a.width > b.width
                                      : std::pair(a.from, a.to) < std::pair(b.from, b.to);
    });
    if (depth_ > 2) {
        const Candidate &best = found.front();
        const std::pair<int, int> places{grid.points[best.from], grid.points[best.to]};
        std::unique_ptr<WideNode> &node = grid.children[places];
        if (!node) {
            node = std::make_unique<WideNode>(context_, rows_.part(view, places.first, places.second, context_.inside),
                                              depth_ - 1, max_leaves_ - 1);
        }
        LossByLeaves &lower = grid.lower[grid.at(best.from, best.to)];
        for (int own = 1; own < max_leaves_; ++own) {
            node->raise(own, lower[own]);
        }
        // A little more than needed now saves looking again.
        node->query(best.leaves, limit - (best.through - lower[best.leaves]) + limit / 50 + 1e-9);
        for (int own = 1; own < max_leaves_; ++own) {
            lower[own] = node->exact(own) ? node->lower(own) : std::max(lower[own], node->lower(own));
            grid.exact[grid.at(best.from, best.to)] |= static_cast<std::uint16_t>(node->exact(own) << own);
        }
    } else {
        std::vector<std::pair<int, int>> places;
        std::vector<std::size_t> entries;
        for (const Candidate &candidate : found) {
            const std::size_t entry = grid.at(candidate.from, candidate.to);
            if (grid.exact[entry] == 0 && places.size() < sweep_lanes) {
                grid.exact[entry] = static_cast<std::uint16_t>((1 << (max_parts + 1)) - 2);
                places.emplace_back(grid.points[candidate.from], grid.points[candidate.to]);
                entries.push_back(entry);
            }
        }
        std::vector<LossByLeaves> losses;
        if (context_.entered != &rows_) {
            context_.losses.enter(rows_);
            context_.entered = &rows_;
        }
        context_.losses.with_parts(view, places, std::min(max_leaves_ - 1, max_parts), losses);
        for (std::size_t i = 0; i < entries.size(); ++i) {
            grid.lower[entries[i]] = losses[i];
        }
    }
    grid.spread(max_leaves_, context_.losses.most_per_row());
    return true;
}

bool WideNode::halve(ViewGrid &grid, int leaves, double limit) {
    std::vector<std::pair<double, std::size_t>> cells;
    for (std::size_t x = 1; x + 1 < active_.size(); ++x) {
        if (active_[x] % 2 == 0 || grid.dead[active_[x]]) {
            continue;
        }
        double through = infinity;
        for (int k = 0; k <= leaves; ++k) {
            through = std::min(through, before_[x][k] + after_[x][leaves - k]);
        }
        if (through < limit - context_.tolerance) {
            cells.emplace_back(through, active_[x] / 2);
        }
    }
    if (cells.empty()) {
        return false;
    }
    std::sort(cells.begin(), cells.end());
    std::vector<int> added;
    for (std::size_t i = 0; i < std::min(cells.size(), halved_at_once); ++i) {
        const std::size_t cell = cells[i].second;
        const auto first = std::upper_bound(grid.cuts.begin(), grid.cuts.end(), grid.points[cell]);
        const auto last = std::lower_bound(first, grid.cuts.end(), grid.points[cell + 1]);
        added.push_back(first[(last - first) / 2]);
    }
    grid.refine(std::move(added));
    return true;
}

} // namespace omtree
