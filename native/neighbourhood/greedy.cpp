#include "neighbourhood/greedy.hpp"

#include <array>
#include <numeric>
#include <queue>

namespace omtree::neighbourhood {

namespace {

/// Rows up to which they are sorted along a view.
constexpr std::uint16_t kFewRows = 200;
/// Steps that a tree which is wanted in any case may take when the time is up.
constexpr double kSureSteps = 1e7;

void all_leaves(TreeNode &node, std::vector<TreeNode *> &found) {
    if (node.is_leaf()) {
        found.push_back(&node);
    } else {
        all_leaves(*node.low, found);
        all_leaves(*node.high, found);
    }
}

void add_up_all(TreeNode &node) {
    if (!node.is_leaf()) {
        add_up_all(*node.low);
        add_up_all(*node.high);
    }
    node.add_up();
}

/// Sums of the rows in double precision.
std::vector<double> sums_of(const Task &task, std::span<const std::uint32_t> rows) {
    std::vector<double> sums(task.n_planes, 0.0);
    for (const std::uint32_t row : rows) {
        for (std::uint32_t j = task.start[row]; j < task.start[row + 1]; ++j) {
            sums[task.plane[j]] += task.amount[j];
        }
    }
    return sums;
}

} // namespace

Greedy::Greedy(const Task &task, Pace &pace) : task_(task), pace_(pace), every_view_(task.n_views()) {
    std::iota(every_view_.begin(), every_view_.end(), 0);
    double scale = 0.0, total = 0.0;
    for (int row = 0; row < task.n_rows; ++row) {
        total += task.weight[row];
        for (std::uint32_t j = task.start[row]; j < task.start[row + 1]; ++j) {
            scale += std::abs(task.amount[j]);
        }
    }
    least_gain_ = 1e-11 * scale;
    least_weight_ = task.min_support - 1e-10 * total;
}

Branch Greedy::leaf(std::vector<std::uint32_t> rows, Place place) const {
    auto node = std::make_unique<TreeNode>();
    node->sums = sums_of(task_, rows);
    node->own = worth_of(task_, node->sums.data()) - task_.leaf_price;
    node->rows = std::move(rows);
    node->place = std::move(place);
    node->add_up();
    return node;
}

std::vector<int> Greedy::open_views(const Place &place) const {
    const bool nested = task_.free_nesting && place.nests;
    if (place.levels < task_.max_depth && place.features.empty()) {
        return every_view_;
    }
    std::vector<int> open;
    for (int v = 0; v < task_.n_views(); ++v) {
        const int feature = task_.views[v].feature;
        const bool inside = nested && feature == place.feature && task_.views[v].nests;
        const bool closed = std::find(place.features.begin(), place.features.end(), feature) != place.features.end();
        if (inside || (place.levels < task_.max_depth && !closed)) {
            open.push_back(v);
        }
    }
    return open;
}

void Greedy::count(const TreeNode &node, std::span<const int> views) {
    const int planes = task_.n_planes;
    offset_.resize(views.size() + 1);
    offset_[0] = 0;
    for (std::size_t i = 0; i < views.size(); ++i) {
        offset_[i + 1] = offset_[i] + static_cast<std::size_t>(task_.views[views[i]].n_ranks) * planes;
    }
    counts_.assign(offset_.back(), 0.0);
    for (const std::uint32_t row : node.rows) {
        const std::uint8_t *ranks = task_.ranks_of(row);
        for (std::uint32_t j = task_.start[row]; j < task_.start[row + 1]; ++j) {
            double *at = counts_.data() + task_.plane[j];
            const double amount = task_.amount[j];
            for (std::size_t i = 0; i < views.size(); ++i) {
                at[offset_[i] + static_cast<std::size_t>(ranks[views[i]]) * planes] += amount;
            }
        }
    }
    pace_.spend(static_cast<double>(node.rows.size()) * static_cast<double>(views.size()) +
                static_cast<double>(offset_.back()) * 2.0);
}

template <typename Take>
void Greedy::each_cut(const TreeNode &node, Criterion criterion, std::span<const int> views, const Take &take) {
    if (!supported(weight_of(task_, node.sums.data()) / 2.0)) {
        return;
    }
    const int planes = task_.n_planes;
    std::vector<double> low(planes), high(planes);
    const double before = promise_of(task_, criterion, node.sums.data());
    const auto look = [&](int i, int cut) {
        for (int p = 0; p < planes; ++p) {
            high[p] = node.sums[p] - low[p];
        }
        if (supported(weight_of(task_, low.data())) && supported(weight_of(task_, high.data()))) {
            const double after = promise_of(task_, criterion, low.data()) + promise_of(task_, criterion, high.data());
            take(i, cut, after - before, low.data(), high.data());
        }
    };
    if (node.rows.size() <= kFewRows) {
        each_cut_of_few(node, views, low, look);
        return;
    }
    count(node, views);
    for (std::size_t i = 0; i < views.size(); ++i) {
        std::fill(low.begin(), low.end(), 0.0);
        const double *at = counts_.data() + offset_[i];
        for (int cut = 0; cut + 1 < task_.views[views[i]].n_ranks; ++cut, at += planes) {
            if (std::all_of(at, at + planes, [](double sum) { return sum == 0.0; })) {
                continue;
            }
            for (int p = 0; p < planes; ++p) {
                low[p] += at[p];
            }
            look(static_cast<int>(i), cut);
        }
    }
}

/// The same for rows that are fewer than ranks: these are sorted, where most ranks would be counted for nothing.
template <typename Look>
void Greedy::each_cut_of_few(const TreeNode &node, std::span<const int> views, std::vector<double> &low,
                             const Look &look) {
    constexpr std::uint16_t none = kFewRows;
    std::array<std::uint16_t, 256> first;
    std::array<std::uint16_t, kFewRows> next;
    const auto n_rows = static_cast<std::uint16_t>(node.rows.size());
    for (std::size_t i = 0; i < views.size(); ++i) {
        std::fill(low.begin(), low.end(), 0.0);
        first.fill(none);
        for (std::uint16_t k = 0; k < n_rows; ++k) {
            std::uint16_t &head = first[task_.ranks_of(node.rows[k])[views[i]]];
            next[k] = head;
            head = k;
        }
        for (int cut = 0; cut + 1 < task_.views[views[i]].n_ranks; ++cut) {
            if (first[cut] == none) {
                continue;
            }
            for (std::uint16_t k = first[cut]; k != none; k = next[k]) {
                for (std::uint32_t j = task_.start[node.rows[k]]; j < task_.start[node.rows[k] + 1]; ++j) {
                    low[task_.plane[j]] += task_.amount[j];
                }
            }
            look(static_cast<int>(i), cut);
        }
    }
    pace_.spend(static_cast<double>(views.size()) * (64.0 + static_cast<double>(n_rows) * (4.0 + task_.n_planes)));
}

Gain Greedy::best_test(const TreeNode &node, Criterion criterion, std::span<const int> views) {
    Gain best{{}, 0.0};
    double best_tie = 0.0;
    const bool ties = criterion == Criterion::worth && task_.worth == Worth::label;
    each_cut(node, criterion, views, [&](int view, int cut, double gain, const double *low, const double *high) {
        if (best.test.view >= 0 && gain < best.gain - least_gain_) {
            return;
        }
        const double tie =
            ties ? promise_of(task_, Criterion::gini, low) + promise_of(task_, Criterion::gini, high) : 0.0;
        if (best.test.view < 0 || gain > best.gain + least_gain_ || tie > best_tie) {
            best = {{views[view], cut}, gain};
            best_tie = tie;
        }
    });
    return best;
}

std::vector<double> Greedy::gain_by_view(const TreeNode &node, Criterion criterion, std::span<const int> views) {
    std::vector<double> gains(views.size(), 0.0);
    each_cut(node, criterion, views, [&](int view, int, double gain, const double *, const double *) {
        gains[view] = std::max(gains[view], gain);
    });
    return gains;
}

bool Greedy::split(TreeNode &leaf, Test test) const {
    std::vector<std::uint32_t> low, high;
    low.reserve(leaf.rows.size());
    high.reserve(leaf.rows.size());
    double low_weight = 0.0, high_weight = 0.0;
    for (const std::uint32_t row : leaf.rows) {
        if (task_.ranks_of(row)[test.view] <= test.cut) {
            low.push_back(row);
            low_weight += task_.weight[row];
        } else {
            high.push_back(row);
            high_weight += task_.weight[row];
        }
    }
    if (low.empty() || high.empty() || !supported(low_weight) || !supported(high_weight)) {
        return false;
    }
    const View &view = task_.views[test.view];
    Place below{leaf.place.levels, view.feature, view.nests, leaf.place.features};
    const bool nested = task_.free_nesting && leaf.place.nests && view.nests && leaf.place.feature == view.feature;
    below.levels += nested ? 0 : 1;
    if (task_.once && !nested && leaf.place.feature >= 0) {
        below.features.push_back(leaf.place.feature);
    }
    leaf.test = test;
    leaf.low = this->leaf(std::move(low), below);
    leaf.high = this->leaf(std::move(high), std::move(below));
    leaf.add_up();
    return true;
}

void Greedy::grow(TreeNode &node, int most_leaves, Criterion criterion, bool in_any_case) {
    struct Option {
        double gain;
        int order;
        TreeNode *leaf;
        Test test;
        bool operator<(const Option &other) const {
            return gain != other.gain ? gain < other.gain : order > other.order;
        }
    };
    std::priority_queue<Option> options;
    int order = 0;
    const auto consider = [&](TreeNode &leaf) {
        const std::vector<int> views = open_views(leaf.place);
        if (views.empty() || (in_any_case ? pace_.over_after(kSureSteps) : pace_.over())) {
            return;
        }
        const Gain found = best_test(leaf, criterion, views);
        if (found.test.view >= 0 && found.gain > least_gain_) {
            options.push({found.gain, order++, &leaf, found.test});
        }
    };
    std::vector<TreeNode *> leaves;
    all_leaves(node, leaves);
    for (TreeNode *leaf : leaves) {
        consider(*leaf);
    }
    int n_leaves = static_cast<int>(leaves.size());
    while (!options.empty() && n_leaves < most_leaves) {
        const Option best = options.top();
        options.pop();
        if (split(*best.leaf, best.test)) {
            ++n_leaves;
            consider(*best.leaf->low);
            consider(*best.leaf->high);
        }
    }
    add_up_all(node);
}

void Greedy::prune(TreeNode &node) const {
    if (node.is_leaf()) {
        return;
    }
    prune(*node.low);
    prune(*node.high);
    node.add_up();
    if (node.worth <= node.own + least_gain_) {
        node.collapse();
    }
}

} // namespace omtree::neighbourhood
