#include "rules/exact_cover.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <unordered_map>

#include "core/stopwatch.hpp"

namespace omtree {
namespace {

using Word = std::uint64_t;

/// A set of rows that is known to have no cover of `rules` rules or less within `budget` and of loss `loss` or less.
///
/// Where rules are left over, a model's loss is above bound and reduced costs together, so that neither of the last two
/// follows from the other.
struct DeadEnd {
    double budget;
    double loss;
    int rules;
};

constexpr std::size_t most_dead_ends = 1u << 21;

class Search {
  public:
    Search(const CoverTask &task, const std::atomic<bool> &cancelled)
        : task_(task), watch_(task.seconds, cancelled), n_rules_(task.loss.size()), words_((task.n_rows + 63) / 64),
          bits_(n_rules_ * words_, 0), size_(n_rules_), hash_(n_rules_, 0), cutoff_(task.cutoff) {
        for (std::size_t j = 0; j < n_rules_; ++j) {
            for (const std::int32_t row : rows_of(j)) {
                bits_[j * words_ + static_cast<std::size_t>(row) / 64] |= Word{1} << (row % 64);
                hash_[j] += mixed(static_cast<std::uint64_t>(row));
            }
            size_[j] = static_cast<int>(rows_of(j).size());
            by_hash_[hash_[j]].push_back(static_cast<std::int32_t>(j));
        }
    }

    CoverResult run() {
        std::vector<Word> open(words_, 0);
        std::uint64_t hash = 0;
        for (std::size_t row = 0; row < task_.n_rows; ++row) {
            open[row / 64] |= Word{1} << (row % 64);
            hash += mixed(row);
        }
        std::vector<std::int32_t> candidates(n_rules_);
        for (std::size_t j = 0; j < n_rules_; ++j) {
            candidates[j] = static_cast<std::int32_t>(j);
        }
        std::stable_sort(candidates.begin(), candidates.end(), [&](std::int32_t a, std::int32_t b) {
            return task_.reduced_cost[static_cast<std::size_t>(a)] < task_.reduced_cost[static_cast<std::size_t>(b)];
        });
        visit(open, hash, static_cast<int>(task_.n_rows), task_.max_rules, 0.0, 0.0, candidates);
        best_.complete = !stopped_;
        return std::move(best_);
    }

  private:
    std::span<const std::int32_t> rows_of(std::size_t j) const {
        return task_.index.subspan(static_cast<std::size_t>(task_.start[j]),
                                   static_cast<std::size_t>(task_.start[j + 1] - task_.start[j]));
    }

    /// What may still be spent on reduced costs.
    double budget(double spent) const { return cutoff_ - task_.bound - spent; }

    /// Covers the `n_open` rows of `open` with at most `left` rules out of `candidates`, all of which fit.
    void visit(const std::vector<Word> &open, std::uint64_t hash, int n_open, int left, double spent, double loss,
               const std::vector<std::int32_t> &candidates) {
        if (n_open == 0) {
            accept(loss);
            return;
        }
        if (stopped_ || left == 0) {
            return;
        }
        // With many candidates a node takes long.
        if (((++best_.nodes & 255) == 0 || candidates.size() > 1000) && watch_.expired()) {
            stopped_ = true;
            return;
        }
        if (left <= 2) {
            finish(hash, left, spent, loss, open, candidates);
            return;
        }
        int largest = 0;
        for (const std::int32_t j : candidates) {
            largest = std::max(largest, size_[static_cast<std::size_t>(j)]);
        }
        if (static_cast<std::int64_t>(largest) * left < n_open || is_dead_end(hash, left, spent, loss)) {
            return;
        }
        const double cutoff_before = cutoff_;
        const std::size_t row = rarest_row(open, candidates);
        std::vector<Word> still_open(words_);
        std::vector<std::int32_t> fitting;
        for (const std::int32_t j : candidates) {
            const auto rule = static_cast<std::size_t>(j);
            const Word *bits = bits_.data() + rule * words_;
            if (!(bits[row / 64] >> (row % 64) & 1)) {
                continue;
            }
            const double cost = spent + task_.reduced_cost[rule];
            if (budget(cost) < 0.0) {
                break; // candidates come by reduced cost
            }
            if (!agrees(j)) {
                continue;
            }
            fitting.clear();
            for (const std::int32_t other : candidates) {
                const auto o = static_cast<std::size_t>(other);
                if (budget(cost + task_.reduced_cost[o]) < 0.0) {
                    break;
                }
                if (disjoint(bits, bits_.data() + o * words_)) {
                    fitting.push_back(other);
                }
            }
            for (std::size_t w = 0; w < words_; ++w) {
                still_open[w] = open[w] & ~bits[w];
            }
            chosen_.push_back(j);
            visit(still_open, hash - hash_[rule], n_open - size_[rule], left - 1, cost, loss + task_.loss[rule],
                  fitting);
            chosen_.pop_back();
            if (stopped_) {
                return;
            }
        }
        // Constraints couple the rules, so that a dead end for one choice above need not be one for another.
        const bool coupled = !task_.at_least.empty() || task_.conflict;
        if (cutoff_ == cutoff_before && !coupled && dead_ends_.size() < most_dead_ends) {
            dead_ends_[hash] = {budget(spent), cutoff_ - loss, left};
        }
    }

