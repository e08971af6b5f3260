#include "neighbourhood/window.hpp"

#include <limits>
#include <numeric>

#include "core/clones.hpp"

namespace omtree::neighbourhood {

namespace {

constexpr int kBins = 32;
constexpr std::size_t kCells = static_cast<std::size_t>(kBins) * kBins;
/// A window looks at a part of so many rows where there are more.
constexpr std::size_t kMostRows = 16384;
/// With fewer rows there are half as many bins.
constexpr std::size_t kFewRows = 400;
constexpr int kMostViews = 20;
constexpr int kRandomViews = 3;
constexpr float kNever = -std::numeric_limits<float>::infinity();

} // namespace

/// What four groups of cells are worth, side by side; too little support is worth less than anything.
struct Four {
    float ll[kBins], lr[kBins], rl[kBins], rr[kBins];
};

/// Sums of two crossed tests: for the cells below both cuts in `at`, for those below one of them, and all.
struct Crossed {
    const float *at;     ///< by plane, `kCells` apart
    const float *second; ///< by plane, `kBins` apart
    const float *first;  ///< by plane
    const float *total;  ///< by plane
};

namespace {

OMTREE_CLONES void label_worth(const Crossed &sums, int n_planes, bool weighs, float least, Four &out) {
    float w[kBins] = {}, m1[kBins], m2[kBins], m3[kBins], m4[kBins];
    std::fill_n(m1, kBins, 0.0F), std::fill_n(m2, kBins, 0.0F);
    std::fill_n(m3, kBins, 0.0F), std::fill_n(m4, kBins, 0.0F);
    float below = 0.0F, all = 0.0F;
    float s[kBins] = {};
    for (int p = weighs ? 1 : 0; p < n_planes; ++p) {
        const float *at = sums.at + p * kCells, *second = sums.second + p * kBins;
        const float first = sums.first[p], rest = sums.total[p] - first;
        for (int k = 0; k < kBins; ++k) {
            const float x = at[k], u = second[k] - x;
            m1[k] = std::max(m1[k], x);
            m2[k] = std::max(m2[k], first - x);
            m3[k] = std::max(m3[k], u);
            m4[k] = std::max(m4[k], rest - u);
            w[k] += x;
            s[k] += second[k];
        }
        below += first;
        all += sums.total[p];
    }
    if (weighs) {
        std::copy_n(sums.at, kBins, w);
        std::copy_n(sums.second, kBins, s);
        below = sums.first[0];
        all = sums.total[0];
    }
    for (int k = 0; k < kBins; ++k) {
        const float rest = s[k] - w[k];
        out.ll[k] = w[k] >= least ? m1[k] : kNever;
        out.lr[k] = below - w[k] >= least ? m2[k] : kNever;
        out.rl[k] = rest >= least ? m3[k] : kNever;
        out.rr[k] = all - below - rest >= least ? m4[k] : kNever;
    }
}

OMTREE_CLONES void squared_worth(const Crossed &sums, float least, Four &out) {
    const float *w = sums.at, *y = sums.at + kCells;
    for (int k = 0; k < kBins; ++k) {
        const float w1 = w[k], w2 = sums.first[0] - w1, w3 = sums.second[k] - w1;
        const float w4 = sums.total[0] - sums.first[0] - w3;
        const float y1 = y[k], y2 = sums.first[1] - y1, y3 = sums.second[kBins + k] - y1;
        const float y4 = sums.total[1] - sums.first[1] - y3;
        out.ll[k] = w1 >= least ? y1 * y1 / w1 : kNever;
        out.lr[k] = w2 >= least ? y2 * y2 / w2 : kNever;
        out.rl[k] = w3 >= least ? y3 * y3 / w3 : kNever;
        out.rr[k] = w4 >= least ? y4 * y4 / w4 : kNever;
    }
}

float cell_worth(const Task &task, const double *sums, float least) {
    return weight_of(task, sums) >= least ? static_cast<float>(worth_of(task, sums)) : kNever;
}

void any_worth(const Task &task, const Crossed &sums, int n_cuts, float least, Four &out) {
    std::vector<double> one(task.n_planes), two(task.n_planes), three(task.n_planes), four(task.n_planes);
    for (int k = 0; k < n_cuts; ++k) {
        for (int p = 0; p < task.n_planes; ++p) {
            one[p] = sums.at[p * kCells + k];
            two[p] = sums.first[p] - one[p];
            three[p] = sums.second[p * kBins + k] - one[p];
            four[p] = sums.total[p] - sums.first[p] - three[p];
        }
        out.ll[k] = cell_worth(task, one.data(), least);
        out.lr[k] = cell_worth(task, two.data(), least);
        out.rl[k] = cell_worth(task, three.data(), least);
        out.rr[k] = cell_worth(task, four.data(), least);
    }
}

OMTREE_CLONES void add_up_cells(float *table, int n_planes, int n_bins) {
    for (int p = 0; p < n_planes; ++p) {
        float *plane = table + p * kCells;
        for (int q = 0; q < n_bins; ++q) {
            float *row = plane + q * kBins;
            for (int k = 1; k < kBins; ++k) {
                row[k] += row[k - 1];
            }
            for (int k = 0; q > 0 && k < kBins; ++k) {
                row[k] += row[k - kBins];
            }
        }
    }
}

/// Cuts of a view in the two upper levels of a tree.
void cuts_of(const TreeNode *node, int levels, int view, std::vector<int> &cuts) {
    if (node == nullptr || node->is_leaf() || levels == 0) {
        return;
    }
    if (node->test.view == view) {
        cuts.push_back(node->test.cut);
    }
    cuts_of(node->low.get(), levels - 1, view, cuts);
    cuts_of(node->high.get(), levels - 1, view, cuts);
}

} // namespace

void Window::choose_rows(const TreeNode &node) {
    const std::size_t n = node.rows.size(), size = std::min(n, kMostRows);
    rows_.resize(size);
    for (std::size_t i = 0; i < size; ++i) {
        rows_[i] = node.rows[i * n / size];
    }
    scale_ = static_cast<double>(n) / static_cast<double>(size);
    least_weight_ = static_cast<float>(task_.min_support / scale_ * (1.0 - 1e-5));
    const double mean = task_.worth == Worth::squared ? node.sums[1] / node.sums[0] : 0.0;
    amount_.clear();
    total_.assign(task_.n_planes, 0.0F);
    for (const std::uint32_t row : rows_) {
        for (std::uint32_t j = task_.start[row]; j < task_.start[row + 1]; ++j) {
            // Far from its mean a target would lose digits.
            const double shift = task_.worth == Worth::squared && task_.plane[j] == 1 ? mean * task_.weight[row] : 0.0;
            amount_.push_back(static_cast<float>(task_.amount[j] - shift));
            total_[task_.plane[j]] += amount_.back();
        }
    }
}

std::vector<int> Window::choose_views(const TreeNode &node, const TreeNode *from, std::mt19937_64 &random) {
    std::vector<int> views = greedy_.open_views(node.place);
    const int affordable = std::max(6, static_cast<int>(std::sqrt(16384.0 / task_.n_planes)));
    const std::size_t most = static_cast<std::size_t>(std::min(kMostViews, affordable));
    if (views.size() <= most) {
        return views;
    }
    std::vector<double> gain = greedy_.gain_by_view(node, Criterion::gini, views);
    for (std::size_t i = 0; i < views.size(); ++i) {
        std::vector<int> cuts;
        cuts_of(from, 2, views[i], cuts);
        if (!cuts.empty()) {
            gain[i] = std::numeric_limits<double>::infinity();
        }
    }
    std::vector<int> order(views.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return gain[a] > gain[b]; });
    for (int i = 0; i < kRandomViews; ++i) {
        const std::size_t place = most - 1 - i;
        std::swap(order[place], order[place + random() % (order.size() - place)]);
    }
    std::vector<int> chosen(most);
    std::transform(order.begin(), order.begin() + most, chosen.begin(), [&](int i) { return views[i]; });
    return chosen;
}

