#include "trees/sum_worker.hpp"

#include <algorithm>

#include "core/threads.hpp"
#include "trees/sum_levels.hpp"

namespace omtree {

SumWorker::SumWorker(const SumSearch &search, SearchCache &cache, Control &control)
    : search_(search), cache_(cache), control_(control), head_(search.n_sums_) {
    const PairLayout &layout = search.layout_;
    const std::size_t room = 8 * std::max(1, layout.n_blocks);
    scratch_.resize(layout.n_sums * room);
    sides_.resize(4 * room);
    losses = {sides_.data(), sides_.data() + room, sides_.data() + 2 * room, sides_.data() + 3 * room};
    for (int i = 0; i < layout.n_columns; ++i) {
        offset_.push_back(i / 8 * layout.block() + i % 8);
        base_.push_back(layout.row(i) - i / 8 * layout.block());
    }
}

void SumWorker::check() {
    if (control_.cancelled.load(std::memory_order_relaxed) || std::chrono::steady_clock::now() >= control_.until) {
        control_.stop.store(true, std::memory_order_relaxed);
    }
    if (control_.stop.load(std::memory_order_relaxed)) {
        throw Stopped{};
    }
}

void SumWorker::add_rows(std::span<const std::uint32_t> rows, double *to) {
    const Chains &chains = search_.chains_;
    const int n_chains = chains.n_chains();
    const std::size_t n = chains.n_columns();
    const int n_sums = search_.n_sums_;
    // With many sums a cell, these are added side by side and moved to their lanes once.
    const bool side_by_side = n_sums > 2;
    if (side_by_side && (pairs_.empty() || unfinished_)) {
        pairs_.assign(n * n * search_.stride_, 0.0);
    }
    unfinished_ = side_by_side;
    std::vector<int> last(n_chains);
    std::size_t until_check = 0;
    for (const std::uint32_t row : rows) {
        if (until_check-- == 0) {
            check();
            until_check = 1 + 4'000'000 / (1 + static_cast<std::size_t>(n_chains) * n_chains);
        }
        const std::uint8_t *codes = chains.row(row);
        int n_last = 0;
        for (int c = 0; c < n_chains; ++c) {
            last[n_last] = chains.first[c] + codes[c] - 1;
            n_last += codes[c] > 0;
        }
        const double *sums = search_.sample(row);
        for (int s = 0; s < n_sums; ++s) {
            to[s] += sums[s];
        }
        if (side_by_side) {
            sum_kernels().add_pairs(last.data(), n_last, sums, search_.stride_, n, pairs_.data());
            continue;
        }
        for (int a = 0; a < n_last; ++a) {
            double *line = to + base_[last[a]];
            for (int b = a; b < n_last; ++b) {
                double *cell = line + offset_[last[b]];
                cell[0] += sums[0];
                cell[8] += sums[1];
            }
        }
    }
    if (side_by_side) {
        move_pairs(to);
    }
    unfinished_ = false;
}

void SumWorker::move_pairs(double *to) {
    const int n = search_.layout_.n_columns;
    const int n_sums = search_.n_sums_;
    const std::size_t stride = search_.stride_;
    for (int i = 0; i < n; ++i) {
        double *from = pairs_.data() + (static_cast<std::size_t>(i) * n + i) * stride;
        if (from[0] == 0.0) {
            continue; // no sample is in this column
        }
        double *line = to + base_[i];
        for (int j = i; j < n; ++j, from += stride) {
            double *cell = line + offset_[j];
            for (int s = 0; s < n_sums; ++s) {
                cell[8 * s] = from[s];
                from[s] = 0.0;
            }
        }
    }
}

void SumWorker::count(std::span<const std::uint32_t> rows, SumTable &table) {
    const Chains &chains = search_.chains_;
    const int n_chains = chains.n_chains();
    const int n = chains.n_columns();
    const std::size_t block = search_.layout_.block();
    table.assign(search_.layout_.size(), 0.0);
    double *to = table.data();
    add_rows(rows, to);
    // The columns before those in their chains take it over.
    const auto each_sum = [&](const double *from, double *cell, const auto &work) {
        for (std::size_t lane = 0; lane < block; lane += 8) {
            work(from[lane], cell[lane]);
        }
    };
    const auto plus = [](double from, double &sum) { sum += from; };
    const auto copy = [](double from, double &sum) { sum = from; };
    for (int c = n_chains - 1; c >= 0; --c) {
        const int first = chains.first[c];
        const int end = chains.first[c + 1];
        const std::size_t begin = end / 8 * block;
        const std::size_t width = end < n ? search_.layout_.n_blocks * block - begin : 0;
        for (int i = end - 1; i >= first; --i) {
            double *line = to + base_[i];
            for (int j = n - 2; j >= end; --j) {
                if (chains.chain_of[j] == chains.chain_of[j + 1]) {
                    each_sum(line + offset_[j + 1], line + offset_[j], plus);
                }
            }
            if (i + 1 < end) {
                const double *next = to + base_[i + 1];
                each_sum(next + offset_[i + 1], line + offset_[i], plus);
                for (int j = i + 1; j < end; ++j) {
                    each_sum(next + offset_[j], line + offset_[j], copy);
                }
                for (int j = end; j < std::min(n, (end + 7) / 8 * 8); ++j) {
                    each_sum(next + offset_[j], line + offset_[j], plus);
                }
                const std::size_t aligned = end % 8 == 0 ? begin : begin + block;
                if (width > 0 && begin + width > aligned) {
                    sum_kernels().add(next + aligned, begin + width - aligned, line + aligned);
                }
            }
        }
    }
}

void SumWorker::two_levels(const PairSums &sums, double *values) {
    const int sizes = search_.n_sizes(2);
    const auto head = [&](std::size_t at) {
        double value = sums.plus[at];
        value -= sums.minus != nullptr ? sums.minus[at] : 0.0;
        return value + (sums.both != nullptr ? sums.both[at] - sums.other[at] : 0.0);
    };
    for (int s = 0; s < search_.n_sums_; ++s) {
        head_[s] = head(s);
    }
    const double weight = head_[0];
    std::fill_n(values, sizes, weight < search_.support_ ? infinity : search_.leaf(head_.data()));
    if (weight < 2 * search_.support_) {
        return;
    }
    sum_kernels().best_second(search_.loss_, search_.layout_, sums, search_.support_, losses, scratch_.data());
    const int n = search_.layout_.n_columns;
    if (sizes == 1 && !search_.any_size_) {
        return;
    }
    double any = infinity;
    double two = infinity;
    double three = infinity;
    for (int i = 0; i < n; ++i) {
        const double in = losses.leaf_in[i];
        const double out = losses.leaf_out[i];
        const double more_in = std::min(in, losses.second_in[i]);
        const double more_out = std::min(out, losses.second_out[i]);
        two = std::min(two, in + out);
        three = std::min(three, std::min(more_in + out, in + more_out));
        any = std::min(any, more_in + more_out);
    }
    if (search_.any_size_) {
        values[0] = std::min(values[0], any);
        return;
    }
    const double found[] = {values[0], two, three, any};
    for (int m = 1; m < sizes; ++m) {
        values[m] = std::min(values[m - 1], found[m]);
    }
}

void SumWorker::two_levels(const PairSums &sums, int depth, SumValues &out) {
    const int sizes = search_.n_sizes(std::min(depth, 2));
    out.start(sizes, search_.leaf(sums.plus));
    if (depth == 0 || (sizes == 1 && !search_.any_size_)) {
        return;
    }
    sum_kernels().best_second(search_.loss_, search_.layout_, sums, search_.support_, losses, scratch_.data());
    for (int i = 0; i < search_.layout_.n_columns; ++i) {
        if (losses.leaf_in[i] == infinity) {
            continue;
        }
        double in[] = {losses.leaf_in[i], std::min(losses.leaf_in[i], losses.second_in[i])};
        double rest[] = {losses.leaf_out[i], std::min(losses.leaf_out[i], losses.second_out[i])};
        const std::size_t first = search_.any_size_ && depth > 1 ? 1 : 0;
        const std::size_t n = search_.any_size_ || depth == 1 ? 1 : 2;
        out.offer(i, {in + first, n}, {rest + first, n}, search_.any_size_);
    }
}

void SumWorker::solve(const SampleRows &rows, const ConditionSet &path, int depth, double limit, SumValues &out) {
    check();
    ++statistics.subproblems;
    count(rows, table_);
    two_levels({table_.data()}, depth, out);
    if (depth <= 2) {
        return;
    }
    if (depth <= 4) {
        SumLevels levels(search_, *this, rows, table_, path, depth);
        for (int item = 0; item < levels.n_items(); ++item) {
            levels.work(*this, item);
        }
        levels.best(out);
        return;
    }
    const double floor = search_.floor(rows);
    std::vector<double> score(search_.layout_.n_columns);
    for (int i = 0; i < search_.layout_.n_columns; ++i) {
        score[i] =
            std::min(losses.leaf_in[i], losses.second_in[i]) + std::min(losses.leaf_out[i], losses.second_out[i]);
    }
    out.widen(search_.n_sizes(depth));
    for (const int column : in_order_of(score)) {
        if (score[column] == infinity) {
            break;
        }
        if (search_.problem_.use_bounds && search_.any_size_ &&
            std::min(out.loss[1], limit) <= floor + search_.tolerance_) {
            break;
        }
        try_column(rows, path, depth, column, limit, out, nullptr);
    }
}

void SumWorker::try_column(const SampleRows &rows, const ConditionSet &path, int depth, int column, double limit,
                           SumValues &out, std::mutex *mutex) {
    check();
    const bool any = search_.any_size_;
    const bool bounds = search_.problem_.use_bounds;
    const auto locked = [&](const auto &work) {
        const std::unique_lock lock = mutex != nullptr ? std::unique_lock(*mutex) : std::unique_lock<std::mutex>();
        return work();
    };
    // What a tree with this column at its root must stay below to be of use.
    const auto most = [&] {
        return locked([&] { return any ? std::min(out.loss[1], limit) : out.loss[std::min(2, out.sizes())]; });
    };
    SampleRows sides[2];
    ConditionSet paths[2] = {path, path};
    double least[2] = {-infinity, -infinity};
    SumValues values[2];
    for (const int inside : {0, 1}) {
        sides[inside] = search_.side(rows, column, inside != 0);
        paths[inside].add(2 * column + inside, {});
        if (bounds) {
            least[inside] = search_.floor(sides[inside]);
        }
        Known known;
        if (search_.problem_.use_cache && cache_.find(paths[inside], depth - 1, known)) {
            ++statistics.cache_hits;
            least[inside] = std::max(least[inside], known.values.back());
            if (known.exact.back()) {
                values[inside].loss = known.values;
            }
        }
    }
    for (const int inside : {1, 0}) {
        const double room = most();
        if (bounds && least[0] + least[1] >= room - search_.tolerance_) {
            return;
        }
        SumValues &own = values[inside];
        if (own.loss.empty()) {
            const double child_limit = bounds && any ? room - least[1 - inside] : infinity;
            solve(sides[inside], paths[inside], depth - 1, child_limit, own);
            least[inside] = std::max(least[inside], std::min(own.loss.back(), child_limit));
            if (search_.problem_.use_cache) {
                const bool exact = own.loss.back() < child_limit;
                Known known{own.loss, std::vector<bool>(own.loss.size(), exact), {}};
                known.values.back() = std::min(known.values.back(), child_limit);
                cache_.store(paths[inside], depth - 1, known);
            }
        }
    }
    locked([&] {
        const auto sizes = [](const SumValues &side) { return std::span(side.loss).subspan(1); };
        out.offer(column, sizes(values[1]), sizes(values[0]), any);
    });
}

} // namespace omtree
