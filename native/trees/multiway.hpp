// The search proper: dynamic programming over the samples reached, the depth left and the leaves left.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "trees/any_size_cache.hpp"
#include "trees/cache.hpp"
#include "trees/code_columns.hpp"
#include "trees/counter.hpp"
#include "trees/kernels.hpp"
#include "trees/node_path.hpp"
#include "trees/partition.hpp"
#include "trees/search.hpp"
#include "trees/search_data.hpp"

namespace omtree {

/// A child of a split, with what the search knows about it.
struct Branch {
    std::vector<std::uint8_t> codes;
    int leaves = 1;
    double loss = 0.0;
};

/// The split of a node for one number of leaves.
struct Split {
    int feature = -1;
    bool complement = false;
    std::vector<Branch> children;
};

/// Loss of a subproblem for every number of leaves (index 0 is not used).
struct Values {
    std::vector<double> loss;
    std::vector<int> feature;  ///< -1: a leaf
    std::vector<Split> split;  ///< filled on request
    std::vector<double> score; ///< by feature: what it seemed to cost with all leaves
};

/// Everything threads share.
template <typename Count> struct Shared {
    const SearchProblem &problem;
    LeafCost<Count> cost;
    SearchCache cache;
    /// Where the counts of a feature's codes are in a histogram over all features.
    struct Place {
        int offset;
        int code_stride;
        int class_stride;
    };
    /// Up to sixteen features whose counts lie side by side, for the kernels that split them at once.
    struct Group {
        int offset;
        int k;
        bool subsets;
        bool complements; ///< one code against all others is a split, too
        std::vector<int> features;
    };
    std::vector<Place> place;
    std::vector<Group> groups;
    std::vector<int> alone;      ///< features in no group
    std::vector<int> first_code; ///< of a feature among all codes of all features
    int n_codes = 0;
    int width = 0; ///< counts in a histogram
    std::size_t scratch = 0;
    std::vector<int> most_leaves; ///< by depth
    double total = 0.0;
    std::int32_t support = 1;  ///< least weight of a leaf where all weights are integers
    bool whole_losses = false; ///< whether all losses are whole numbers that the kernels for those can hold
    bool subtracts = false;    ///< whether counts may be taken from sums of them: no weight is left by rounding then
    SizeBounds *any_size = nullptr; ///< what trees of any size tell, where they were looked for

    Shared(const SearchProblem &problem, double total);

    /// Whether a child of a split gains nothing by splitting the same feature again, because the split itself could
    /// have more children.
    bool idle_child(int feature) const {
        const Family family = problem.features[feature].family;
        return problem.max_children == 0 && family != Family::run && family != Family::single;
    }
    /// Whether that is so of a child of the root. Elsewhere other ways lead to the same samples, and what is found
    /// there must be right for all of them.
    bool idle_again(const NodePath &path, int feature) const { return path.only(feature) && idle_child(feature); }
    /// The counts of a feature, [code][class], out of a histogram over all features.
    void gather(const Count *histogram, int feature, Count *out) const;
    /// Loss of a leaf for every code of a feature, whatever the support, or as much of it as is `enough`.
    double leaf_per_code(const Count *histogram, int feature, double enough, std::vector<Count> &counts) const;
    /// The feature's codes that occur, in the order of its runs, "missing" last; false when there is nothing to split.
    bool find_present(const Count *counts, int feature, std::vector<int> &present, bool &missing) const;
    /// Marks the features in which no two children would have the support, and says which these are: neither here nor
    /// below can they be split.
    std::vector<int> close(Counter<Count> &counter, const Samples<Count> &samples, std::vector<char> &used) const;
    /// Joint counts of the feature with all features, over some codes of the feature that the cube is of.
    const Count *slab(const std::vector<Count> &cube, const std::vector<std::uint8_t> &codes, int feature,
                      std::vector<Count> &room) const;
};

/// Features that may be split below, for the kernels that split many at once.
class OpenFeatures {
  public:
    template <typename Count> void find(const Shared<Count> &shared, const std::vector<char> &used);
    /// Takes out one feature, or puts it back.
    void set(int feature, bool open);
    int size() const { return static_cast<int>(groups.size()); }

    std::vector<LaneGroup> groups;

  private:
    std::vector<std::pair<int, int>> lane_of_; ///< by feature: its group and its lane there; -1 where it has none
};

/// Features that were closed for good below; opened again when the node is left, even when the search is stopped.
struct ClosedFeatures {
    std::vector<char> &used;
    std::vector<int> features;

    explicit ClosedFeatures(std::vector<char> &used) : used(used) {}
    ClosedFeatures(const ClosedFeatures &) = delete;
    ClosedFeatures &operator=(const ClosedFeatures &) = delete;
    ~ClosedFeatures() {
        for (const int feature : features) {
            used[feature] = 0;
        }
    }
};

/// Joint counts by bitsets: one per code of every feature.
class CodeBits {
  public:
    /// Fills the cube; false where a histogram is cheaper or asked for. `check` may end it by throwing, `whole` is the
    /// sum over all codes of the feature where that is known. Features in use, but for this one, are not counted.
    bool count_cube(const Shared<std::int32_t> &shared, const Samples<std::int32_t> &samples,
                    const std::vector<char> &used, int feature, const std::function<void()> &check,
                    const std::int32_t *whole, std::vector<std::int32_t> &cube);
    /// Joint counts of all pairs of features; false likewise.
    bool count_table(const Shared<std::int32_t> &shared, const Samples<std::int32_t> &samples,
                     const std::vector<char> &used, std::vector<std::int32_t> &table);

