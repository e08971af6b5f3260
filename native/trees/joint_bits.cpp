#include "trees/joint_bits.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <string_view>

namespace omtree {

/// Of a row that is counted by bitsets.
constexpr std::uint32_t largest_weight = (1 << 13) - 1;

JointBits::JointBits(std::span<const std::int32_t> sets, int width, const std::vector<int> &n_codes, int n_classes)
    : sets_(sets), width_(width), n_codes_(n_codes), n_classes_(n_classes), levels_(std::max(0, width - 2)) {
    std::size_t size = 0;
    const std::size_t n_sets = sets.size() / width;
    for (std::size_t s = 0; s < n_sets; ++s) {
        offset_.push_back(size);
        std::size_t cells = n_classes;
        for (int d = 0; d < width; ++d) {
            cells *= n_codes[feature(s, d)];
        }
        size += cells;
    }
    first_code_.push_back(0);
    for (std::size_t f = 0; f < n_codes.size(); ++f) {
        first_code_.push_back(first_code_.back() + n_codes[f]);
        owner_.resize(first_code_.back(), static_cast<int>(f));
    }
    column_.assign(first_code_.back(), 0);
    // Filling the bitsets, then what is done with them; row by row it is about one for each set.
    nanoseconds_ = 1.5 * static_cast<double>(n_codes.size()) + nanoseconds_below(0, n_sets, 0);
}

/// About how long a row takes below a node.
double JointBits::nanoseconds_below(std::size_t first, std::size_t last, int level) const {
    const double wide = std::string_view(kernels().name) == "avx512" ? 1.0 : 4.0;
    if (level == width_ - 2) {
        double columns = 0.0;
        for (const int f : features_from(first, last, level)) {
            columns += n_codes_[f];
        }
        return wide * columns * columns / 64.0 / 16.0;
    }
    double total = 0.0;
    for (std::size_t next = first; next < last;) {
        const std::size_t end = same_feature(next, last, level);
        double columns = 0.0;
        for (const int f : features_from(next, end, level + 1)) {
            columns += n_codes_[f];
        }
        // All columns are compressed once for every code; the rows of the codes together are all rows.
        total += n_codes_[feature(next, level)] * columns / 64.0 * 1.5 + nanoseconds_below(next, end, level + 1);
        next = end;
    }
    return total;
}

/// The end of the sets that have the same feature at this level as the first.
std::size_t JointBits::same_feature(std::size_t first, std::size_t last, int level) const {
    std::size_t end = first + 1;
    while (end < last && feature(end, level) == feature(first, level)) {
        ++end;
    }
    return end;
}

/// The features of the sets at this level or a later one, in order.
std::vector<int> JointBits::features_from(std::size_t first, std::size_t last, int level) const {
    std::vector<char> found(n_codes_.size(), 0);
    for (std::size_t s = first; s < last; ++s) {
        for (int d = level; d < width_; ++d) {
            found[feature(s, d)] = 1;
        }
    }
    std::vector<int> features;
    for (std::size_t f = 0; f < found.size(); ++f) {
        if (found[f]) {
            features.push_back(static_cast<int>(f));
        }
    }
    return features;
}

bool JointBits::suits(std::span<const double> weights) {
    double total = 0.0;
    std::size_t bits = 0;
    for (const double weight : weights) {
        if (weight != std::floor(weight) || weight > largest_weight) {
            return false;
        }
        total += weight;
        bits += std::popcount(static_cast<std::uint32_t>(weight));
    }
    return total < 2e9 && bits <= 4 * weights.size();
}

/// The bitsets of all codes: rows by class and, where they have weights, by powers of two that the weight is the sum
/// of; each such part begins with a new word.
void JointBits::fill(const RowBlock &block, std::size_t begin, std::size_t end) {
    const std::size_t n_rows = block.labels.size();
    constexpr int n_powers = std::bit_width(largest_weight);
    const auto each = [&](const auto &visit) {
        for (std::size_t i = begin; i < end; ++i) {
            const std::size_t part = block.labels[i] * static_cast<std::size_t>(n_powers);
            if (block.weights.empty()) {
                visit(i, part);
                continue;
            }
            for (auto weight = static_cast<std::uint32_t>(block.weights[i]); weight != 0; weight &= weight - 1) {
                visit(i, part + std::countr_zero(weight));
            }
        }
    };
    std::vector<std::uint32_t> next(static_cast<std::size_t>(n_classes_) * n_powers, 0);
    each([&](std::size_t, std::size_t part) { ++next[part]; });
    root_.segments.clear();
    root_.n_words = 0;
    for (std::size_t part = 0; part < next.size(); ++part) {
        const int size = static_cast<int>((next[part] + 63) / 64);
        if (size > 0) {
            root_.segments.push_back({root_.n_words, root_.n_words + size, static_cast<int>(part) / n_powers,
                                      std::int32_t{1} << (part % n_powers)});
        }
        next[part] = static_cast<std::uint32_t>(root_.n_words) * 64;
        root_.n_words += size;
    }
    rows_.clear();
    position_.clear();
    root_.valid.assign(root_.n_words, 0);
    each([&](std::size_t i, std::size_t part) {
        const std::uint32_t at = next[part]++;
        rows_.push_back(static_cast<std::uint32_t>(i - begin));
        position_.push_back(at);
        root_.valid[at / 64] |= std::uint64_t{1} << (at % 64);
    });
    root_.columns.resize(first_code_.back());
    std::iota(root_.columns.begin(), root_.columns.end(), 0);
    root_.rows.assign(root_.columns.size() * root_.n_words, 0);
    for (const int f : features_from(0, offset_.size(), 0)) {
        const std::uint8_t *codes = block.codes.data() + f * n_rows + begin;
        std::uint64_t *words = root_.rows.data() + static_cast<std::size_t>(first_code_[f]) * root_.n_words;
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            const std::uint32_t at = position_[i];
            words[static_cast<std::size_t>(codes[rows_[i]]) * root_.n_words + at / 64] |= std::uint64_t{1} << (at % 64);
        }
    }
}

