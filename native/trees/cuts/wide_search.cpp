#include "trees/cuts/wide_search.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

#include "trees/cuts/wide_node.hpp"

namespace omtree {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The best split of some rows by one view into at most so many intervals.
struct BestParts {
    double loss = infinity;
    std::size_t view = 0;
    std::vector<std::size_t> places; ///< of the cuts
};

/// Builds the tree behind a shape.
class WideBuilder {
  public:
    WideBuilder(const CutProblem &problem, WideContext &context) : problem_(problem), context_(context) {}

    /// Adds the nodes and returns what the leaves cost.
    double add(const CutRows &rows, const WideTree &told, std::vector<CutNode> &tree);

  private:
    void try_view(const CutRows &rows, std::size_t view, int n_parts, BestParts &best) const;
    double weight(std::uint32_t row) const { return problem_.weights.empty() ? 1.0 : problem_.weights[row]; }

    const CutProblem &problem_;
    WideContext &context_;
};

/// As the sweep over intervals does it, for all rows and with the way back.
void WideBuilder::try_view(const CutRows &rows, std::size_t view, int n_parts, BestParts &best) const {
    const std::span<const std::uint32_t> order = rows.order(view);
    const std::vector<std::uint32_t> &rank = context_.ranks.of_row[view];
    struct Open {
        double value = -infinity;
        std::size_t start = 0;
    };
    const std::size_t n = order.size();
    const std::size_t width = static_cast<std::size_t>(n_parts);
    std::vector<Open> classes(problem_.n_classes * width);
    std::vector<Open> most(width);
    // By place: the best with 1, 2, ... intervals up to there, and where the last
    // of them starts.
    std::vector<Open> at((n + 1) * width);
    for (int k = 0; k < problem_.n_classes; ++k) {
        classes[k * width] = {0.0, 0};
    }
    std::size_t last_cut = 0;
    double all = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
        const std::uint32_t row = order[i];
        Open *own = classes.data() + problem_.labels[row] * width;
        all += weight(row);
        for (std::size_t l = width; l-- > 0;) {
            if (l > 0 && last_cut > 0 && at[last_cut * width + l - 1].value > own[l].value) {
                own[l] = {at[last_cut * width + l - 1].value, last_cut};
            }
            own[l].value += weight(row);
            if (own[l].value > most[l].value) {
                most[l] = own[l];
            }
        }
        if (i + 1 == n || rank[row] != rank[order[i + 1]]) {
            last_cut = i + 1;
            std::copy(most.begin(), most.end(), at.begin() + static_cast<std::ptrdiff_t>(last_cut * width));
        }
    }
    for (std::size_t l = 0; l < width; ++l) {
        if (all - most[l].value < best.loss) {
            best.loss = all - most[l].value;
            best.view = view;
            best.places.clear();
            std::size_t place = n;
            for (std::size_t part = l; part > 0; --part) {
                place = at[place * width + part].start;
                best.places.push_back(place);
            }
            std::reverse(best.places.begin(), best.places.end());
        }
    }
}

double WideBuilder::add(const CutRows &rows, const WideTree &told, std::vector<CutNode> &tree) {
    const WideShape *shape = told.shape.get();
    const std::size_t position = tree.size();
    tree.emplace_back();
    tree[position].label = context_.losses.label(rows.order(0));
    BestParts parts;
    if (shape != nullptr) {
        parts.view = static_cast<std::size_t>(shape->view);
        const std::span<const std::uint32_t> order = rows.order(parts.view);
        const std::vector<std::uint32_t> &ranks = context_.ranks.of_row[parts.view];
        for (const std::uint32_t below : shape->below) {
            parts.places.push_back(
                std::upper_bound(order.begin(), order.end(), below,
                                 [&](std::uint32_t rank, std::uint32_t row) { return rank < ranks[row]; }) -
                order.begin());
        }
    } else if (told.open > 1) {
        parts.loss = context_.losses.leaf(rows.order(0));
        for (std::size_t view = 0; view < context_.ranks.of_row.size(); ++view) {
            try_view(rows, view, told.open, parts);
        }
    }
    if (parts.places.empty()) {
        return context_.losses.leaf(rows.order(0));
    }
    const std::span<const std::uint32_t> order = rows.order(parts.view);
    const std::vector<std::uint32_t> &ranks = context_.ranks.of_row[parts.view];
    const std::vector<double> &values = context_.ranks.values[parts.view];
    tree[position].view = static_cast<int>(parts.view);
    for (const std::size_t place : parts.places) {
        tree[position].below.push_back(values[ranks[order[place - 1]]]);
        tree[position].above.push_back(values[ranks[order[place]]]);
    }
    parts.places.push_back(rows.size());
    double loss = 0.0;
    std::size_t from = 0;
    for (std::size_t i = 0; i < parts.places.size(); ++i) {
        tree[position].children.push_back(static_cast<int>(tree.size()));
        const CutRows inside = rows.part(parts.view, from, parts.places[i], context_.inside);
        loss += add(inside, shape == nullptr ? WideTree{} : shape->children[i], tree);
        from = parts.places[i];
    }
    return loss;
}

} // namespace

CutResult search_wide_cuts(const CutProblem &problem, double known, const std::function<bool()> &stopped) {
    CutResult result;
    result.value = known;
    CutRanks ranks;
    std::vector<std::uint32_t> orders;
    if (!ranks.sort(problem, stopped, orders)) {
        return result;
    }
    SideLosses losses(problem, ranks);
    WideContext context{ranks, losses, stopped, std::vector<std::uint8_t>(problem.n_rows), problem.most_work};
    const CutRows all(problem.views.size(), std::move(orders));
    const int leaves = std::min(problem.max_leaves, max_parts);
    WideBuilder builder(problem, context);
    if (problem.max_depth == 1) {
        result.value = builder.add(all, {nullptr, leaves}, result.tree);
        result.bound = result.value;
        result.finished = true;
        return result;
    }
    WideNode root(context, all, problem.max_depth, leaves, FloorsByView(problem.views.size(), LossByLeaves{}));
    try {
        root.search(known, [&](double bound) { result.bound = std::max(result.bound, bound); });
        result.finished = true;
    } catch (const OutOfTime &) {
    }
    const double value = builder.add(all, root.tree(), result.tree);
    if (value < known) {
        result.value = value;
    } else {
        result.tree.clear();
    }
    result.bound = result.finished ? std::min(result.value, std::max(result.bound, known < value ? known : value))
                                   : std::min(result.bound, result.value);
    result.sweeps = losses.sweeps;
    return result;
}

} // namespace omtree
