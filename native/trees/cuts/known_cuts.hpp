// What is known of the cuts of one view, in the search for a tree of depth two.
#pragma once

#include <algorithm>
#include <vector>

namespace omtree {

/// A cut of the root whose sides are known: with one more split each, and as
/// leaves where a side may be a leaf alone. `left` is a bound for the left
/// sides of all cuts up to the next known one, `right` for those from the one
/// before; with a least support they are below `left_here` and `right_here`,
/// the losses of the sides themselves. Of a cut that is not `seen`, all of these
/// are bounds that came from elsewhere.
struct KnownCut {
    int place;
    double left, right;
    double left_here, right_here;
    double left_leaf, right_leaf;
    bool seen = true;
};

/// The cuts of one view.
struct ViewCuts {
    std::vector<int> places;     ///< where the view can be cut
    std::vector<KnownCut> known; ///< increasing; both ends included
    std::vector<double> below;   ///< mass by place, where there is a least support

    /// Puts cuts, increasing, between the known ones, in place of any that is not seen.
    void add(const std::vector<KnownCut> &fresh);
};

/// What trees with at most three or four leaves cost whose cut lies from one
/// known cut to another.
class Between {
  public:
    Between(bool four, double per_row) : four_(four), per_row_(per_row) {}

    double ends(const KnownCut &a, const KnownCut &b) const { return join(a.left, a.left_leaf, b.right, b.right_leaf); }
    double at(const KnownCut &a, const KnownCut &b, int place) const {
        // Leaves that have the support keep it when rows come in, and a row more
        // costs no more than itself.
        const double up = per_row_ * (b.place - place);
        const double down = per_row_ * (place - a.place);
        return join(std::max(a.left, b.left_here - up), std::max(a.left_leaf, b.left_leaf - up),
                    std::max(b.right, a.right_here - down), std::max(b.right_leaf, a.right_leaf - down));
    }
    double join(double left, double left_leaf, double right, double right_leaf) const {
        return four_ ? left + right : std::min(left_leaf + right, left + right_leaf);
    }
    double at(const KnownCut &cut) const { return join(cut.left_here, cut.left_leaf, cut.right_here, cut.right_leaf); }
    bool four() const { return four_; }

  private:
    bool four_;
    double per_row_;
};

} // namespace omtree
