// Leaves of trees of which many are listed: with the best label, or with each that they may have.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "trees/general_parts.hpp"
#include "trees/general_searcher.hpp"

namespace omtree::general {

/// Makes leaves of the rows that a path leads to.
template <class AnyPart> class LeafParts {
    static constexpr bool labelled = std::is_same_v<AnyPart, LabelledPart>;

  public:
    LeafParts(const NearbyTask &task, const Shared &shared, const Searcher &searcher)
        : task_(task), shared_(shared), searcher_(searcher) {}

    /// The loss of the rows as a leaf; infinite where they may not be one.
    double add(const ForcedNode *given, const double *sums, RowNumbers rows, double paid, double cap,
               std::vector<AnyPart> &to) const {
        if constexpr (labelled) {
            return add_labels(given, sums, rows, paid, cap, to);
        } else {
            Verdict verdict = searcher_.judge_given(given, sums, rows, searcher_.path.conditions(), paid);
            verdict.loss += task_.leaf_price;
            if (verdict.loss < infinity && verdict.loss <= cap + shared_.tolerance) {
                to.push_back({verdict.loss, hash_of(sums), verdict.label, -1, -1, 1, true});
            }
            return verdict.loss;
        }
    }

    ConditionSet hash_of(const double *sums) const {
        const int n = shared_.n_statistics;
        return leaf_hash(sums[n - 2], sums[n - 1]);
    }

    int n_demands() const { return static_cast<int>(task_.slack.size()); }

    bool may_meet_demands(const LabelledPart &part) const {
        for (int d = 0; d < n_demands(); ++d) {
            if (part.missed[d] > task_.slack[d]) {
                return false;
            }
        }
        return true;
    }

    /// Whether one of the leaves that begin the list is as good as some leaves, in the loss and for every demand.
    bool would_do(const std::vector<AnyPart> &list, const AnyPart &leaves) const {
        for (const AnyPart &leaf : list) {
            if (leaf.node < 0 || leaf.leaves > 1) {
                return false;
            }
            bool as_good = leaf.value <= leaves.value + shared_.tolerance;
            for (int d = 0; d < n_demands() && as_good; ++d) {
                as_good = leaf.missed[d] <= leaves.missed[d] + 1e-9 * std::max(1.0, task_.slack[d]);
            }
            if (as_good) {
                return true;
            }
        }
        return false;
    }

  private:
    /// The rows as a leaf of every label that they may have.
    double add_labels(const ForcedNode *given, const double *sums, RowNumbers rows, double paid, double cap,
                      std::vector<AnyPart> &to) const {
        std::vector<char> labels;
        if ((given != nullptr && given->feature >= 0) ||
            !shared_.judge.allow(sums, rows, searcher_.path.conditions(), labels)) {
            return infinity;
        }
        const int n_labels = shared_.judge.n_labels();
        labels.resize(n_labels, 1);
        double least = infinity;
        for (int label = 0; label < n_labels; ++label) {
            if (!labels[label] || (given != nullptr && !given->labels.empty() && !given->labels[label])) {
                continue;
            }
            AnyPart part;
            part.value = shared_.judge.loss_under(label, sums, rows) + paid * sums[0] + task_.leaf_price;
            part.node = label;
            part.leaves = 1;
            for (int d = 0; d < n_demands(); ++d) {
                for (int s = 0; s < task_.n_strata; ++s) {
                    part.missed[d] += sums[1 + s] * task_.missed[(d * task_.n_strata + s) * n_labels + label];
                }
            }
            least = std::min(least, part.value);
            if (part.value <= cap + shared_.tolerance && may_meet_demands(part)) {
                const ConditionSet here = task_.by_conditions ? searcher_.path.key() : hash_of(sums);
                part.rows_hash = hash_of(sums).a;
                part.leaves_hash = {ConditionSet::mix(here.a + label), ConditionSet::mix(here.b + label)};
                to.push_back(part);
            }
        }
        return least;
    }

    const NearbyTask &task_;
    const Shared &shared_;
    const Searcher &searcher_;
};

} // namespace omtree::general
