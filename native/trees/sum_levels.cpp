#include "trees/sum_levels.hpp"

#include <algorithm>

namespace omtree {

/// Most numbers in the tables of all columns that are kept.
constexpr std::size_t most_kept = std::size_t{1} << 23;

SumLevels::SumLevels(const SumSearch &search, SumWorker &worker, const SampleRows &rows, const SumTable &total,
                     const ConditionSet &path, int depth)
    : search_(search), rows_(rows), total_(total), path_(path), depth_(depth), sizes_(search.n_sizes(2)),
      n_sides_(2 * search.layout_.n_columns) {
    const int n_chains = search.chains_.n_chains();
    for (int f = 0; f < n_chains; ++f) {
        items_.emplace_back(f, -1);
        for (int g = f + 1; depth > 3 && g < n_chains; ++g) {
            items_.emplace_back(f, g);
        }
    }
    singles_.assign(static_cast<std::size_t>(n_sides_) * sizes_, infinity);
    if (depth > 3) {
        pairs_.assign(static_cast<std::size_t>(n_sides_) * n_sides_ * sizes_, infinity);
        if (search.problem_.use_cache && search.layout_.n_columns * search.layout_.size() <= most_kept) {
            keep_tables(worker);
        }
    }
}

void SumLevels::keep_tables(SumWorker &worker) {
    tables_.resize(search_.layout_.n_columns);
    for (int f = 0; f < search_.chains_.n_chains(); ++f) {
        count_cells(worker, f, -1);
        for (int q = 1; q <= search_.chains_.length(f); ++q) {
            tables_[search_.chains_.first[f] + q - 1] = worker.cells[q];
        }
    }
}

void SumLevels::work(SumWorker &worker, int item) {
    worker.check();
    const auto [f, g] = items_[item];
    if (g < 0) {
        one_chain(worker, f);
    } else {
        two_chains(worker, f, g);
    }
}

void SumLevels::count_cells(SumWorker &worker, int f, int g) {
    const Chains &chains = search_.chains_;
    const int n_f = chains.length(f) + 1;
    const int n_g = g < 0 ? 1 : chains.length(g) + 1;
    const std::size_t n_cells = static_cast<std::size_t>(n_f) * n_g;
    if (worker.cells.size() < n_cells) {
        worker.cells.resize(n_cells);
    }
    const auto cell_of = [&](std::uint32_t row) {
        const std::uint8_t *codes = chains.row(row);
        return codes[f] * n_g + (g < 0 ? 0 : codes[g]);
    };
    std::vector<std::uint32_t> start(n_cells + 1, 0);
    for (const std::uint32_t row : rows_) {
        ++start[cell_of(row) + 1];
    }
    for (std::size_t k = 0; k < n_cells; ++k) {
        start[k + 1] += start[k];
    }
    std::vector<std::uint32_t> next(start.begin(), start.end() - 1);
    SampleRows sorted(rows_.size());
    for (const std::uint32_t row : rows_) {
        sorted[next[cell_of(row)]++] = row;
    }
    // The first cell, of samples that are in no column of the chains, is no part of any of the others.
    const bool kept = g >= 0 && !tables_.empty();
    const auto wanted = [&](int q, int r) { return kept ? q > 0 && r > 0 : q > 0 || r > 0; };
    for (int q = 0; q < n_f; ++q) {
        for (int r = 0; r < n_g; ++r) {
            if (wanted(q, r)) {
                const std::size_t k = q * n_g + r;
                worker.count(std::span(sorted).subspan(start[k], start[k + 1] - start[k]), worker.cells[k]);
            }
        }
    }
    const std::size_t size = search_.layout_.size();
    for (int q = 0; q < n_f; ++q) {
        for (int r = n_g - 2; r >= 0 && wanted(q, r); --r) {
            sum_kernels().add(worker.cells[q * n_g + r + 1].data(), size, worker.cells[q * n_g + r].data());
        }
    }
    for (int q = n_f - 2; q >= 0; --q) {
        for (int r = wanted(q, 0) ? 0 : 1; r < n_g && wanted(q, r); ++r) {
            sum_kernels().add(worker.cells[(q + 1) * n_g + r].data(), size, worker.cells[q * n_g + r].data());
        }
    }
}

void SumLevels::count_quarter(SumWorker &worker, int f, int g) {
    const Chains &chains = search_.chains_;
    SampleRows quarters[4];
    for (const std::uint32_t row : rows_) {
        const std::uint8_t *codes = chains.row(row);
        quarters[2 * codes[f] + codes[g]].push_back(row);
    }
    const auto smallest = std::min_element(
        quarters, quarters + 4, [](const SampleRows &a, const SampleRows &b) { return a.size() < b.size(); });
    if (worker.cells.size() < 4) {
        worker.cells.resize(4);
    }
    SumTable &table = worker.cells[3];
    worker.count(*smallest, table);
    const std::size_t size = search_.layout_.size();
    const double *one = tables_[chains.first[f]].data();
    const double *other = tables_[chains.first[g]].data();
    switch (smallest - quarters) {
    case 2:
        sum_kernels().subtract(one, table.data(), size, table.data());
        break;
    case 1:
        sum_kernels().subtract(other, table.data(), size, table.data());
        break;
    case 0:
        sum_kernels().subtract(table.data(), total_.data(), size, table.data());
        sum_kernels().add(one, size, table.data());
        sum_kernels().add(other, size, table.data());
        break;
    default:
        break;
    }
}

void SumLevels::keep_pair(int a, int b, const double *values) {
    std::copy_n(values, sizes_, pair(a, b));
    std::copy_n(values, sizes_, pair(b, a));
}

void SumLevels::one_chain(SumWorker &worker, int chain) {
    const int first = search_.chains_.first[chain];
    const int n = search_.chains_.length(chain);
    if (tables_.empty()) {
        count_cells(worker, chain, -1);
    }
    const auto table = [&](int q) { return (tables_.empty() ? worker.cells[q] : tables_[first + q - 1]).data(); };
    double between[4];
    for (int q = 1; q <= n; ++q) {
        worker.two_levels({table(q)}, single(side(first + q - 1, true)));
        worker.two_levels({total_.data(), table(q)}, single(side(first + q - 1, false)));
    }
    for (int q = 1; depth_ > 3 && q <= n; ++q) {
        for (int r = q + 1; r <= n; ++r) {
            const int outer = first + q - 1;
            const int inner = first + r - 1;
            worker.two_levels({table(q), table(r)}, between);
            keep_pair(side(outer, true), side(inner, false), between);
            // What is in the inner column is in the outer one, and what is not in the outer one is not in the inner.
            keep_pair(side(outer, true), side(inner, true), single(side(inner, true)));
            keep_pair(side(outer, false), side(inner, false), single(side(outer, false)));
        }
    }
}

void SumLevels::two_chains(SumWorker &worker, int f, int g) {
    // The same samples are reached by other orders of the conditions.
    const bool again = search_.problem_.use_cache && path_ != ConditionSet{};
    if (again && recall(f, g)) {
        return;
    }
    const Chains &chains = search_.chains_;
    if (!tables_.empty() && chains.length(f) == 1 && chains.length(g) == 1) {
        count_quarter(worker, f, g);
    } else {
        count_cells(worker, f, g);
    }
    const int n_g = chains.length(g) + 1;
    const auto table = [&](int q, int r) {
        if (!tables_.empty() && (q == 0 || r == 0)) {
            return tables_[q > 0 ? chains.first[f] + q - 1 : chains.first[g] + r - 1].data();
        }
        return worker.cells[q * n_g + r].data();
    };
    double values[4];
    for (int q = 1; q <= search_.chains_.length(f); ++q) {
        worker.check();
        const int i = search_.chains_.first[f] + q - 1;
        for (int r = 1; r < n_g; ++r) {
            const int j = search_.chains_.first[g] + r - 1;
            worker.two_levels({table(q, r)}, values);
            keep_pair(side(i, true), side(j, true), values);
            worker.two_levels({table(q, 0), table(q, r)}, values);
            keep_pair(side(i, true), side(j, false), values);
            worker.two_levels({table(0, r), table(q, r)}, values);
            keep_pair(side(i, false), side(j, true), values);
            worker.two_levels({total_.data(), table(q, 0), table(0, r), table(q, r)}, values);
            keep_pair(side(i, false), side(j, false), values);
        }
    }
    if (again) {
        for_sides(f, g, [&](int a, int b) {
            DepthTwo known{};
            std::copy_n(pair(a, b), sizes_, known.loss.begin());
            search_.quarters_.store(key(a, b), 2, known);
            return true;
        });
    }
}

bool SumLevels::recall(int f, int g) {
    return for_sides(f, g, [&](int a, int b) {
        DepthTwo known;
        if (!search_.quarters_.find(key(a, b), 2, known)) {
            return false;
        }
        keep_pair(a, b, known.loss.data());
        return true;
    });
}

ConditionSet SumLevels::key(int a, int b) const {
    ConditionSet both = path_;
    both.add(a, {});
    both.add(b, {});
    return both;
}

template <typename Work> bool SumLevels::for_sides(int f, int g, const Work &work) const {
    const std::vector<int> &first = search_.chains_.first;
    for (int a = 2 * first[f]; a < 2 * first[f + 1]; ++a) {
        for (int b = 2 * first[g]; b < 2 * first[g + 1]; ++b) {
            if (!work(a, b)) {
                return false;
            }
        }
    }
    return true;
}

void SumLevels::best(SumValues &out) const {
    const int n = search_.layout_.n_columns;
    const bool any = search_.any_size_;
    out.widen(search_.n_sizes(depth_));
    SumValues sides[2];
    for (int i = 0; i < n; ++i) {
        for (const int inside : {0, 1}) {
            const int own = side(i, inside != 0);
            const double *two = singles_.data() + static_cast<std::size_t>(own) * sizes_;
            SumValues &values = sides[inside];
            values.start(search_.n_sizes(depth_ - 1), two[0]);
            for (int m = 1; m <= values.sizes(); ++m) {
                values.loss[m] = two[std::min(m, sizes_) - 1];
            }
            for (int j = 0; depth_ > 3 && j < n; ++j) {
                const std::span<const double> in(pair(own, side(j, true)), sizes_);
                const std::span<const double> rest(pair(own, side(j, false)), sizes_);
                if (i != j && in[0] < infinity && rest[0] < infinity) {
                    values.offer(j, in, rest, any);
                }
            }
        }
        if (sides[0].loss[1] < infinity && sides[1].loss[1] < infinity) {
            out.offer(i, std::span(sides[1].loss).subspan(1), std::span(sides[0].loss).subspan(1), any);
        }
    }
}

} // namespace omtree
