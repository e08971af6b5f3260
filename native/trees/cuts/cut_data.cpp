#include "trees/cuts/cut_data.hpp"

#include <algorithm>
#include <utility>

namespace omtree {

CutRows CutRows::part(std::size_t view, std::size_t begin, std::size_t end, std::vector<std::uint8_t> &inside) const {
    const std::size_t n = size();
    const std::span<const std::uint32_t> places = order(view);
    for (std::size_t i = 0; i < n; ++i) {
        inside[places[i]] = i >= begin && i < end;
    }
    // One more than needed: a row is written first and kept afterwards.
    std::vector<std::uint32_t> orders((end - begin) * n_views_ + 1);
    std::uint32_t *to = orders.data();
    for (std::size_t other = 0; other < n_views_; ++other) {
        for (const std::uint32_t row : order(other)) {
            *to = row;
            to += inside[row];
        }
    }
    orders.pop_back();
    return {n_views_, std::move(orders)};
}

bool CutRanks::sort(const CutProblem &problem, const std::function<bool()> &stopped,
                    std::vector<std::uint32_t> &orders) {
    const std::size_t n = problem.n_rows;
    orders.resize(n * problem.views.size());
    std::vector<std::pair<double, std::uint32_t>> cells(n);
    for (std::size_t view = 0; view < problem.views.size(); ++view) {
        if (stopped()) {
            return false;
        }
        for (std::size_t row = 0; row < n; ++row) {
            cells[row] = {problem.views[view][row], static_cast<std::uint32_t>(row)};
        }
        std::sort(cells.begin(), cells.end());
        std::vector<std::uint32_t> &ranks = of_row.emplace_back(n);
        std::vector<double> &distinct = values.emplace_back();
        for (std::size_t place = 0; place < n; ++place) {
            if (place == 0 || cells[place].first != cells[place - 1].first) {
                distinct.push_back(cells[place].first);
            }
            ranks[cells[place].second] = static_cast<std::uint32_t>(distinct.size() - 1);
            orders[view * n + place] = cells[place].second;
        }
    }
    return true;
}

} // namespace omtree
