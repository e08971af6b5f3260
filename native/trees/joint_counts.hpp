// Joint counts of sets of features over a block of rows: what every source of counts is made of.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace omtree {

/// Rows of one class each, feature by feature.
struct RowBlock {
    std::span<const std::uint8_t> codes; ///< n_features x n_rows
    std::span<const std::uint16_t> labels;
    std::span<const double> weights; ///< empty: every row weighs one
};

/// All sets of `width` of so many features, in order, one after the other.
std::vector<std::int32_t> all_sets(int n_features, int width);

/// How many these are, and how many combinations of codes they have together; as numbers they may be huge.
struct JointExtent {
    double sets = 0.0;
    double cells = 0.0;
};
JointExtent extent_of_all_sets(const std::vector<int> &n_codes, int width);

/// How many counts the tables of these sets have: [code]...[code][class] each, one after the other.
std::size_t joint_size(std::span<const std::int32_t> sets, int width, const std::vector<int> &n_codes, int n_classes);

/// Adds the joint counts of sets of `width` features over the rows begin .. end - 1 to their tables. Sets
/// that begin alike are best given one after the other. Throws where a code or a label is beyond its range.
void count_joint(const RowBlock &block, std::size_t begin, std::size_t end, std::span<const std::int32_t> sets,
                 int width, const std::vector<int> &n_codes, int n_classes, double *tables);

} // namespace omtree
