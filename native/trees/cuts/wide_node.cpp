#include "trees/cuts/wide_node.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace omtree {

namespace {

/// Points of a first grid; there are more where nodes of many rows are to be evaluated between them.
constexpr int first_points = 8, most_first_points = 64, rows_a_point = 160;
/// What the last split costs with so many leaves is found along with its neighbours'.
constexpr int leaves_of_one_split = 2;
/// How often rows are walked along before ways are compared again: so many times where there are few of them.
constexpr std::size_t rows_of_more_sweeps = 1500, most_sweeps = 4;
/// Fewer rows are not looked at in halves first.
constexpr int least_rows_of_halves = 64;

} // namespace

WideNode::WideNode(WideContext &context, CutRows rows, int depth, int leaves, FloorsByView floors)
    : context_(context), rows_(std::move(rows)), depth_(depth), leaves_(leaves),
      leaf_(context.losses.leaf(rows_.order(0))), floors_(std::move(floors)), branches_(floors_.size()) {}

LossByLeaves WideNode::bounds() const {
    LossByLeaves found;
    found.fill(exact_ ? limit_ : 0.0);
    for (int l = 1; l <= leaves_; ++l) {
        double least = leaf_;
        for (const LossByLeaves &of_view : floors_) {
            least = std::min(least, of_view[l]);
        }
        found[l] = l == 1 ? leaf_ : exact_ ? std::max(limit_, least) : least;
    }
    if (exact_) {
        found[leaves_] = limit_;
    }
    return found;
}

void WideNode::search(double cutoff, const std::function<void(double)> &progress) {
    limit_ = std::min(leaf_, cutoff);
    while (leaf_ > context_.tolerance && leaves_ > 1) {
        std::size_t next = 0;
        for (std::size_t view = 1; view < floors_.size(); ++view) {
            next = floors_[view][leaves_] < floors_[next][leaves_] ? view : next;
        }
        const double bound = floors_[next][leaves_];
        progress(std::min(bound, leaf_));
        if (bound >= limit_ - context_.tolerance) {
            break;
        }
        context_.check();
        step(next);
    }
    exact_ = limit_ < cutoff - context_.tolerance || limit_ == leaf_;
}

void WideNode::open(std::size_t view) {
    std::vector<int> cuts;
    const std::span<const std::uint32_t> order = rows_.order(view);
    const std::vector<std::uint32_t> &rank = context_.ranks.of_row[view];
    for (std::size_t place = 1; place < order.size(); ++place) {
        if (rank[order[place - 1]] != rank[order[place]]) {
            cuts.push_back(static_cast<int>(place));
        }
    }
    const double per_row = context_.losses.most_per_row();
    const int n_rows = static_cast<int>(order.size());
    branches_[view].grid = std::make_unique<ViewGrid>(
        std::move(cuts), n_rows,
        depth_ == 2 ? first_points : std::clamp(n_rows / rows_a_point, first_points, most_first_points),
        [per_row](int place) { return per_row * place; });
}

void WideNode::step(std::size_t view) {
    if (!branches_[view].grid) {
        open(view);
    }
    ViewGrid &grid = *branches_[view].grid;
    improve(view);
    const LossByLeaves least = grid.least(leaves_);
    // Ways compare all pairs of points, which takes about as long as walking so many rows.
    context_.losses.work += static_cast<double>(grid.size() * grid.size() * leaves_) / 4.0;
    for (int l = 1; l <= leaves_; ++l) {
        floors_[view][l] = std::max(floors_[view][l], least[l]);
    }
    if (least[leaves_] >= limit_ - context_.tolerance) {
        return;
    }
    const Way way = grid.cheapest(leaves_);
    std::vector<Part> open;
    for (const Part &part : way.parts) {
        if (!grid.exact(part)) {
            open.push_back(part);
        }
    }
    if (open.empty()) {
        grid.halve(way.cells);
    } else {
        evaluate(view, open, least[leaves_]);
    }
}

void WideNode::improve(std::size_t view) {
    Branch &branch = branches_[view];
    std::vector<Part> parts;
    const double value = branch.grid->best_known(leaves_, parts);
    if (value >= limit_ - context_.tolerance) {
        return;
    }
    limit_ = value;
    const auto child = [&](const Part &part) {
        if (depth_ == 2 || part.leaves <= leaves_of_one_split) {
            return WideTree{nullptr, part.leaves};
        }
        return branch.trees.at({branch.grid->place(part.from), branch.grid->place(part.to), part.leaves});
    };
    if (parts.size() == 1) {
        tree_ = child(parts[0]);
        return;
    }
    auto shape = std::make_shared<WideShape>();
    shape->view = static_cast<int>(view);
    const std::span<const std::uint32_t> order = rows_.order(view);
    for (const Part &part : parts) {
        if (part.from > 0) {
            shape->below.push_back(context_.ranks.of_row[view][order[branch.grid->place(part.from) - 1]]);
        }
        shape->children.push_back(child(part));
    }
    tree_ = {std::move(shape), 1};
}

