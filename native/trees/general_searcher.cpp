#include "trees/general_split.hpp"

namespace omtree::general {

Searcher::Searcher(Shared &shared, Control &control)
    : path(shared.problem), shared_(shared), control_(&control), problem_(shared.problem), judge_(shared.judge),
      width_(shared.n_statistics + 1) {
    for (int depth = 0; depth <= std::max(2, problem_.max_depth); ++depth) {
        levels_.push_back(std::make_unique<Level>());
    }
}

void Searcher::check() {
    if (control_->cancelled.load(std::memory_order_relaxed) || std::chrono::steady_clock::now() >= control_->until) {
        control_->stop.store(true, std::memory_order_relaxed);
    }
    if (control_->stop.load(std::memory_order_relaxed)) {
        throw Stopped{};
    }
}

/// Most bytes of the joint counts of all pairs of features that are found in one go.
static constexpr std::size_t most_counted_bytes = std::size_t{64} << 20;

bool Searcher::may_split(int feature) {
    const ForcedNode *given = path.given();
    if (given != nullptr && (given->leaf || (given->feature >= 0 && given->feature != feature) ||
                             (!given->closed.empty() && given->closed[feature]))) {
        return false;
    }
    const int column = problem_.columns[feature];
    if (!judge_.shape.may_follow(path.columns(), column)) {
        return false;
    }
    // More tests never cost less.
    const TestPrices &prices = judge_.prices;
    return prices.empty() || prices.price(path.columns_with(feature)) <= prices.limit * (1.0 + 1e-12) + 1e-12;
}

Verdict Searcher::judge_leaf(const RowList &rows) {
    std::vector<double> sums(shared_.n_statistics, 0.0);
    for (const std::uint32_t i : rows) {
        const double *from = judge_.row(i);
        for (int s = 0; s < shared_.n_statistics; ++s) {
            sums[s] += from[s];
        }
    }
    double paid = 0.0;
    if (!judge_.may_test(path.columns(), paid)) {
        return {infinity, 0};
    }
    return judge_given(path.given(), sums.data(), rows, path.conditions(), paid);
}

Verdict Searcher::judge_given(const ForcedNode *given, const double *sums, RowNumbers rows,
                              std::span<const JudgedCondition> conditions, double paid) const {
    if (given == nullptr) {
        return judge_.judge_tested(sums, rows, conditions, paid);
    }
    if (given->feature >= 0) {
        return {infinity, 0};
    }
    return judge_.judge_tested(sums, rows, conditions, paid, given->labels.empty() ? nullptr : &given->labels);
}

void Searcher::restrict(const RowList &rows, int feature, const CodeMask &mask, RowList &out) const {
    out.clear();
    for (const std::uint32_t i : rows) {
        const std::uint8_t code = shared_.row(i)[feature];
        if (mask[code / 64] >> (code % 64) & 1) {
            out.push_back(i);
        }
    }
}

/// Whether what is remembered answers the question; `out` has the answer then.
bool Searcher::recall(int depth, int budget, const std::vector<double> &upper, Values &out, ConditionSet &key,
                      Level &level) {
    if (!problem_.use_cache) {
        return false;
    }
    key = path.key();
    Known &known = level.remembered;
    if (!shared_.cache.find(key, depth, known) || static_cast<int>(known.values.size()) <= budget) {
        return false;
    }
    for (int m = 2; m <= budget; ++m) {
        if (!known.exact[m] && known.values[m] < upper[m]) {
            return false;
        }
    }
    for (int m = 2; m <= budget; ++m) {
        if (known.exact[m] && known.values[m] < out.loss[m]) {
            out.loss[m] = known.values[m];
            out.feature[m] = known.feature[m];
        }
        // A tree with fewer leaves will do where no better one was looked for.
        if (out.loss[m] > out.loss[m - 1]) {
            out.loss[m] = out.loss[m - 1];
            out.feature[m] = out.feature[m - 1];
        }
    }
    ++statistics.cache_hits;
    return true;
}

void Searcher::remember(int depth, int budget, const std::vector<double> &upper, const Values &out,
                        const ConditionSet &key, Level &level) {
    if (!problem_.use_cache) {
        return;
    }
    Known &known = level.remembered;
    known.values.assign(budget + 1, 0.0);
    known.exact.assign(budget + 1, false);
    known.feature = out.feature;
    for (int m = 1; m <= budget; ++m) {
        known.exact[m] = out.loss[m] < upper[m] || upper[m] == infinity;
        known.values[m] = std::min(out.loss[m], upper[m]);
    }
    shared_.cache.store(key, depth, known);
}

std::vector<int> Searcher::promising(const RowList &rows) {
    std::vector<std::pair<double, int>> order;
    for (int f = 0; f < shared_.n_features; ++f) {
        double score = 0.0;
        if (shared_.bounded && judge_.additive_loss()) {
            count_histogram(rows, f, false, histogram_);
            for (int code = 0; code < problem_.features[f].n_codes; ++code) {
                score += judge_.bare_loss(&histogram_[code * width_], {});
            }
        }
        order.emplace_back(score, f);
    }
    std::stable_sort(order.begin(), order.end());
    std::vector<int> features;
    for (const auto &[score, f] : order) {
        features.push_back(f);
    }
    return features;
}

void Searcher::solve(const RowList &rows, int depth, int budget, const std::vector<double> &upper, Values &out) {
    if (depth == 0 || budget < 2) {
        return;
    }
    Level &level = *levels_[depth];
    ConditionSet key;
    if (recall(depth, budget, upper, out, key, level)) {
        return;
    }
    const bool counted = !shared_.by_rows && depth == 2;
    const std::size_t size = static_cast<std::size_t>(shared_.n_codes) * shared_.n_codes * shared_.n_statistics;
    // The counts of thousands of features at once take long, and nothing can stop them.
    if (counted && size * sizeof(double) <= most_counted_bytes) {
        level.table.resize(size);
        count_table(rows, level.table.data());
        second_split(level.table.data(), budget, upper, out);
    } else {
        for (const int f : promising(rows)) {
            try_feature(rows, depth, budget, f, upper, out, false);
        }
    }
    remember(depth, budget, upper, out, key, level);
}

void Searcher::try_feature(const RowList &rows, int depth, int budget, int feature, const std::vector<double> &upper,
                           Values &out, bool record) {
    if (!may_split(feature)) {
        return;
    }
    if (shared_.by_rows || depth > 2) {
        deep_feature(rows, depth, budget, feature, upper, out, record);
        return;
    }
    Level &level = *levels_[depth];
    if (depth == 1) {
        count_histogram(rows, feature, false, level.histogram);
        // The statistics alone, side by side, as they are in a table.
        level.sum.clear();
        for (int code = 0; code < problem_.features[feature].n_codes; ++code) {
            const auto from = level.histogram.begin() + code * width_;
            level.sum.insert(level.sum.end(), from, from + shared_.n_statistics);
        }
        last_feature(level.sum.data(), feature, budget, upper, out, record);
        return;
    }
    check();
    const std::size_t stride = static_cast<std::size_t>(shared_.n_codes) * shared_.n_statistics;
    level.table.assign(problem_.features[feature].n_codes * stride, 0.0);
    for (const std::uint32_t i : rows) {
        const std::uint8_t *codes = shared_.row(i);
        const double *from = judge_.row(i);
        double *line = &level.table[codes[feature] * stride];
        for (int f = 0; f < shared_.n_features; ++f) {
            double *to = line + static_cast<std::size_t>(shared_.first_code[f] + codes[f]) * shared_.n_statistics;
            for (int s = 0; s < shared_.n_statistics; ++s) {
                to[s] += from[s];
            }
        }
    }
    second_feature(level.table.data(), feature, budget, upper, out, record);
}

void Searcher::last_split(const double *histogram, int budget, const std::vector<double> &upper, Values &out) {
    for (int f = 0; f < shared_.n_features; ++f) {
        if (may_split(f)) {
            last_feature(histogram + static_cast<std::size_t>(shared_.first_code[f]) * shared_.n_statistics, f, budget,
                         upper, out, false);
        }
    }
}

void Searcher::last_feature(const double *histogram, int feature, int budget, const std::vector<double> &upper,
                            Values &out, bool record) {
    Level &level = *levels_[1];
    const int n = shared_.n_statistics;
    const int n_codes = problem_.features[feature].n_codes;
    level.histogram.resize(static_cast<std::size_t>(n_codes) * width_);
    for (int code = 0; code < n_codes; ++code, histogram += n) {
        double *to = &level.histogram[code * width_];
        std::copy_n(histogram, n, to);
        to[n] = shared_.bounded && histogram[0] > 0.0 ? judge_.bare_loss(histogram, {}) : 0.0;
    }
    if (begin(level, feature, 1, budget, upper, out)) {
        level.partition.solve();
        if (!out.score.empty()) {
            out.score[feature] = level.partition.best(level.partition.budget());
        }
        accept(level, feature, budget, upper, out, record);
    }
}

void Searcher::second_split(const double *table, int budget, const std::vector<double> &upper, Values &out) {
    const std::size_t stride = static_cast<std::size_t>(shared_.n_codes) * shared_.n_statistics;
    for (int f = 0; f < shared_.n_features; ++f) {
        if (may_split(f)) {
            second_feature(table + shared_.first_code[f] * stride, f, budget, upper, out, false);
        }
    }
}

void Searcher::second_feature(const double *slab, int feature, int budget, const std::vector<double> &upper,
                              Values &out, bool record) {
    Level &level = *levels_[2];
    const int n = shared_.n_statistics;
    const int n_codes = problem_.features[feature].n_codes;
    const std::size_t stride = static_cast<std::size_t>(shared_.n_codes) * n;
    level.histogram.resize(static_cast<std::size_t>(n_codes) * width_);
    for (int code = 0; code < n_codes; ++code) {
        const double *line = slab + code * stride;
        const double *own = line + static_cast<std::size_t>(shared_.first_code[feature] + code) * n;
        double *to = &level.histogram[code * width_];
        std::copy_n(own, n, to);
        to[n] = shared_.bounded && own[0] > 0.0 ? floor_one(line, feature, judge_.bare_loss(own, {})) : 0.0;
    }
    if (!begin(level, feature, 2, budget, upper, out)) {
        return;
    }
    split(level, feature, budget, upper, out, record, 1, [&] {
        level.sum.assign(stride, 0.0);
        for (const std::uint8_t code : level.codes) {
            const double *line = slab + code * stride;
            for (std::size_t i = 0; i < stride; ++i) {
                level.sum[i] += line[i];
            }
        }
        last_split(level.sum.data(), level.partition.child_budget(), level.child_upper, level.values);
    });
}

void Searcher::deep_feature(const RowList &rows, int depth, int budget, int feature, const std::vector<double> &upper,
                            Values &out, bool record) {
    Level &level = *levels_[depth];
    const int n = shared_.n_statistics;
    const int n_codes = problem_.features[feature].n_codes;
    check();
    count_histogram(rows, feature, shared_.bounded, level.histogram);
    level.by_code.resize(std::max<std::size_t>(level.by_code.size(), n_codes));
    for (int code = 0; code < n_codes; ++code) {
        level.by_code[code].clear();
    }
    for (const std::uint32_t i : rows) {
        level.by_code[shared_.row(i)[feature]].push_back(i);
    }
    level.leaves_known = false;
    if (shared_.by_rows && shared_.bounded && depth < 3) {
        floor_by_rows(level, depth, feature);
    }
    bool tables = false;
    std::size_t size = 0;
    if (depth == 3 && !shared_.by_rows) {
        size = static_cast<std::size_t>(shared_.n_codes) * shared_.n_codes * n;
        tables = size * n_codes * sizeof(double) <= std::size_t{256} << 20;
    }
    level.tabled = tables;
    if (tables) {
        level.tables.resize(size * n_codes);
        for (int code = 0; code < n_codes; ++code) {
            if (!level.by_code[code].empty()) {
                check();
                count_table(level.by_code[code], &level.tables[code * size]);
                double *own = &level.histogram[code * width_];
                if (shared_.bounded) {
                    own[n] = std::max(own[n], floor_two(&level.tables[code * size], judge_.bare_loss(own, {})));
                }
            }
        }
    }
    if (!begin(level, feature, depth, budget, upper, out)) {
        return;
    }
    const int child_budget = level.partition.child_budget();
    split(level, feature, budget, upper, out, record, depth - 1, [&] {
        std::size_t n_rows = 0;
        for (const std::uint8_t code : level.codes) {
            n_rows += level.by_code[code].size();
        }
        const std::size_t n_pairs = shared_.n_features * shared_.n_features / 2;
        if (!tables || n_rows * n_pairs * n * 2 + size < level.codes.size() * size) {
            gather_rows(level);
            solve(level.rows, depth - 1, child_budget, level.child_upper, level.values);
            return;
        }
        Level &below = *levels_[2];
        ConditionSet key;
        if (recall(2, child_budget, level.child_upper, level.values, key, below)) {
            return;
        }
        const double *table = &level.tables[level.codes[0] * size];
        if (level.codes.size() > 1) {
            level.table.assign(table, table + size);
            for (std::size_t c = 1; c < level.codes.size(); ++c) {
                const double *more = &level.tables[level.codes[c] * size];
                for (std::size_t i = 0; i < size; ++i) {
                    level.table[i] += more[i];
                }
            }
            table = level.table.data();
        }
        second_split(table, child_budget, level.child_upper, level.values);
        remember(2, child_budget, level.child_upper, level.values, key, below);
    });
}

} // namespace omtree::general
