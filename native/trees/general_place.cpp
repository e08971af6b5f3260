#include "trees/general_place.hpp"

#include <algorithm>

namespace omtree::general {

std::vector<int> leaf_budgets(const Shared &shared) {
    const int depth = shared.problem.max_depth;
    std::vector<int> budgets(depth + 1, 1);
    budgets[depth] = shared.most_leaves[depth];
    for (int d = depth - 1; d > 0; --d) {
        budgets[d] = std::max(1, std::min(budgets[d + 1] - 1, shared.most_leaves[d]));
    }
    return budgets;
}

const Place &Places::whole(int depth) {
    Place &place = places_[depth];
    place.rows = shared_.rows;
    place.sums.assign(shared_.n_statistics, 0.0);
    for (const std::uint32_t i : place.rows) {
        for (int s = 0; s < shared_.n_statistics; ++s) {
            place.sums[s] += shared_.judge.row(i)[s];
        }
    }
    if (counted(depth)) {
        searcher_.count(place.rows, depth, place.counts);
    }
    return place;
}

const Place &Places::below(int depth, int feature, const std::vector<std::uint8_t> &codes, const CodeMask &mask,
                           const std::vector<double> &sums) {
    const Place &place = places_[depth];
    Place &child = places_[depth - 1];
    child.sums = sums;
    if (counted(depth)) {
        searcher_.count_child(place.counts, feature, codes, child.counts);
        return child;
    }
    if (depth == 3 && counted(2) && searcher_.count_child(codes, child.counts)) {
        return child;
    }
    searcher_.restrict(place.rows, feature, mask, child.rows);
    if (counted(depth - 1)) {
        searcher_.count(child.rows, depth - 1, child.counts);
    }
    return child;
}

} // namespace omtree::general
