#include "trees/partition.hpp"

#include <algorithm>
#include <cstring>

#include "core/clones.hpp"

namespace omtree {

void Partition::reset(Family family, int k, bool missing, int max_children, int budget, int child_budget) {
    Blocks::reset(family, k, missing);
    max_children_ = max_children;
    budget_ = budget;
    child_budget_ = child_budget;
    step_stride_ = budget + 2 * room + 1;
    values_.resize(static_cast<std::size_t>(n_blocks_) * (child_budget + 1));
    best_.assign(budget + 1, infinity);
}

typedef double Eight __attribute__((vector_size(64)));

/// Adds a block to a way: eight numbers of leaves at a time. Before and after a state there is room for those that
/// are of no interest.
OMTREE_CLONES static void add_block(const double *from, const double *value, int budget, int child_budget, double *to) {
    for (int first = 1; first <= budget; first += 8) {
        Eight best;
        std::memcpy(&best, to + first, sizeof best);
        const int most = child_budget < first + 7 ? child_budget : first + 7;
        for (int own = 1; own <= most; ++own) {
            Eight total;
            std::memcpy(&total, from + first - own, sizeof total);
            total += value[own];
            best = total < best ? total : best;
        }
        std::memcpy(to + first, &best, sizeof best);
    }
}

OMTREE_CLONES static void fill_infinite(double *to, std::size_t n) {
    for (std::size_t i = 0; i < n; ++i) {
        to[i] = infinity;
    }
}

/// Better ways to reach state `to` by adding one block to those of state `from`.
void Partition::relax(int from, int to, int block) {
    if (!usable_[block]) {
        return;
    }
    const double *value = values(block);
    if (value[child_budget_] == infinity) {
        return;
    }
    // More leaves of the block that gain nothing are of no use.
    int most = child_budget_;
    while (most > 1 && value[most - 1] == value[most]) {
        --most;
    }
    const int limit = std::min(budget_, reach_[from] + most);
    reach_[to] = std::max(reach_[to], limit);
    add_block(state(from), value, limit, most, state(to));
}

/// No way has reached any of the states yet, but for the empty one.
void Partition::clear_states(std::size_t n) {
    steps_.resize(n * step_stride_);
    fill_infinite(steps_.data(), steps_.size());
    reach_.assign(n, 0);
    state(0)[0] = 0.0;
}

void Partition::solve_runs() {
    const int layers = limited() ? max_children_ : 1;
    const std::size_t states = (limited() ? (layers + 1) * 2 : 1 + missing_) * (k_ + 1);
    clear_states(states);
    for (int layer = 0; layer < layers; ++layer) {
        const int next = limited() ? layer + 1 : layer;
        if (missing_) {
            relax(run_state(layer, false, 0), run_state(next, true, 0), n_blocks_ - 1);
        }
        for (int end = 1; end <= k_; ++end) {
            for (int begin = 0; begin < end; ++begin) {
                relax(run_state(layer, false, begin), run_state(next, false, end), run(begin, end));
                if (missing_) {
                    relax(run_state(layer, true, begin), run_state(next, true, end), run(begin, end));
                    relax(run_state(layer, false, begin), run_state(next, true, end), run(begin, end, true));
                }
            }
        }
        const double *all = state(run_state(next, missing_, k_));
        for (int m = 0; m <= budget_; ++m) {
            best_[m] = std::min(best_[m], all[m]);
        }
    }
}

/// States are the codes that are dealt with: any of them, so that those beside a block are among the states, too.
void Partition::solve_subsets() {
    const int n = 1 << k_;
    const int layers = limited() ? max_children_ : 1;
    clear_states(static_cast<std::size_t>(layers + 1) * n);
    for (int layer = 0; layer < layers; ++layer) {
        const int next = limited() ? layer + 1 : layer;
        for (int done = 1; done < n; ++done) {
            const int lowest = done & -done;
            for (int block = done; block > 0; block = (block - 1) & done) {
                if (block & lowest) {
                    relax(layer * n + (done ^ block), next * n + done, block);
                }
            }
        }
        const double *all = state(next * n + n - 1);
        for (int m = 0; m <= budget_; ++m) {
            best_[m] = std::min(best_[m], all[m]);
        }
    }
}

void Partition::solve() {
    single_.assign(budget_ + 1, -1);
    single_leaves_.assign(budget_ + 1, 0);
    std::fill(best_.begin(), best_.end(), infinity);
    if (family_ == Family::subset) {
        solve_subsets();
    } else if (family_ == Family::value) {
        clear_states(k_ + 1);
        for (int p = 0; p < k_ && (max_children_ == 0 || k_ <= max_children_); ++p) {
            relax(p, p + 1, p);
        }
        std::copy_n(state(k_), budget_ + 1, best_.begin());
    } else if (family_ != Family::single) {
        solve_runs();
    }
    for (int p = 0; with_complements() && p < k_; ++p) {
        if (!usable_[k_ * k_ + p]) {
            continue;
        }
        const double *one = values(run(p, p + 1));
        const double *others = values(k_ * k_ + p);
        for (int a = 1; a <= child_budget_; ++a) {
            for (int b = 1; b <= child_budget_ && a + b <= budget_; ++b) {
                if (one[a] + others[b] < best_[a + b]) {
                    best_[a + b] = one[a] + others[b];
                    single_[a + b] = p;
                    single_leaves_[a + b] = a;
                }
            }
        }
    }
    for (int m = 1; m <= budget_; ++m) {
        best_[m] = std::min(best_[m], best_[m - 1]);
    }
}

bool Partition::beside(int block, std::vector<double> &out) {
    if (family_ == Family::value || missing_ || limited()) {
        return false;
    }
    if (family_ == Family::subset) {
        out.assign(state((1 << k_) - 1 - block), state((1 << k_) - 1 - block) + budget_ + 1);
        return true;
    }
    out.assign(budget_ + 1, infinity);
    const auto keep = [&](const double *value, int most) {
        for (int m = 1; m <= most; ++m) {
            out[m] = std::min(out[m], value[m]);
        }
    };
    const int most = std::min(child_budget_, budget_);
    if (is_complement(block)) {
        const int p = block - k_ * k_;
        keep(values(run(p, p + 1)), most);
    } else if (family_ == Family::single) {
        keep(values(k_ * k_ + block / k_), most);
    } else {
        const int begin = block / k_;
        const int end = block % k_ + 1;
        const std::size_t width = step_stride_;
        steps_back_.assign((k_ + 1) * width, infinity);
        steps_back_[k_ * width + room] = 0.0;
        for (int from = k_ - 1; from >= end; --from) {
            double *to = &steps_back_[from * width + room];
            for (int until = from + 1; until <= k_; ++until) {
                const int other = run(from, until);
                const double *value = values(other);
                if (!usable_[other] || value[child_budget_] == infinity) {
                    continue;
                }
                add_block(&steps_back_[until * width + room], value, budget_, child_budget_, to);
            }
        }
        const double *left = state(run_state(0, false, begin));
        const double *right = &steps_back_[end * width + room];
        for (int a = 0; a <= budget_; ++a) {
            for (int b = 0; a + b <= budget_; ++b) {
                out[a + b] = std::min(out[a + b], left[a] + right[b]);
            }
        }
        if (family_ == Family::run && end == begin + 1 && usable_[k_ * k_ + begin]) {
            keep(values(k_ * k_ + begin), most);
        }
    }
    return true;
}

/// Whether a state's value for m leaves comes from adding this block to that other state; notes it and reduces m if so.
bool Partition::came_by(int from, int block, double value, int &m, std::vector<std::pair<int, int>> &out) const {
    if (!usable_[block]) {
        return false;
    }
    const double *before = state(from);
    const double *own = values(block);
    for (int leaves = 1; leaves <= std::min(child_budget_, m); ++leaves) {
        if (before[m - leaves] + own[leaves] == value) {
            out.emplace_back(block, leaves);
            m -= leaves;
            return true;
        }
    }
    return false;
}

void Partition::choice(int m, std::vector<std::pair<int, int>> &out) const {
    out.clear();
    while (best_[m] == best_[m - 1]) {
        --m;
    }
    if (single_[m] >= 0) {
        out.emplace_back(run(single_[m], single_[m] + 1), single_leaves_[m]);
        out.emplace_back(k_ * k_ + single_[m], m - single_leaves_[m]);
        return;
    }
    // Only values are kept while solving; the steps are found again backwards.
    const bool layered = limited() && family_ != Family::value;
    const int n = 1 << k_;
    int layer = layered ? 1 : 0;
    const auto whole = [&](int l) { return family_ == Family::subset ? l * n + n - 1 : run_state(l, missing_, k_); };
    while (layered && state(whole(layer))[m] != best_[m]) {
        ++layer;
    }
    if (family_ == Family::value) {
        for (int p = k_; p > 0; --p) {
            came_by(p - 1, p - 1, state(p)[m], m, out);
        }
    } else if (family_ == Family::subset) {
        for (int done = n - 1; done > 0;) {
            const double value = state(layer * n + done)[m];
            layer -= layered;
            // The block added last has the lowest code; any that fits will do.
            for (int block = done; block > 0; block = (block - 1) & done) {
                if (came_by(layer * n + (done & ~block), block, value, m, out)) {
                    done &= ~block;
                    break;
                }
            }
        }
    } else {
        bool placed = missing_;
        for (int end = k_; end > 0 || placed;) {
            const double value = state(run_state(layer, placed, end))[m];
            layer -= layered;
            if (end == 0) {
                came_by(run_state(layer, false, 0), n_blocks_ - 1, value, m, out);
                break;
            }
            for (int begin = 0; begin < end; ++begin) {
                if (came_by(run_state(layer, placed, begin), run(begin, end), value, m, out)) {
                    end = begin;
                    break;
                }
                if (placed && came_by(run_state(layer, false, begin), run(begin, end, true), value, m, out)) {
                    end = begin;
                    placed = false;
                    break;
                }
            }
        }
    }
    std::reverse(out.begin(), out.end());
}

} // namespace omtree
