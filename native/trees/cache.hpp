// What is known about subproblems, by the set of conditions that leads to them.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

namespace omtree {

/// A set of conditions as the sum of their hashes: the order in which they were taken does not matter.
struct ConditionSet {
    std::uint64_t a = 0;
    std::uint64_t b = 0;

    bool operator==(const ConditionSet &) const = default;
    void add(int feature, std::span<const std::uint8_t> codes) {
        std::uint64_t x = 0x9e3779b97f4a7c15ull * (feature + 1);
        for (const std::uint8_t code : codes) {
            x = mix(x ^ code) + code;
        }
        a += mix(x);
        b += mix(x ^ 0xd6e8feb86659fd93ull);
    }
    /// The set without a part of it.
    ConditionSet without(const ConditionSet &part) const { return {a - part.a, b - part.b}; }
    static std::uint64_t mix(std::uint64_t x) {
        x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
        x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
        return x ^ (x >> 31);
    }
};

/// Loss by number of leaves: exact where `exact` has the bit, a lower bound elsewhere.
struct Known {
    std::vector<double> values;
    std::vector<bool> exact;
    std::vector<int> feature; ///< at the root, -1 where a leaf or a shallower tree is as good
};

inline std::size_t bytes_of(const Known &known) {
    return 160 + known.values.size() * (sizeof(double) + sizeof(int)) + known.exact.size() / 8;
}

/// Bounded memory: once full, a shard is emptied and starts anew.
template <typename Entry> class BoundedCache {
  public:
    explicit BoundedCache(std::size_t bytes) : limit_(bytes / shards_.size()) {}

    bool find(ConditionSet key, int depth, Entry &out) {
        key.b += depth;
        Shard &shard = shards_[key.a % shards_.size()];
        const std::lock_guard lock(shard.mutex);
        const auto found = shard.map.find(key);
        if (found == shard.map.end()) {
            return false;
        }
        out = found->second;
        return true;
    }

    void store(ConditionSet key, int depth, const Entry &known) {
        key.b += depth;
        const std::size_t bytes = bytes_of(known);
        Shard &shard = shards_[key.a % shards_.size()];
        const std::lock_guard lock(shard.mutex);
        if (shard.bytes + bytes > limit_) {
            shard.map.clear();
            shard.bytes = 0;
        }
        if (bytes <= limit_) {
            shard.bytes += bytes;
            shard.map.insert_or_assign(key, known);
        }
    }

    void clear() {
        for (Shard &shard : shards_) {
            shard.map.clear();
            shard.bytes = 0;
        }
    }

    std::size_t size() const {
        std::size_t total = 0;
        for (const Shard &shard : shards_) {
            total += shard.map.size();
        }
        return total;
    }

  private:
    struct Hash {
        std::size_t operator()(const ConditionSet &key) const { return key.a ^ key.b; }
    };
    struct Shard {
        std::mutex mutex;
        std::unordered_map<ConditionSet, Entry, Hash> map;
        std::size_t bytes = 0;
    };

    std::array<Shard, 16> shards_;
    std::size_t limit_;
};

using SearchCache = BoundedCache<Known>;

} // namespace omtree
