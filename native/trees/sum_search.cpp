#include "trees/sum_search.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <numeric>

#include "core/threads.hpp"
#include "trees/every_size.hpp"
#include "trees/sum_levels.hpp"
#include "trees/sum_worker.hpp"

namespace omtree {

void SumValues::start(int sizes, double leaf) {
    loss.assign(sizes + 1, leaf);
    choice.assign(sizes + 1, {});
}

void SumValues::widen(int sizes) {
    loss.resize(sizes + 1, loss.back());
    choice.resize(sizes + 1, choice.back());
}

void SumValues::offer(int column, std::span<const double> in, std::span<const double> out, bool any_size) {
    if (any_size) {
        if (in[0] + out[0] < loss[1]) {
            loss[1] = in[0] + out[0];
            choice[1] = {column, 1};
        }
        return;
    }
    const int most = sizes();
    for (int a = 1; a <= static_cast<int>(in.size()); ++a) {
        for (int b = 1; b <= static_cast<int>(out.size()) && a + b <= most; ++b) {
            const double value = in[a - 1] + out[b - 1];
            if (value < loss[a + b]) {
                loss[a + b] = value;
                choice[a + b] = {column, a};
            }
        }
    }
    // More leaves are never worse.
    for (int m = 2; m <= most; ++m) {
        if (loss[m - 1] < loss[m]) {
            loss[m] = loss[m - 1];
            choice[m] = choice[m - 1];
        }
    }
}

bool SumSearch::suits(const SearchProblem &problem, std::span<const double> statistics, int n_sums) {
    bool two_codes = true;
    for (const SearchFeature &feature : problem.features) {
        two_codes = two_codes && feature.n_codes <= 2;
    }
    std::vector<SplitColumn> columns;
    if (!(problem.max_children == 2 || two_codes) || problem.max_depth < 1 || problem.max_leaves < 2 ||
        problem.features.empty() || !split_columns(problem, columns) || columns.size() > most_columns) {
        return false;
    }
    // Weights of cells are differences: even that of the lightest row must stand out of their rounding.
    double total = 0.0;
    double lightest = infinity;
    for (std::size_t i = 0; i < problem.n_rows; ++i) {
        const double weight = statistics[(n_sums + 1) * i];
        total += weight;
        lightest = std::min(lightest, weight);
    }
    return lightest > 1e-9 * total;
}

SumSearch::SumSearch(const SearchProblem &problem, std::span<const double> statistics, int n_sums, SumLoss loss,
                     Control &control)
    : problem_(problem), loss_(loss), control_(control),
      any_size_(!problem.every_size && problem.max_depth < 30 && problem.max_leaves >= 1 << problem.max_depth),
      n_sums_(n_sums), stride_((n_sums + 3) / 4 * 4), samples_(problem.n_rows * stride_, 0.0),
      everything_(problem.n_rows), cache_(problem.cache_bytes / 2), quarters_(problem.cache_bytes / 2) {
    std::iota(everything_.begin(), everything_.end(), 0u);
    std::vector<double> all(n_sums, 0.0);
    double lightest = infinity;
    for (std::size_t i = 0; i < problem.n_rows; ++i) {
        const double *own = &statistics[(n_sums + 1) * i];
        for (int s = 0; s < n_sums; ++s) {
            all[s] += own[s];
        }
        lightest = std::min(lightest, own[0]);
    }
    support_ = std::max(problem.min_support * (1.0 - 1e-9) - 1e-12, 0.5 * lightest);
    for (std::size_t i = 0; i < problem.n_rows; ++i) {
        const double *own = &statistics[(n_sums + 1) * i];
        double *to = &samples_[i * stride_];
        const double weight = own[0];
        double rest = own[n_sums];
        to[0] = weight;
        for (int s = 1; s < n_sums; ++s) {
            const double centre = loss == SumLoss::squared ? all[s] / all[0] : 0.0;
            to[s] = own[s] - centre * weight;
            // The sum of squared distances from the centre.
            rest -= centre * (own[s] + to[s]);
        }
        weights_.push_back(weight);
        rest_.push_back(rest);
    }
    tolerance_ = 1e-11 * whole_leaf(everything_);
}

double SumSearch::leaf(const double *sums) const {
    switch (loss_) {
    case SumLoss::squared: {
        double squares = 0.0;
        for (int s = 1; s < n_sums_; ++s) {
            squares += sums[s] * sums[s];
        }
        return -squares / sums[0];
    }
    case SumLoss::poisson:
        return sums[1] > 0.0 ? -sums[1] * std::log(sums[1] / sums[0]) : 0.0;
    case SumLoss::least:
        break;
    }
    return *std::min_element(sums + 1, sums + n_sums_);
}

std::vector<double> SumSearch::total(const SampleRows &rows) const {
    std::vector<double> sums(n_sums_, 0.0);
    for (const std::uint32_t row : rows) {
        const double *own = sample(row);
        for (int s = 0; s < n_sums_; ++s) {
            sums[s] += own[s];
        }
    }
    return sums;
}

double SumSearch::floor(const SampleRows &rows) const {
    double least = 0.0;
    for (const std::uint32_t row : rows) {
        least += leaf(sample(row));
    }
    return least;
}

double SumSearch::whole_leaf(const SampleRows &rows) const {
    double rest = leaf(total(rows).data());
    for (const std::uint32_t row : rows) {
        rest += rest_[row];
    }
    return std::max(0.0, rest);
}

SampleRows SumSearch::side(const SampleRows &rows, int column, bool inside) const {
    const int chain = chains_.chain_of[column];
    const int least = column - chains_.first[chain] + 1;
    SampleRows kept;
    for (const std::uint32_t row : rows) {
        if ((chains_.row(row)[chain] >= least) == inside) {
            kept.push_back(row);
        }
    }
    return kept;
}

SearchResult SumSearch::run() {
    SearchResult result;
    SumValues best;
    int reached = 0;
    const std::vector<double> all = total(everything_);
    best.start(1, all[0] < support_ ? infinity : leaf(all.data()));
    try {
        SumWorker(*this, cache_, control_).check();
        chains_ = find_chains(problem_, weights_, support_, [&] { SumWorker(*this, cache_, control_).check(); });
        layout_ = PairLayout(chains_.n_columns(), n_sums_);
        SumWorker(*this, cache_, control_).count(everything_, whole_);
        result.finished = true;
    } catch (const Stopped &) {
        // A single leaf it is.
    }
    const double least = floor(everything_);
    const double known = std::accumulate(rest_.begin(), rest_.end(), 0.0);
    control_.standing.bound = std::max(0.0, known + least);
    // Shallow trees first: they are nearly free, and there is one to return when the time is up.
    for (int depth = std::min(2, problem_.max_depth);
         depth <= problem_.max_depth && result.finished && layout_.n_columns > 0; ++depth) {
        if (problem_.use_bounds && any_size_ && best.loss[1] <= least + tolerance_) {
            break;
        }
        best.widen(n_sizes(depth));
        result.finished = solve_root(depth, best);
        reached = depth;
        // Of a depth that is not done there may be no time to build what was found.
        control_.standing.found(result.finished ? known + best.loss.back() : infinity);
        if (result.finished && depth < problem_.max_depth) {
            keep(best, depth);
        }
    }
    best.widen(n_sizes(problem_.max_depth));
    result.statistics = statistics_;
    result.statistics.cache_entries = cache_.size();
    const double bound = known + (result.finished ? best.loss.back() : least);
    build_all(best, reached, result);
    if (kept_loss_ < result.losses.back()) {
        result.losses.back() = kept_loss_;
        result.trees.back() = std::move(kept_);
    }
    result.bound = result.finished ? result.losses.back() : std::min(std::max(0.0, bound), result.losses.back());
    return result;
}

/// Keeps the best tree of a depth that is done, in case there is no time to build a deeper one.
void SumSearch::keep(const SumValues &best, int depth) {
    if (control_.until == std::chrono::steady_clock::time_point::max() || best.loss.back() == infinity) {
        return;
    }
    SumWorker worker(*this, cache_, control_);
    SearchTree tree;
    double loss = 0.0;
    build(worker, everything_, {}, depth, best.sizes(), &best, tree, loss);
    if (loss < kept_loss_) {
        kept_loss_ = loss;
        kept_ = std::move(tree);
    }
}

bool SumSearch::solve_root(int depth, SumValues &best) {
    const int n_threads = depth < 3 ? 1 : std::clamp(problem_.n_threads, 1, chains_.n_chains());
    std::vector<std::unique_ptr<SumWorker>> workers;
    for (int i = 0; i < n_threads; ++i) {
        workers.push_back(std::make_unique<SumWorker>(*this, cache_, control_));
    }
    bool complete = true;
    try {
        SumValues two;
        workers[0]->two_levels({whole_.data()}, depth, two);
        if (depth <= 2) {
            best = two;
        } else if (depth <= 4) {
            SumLevels levels(*this, *workers[0], everything_, whole_, {}, depth);
            std::vector<int> items(levels.n_items());
            std::iota(items.begin(), items.end(), 0);
            complete = share_out(items, n_threads, control_,
                                 [&](int thread, int item) { levels.work(*workers[thread], item); });
            if (complete) {
                levels.best(best);
            }
        } else {
            const SideLosses &sides = workers[0]->losses;
            std::vector<double> score(layout_.n_columns);
            for (int i = 0; i < layout_.n_columns; ++i) {
                score[i] =
                    std::min(sides.leaf_in[i], sides.second_in[i]) + std::min(sides.leaf_out[i], sides.second_out[i]);
            }
            std::mutex mutex;
            complete = share_out(in_order_of(score), n_threads, control_, [&](int thread, int column) {
                workers[thread]->try_column(everything_, {}, depth, column, infinity, best, &mutex);
            });
        }
    } catch (const Stopped &) {
        complete = false;
    }
    for (const auto &worker : workers) {
        statistics_.subproblems += worker->statistics.subproblems;
        statistics_.cache_hits += worker->statistics.cache_hits;
    }
    return complete;
}

void SumSearch::build_all(const SumValues &best, int depth, SearchResult &result) {
    // What is built has to be found again, which takes a small part of the time; where there is none, a node gets the
    // best split known by then.
    Control grace;
    const auto least = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    grace.until = result.finished ? std::max(control_.until, least) : least;
    SumWorker worker(*this, cache_, grace);
    result.losses.assign(problem_.max_leaves, infinity);
    result.trees.resize(problem_.max_leaves);
    const auto build_one = [&](int size, SearchTree &tree) {
        double loss = 0.0;
        build(worker, everything_, {}, depth, size, &best, tree, loss);
        return loss;
    };
    if (!any_size_) {
        build_every_size(best.loss, tolerance_, grace.stop, build_one, result);
    } else if (best.loss[1] < infinity) {
        result.losses.back() = build_one(1, result.trees.back());
    }
    result.finished = result.finished && !grace.stop;
}

int SumSearch::build(SumWorker &worker, const SampleRows &rows, const ConditionSet &path, int depth, int leaves,
                     const SumValues *known, SearchTree &tree, double &total_loss) {
    const int position = static_cast<int>(tree.size());
    tree.emplace_back();
    const std::vector<double> sums = total(rows);
    // The best trees of depth 0, 1 and 2 come from one table.
    std::vector<SumValues> shallow(1);
    shallow[0].start(1, leaf(sums.data()));
    SumValues found = shallow[0];
    if (loss_ == SumLoss::least) {
        tree[position].label = static_cast<int>(std::min_element(sums.begin() + 1, sums.end()) - sums.begin()) - 1;
    }
    if (depth > 0 && leaves > (any_size_ ? 0 : 1)) {
        try {
            SumTable counted;
            if (known == nullptr) {
                worker.count(rows, counted);
            }
            const SumTable &table = known == nullptr ? counted : whole_;
            for (int less = 1; less <= std::min(depth, 2); ++less) {
                worker.two_levels({table.data()}, less, shallow.emplace_back());
            }
            found = shallow.back();
            if (known == nullptr && depth > 2) {
                worker.solve(rows, path, depth, infinity, found);
            }
        } catch (const Stopped &) {
            // What is known by then is taken.
        }
    }
    if (known != nullptr) {
        found = *known;
    }
    const int size = std::min(leaves, found.sizes());
    // Of equal trees the shallowest.
    for (int less = 0; less < std::min(depth, static_cast<int>(shallow.size())); ++less) {
        const SumValues &values = shallow[less];
        const int own = std::min(size, values.sizes());
        if (values.loss[own] <= found.loss[size] + tolerance_) {
            found.choice[size] = values.choice[own];
            depth = less;
            break;
        }
    }
    const auto [column, inside_leaves] = found.choice[size];
    if (column < 0) {
        total_loss += whole_leaf(rows);
        return position;
    }
    const SplitColumn &split = chains_.columns[column];
    tree[position].feature = split.feature;
    tree[position].complement = split.complement;
    for (const bool inside : {true, false}) {
        ConditionSet longer = path;
        longer.add(2 * column + inside, {});
        const int own = any_size_ ? 1 : inside ? inside_leaves : leaves - inside_leaves;
        const int below = build(worker, side(rows, column, inside), longer, depth - 1, own, nullptr, tree, total_loss);
        tree[position].branches.emplace_back(inside ? split.inside : split.outside, below);
    }
    return position;
}

} // namespace omtree
