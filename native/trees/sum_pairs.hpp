// Joint sums of all pairs of features, where every row has several numbers to add.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "trees/multiway.hpp"

namespace omtree {

/// The numbers of a row are added side by side, and each pair of codes once; only then they are moved to where the
/// search looks for them.
class SumPairs {
  public:
    /// The samples that are counted from now on, over all features that are not used, and the one being split: it may
    /// be split further down when another one is.
    void count(const Shared<double> &shared, const Samples<double> &samples, const std::vector<char> &used,
               int splitting);
    /// Puts the joint sums of some of the samples into a table that is zero: one histogram per code of every feature.
    /// `check` may end it by throwing.
    void add(std::span<const std::uint32_t> rows, const std::function<void()> &check, double *table);
    /// Puts the joint sums of one feature with every feature, of all samples, into a slab that is zero: one histogram
    /// per code of the feature.
    void of_feature(const Shared<double> &shared, const Samples<double> &samples, int feature, double *slab);

  private:
    struct Active {
        int feature;
        int first; ///< of its codes among those of all active features
        int n_codes;
    };
    void move(double *table);

    const Shared<double> *shared_ = nullptr;
    std::uint64_t id_ = 0;
    int n_sums_ = 0;
    std::size_t stride_ = 0; ///< numbers a cell: the sums, filled up to whole vectors
    std::size_t n_codes_ = 0;
    std::vector<Active> active_;
    std::vector<std::uint32_t> places_; ///< by sample and active feature: its code among those of all
    std::vector<double> sums_;          ///< by sample
    std::vector<double> cells_;         ///< by two codes; zero between calls
    bool unfinished_ = false;           ///< or not, where the last call was ended
    std::vector<double> block_;         ///< sums of some samples, for one feature with every other
    std::vector<double> slab_;          ///< cells by the codes of that feature and every other
};

} // namespace omtree
