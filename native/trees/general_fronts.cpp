#include "trees/general_fronts.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>

#include "trees/general_place.hpp"
#include "trees/general_vectors.hpp"
#include "trees/general_ways.hpp"

namespace omtree {
namespace general {
namespace {

/// A node of a tree that many trees may share; the first ones are a leaf per label.
struct SharedNode {
    int label = 0;
    int feature = -1;
    bool complement = false;
    std::vector<std::pair<std::vector<std::uint8_t>, int>> branches;
};

class Fronts {
  public:
    Fronts(const FrontTask &task, Control &control)
        : task_(task), shared_(task.problem), searcher_(shared_, control), order_(task, shared_.judge),
          places_(shared_, searcher_, task.problem.max_depth), screens_(task.problem.max_depth + 1) {
        const int depth = task.problem.max_depth;
        budgets_ = leaf_budgets(shared_);
        // Where every tree of the depth has few enough leaves, their number need not be counted.
        int widest = 2;
        for (const SearchFeature &feature : task.problem.features) {
            widest = std::max(widest, feature.n_codes);
        }
        if (task.problem.max_children > 0) {
            widest = std::min(widest, task.problem.max_children);
        }
        order_.count_leaves = std::pow(widest, depth) > task.problem.max_leaves;
        for (int label = 0; label < task.n_labels; ++label) {
            nodes_.push_back({label, -1, false, {}});
        }
    }

    FrontResult run() {
        FrontResult result;
        const int depth = task_.problem.max_depth;
        Front front;
        try {
            result.best = std::isnan(task_.least) ? least(depth) : task_.least;
            result.finished = true;
            if (result.best < infinity) {
                front = solve(places_.whole(depth), depth, result.best + task_.budget, result.finished);
            }
        } catch (const Stopped &) {
            result.finished = false;
        }
        result.overflow = overflow_;
        order_.count_leaves = false;
        order_.prune(front);
        for (const Entry &entry : front) {
            result.vectors.insert(result.vectors.end(), entry.number.begin(), entry.number.begin() + task_.n_forms);
            result.losses.push_back(entry.value);
            result.leaves.push_back(entry.leaves);
            result.trees.emplace_back();
            write(entry.link, result.trees.back());
        }
        return result;
    }

  private:
    /// Least loss of any tree; shallow ones first, as they bound the deep ones.
    double least(int depth) {
        double best = searcher_.judge_leaf(shared_.rows).loss;
        const double leaf = best;
        const int budget = budgets_[depth];
        for (int d = 1; d <= depth; ++d) {
            Values values;
            values.start(budget, leaf);
            const std::vector<double> upper(budget + 1, best + shared_.tolerance);
            searcher_.solve(shared_.rows, d, std::min(budget, shared_.most_leaves[d]), upper, values);
            best = std::min(best, values.loss[std::min(budget, shared_.most_leaves[d])]);
        }
        return best;
    }

    /// A split of the box on the way: which child the last block got, and the steps before.
    struct Link {
        int before;
        int split; ///< in `splits`
        int block;
        int child; ///< a node
    };
    struct Box {
        std::vector<std::pair<int, Screen>> splits; ///< feature and what is known about its ways
        std::vector<Link> links;
        Front front;
    };

    /// Vectors of all trees on the rows, which the path leads to, that cost at most `cap`; none better than another.
    Front solve(const Place &place, int depth, double cap, bool &finished) {
        Box box;
        double paid = 0.0;
        bool any_label = false;
        if (shared_.judge.may_test(searcher_.path.columns(), paid)) {
            any_label = add_leaf(searcher_.path.given(), place.sums.data(), place.rows, paid, cap, box.front);
        }
        // A split into leaves of one label is no better than the leaf.
        const bool mixed =
            any_label && depth == 1 && places_.counted(depth) && shared_.bounded && shared_.judge.prices.weight == 0.0;
        const int label = shared_.judge.bare(place.sums.data(), place.rows).label;
        try {
            for (int f = 0; f < shared_.n_features && budgets_[depth] > 1 && depth > 0; ++f) {
                if (!mixed || (searcher_.may_split(f) &&
                               order_.least_mixed(&place.counts[shared_.first_code[f] * shared_.n_statistics], f) <=
                                   cap + shared_.tolerance)) {
                    split(place, depth, f, cap, box);
                }
            }
        } catch (const Stopped &) {
            if (!searcher_.path.columns().empty()) {
                throw;
            }
            finished = false; // the splits that are done stand
        }
        tidy(box.front);
        for (Entry &entry : box.front) {
            if (entry.link >= 0) {
                entry.link = node_of(box, entry.link, label);
            } else {
                entry.link = -1 - entry.link;
            }
        }
        return std::move(box.front);
    }

