#include "search_tables.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace omtree {
namespace {

/// Room for the joint counts of all pairs by code of one feature, as for rows in memory.
constexpr std::size_t most_cube_bytes = std::size_t{128} << 20;

/// Calls back with every set of `n` of the numbers below `end`, in order.
template <typename Visit> void each_subset(int n, int end, std::vector<int> &set, int from, const Visit &visit) {
    if (n == 0) {
        visit(set);
        return;
    }
    for (int next = from; next + n <= end; ++next) {
        set.push_back(next);
        each_subset(n - 1, end, set, next + 1, visit);
        set.pop_back();
    }
}

bool contains(const std::vector<int> &set, int feature) {
    return std::binary_search(set.begin(), set.end(), feature);
}

} // namespace

template <typename Count>
JointStore<Count>::JointStore(const SearchProblem &problem, JointSource &source, std::size_t bytes)
    : problem_(problem), source_(source), bytes_(static_cast<double>(bytes)),
      n_features_(static_cast<int>(problem.features.size())),
      first_width_(std::min({3, problem.max_depth, n_features_})) {
    const auto n_classes = static_cast<std::size_t>(problem.n_classes);
    const auto k = [&](int f) { return static_cast<std::size_t>(problem.features[f].n_codes); };
    from_.assign(n_features_ + 1, 0);
    for (int f = n_features_ - 1; f >= 0; --f) {
        from_[f] = from_[f + 1] + k(f);
    }
    sizes_[0] = n_classes;
    sizes_[1] = n_classes * from_[0];
    for (int f = 0; f < n_features_; ++f) {
        first_pair_.push_back(sizes_[2]);
        sizes_[2] += n_classes * k(f) * from_[f + 1];
        for (int g = 0; problem.max_depth > 2 && g < n_features_; ++g) {
            first_triple_.push_back(sizes_[3]);
            sizes_[3] += g > f ? n_classes * k(f) * k(g) * from_[g + 1] : 0;
        }
    }
}

template <typename Count> std::size_t JointStore<Count>::offset(std::span<const int> set) const {
    const auto k = [&](int f) { return static_cast<std::size_t>(problem_.features[f].n_codes * problem_.n_classes); };
    switch (set.size()) {
    case 0:
        return 0;
    case 1:
        return (from_[0] - from_[set[0]]) * problem_.n_classes;
    case 2:
        return first_pair_[set[0]] + k(set[0]) * (from_[set[0] + 1] - from_[set[1]]);
    default:
        return first_triple_[static_cast<std::size_t>(set[0]) * n_features_ + set[1]] +
               k(set[0]) * problem_.features[set[1]].n_codes * (from_[set[1] + 1] - from_[set[2]]);
    }
}

template <typename Count>
bool JointStore<Count>::sum(const std::vector<CodeLimit> &limits, int n, std::vector<Count> &out) {
    if (n > 2 && static_cast<double>(sizes_[n]) * sizeof(Count) > bytes_) {
        return false;
    }
    std::vector<int> inside;
    for (const CodeLimit &limit : limits) {
        inside.push_back(limit.feature);
    }
    std::sort(inside.begin(), inside.end());
    const std::shared_ptr<const Batch> batch = holding(inside, n);
    if (batch == nullptr) {
        return false;
    }
    out.assign(sizes_[n], 0);
    std::vector<int> set;
    each_subset(n, n_features_, set, 0, [&](const std::vector<int> &features) {
        // A feature that is split once on a path is of no interest to what is below.
        const bool used = n > 1 && !problem_.binary &&
                          std::any_of(features.begin(), features.end(), [&](int f) { return contains(inside, f); });
        if (!used) {
            reduce(*batch, limits, features, out.data() + offset(features));
        }
    });
    return true;
}

template <typename Count> const Count *JointStore<Count>::Batch::table(const std::vector<int> &set) const {
    std::size_t low = 0;
    for (std::size_t high = offset.size(); high - low > 1;) {
        const std::size_t middle = (low + high) / 2;
        const std::int32_t *here = sets.data() + middle * width;
        (std::lexicographical_compare(set.begin(), set.end(), here, here + width) ? high : low) = middle;
    }
    return counts.data() + offset[low];
}