void Window::make_axis(Axis &axis, const TreeNode *from, int most_bins) {
    const int n_ranks = task_.views[axis.view].n_ranks;
    std::vector<double> weight(n_ranks, 0.0);
    double all = 0.0;
    for (const std::uint32_t row : rows_) {
        weight[task_.ranks_of(row)[axis.view]] += task_.weight[row];
        all += task_.weight[row];
    }
    const int occupied = n_ranks - static_cast<int>(std::count(weight.begin(), weight.end(), 0.0));
    std::vector<char> cut(n_ranks, 0);
    int n_cuts = 0;
    const auto add = [&](int rank) {
        if (rank >= 0 && rank + 1 < n_ranks && !cut[rank] && n_cuts < most_bins - 1) {
            cut[rank] = 1;
            ++n_cuts;
        }
    };
    if (occupied <= most_bins) {
        for (int rank = 0; rank < n_ranks; ++rank) {
            if (weight[rank] > 0.0) {
                add(rank);
            }
        }
    } else {
        std::vector<int> close;
        cuts_of(from, 2, axis.view, close);
        for (const int rank : close) {
            for (const int step : {0, -1, 1, -3, 3}) {
                add(rank + step);
            }
        }
        const int wanted = most_bins - 1 - n_cuts;
        double below = 0.0;
        int taken = 0;
        for (int rank = 0; rank + 1 < n_ranks && taken < wanted; ++rank) {
            below += weight[rank];
            if (below * (wanted + 1) >= (taken + 1) * all) {
                add(rank);
                taken = std::max(taken + 1, static_cast<int>(below * (wanted + 1) / all));
            }
        }
    }
    std::vector<std::uint8_t> bin(n_ranks);
    axis.cuts.clear();
    for (int rank = 0; rank < n_ranks; ++rank) {
        bin[rank] = static_cast<std::uint8_t>(axis.cuts.size());
        if (cut[rank]) {
            axis.cuts.push_back(rank);
        }
    }
    axis.bins.resize(rows_.size());
    axis.sums.assign(static_cast<std::size_t>(task_.n_planes) * kBins, 0.0F);
    std::size_t place = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        axis.bins[i] = bin[task_.ranks_of(rows_[i])[axis.view]];
        for (std::uint32_t j = task_.start[rows_[i]]; j < task_.start[rows_[i] + 1]; ++j, ++place) {
            axis.sums[task_.plane[j] * kBins + axis.bins[i]] += amount_[place];
        }
    }
    for (int p = 0; p < task_.n_planes; ++p) {
        for (int k = 1; k < kBins; ++k) {
            axis.sums[p * kBins + k] += axis.sums[p * kBins + k - 1];
        }
    }
    axis.low.assign(axis.cuts.size(), kNever);
    axis.high.assign(axis.cuts.size(), kNever);
}

