#include "trees/any_size_ways.hpp"

#include <algorithm>
#include <numeric>

namespace omtree {

template <typename Value> void AnySizeWays<Value>::reset(Family family, int k, bool missing) {
    if (family != family_ || k != k_ || missing != missing_ || n_blocks_ == 0) {
        Blocks::reset(family, k, missing);
        values_.resize(n_blocks_);
        states_.resize(family == Family::subset ? n_blocks_ : 2 * (k + 1));
    }
}

template <typename Value> void AnySizeWays<Value>::solve_runs() {
    std::fill(states_.begin(), states_.end(), no_tree<Value>);
    states_[0] = 0;
    const auto relax = [&](int from, int to, int block) {
        if (usable_[block]) {
            states_[to] = std::min(states_[to], states_[from] + values_[block]);
        }
    };
    if (missing_) {
        relax(state(false, 0), state(true, 0), n_blocks_ - 1);
    }
    for (int end = 1; end <= k_; ++end) {
        for (int begin = 0; begin < end; ++begin) {
            relax(state(false, begin), state(false, end), run(begin, end));
            if (missing_) {
                relax(state(true, begin), state(true, end), run(begin, end));
                relax(state(false, begin), state(true, end), run(begin, end, true));
            }
        }
    }
    best_ = states_[state(missing_, k_)];
}

/// States are the codes that are dealt with: any of them, so that those beside a block are among the states, too.
template <typename Value> void AnySizeWays<Value>::solve_subsets() {
    states_[0] = 0;
    for (int done = 1; done < n_blocks_; ++done) {
        const int lowest = done & -done;
        Value best = usable_[done] ? values_[done] : no_tree<Value>;
        for (int block = (done - 1) & done; block > 0; block = (block - 1) & done) {
            if (block & lowest) {
                best = std::min(best, states_[done ^ block] + values_[block]);
            }
        }
        states_[done] = best;
    }
    best_ = states_[n_blocks_ - 1];
}

template <typename Value> Value AnySizeWays<Value>::solve() {
    single_ = -1;
    after_known_ = false;
    if (family_ == Family::subset) {
        solve_subsets();
    } else if (family_ == Family::value) {
        best_ = std::accumulate(values_.begin(), values_.end(), Value{0});
    } else {
        solve_runs();
    }
    for (int p = 0; family_ == Family::run && p < k_; ++p) {
        const int others = k_ * k_ + p;
        const Value together = values_[run(p, p + 1)] + values_[others];
        if (usable_[others] && together < best_) {
            best_ = together;
            single_ = p;
        }
    }
    return std::min(best_, no_tree<Value>);
}

template <typename Value> void AnySizeWays<Value>::choice(std::vector<int> &out) const {
    out.clear();
    if (single_ >= 0) {
        out = {run(single_, single_ + 1), k_ * k_ + single_};
        return;
    }
    if (family_ == Family::value) {
        out.resize(n_blocks_);
        std::iota(out.begin(), out.end(), 0);
        return;
    }
    // Only values are kept while solving; the steps are found again backwards.
    if (family_ == Family::subset) {
        for (int done = n_blocks_ - 1; done > 0;) {
            const int lowest = done & -done;
            int block = done;
            while (!(block & lowest) || !usable_[block] || states_[done ^ block] + values_[block] != states_[done]) {
                block = (block - 1) & done;
            }
            out.push_back(block);
            done ^= block;
        }
        return;
    }
    bool placed = missing_;
    for (int end = k_; end > 0 || placed;) {
        const Value goal = states_[state(placed, end)];
        if (end == 0) {
            out.push_back(n_blocks_ - 1);
            break;
        }
        for (int begin = 0;; ++begin) {
            const auto came = [&](bool before, int block) {
                return usable_[block] && states_[state(before, begin)] + values_[block] == goal;
            };
            const bool plain = came(placed, run(begin, end));
            const bool joined = !plain && placed && came(false, run(begin, end, true));
            if (plain || joined) {
                out.push_back(run(begin, end, joined));
                placed = placed && !joined;
                end = begin;
                break;
            }
        }
    }
    std::reverse(out.begin(), out.end());
}

template <typename Value> Value AnySizeWays<Value>::beside(int block) {
    if (family_ == Family::value || missing_) {
        return -1;
    }
    if (family_ == Family::subset) {
        return states_[(n_blocks_ - 1) ^ block];
    }
    if (is_complement(block)) {
        const int p = block - k_ * k_;
        return values_[run(p, p + 1)];
    }
    if (!after_known_) {
        after_.assign(k_ + 1, no_tree<Value>);
        after_[k_] = 0;
        for (int from = k_ - 1; from >= 0; --from) {
            for (int until = from + 1; until <= k_; ++until) {
                if (usable_[run(from, until)]) {
                    after_[from] = std::min(after_[from], values_[run(from, until)] + after_[until]);
                }
            }
        }
        after_known_ = true;
    }
    const int begin = block / k_;
    const int end = block % k_ + 1;
    Value least = states_[begin] + after_[end];
    if (family_ == Family::run && end == begin + 1 && usable_[k_ * k_ + begin]) {
        least = std::min(least, values_[k_ * k_ + begin]);
    }
    return least;
}

template class AnySizeWays<std::int64_t>;
template class AnySizeWays<double>;

} // namespace omtree
