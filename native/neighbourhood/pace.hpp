// How long a search goes on: steps are counted, so that equal input gives equal trees, and time ends it in any case.
#pragma once

#include "core/stopwatch.hpp"

namespace omtree::neighbourhood {

class Pace {
  public:
    Pace(double steps, const Stopwatch &watch) : left_(steps), watch_(watch) {}

    void spend(double steps) {
        left_ -= steps;
        spent_ += steps;
    }

    /// Whether to stop; it stays so.
    bool over() {
        if (!over_) {
            over_ = left_ <= 0.0 || watch_.expired();
        }
        return over_;
    }

    /// The same where so many steps, some hundredths of a second, are taken in any case.
    bool over_after(double steps) { return spent_ >= steps && over(); }

  private:
    double left_;
    double spent_ = 0.0;
    const Stopwatch &watch_;
    bool over_ = false;
};

} // namespace omtree::neighbourhood