void Window::count(const Axis &first, const Axis &second) {
    table_.assign(kCells * task_.n_planes, 0.0F);
    std::size_t place = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
        const std::size_t cell = static_cast<std::size_t>(first.bins[i]) * kBins + second.bins[i];
        for (std::uint32_t j = task_.start[rows_[i]]; j < task_.start[rows_[i] + 1]; ++j, ++place) {
            table_[task_.plane[j] * kCells + cell] += amount_[place];
        }
    }
    add_up_cells(table_.data(), task_.n_planes, static_cast<int>(first.cuts.size()));
}

void Window::cross(Axis &first, Axis &second) {
    count(first, second);
    const int n_second = static_cast<int>(second.cuts.size());
    std::vector<float> below(task_.n_planes);
    Four four{};
    for (std::size_t q = 0; q < first.cuts.size(); ++q) {
        for (int p = 0; p < task_.n_planes; ++p) {
            below[p] = first.sums[p * kBins + q];
        }
        const Crossed sums{table_.data() + q * kBins, second.sums.data(), below.data(), total_.data()};
        evaluate(sums, n_second, four);
        for (int k = 0; k < n_second; ++k) {
            first.low[q] = std::max(first.low[q], four.ll[k] + four.lr[k]);
            first.high[q] = std::max(first.high[q], four.rl[k] + four.rr[k]);
            second.low[k] = std::max(second.low[k], four.ll[k] + four.rl[k]);
            second.high[k] = std::max(second.high[k], four.lr[k] + four.rr[k]);
        }
    }
}

void Window::evaluate(const Crossed &sums, int n_cuts, Four &out) const {
    if (task_.worth == Worth::label) {
        label_worth(sums, task_.n_planes, task_.weighs, least_weight_, out);
    } else if (task_.worth == Worth::squared) {
        squared_worth(sums, least_weight_, out);
    } else {
        any_worth(task_, sums, n_cuts, least_weight_, out);
    }
}

