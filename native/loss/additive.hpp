// Losses that add up: what a leaf costs is a formula of sums over its rows. A new one is a file NAME.inc with its
// formula, an include in formulas.inc and a line here.
#pragma once

#include <cstdint>
#include <string_view>

namespace omtree {

#define OMTREE_LOSSES(LOSS)                                                                                            \
    LOSS(linear, Linear)                                                                                               \
    LOSS(gini, Gini)                                                                                                   \
    LOSS(entropy, Entropy)                                                                                             \
    LOSS(squared, Squared)                                                                                             \
    LOSS(squares, Squares)                                                                                             \
    LOSS(lines, Lines)                                                                                                 \
    LOSS(planes, Planes)                                                                                               \
    LOSS(poisson, Poisson)                                                                                             \
    LOSS(hazard, Hazard)                                                                                               \
    LOSS(logrank, LogRank)

enum class Loss : std::uint8_t {
#define OMTREE_LOSS_NAME(name, Formula) name,
    OMTREE_LOSSES(OMTREE_LOSS_NAME)
#undef OMTREE_LOSS_NAME
};

/// What a formula is told beside the sums.
struct LossTerms {
    int n_sums = 0;
    int n_weights = 0; ///< the first so many sums add up to the weight of a leaf
    int n_labels = 1;
    const double *costs = nullptr; ///< sums x labels, where the loss is linear
    const char *allowed = nullptr; ///< by label; null where every one is

    bool allows(int label) const { return allowed == nullptr || allowed[label]; }
};

/// Least loss of a leaf with these sums, whatever its weight.
double leaf_loss(Loss loss, const double *sums, const LossTerms &terms);
/// The label that has it, 0 where predictions are numbers; -1 where none is allowed.
int leaf_label(Loss loss, const double *sums, const LossTerms &terms);

/// Throws where there is none of this name.
Loss loss_named(std::string_view name);

} // namespace omtree
