#include "trees/chains.hpp"

#include <algorithm>
#include <numeric>
#include <set>

namespace omtree {
namespace {

using Bits = std::vector<std::uint64_t>;

struct Candidate {
    SplitColumn column;
    Bits inside;
    double weight = 0.0;
};

bool contains(const Bits &outer, const Bits &inner) {
    for (std::size_t w = 0; w < inner.size(); ++w) {
        if (inner[w] & ~outer[w]) {
            return false;
        }
    }
    return true;
}

/// The columns that can be split, without those that tell no more than one before.
std::vector<Candidate> candidates(const SearchProblem &problem, std::span<const double> weights, double support,
                                  const std::function<void()> &check) {
    const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
    const std::size_t n_words = (problem.n_rows + 63) / 64;
    std::vector<SplitColumn> columns;
    split_columns(problem, columns);
    std::vector<Candidate> found;
    std::set<Bits> known;
    int weighed = -1;
    double weight_of_code[4][256]; // four sums that do not wait for each other
    for (SplitColumn &column : columns) {
        check();
        const std::uint8_t *codes = problem.features[column.feature].codes;
        if (column.feature != weighed) {
            weighed = column.feature;
            std::fill_n(weight_of_code[0], 4 * 256, 0.0);
            for (std::size_t i = 0; i < problem.n_rows; ++i) {
                weight_of_code[i % 4][codes[i]] += weights[i];
            }
        }
        Candidate candidate{std::move(column), Bits(n_words, 0)};
        std::uint64_t member[256] = {};
        for (const std::uint8_t code : candidate.column.inside) {
            member[code] = 1;
            for (const double *part : weight_of_code) {
                candidate.weight += part[code];
            }
        }
        if (candidate.weight < support || total - candidate.weight < support) {
            continue;
        }
        for (std::size_t w = 0; w < n_words; ++w) {
            const std::uint8_t *own = codes + 64 * w;
            const std::size_t n = std::min<std::size_t>(64, problem.n_rows - 64 * w);
            std::uint64_t word = 0;
            for (std::size_t i = 0; i < n; ++i) {
                word |= member[own[i]] << i;
            }
            candidate.inside[w] = word;
        }
        Bits either = candidate.inside;
        if (either[0] & 1) {
            for (std::size_t w = 0; w < n_words; ++w) {
                either[w] = ~either[w];
            }
            if (problem.n_rows % 64 != 0) {
                either.back() &= (std::uint64_t{1} << (problem.n_rows % 64)) - 1;
            }
        }
        if (known.insert(std::move(either)).second) {
            found.push_back(std::move(candidate));
        }
    }
    return found;
}

} // namespace

Chains find_chains(const SearchProblem &problem, std::span<const double> weights, double support,
                   const std::function<void()> &check) {
    std::vector<Candidate> found = candidates(problem, weights, support, check);
    std::stable_sort(found.begin(), found.end(),
                     [](const Candidate &a, const Candidate &b) { return a.weight > b.weight; });
    // Each column, from the largest on, goes below the smallest that holds it.
    std::vector<std::vector<int>> chains;
    for (int i = 0; i < static_cast<int>(found.size()); ++i) {
        check();
        int best = -1;
        for (int c = 0; c < static_cast<int>(chains.size()); ++c) {
            const int last = chains[c].back();
            if (static_cast<int>(chains[c].size()) < Chains::most_columns &&
                (best < 0 || found[last].weight < found[chains[best].back()].weight) &&
                contains(found[last].inside, found[i].inside)) {
                best = c;
            }
        }
        if (best < 0) {
            chains.push_back({i});
        } else {
            chains[best].push_back(i);
        }
    }
    Chains result;
    result.codes.assign(problem.n_rows * chains.size(), 0);
    // The codes of a chain side by side first: those of a row are far from those of the next.
    std::vector<std::uint8_t> codes;
    for (std::size_t c = 0; c < chains.size(); ++c) {
        check();
        result.first.push_back(result.n_columns());
        codes.assign(problem.n_rows, 0);
        for (const int i : chains[c]) {
            for (std::size_t row = 0; row < problem.n_rows; ++row) {
                codes[row] += found[i].inside[row / 64] >> (row % 64) & 1;
            }
            result.chain_of.push_back(static_cast<int>(c));
            result.columns.push_back(std::move(found[i].column));
        }
        for (std::size_t row = 0; row < problem.n_rows; ++row) {
            result.codes[row * chains.size() + c] = codes[row];
        }
    }
    result.first.push_back(result.n_columns());
    return result;
}

} // namespace omtree