  private:
    void build(const Shared<std::int32_t> &shared, const Samples<std::int32_t> &samples, const std::vector<char> &used,
               int splitting);
    void count(const Shared<std::int32_t> &shared, const BitNode &node, std::int32_t *to);

    std::uint64_t id_ = 0;
    BitNode node_;
    BitNode part_;
    std::vector<std::int32_t> pairs_;
    std::vector<int> place_; ///< by code: among the columns of the node
    std::vector<int> position_;
    std::vector<int> class_stride_;
};

template <typename Count> class Searcher {
  public:
    Searcher(Shared<Count> &shared, Control &control, std::unique_ptr<Counter<Count>> counter);

    /// Least loss over trees of at most `depth` on the samples, for every number of leaves up to `budget`. Only losses
    /// below `upper` are looked for: elsewhere the answer is `upper`, and the loss is known to be no less.
    void solve(const Samples<Count> &samples, const NodePath &path, int depth, int budget,
               const std::vector<double> &upper, Values &out);
    /// The same with this feature at the root; improves `out`.
    void try_feature(const Samples<Count> &samples, const NodePath &path, int depth, int budget, int feature,
                     const std::vector<double> &upper, Values &out, bool record);
    void start(const Samples<Count> &samples, int budget, Values &out);
    Counter<Count> &counter() { return *counter_; }
    /// Who says from now on when to stop.
    void watch(Control &control) { control_ = &control; }

    /// As in `Shared`; nothing where bounds are switched off.
    std::vector<int> close(const Samples<Count> &samples);

    std::vector<char> used; ///< features that may not be split here nor below
    SearchStatistics statistics;

  private:
    struct Level {
        Partition partition;
        std::vector<Count> cube; ///< joint counts of all features by code of the one split
        std::vector<Count> slab;
        std::vector<Count> slab_sums;
        std::vector<Count> histogram;
        std::vector<Count> sum;
        std::vector<Count> by_class;
        std::vector<int> present;
        std::vector<double> floors;
        double all_floors = 0.0;
        std::vector<double> upper;
        std::vector<double> child_upper;
        std::vector<double> child_lower;
        std::vector<double> beside;
        std::vector<double> cell_floors; ///< by code and code of another feature: the same of depth one
        std::vector<double> pair_floors; ///< by code and second feature: loss that no tree of depth two avoids
        std::vector<char> exact;
        std::vector<char> floored;    ///< by block: whether its bound is that of its own counts
        int block = 0;                ///< the one being evaluated
        std::vector<int> most_leaves; ///< by block: what it has the support for
        std::vector<int> positions;
        std::vector<int> wanted;
        std::vector<std::pair<int, int>> choice;
        std::vector<std::uint8_t> codes;
        Samples<Count> child;
        Values values;
        Values shallow;
        Known known;
    };

    void check();
    bool raise(const ConditionSet &path, int depth, const std::vector<double> &lower, Values &child) const;
    double split_floor(const Count *histogram, double leaf);

    /// One more split into leaves, from the counts of all features.
    void last_split(const Count *histogram, int budget, const std::vector<double> &upper, Values &out);
    void split_groups(const Count *histogram, int most, double *best);
    void last_feature(const Count *counts, int feature, int budget, const std::vector<double> &upper, Values &out,
                      bool record);
    /// Two more levels, the first of them on this feature, from its joint counts with all features. The floors of its
    /// codes are found where they are not given.
    void second_feature(const Count *slab, int feature, int budget, const std::vector<double> &upper, Values &out,
                        bool record, const double *floors = nullptr);
    /// Trees of depth two from the joint counts of all features; feature `closed` is not at their root.
    void second_split(Level &above, int closed, int budget, Values &out);
    void raise_floors(Level &level, int feature);

    bool begin(Level &level, int feature, int depth, int budget);
    template <typename Evaluate>
    void split(Level &level, int feature, int budget, const std::vector<double> &upper, Values &out, bool record,
               bool lazily, int child_depth, const Evaluate &evaluate);
    void accept(const Partition &partition, const std::vector<int> &present, int feature, int budget,
                const std::vector<double> &upper, Values &out, bool record);

    Shared<Count> &shared_;
    std::unique_ptr<Counter<Count>> counter_;
    unsigned ticks_ = 0;
    Control *control_;
    const SearchProblem &problem_;
    int n_features_;
    int n_classes_;
    std::vector<std::unique_ptr<Level>> levels_;
    bool at_once_ = false; ///< whether the kernels for groups of features apply
    OpenFeatures open_;
    std::vector<std::uint64_t> scratch_;
};

extern template struct Shared<std::int32_t>;
extern template struct Shared<double>;
extern template class Searcher<std::int32_t>;
extern template class Searcher<double>;

} // namespace omtree
