// The search for binary trees whose losses are made of sums over the samples of a leaf: squared and Poisson loss, and
// costs of labels that differ from row to row.
#pragma once

#include <array>
#include <cstdint>
#include <new>
#include <span>
#include <vector>

#include "trees/cache.hpp"
#include "trees/chains.hpp"
#include "trees/search.hpp"
#include "trees/sum_kernels.hpp"

namespace omtree {

/// Memory in whole cache lines.
template <typename T> struct Aligned {
    using value_type = T;
    Aligned() = default;
    template <typename U> explicit Aligned(const Aligned<U> &) {}
    T *allocate(std::size_t n) { return static_cast<T *>(::operator new(n * sizeof(T), std::align_val_t{64})); }
    void deallocate(T *memory, std::size_t) { ::operator delete(memory, std::align_val_t{64}); }
    bool operator==(const Aligned &) const { return true; }
};

using SumTable = std::vector<double, Aligned<double>>;
using SampleRows = std::vector<std::uint32_t>;

/// How a node is split for one number of leaves; column -1 is a leaf.
struct SumChoice {
    int column = -1;
    int leaves = 0; ///< of the side inside
};

/// Least losses by number of leaves, from 1; where sizes do not matter there is one entry, for any number.
struct SumValues {
    std::vector<double> loss;
    std::vector<SumChoice> choice;

    int sizes() const { return static_cast<int>(loss.size()) - 1; }
    /// A node of one leaf.
    void start(int sizes, double leaf);
    /// More leaves than before, with the same trees.
    void widen(int sizes);
    /// Splits at the column into sides that cost so much with 1, 2, ... leaves.
    void offer(int column, std::span<const double> in, std::span<const double> out, bool any_size);
};

/// The least losses of depth two by number of leaves.
struct DepthTwo {
    std::array<double, 4> loss;
};

inline std::size_t bytes_of(const DepthTwo &known) {
    return 64 + sizeof known;
}

/// What all threads share: the samples, how they are coded, and what is known about subproblems.
class SumSearch {
  public:
    /// `statistics` are rows x (n_sums + 1): the weight, the sums that decide the loss (of targets, or what the labels
    /// cost), and the sum that is the same for every tree.
    SumSearch(const SearchProblem &problem, std::span<const double> statistics, int n_sums, SumLoss loss,
              Control &control);

    /// Whether the problem is one for this search.
    static constexpr std::size_t most_columns = 400;
    static bool suits(const SearchProblem &problem, std::span<const double> statistics, int n_sums);

    SearchResult run();

  private:
    friend class SumWorker;
    friend class SumLevels;

    int n_sizes(int depth) const {
        return any_size_ ? 1 : depth >= 30 ? problem_.max_leaves : std::min(problem_.max_leaves, 1 << depth);
    }
    /// What a leaf of these sums costs, but for the part that is the same for every tree.
    double leaf(const double *sums) const;
    const double *sample(std::size_t row) const { return samples_.data() + row * stride_; }
    std::vector<double> total(const SampleRows &rows) const;
    /// What no tree avoids, relative to the part that is the same for every tree.
    double floor(const SampleRows &rows) const;
    /// The whole loss of these samples as a leaf.
    double whole_leaf(const SampleRows &rows) const;
    SampleRows side(const SampleRows &rows, int column, bool inside) const;
    bool solve_root(int depth, SumValues &best);
    void keep(const SumValues &best, int depth);
    void build_all(const SumValues &best, int depth, SearchResult &result);
    int build(class SumWorker &worker, const SampleRows &rows, const ConditionSet &path, int depth, int leaves,
              const SumValues *known, SearchTree &tree, double &total);

    const SearchProblem &problem_;
    SumLoss loss_;
    Control &control_;
    SearchTree kept_; ///< of the depths that are done
    double kept_loss_ = infinity;
    bool any_size_; ///< whether the limit on leaves cannot bind, and no other size than the last is wanted
    double support_ = 0.0;
    double tolerance_ = 0.0;
    int n_sums_;
    std::size_t stride_;          ///< of the samples: their sums, filled up to whole vectors
    std::vector<double> weights_; ///< by row
    SumTable samples_;            ///< targets from their mean, so that sums stay small
    std::vector<double> rest_;    ///< by row, what a leaf's value leaves out
    SampleRows everything_;
    Chains chains_;
    PairLayout layout_;
    SumTable whole_; ///< of all samples
    SearchStatistics statistics_;
    SearchCache cache_;
    mutable BoundedCache<DepthTwo> quarters_; ///< of trees deeper than four, by their conditions above depth two
};

} // namespace omtree
