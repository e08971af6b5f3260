#include "trees/general_nearby.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "trees/general_leaf_parts.hpp"
#include "trees/general_parts.hpp"
#include "trees/general_place.hpp"
#include "trees/general_ways.hpp"

namespace omtree {
namespace general {
namespace {

template <class AnyPart> class Nearby {
    static constexpr bool labelled = std::is_same_v<AnyPart, LabelledPart>;
    using Parts = std::vector<AnyPart>;
    struct Box : Links {
        Parts found;
    };

  public:
    Nearby(const NearbyTask &task, Control &control)
        : task_(task), shared_(task.problem), searcher_(shared_, control), leaves_(task, shared_, searcher_),
          places_(shared_, searcher_, task.problem.max_depth), screens_(task.problem.max_depth + 1),
          budgets_(leaf_budgets(shared_)), sieve_(task.most_trees, task.problem.max_leaves, task.room) {}

    /// Caps that grow until there are enough trees.
    NearbyResult run() {
        NearbyResult result;
        const int depth = task_.problem.max_depth;
        const Place &whole = places_.whole(depth);
        const double all = shared_.judge.bare_loss(whole.sums.data(), whole.rows);
        const double unit = std::max(std::abs(all - task_.known) / 128, 4 * shared_.tolerance);
        double cap = task_.most_trees < unlimited ? -infinity : task_.cap;
        try {
            // Few trees are often as good as the best; binary trees are fewer than others.
            const double first = task_.problem.max_children == 2 ? 2 * unit : unit;
            for (double margin = task_.most_trees < many ? unit / 8 : first;; margin = std::max(unit, 2 * margin)) {
                cap = std::min(task_.cap, margin > 256 * unit ? infinity : std::max(cap, task_.known + margin));
                forget();
                const Parts found = solve(whole, depth, cap);
                take(found, sieve_.overflow ? result.reached : cap, result);
                if (sieve_.overflow || cap >= task_.cap || found.size() >= task_.most_trees) {
                    break;
                }
            }
            result.finished = true;
        } catch (const Stopped &) {
            result.finished = false;
        }
        result.overflow = sieve_.overflow;
        return result;
    }

    static constexpr std::size_t many = 256;
    static constexpr std::size_t unlimited = static_cast<std::size_t>(-1);

  private:
    void forget() {
        memo_.clear();
        remembered_ = 0;
        store_.forget(shared_.judge.n_labels());
        sieve_.overflow = false;
    }

    void take(const Parts &found, double cap, NearbyResult &result) {
        const std::size_t n = std::min(found.size(), task_.most_trees);
        store_.write_all(found, n, leaves_.n_demands(), task_.shapes, result);
        const bool enough = n > 0 && n == task_.most_trees;
        result.reached = enough ? std::min(cap, found[n - 1].value) : cap;
        result.exhausted = cap == infinity && !enough && !sieve_.overflow;
    }

    /// All trees on the rows, which the path leads to, that cost at most `cap`, in the order of their losses.
    Parts solve(const Place &place, int depth, double cap) {
        Box box;
        double leaf = infinity;
        double paid = 0.0;
        if (shared_.judge.may_test(searcher_.path.columns(), paid)) {
            leaf = leaves_.add(searcher_.path.given(), place.sums.data(), place.rows, paid, cap, box.found);
        }
        if (depth == task_.problem.max_depth) {
            split_root(place, cap, leaf, box);
        }
        for (int f = 0; f < shared_.n_features && budgets_[depth] > 1 && depth < task_.problem.max_depth; ++f) {
            split_any(place, depth, f, cap, leaf, box);
        }
        sieve_.tidy(box.found, true);
        const int label = shared_.judge.bare(place.sums.data(), place.rows).label;
        for (AnyPart &part : box.found) {
            if (part.node < 0) {
                part.node = store_.add(box, part.link, label);
                part.plain = false;
            }
        }
        return std::move(box.found);
    }

    /// Promising features first: once there are enough trees, only better ones than the last of them are of interest.
    void split_root(const Place &place, double cap, double leaf, Box &box) {
        const int depth = task_.problem.max_depth;
        std::size_t tidied = 0;
        for (const int f : searcher_.promising(place.rows)) {
            if (budgets_[depth] < 2 || depth == 0 || cap + shared_.tolerance < task_.bound) {
                return;
            }
            split_any(place, depth, f, cap, leaf, box);
            if (box.found.size() >= task_.most_trees && box.found.size() > tidied) {
                sieve_.tidy(box.found, true);
                tidied = box.found.size();
                if (tidied >= task_.most_trees) {
                    cap = std::min(cap, box.found[task_.most_trees - 1].value - 2 * shared_.tolerance);
                }
            }
        }
    }

    void split_any(const Place &place, int depth, int feature, double cap, double leaf, Box &box) {
        Screen &screen = screens_[depth];
        const double below = cap + 2 * shared_.tolerance;
        if (places_.counted(depth) ? !searcher_.screen(place.counts, depth, budgets_[depth], feature, below, screen)
                                   : !searcher_.screen(place.rows, depth, budgets_[depth], feature, below, screen)) {
            return;
        }
        const Ways &ways = ways_.of(screen.partition, task_.problem.features[feature].family, screen.k, screen.missing,
                                    task_.problem.max_children);
        if (!labelled && depth == 1 && !shared_.by_rows) {
            split_into_leaves(screen, ways, feature, cap, leaf, box);
        } else {
            split(place, screen, ways, depth, feature, cap, leaf, box);
        }
    }

    /// One more split: every way that costs at most `cap`, one by one.
    void split_into_leaves(const Screen &screen, const Ways &ways, int feature, double cap, double leaf, Box &box) {
        const Partition &partition = screen.partition;
        const int budget = partition.budget();
        const std::size_t width = budget + 1;
        const std::vector<double> after = ways.to_the_end(partition, budget);
        // Leaves that are no better than the one they are of are not another tree.
        const double most = task_.trivial ? cap + shared_.tolerance
                                          : std::min(cap + shared_.tolerance, leaf - 1.0001 * shared_.tolerance);
        const int number = static_cast<int>(box.splits.size());
        box.splits.push_back(feature);
        last_leaves_.assign(partition.n_blocks(), {});
        std::size_t enough = 2 * box.found.size() + 4096;
        const auto walk = [&](const auto &self, int state, double value, int leaves, ConditionSet hash,
                              int link) -> void {
            if ((++ticks_ & 1023) == 0) {
                searcher_.check();
            }
            for (int s = ways.first_steps[state]; s < ways.first_steps[state + 1]; ++s) {
                const auto [from, to, block] = ways.steps[s];
                const double longer = value + partition.value(block, 1) + task_.leaf_price;
                const double least = longer + after[to * width + budget - leaves - 1];
                if (least > most || least == infinity) {
                    continue;
                }
                LastLeaf &last = last_leaves_[block];
                if (last.codes < 0) {
                    judge_last(screen, feature, block, last);
                }
                const ConditionSet sum{hash.a + last.hash.a, hash.b + last.hash.b};
                box.links.push_back({link, number, last.codes, last.label, partition.is_complement(block)});
                const int here = static_cast<int>(box.links.size()) - 1;
                if (to == ways.n_states - 1) {
                    AnyPart &part = box.found.emplace_back();
                    part.value = longer;
                    part.leaves_hash = sum;
                    part.link = here;
                    part.leaves = static_cast<short>(leaves + 1);
                    if (box.found.size() > enough) {
                        sieve_.tidy(box.found, true);
                        enough = 2 * box.found.size() + 4096;
                    }
                } else if (leaves + 1 < budget) {
                    self(self, to, longer, leaves + 1, sum, here);
                }
            }
        };
        walk(walk, 0, 0.0, 0, {}, -1);
    }

    /// A leaf of the last split.
    struct LastLeaf {
        ConditionSet hash;
        int codes = -1;
        int label = 0;
    };

    void judge_last(const Screen &screen, int feature, int block, LastLeaf &last) {
        const std::vector<double> &sums = sums_of(screen, block);
        last.hash = leaves_.hash_of(sums.data());
        last.label = searcher_
                         .judge_given(searcher_.path.given_below(feature, codes_[0]), sums.data(), {},
                                      searcher_.path.conditions(), screen.paid)
                         .label;
        last.codes = store_.keep(codes_);
    }

    /// The statistics of a block, and its codes.
    const std::vector<double> &sums_of(const Screen &screen, int block) {
        const int n = shared_.n_statistics;
        screen.codes(block, codes_);
        sums_.assign(n, 0.0);
        for (const std::uint8_t code : codes_) {
            for (int s = 0; s < n; ++s) {
                sums_[s] += screen.histogram[code * (n + 1) + s];
            }
        }
        return sums_;
    }

    void split(const Place &place, Screen &screen, const Ways &ways, int depth, int feature, double cap, double leaf,
               Box &box) {
        const Partition &partition = screen.partition;
        const int budget = partition.budget();
        const std::size_t width = budget + 1;
        const std::vector<double> after = ways.to_the_end(partition, budget);
        // What every block was solved up to.
        std::vector<double> caps(partition.n_blocks(), -infinity);
        const int number = static_cast<int>(box.splits.size());
        box.splits.push_back(feature);
        std::vector<std::shared_ptr<const Parts>> children(partition.n_blocks());
        std::vector<int> codes(partition.n_blocks(), -1);
        std::vector<Parts> found(ways.n_states);
        found[0].push_back({});
        int at = -1;
        for (const Ways::Step &step : ways.steps) {
            if (step.from != at) {
                at = step.from;
                sieve_.tidy(found[at], false);
            }
            const int block = step.block;
            if (found[at].empty()) {
                continue;
            }
            // The children before are known by now, which leaves less for this one than bounds on them would.
            const double rest = after[step.to * width + budget - 1];
            const double most = cap - found[at].front().value - rest;
            if (rest == infinity || most + shared_.tolerance < partition.value(block, partition.child_budget())) {
                continue;
            }
            if (!children[block] || caps[block] < most) {
                caps[block] = most;
                children[block] = child(depth, feature, screen, block, most);
                if (codes[block] < 0 && !children[block]->empty()) {
                    screen.codes(block, codes_);
                    codes[block] = store_.keep(codes_);
                }
            }
            combine(found[at], *children[block], &after[step.to * width], budget, cap,
                    {0, number, codes[block], 0, partition.is_complement(block)}, box, found[step.to]);
        }
        for (AnyPart &part : found.back()) {
            if (task_.trivial || !part.plain) {
                box.found.push_back(part);
            } else if constexpr (labelled) {
                if (!leaves_.would_do(box.found, part)) {
                    // What could be said of these leaves as one depends on their parent.
                    const ConditionSet parent =
                        task_.by_conditions ? searcher_.path.key() : leaves_.hash_of(place.sums.data());
                    part.leaves_hash.a += ConditionSet::mix(~parent.a);
                    part.leaves_hash.b += ConditionSet::mix(~parent.b);
                    box.found.push_back(part);
                }
            } else if (part.value < leaf - shared_.tolerance) {
                // Leaves that are no better than the one they are of are not another tree.
                box.found.push_back(part);
            }
        }
    }

    /// Adds a child to every way so far; `after` is the least that the rest costs, by leaves.
    void combine(const Parts &from, const Parts &child, const double *after, int budget, double cap, ChildLink link,
                 Box &box, Parts &to) {
        const double most = cap + shared_.tolerance;
        const std::size_t before = to.size();
        std::size_t enough = 2 * before + 4096;
        for (const AnyPart &first : from) {
            if ((++ticks_ & 63) == 0) {
                searcher_.check();
            }
            for (const AnyPart &second : child) {
                const double value = first.value + second.value;
                const int leaves = first.leaves + second.leaves;
                if (value + after[budget] > most) {
                    break; // the children are in the order of their values
                }
                if (leaves > budget || value + after[budget - leaves] > most) {
                    continue;
                }
                AnyPart sum = first;
                sum.value = value;
                sum.leaves = static_cast<short>(leaves);
                sum.leaves_hash.a += second.leaves_hash.a;
                sum.leaves_hash.b += second.leaves_hash.b;
                sum.child = second.node;
                sum.plain = first.plain && second.plain;
                if constexpr (labelled) {
                    sum.rows_hash += second.rows_hash;
                    for (int d = 0; d < leaves_.n_demands(); ++d) {
                        sum.missed[d] += second.missed[d];
                    }
                    if (!leaves_.may_meet_demands(sum)) {
                        continue;
                    }
                }
                to.push_back(sum);
            }
            if (to.size() > enough) {
                sieve_.tidy(to, false);
                enough = 2 * to.size() + 4096;
            }
        }
        for (AnyPart &part : to) {
            if (part.child >= 0) {
                link.before = part.link;
                link.child = std::exchange(part.child, -1);
                part.link = static_cast<int>(box.links.size());
                box.links.push_back(link);
            }
        }
    }

    std::shared_ptr<const Parts> child(int depth, int feature, const Screen &screen, int block, double cap) {
        sums_of(screen, block);
        const std::vector<std::uint8_t> &codes = codes_;
        const CodeMask mask = searcher_.mask_of(screen, feature, block);
        const Path::Step step(searcher_.path, feature, mask, codes[0]);
        if (labelled && depth == 1 && !shared_.by_rows) {
            Parts leaves;
            if (screen.complete) {
                leaves_.add(searcher_.path.given(), sums_.data(), {}, screen.paid, cap, leaves);
                sieve_.tidy(leaves, true);
            }
            return std::make_shared<const Parts>(std::move(leaves));
        }
        ConditionSet key = searcher_.path.key();
        key.b += depth;
        const auto known = memo_.find(key);
        if (known != memo_.end() && known->second.cap >= cap) {
            return known->second.parts;
        }
        const auto parts =
            std::make_shared<const Parts>(solve(places_.below(depth, feature, codes, mask, sums_), depth - 1, cap));
        remembered_ += parts->size() + 4;
        if (remembered_ * sizeof(AnyPart) > task_.problem.cache_bytes) {
            memo_.clear();
            remembered_ = parts->size() + 4;
        }
        if (task_.problem.use_cache) {
            memo_[key] = {cap, parts};
        }
        return parts;
    }

    struct Known {
        double cap;
        std::shared_ptr<const Parts> parts;
    };

    const NearbyTask &task_;
    Shared shared_;
    Searcher searcher_;
    LeafParts<AnyPart> leaves_;
    Places places_;
    std::vector<Screen> screens_; ///< by depth: of the feature that is split
    std::vector<int> budgets_;    ///< most leaves by depth
    KnownWays ways_;
    std::vector<LastLeaf> last_leaves_; ///< by block of the split that is looked at
    Sieve sieve_;
    NodeStore store_;
    std::vector<std::uint8_t> codes_;
    std::vector<double> sums_;
    std::unordered_map<ConditionSet, Known, KeyHash> memo_;
    std::size_t remembered_ = 0;
    unsigned ticks_ = 0;
};

} // namespace
} // namespace general

NearbyResult nearby_trees(const NearbyTask &task, Control &control) {
    if (task.labelled) {
        return general::Nearby<general::LabelledPart>(task, control).run();
    }
    return general::Nearby<general::Part>(task, control).run();
}

} // namespace omtree
