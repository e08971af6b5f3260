// One thread of the search for multiway trees of any size.
#pragma once

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "trees/any_size_ways.hpp"
#include "trees/cache.hpp"
#include "trees/counter.hpp"
#include "trees/multiway.hpp"
#include "trees/node_path.hpp"

namespace omtree {

template <typename Value> struct FoundSplit {
    int feature = -1;
    bool complement = false;
    std::vector<std::pair<std::vector<std::uint8_t>, Value>> children; ///< codes and value
};

/// What is known at one price of a leaf.
template <typename Value> struct PricedCache {
    Prices<Value> prices;
    AnySizeCache<Value> known;

    PricedCache(const Prices<Value> &prices, std::size_t bytes) : prices(prices), known(bytes) {}
};

/// Dynamic programming over the samples reached and the depth left.
template <typename Count, typename Value> class AnySizeWorker {
  public:
    using Caches = std::vector<std::unique_ptr<PricedCache<Value>>>;

    /// `caches` are those of all prices so far, the present one last.
    AnySizeWorker(const Shared<Count> &shared, const Caches &caches, Control &control,
                  std::unique_ptr<Counter<Count>> counter);

    /// The least value below `upper` over trees of at most `depth`; elsewhere `upper`, and none is below that.
    Found<Value> solve(const Samples<Count> &samples, const NodePath &path, int depth, Value upper);
    /// The same with this feature at the root.
    Value try_feature(const Samples<Count> &samples, const NodePath &path, int depth, int feature, Value upper,
                      FoundSplit<Value> *record);
    Value leaf_value(const Count *counts) const;
    Counter<Count> &counter() { return *counter_; }
    void watch(Control &control) { control_ = &control; }

    std::vector<char> used; ///< features that may not be split here nor below
    /// By depth and feature: what splitting the feature seemed to cost when it was tried last.
    std::vector<std::vector<Value>> score;
    SearchStatistics statistics;

  private:
    struct Level {
        AnySizeWays<Value> ways;
        std::vector<char> exact; ///< by block: whether its value is more than a lower bound
        std::vector<Value> leaf; ///< by block: its value as a leaf
        std::vector<int> choice;
        std::vector<int> positions;
        Value leaf_of_wanted = 0; ///< of the block being evaluated
        std::vector<int> present;
        bool missing = false;
        std::vector<Count> histogram;
        std::vector<double> floors; ///< by code: loss that no tree avoids
        std::vector<std::uint8_t> codes;
        Samples<Count> child;
        // With three levels left: joint counts of all features by code of the one split, and what they tell.
        bool recalled = false;
        bool counted = false;
        bool tables = false;
        std::vector<Count> cube;
        std::vector<Count> slab;
        std::vector<double> cell_floors; ///< by code and code of another feature: loss that no further split avoids
        std::vector<double> pair_floors; ///< by code and second feature: the same of a split with that feature
        // With two levels left.
        bool summed = false;
        std::vector<Count> sums; ///< of the codes' histograms, from the left
        std::vector<Count> sum;
    };

    /// Keeps a feature from being split in its own children, even when the search is stopped there.
    struct Use {
        char &flag;
        char before;
        Use(char &flag, bool close) : flag(flag), before(flag) { flag = before || close; }
        Use(const Use &) = delete;
        Use &operator=(const Use &) = delete;
        ~Use() { flag = before; }
    };

    void check();
    bool begin(Level &level, int feature);
    void raise_blocks(Level &level, int feature);
    template <typename Evaluate>
    Value try_blocks(Level &level, int depth, int feature, Value upper, FoundSplit<Value> *record,
                     const Evaluate &evaluate);
    /// Makes a block the one that is evaluated.
    void choose(Level &level, int block) const;
    void take(const Level &level, int feature, FoundSplit<Value> &record) const;
    Value value_of(double loss, int leaves) const;

    const Prices<Value> &prices() const { return caches_.back()->prices; }
    AnySizeCache<Value> &cache() const { return caches_.back()->known; }
    bool recall(const ConditionSet &path, int depth, FoundBefore<Value> &known) const;
    /// What other prices of a leaf tell about the value at the present one.
    Value recall_prices(const ConditionSet &path, int depth) const;
    /// Raises the floors of the codes by what other paths to the same samples have found; false where that is nothing.
    bool recall_floors(Level &level, const NodePath &path, int feature);
    void count_cube(Level &level, const Samples<Count> &samples, const NodePath &path, int feature);
    /// Trees of depth two over the codes that the level has chosen, from its cube; feature `closed` is not at their
    /// root.
    Found<Value> second_split(Level &above, int closed, Value upper);
    /// The same with this feature at the root, from its joint counts with all features; the floors of its codes are
    /// found where they are not given.
    Value second_feature(const Count *slab, int feature, Value upper, const double *floors, FoundSplit<Value> *record);
    const Count *block_counts(Level &level, const Count *slab);
    /// One more split into leaves, from the counts of all features.
    Value last_split(const Count *histogram);
    Value last_feature(Level &level, int feature, Value upper, FoundSplit<Value> *record);
    double split_floor(const Count *histogram, double leaf);

    const Shared<Count> &shared_;
    const SearchProblem &problem_;
    const Caches &caches_;
    Control *control_;
    std::unique_ptr<Counter<Count>> counter_;
    int n_features_;
    int n_classes_;
    unsigned ticks_ = 0;
    std::vector<std::unique_ptr<Level>> levels_;
    OpenFeatures open_;
    std::vector<std::uint64_t> scratch_;
};

/// Evaluates children only where the way to split that looks best has one not yet known. `evaluate` finds the codes of
/// the child in the level; it is given what the child may cost at most, and is false where it has raised what is known
/// of all blocks instead.
template <typename Count, typename Value>
template <typename Evaluate>
Value AnySizeWorker<Count, Value>::try_blocks(Level &level, int depth, int feature, Value upper,
                                              FoundSplit<Value> *record, const Evaluate &evaluate) {
    AnySizeWays<Value> &ways = level.ways;
    // What is no less than it may be at most must not look as if it were, once it is added up.
    const Value slack = whole_values<Value> ? 0 : 2 * prices().step;
    for (;;) {
        const Value total = ways.solve();
        score[depth][feature] = total;
        if (total >= upper) {
            return upper;
        }
        ways.choice(level.choice);
        int wanted = -1;
        for (const int block : level.choice) {
            if (!level.exact[block] && (wanted < 0 || level.leaf[block] > level.leaf[wanted])) {
                wanted = block;
            }
        }
        if (wanted < 0) {
            if (record != nullptr) {
                take(level, feature, *record);
            }
            return total;
        }
        check();
        if (depth == 2) {
            // What a split into leaves costs is found faster than what it may cost at most.
            for (const int block : level.choice) {
                if (!level.exact[block]) {
                    choose(level, block);
                    Value value = 0;
                    evaluate(upper, value);
                    ways.value(block) = std::max(ways.value(block), value);
                    level.exact[block] = 1;
                }
            }
            continue;
        }
        choose(level, wanted);
        const Value beside = ways.beside(wanted);
        Value value = 0;
        // Where it is not known what stands beside the block, that is one leaf at least.
        if (evaluate(upper - (beside < 0 ? prices().leaf : beside) + slack, value)) {
            ways.value(wanted) = std::max(ways.value(wanted), value);
            level.exact[wanted] = 1;
        }
    }
}

extern template class AnySizeWorker<std::int32_t, std::int64_t>;
extern template class AnySizeWorker<double, double>;

} // namespace omtree
