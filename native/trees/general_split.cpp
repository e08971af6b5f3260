#include "trees/general_split.hpp"

namespace omtree::general {

/// The codes that satisfy the condition of a block: those that occur in it, and where the block is a run also the ones
/// behind each of them that no row has, so that the blocks of a way cover the feature's domain.
CodeMask Searcher::mask_of(const Partition &partition, const std::vector<int> &present,
                           const std::vector<std::uint8_t> &codes, int feature, int block) const {
    const SearchFeature &f = problem_.features[feature];
    const CodeMask &domain = path.domain(feature);
    const auto bit = [](int code) { return std::uint64_t{1} << (code % 64); };
    CodeMask mask{};
    if (const ForcedNode *given = path.given(); given != nullptr && !given->parts.empty()) {
        for (const std::uint8_t code : codes) {
            for (const CodeMask &part : given->parts) {
                for (std::size_t word = 0; (part[code / 64] & bit(code)) && word < mask.size(); ++word) {
                    mask[word] |= part[word] & domain[word];
                }
            }
            mask[code / 64] |= bit(code);
        }
        return mask;
    }
    if (partition.is_complement(block)) {
        mask = domain;
        std::vector<int> inside;
        partition.positions(block, inside);
        const int k = static_cast<int>(present.size());
        for (int p = 0, at = 0; p < k; ++p) {
            if (at < static_cast<int>(inside.size()) && inside[at] == p) {
                ++at;
            } else {
                mask[present[p] / 64] &= ~bit(present[p]);
            }
        }
        return mask;
    }
    bool inside[256] = {};
    bool occurs[256] = {};
    for (const int code : present) {
        occurs[code] = true;
    }
    for (const std::uint8_t code : codes) {
        inside[code] = true;
        mask[code / 64] |= bit(code);
    }
    if (f.family != Family::interval && f.family != Family::run) {
        return mask;
    }
    const bool has_missing = f.family == Family::interval && f.has_missing;
    bool taken = inside[present.front()];
    for (int i = 0; i < f.n_codes - has_missing; ++i) {
        const int code = f.order.empty() ? i : f.order[i];
        taken = occurs[code] ? inside[code] : taken;
        if (taken && (domain[code / 64] & bit(code))) {
            mask[code / 64] |= bit(code);
        }
    }
    return mask;
}

/// What is known about a block before its subtrees are: its value as a leaf, or a bound on that, and bounds beyond.
void Searcher::judge_block(Level &level, int block, bool single) {
    const int n = shared_.n_statistics;
    const int child_budget = level.partition.child_budget();
    const double *sums = level.sums.data();
    double *values = level.partition.values(block);
    const auto settle = [&](double value) {
        std::fill(values + 1, values + child_budget + 1, value);
        level.known[block] = 2;
    };
    if (judge_.hopeless(sums)) {
        settle(infinity);
        return;
    }
    const double paid = level.paid * sums[0];
    const double lower = shared_.bounded ? sums[n] + paid : -infinity;
    if (!shared_.by_rows || !level.complete) {
        double leaf = infinity;
        if (level.complete) {
            leaf = path.given() == nullptr && judge_.unlimited()
                       ? judge_.bare_loss(sums, {}) + paid // supported, or it were hopeless
                       : judge_given(given_below(level, block), sums, {}, {}, level.paid).loss;
        }
        if (child_budget == 1 || leaf <= lower + shared_.tolerance) {
            settle(leaf);
            return;
        }
        values[1] = leaf;
        level.known[block] = 1;
        std::fill(values + 2, values + child_budget + 1, lower);
        return;
    }
    if (single && level.leaves_known && child_budget == 1) {
        settle(lower);
        return;
    }
    level.known[block] = 0;
    values[1] = shared_.bounded && judge_.additive_loss() ? judge_.bare_loss(sums, {}) + paid : lower;
    std::fill(values + 2, values + child_budget + 1, std::min(lower, values[1]));
}

/// What is given of the child that a block would be.
const ForcedNode *Searcher::given_below(Level &level, int block) const {
    if (path.given() == nullptr) {
        return nullptr;
    }
    level.partition.positions(block, level.positions);
    return path.given_below(level.feature, level.present[level.positions[0]]);
}

/// Leaves only the blocks that are the given parts; false where one of those has no rows.
bool Searcher::keep_to(const ForcedNode &given, Level &level) {
    Partition &partition = level.partition;
    const auto part_of = [&](int code) {
        for (std::size_t part = 0; part < given.parts.size(); ++part) {
            if (given.parts[part][code / 64] >> (code % 64) & 1) {
                return static_cast<int>(part);
            }
        }
        return -1;
    };
    std::vector<int> size(given.parts.size(), 0);
    for (const int code : level.present) {
        const int part = part_of(code);
        if (part >= 0 && code != given.free_code) {
            ++size[part];
        }
    }
    if (std::find(size.begin(), size.end(), 0) != size.end()) {
        return false;
    }
    for (int block = 0; block < partition.n_blocks(); ++block) {
        if (!partition.usable(block)) {
            continue;
        }
        partition.positions(block, level.positions);
        int part = -1;
        int found = 0;
        bool fits = true;
        for (const int position : level.positions) {
            const int code = level.present[position];
            if (code != given.free_code) {
                fits = fits && part_of(code) >= 0 && (part < 0 || part == part_of(code));
                part = part_of(code);
                ++found;
            }
        }
        if (!fits || (found > 0 && found != size[part])) {
            std::fill_n(partition.values(block) + 1, partition.child_budget(), infinity);
            level.known[block] = 2;
        }
    }
    return true;
}

/// The rows of the level's codes, in increasing order.
void Searcher::gather_rows(Level &level) {
    level.rows.clear();
    for (const std::uint8_t code : level.codes) {
        level.rows.insert(level.rows.end(), level.by_code[code].begin(), level.by_code[code].end());
    }
    if (level.codes.size() > 1) {
        std::sort(level.rows.begin(), level.rows.end());
    }
}

void Searcher::judge_child(Level &level, int block) {
    const int child_budget = level.partition.child_budget();
    double *values = level.partition.values(block);
    // The same rule is met again below other orders of its tests.
    const ConditionSet key = path.key();
    double leaf;
    if (problem_.use_cache && shared_.cache.find(key, 0, level.remembered)) {
        leaf = level.remembered.values[0];
        ++statistics.cache_hits;
    } else {
        gather_rows(level);
        leaf = judge_leaf(level.rows).loss;
        if (problem_.use_cache) {
            shared_.cache.store(key, 0, {{leaf}, {}, {}});
        }
    }
    level.known[block] = 1;
    if (child_budget == 1 || (shared_.bounded && leaf <= values[child_budget] + shared_.tolerance)) {
        level.known[block] = 2;
        std::fill(values + 1, values + child_budget + 1, leaf);
    }
    values[1] = leaf;
    for (int m = 2; m <= child_budget; ++m) {
        values[m] = std::min(values[m], leaf);
    }
}

/// Prepares a level for splitting by a feature whose histogram it has; false when there is nothing to gain.
bool Searcher::begin(Level &level, int feature, int depth, int budget, const std::vector<double> &upper,
                     const Values &out) {
    const SearchFeature &f = problem_.features[feature];
    const int n = shared_.n_statistics;
    level.begun = false;
    level.feature = feature;
    level.present.clear();
    level.missing = false;
    level.all_floors = 0.0;
    double weight = 0.0;
    for (int i = 0; i < f.n_codes; ++i) {
        const int code = f.order.empty() ? i : f.order[i];
        const double *sums = &level.histogram[code * width_];
        if (sums[0] > 0.0) {
            level.present.push_back(code);
            level.missing = f.family == Family::interval && f.has_missing && code == f.n_codes - 1;
            level.all_floors += sums[n];
            weight += sums[0];
        }
    }
    const int k = static_cast<int>(level.present.size());
    level.complete = judge_.may_test(path.columns_with(feature), level.paid);
    if (k < 2 || (depth == 1 && !level.complete)) {
        return false;
    }
    double most = -infinity;
    level.upper.assign(budget + 1, infinity);
    for (int m = 1; m <= budget; ++m) {
        const double tie = feature < out.feature[m] ? shared_.tolerance : -shared_.tolerance;
        level.upper[m] = std::min(upper[m], out.loss[m] + tie);
        most = m > 1 ? std::max(most, level.upper[m]) : most;
    }
    if (shared_.bounded && level.all_floors + level.paid * weight >= most) {
        return false;
    }
    int partition_budget = budget;
    if (depth == 1) {
        partition_budget = std::min(budget, problem_.max_children > 0 ? std::min(k, problem_.max_children) : k);
    }
    Partition &partition = level.partition;
    partition.reset(f.family, k - level.missing, level.missing, problem_.max_children, partition_budget,
                    depth == 1 ? 1 : std::min(budget - 1, shared_.most_leaves[depth - 1]));
    level.known.assign(partition.n_blocks(), 2);
    level.sums.resize(width_);
    const auto add = [&](int position) {
        const double *more = &level.histogram[level.present[position] * width_];
        for (int s = 0; s <= n; ++s) {
            level.sums[s] += more[s];
        }
    };
    const bool runs = f.family != Family::subset && f.family != Family::value;
    const int plain = k - level.missing;
    for (int first = 0; runs && first < plain; ++first) {
        std::fill(level.sums.begin(), level.sums.end(), 0.0);
        for (int end = first + 1; end <= plain; ++end) {
            add(end - 1);
            if (partition.usable(partition.run(first, end))) {
                judge_block(level, partition.run(first, end), end == first + 1);
            }
        }
    }
    for (int block = runs ? plain * plain : 0; block < partition.n_blocks(); ++block) {
        if (partition.usable(block)) {
            std::fill(level.sums.begin(), level.sums.end(), 0.0);
            partition.positions(block, level.positions);
            for (const int position : level.positions) {
                add(position);
            }
            judge_block(level, block, level.positions.size() == 1);
        }
    }
    if (judge_.predicate && f.family == Family::run) {
        // "All but one" leaves values that no row has to the others; a run of one takes those behind it. A predicate
        // may tell the two apart, so that only one without such values is split off.
        for (int p = 0; p < k; ++p) {
            const int complement = k * k + p;
            level.codes.assign(1, static_cast<std::uint8_t>(level.present[p]));
            CodeMask alone{};
            alone[level.present[p] / 64] = std::uint64_t{1} << (level.present[p] % 64);
            if (partition.usable(complement) && mask_of(level, feature, partition.run(p, p + 1)) != alone) {
                std::fill_n(partition.values(complement) + 1, partition.child_budget(), infinity);
                level.known[complement] = 2;
            }
        }
    }
    const ForcedNode *given = path.given();
    if (given != nullptr && !given->parts.empty() && !keep_to(*given, level)) {
        return false;
    }
    level.begun = true;
    return true;
}

/// Take over what the partition found, where it is better; of equal splits the earlier feature's.
void Searcher::accept(Level &level, int feature, int budget, const std::vector<double> &upper, Values &out,
                      bool record) {
    const Partition &partition = level.partition;
    const double tolerance = shared_.tolerance;
    for (int m = 2; m <= budget; ++m) {
        const double value = m <= partition.budget() ? partition.best(m) : infinity;
        const bool better = value < out.loss[m] - tolerance || (out.loss[m] == infinity && value < infinity);
        if (value < upper[m] && (better || (feature < out.feature[m] && value <= out.loss[m] + tolerance))) {
            out.loss[m] = value;
            out.feature[m] = feature;
            if (record) {
                out.split.resize(budget + 1);
                Split &split = out.split[m];
                split = {feature, false, {}};
                partition.choice(m, level.choice);
                for (const auto &[block, leaves] : level.choice) {
                    partition.positions(block, level.positions);
                    level.codes.clear();
                    for (const int position : level.positions) {
                        level.codes.push_back(static_cast<std::uint8_t>(level.present[position]));
                    }
                    split.complement |= partition.is_complement(block);
                    const CodeMask mask = mask_of(level, feature, block);
                    std::sort(level.codes.begin(), level.codes.end());
                    split.children.push_back({level.codes, mask, leaves, partition.value(block, leaves)});
                }
            }
        }
        if (out.loss[m] >= out.loss[m - 1] - tolerance && out.loss[m - 1] < infinity) {
            out.loss[m] = out.loss[m - 1];
            out.feature[m] = out.feature[m - 1];
            if (record && !out.split.empty()) {
                out.split[m] = out.split[m - 1];
            }
        }
    }
}

} // namespace omtree::general
