// The conditions that lead to a node, as the searches walk down.
#pragma once

#include <cstdint>
#include <span>

#include "trees/cache.hpp"

namespace omtree {

/// A list from the node up to the root, kept on the stack of the search. Of a feature that was tested several times
/// only the last condition counts: the others hold all of its codes.
class NodePath {
  public:
    NodePath() = default;
    NodePath(const NodePath &above, int feature, std::span<const std::uint8_t> codes)
        : above_(&above), feature_(feature), set_(above.set_), n_features_(above.n_features_ + 1) {
        own_.add(feature, codes);
        for (const NodePath *node = &above; node->above_ != nullptr; node = node->above_) {
            if (node->feature_ == feature) {
                set_ = set_.without(node->own_);
                --n_features_;
                break;
            }
        }
        set_.a += own_.a;
        set_.b += own_.b;
    }
    NodePath(const NodePath &) = delete;
    NodePath &operator=(const NodePath &) = delete;

    /// By which the samples are known again, in whatever order the features were tested.
    const ConditionSet &set() const { return set_; }
    /// Whether this feature was tested, and no other.
    bool only(int feature) const { return n_features_ == 1 && feature_ == feature; }

  private:
    const NodePath *above_ = nullptr;
    int feature_ = -1;
    ConditionSet set_;
    ConditionSet own_;
    int n_features_ = 0; ///< that were tested
};

} // namespace omtree
