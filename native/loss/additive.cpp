#include "loss/additive.hpp"

#include <cstddef>
#include <stdexcept>
#include <string>

#include "loss/poisson.hpp"

namespace omtree {
namespace {

#include "loss/formulas.inc"

} // namespace

double leaf_loss(Loss loss, const double *sums, const LossTerms &terms) {
    switch (loss) {
#define OMTREE_LOSS_LEAF(name, Formula)                                                                                \
    case Loss::name:                                                                                                   \
        return Formula::leaf(sums, terms);
        OMTREE_LOSSES(OMTREE_LOSS_LEAF)
#undef OMTREE_LOSS_LEAF
    }
    return 0.0;
}

int leaf_label(Loss loss, const double *sums, const LossTerms &terms) {
    switch (loss) {
#define OMTREE_LOSS_LABEL(name, Formula)                                                                               \
    case Loss::name:                                                                                                   \
        return Formula::label(sums, terms);
        OMTREE_LOSSES(OMTREE_LOSS_LABEL)
#undef OMTREE_LOSS_LABEL
    }
    return 0;
}

Loss loss_named(std::string_view name) {
#define OMTREE_LOSS_NAMED(known, Formula)                                                                              \
    if (name == #known) {                                                                                              \
        return Loss::known;                                                                                            \
    }
    OMTREE_LOSSES(OMTREE_LOSS_NAMED)
#undef OMTREE_LOSS_NAMED
    throw std::invalid_argument("There is no loss named " + std::string(name) + ".");
}

} // namespace omtree
