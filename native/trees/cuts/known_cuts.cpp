#include "trees/cuts/known_cuts.hpp"

#include <cstddef>

namespace omtree {

void ViewCuts::add(const std::vector<KnownCut> &fresh) {
    std::vector<KnownCut> merged;
    merged.reserve(known.size() + fresh.size());
    std::size_t next = 0;
    for (const KnownCut &cut : known) {
        for (; next < fresh.size() && fresh[next].place <= cut.place; ++next) {
            merged.push_back(fresh[next]);
        }
        if (merged.empty() || merged.back().place != cut.place) {
            merged.push_back(cut);
        }
    }
    merged.insert(merged.end(), fresh.begin() + static_cast<std::ptrdiff_t>(next), fresh.end());
    known.swap(merged);
    // More rows never cost less.
    for (std::size_t i = 1; i < known.size(); ++i) {
        if (!known[i].seen) {
            known[i].left = known[i].left_here = std::max(known[i].left, known[i - 1].left);
        }
    }
    for (std::size_t i = known.size(); i-- > 1;) {
        if (!known[i - 1].seen) {
            known[i - 1].right = known[i - 1].right_here = std::max(known[i - 1].right, known[i].right);
        }
    }
}

} // namespace omtree
