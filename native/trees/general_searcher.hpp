// The general search proper: dynamic programming over the rows reached, the depth left and the leaves left.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "trees/cache.hpp"
#include "trees/general_search.hpp"
#include "trees/partition.hpp"

namespace omtree::general {

using CodeMask = std::array<std::uint64_t, 4>;
using RowList = std::vector<std::uint32_t>;

/// A child of a split, with what the search knows about it.
struct Branch {
    std::vector<std::uint8_t> codes; ///< those that occur
    CodeMask mask;                   ///< those that satisfy the child's condition
    int leaves = 1;
    double loss = 0.0;
};

/// The split of a node for one number of leaves.
struct Split {
    int feature = -1;
    bool complement = false;
    std::vector<Branch> children;
};

/// Loss of a subproblem for every number of leaves (index 0 is not used). Every finite one is that of some tree.
struct Values {
    std::vector<double> loss;
    std::vector<int> feature;  ///< -1: a leaf
    std::vector<Split> split;  ///< filled on request
    std::vector<double> score; ///< by feature: what it seemed to cost with all leaves; on request

    void start(int budget, double leaf);
};

/// The conditions that lead to a subproblem, at most one per feature.
class Path {
  public:
    Path(const GeneralProblem &problem);

    bool tests(int feature) const { return place_[feature] >= 0; }
    const CodeMask &domain(int feature) const {
        return tests(feature) ? masks_[place_[feature]] : everything_[feature];
    }
    /// What the judge calls the features.
    std::span<const int> columns() const { return columns_; }
    /// The same with one more.
    std::span<const int> columns_with(int feature);
    std::span<const JudgedCondition> conditions() const { return conditions_; }
    ConditionSet key() const;
    /// What is given of the node that the path leads to; null where nothing is.
    const ForcedNode *given() const { return given_at(given_); }
    /// The same of its child by a feature that has rows of this code.
    const ForcedNode *given_below(int feature, int code) const { return given_at(position_below(feature, code)); }

    /// A condition that is part of the path for as long as this lives.
    class Step {
      public:
        /// `code` is one that the child has rows of.
        Step(Path &path, int feature, const CodeMask &mask, int code);
        ~Step();
        Step(const Step &) = delete;
        Step &operator=(const Step &) = delete;

      private:
        Path &path_;
        int feature_;
        bool added_;
        CodeMask before_;
        int given_;
    };

  private:
    const GeneralProblem &problem_;
    std::vector<CodeMask> everything_;
    std::vector<int> place_;
    std::vector<int> columns_;
    std::vector<int> longer_;
    std::vector<CodeMask> masks_;
    std::vector<JudgedCondition> conditions_;

    const ForcedNode *given_at(int position) const { return position < 0 ? nullptr : &problem_.forced[position]; }
    int position_below(int feature, int code) const;
    int given_ = -1; ///< position among what is forced
};

/// Everything threads share.
struct Shared {
    const GeneralProblem &problem;
    const RuleJudge &judge;
    SearchCache cache;
    int n_features;
    int n_statistics;
    std::vector<int> first_code; ///< of a feature among all codes of all features
    int n_codes = 0;
    std::vector<int> most_leaves;    ///< by depth
    std::vector<std::uint8_t> codes; ///< rows x features
    RowList rows;                    ///< all that have weight
    bool by_rows;                    ///< whether a leaf is judged by its rows rather than by statistics
    bool bounded;                    ///< whether bounds are known and wanted
    double tolerance;                ///< two losses that differ by less are equal

    explicit Shared(const GeneralProblem &problem);
    const std::uint8_t *row(std::uint32_t i) const { return &codes[static_cast<std::size_t>(i) * n_features]; }
};

/// Statistics of the rows of a box: of all pairs of codes where two levels are left, of all codes where one is.
using Counts = std::vector<double>;

/// What is known about the ways to split a box by one feature.
struct Screen {
    Partition partition;      ///< with a lower bound of every block that a way below the cap has
    std::vector<int> present; ///< codes that occur, by position
    int k = 0;
    bool missing = false;
    double paid = 0.0;             ///< per unit of weight, by a leaf that tests just this feature beyond the path
    bool complete = false;         ///< whether such a leaf may be
    std::vector<double> histogram; ///< by code: statistics and a bound

    /// The codes of a block, in increasing order.
    void codes(int block, std::vector<std::uint8_t> &out) const;
};

class Searcher {
  public:
    Searcher(Shared &shared, Control &control);

