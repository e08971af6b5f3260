// The search proper: dynamic programming over the samples reached, the depth left and the leaves left.
#pragma once

#include <memory>
#include <vector>

#include "search.hpp"
#include "search_cache.hpp"
#include "search_data.hpp"
#include "search_partition.hpp"

namespace omtree {

/// The split of a node for one number of leaves.
struct Split {
    int feature = -1;
    bool complement = false;
    std::vector<std::pair<std::vector<std::uint8_t>, int>> children; ///< codes, leaves
};

/// Loss of a subproblem for every number of leaves (index 0 is not used).
struct Values {
    std::vector<double> loss;
    std::vector<int> feature; ///< -1: a leaf
    std::vector<Split> split; ///< filled on request
};

/// Everything threads share.
template <typename Count> struct Shared {
    const SearchProblem &problem;
    Control &control;
    LeafCost<Count> cost;
    SearchCache cache;
    std::vector<int> offset;      ///< of a feature's codes in a histogram, in counts
    int width = 0;                ///< counts in a histogram
    std::vector<int> most_leaves; ///< by depth

    Shared(const SearchProblem &problem, Control &control, double total);
};

template <typename Count> class Searcher {
  public:
    explicit Searcher(Shared<Count> &shared);

    /// Least loss over trees of at most `depth` on the samples, for every number of leaves up to `budget`. Only losses
    /// below `upper` are looked for: elsewhere the answer is `upper`, and the loss is known to be no less.
    void solve(const Samples<Count> &samples, const ConditionSet &path, int depth, int budget,
               const std::vector<double> &upper, Values &out, bool record);
    /// One root feature of the same; improves `out`, and returns whether it did.
    void try_feature(const Samples<Count> &samples, const ConditionSet &path, int depth, int budget, int feature,
                     const std::vector<double> &upper, Values &out, bool record);
    void start(const Samples<Count> &samples, int budget, Values &out) const;
    /// The samples whose code is among these.
    void restrict(const Samples<Count> &samples, int feature, const std::vector<std::uint8_t> &codes,
                  Samples<Count> &out) const;

    std::vector<char> used; ///< features split on the path, where each may be split once
    SearchStatistics statistics;

  private:
    struct Level {
        Partition partition;
        std::vector<Count> slab;
        std::vector<Count> histogram;
        std::vector<int> present;
        std::vector<double> floors;
        std::vector<double> upper;
        std::vector<double> child_upper;
        std::vector<char> exact;
        std::vector<int> positions;
        std::vector<std::pair<int, int>> choice;
        std::vector<std::uint8_t> codes;
        Samples<Count> child;
        Values values;
        Known known;
    };

    void check();
    void last_split(const Count *histogram, int budget, const std::vector<double> &upper, Values &out, bool record);
    void last_feature(const Count *histogram, int feature, int budget, const std::vector<double> &upper, Values &out,
                      bool record);
    bool find_present(const Count *histogram, int feature, std::vector<int> &present, bool &missing) const;
    void count_feature(const Samples<Count> &samples, int feature, Count *histogram) const;
    void count_pairs(const Samples<Count> &samples, int feature, Count *slab) const;
    void accept(const Partition &partition, const std::vector<int> &present, int feature, int budget,
                const std::vector<double> &upper, Values &out, bool record);

    Shared<Count> &shared_;
    const SearchProblem &problem_;
    int n_features_;
    int n_classes_;
    std::vector<std::unique_ptr<Level>> levels_;
    unsigned ticks_ = 0;
};

extern template struct Shared<std::int32_t>;
extern template struct Shared<double>;
extern template class Searcher<std::int32_t>;
extern template class Searcher<double>;

} // namespace omtree
