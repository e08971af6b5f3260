// The tree behind a shape: its last splits are found again from the rows.
#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <numeric>

#include "trees/cuts/cut_search.hpp"

namespace omtree {

void CutSearcher::find_twins() {
    const std::size_t n = problem_.n_rows;
    const std::size_t n_views = ranks_.of_row.size();
    std::vector<std::uint32_t> rows(n);
    std::iota(rows.begin(), rows.end(), 0u);
    const auto compare = [&](std::uint32_t a, std::uint32_t b) {
        for (std::size_t view = 0; view < n_views; ++view) {
            if (ranks_.of_row[view][a] != ranks_.of_row[view][b]) {
                return ranks_.of_row[view][a] < ranks_.of_row[view][b] ? -1 : 1;
            }
        }
        return 0;
    };
    std::sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) { return compare(a, b) < 0; });
    for (std::size_t from = 0; from < n;) {
        std::size_t to = from + 1;
        while (to < n && compare(rows[from], rows[to]) == 0) {
            ++to;
        }
        const std::span<const std::uint32_t> twins(rows.data() + from, to - from);
        const double loss = twins.size() > 1 ? losses_->leaf(twins) : 0.0;
        if (loss > 0.0) {
            twin_loss_.resize(n, 0.0);
            // Cuts never part them, so that it does not matter which of them pays.
            twin_loss_[twins[0]] = loss;
        }
        from = to;
    }
}

bool CutSearcher::best_single_split(const CutRows &rows, CutShape &found) {
    double best = losses_->leaf(rows.order(0));
    bool any = false;
    std::vector<int> cuts;
    for (std::size_t view = 0; view < ranks_.of_row.size(); ++view) {
        cuts_of(rows, view, problem_.min_support, cuts);
        for (const auto &[place, value] : losses_->single_splits(rows, view, cuts)) {
            if (value < best) {
                best = value;
                found = shape(rows, view, place);
                any = true;
            }
        }
    }
    return any;
}

void CutSearcher::complete(const CutRows &rows, const CutShape *shape, int open, std::vector<CutNode> &tree) {
    const std::size_t position = tree.size();
    tree.emplace_back().label = losses_->label(rows.order(0));
    CutShape split;
    if (shape == nullptr) {
        if (open < 2 || !best_single_split(rows, split)) {
            return;
        }
        shape = &split;
    }
    const std::span<const std::uint32_t> order = rows.order(shape->view);
    const std::vector<std::uint32_t> &ranks = ranks_.of_row[shape->view];
    const std::size_t place =
        std::upper_bound(order.begin(), order.end(), shape->below,
                         [&](std::uint32_t rank, std::uint32_t row) { return rank < ranks[row]; }) -
        order.begin();
    const std::vector<double> &values = ranks_.values[shape->view];
    tree[position].view = shape->view;
    tree[position].below = {values[ranks[order[place - 1]]]};
    tree[position].above = {values[ranks[order[place]]]};
    tree[position].children.push_back(static_cast<int>(tree.size()));
    complete(rows.part(shape->view, 0, place, inside_), shape->left.get(), shape->open_left, tree);
    tree[position].children.push_back(static_cast<int>(tree.size()));
    complete(rows.part(shape->view, place, rows.size(), inside_), shape->right.get(), shape->open_right, tree);
}

} // namespace omtree
