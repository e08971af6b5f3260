#include "trees/blocks.hpp"

#include <algorithm>

namespace omtree {

void Blocks::reset(Family family, int k, bool missing) {
    family_ = family;
    k_ = k;
    missing_ = missing;
    switch (family) {
    case Family::interval:
        n_blocks_ = missing ? 2 * k * k + 1 : k * k;
        break;
    case Family::run:
    case Family::single:
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
    } else if (family == Family::single) {
        for (int p = 0; k > 1 && p < k; ++p) {
            usable_[run(p, p + 1)] = usable_[k * k + p] = 1;
        }
    } else if (family == Family::subset) {
        std::fill(usable_.begin() + 1, usable_.end() - 1, 1);
    } else {
        std::fill(usable_.begin(), usable_.end(), 1);
    }
}

void Blocks::positions(int block, std::vector<int> &out) const {
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

} // namespace omtree