void WideNode::evaluate(std::size_t view, const std::vector<Part> &parts, double cost) {
    if (depth_ == 2) {
        sweep(view, parts, leaves_ - 1);
        return;
    }
    std::vector<Part> last;
    std::vector<Part> deeper;
    for (const Part &part : parts) {
        (part.leaves <= leaves_of_one_split ? last : deeper).push_back(part);
    }
    if (!last.empty()) {
        sweep(view, last, leaves_of_one_split);
        return;
    }
    const ViewGrid &grid = *branches_[view].grid;
    std::sort(deeper.begin(), deeper.end(), [&](const Part &a, const Part &b) {
        return grid.place(a.to) - grid.place(a.from) > grid.place(b.to) - grid.place(b.from);
    });
    for (const Part &part : deeper) {
        if (cost >= limit_ - context_.tolerance) {
            break;
        }
        const double before = grid.lower(part.from, part.to)[part.leaves];
        // A little more than needed now saves looking again.
        settle(view, part, limit_ - (cost - before) + limit_ / 50 + 1e-9);
        cost += grid.lower(part.from, part.to)[part.leaves] - before;
    }
}

/// The least loss of a part, or a lower bound from the cutoff on. Its halves come first: they have fewer rows, what
/// they cost adds up, and so do their bounds by view.
void WideNode::settle(std::size_t view, const Part &part, double cutoff) {
    const ViewGrid &grid = *branches_[view].grid;
    const auto bound = [&](const Part &of) { return grid.lower(of.from, of.to)[of.leaves]; };
    const std::size_t middle = grid.middle(part.from, part.to);
    if (middle > part.from && grid.place(part.to) - grid.place(part.from) > least_rows_of_halves) {
        for (const Part &half : {Part{part.from, middle, part.leaves}, Part{middle, part.to, part.leaves}}) {
            if (!grid.exact(half) && bound(part) < cutoff - context_.tolerance) {
                settle(view, half, bound(half) + cutoff - bound(part));
            }
        }
    }
    if (!grid.exact(part) && bound(part) < cutoff - context_.tolerance) {
        descend(view, part, cutoff);
    }
}

/// The losses of parts with at most so many leaves of one more split, and of others that ways may pass, as many as are
/// found at once.
void WideNode::sweep(std::size_t view, std::vector<Part> parts, int most) {
    ViewGrid &grid = *branches_[view].grid;
    // Few rows are walked along faster than ways are compared.
    const std::size_t sweeps = std::clamp<std::size_t>(rows_of_more_sweeps / rows_.size(), 1, most_sweeps);
    const std::size_t wanted = std::max(parts.size(), sweeps * sweep_lanes);
    if (parts.size() < wanted) {
        for (const Through &through : grid.open_parts(leaves_, limit_ - context_.tolerance, wanted + parts.size())) {
            const Part &part = through.part;
            const auto same = [&](const Part &other) { return other.from == part.from && other.to == part.to; };
            if (part.leaves <= most && std::none_of(parts.begin(), parts.end(), same)) {
                parts.push_back(part);
            }
            if (parts.size() == wanted) {
                break;
            }
        }
    }
    if (context_.entered != &rows_) {
        context_.losses.enter(rows_);
        context_.entered = &rows_;
    }
    const auto exact = static_cast<std::uint16_t>((1 << (most + 1)) - 2);
    std::vector<std::pair<int, int>> places;
    std::vector<LossByLeaves> losses;
    for (std::size_t first = 0; first < parts.size(); first += sweep_lanes) {
        const std::size_t last = std::min<std::size_t>(first + sweep_lanes, parts.size());
        places.clear();
        for (std::size_t i = first; i < last; ++i) {
            places.emplace_back(grid.place(parts[i].from), grid.place(parts[i].to));
        }
        context_.losses.with_parts(view, places, most, losses);
        for (std::size_t i = first; i < last; ++i) {
            // Trees of more leaves have more levels as well.
            std::fill(losses[i - first].begin() + most + 1, losses[i - first].end(), 0.0);
            grid.learn(parts[i].from, parts[i].to, losses[i - first], exact);
        }
    }
}

FloorsByView WideNode::inherited(std::size_t view, const Part &part) const {
    const Branch &branch = branches_[view];
    const ViewGrid &grid = *branch.grid;
    FloorsByView floors(floors_.size(), grid.lower(part.from, part.to));
    const int from = grid.place(part.from);
    const int to = grid.place(part.to);
    for (const Child &child : branch.children) {
        if (child.from < from || child.to > to) {
            continue;
        }
        const LossByLeaves &before = grid.lower(part.from, grid.point(child.from));
        const LossByLeaves &behind = grid.lower(grid.point(child.to), part.to);
        for (std::size_t of = 0; of < floors.size(); ++of) {
            for (int l = 1; l <= max_parts; ++l) {
                floors[of][l] = std::max(floors[of][l], before[l] + child.floors[of][l] + behind[l]);
            }
        }
    }
    return floors;
}

void WideNode::descend(std::size_t view, const Part &part, double cutoff) {
    Branch &branch = branches_[view];
    ViewGrid &grid = *branch.grid;
    const int from = grid.place(part.from);
    const int to = grid.place(part.to);
    context_.losses.work += static_cast<double>(rows_.size() * floors_.size());
    WideNode node(context_, rows_.part(view, from, to, context_.inside), depth_ - 1, part.leaves,
                  inherited(view, part));
    node.search(cutoff);
    LossByLeaves bounds = node.bounds();
    std::uint16_t exact = 2;
    if (node.exact()) {
        exact |= static_cast<std::uint16_t>(1 << part.leaves);
        branch.trees[{from, to, part.leaves}] = node.tree();
    }
    for (int l = part.leaves + 1; l <= max_parts; ++l) {
        bounds[l] = 0.0;
    }
    grid.learn(part.from, part.to, bounds, exact);
    branch.children.push_back({from, to, node.floors()});
    if (context_.entered == &node.rows_) {
        context_.entered = nullptr;
    }
}

} // namespace omtree
