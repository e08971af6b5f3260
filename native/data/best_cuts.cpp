#include "data/best_cuts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace omtree {

namespace {

/// Impurities of what is between two rows of sums.
class Impurities {
  public:
    Impurities(std::span<const double> below, int width, Impurity impurity) : width_(width), impurity_(impurity) {
        double total = 0.0;
        bool whole = true;
        for (std::size_t i = 0; i < below.size(); ++i) {
            whole = whole && below[i] == std::floor(below[i]);
            total += i + width >= below.size() ? below[i] : 0.0;
        }
        // Where weights are whole numbers, there are not many logarithms, and they are those of the column before.
        use_known_ = impurity == Impurity::entropy && whole && total <= most_known;
        while (use_known_ && static_cast<double>(known().size()) <= total) {
            known().push_back(product(static_cast<double>(known().size())));
        }
        known_ = known().data();
    }

    double between(const double *low, const double *high) const {
        if (impurity_ == Impurity::squared) {
            const double weight = high[0] - low[0];
            const double sum = high[1] - low[1];
            return high[2] - low[2] - (weight > 0.0 ? sum * sum / weight : 0.0);
        }
        double total = 0.0;
        double inside = 0.0;
        for (int c = 0; c < width_; ++c) {
            total += high[c] - low[c];
            inside += term(high[c] - low[c]);
        }
        return term(total) - inside;
    }

  private:
    static constexpr double most_known = 1e5;

    static double product(double x) { return x > 0.0 ? x * std::log(x) : 0.0; }
    double term(double x) const { return use_known_ ? known_[static_cast<std::size_t>(x)] : product(x); }

    /// x log x for x = 0, 1, 2, ...
    static std::vector<double> &known() {
        thread_local std::vector<double> products;
        return products;
    }

    int width_;
    Impurity impurity_;
    bool use_known_ = false;
    const double *known_ = nullptr;
};

struct Segment {
    int low;
    int high;
    double gain = -std::numeric_limits<double>::infinity(); ///< of its best cut, if there is one
    int place = -1;
};

} // namespace

std::vector<int> best_cuts(std::span<const double> below, int width, int count, Impurity impurity) {
    const Impurities impurities(below, width, impurity);
    const auto row = [&](int i) { return below.data() + static_cast<std::size_t>(i) * width; };
    const auto segment = [&](int low, int high) {
        Segment found{low, high};
        double least = std::numeric_limits<double>::infinity();
        for (int place = low + 1; place < high; ++place) {
            const double after = impurities.between(row(low), row(place)) + impurities.between(row(place), row(high));
            if (after < least) {
                least = after;
                found.place = place;
            }
        }
        if (found.place >= 0) {
            found.gain = impurities.between(row(low), row(high)) - least;
        }
        return found;
    };
    std::vector<Segment> segments{segment(0, static_cast<int>(below.size()) / width - 1)};
    std::vector<int> taken;
    while (static_cast<int>(taken.size()) < count) {
        const auto best = std::max_element(segments.begin(), segments.end(),
                                           [](const Segment &a, const Segment &b) { return a.gain < b.gain; });
        const auto [low, high, gain, place] = *best;
        if (place < 0) {
            break;
        }
        taken.push_back(place);
        if (static_cast<int>(taken.size()) < count) {
            *best = segment(low, place);
            segments.push_back(segment(place, high));
        }
    }
    return taken;
}

} // namespace omtree
