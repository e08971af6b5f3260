// All values of several sums over a model that trees near the optimum attain.
#pragma once

#include <array>
#include <vector>

#include "trees/general_search.hpp"

namespace omtree {

/// Sums over the leaves of a tree: a unit of each stratum adds so much to a form when its leaf predicts a label.
/// Labels are free. The judge's loss must be linear, not negative, and the price-weighted sum of the forms up to a
/// constant per stratum.
struct FrontTask {
    static constexpr int most_numbers = 16; ///< forms and demands together
    enum class Sense : std::uint8_t { least, most, equal };

    GeneralProblem problem;
    int n_strata = 0;
    int n_labels = 0;
    int n_forms = 0;
    std::vector<double> costs;   ///< strata x labels: the judge's
    std::vector<double> forms;   ///< forms x strata x labels
    std::vector<Sense> sense;    ///< by form: which of two vectors is better
    double test_weight = 0.0;    ///< what a unit of test price adds to form 0
    std::vector<double> demands; ///< demands x forms: their weighted sum over the whole tree is at least ...
    std::vector<double> at_least;
    double budget = 0.0;                                     ///< how much worse than the best tree's loss a tree may be
    double least = std::numeric_limits<double>::quiet_NaN(); ///< a bound on that loss, to be used in its place
    std::size_t most_vectors = 100000;
};

struct FrontResult {
    std::vector<double> vectors; ///< n x n_forms, none better than another
    std::vector<double> losses;  ///< what the judge's loss is of each
    std::vector<int> leaves;
    std::vector<SearchTree> trees; ///< one that attains each
    double best = infinity;        ///< least loss of any tree
    bool finished = false;         ///< false: the time was up, and more vectors may exist
    bool overflow = false;         ///< true: some were dropped for their number
};

FrontResult attainable_vectors(const FrontTask &task, Control &control);

} // namespace omtree