/// Tables in which those of every set of these and `n` more features are found; null where there is no room for them.
template <typename Count>
std::shared_ptr<const typename JointStore<Count>::Batch> JointStore<Count>::holding(const std::vector<int> &inside,
                                                                                    int n) {
    const int width = std::min(n_features_, static_cast<int>(inside.size()) + n);
    const std::lock_guard lock(mutex_);
    for (auto batch = batches_.begin(); batch != batches_.end(); ++batch) {
        const std::vector<int> &all = (*batch)->inside;
        if ((*batch)->width >= width && std::includes(inside.begin(), inside.end(), all.begin(), all.end())) {
            batches_.splice(batches_.begin(), batches_, batch);
            return batches_.front();
        }
    }
    // A pass over all rows is what takes long, so as much as there is room for is counted in one.
    const int first = std::max(width, first_width_);
    if (bytes_of({}, first) <= bytes_) {
        return fetch({}, first);
    }
    if (bytes_of(inside, width) * std::max(1, inside.empty() ? 1 : problem_.n_threads) <= bytes_) {
        return fetch(inside, width);
    }
    if (n > 2) {
        return nullptr;
    }
    throw std::invalid_argument("The joint tables of the features take more memory than is allowed; use fewer bins "
                                "(n_bins), a smaller max_depth or fewer columns, or allow more.");
}

template <typename Count>
std::shared_ptr<const typename JointStore<Count>::Batch> JointStore<Count>::fetch(const std::vector<int> &inside,
                                                                                  int width) {
    const auto batch = std::make_shared<Batch>();
    batch->width = width;
    batch->inside = inside;
    std::size_t size = 0;
    std::vector<int> others;
    for (int f = 0; f < n_features_; ++f) {
        if (!contains(inside, f)) {
            others.push_back(f);
        }
    }
    std::vector<std::vector<std::int32_t>> sets;
    std::vector<int> chosen;
    each_subset(width - static_cast<int>(inside.size()), static_cast<int>(others.size()), chosen, 0,
                [&](const std::vector<int> &places) {
                    std::vector<std::int32_t> set(inside.begin(), inside.end());
                    for (const int place : places) {
                        set.push_back(others[place]);
                    }
                    std::sort(set.begin(), set.end());
                    sets.push_back(std::move(set));
                });
    std::sort(sets.begin(), sets.end());
    for (const std::vector<std::int32_t> &set : sets) {
        batch->sets.insert(batch->sets.end(), set.begin(), set.end());
        batch->offset.push_back(size);
        std::size_t cells = problem_.n_classes;
        for (const std::int32_t f : set) {
            cells *= problem_.features[f].n_codes;
        }
        size += cells;
    }
    // What is not in use now and can be had again makes room.
    double held = bytes_of(inside, width);
    for (auto old = batches_.begin(); old != batches_.end();) {
        held += bytes_of((*old)->inside, (*old)->width);
        const bool base = (*old)->inside.empty() && (*old)->width <= first_width_;
        old = held > bytes_ && !base ? batches_.erase(old) : std::next(old);
    }
    const std::vector<double> counts = source_.tables(batch->sets, width);
    if (counts.size() != size) {
        throw std::invalid_argument("A source of counts gave tables of another size than asked for.");
    }
    batch->counts.assign(counts.begin(), counts.end());
    batches_.push_front(batch);
    return batch;
}

/// What a batch takes, while it comes.
template <typename Count> double JointStore<Count>::bytes_of(const std::vector<int> &inside, int width) const {
    // The sums over all sets of so many features of the product of their numbers of codes, and of one.
    std::vector<double> cells(width + 1, 0.0);
    std::vector<double> sets(width + 1, 0.0);
    cells[0] = problem_.n_classes;
    sets[0] = 1.0;
    for (int f = 0; f < n_features_; ++f) {
        const double k = problem_.features[f].n_codes;
        const bool always = contains(inside, f);
        for (int n = width; n >= 0; --n) {
            cells[n] = (always ? 0.0 : cells[n]) + (n > 0 ? k * cells[n - 1] : 0.0);
            sets[n] = (always ? 0.0 : sets[n]) + (n > 0 ? sets[n - 1] : 0.0);
        }
    }
    return cells[width] * (sizeof(double) + sizeof(Count)) + sets[width] * (4.0 * width + 8.0);
}