    /// One or two rules: their rows are known as a whole, so that the last one is looked up.
    void finish(std::uint64_t hash, int left, double spent, double loss, const std::vector<Word> &open,
                const std::vector<std::int32_t> &candidates) {
        last_rule(hash, spent, loss);
        if (left == 1) {
            return;
        }
        std::size_t row = 0;
        while (!(open[row / 64] >> (row % 64) & 1)) {
            ++row;
        }
        for (const std::int32_t j : candidates) {
            const auto rule = static_cast<std::size_t>(j);
            const double cost = spent + task_.reduced_cost[rule];
            if (budget(cost) < 0.0) {
                break;
            }
            if ((bits_[rule * words_ + row / 64] >> (row % 64) & 1) && agrees(j)) {
                chosen_.push_back(j);
                last_rule(hash - hash_[rule], cost, loss + task_.loss[rule]);
                chosen_.pop_back();
            }
        }
    }

    void last_rule(std::uint64_t hash, double spent, double loss) {
        const auto found = by_hash_.find(hash);
        if (found == by_hash_.end()) {
            return;
        }
        for (const std::int32_t j : found->second) {
            const auto rule = static_cast<std::size_t>(j);
            if (budget(spent + task_.reduced_cost[rule]) >= 0.0 && agrees(j)) {
                chosen_.push_back(j);
                accept(loss + task_.loss[rule]);
                chosen_.pop_back();
            }
        }
    }

    /// Whether a rule may be chosen together with those chosen already.
    bool agrees(std::int32_t rule) {
        return !task_.conflict || std::none_of(chosen_.begin(), chosen_.end(), [&](std::int32_t other) {
            const auto [low, high] = std::minmax(rule, other);
            const auto pair = static_cast<std::uint64_t>(low) << 32 | static_cast<std::uint32_t>(high);
            const auto known = conflicts_.find(pair);
            return known != conflicts_.end() ? known->second
                                             : conflicts_.emplace(pair, task_.conflict(low, high)).first->second;
        });
    }

    void accept(double loss) {
        if (loss > cutoff_) {
            return;
        }
        const std::size_t n = task_.at_least.size();
        for (std::size_t m = 0; m < n; ++m) {
            double total = 0.0;
            for (const std::int32_t j : chosen_) {
                total += task_.extra[static_cast<std::size_t>(j) * n + m];
            }
            if (total < task_.at_least[m] - 1e-9 * (1.0 + std::abs(task_.at_least[m]))) {
                return;
            }
        }
        best_.rules = chosen_;
        best_.loss = loss;
        cutoff_ = loss - task_.step;
    }

    bool is_dead_end(std::uint64_t hash, int left, double spent, double loss) const {
        const auto found = dead_ends_.find(hash);
        return found != dead_ends_.end() && found->second.rules >= left && found->second.budget >= budget(spent) &&
               found->second.loss >= cutoff_ - loss;
    }

    /// The open row that the fewest candidates cover.
    std::size_t rarest_row(const std::vector<Word> &open, const std::vector<std::int32_t> &candidates) {
        counts_.assign(words_ * 64, 0);
        for (const std::int32_t j : candidates) {
            for (const std::int32_t row : rows_of(static_cast<std::size_t>(j))) {
                ++counts_[static_cast<std::size_t>(row)];
            }
        }
        std::size_t rarest = 0;
        int fewest = -1;
        for (std::size_t w = 0; w < words_; ++w) {
            for (Word rest = open[w]; rest != 0; rest &= rest - 1) {
                const std::size_t row = w * 64 + static_cast<std::size_t>(std::countr_zero(rest));
                if (fewest < 0 || counts_[row] < fewest) {
                    fewest = counts_[row];
                    rarest = row;
                }
            }
        }
        return rarest;
    }

    bool disjoint(const Word *a, const Word *b) const {
        for (std::size_t w = 0; w < words_; ++w) {
            if (a[w] & b[w]) {
                return false;
            }
        }
        return true;
    }

    static std::uint64_t mixed(std::uint64_t x) {
        x = (x + 1) * 0x9e3779b97f4a7c15ULL;
        x = (x ^ (x >> 32)) * 0xd6e8feb86659fd93ULL;
        return x ^ (x >> 32);
    }

    const CoverTask &task_;
    Stopwatch watch_;
    std::size_t n_rules_;
    std::size_t words_;
    std::vector<Word> bits_;
    std::vector<int> size_;
    std::vector<std::uint64_t> hash_; // sum over rows, so that the hash of what is left is a difference
    std::unordered_map<std::uint64_t, std::vector<std::int32_t>> by_hash_;
    std::unordered_map<std::uint64_t, DeadEnd> dead_ends_;
    std::unordered_map<std::uint64_t, bool> conflicts_; // of the pairs asked about so far
    std::vector<std::int32_t> chosen_;
    std::vector<int> counts_;
    double cutoff_;
    bool stopped_ = false;
    CoverResult best_;
};

} // namespace

CoverResult exact_cover(const CoverTask &task, const std::atomic<bool> &cancelled) {
    return Search(task, cancelled).run();
}

} // namespace omtree
