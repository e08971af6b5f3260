// All that the search asks of the rows it has reached.
#pragma once

#include <functional>
#include <vector>

#include "trees/search_data.hpp"

namespace omtree {

/// Answers from rows in memory or from joint tables; each searcher has its own.
template <typename Count> class Counter {
  public:
    using Check = std::function<void()>; ///< may end a long answer by throwing

    virtual ~Counter() = default;
    /// Weight by class.
    virtual std::vector<Count> totals(const Samples<Count> &samples) = 0;
    /// Adds the counts of a feature: [code][class].
    virtual void feature(const Samples<Count> &samples, int feature, Count *histogram) = 0;
    /// Joint counts of a feature with every feature that is not used: one histogram per code of the feature. They are
    /// there until the next question.
    virtual const Count *slab(const Samples<Count> &samples, int feature, const std::vector<char> &used) = 0;
    /// Joint counts of all pairs of features that are not used, apart for each code of this one; false where they would
    /// take too much room.
    virtual bool cube(const Samples<Count> &samples, int feature, const std::vector<char> &used, const Check &check,
                      std::vector<Count> &cube) = 0;
    /// The samples whose code is among these; without `all_columns` just their labels and weights.
    virtual void restrict(const Samples<Count> &samples, int feature, const std::vector<std::uint8_t> &codes,
                          bool all_columns, Samples<Count> &out) = 0;
};

} // namespace omtree
