// The best binary tree of any depth and size where every leaf has a price, for every loss that adds up.
#pragma once

#include <memory>
#include <vector>

#include "trees/cache.hpp"
#include "trees/code_columns.hpp"
#include "trees/search.hpp"
#include "trees/search_data.hpp"

namespace omtree {

/// The same idea as `AnyDepthSearch`, which counts whole weights in bits and looks two levels ahead: here the sums of
/// the rows are real numbers, and one level is looked at.
class AnyDepthSums {
  public:
    /// `leaf_price` is in units of the loss, above zero.
    AnyDepthSums(const SearchProblem &problem, double leaf_price, Control &control);

    /// Whether the problem is one for this search.
    static bool suits(const SearchProblem &problem);

    /// One tree; its loss and the bound include the prices of the leaves.
    SearchResult run();

  private:
    struct Node {
        std::vector<std::uint32_t> rows;
        ConditionSet key; ///< which rows these are
    };
    /// What the best tree known for some rows costs, the column at its root (-1: a leaf), and what none undercuts.
    struct Known {
        double upper = infinity;
        double lower = 0.0;
        int column = -1;

        bool exact() const { return lower >= upper; }
        friend std::size_t bytes_of(const Known &) { return 96 + sizeof(Known); }
    };
    struct Side {
        double lower = 0.0;
        double upper = infinity;

        bool exact() const { return lower >= upper; }
    };
    /// A column that a tree of more than two leaves may begin with.
    struct Choice {
        int column;
        Side sides[2]; ///< outside, inside

        double least() const { return sides[0].lower + sides[1].lower; }
        double most() const { return sides[0].upper + sides[1].upper; }
    };
    struct Opened {
        Known known; ///< the best tree of up to two leaves, and what larger ones cost at least
        std::vector<Choice> choices;
    };

    void check();
    std::size_t width() const { return static_cast<std::size_t>(problem_.n_classes) + 1; }
    Opened open(const Node &node) const;
    /// What rows with these sums cost at least and at most; the last of the sums is what no tree avoids.
    Side side_of(const double *sums) const;
    Node side(const Node &node, int column, bool inside) const;
    /// The best tree where it costs less than `upper`; otherwise the lower bound is `upper` at least.
    Known solve(const Node &node, double upper);
    void try_choice(const Node &node, Choice &choice, double upper, Known &known);
    int build(const Node &node, bool finished, SearchTree &tree, double &value);

    const SearchProblem &problem_;
    double price_;
    Control *control_;
    LeafCost<double> cost_;
    std::vector<SplitColumn> columns_;
    std::vector<char> inside_;           ///< by column and code
    std::vector<std::size_t> first_;     ///< by feature: the place of its first code among all codes
    std::vector<double> sums_;           ///< by row: its sums, and what it costs as a leaf of its own
    std::vector<ConditionSet> row_keys_; ///< add up to the key of a set
    BoundedCache<Known> cache_;
    SearchStatistics statistics_;
    unsigned ticks_ = 0;
};

} // namespace omtree