/// Adds the joint counts of a set of features over the rows within the limits.
template <typename Count>
void JointStore<Count>::reduce(const Batch &batch, const std::vector<CodeLimit> &limits, std::span<const int> set,
                               Count *out) const {
    struct Dimension {
        const std::vector<std::uint8_t> *codes; ///< null: all
        int n_codes;
        std::size_t from_stride;
        std::size_t to_stride;
    };
    std::vector<int> features(set.begin(), set.end());
    for (const CodeLimit &limit : limits) {
        features.push_back(limit.feature);
    }
    std::sort(features.begin(), features.end());
    features.erase(std::unique(features.begin(), features.end()), features.end());
    for (int f = 0; static_cast<int>(features.size()) < batch.width; ++f) {
        if (!contains(features, f)) {
            features.insert(std::upper_bound(features.begin(), features.end(), f), f);
        }
    }
    std::vector<Dimension> dimensions(features.size());
    std::size_t from_stride = problem_.n_classes;
    std::size_t to_stride = problem_.n_classes;
    int contiguous = static_cast<int>(features.size()); // from here on all codes are kept
    for (int d = contiguous - 1; d >= 0; --d) {
        const int f = features[d];
        const int n_codes = problem_.features[f].n_codes;
        const bool kept = std::find(set.begin(), set.end(), f) != set.end();
        const auto limit =
            std::find_if(limits.begin(), limits.end(), [&](const CodeLimit &l) { return l.feature == f; });
        dimensions[d] = {limit == limits.end() ? nullptr : &limit->codes, n_codes, from_stride, kept ? to_stride : 0};
        if (kept && limit == limits.end() && contiguous == d + 1) {
            contiguous = d;
        }
        from_stride *= n_codes;
        to_stride *= kept ? n_codes : 1;
    }
    const std::size_t run =
        contiguous < static_cast<int>(features.size())
            ? dimensions[contiguous].from_stride * static_cast<std::size_t>(dimensions[contiguous].n_codes)
            : static_cast<std::size_t>(problem_.n_classes);
    const auto add = [&](const auto &self, int d, const Count *from, Count *to) -> void {
        if (d == contiguous) {
            for (std::size_t i = 0; i < run; ++i) {
                to[i] += from[i];
            }
            return;
        }
        const Dimension &dimension = dimensions[d];
        const int n = dimension.codes != nullptr ? static_cast<int>(dimension.codes->size()) : dimension.n_codes;
        for (int i = 0; i < n; ++i) {
            const int code = dimension.codes != nullptr ? (*dimension.codes)[i] : i;
            self(self, d + 1, from + code * dimension.from_stride, to + code * dimension.to_stride);
        }
    };
    add(add, 0, batch.table(features), out);
}

template <typename Count> const std::vector<Count> *NodeTables<Count>::of(int n) {
    const std::lock_guard lock(mutex_);
    if (known_[n] == 0) {
        known_[n] = store_.sum(limits_, n, counts_[n]) ? 1 : 2;
    }
    return known_[n] == 1 ? &counts_[n] : nullptr;
}

template <typename Count>
TableCounter<Count>::TableCounter(const Shared<Count> &shared, JointStore<Count> &store)
    : shared_(shared), problem_(shared.problem), store_(store),
      n_features_(static_cast<int>(shared.problem.features.size())), n_classes_(shared.problem.n_classes) {}

template <typename Count> Samples<Count> TableCounter<Count>::root() const {
    Samples<Count> samples;
    samples.id = new_samples_id();
    samples.tables = std::make_shared<NodeTables<Count>>(store_, std::vector<CodeLimit>{});
    return samples;
}

template <typename Count> std::vector<Count> TableCounter<Count>::totals(const Samples<Count> &samples) {
    if (samples.tables->limits().empty()) {
        return {problem_.counts.begin(), problem_.counts.end()};
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

template <typename Count> const Count *TableCounter<Count>::slab(const Samples<Count> &samples, int feature) {
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
        if (other == feature) {
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

template class JointStore<std::int32_t>;
template class JointStore<double>;
template class NodeTables<std::int32_t>;
template class NodeTables<double>;
template class TableCounter<std::int32_t>;
template class TableCounter<double>;

} // namespace omtree
