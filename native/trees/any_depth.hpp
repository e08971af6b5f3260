// The best binary tree of any depth and size, where every leaf has a price.
#pragma once

#include <memory>
#include <vector>

#include "trees/cache.hpp"
#include "trees/code_columns.hpp"
#include "trees/search.hpp"
#include "trees/search_data.hpp"

namespace omtree {

/// Without limits on depth and leaves what is best below a node depends on its samples alone, whatever led to them. So
/// sets of samples are what is remembered. A multiway tree needs no search of its own: the binary tree that splits its
/// features again and again has the same leaves.
class AnyDepthSearch {
  public:
    /// `leaf_price` is in units of the loss, above zero.
    AnyDepthSearch(const SearchProblem &problem, double leaf_price, Control &control);

    /// Whether the problem is one for this search.
    static bool suits(const SearchProblem &problem);

    /// One tree; its loss and the bound include the prices of the leaves.
    SearchResult run();

  private:
    /// The samples of a node, and which ones these are.
    struct Node {
        BitNode bits;
        std::vector<std::uint32_t> samples; ///< by place among the bits
        ConditionSet key;
    };
    /// What the best tree known for some samples costs, the column at its root (-1: a leaf), and what none undercuts.
    struct Known {
        double upper = infinity;
        double lower = 0.0;
        int column = -1;

        bool exact() const { return lower >= upper; }
        friend std::size_t bytes_of(const Known &) { return 96 + sizeof(Known); }
    };
    /// One side of a column: what its best tree costs at least and at most.
    struct Side {
        double lower = 0.0;
        double upper = infinity;

        bool exact() const { return lower >= upper; }
    };
    struct Level {
        Node inside;
        Node outside;
        std::vector<Side> sides;          ///< by column: outside, inside
        std::vector<int> order;           ///< of the columns that deeper trees may begin with
        std::vector<std::int32_t> weight; ///< of the samples inside both of two columns
        std::vector<std::int32_t> second_in, second_out;
        std::vector<double> real_in, real_out;
        std::vector<double> floor_in; ///< loss inside a column that no tree avoids
        std::vector<std::uint64_t> mask;
        std::vector<std::uint64_t> patterns;
        std::vector<int> places;

        double least(int column) const { return sides[2 * column].lower + sides[2 * column + 1].lower; }
    };

    void check();
    Level &level(int height);

    /// Counts a node and finds its best tree of depth two, what no tree undercuts, and what is known about the sides of
    /// its columns.
    Known open(Node &node, Level &level);
    void find_seconds(const BitNode &bits, Level &level) const;
    double find_floors(const BitNode &bits, Level &level) const;
    void find_weights(const BitNode &bits, Level &level) const;
    /// Raises what the sides of a column cost by what is known of sides with nearly the same samples.
    void compare_sides(const BitNode &bits, Level &level, int column) const;
    ConditionSet key_of(const Node &node, const std::uint64_t *inside) const;
    /// The samples on one side of a column, with the columns that can split them; of columns that do so alike the first
    /// one, unless every one is wanted.
    void make_side(const Node &node, Level &level, int column, bool inside, bool every_column, Node &child) const;

    /// The best tree where it costs less than `upper`; otherwise the lower bound is `upper` at least.
    Known solve(Node &node, double upper, int height);
    void try_column(const Node &node, Level &level, int column, double upper, int height, Known &known);
    /// The value of the tree that always takes the most promising column, which is remembered: a first tree to beat.
    double grow(Node &node, int height);
    int build(Node &node, int height, SearchTree &tree, double &value);

    const SearchProblem &problem_;
    double price_;
    Control *control_;
    LeafCost<std::int32_t> cost_;
    std::int32_t support_;
    double largest_cost_;
    std::vector<SplitColumn> columns_;
    BoundedCache<Known> cache_;
    std::vector<std::unique_ptr<Level>> levels_; ///< by distance from the root
    SearchStatistics statistics_;
    unsigned ticks_ = 0;
};

} // namespace omtree
