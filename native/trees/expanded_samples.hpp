// From the merged rows of a problem to the samples that the search splits.
#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "trees/search_data.hpp"

namespace omtree {

/// One sample for each class that a row has weight of, or one for each row where it has all sums at once.
template <typename Count> Samples<Count> expand(const SearchProblem &problem, const LeafCost<Count> &cost) {
    const std::size_t n_rows = problem.n_rows;
    const int n_classes = problem.n_classes;
    Samples<Count> samples;
    std::vector<std::uint32_t> row_of;
    std::vector<Count> counts(n_classes);
    for (std::size_t row = 0; row < n_rows; ++row) {
        for (int c = 0; c < n_classes; ++c) {
            counts[c] = static_cast<Count>(problem.counts[row * n_classes + c]);
        }
        double floor = cost.loss(counts.data());
        if (problem.sums_together()) {
            row_of.push_back(static_cast<std::uint32_t>(row));
            samples.weight.insert(samples.weight.end(), counts.begin(), counts.end());
            if (floor > 0.0) {
                samples.floored.push_back(static_cast<std::uint32_t>(samples.floor.size()));
            }
            samples.floor.push_back(floor);
            continue;
        }
        for (int c = 0; c < n_classes; ++c) {
            if (counts[c] > 0) {
                row_of.push_back(static_cast<std::uint32_t>(row));
                samples.label.push_back(static_cast<std::uint16_t>(c));
                samples.weight.push_back(counts[c]);
                if (floor > 0.0) {
                    samples.floored.push_back(static_cast<std::uint32_t>(samples.floor.size()));
                }
                samples.floor.push_back(floor);
                floor = 0.0;
            }
        }
    }
    samples.id = new_samples_id();
    samples.size = row_of.size();
    samples.codes.resize(problem.features.size() * samples.size);
    std::uint8_t *to = samples.codes.data();
    for (const SearchFeature &feature : problem.features) {
        for (const std::uint32_t row : row_of) {
            *to++ = feature.codes[row];
        }
    }
    return samples;
}

/// The loss that no tree avoids.
template <typename Count> double floor_of(const Samples<Count> &samples) {
    return std::accumulate(samples.floor.begin(), samples.floor.end(), 0.0);
}

} // namespace omtree
