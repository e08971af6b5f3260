#include "trees/code_columns.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace omtree {

bool split_columns(const SearchProblem &problem, std::vector<SplitColumn> &columns) {
    columns.clear();
    for (int f = 0; f < static_cast<int>(problem.features.size()); ++f) {
        const SearchFeature &feature = problem.features[f];
        const int n = feature.n_codes;
        const auto add = [&](const auto &is_inside, bool complement = false) {
            SplitColumn column;
            column.feature = f;
            column.complement = complement;
            for (int i = 0; i < n; ++i) {
                const int code = feature.order.empty() ? i : feature.order[i];
                (is_inside(i) ? column.inside : column.outside).push_back(static_cast<std::uint8_t>(code));
            }
            columns.push_back(std::move(column));
        };
        if (feature.family == Family::value && n > 2) {
            return false;
        }
        if (feature.family == Family::subset) {
            for (int mask = 1; mask < (1 << n) - 1; mask += 2) {
                add([&](int i) { return mask >> i & 1; });
            }
            continue;
        }
        if (feature.family == Family::single) {
            for (int one = 0; one < n; ++one) {
                add([&](int i) { return i == one; }, true);
            }
            continue;
        }
        const int n_values = n - (feature.family == Family::interval && feature.has_missing);
        for (int cut = 1; cut < n; ++cut) {
            add([&](int i) { return i < cut; });
            if (n_values < n && cut < n_values) {
                add([&](int i) { return i < cut || i == n_values; });
            }
        }
        for (int one = 1; feature.family == Family::run && one < n - 1; ++one) {
            add([&](int i) { return i == one; }, true);
        }
    }
    return true;
}

void BitNode::transpose() {
    const int n = n_columns();
    stride = (n + 15) / 16 * 16;
    words.assign(static_cast<std::size_t>(n_words) * stride, 0);
    for (int i = 0; i < n; ++i) {
        const std::uint64_t *from = row(i);
        for (int w = 0; w < n_words; ++w) {
            words[static_cast<std::size_t>(w) * stride + i] = from[w];
        }
    }
}

void BitNode::find_singles() {
    single.assign(total.size() * stride, 0);
    for (std::size_t c = 0; c < total.size(); ++c) {
        for (int i = 0; i < n_columns(); ++i) {
            single[c * stride + i] = pairs[(c * columns.size() + i) * stride + i];
        }
    }
}

BitNode bit_root(const SearchProblem &problem, const std::vector<SplitColumn> &columns, bool unit_costs,
                 const std::function<void()> &check) {
    const int n_classes = problem.n_classes;
    BitNode node;
    node.total.assign(n_classes, 0);
    // Sample lists by class and bit of the weight, in a fixed order; each list starts a new word.
    std::map<std::pair<int, int>, std::vector<std::uint32_t>> lists;
    std::vector<int> usual(problem.n_rows, 0);
    for (std::size_t row = 0; row < problem.n_rows; ++row) {
        const double *counts = &problem.counts[row * n_classes];
        usual[row] = static_cast<int>(std::max_element(counts, counts + n_classes) - counts);
        for (int c = 0; c < n_classes; ++c) {
            auto weight = static_cast<std::uint32_t>(counts[c]);
            node.total[c] += static_cast<std::int32_t>(weight);
            for (; weight != 0; weight &= weight - 1) {
                lists[{c, std::countr_zero(weight)}].push_back(static_cast<std::uint32_t>(row));
            }
        }
    }
    bool conflicts = false;
    for (const auto &[key, rows] : lists) {
        const int size = static_cast<int>((rows.size() + 63) / 64);
        node.segments.push_back({node.n_words, node.n_words + size, key.first, std::int32_t{1} << key.second});
        node.n_words += size;
        for (const std::uint32_t row : rows) {
            conflicts |= usual[row] != key.first;
        }
    }
    const auto fill = [&](std::uint64_t *to, const auto &is_inside) {
        std::size_t s = 0;
        for (const auto &[key, rows] : lists) {
            std::uint64_t *words = to + node.segments[s++].begin;
            for (std::size_t i = 0; i < rows.size(); ++i) {
                words[i / 64] |= static_cast<std::uint64_t>(is_inside(rows[i], key.first)) << (i % 64);
            }
        }
    };
    node.rows.assign(columns.size() * node.n_words, 0);
    for (std::size_t i = 0; i < columns.size(); ++i) {
        check();
        node.columns.push_back(static_cast<int>(i));
        std::uint8_t inside[256] = {};
        for (const std::uint8_t code : columns[i].inside) {
            inside[code] = 1;
        }
        const std::uint8_t *codes = problem.features[columns[i].feature].codes;
        fill(node.rows.data() + i * node.n_words, [&](std::uint32_t row, int) { return inside[codes[row]]; });
    }
    node.valid.assign(node.n_words, 0);
    fill(node.valid.data(), [](std::uint32_t, int) { return true; });
    if (conflicts && unit_costs) {
        node.unavoidable.assign(node.n_words, 0);
        fill(node.unavoidable.data(), [&](std::uint32_t row, int label) { return usual[row] != label; });
    }
    node.transpose();
    return node;
}

