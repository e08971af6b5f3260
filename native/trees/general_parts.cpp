#include "trees/general_parts.hpp"

#include <algorithm>
#include <bit>

namespace omtree::general {

ConditionSet leaf_hash(double first, double second) {
    const auto x = std::bit_cast<std::uint64_t>(first);
    const auto y = std::bit_cast<std::uint64_t>(second);
    const std::uint64_t both = ConditionSet::mix(x * 0x9e3779b97f4a7c15ull ^ ConditionSet::mix(y));
    return {both, ConditionSet::mix(both ^ (y * 0xd6e8feb86659fd93ull) ^ x)};
}

void NodeStore::forget(int n_labels) {
    nodes_.clear();
    codes_.clear();
    for (int label = 0; label < n_labels; ++label) {
        nodes_.push_back({label, -1, false, {}});
    }
}

int NodeStore::keep(std::vector<std::uint8_t> codes) {
    codes_.push_back(std::move(codes));
    return static_cast<int>(codes_.size()) - 1;
}

int NodeStore::add(const Links &box, int link, int label) {
    Node node{label, box.splits[box.links[link].split], false, {}};
    for (; link >= 0; link = box.links[link].before) {
        const ChildLink &last = box.links[link];
        node.complement |= last.complement;
        node.branches.emplace_back(last.codes, last.child);
    }
    std::reverse(node.branches.begin(), node.branches.end());
    nodes_.push_back(std::move(node));
    return static_cast<int>(nodes_.size()) - 1;
}

int NodeStore::write(int number, SearchTree &tree) const {
    const Node &node = nodes_[number];
    const int position = static_cast<int>(tree.size());
    tree.push_back({node.label, node.feature, node.complement, {}});
    for (const auto &[codes, child] : node.branches) {
        const int below = write(child, tree);
        tree[position].branches.emplace_back(codes_[codes], below);
    }
    return position;
}

} // namespace omtree::general
