// The price of a leaf at which the best tree has as many leaves as are allowed.
#pragma once

#include <algorithm>
#include <chrono>

#include "trees/any_size.hpp"

namespace omtree {

/// What trees of any size tell about those within a limit on leaves.
struct PricedAnswer {
    SizedTree tree;        ///< the best one within the limit that is known
    double bound = 0.0;    ///< no tree within the limit has a lower loss
    bool finished = false; ///< whether there was time for all of it
    bool proven = false;   ///< whether the two meet
};

/// Looks for the best tree within the limit by giving each leaf a price instead. At any price, the best value less the
/// price of all leaves allowed bounds the loss from below; it is concave in the price, so that the price at which it is
/// largest lies where the two lines that are known to bound it from above meet. The bound is the loss itself wherever
/// some price makes the limit the best number of leaves.
class LeafPrices {
  public:
    using Search = AnySizeSearch<double, double>;

    LeafPrices(Search &search, int depth, int budget, double tolerance, Control &control)
        : search_(search), depth_(depth), budget_(budget), tolerance_(tolerance), control_(control) {}

    /// `known` is the loss of some tree within the limit, `price` a guess.
    PricedAnswer operator()(double known, double price) {
        PricedAnswer answer;
        // So little that no number of leaves within the limit makes a difference.
        const double least = tolerance_ / budget_;
        for (int round = 0; round < most_rounds; ++round) {
            price = std::max(price, least);
            search_.set_prices({1.0, price, tolerance_ / 4.0});
            if (!search_.solve(depth_)) {
                return answer;
            }
            answer.bound = std::max(answer.bound, search_.bound(budget_));
            control_.standing.bound = answer.bound;
            Control control;
            control.until = std::max(control_.until, std::chrono::steady_clock::now() + std::chrono::milliseconds(100));
            SizedTree tree = search_.tree(control);
            if (control.stop) {
                return answer;
            }
            const Line line{tree.loss, tree.leaves};
            SizedTree small = tree.leaves <= budget_ ? std::move(tree) : cut_back(tree, budget_);
            if (small.loss < answer.tree.loss - tolerance_ ||
                (small.loss < answer.tree.loss + tolerance_ && small.leaves < answer.tree.leaves)) {
                answer.tree = std::move(small);
                control_.standing.found(answer.tree.loss);
            }
            known = std::min(known, answer.tree.loss);
            if (known - answer.bound <= tolerance_) {
                answer.proven = true;
                break;
            }
            // Nothing new: these two lines meet where the bound is largest.
            const bool again = (few_.leaves > 0 && line.at(price) >= few_.at(price) - tolerance_) ||
                               (many_.leaves > 0 && line.at(price) >= many_.at(price) - tolerance_);
            if (again || price <= least) {
                break;
            }
            (line.leaves > budget_ ? many_ : few_) = line;
            price = next(price, known, least);
        }
        answer.finished = true;
        return answer;
    }

  private:
    static constexpr int most_rounds = 24;

    /// A tree whose value is a linear function of the price.
    struct Line {
        double loss = infinity;
        int leaves = 0;
        double at(double price) const { return loss + price * leaves; }
    };

    double next(double price, double known, double least) const {
        if (few_.leaves > 0 && many_.leaves > 0) {
            return (few_.loss - many_.loss) / (many_.leaves - few_.leaves);
        }
        if (few_.leaves == 0) {
            // What the leaves beyond the limit are worth in the tree that has them.
            const double worth = (known - many_.loss) / (many_.leaves - budget_);
            return worth > price ? std::min(0.9 * worth + 0.1 * price, 4.0 * price) : 2.0 * price;
        }
        // The loss of a tree that has all leaves, as far as one is known, says what a further leaf is worth.
        const double worth = few_.leaves < budget_ ? (few_.loss - known) / (budget_ - few_.leaves) : 0.0;
        const double lower = worth > 0.0 && worth < 0.9 * price ? worth : price / 2.0;
        return lower > 1e4 * least ? lower : least;
    }

    Search &search_;
    int depth_;
    int budget_;
    double tolerance_;
    Control &control_;
    Line few_;  ///< the last tree within the limit
    Line many_; ///< the last one beyond it
};

} // namespace omtree
