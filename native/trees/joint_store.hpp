// Joint tables from elsewhere: fetched in batches, kept, and summed for the rows of a node.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "trees/search_data.hpp"

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
    std::shared_ptr<const Batch> known(const std::vector<int> &inside, int width);
    void close(const Batch &singles);
    std::shared_ptr<const Batch> fetch(const std::vector<int> &inside, int width);
    double bytes_of(const std::vector<int> &inside, int width) const;
    void reduce(const Batch &batch, const std::vector<CodeLimit> &limits, std::span<const int> set, Count *out) const;

    const SearchProblem &problem_;
    JointSource &source_;
    double bytes_;
    int n_features_;
    std::vector<char> closed_; ///< features that no split of any rows can have the support for
    int n_open_;
    bool looked_ = false;           ///< whether it is known which these are
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

extern template class JointStore<std::int32_t>;
extern template class JointStore<double>;
extern template class NodeTables<std::int32_t>;
extern template class NodeTables<double>;

} // namespace omtree
