// What is known about a node before anything below it is searched.
#include <algorithm>
#include <bit>

#include "trees/any_depth.hpp"

namespace omtree {

void AnyDepthSearch::find_seconds(const BitNode &bits, Level &level) const {
    const PairView pairs = bits.pair_view();
    level.real_in.resize(pairs.stride);
    level.real_out.resize(pairs.stride);
    if (!cost_.unit()) {
        const SecondCosts costs{problem_.costs.data(), problem_.n_labels(), nullptr, 0, nullptr, nullptr};
        kernels().best_second_costs(pairs, costs, support_, level.real_in.data(), level.real_out.data());
        return;
    }
    level.second_in.resize(pairs.stride);
    level.second_out.resize(pairs.stride);
    kernels().best_second(pairs, support_, level.second_in.data(), level.second_out.data());
    for (int i = 0; i < pairs.n_columns; ++i) {
        level.real_in[i] = level.second_in[i] >= no_leaf ? infinity : level.second_in[i];
        level.real_out[i] = level.second_out[i] >= no_leaf ? infinity : level.second_out[i];
    }
}

double AnyDepthSearch::find_floors(const BitNode &bits, Level &level) const {
    const int n = bits.n_columns();
    double floor = 0.0;
    level.floor_in.assign(n, 0.0);
    for (const Segment &segment : bits.segments) {
        for (int w = segment.begin; w < segment.end && !bits.unavoidable.empty(); ++w) {
            const std::uint64_t samples = bits.unavoidable[w];
            floor += segment.weight * std::popcount(samples);
            for (int i = 0; samples != 0 && i < n; ++i) {
                level.floor_in[i] += segment.weight * std::popcount(samples & bits.row(i)[w]);
            }
        }
    }
    return floor;
}

void AnyDepthSearch::find_weights(const BitNode &bits, Level &level) const {
    const int n = bits.n_columns();
    level.weight.assign(static_cast<std::size_t>(n) * n, 0);
    for (std::size_t c = 0; c < bits.total.size(); ++c) {
        for (int i = 0; i < n; ++i) {
            const std::int32_t *row = &bits.pairs[(c * n + i) * bits.stride];
            for (int j = i; j < n; ++j) {
                level.weight[static_cast<std::size_t>(i) * n + j] += row[j];
            }
        }
    }
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < i; ++j) {
            level.weight[static_cast<std::size_t>(i) * n + j] = level.weight[static_cast<std::size_t>(j) * n + i];
        }
    }
}

AnyDepthSearch::Known AnyDepthSearch::open(Node &node, Level &level) {
    BitNode &bits = node.bits;
    const int n = bits.n_columns();
    check(); // clearing the counts of thousands of columns takes time as well
    bits.pairs.assign(bits.total.size() * bits.columns.size() * bits.stride, 0);
    count_in_steps(bits.view(), nullptr, bits.pairs.data(), [this] { check(); });
    bits.find_singles();
    find_seconds(bits, level);
    find_weights(bits, level);
    const double floor = find_floors(bits, level);
    Known known{cost_.leaf(bits.total.data()) + price_, floor, -1};
    level.sides.assign(2 * n, {});
    level.order.clear();
    std::int32_t counts[2][256];
    for (int i = 0; i < n; ++i) {
        for (std::size_t c = 0; c < bits.total.size(); ++c) {
            counts[1][c] = bits.single[c * bits.stride + i];
            counts[0][c] = bits.total[c] - counts[1][c];
        }
        for (const int inside : {0, 1}) {
            Side &side = level.sides[2 * i + inside];
            const double leaf = cost_.leaf(counts[inside]) + price_;
            const double second = (inside ? level.real_in[i] : level.real_out[i]) + 2 * price_;
            // A leaf, two leaves, for which the best is known, or three and more.
            const double more = (inside ? level.floor_in[i] : floor - level.floor_in[i]) + 3 * price_;
            const bool divisible = cost_.weight(counts[inside]) >= 3 * support_;
            side.upper = leaf == infinity ? infinity : std::min(leaf, second);
            side.lower = divisible ? std::min(side.upper, more) : side.upper;
        }
        const double value = level.sides[2 * i].upper + level.sides[2 * i + 1].upper;
        if (value == infinity) {
            continue;
        }
        if (value < known.upper - cost_.tolerance()) {
            known.upper = value;
            known.column = bits.columns[i];
        }
        if (!level.sides[2 * i].exact() || !level.sides[2 * i + 1].exact()) {
            level.order.push_back(i);
        }
    }
    const auto promise = [&](int i) { return level.sides[2 * i].upper + level.sides[2 * i + 1].upper; };
    std::stable_sort(level.order.begin(), level.order.end(), [&](int a, int b) { return promise(a) < promise(b); });
    return known;
}

