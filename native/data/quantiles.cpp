#include "data/quantiles.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "core/clones.hpp"
#include "data/threshold_finder.hpp"

namespace omtree {

namespace {

/// Splitters taken from a sample cut the column into buckets; a bucket number must fit into a byte beside `kSkipped`.
constexpr std::size_t kMaxSplitters = 254;
constexpr std::size_t kSample = 8 * kMaxSplitters;
constexpr std::uint8_t kSkipped = 255;

struct Weighted {
    double value;
    double weight;
};

/// At most `kMaxSplitters` increasing values that cut the column into parts of roughly equal size.
std::vector<double> splitters(Numbers values) {
    std::vector<double> sample;
    const std::size_t size = std::min(values.size, kSample);
    for (std::size_t i = 0; i < size; ++i) {
        const double value = values[i * values.size / size];
        if (!std::isnan(value)) {
            sample.push_back(value);
        }
    }
    std::sort(sample.begin(), sample.end());
    std::vector<double> chosen;
    const std::size_t count = std::min(sample.size(), kMaxSplitters);
    for (std::size_t i = 0; i < count; ++i) {
        const double value = sample[i * sample.size() / count];
        if (chosen.empty() || chosen.back() < value) {
            chosen.push_back(value);
        }
    }
    return chosen;
}

/// Cells that are looked at together.
constexpr std::size_t kPart = 128;

/// Whether any of these cells is neither NaN nor one of two values.
OMTREE_CLONES bool has_others(const double *from, std::size_t size, double first, double second) {
    std::int64_t others = 0;
    for (std::size_t j = 0; j < size; ++j) {
        others += (from[j] != first) & (from[j] != second) & (from[j] == from[j]);
    }
    return others > 0;
}

/// The first part from `begin` on that has a value which is neither NaN nor one of two; the end where none has.
std::size_t skip_two(Numbers values, std::size_t begin, double first, double second) {
    std::array<double, kPart> block;
    while (begin < values.size) {
        const std::size_t size = std::min(kPart, values.size - begin);
        const double *from = values.data + begin;
        if (values.stride != 1) {
            for (std::size_t j = 0; j < size; ++j) {
                block[j] = values[begin + j];
            }
            from = block.data();
        }
        if (has_others(from, size, first, second)) {
            break;
        }
        begin += size;
    }
    return begin;
}

} // namespace

std::vector<double> few_distinct(Numbers values, std::span<const double> weights, std::size_t limit) {
    std::vector<double> distinct;
    double last = NAN;
    std::size_t looked = 0;
    for (std::size_t i = 0; i < values.size; ++i) {
        // Columns of two values are frequent, and none of their cells is news.
        if (distinct.size() == 2 && i >= looked) {
            i = skip_two(values, i, distinct[0], distinct[1]);
            if (i == values.size) {
                break;
            }
            looked = i + kPart;
        }
        const double value = values[i];
        if (value == last || std::isnan(value) || (!weights.empty() && weights[i] == 0.0)) {
            continue;
        }
        last = value;
        const auto place = std::lower_bound(distinct.begin(), distinct.end(), value);
        if (place != distinct.end() && *place == value) {
            continue;
        }
        distinct.insert(place, value);
        if (distinct.size() > limit) {
            break;
        }
    }
    return distinct;
}

std::vector<std::pair<double, double>> quantile_cuts(Numbers values, std::span<const double> weights,
                                                     std::size_t n_bins) {
    // Cells that lie apart are fetched once.
    std::vector<double> together;
    if (values.stride != 1) {
        together.resize(values.size);
        for (std::size_t i = 0; i < values.size; ++i) {
            together[i] = values[i];
        }
        values = {together.data(), 1, together.size()};
    }
    const ThresholdFinder bucket_of(splitters(values));
    std::vector<std::uint8_t> bucket(values.size);
    std::array<double, 256> mass{};
    std::array<double, ThresholdFinder::kAtOnce> some{};
    std::array<std::uint32_t, ThresholdFinder::kAtOnce> at;
    for (std::size_t begin = 0; begin < values.size; begin += some.size()) {
        const std::size_t size = std::min(some.size(), values.size - begin);
        for (std::size_t j = 0; j < size; ++j) {
            some[j] = values[begin + j];
        }
        bucket_of(some.data(), at.data());
        for (std::size_t j = 0; j < size; ++j) {
            const double weight = weights.empty() ? 1.0 : weights[begin + j];
            const bool skip = std::isnan(some[j]) || weight == 0.0;
            const auto b = skip ? kSkipped : static_cast<std::uint8_t>(at[j]);
            bucket[begin + j] = b;
            mass[b] += weight;
        }
    }
    mass[kSkipped] = 0.0;
    double total = 0.0;
    for (const double part : mass) {
        total += part;
    }

    // Only the buckets where a cut falls need sorting, and of their neighbours one value.
    // Products instead of quotients keep whole-number weights exact.
    const auto bins = static_cast<double>(n_bins);
    enum Want : std::uint8_t { nothing, ends, all };
    std::array<Want, 256> wanted{};
    double below = 0.0;
    double q = 1.0;
    bool hit = false;
    std::size_t previous = kSkipped;
    for (std::size_t b = 0; b < kSkipped; ++b) {
        if (mass[b] == 0.0) {
            continue;
        }
        wanted[b] = hit ? ends : nothing; // the neighbour above
        below += mass[b];
        hit = q < bins && below * bins >= q * total;
        if (hit) {
            wanted[b] = all;
            if (previous != kSkipped) { // the neighbour below
                wanted[previous] = std::max(wanted[previous], ends);
            }
        }
        while (q < bins && below * bins >= q * total) {
            q += 1.0;
        }
        previous = b;
    }
    std::array<std::vector<Weighted>, 256> content;
    for (std::size_t i = 0; i < values.size; ++i) {
        const std::uint8_t b = bucket[i];
        if (wanted[b] == nothing) {
            continue;
        }
        const double value = values[i];
        if (wanted[b] == all) {
            content[b].push_back({value, weights.empty() ? 1.0 : weights[i]});
        } else if (content[b].empty()) {
            content[b] = {{value, 0.0}, {value, 0.0}};
        } else {
            content[b][0].value = std::min(content[b][0].value, value);
            content[b][1].value = std::max(content[b][1].value, value);
        }
    }

    std::vector<std::pair<double, double>> cuts;
    const auto add = [&cuts](double low, double high) {
        if (!std::isnan(low) && (cuts.empty() || cuts.back().first < low)) {
            cuts.emplace_back(low, high);
        }
    };
    below = 0.0;
    q = 1.0;
    double under = NAN; // the distinct value before `value`
    double value = NAN;
    bool open = false; // the cut above `value` waits for the next one
    for (std::size_t b = 0; b < kSkipped; ++b) {
        std::vector<Weighted> &rows = content[b];
        std::sort(rows.begin(), rows.end(), [](const Weighted &x, const Weighted &y) { return x.value < y.value; });
        double within = below;
        for (std::size_t i = 0; i < rows.size();) {
            under = value;
            value = rows[i].value;
            if (open) {
                add(under, value);
            }
            for (; i < rows.size() && rows[i].value == value; ++i) {
                within += rows[i].weight;
            }
            // The bucket's own sum decides at its end, lest a rounded running sum lose a cut.
            const double reached = i == rows.size() ? below + mass[b] : within;
            int targets = 0;
            for (; q < bins && reached * bins >= q * total; q += 1.0) {
                ++targets;
            }
            open = targets > 0;
            if (targets > 1) {
                add(under, value);
            }
        }
        below += mass[b];
    }
    if (open) { // there is nothing above
        add(under, value);
    }
    return cuts;
}

} // namespace omtree