void compress_node(const BitNode &parent, const std::uint64_t *mask, const std::vector<int> &places, BitNode &child) {
    const auto &compress = kernels().compress;
    child.segments.clear();
    child.n_words = 0;
    std::vector<const Segment *> kept;
    for (const Segment &segment : parent.segments) {
        int bits = 0;
        for (int w = segment.begin; w < segment.end; ++w) {
            bits += std::popcount(mask[w]);
        }
        if (bits > 0) {
            const int size = (bits + 63) / 64;
            child.segments.push_back({child.n_words, child.n_words + size, segment.label, segment.weight});
            child.n_words += size;
            kept.push_back(&segment);
        }
    }
    child.columns.resize(places.size());
    child.rows.assign(places.size() * child.n_words, 0);
    for (std::size_t i = 0; i < places.size(); ++i) {
        child.columns[i] = parent.columns[places[i]];
        std::uint64_t *to = child.rows.data() + i * child.n_words;
        for (std::size_t s = 0; s < kept.size(); ++s) {
            compress(parent.row(places[i]), mask, kept[s]->begin, kept[s]->end, to + child.segments[s].begin);
        }
    }
    child.valid.assign(child.n_words, 0);
    for (std::size_t s = 0; s < kept.size(); ++s) {
        compress(parent.valid.data(), mask, kept[s]->begin, kept[s]->end, child.valid.data() + child.segments[s].begin);
    }
    child.unavoidable.assign(parent.unavoidable.empty() ? 0 : child.n_words, 0);
    for (std::size_t s = 0; s < kept.size() && !parent.unavoidable.empty(); ++s) {
        compress(parent.unavoidable.data(), mask, kept[s]->begin, kept[s]->end,
                 child.unavoidable.data() + child.segments[s].begin);
    }
    child.transpose();
}

void count_in_steps(BitView bits, const std::uint64_t *mask, std::int32_t *counts, const std::function<void()> &check) {
    // So many words of all columns take some milliseconds.
    constexpr double at_once = 1e7;
    const double pairs = 0.5 * bits.n_columns * bits.n_columns;
    const int words = static_cast<int>(std::max(8.0, std::min<double>(bits.n_words, at_once / std::max(1.0, pairs))));
    if (words >= bits.n_words) {
        kernels().count_pairs(bits, mask, counts);
        return;
    }
    const Segment *segments = bits.segments;
    const int n_segments = bits.n_segments;
    Segment part;
    bits.segments = &part;
    bits.n_segments = 1;
    for (int s = 0; s < n_segments; ++s) {
        part = segments[s];
        for (; part.begin < segments[s].end; part.begin = part.end) {
            check();
            part.end = std::min(part.begin + words, segments[s].end);
            kernels().count_pairs(bits, mask, counts);
        }
    }
}

} // namespace omtree
