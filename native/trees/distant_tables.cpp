#include "trees/distant_tables.hpp"

#include <algorithm>

namespace omtree {

/// Room for the joint counts of all pairs by code of one feature, as for rows in memory.
constexpr std::size_t most_cube_bytes = std::size_t{128} << 20;

template <typename Count>
TableCounter<Count>::TableCounter(const Shared<Count> &shared, JointStore<Count> &store)
    : shared_(shared), problem_(shared.problem), store_(store),
      n_features_(static_cast<int>(shared.problem.features.size())), n_classes_(shared.problem.n_classes),
      totals_(n_classes_, 0) {
    for (std::size_t i = 0; i < problem_.counts.size(); ++i) {
        totals_[i % n_classes_] += static_cast<Count>(problem_.counts[i]);
    }
}

template <typename Count> Samples<Count> TableCounter<Count>::root() const {
    Samples<Count> samples;
    samples.id = new_samples_id();
    samples.tables = std::make_shared<NodeTables<Count>>(store_, std::vector<CodeLimit>{});
    return samples;
}

template <typename Count> std::vector<Count> TableCounter<Count>::totals(const Samples<Count> &samples) {
    if (samples.tables->limits().empty()) {
        return totals_;
    }
    return *samples.tables->of(0);
}

template <typename Count>
void TableCounter<Count>::feature(const Samples<Count> &samples, int feature, Count *histogram) {
    const int set[] = {feature};
    const Count *from = samples.tables->of(1)->data() + store_.offset(set);
    for (int i = 0; i < problem_.features[feature].n_codes * n_classes_; ++i) {
        histogram[i] += from[i];
    }
}

/// The joint counts of two features, in either order.
template <typename Count>
const Count *TableCounter<Count>::pair(const std::vector<Count> &pairs, int a, int b, std::size_t &stride_a,
                                       std::size_t &stride_b) const {
    const int set[] = {std::min(a, b), std::max(a, b)};
    const auto inner = static_cast<std::size_t>(n_classes_);
    const std::size_t outer = inner * problem_.features[set[1]].n_codes;
    stride_a = a < b ? outer : inner;
    stride_b = a < b ? inner : outer;
    return pairs.data() + store_.offset(set);
}

template <typename Count>
const Count *TableCounter<Count>::slab(const Samples<Count> &samples, int feature, const std::vector<char> &used) {
    const std::size_t width = shared_.width;
    const int n_codes = problem_.features[feature].n_codes;
    slab_.assign(n_codes * width, 0);
    const int set[] = {feature};
    const Count *own = samples.tables->of(1)->data() + store_.offset(set);
    const std::vector<Count> &pairs = *samples.tables->of(2);
    for (int code = 0; code < n_codes; ++code) {
        place(own + code * n_classes_, feature, code, slab_.data() + code * width);
    }
    for (int other = 0; other < n_features_; ++other) {
        if (other == feature || used[other]) {
            continue;
        }
        std::size_t stride = 0;
        std::size_t stride_other = 0;
        const Count *from = pair(pairs, feature, other, stride, stride_other);
        for (int code = 0; code < n_codes; ++code) {
            for (int b = 0; b < problem_.features[other].n_codes; ++b) {
                place(from + code * stride + b * stride_other, other, b, slab_.data() + code * width);
            }
        }
    }
    return slab_.data();
}

template <typename Count>
bool TableCounter<Count>::cube(const Samples<Count> &samples, int feature, const std::vector<char> &used,
                               const Check &check, std::vector<Count> &cube) {
    const std::size_t width = shared_.width;
    const std::size_t table = shared_.n_codes * width;
    const int n_codes = problem_.features[feature].n_codes;
    if (table * n_codes * sizeof(Count) > most_cube_bytes) {
        return false;
    }
    const std::vector<Count> *triples = samples.tables->of(3);
    if (triples == nullptr) {
        return false;
    }
    cube.assign(table * n_codes, 0);
    const auto row = [&](int code, int other, int b) {
        return cube.data() + code * table + (shared_.first_code[other] + b) * width;
    };
    const int set[] = {feature};
    const Count *own = samples.tables->of(1)->data() + store_.offset(set);
    for (int code = 0; code < n_codes; ++code) {
        place(own + code * n_classes_, feature, code, row(code, feature, code));
    }
    const std::vector<Count> &pairs = *samples.tables->of(2);
    for (int g = 0; g < n_features_; ++g) {
        if (g == feature || used[g]) {
            continue;
        }
        check();
        std::size_t stride = 0;
        std::size_t stride_g = 0;
        const Count *from = pair(pairs, feature, g, stride, stride_g);
        for (int code = 0; code < n_codes; ++code) {
            for (int b = 0; b < problem_.features[g].n_codes; ++b) {
                const Count *cell = from + code * stride + b * stride_g;
                place(cell, g, b, row(code, feature, code));
                place(cell, feature, code, row(code, g, b));
                place(cell, g, b, row(code, g, b));
            }
        }
        for (int h = g + 1; h < n_features_; ++h) {
            if (h == feature || used[h]) {
                continue;
            }
            int sorted[] = {feature, g, h};
            std::sort(sorted, sorted + 3);
            std::size_t strides[3]; // of the feature, of g and of h
            std::size_t step = n_classes_;
            for (int d = 2; d >= 0; --d) {
                strides[sorted[d] == feature ? 0 : sorted[d] == g ? 1 : 2] = step;
                step *= problem_.features[sorted[d]].n_codes;
            }
            const Count *triple = triples->data() + store_.offset(sorted);
            for (int code = 0; code < n_codes; ++code) {
                for (int b = 0; b < problem_.features[g].n_codes; ++b) {
                    for (int c = 0; c < problem_.features[h].n_codes; ++c) {
                        const Count *cell = triple + code * strides[0] + b * strides[1] + c * strides[2];
                        place(cell, h, c, row(code, g, b));
                        place(cell, g, b, row(code, h, c));
                    }
                }
            }
        }
    }
    return true;
}

template <typename Count>
void TableCounter<Count>::restrict(const Samples<Count> &samples, int feature, const std::vector<std::uint8_t> &codes,
                                   bool, Samples<Count> &out) {
    std::vector<CodeLimit> limits = samples.tables->limits();
    // Codes of a feature that was split higher up are among those it was restricted to there.
    std::erase_if(limits, [&](const CodeLimit &limit) { return limit.feature == feature; });
    limits.push_back({feature, codes});
    out = {};
    out.id = new_samples_id();
    out.tables = std::make_shared<NodeTables<Count>>(store_, std::move(limits));
}

template class TableCounter<std::int32_t>;
template class TableCounter<double>;

} // namespace omtree