    /// Least loss over trees of at most `depth` on the rows, which the path leads to, for every number of leaves up to
    /// `budget`. `out` holds the loss as a leaf. Only losses below `upper` are looked for.
    void solve(const RowList &rows, int depth, int budget, const std::vector<double> &upper, Values &out);
    /// The same with this feature at the root; improves `out`.
    void try_feature(const RowList &rows, int depth, int budget, int feature, const std::vector<double> &upper,
                     Values &out, bool record);
    /// All features, those first whose values alone tell most.
    std::vector<int> promising(const RowList &rows);
    /// Whether this feature may be split below the path.
    bool may_split(int feature);
    Verdict judge_leaf(const RowList &rows);
    /// What rows cost as a leaf whose features are allowed, at a node of which this is given.
    Verdict judge_given(const ForcedNode *given, const double *sums, RowNumbers rows,
                        std::span<const JudgedCondition> conditions, double paid) const;
    void restrict(const RowList &rows, int feature, const CodeMask &mask, RowList &out) const;
    /// Whether some tree with this feature at the root costs less than `cap`; `out` tells which ways may. For boxes of
    /// rows, and for those whose counts are known.
    bool screen(const RowList &rows, int depth, int budget, int feature, double cap, Screen &out);
    bool screen(const Counts &counts, int depth, int budget, int feature, double cap, Screen &out);
    /// Counts of a box of at most two levels.
    void count(const RowList &rows, int depth, Counts &out) const;
    /// Counts of the child with these codes, of a box of two levels.
    void count_child(const Counts &counts, int feature, const std::vector<std::uint8_t> &codes, Counts &out) const;
    /// The same of a box of three levels, for the feature that was screened last; false where there are no tables.
    bool count_child(const std::vector<std::uint8_t> &codes, Counts &out) const;
    CodeMask mask_of(const Screen &screen, int feature, int block) const;
    void watch(Control &control) { control_ = &control; }
    void check();

    Path path;
    SearchStatistics statistics;

  private:
    struct Level {
        Partition partition;
        std::vector<double> histogram; ///< of the feature that is split: by code, statistics and a bound
        std::vector<double> tables;    ///< joint statistics of all pairs of features, one table per code
        std::vector<double> table;
        std::vector<double> sum;
        std::vector<RowList> by_code; ///< rows by code of the feature that is split
        std::vector<int> present;
        int feature = -1; ///< that is split
        bool missing = false;
        bool thorough = false;     ///< whether all ways below the cap are wanted, not the best alone
        bool begun = false;        ///< whether the last feature tried was worth splitting
        bool tabled = false;       ///< whether `tables` are those of the feature
        bool leaves_known = false; ///< whether the bound of a code is its value as a leaf
        bool complete = false;     ///< whether a leaf below may test just these features
        double paid = 0.0;
        double all_floors = 0.0;
        std::vector<double> sums;
        std::vector<double> upper;
        std::vector<double> caps;
        std::vector<double> child_upper;
        std::vector<double> beside;
        std::vector<char> known; ///< by block: 2 where its values are exact, 1 where that of a leaf is
        std::vector<int> positions;
        std::vector<int> wanted;
        std::vector<std::pair<int, int>> choice;
        std::vector<std::uint8_t> codes;
        RowList rows;
        Values values;
        Values screened;
        Known remembered;
    };

    bool recall(int depth, int budget, const std::vector<double> &upper, Values &out, ConditionSet &key, Level &level);
    void remember(int depth, int budget, const std::vector<double> &upper, const Values &out, const ConditionSet &key,
                  Level &level);

    void count_histogram(const RowList &rows, int feature, bool floors, std::vector<double> &out) const;
    void count_table(const RowList &rows, double *table) const;
    /// A loss that no tree of one level, or of two, gets below.
    double floor_one(const double *histogram, int above, double leaf) const;
    double floor_two(const double *table, double leaf) const;
    /// The same where rows are judged, by codes of the feature that the level splits.
    void floor_by_rows(Level &level, int depth, int feature);
    double bare_split(const RowList &rows, int feature, double enough);

    /// One more split into leaves, from the statistics of all features.
    void last_split(const double *histogram, int budget, const std::vector<double> &upper, Values &out);
    void last_feature(const double *histogram, int feature, int budget, const std::vector<double> &upper, Values &out,
                      bool record);
    /// Two more levels from the joint statistics of all pairs.
    void second_split(const double *table, int budget, const std::vector<double> &upper, Values &out);
    void second_feature(const double *slab, int feature, int budget, const std::vector<double> &upper, Values &out,
                        bool record);
    void deep_feature(const RowList &rows, int depth, int budget, int feature, const std::vector<double> &upper,
                      Values &out, bool record);

    const ForcedNode *given_below(Level &level, int block) const;
    bool keep_to(const ForcedNode &given, Level &level);
    bool begin(Level &level, int feature, int depth, int budget, const std::vector<double> &upper, const Values &out);
    void judge_block(Level &level, int block, bool single);
    static void gather_rows(Level &level);
    /// Judges a child by its rows.
    void judge_child(Level &level, int block);
    template <typename Evaluate>
    void split(Level &level, int feature, int budget, const std::vector<double> &upper, Values &out, bool record,
               int child_depth, const Evaluate &evaluate);
    void accept(Level &level, int feature, int budget, const std::vector<double> &upper, Values &out, bool record);
    CodeMask mask_of(const Partition &partition, const std::vector<int> &present,
                     const std::vector<std::uint8_t> &codes, int feature, int block) const;
    CodeMask mask_of(const Level &level, int feature, int block) const {
        return mask_of(level.partition, level.present, level.codes, feature, block);
    }
    bool hand_over(Level &level, double cap, Screen &out);

    Shared &shared_;
    Control *control_;
    const GeneralProblem &problem_;
    const RuleJudge &judge_;
    int width_; ///< numbers per code: the statistics and a bound
    std::vector<std::unique_ptr<Level>> levels_;
    std::vector<RowList> buckets_;
    std::vector<double> histogram_;
};

} // namespace omtree::general
