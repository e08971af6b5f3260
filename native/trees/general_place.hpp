// The rows of a subproblem, as the lists of what trees attain need them.
#pragma once

#include <vector>

#include "trees/general_searcher.hpp"

namespace omtree::general {

/// The rows that a path leads to: by number, or their counts alone where these suffice.
struct Place {
    RowList rows;
    Counts counts;
    std::vector<double> sums; ///< of the statistics
};

/// Most leaves of a subtree by its depth: every split above it has another leaf beside it.
std::vector<int> leaf_budgets(const Shared &shared);

/// The places from the root down to the one that is looked at, by the depth left.
class Places {
  public:
    Places(const Shared &shared, const Searcher &searcher, int depth)
        : shared_(shared), searcher_(searcher), places_(depth + 1) {}

    /// Whether a place with so many levels left has counts rather than rows.
    bool counted(int depth) const { return !shared_.by_rows && depth <= 2; }
    const Place &whole(int depth);
    /// The child of the place of this depth with some codes of a feature, which is on the path and was screened last.
    const Place &below(int depth, int feature, const std::vector<std::uint8_t> &codes, const CodeMask &mask,
                       const std::vector<double> &sums);

  private:
    const Shared &shared_;
    const Searcher &searcher_;
    std::vector<Place> places_;
};

} // namespace omtree::general