void Window::twice(Axis &axis) {
    // Below both of two cuts of one view is what is below the lower one.
    const int n_cuts = static_cast<int>(axis.cuts.size());
    table_.assign(kCells * task_.n_planes, 0.0F);
    std::vector<float> below(task_.n_planes);
    Four four{};
    for (int q = 0; q < n_cuts; ++q) {
        for (int p = 0; p < task_.n_planes; ++p) {
            below[p] = axis.sums[p * kBins + q];
            for (int k = 0; k < kBins; ++k) {
                table_[p * kCells + k] = axis.sums[p * kBins + std::min(k, q)];
            }
        }
        evaluate({table_.data(), axis.sums.data(), below.data(), total_.data()}, n_cuts, four);
        for (int k = 0; k < q; ++k) {
            axis.low[q] = std::max(axis.low[q], four.ll[k] + four.lr[k]);
        }
        for (int k = q + 1; k < n_cuts; ++k) {
            axis.high[q] = std::max(axis.high[q], four.rl[k] + four.rr[k]);
        }
    }
}

std::vector<Test> Window::choose(const std::vector<Axis> &axes, int most_leaves) const {
    std::vector<std::pair<float, Test>> best;
    const auto price = static_cast<float>(task_.leaf_price / scale_);
    std::vector<double> low(task_.n_planes), high(task_.n_planes);
    for (const Axis &axis : axes) {
        for (std::size_t q = 0; q < axis.cuts.size(); ++q) {
            for (int p = 0; p < task_.n_planes; ++p) {
                low[p] = axis.sums[p * kBins + q];
                high[p] = total_[p] - low[p];
            }
            const float l1 = cell_worth(task_, low.data(), least_weight_);
            const float h1 = cell_worth(task_, high.data(), least_weight_);
            const float l2 = axis.low[q] - price, h2 = axis.high[q] - price;
            float worth = l1 + h1;
            if (most_leaves >= 3) {
                worth = std::max({worth, l2 + h1, l1 + h2});
            }
            if (most_leaves >= 4) {
                worth = std::max(worth, l2 + h2);
            }
            if (worth > kNever) {
                best.push_back({worth, {axis.view, axis.cuts[q]}});
            }
        }
    }
    std::stable_sort(best.begin(), best.end(), [](const auto &a, const auto &b) { return a.first > b.first; });
    std::vector<Test> tests;
    std::transform(best.begin(), best.end(), std::back_inserter(tests), [](const auto &pair) { return pair.second; });
    return tests;
}

Test Window::best_first(const TreeNode &node, int most_leaves, const TreeNode *from, std::mt19937_64 &random) {
    const std::vector<Test> tests = in_order(node, most_leaves, from, random);
    return tests.empty() ? Test{} : tests.front();
}

std::vector<Test> Window::in_order(const TreeNode &node, int most_leaves, const TreeNode *from,
                                   std::mt19937_64 &random) {
    if (most_leaves < 2) {
        return {};
    }
    const std::vector<int> views = choose_views(node, from, random);
    if (views.empty()) {
        return {};
    }
    choose_rows(node);
    const int most_bins = rows_.size() < kFewRows ? kBins / 2 : kBins;
    std::vector<Axis> axes(views.size());
    for (std::size_t i = 0; i < views.size(); ++i) {
        axes[i].view = views[i];
        make_axis(axes[i], from, most_bins);
    }
    // Whether a second test may be one of another feature.
    const bool deep = node.place.levels + 1 < task_.max_depth;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const View &view = task_.views[axes[i].view];
        const bool again = task_.free_nesting && view.nests;
        if (again || (deep && !task_.once)) {
            twice(axes[i]);
        }
        for (std::size_t j = i + 1; j < axes.size() && most_leaves > 2; ++j) {
            const View &other = task_.views[axes[j].view];
            const bool same = view.feature == other.feature;
            if (same ? (again && other.nests) || (deep && !task_.once) : deep) {
                cross(axes[i], axes[j]);
                if (pace_.over()) {
                    return {};
                }
            }
        }
    }
    const double pairs = 0.5 * static_cast<double>(axes.size() * axes.size());
    pace_.spend(pairs * (static_cast<double>(rows_.size()) + static_cast<double>(kCells) * task_.n_planes));
    return choose(axes, most_leaves);
}

} // namespace omtree::neighbourhood
