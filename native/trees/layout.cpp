// What lies where in the counts of all features.
#include "trees/kernels.hpp"
#include "trees/multiway.hpp"

namespace omtree {

template <typename Count> void Shared<Count>::gather(const Count *histogram, int feature, Count *out) const {
    const auto [offset, code_stride, class_stride] = place[feature];
    for (int code = 0; code < problem.features[feature].n_codes; ++code) {
        for (int c = 0; c < problem.n_classes; ++c) {
            *out++ = histogram[offset + code * code_stride + c * class_stride];
        }
    }
}

template <typename Count>
double Shared<Count>::leaf_per_code(const Count *histogram, int feature, double enough,
                                    std::vector<Count> &counts) const {
    const int n = problem.features[feature].n_codes;
    counts.resize(n * problem.n_classes);
    gather(histogram, feature, counts.data());
    double sum = 0.0;
    for (int code = 0; code < n && sum < enough; ++code) {
        sum += cost.loss(counts.data() + code * problem.n_classes);
    }
    return sum;
}

template <typename Count>
bool Shared<Count>::find_present(const Count *counts, int feature, std::vector<int> &present, bool &missing) const {
    const SearchFeature &f = problem.features[feature];
    present.clear();
    missing = false;
    for (int i = 0; i < f.n_codes; ++i) {
        const int code = f.order.empty() ? i : f.order[i];
        bool occurs = false;
        for (int c = 0; c < problem.n_classes; ++c) {
            occurs |= counts[code * problem.n_classes + c] > 0;
        }
        if (occurs) {
            present.push_back(code);
            missing = f.family == Family::interval && f.has_missing && code == f.n_codes - 1;
        }
    }
    return present.size() > 1;
}

template <typename Count>
std::vector<int> Shared<Count>::close(Counter<Count> &counter, const Samples<Count> &samples,
                                      std::vector<char> &used) const {
    std::vector<int> closed;
    std::vector<Count> counts;
    for (int f = 0; f < static_cast<int>(problem.features.size()); ++f) {
        if (used[f]) {
            continue;
        }
        counts.assign(problem.features[f].n_codes * problem.n_classes, 0);
        counter.feature(samples, f, counts.data());
        double sum = 0.0;
        double largest = 0.0;
        for (int code = 0; code < problem.features[f].n_codes; ++code) {
            const double weight = cost.weight(counts.data() + code * problem.n_classes);
            sum += weight;
            largest = std::max(largest, weight);
        }
        if (!cost.supported(sum - largest)) {
            used[f] = 1;
            closed.push_back(f);
        }
    }
    return closed;
}

template <typename Count>
const Count *Shared<Count>::slab(const std::vector<Count> &cube, const std::vector<std::uint8_t> &codes, int feature,
                                 std::vector<Count> &room) const {
    const std::size_t table = static_cast<std::size_t>(n_codes) * width;
    const std::size_t size = static_cast<std::size_t>(problem.features[feature].n_codes) * width;
    const Count *first = cube.data() + static_cast<std::size_t>(first_code[feature]) * width;
    if (!subtracts) {
        room.assign(size, 0);
        for (const std::uint8_t code : codes) {
            add_counts(room.data(), first + code * table, size, room.data());
        }
        return room.data();
    }
    // The cube holds sums from the left, so neighbours are a difference.
    room.resize(size);
    Count *to = room.data();
    for (std::size_t i = 0; i < codes.size();) {
        std::size_t end = i + 1;
        while (end < codes.size() && codes[end] == codes[end - 1] + 1) {
            ++end;
        }
        const Count *right = first + codes[end - 1] * table;
        const Count *left = codes[i] > 0 ? first + (codes[i] - 1) * table : nullptr;
        if (i > 0) {
            add_counts(to, right, size, to);
            subtract_counts(to, left, size, to); // codes come in order, so that something is left of these
        } else if (left != nullptr) {
            subtract_counts(right, left, size, to);
        } else if (end == codes.size()) {
            return right;
        } else {
            std::copy_n(right, size, to);
        }
        i = end;
    }
    return to;
}

template <typename Count> void OpenFeatures::find(const Shared<Count> &shared, const std::vector<char> &used) {
    groups.clear();
    lane_of_.assign(shared.place.size(), {-1, -1});
    for (const auto &group : shared.groups) {
        LaneGroup lanes{group.offset, 0, group.subsets, group.complements, {}};
        for (int lane = 0; lane < n_lanes<Count>; ++lane) {
            const bool open = lane < static_cast<int>(group.features.size()) && !used[group.features[lane]];
            lanes.penalty[lane] = open ? 0 : no_leaf;
            if (open) {
                lanes.k = std::max(lanes.k, shared.problem.features[group.features[lane]].n_codes);
                lane_of_[group.features[lane]] = {static_cast<int>(groups.size()), lane};
            }
        }
        if (lanes.k > 0) {
            groups.push_back(lanes);
        }
    }
}

void OpenFeatures::set(int feature, bool open) {
    const auto [group, lane] = lane_of_[feature];
    if (group >= 0) {
        groups[group].penalty[lane] = open ? 0 : no_leaf;
    }
}

template void OpenFeatures::find(const Shared<std::int32_t> &, const std::vector<char> &);
template void OpenFeatures::find(const Shared<double> &, const std::vector<char> &);
template struct Shared<std::int32_t>;
template struct Shared<double>;

} // namespace omtree
