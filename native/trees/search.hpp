// Exact search for the best multiway tree: what it is asked and what it answers.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/control.hpp"
#include "loss/additive.hpp"

namespace omtree {

/// How the codes of a feature may be grouped into children.
enum class Family : std::uint8_t {
    interval, ///< runs of consecutive codes; a last code "missing" joins one of them or stands alone
    subset,   ///< any groups
    run,      ///< runs along `order`, or one code against all others
    value,    ///< one child per code that occurs
    single    ///< one code against all others
};

struct SearchFeature {
    int n_codes = 0;
    Family family = Family::interval;
    bool has_missing = false;
    std::vector<std::uint8_t> order; ///< codes in the order of their runs; empty means 0, 1, 2, ...
    const std::uint8_t *codes = nullptr;
};

enum class Counting : std::uint8_t { automatic, bits, histogram, tables };

/// Which trees are looked for, and how.
struct SearchOptions {
    int max_depth = 0;
    int max_leaves = 1;
    double min_support = 0.0;
    int max_children = 0; ///< 0: no limit
    int n_threads = 1;
    std::size_t cache_bytes = 0;
    bool use_bounds = true;
    bool use_cache = true;
    bool every_size = true; ///< false: only the best tree of any size
};

struct SearchProblem : SearchOptions {
    std::vector<SearchFeature> features; ///< in graph order
    std::size_t n_rows = 0;
    int n_classes = 0;              ///< kinds of sample: their true class, or finer; or sums that the loss is made of
    int n_weights = 0;              ///< the first so many of these add up to the weight
    std::span<const double> counts; ///< n_rows x n_classes
    bool whole_weights = false;     ///< whether every row weighs a whole number
    Loss loss = Loss::linear;
    std::span<const double> costs; ///< where linear: n_classes x n_labels, [true, predicted]; none below zero
    Counting counting = Counting::automatic;

    /// How many labels a leaf may choose from.
    int n_labels() const { return costs.empty() ? n_classes : static_cast<int>(costs.size()) / n_classes; }
    double total_weight() const {
        double total = 0.0;
        for (std::size_t i = 0; i < counts.size(); ++i) {
            total += static_cast<int>(i % n_classes) < n_weights ? counts[i] : 0.0;
        }
        return total;
    }
    /// Whether all counts are whole numbers that the kernels for those can hold.
    bool counts_whole() const { return whole_weights && !sums_together() && total_weight() < 2e9; }
    /// Whether a row has all sums at once, rather than the weight of one class or a few.
    bool sums_together() const { return n_weights < n_classes; }
    LossTerms terms() const { return {n_classes, n_weights, n_labels(), costs.data(), nullptr}; }
};

/// A node of a tree in preorder; `branches` are pairs (codes that occur, position of the child).
struct SearchNode {
    int label = 0;
    int feature = -1;
    bool complement = false; ///< the last branch is "every code but the first branch's"
    std::vector<std::pair<std::vector<std::uint8_t>, int>> branches;
};

using SearchTree = std::vector<SearchNode>;

struct SearchStatistics {
    std::uint64_t subproblems = 0;
    std::uint64_t cache_hits = 0;
    std::uint64_t cache_entries = 0;
};

struct SearchResult {
    std::vector<double> losses;    ///< at most 1, 2, ... leaves; infinite where no leaf has the support
    std::vector<SearchTree> trees; ///< empty where the loss is infinite
    double bound = 0.0;            ///< no tree within the limits has a lower loss
    bool finished = false;
    SearchStatistics statistics;
};

SearchResult search_trees(const SearchProblem &problem, Control &control);

} // namespace omtree
