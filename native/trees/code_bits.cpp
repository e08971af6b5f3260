#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "trees/multiway.hpp"

namespace omtree {

void CodeBits::build(const Shared<std::int32_t> &shared, const Samples<std::int32_t> &samples,
                     const std::vector<char> &used, int splitting) {
    id_ = samples.id;
    std::map<std::pair<int, int>, std::vector<std::uint32_t>> lists;
    for (std::size_t i = 0; i < samples.size; ++i) {
        for (auto weight = static_cast<std::uint32_t>(samples.weight[i]); weight != 0; weight &= weight - 1) {
            lists[{samples.label[i], std::countr_zero(weight)}].push_back(static_cast<std::uint32_t>(i));
        }
    }
    node_.segments.clear();
    node_.n_words = 0;
    for (const auto &[key, rows] : lists) {
        const int size = static_cast<int>((rows.size() + 63) / 64);
        node_.segments.push_back({node_.n_words, node_.n_words + size, key.first, std::int32_t{1} << key.second});
        node_.n_words += size;
    }
    node_.columns.clear();
    node_.rows.clear();
    place_.assign(shared.n_codes, 0);
    node_.valid.assign(node_.n_words, ~std::uint64_t{0});
    position_.resize(shared.n_codes);
    class_stride_.resize(shared.n_codes);
    for (std::size_t f = 0; f < shared.place.size(); ++f) {
        const auto [offset, code_stride, class_stride] = shared.place[f];
        for (int code = 0; code < shared.problem.features[f].n_codes; ++code) {
            position_[shared.first_code[f] + code] = offset + code * code_stride;
            class_stride_[shared.first_code[f] + code] = class_stride;
        }
        if (used[f] && static_cast<int>(f) != splitting) {
            continue;
        }
        const int first = node_.n_columns();
        for (int code = 0; code < shared.problem.features[f].n_codes; ++code) {
            place_[shared.first_code[f] + code] = first + code;
            node_.columns.push_back(shared.first_code[f] + code);
        }
        node_.rows.resize(node_.columns.size() * node_.n_words, 0);
        const std::uint8_t *codes = samples.column(static_cast<int>(f));
        std::size_t s = 0;
        for (const auto &[key, rows] : lists) {
            std::uint64_t *words = node_.rows.data() + node_.segments[s++].begin;
            for (std::size_t i = 0; i < rows.size(); ++i) {
                words[static_cast<std::size_t>(first + codes[rows[i]]) * node_.n_words + i / 64] |= std::uint64_t{1}
                                                                                                    << (i % 64);
            }
        }
    }
    node_.transpose();
}

bool CodeBits::count_cube(const Shared<std::int32_t> &shared, const Samples<std::int32_t> &samples,
                          const std::vector<char> &used, int feature, const std::function<void()> &check,
                          const std::int32_t *whole, std::vector<std::int32_t> &cube) {
    const auto counting = shared.problem.counting;
    const double codes = shared.n_codes;
    const int n_codes = shared.problem.features[feature].n_codes;
    const int n_classes = shared.problem.n_classes;
    // Roughly in nanoseconds.
    const double by_bits = codes * codes * (samples.size / 64.0 / 16.0 + n_codes * n_classes);
    const double by_histogram = static_cast<double>(samples.size) * shared.place.size() * shared.place.size() * 0.7;
    if (counting == Counting::histogram || (counting == Counting::automatic && by_histogram < by_bits)) {
        return false;
    }
    if (id_ != samples.id) {
        build(shared, samples, used, feature);
    }
    const std::size_t table = static_cast<std::size_t>(shared.n_codes) * shared.width;
    // The code most samples have need not be counted where the sum over all codes is known.
    int largest = -1;
    if (whole != nullptr) {
        std::int64_t most = -1;
        for (int code = 0; code < n_codes; ++code) {
            const std::uint64_t *row = node_.row(place_[shared.first_code[feature] + code]);
            std::int64_t size = 0;
            for (int w = 0; w < node_.n_words; ++w) {
                size += std::popcount(row[w]);
            }
            if (size > most) {
                most = size;
                largest = code;
            }
        }
        std::copy_n(whole, table, cube.data() + largest * table);
    }
    std::vector<int> all(node_.columns.size());
    std::iota(all.begin(), all.end(), 0);
    for (int code = 0; code < n_codes; ++code) {
        if (code == largest) {
            continue;
        }
        check();
        compress_node(node_, node_.row(place_[shared.first_code[feature] + code]), all, part_);
        count(shared, part_, cube.data() + code * table);
        if (whole != nullptr) {
            std::int32_t *rest = cube.data() + largest * table;
            subtract_counts(rest, cube.data() + code * table, table, rest);
        }
    }
    return true;
}

bool CodeBits::count_table(const Shared<std::int32_t> &shared, const Samples<std::int32_t> &samples,
                           const std::vector<char> &used, std::vector<std::int32_t> &table) {
    const auto counting = shared.problem.counting;
    const double codes = shared.n_codes;
    const double n_features = static_cast<double>(shared.place.size());
    // Roughly in nanoseconds, for all features; the bits are mostly needed later on anyway.
    const double by_bits = codes * codes * (samples.size / 64.0 / 16.0 + shared.problem.n_classes) +
                           2.0 * n_features * static_cast<double>(samples.size);
    const double by_histogram = static_cast<double>(samples.size) * n_features * n_features;
    const std::size_t size = static_cast<std::size_t>(shared.n_codes) * shared.width;
    if (counting == Counting::histogram || (counting == Counting::automatic && by_histogram < by_bits) ||
        size > std::size_t{32} << 20) {
        return false;
    }
    if (id_ != samples.id) {
        build(shared, samples, used, -1);
    }
    table.assign(size, 0);
    count(shared, node_, table.data());
    return true;
}

/// Joint counts of all codes over the samples of the node, moved to where the search looks for them.
void CodeBits::count(const Shared<std::int32_t> &shared, const BitNode &node, std::int32_t *to) {
    const int n = node.n_columns();
    const int n_classes = shared.problem.n_classes;
    pairs_.assign(static_cast<std::size_t>(n_classes) * n * node.stride, 0);
    kernels().count_pairs(node.view(), nullptr, pairs_.data());
    for (int c = 0; c < n_classes; ++c) {
        for (int i = 0; i < n; ++i) {
            const std::int32_t *row = &pairs_[(static_cast<std::size_t>(c) * n + i) * node.stride];
            const int code = node.columns[i];
            std::int32_t *own = to + static_cast<std::size_t>(code) * shared.width;
            std::int32_t *place = to + position_[code] + c * class_stride_[code];
            for (int j = i; j < n; ++j) {
                const int other = node.columns[j];
                own[position_[other] + c * class_stride_[other]] = row[j];
                place[static_cast<std::size_t>(other) * shared.width] = row[j];
            }
        }
    }
}

} // namespace omtree
