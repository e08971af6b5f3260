// Counts from joint tables, for rows that are elsewhere: in a file, on other machines.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "search_multiway.hpp"

namespace omtree {

/// Whoever has the rows.
class JointSource {
  public:
    virtual ~JointSource() = default;
    /// The joint counts of sets of `width` features each, in increasing order: [code]...[code][class], one set after
    /// the other. Throws `Stopped` when there is no time.
    virtual std::vector<double> tables(std::span<const std::int32_t> sets, int width) = 0;
};

/// The codes that a feature is restricted to.
struct CodeLimit {
    int feature = 0;
    std::vector<std::uint8_t> codes;
};

/// Joint tables as they came from a source: fetched in large batches, as each is a pass over all rows, and kept as long
/// as there is room.
template <typename Count> class JointStore {
  public:
    JointStore(const SearchProblem &problem, JointSource &source, std::size_t bytes);

    const SearchProblem &problem() const { return problem_; }
    /// Where the table of a set of one to three features in increasing order is among those of all such sets.
    std::size_t offset(std::span<const int> set) const;
    /// The size of the tables of all sets of so many features.
    std::size_t size(int n) const { return sizes_[n]; }
    /// The joint counts of every set of `n` features over the rows within the limits; false where there is no room for
    /// all of them.
    bool sum(const std::vector<CodeLimit> &limits, int n, std::vector<Count> &out);

  private:
    /// The tables of all sets of `width` features that have these among them.
    struct Batch {
        int width = 0;
        std::vector<int> inside;
        std::vector<std::int32_t> sets;
        std::vector<std::size_t> offset;
        std::vector<Count> counts;

        const Count *table(const std::vector<int> &set) const;
    };

    std::shared_ptr<const Batch> holding(const std::vector<int> &inside, int n);
    std::shared_ptr<const Batch> fetch(const std::vector<int> &inside, int width);
    double bytes_of(const std::vector<int> &inside, int width) const;
    void reduce(const Batch &batch, const std::vector<CodeLimit> &limits, std::span<const int> set, Count *out) const;

    const SearchProblem &problem_;
    JointSource &source_;
    double bytes_;
    int n_features_;
    int first_width_;               ///< features in the tables of the first batch
    std::vector<std::size_t> from_; ///< by feature: codes of this and all later ones
    std::vector<std::size_t> first_pair_;
    std::vector<std::size_t> first_triple_; ///< by pair
    std::size_t sizes_[4] = {};
    std::mutex mutex_;
    std::list<std::shared_ptr<const Batch>> batches_; ///< the last one used first
};

/// The joint counts of the rows that a node has reached, found when they are asked for.
template <typename Count> class NodeTables {
  public:
    NodeTables(JointStore<Count> &store, std::vector<CodeLimit> limits) : store_(store), limits_(std::move(limits)) {}

    const std::vector<CodeLimit> &limits() const { return limits_; }
    /// Of all sets of so many features; null where there is no room.
    const std::vector<Count> *of(int n);

  private:
    JointStore<Count> &store_;
    std::vector<CodeLimit> limits_;
    std::mutex mutex_;
    std::vector<Count> counts_[4];
    char known_[4] = {}; ///< 1: there, 2: too large
};

template <typename Count> class TableCounter final : public Counter<Count> {
  public:
    using typename Counter<Count>::Check;

    TableCounter(const Shared<Count> &shared, JointStore<Count> &store);

    /// All rows.
    Samples<Count> root() const;

    std::vector<Count> totals(const Samples<Count> &samples) override;
    void feature(const Samples<Count> &samples, int feature, Count *histogram) override;
    const Count *slab(const Samples<Count> &samples, int feature) override;
    bool cube(const Samples<Count> &samples, int feature, const std::vector<char> &used, const Check &check,
              std::vector<Count> &cube) override;
    void restrict(const Samples<Count> &samples, int feature, const std::vector<std::uint8_t> &codes, bool all_columns,
                  Samples<Count> &out) override;

  private:
    const Count *pair(const std::vector<Count> &pairs, int a, int b, std::size_t &stride_a,
                      std::size_t &stride_b) const;
    /// Puts the counts of one code of a feature where the search looks for them in a histogram over all features.
    void place(const Count *from, int feature, int code, Count *histogram) const {
        const auto [offset, code_stride, class_stride] = shared_.place[feature];
        Count *to = histogram + offset + code * code_stride;
        for (int c = 0; c < n_classes_; ++c) {
            to[c * class_stride] = from[c];
        }
    }

    const Shared<Count> &shared_;
    const SearchProblem &problem_;
    JointStore<Count> &store_;
    int n_features_;
    int n_classes_;
    std::vector<Count> slab_;
};

/// The same search over joint tables. The problem has no rows of its own but one that stands for all: its counts are
/// the weight by class. `whole` is whether all weights are whole numbers, and `bytes` the room for tables.
SearchResult search_tables(const SearchProblem &problem, JointSource &source, bool whole, std::size_t bytes,
                           Control &control);

extern template class JointStore<std::int32_t>;
extern template class JointStore<double>;
extern template class NodeTables<std::int32_t>;
extern template class NodeTables<double>;
extern template class TableCounter<std::int32_t>;
extern template class TableCounter<double>;

} // namespace omtree
