#include "search_partition.hpp"

#include <algorithm>
#include <bit>

namespace omtree {

void Partition::reset(Family family, int k, bool missing, int max_children, int budget, int child_budget) {
    family_ = family;
    k_ = k;
    missing_ = missing;
    max_children_ = max_children;
    budget_ = budget;
    child_budget_ = child_budget;
    switch (family) {
    case Family::interval:
        n_blocks_ = missing ? 2 * k * k + 1 : k * k;
        break;
    case Family::run:
        n_blocks_ = k * k + k;
        break;
    case Family::subset:
        n_blocks_ = 1 << k;
        break;
    case Family::value:
        n_blocks_ = k;
        break;
    }
    usable_.assign(n_blocks_, 0);
    if (family == Family::interval || family == Family::run) {
        for (int begin = 0; begin < k; ++begin) {
            for (int end = begin + 1; end <= k; ++end) {
                const bool whole = begin == 0 && end == k;
                usable_[run(begin, end)] = !whole || missing;
                if (missing) {
                    usable_[run(begin, end, true)] = !whole;
                }
            }
        }
        if (missing) {
            usable_[n_blocks_ - 1] = k > 0;
        }
        for (int p = 0; family == Family::run && p < k; ++p) {
            usable_[k * k + p] = k > 3 || (k == 3 && p == 1);
        }
    } else if (family == Family::subset) {
        std::fill(usable_.begin() + 1, usable_.end() - 1, 1);
    } else {
        std::fill(usable_.begin(), usable_.end(), 1);
    }
    values_.resize(static_cast<std::size_t>(n_blocks_) * (child_budget + 1));
    best_.assign(budget + 1, infinity);
}

void Partition::positions(int block, std::vector<int> &out) const {
    out.clear();
    if (family_ == Family::value) {
        out.push_back(block);
    } else if (family_ == Family::subset) {
        for (int p = 0; p < k_; ++p) {
            if (block >> p & 1) {
                out.push_back(p);
            }
        }
    } else if (is_complement(block)) {
        for (int p = 0; p < k_; ++p) {
            if (p != block - k_ * k_) {
                out.push_back(p);
            }
        }
    } else if (missing_ && block == n_blocks_ - 1) {
        out.push_back(k_);
    } else {
        const int plain = block % (k_ * k_);
        for (int p = plain / k_; p <= plain % k_; ++p) {
            out.push_back(p);
        }
        if (block >= k_ * k_) {
            out.push_back(k_);
        }
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
    const Step *source = state(from);
    Step *target = state(to);
    for (int before = 0; before < budget_; ++before) {
        const double base = source[before].value;
        if (base == infinity) {
            continue;
        }
        const int most = std::min(child_budget_, budget_ - before);
        for (int own = 1; own <= most; ++own) {
            const double total = base + value[own];
            if (total < target[before + own].value) {
                target[before + own] = {total, block, own, from};
            }
        }
    }
}

void Partition::solve_runs() {
    // State: number of blocks (only counted when limited), whether the missing code is placed, codes placed.
    const int n = n_positions();
    const bool limited = max_children_ > 0 && max_children_ < n && child_budget_ > 1;
    const int layers = limited ? max_children_ : 1;
    const int width = 2 * (k_ + 1);
    const auto index = [&](int layer, int placed_missing, int j) {
        return layer * width + placed_missing * (k_ + 1) + j;
    };
    steps_.assign(static_cast<std::size_t>(layers + 1) * width * (budget_ + 1), {infinity, -1, 0, -1});
    state(index(0, 0, 0))[0].value = 0.0;
    for (int layer = 0; layer < (limited ? layers : 1); ++layer) {
        const int next = limited ? layer + 1 : layer;
        if (missing_) {
            relax(index(layer, 0, 0), index(next, 1, 0), n_blocks_ - 1);
        }
        for (int end = 1; end <= k_; ++end) {
            for (int begin = 0; begin < end; ++begin) {
                relax(index(layer, 0, begin), index(next, 0, end), run(begin, end));
                if (missing_) {
                    relax(index(layer, 1, begin), index(next, 1, end), run(begin, end));
                    relax(index(layer, 0, begin), index(next, 1, end), run(begin, end, true));
                }
            }
        }
    }
    last_ = index(0, missing_, k_);
    if (limited) {
        // Gather the layers into the one that nothing else uses at this place.
        for (int layer = 1; layer <= layers; ++layer) {
            const Step *source = state(index(layer, missing_, k_));
            Step *target = state(last_);
            for (int m = 0; m <= budget_; ++m) {
                if (source[m].value < target[m].value) {
                    target[m] = source[m];
                }
            }
        }
    }
}

void Partition::solve_subsets() {
    const int n = 1 << k_;
    const bool limited = max_children_ > 0 && max_children_ < k_ && child_budget_ > 1;
    const int layers = limited ? max_children_ : 1;
    steps_.assign(static_cast<std::size_t>(layers + 1) * n * (budget_ + 1), {infinity, -1, 0, -1});
    state(0)[0].value = 0.0;
    for (int layer = 0; layer < layers; ++layer) {
        for (int done = 0; done < n - 1; ++done) {
            const int rest = n - 1 - done;
            const int lowest = rest & -rest;
            for (int block = rest; block > 0; block = (block - 1) & rest) {
                if (block & lowest) {
                    relax(layer * n + done, (limited ? layer + 1 : 0) * n + (done | block), block);
                }
            }
        }
    }
    last_ = n - 1;
    for (int layer = 1; limited && layer <= layers; ++layer) {
        const Step *source = state(layer * n + n - 1);
        Step *target = state(last_);
        for (int m = 0; m <= budget_; ++m) {
            if (source[m].value < target[m].value) {
                target[m] = source[m];
            }
        }
    }
}

void Partition::solve() {
    single_.assign(budget_ + 1, -1);
    single_leaves_.assign(budget_ + 1, 0);
    if (family_ == Family::subset) {
        solve_subsets();
    } else if (family_ == Family::value) {
        steps_.assign(static_cast<std::size_t>(k_ + 1) * (budget_ + 1), {infinity, -1, 0, -1});
        state(0)[0].value = 0.0;
        last_ = k_;
        for (int p = 0; p < k_ && (max_children_ == 0 || k_ <= max_children_); ++p) {
            relax(p, p + 1, p);
        }
    } else {
        solve_runs();
    }
    const Step *end = state(last_);
    for (int m = 0; m <= budget_; ++m) {
        best_[m] = end[m].value;
    }
    for (int p = 0; family_ == Family::run && p < k_; ++p) {
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
}

void Partition::choice(int m, std::vector<std::pair<int, int>> &out) const {
    out.clear();
    if (single_[m] >= 0) {
        out.emplace_back(run(single_[m], single_[m] + 1), single_leaves_[m]);
        out.emplace_back(k_ * k_ + single_[m], m - single_leaves_[m]);
        return;
    }
    for (const Step *step = &state(last_)[m]; step->block >= 0;) {
        out.emplace_back(step->block, step->leaves);
        m -= step->leaves;
        step = &state(step->from)[m];
    }
    std::reverse(out.begin(), out.end());
}

} // namespace omtree
