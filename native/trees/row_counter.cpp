#include "trees/row_counter.hpp"

#include <numeric>
#include <type_traits>

namespace omtree {
namespace {

/// A table of all pairs of features that is larger would cost more to fill with zeros than it saves.
constexpr std::size_t most_table_bytes = std::size_t{128} << 20;

} // namespace

template <typename Count>
RowCounter<Count>::RowCounter(const Shared<Count> &shared)
    : shared_(shared), problem_(shared.problem), n_features_(static_cast<int>(shared.problem.features.size())),
      n_classes_(shared.problem.n_classes) {}

/// What a sample counts: `add(sum, weight)`.
template <typename Count>
template <typename Add>
void RowCounter<Count>::each(const Samples<Count> &samples, std::size_t i, const Add &add) const {
    if (!samples.label.empty()) {
        add(samples.label[i], samples.weight[i]);
        return;
    }
    for (int s = 0; s < n_classes_; ++s) {
        add(s, samples.weight[i * n_classes_ + s]);
    }
}

template <typename Count> std::vector<Count> RowCounter<Count>::totals(const Samples<Count> &samples) {
    std::vector<Count> total(n_classes_, 0);
    for (std::size_t i = 0; i < samples.size; ++i) {
        each(samples, i, [&](int s, Count weight) { total[s] += weight; });
    }
    return total;
}

template <typename Count>
void RowCounter<Count>::feature(const Samples<Count> &samples, int feature, Count *histogram) {
    if (const Count *slab = counted_slab(samples, feature)) {
        const auto [offset, code_stride, class_stride] = shared_.place[feature];
        for (int code = 0; code < problem_.features[feature].n_codes; ++code) {
            for (int c = 0; c < n_classes_; ++c) {
                *histogram++ += slab[static_cast<std::size_t>(code) * shared_.width + offset + code * code_stride +
                                     c * class_stride];
            }
        }
        return;
    }
    const std::uint8_t *column = samples.column(feature);
    for (std::size_t i = 0; i < samples.size; ++i) {
        each(samples, i, [&](int s, Count weight) { histogram[column[i] * n_classes_ + s] += weight; });
    }
}

/// Joint counts of a feature with every feature, where those of these samples are known already.
template <typename Count>
const Count *RowCounter<Count>::counted_slab(const Samples<Count> &samples, int feature) const {
    const std::size_t first = static_cast<std::size_t>(shared_.first_code[feature]) * shared_.width;
    return table_id_ == samples.id ? pair_table_.data() + first : nullptr;
}

/// Joint counts of a feature with every feature: one histogram per code of the feature.
template <typename Count> void RowCounter<Count>::count_pairs(const Samples<Count> &samples, int feature, Count *slab) {
    if constexpr (!std::is_same_v<Count, std::int32_t>) {
        if (samples.label.empty()) {
            sum_pairs_.of_feature(shared_, samples, feature, slab);
            return;
        }
    }
    const std::uint8_t *outer = samples.column(feature);
    for (int other = 0; other < n_features_; ++other) {
        const std::uint8_t *inner = samples.column(other);
        const auto [offset, code_stride, class_stride] = shared_.place[other];
        Count *base = slab + offset;
        for (std::size_t i = 0; i < samples.size; ++i) {
            base[outer[i] * shared_.width + inner[i] * code_stride + samples.label[i] * class_stride] +=
                samples.weight[i];
        }
    }
}

template <typename Count>
const Count *RowCounter<Count>::slab(const Samples<Count> &samples, int feature, const std::vector<char> &used) {
    if constexpr (std::is_same_v<Count, std::int32_t>) {
        if (table_id_ == samples.id || code_bits_.count_table(shared_, samples, used, pair_table_)) {
            table_id_ = samples.id;
        }
    } else if (const auto size = static_cast<std::size_t>(shared_.n_codes) * shared_.width;
               samples.label.empty() && table_id_ != samples.id && size * sizeof(Count) <= most_table_bytes) {
        pair_table_.assign(size, 0);
        sum_pairs_.count(shared_, samples, used, -1);
        in_order_.resize(samples.size);
        std::iota(in_order_.begin(), in_order_.end(), 0u);
        sum_pairs_.add(in_order_, [] {}, pair_table_.data());
        table_id_ = samples.id;
    }
    if (const Count *counted = counted_slab(samples, feature)) {
        return counted;
    }
    slab_.assign(static_cast<std::size_t>(problem_.features[feature].n_codes) * shared_.width, 0);
    count_pairs(samples, feature, slab_.data());
    return slab_.data();
}

template <typename Count>
void RowCounter<Count>::restrict(const Samples<Count> &samples, int feature, const std::vector<std::uint8_t> &codes,
                                 bool all_columns, Samples<Count> &out) {
    bool inside[256] = {};
    for (const std::uint8_t code : codes) {
        inside[code] = true;
    }
    const std::uint8_t *column = samples.column(feature);
    std::vector<std::uint32_t> kept;
    for (std::size_t i = 0; i < samples.size; ++i) {
        if (inside[column[i]]) {
            kept.push_back(static_cast<std::uint32_t>(i));
        }
    }
    out.id = new_samples_id();
    out.size = kept.size();
    out.codes.resize(all_columns ? n_features_ * kept.size() : 0);
    out.floored.clear();
    const bool one_class = !samples.label.empty();
    const std::size_t n = one_class ? 1 : n_classes_;
    out.label.resize(one_class ? kept.size() : 0);
    out.weight.resize(kept.size() * n);
    out.floor.resize(kept.size());
    for (int f = 0; f < n_features_ && all_columns; ++f) {
        const std::uint8_t *from = samples.column(f);
        std::uint8_t *to = out.codes.data() + f * kept.size();
        for (std::size_t i = 0; i < kept.size(); ++i) {
            to[i] = from[kept[i]];
        }
    }
    for (std::size_t i = 0; i < kept.size(); ++i) {
        if (one_class) {
            out.label[i] = samples.label[kept[i]];
        }
        std::copy_n(&samples.weight[kept[i] * n], n, &out.weight[i * n]);
        out.floor[i] = samples.floor[kept[i]];
        if (out.floor[i] > 0.0) {
            out.floored.push_back(static_cast<std::uint32_t>(i));
        }
    }
}

/// Where each sample counts in a table of all pairs of features that may still be split.
template <typename Count>
void RowCounter<Count>::find_places(const Samples<Count> &samples, int splitting, const std::vector<char> &used) {
    if (places_id_ == samples.id) {
        return;
    }
    places_id_ = samples.id;
    active_.clear();
    for (int f = 0; f < n_features_; ++f) {
        if (!used[f] || f == splitting) {
            active_.push_back(f);
        }
    }
    const std::size_t n = active_.size();
    row_places_.resize(samples.size * n);
    cell_places_.resize(samples.size * n);
    for (std::size_t a = 0; a < n; ++a) {
        const int f = active_[a];
        const std::uint8_t *column = samples.column(f);
        const auto [offset, code_stride, class_stride] = shared_.place[f];
        for (std::size_t i = 0; i < samples.size; ++i) {
            row_places_[i * n + a] = static_cast<std::uint32_t>((shared_.first_code[f] + column[i]) * shared_.width);
            cell_places_[i * n + a] =
                static_cast<std::uint32_t>(offset + column[i] * code_stride + samples.label[i] * class_stride);
        }
    }
}

template <typename Count>
bool RowCounter<Count>::cube(const Samples<Count> &samples, int feature, const std::vector<char> &used,
                             const Check &check, std::vector<Count> &cube) {
    const std::size_t table = static_cast<std::size_t>(shared_.n_codes) * shared_.width;
    const int n_codes = problem_.features[feature].n_codes;
    if (table * n_codes * sizeof(Count) > most_table_bytes) {
        return false;
    }
    cube.assign(table * n_codes, 0);
    if constexpr (std::is_same_v<Count, std::int32_t>) {
        if (code_bits_.count_cube(shared_, samples, used, feature, check, counted_slab(samples, 0), cube)) {
            return true;
        }
    }
    const std::uint8_t *outer = samples.column(feature);
    // Code by code, so that the counts being added to stay in cache.
    std::size_t next[257] = {};
    for (std::size_t i = 0; i < samples.size; ++i) {
        ++next[outer[i] + 1];
    }
    std::partial_sum(next, next + 257, next);
    const std::vector<std::size_t> first(next, next + 257);
    in_order_.resize(samples.size);
    for (std::size_t i = 0; i < samples.size; ++i) {
        in_order_[next[outer[i]]++] = static_cast<std::uint32_t>(i);
    }
    if constexpr (!std::is_same_v<Count, std::int32_t>) {
        if (samples.label.empty()) {
            sum_pairs_.count(shared_, samples, used, feature);
            for (int code = 0; code < n_codes; ++code) {
                sum_pairs_.add(std::span(in_order_).subspan(first[code], first[code + 1] - first[code]), check,
                               cube.data() + code * table);
            }
            return true;
        }
    }
    find_places(samples, feature, used);
    const std::size_t n_active = active_.size();
    for (std::size_t at = 0; at < samples.size; ++at) {
        if ((at & 4095) == 0) {
            check();
        }
        const std::size_t i = in_order_[at];
        const Count weight = samples.weight[i];
        const std::uint32_t *rows = &row_places_[i * n_active];
        const std::uint32_t *cells = &cell_places_[i * n_active];
        Count *plane = cube.data() + outer[i] * table;
        for (std::size_t g = 0; g < n_active; ++g) {
            Count *row = plane + rows[g];
            for (std::size_t h = 0; h < n_active; ++h) {
                row[cells[h]] += weight;
            }
        }
    }
    return true;
}

template class RowCounter<std::int32_t>;
template class RowCounter<double>;

} // namespace omtree
