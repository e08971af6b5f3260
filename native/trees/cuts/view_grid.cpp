#include <algorithm>

#include "trees/cuts/wide_node.hpp"

namespace omtree {

void ViewGrid::start(std::vector<int> all_cuts, int n_rows, int n_first) {
    cuts = std::move(all_cuts);
    points = {0};
    const long long n = static_cast<long long>(cuts.size());
    const int wanted = static_cast<int>(std::min<long long>(n, n_first));
    for (int j = 0; j < wanted; ++j) {
        points.push_back(n <= n_first ? cuts[j] : cuts[(2 * j + 1) * n / (2 * wanted)]);
    }
    points.push_back(n_rows);
    lower.assign(points.size() * points.size(), LossByLeaves{});
    exact.assign(points.size() * points.size(), 0);
    dead.assign(2 * points.size() - 1, 0);
}

bool ViewGrid::has_cut_inside(std::size_t cell) const {
    const auto next = std::upper_bound(cuts.begin(), cuts.end(), points[cell]);
    return next != cuts.end() && *next < points[cell + 1];
}

void ViewGrid::refine(std::vector<int> added) {
    std::sort(added.begin(), added.end());
    std::vector<int> fresh;
    std::vector<std::size_t> from; // the last old point up to here, and the first from here on
    std::vector<std::size_t> to;
    std::vector<std::uint8_t> fresh_dead;
    std::size_t next = 0;
    for (std::size_t i = 0; i < points.size(); ++i) {
        fresh.push_back(points[i]);
        from.push_back(i);
        to.push_back(i);
        fresh_dead.push_back(dead[2 * i]);
        if (i + 1 == points.size()) {
            break;
        }
        fresh_dead.push_back(dead[2 * i + 1]);
        for (; next < added.size() && added[next] < points[i + 1]; ++next) {
            fresh.push_back(added[next]);
            from.push_back(i);
            to.push_back(i + 1);
            fresh_dead.push_back(0);
            fresh_dead.push_back(0);
        }
    }
    const std::size_t n = fresh.size();
    std::vector<LossByLeaves> fresh_lower(n * n, LossByLeaves{});
    std::vector<std::uint16_t> fresh_exact(n * n, 0);
    for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = i + 1; j < n; ++j) {
            if (to[i] < from[j]) {
                fresh_lower[i * n + j] = lower[at(to[i], from[j])];
                const bool same = from[i] == to[i] && from[j] == to[j];
                fresh_exact[i * n + j] = same ? exact[at(to[i], from[j])] : 0;
            }
        }
    }
    points.swap(fresh);
    lower.swap(fresh_lower);
    exact.swap(fresh_exact);
    dead.swap(fresh_dead);
}

void ViewGrid::spread(int leaves, double per_row) {
    const std::size_t n = points.size();
    const auto raise = [&](std::size_t i, std::size_t j, const LossByLeaves &by, double less) {
        LossByLeaves &own = lower[at(i, j)];
        const std::uint16_t known = exact[at(i, j)];
        for (int l = 1; l < leaves; ++l) {
            if (!(known >> l & 1)) {
                own[l] = std::max(own[l], by[l] - less);
            }
        }
    };
    for (std::size_t width = 2; width < n; ++width) {
        for (std::size_t i = 0; i + width < n; ++i) {
            raise(i, i + width, lower[at(i + 1, i + width)], 0.0);
            raise(i, i + width, lower[at(i, i + width - 1)], 0.0);
        }
    }
    // A row more costs no more than itself.
    for (std::size_t width = n - 2; width >= 1; --width) {
        for (std::size_t i = 0; i + width < n; ++i) {
            const std::size_t j = i + width;
            if (i > 0) {
                raise(i, j, lower[at(i - 1, j)], per_row * (points[i] - points[i - 1]));
            }
            if (j + 1 < n) {
                raise(i, j, lower[at(i, j + 1)], per_row * (points[j + 1] - points[j]));
            }
        }
    }
}

} // namespace omtree