void JointBits::count(const RowBlock &block, std::size_t begin, std::size_t end, double *tables) {
    fill(block, begin, end);
    if (width_ == 2) {
        root_.transpose();
    }
    descend(root_, 0, offset_.size(), 0, 0, tables);
}

/// The sets first .. last - 1 agree in the features before this level, of which `node` has one code each; `place` is
/// that of these codes among all.
void JointBits::descend(const BitNode &node, std::size_t first, std::size_t last, int level, std::size_t place,
                        double *tables) {
    if (level == width_ - 2) {
        count_pairs(node, first, last, place, tables);
        return;
    }
    BitNode &below = levels_[level];
    for (std::size_t next = first; next < last;) {
        const std::size_t end = same_feature(next, last, level);
        const int f = feature(next, level);
        std::vector<char> wanted(n_codes_.size(), 0);
        for (const int later : features_from(next, end, level + 1)) {
            wanted[later] = 1;
        }
        std::vector<int> places;
        int own = 0; // the column of the first code of this feature
        for (int i = 0; i < node.n_columns(); ++i) {
            own = node.columns[i] == first_code_[f] ? i : own;
            if (wanted[owner_[node.columns[i]]]) {
                places.push_back(i);
            }
        }
        for (int code = 0; code < n_codes_[f]; ++code) {
            compress_node(node, node.row(own + code), places, below);
            if (below.n_words > 0) {
                descend(below, next, end, level + 1, place * n_codes_[f] + code, tables);
            }
        }
        next = end;
    }
}

void JointBits::count_pairs(const BitNode &node, std::size_t first, std::size_t last, std::size_t place,
                            double *tables) {
    const std::size_t n = node.n_columns();
    pairs_.assign(n_classes_ * n * node.stride, 0);
    kernels().count_pairs(node.view(), nullptr, pairs_.data());
    for (std::size_t i = 0; i < n; ++i) {
        column_[node.columns[i]] = static_cast<int>(i);
    }
    for (std::size_t s = first; s < last; ++s) {
        const int g = feature(s, width_ - 2);
        const int h = feature(s, width_ - 1);
        double *to = tables + offset_[s] + place * n_codes_[g] * n_codes_[h] * n_classes_;
        for (int b = 0; b < n_codes_[g]; ++b) {
            const int i = column_[first_code_[g] + b];
            for (int c = 0; c < n_codes_[h]; ++c) {
                const int j = column_[first_code_[h] + c];
                const std::size_t at = static_cast<std::size_t>(std::min(i, j)) * node.stride + std::max(i, j);
                for (int label = 0; label < n_classes_; ++label) {
                    *to++ += pairs_[label * n * node.stride + at];
                }
            }
        }
    }
}

} // namespace omtree
