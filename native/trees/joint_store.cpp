#include "trees/joint_store.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <stdexcept>

#include "trees/joint_counts.hpp"

namespace omtree {
namespace {

/// With more features than this it pays to find out first which of them can be split at all, in a pass of its own.
constexpr int few_features = 20;
/// Features in the sets of the first batch, where the trees are deep enough.
constexpr int first_width = 3;

bool contains(const std::vector<int> &set, int feature) {
    return std::binary_search(set.begin(), set.end(), feature);
}

} // namespace

template <typename Count>
JointStore<Count>::JointStore(const SearchProblem &problem, JointSource &source, std::size_t bytes)
    : problem_(problem), source_(source), bytes_(static_cast<double>(bytes)),
      n_features_(static_cast<int>(problem.features.size())), closed_(n_features_, 0), n_open_(n_features_),
      looked_(n_features_ <= few_features) {
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
    const auto closed = [&](int f) { return closed_[f] != 0; };
    const std::vector<std::int32_t> sets = all_sets(n_features_, n);
    for (std::size_t s = 0; s < (n > 0 ? sets.size() / n : 1); ++s) {
        const std::span<const int> set(sets.data() + s * n, n);
        if (std::none_of(set.begin(), set.end(), closed)) {
            reduce(*batch, limits, set, out.data() + offset(set));
        }
    }
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
    const std::lock_guard lock(mutex_);
    if (!looked_) {
        close(*fetch({}, 1));
    }
    const int width = std::min(n_open_, static_cast<int>(inside.size()) + n);
    if (auto batch = known(inside, width)) {
        return batch;
    }
    // A pass over all rows is what takes long, so as much as there is room for is counted in one.
    const int first = std::max(width, std::min({first_width, problem_.max_depth, n_open_}));
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

/// A batch that is there with the tables of all sets of so many features that have these among them.
template <typename Count>
std::shared_ptr<const typename JointStore<Count>::Batch> JointStore<Count>::known(const std::vector<int> &inside,
                                                                                  int width) {
    for (auto batch = batches_.begin(); batch != batches_.end(); ++batch) {
        const std::vector<int> &all = (*batch)->inside;
        if ((*batch)->width >= width && std::includes(inside.begin(), inside.end(), all.begin(), all.end())) {
            batches_.splice(batches_.begin(), batches_, batch);
            return batches_.front();
        }
    }
    return nullptr;
}

/// Leaves out the features of which all values but one together lack the support.
template <typename Count> void JointStore<Count>::close(const Batch &singles) {
    looked_ = true;
    const LeafCost<Count> cost(problem_, std::accumulate(problem_.counts.begin(), problem_.counts.end(), 0.0));
    for (int f = 0; f < n_features_; ++f) {
        double total = 0.0;
        double largest = 0.0;
        for (int code = 0; code < problem_.features[f].n_codes; ++code) {
            const double weight = cost.weight(singles.table({f}) + code * problem_.n_classes);
            total += weight;
            largest = std::max(largest, weight);
        }
        closed_[f] = !cost.supported(total - largest);
        n_open_ -= closed_[f];
    }
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
        if (!closed_[f] && !contains(inside, f)) {
            others.push_back(f);
        }
    }
    const int more = width - static_cast<int>(inside.size());
    const std::vector<std::int32_t> chosen = all_sets(static_cast<int>(others.size()), more);
    std::vector<std::vector<std::int32_t>> sets;
    for (std::size_t s = 0; s < (more > 0 ? chosen.size() / more : 1); ++s) {
        std::vector<std::int32_t> set(inside.begin(), inside.end());
        for (int i = 0; i < more; ++i) {
            set.push_back(others[chosen[s * more + i]]);
        }
        std::sort(set.begin(), set.end());
        sets.push_back(std::move(set));
    }
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
        const bool base = (*old)->inside.empty() && (*old)->width <= first_width;
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
    std::vector<int> others;
    double counts = problem_.n_classes;
    for (int f = 0; f < n_features_; ++f) {
        if (contains(inside, f)) {
            counts *= problem_.features[f].n_codes;
        } else if (!closed_[f]) {
            others.push_back(problem_.features[f].n_codes);
        }
    }
    const JointExtent extent = extent_of_all_sets(others, width - static_cast<int>(inside.size()));
    return extent.cells * counts * (sizeof(double) + sizeof(Count)) + extent.sets * (4.0 * width + 8.0);
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
        if (!closed_[f] && !contains(features, f)) {
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

template class JointStore<std::int32_t>;
template class JointStore<double>;
template class NodeTables<std::int32_t>;
template class NodeTables<double>;

} // namespace omtree