    /// Adds what the rows give as a leaf, for every label they may have; a leaf's link is -1 - label. Returns whether
    /// they may have any.
    bool add_leaf(const ForcedNode *given, const double *sums, RowNumbers rows, double paid, double cap, Front &front) {
        std::vector<char> labels;
        if ((given != nullptr && given->feature >= 0) ||
            !shared_.judge.allow(sums, rows, searcher_.path.conditions(), labels)) {
            return false;
        }
        if (given != nullptr && !given->labels.empty()) {
            labels.resize(given->labels.size(), 1);
            std::transform(labels.begin(), labels.end(), given->labels.begin(), labels.begin(), std::logical_and<>());
        }
        for (int label = 0; label < task_.n_labels; ++label) {
            if (!labels.empty() && !labels[label]) {
                continue;
            }
            Entry entry;
            entry.leaves = 1;
            entry.link = -1 - label;
            entry.value = order_.leaf(sums, label, paid, entry.number);
            if (entry.value <= cap + shared_.tolerance && order_.may_meet_demands(entry)) {
                front.push_back(entry);
            }
        }
        return labels.empty();
    }

    void split(const Place &place, int depth, int feature, double cap, Box &box) {
        Screen &screen = screens_[depth];
        const double below = cap + 2 * shared_.tolerance;
        if (places_.counted(depth) ? !searcher_.screen(place.counts, depth, budgets_[depth], feature, below, screen)
                                   : !searcher_.screen(place.rows, depth, budgets_[depth], feature, below, screen)) {
            return;
        }
        const Partition &partition = screen.partition;
        const int budget = partition.budget();
        const std::size_t width = budget + 1;
        const Ways ways(partition, task_.problem.features[feature].family, screen.k, screen.missing,
                        task_.problem.max_children);
        const std::vector<double> after = ways.to_the_end(partition, budget);
        const std::vector<double> before = ways.from_the_start(partition, budget);
        std::vector<double> caps(partition.n_blocks(), -infinity);
        for (const Ways::Step &step : ways.steps) {
            double others = infinity;
            for (int m = 0; m < budget; ++m) {
                others = std::min(others, before[step.from * width + m] + after[step.to * width + budget - 1 - m]);
            }
            if (others < infinity) {
                caps[step.block] = std::max(caps[step.block], cap - others);
            }
        }
        const int number = static_cast<int>(box.splits.size());
        std::vector<std::shared_ptr<const Front>> children(partition.n_blocks());
        std::vector<Front> fronts(ways.n_states);
        fronts[0].push_back({});
        int at = -1;
        for (const Ways::Step &step : ways.steps) {
            if (step.from != at) {
                at = step.from;
                tidy(fronts[at]);
            }
            const int block = step.block;
            if (fronts[at].empty() ||
                caps[block] + shared_.tolerance < partition.value(block, partition.child_budget())) {
                continue;
            }
            if (!children[block]) {
                children[block] = child(depth, feature, screen, block, caps[block]);
            }
            combine(fronts[at], *children[block], &after[step.to * width], budget, cap, {0, number, block, 0}, box,
                    fronts[step.to]);
        }
        const Front &found = fronts.back();
        if (!found.empty()) {
            box.front.insert(box.front.end(), found.begin(), found.end());
            box.splits.emplace_back(feature, screen);
        }
    }

    void tidy(Front &front) {
        order_.prune(front);
        overflow_ = order_.cut(front, task_.most_vectors) || overflow_;
    }