void AnyDepthSearch::compare_sides(const BitNode &bits, Level &level, int column) const {
    const int n = bits.n_columns();
    const double all = cost_.weight(bits.total.data());
    const std::int32_t *weight = &level.weight[static_cast<std::size_t>(column) * n];
    const double own = weight[column];
    // Our best tree, used on the other samples, costs at most those that only the others have. A leaf that falls short
    // of the support there is given up for its neighbour: it has lost at least one of the samples that only we have,
    // and what it still had, less than the support, may become wrong; but its price is saved.
    const double lost = std::max(0.0, largest_cost_ * (support_ - 1) - price_);
    double in = 0.0;
    double out = 0.0;
    for (const int other : level.order) {
        const double both = weight[other];
        const double theirs = level.weight[static_cast<std::size_t>(other) * n + other];
        const double neither = all - theirs - own + both;
        const double a = level.sides[2 * other + 1].lower;
        const double b = level.sides[2 * other].lower;
        in = std::max(
            {in, a - largest_cost_ * (theirs - both) - lost * (own - both), b - largest_cost_ * neither - lost * both});
        out = std::max({out, a - largest_cost_ * both - lost * neither,
                        b - largest_cost_ * (own - both) - lost * (theirs - both)});
    }
    Side *sides = &level.sides[2 * column];
    sides[1].lower = std::max(sides[1].lower, std::min(in, sides[1].upper));
    sides[0].lower = std::max(sides[0].lower, std::min(out, sides[0].upper));
}

/// Sets of samples are told apart by the sums of two random numbers of each.
ConditionSet AnyDepthSearch::key_of(const Node &node, const std::uint64_t *inside) const {
    ConditionSet key;
    for (int w = 0; w < node.bits.n_words; ++w) {
        for (std::uint64_t bits = inside[w] & node.bits.valid[w]; bits != 0; bits &= bits - 1) {
            const std::uint64_t sample = node.samples[64 * w + std::countr_zero(bits)];
            key.a += ConditionSet::mix(sample + 0x9e3779b97f4a7c15ull);
            key.b += ConditionSet::mix(sample + 0xd6e8feb86659fd93ull);
        }
    }
    return key;
}

void AnyDepthSearch::make_side(const Node &node, Level &level, int column, bool inside, bool every_column,
                               Node &child) const {
    const BitNode &bits = node.bits;
    level.mask.resize(bits.n_words);
    for (int w = 0; w < bits.n_words; ++w) {
        level.mask[w] = bits.valid[w] & (inside ? bits.row(column)[w] : ~bits.row(column)[w]);
    }
    const auto weigh = [&](const std::uint64_t *row) {
        std::int64_t weight = 0;
        for (const Segment &segment : bits.segments) {
            for (int w = segment.begin; w < segment.end; ++w) {
                weight += std::int64_t{segment.weight} * std::popcount(level.mask[w] & row[w]);
            }
        }
        return weight;
    };
    child.bits.total.assign(bits.total.size(), 0);
    for (const Segment &segment : bits.segments) {
        for (int w = segment.begin; w < segment.end; ++w) {
            child.bits.total[segment.label] += segment.weight * std::popcount(level.mask[w]);
        }
    }
    const std::int64_t all = weigh(bits.valid.data());
    const auto lowest =
        std::find_if(level.mask.begin(), level.mask.end(), [](std::uint64_t word) { return word != 0; });
    const auto first = lowest - level.mask.begin();
    level.places.clear();
    level.patterns.clear();
    for (int i = 0; i < bits.n_columns(); ++i) {
        const std::uint64_t *row = bits.row(i);
        const std::int64_t in = weigh(row);
        if (in < support_ || all - in < support_) {
            continue;
        }
        if (!every_column) {
            // Columns that hold the same samples, or the same ones not.
            const std::uint64_t turned = (row[first] & *lowest & -*lowest) != 0 ? ~std::uint64_t{0} : 0;
            std::uint64_t pattern = 0;
            for (int w = static_cast<int>(first); w < bits.n_words; ++w) {
                pattern = ConditionSet::mix(pattern + ((row[w] ^ turned) & level.mask[w])) + 1;
            }
            if (std::find(level.patterns.begin(), level.patterns.end(), pattern) != level.patterns.end()) {
                continue;
            }
            level.patterns.push_back(pattern);
        }
        level.places.push_back(i);
    }
    compress_node(bits, level.mask.data(), level.places, child.bits);
    child.samples.resize(64 * child.bits.n_words);
    auto segment = child.bits.segments.begin();
    for (const Segment &from : bits.segments) {
        std::size_t at = segment == child.bits.segments.end() ? 0 : 64 * segment->begin;
        const std::size_t begin = at;
        for (int w = from.begin; w < from.end; ++w) {
            for (std::uint64_t left = level.mask[w]; left != 0; left &= left - 1) {
                child.samples[at++] = node.samples[64 * w + std::countr_zero(left)];
            }
        }
        segment += at > begin;
    }
}

} // namespace omtree
