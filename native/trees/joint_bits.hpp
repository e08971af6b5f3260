// Joint counts of sets of features by bitsets: many rows at a time, where features have few codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trees/code_columns.hpp"
#include "trees/joint_counts.hpp"

namespace omtree {

class JointBits {
  public:
    /// Sets of at least two features, those that begin alike one after the other.
    JointBits(std::span<const std::int32_t> sets, int width, const std::vector<int> &n_codes, int n_classes);

    /// Whether rows of these weights can be counted so: small whole numbers, or no weights.
    static bool suits(std::span<const double> weights);
    /// Whether this is faster than one row after the other.
    bool pays() const { return nanoseconds_ < static_cast<double>(offset_.size()); }
    /// About how long a row takes.
    double nanoseconds() const { return nanoseconds_; }
    /// Adds the counts of the rows begin .. end - 1 of a block to the tables; they must not be too many for whole
    /// numbers of four bytes.
    void count(const RowBlock &block, std::size_t begin, std::size_t end, double *tables);

  private:
    double nanoseconds_below(std::size_t first, std::size_t last, int level) const;
    std::size_t same_feature(std::size_t first, std::size_t last, int level) const;
    std::vector<int> features_from(std::size_t first, std::size_t last, int level) const;
    void fill(const RowBlock &block, std::size_t begin, std::size_t end);
    void descend(const BitNode &node, std::size_t first, std::size_t last, int level, std::size_t place,
                 double *tables);
    void count_pairs(const BitNode &node, std::size_t first, std::size_t last, std::size_t place, double *tables);
    int feature(std::size_t set, int level) const { return sets_[set * width_ + level]; }

    std::span<const std::int32_t> sets_;
    int width_;
    const std::vector<int> &n_codes_;
    int n_classes_;
    double nanoseconds_ = 0.0;
    std::vector<std::size_t> offset_; ///< of each set's table
    std::vector<int> first_code_;     ///< of each feature among all codes
    std::vector<int> owner_;          ///< by code: the feature
    BitNode root_;
    std::vector<BitNode> levels_;
    std::vector<int> column_;         ///< by code: its place among the columns of the node whose pairs are counted
    std::vector<std::uint32_t> rows_; ///< one after the other, as often as their weight has powers of two
    std::vector<std::uint32_t> position_;
    std::vector<std::int32_t> pairs_;
};

} // namespace omtree