    /// Adds a child to every way so far; `after` is the least that the rest costs, by leaves.
    void combine(const Front &from, const Front &child, const double *after, int budget, double cap, Link link,
                 Box &box, Front &to) {
        const double most = cap + shared_.tolerance;
        const std::size_t before = to.size();
        std::size_t enough = 2 * before + 4096;
        for (const Entry &first : from) {
            searcher_.check();
            for (const Entry &second : child) {
                const double value = first.value + second.value;
                const int leaves = first.leaves + second.leaves;
                if (value + after[budget] > most) {
                    break; // the child's vectors are in the order of their values
                }
                if (leaves > budget || value + after[budget - leaves] > most) {
                    continue;
                }
                Entry sum = first;
                sum.value = value;
                sum.leaves = leaves;
                sum.child = second.link;
                for (int i = 0; i < order_.n_numbers(); ++i) {
                    sum.number[i] += second.number[i];
                }
                if (order_.may_meet_demands(sum)) {
                    to.push_back(sum);
                }
            }
            if (to.size() > enough) {
                tidy(to);
                enough = 2 * to.size() + 4096;
            }
        }
        if (to.size() > before + 64) {
            tidy(to);
        }
        for (Entry &entry : to) {
            if (entry.child >= 0) {
                link.before = entry.link;
                link.child = std::exchange(entry.child, -1);
                entry.link = static_cast<int>(box.links.size());
                box.links.push_back(link);
            }
        }
    }

    std::shared_ptr<const Front> child(int depth, int feature, const Screen &screen, int block, double cap) {
        const int stride = shared_.n_statistics + 1;
        screen.codes(block, codes_);
        sums_.assign(shared_.n_statistics, 0.0);
        for (const std::uint8_t code : codes_) {
            for (int s = 0; s < shared_.n_statistics; ++s) {
                sums_[s] += screen.histogram[code * stride + s];
            }
        }
        if (depth == 1 && !shared_.by_rows) {
            Front front;
            if (screen.complete) {
                add_leaf(searcher_.path.given_below(feature, codes_[0]), sums_.data(), {}, screen.paid, cap, front);
                order_.prune(front);
            }
            for (Entry &entry : front) {
                entry.link = -1 - entry.link;
            }
            return std::make_shared<const Front>(std::move(front));
        }
        const CodeMask mask = searcher_.mask_of(screen, feature, block);
        const Path::Step step(searcher_.path, feature, mask, codes_[0]);
        ConditionSet key = searcher_.path.key();
        key.b += depth;
        const auto known = memo_.find(key);
        if (known != memo_.end() && known->second.cap >= cap) {
            return known->second.front;
        }
        bool finished = true;
        const auto front = std::make_shared<const Front>(
            solve(places_.below(depth, feature, codes_, mask, sums_), depth - 1, cap, finished));
        remembered_ += front->size() + 4;
        if (remembered_ * sizeof(Entry) > task_.problem.cache_bytes) {
            memo_.clear();
            remembered_ = front->size() + 4;
        }
        if (task_.problem.use_cache) {
            memo_[key] = {cap, front};
        }
        return front;
    }

    int node_of(const Box &box, int link, int label) {
        SharedNode node{label, box.splits[box.links[link].split].first, false, {}};
        for (; link >= 0; link = box.links[link].before) {
            const Link &last = box.links[link];
            const Screen &screen = box.splits[last.split].second;
            node.complement |= screen.partition.is_complement(last.block);
            node.branches.emplace_back(std::vector<std::uint8_t>(), last.child);
            screen.codes(last.block, node.branches.back().first);
        }
        std::reverse(node.branches.begin(), node.branches.end());
        nodes_.push_back(std::move(node));
        return static_cast<int>(nodes_.size()) - 1;
    }

    int write(int number, SearchTree &tree) const {
        const SharedNode &node = nodes_[number];
        const int position = static_cast<int>(tree.size());
        tree.push_back({node.label, node.feature, node.complement, {}});
        for (const auto &[codes, child] : node.branches) {
            const int below = write(child, tree);
            tree[position].branches.emplace_back(codes, below);
        }
        return position;
    }

    struct Known {
        double cap;
        std::shared_ptr<const Front> front;
    };
    struct Hash {
        std::size_t operator()(const ConditionSet &key) const { return key.a ^ key.b; }
    };

    const FrontTask &task_;
    Shared shared_;
    Searcher searcher_;
    VectorOrder order_;
    std::vector<int> budgets_; ///< most leaves by depth
    std::vector<SharedNode> nodes_;
    Places places_;
    std::vector<Screen> screens_; ///< by depth: of the feature that is split
    std::vector<std::uint8_t> codes_;
    std::vector<double> sums_;
    std::unordered_map<ConditionSet, Known, Hash> memo_;
    std::size_t remembered_ = 0;
    bool overflow_ = false;
};

} // namespace
} // namespace general

FrontResult attainable_vectors(const FrontTask &task, Control &control) {
    return general::Fronts(task, control).run();
}

} // namespace omtree
