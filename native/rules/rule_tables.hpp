// Joint tables of all groups of up to three features, counted once: what the rows of a rule with so few conditions add
// up to follows from a table, however many rows there are.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "rules/pricing.hpp"

namespace omtree {

/// Most conditions of a rule that tables are made for.
inline constexpr int max_tabled_length = 3;

/// The cells of one group of levels, the code of the first level counting most. Places that a smaller group leaves free
/// have a single code.
struct RuleTable {
    std::array<int, max_tabled_length> levels{-1, -1, -1};
    std::array<std::size_t, max_tabled_length> n_codes{1, 1, 1};
    std::size_t first = 0; // its first cell among those of all tables

    std::size_t size() const { return n_codes[0] * n_codes[1] * n_codes[2]; }
};

/// What to look for in the tables: a rule costs what its rows' statistics are worth, less the prices of those rows that
/// have one of their own.
struct TableTask {
    PricingTask rules;                  // `value` is not used
    std::span<const double> worth;      // slots x labels: what a unit of each slot adds to the cost under each label
    std::span<const std::int32_t> rows; // with a price of their own
    std::span<const double> price;
};

class RuleTables {
  public:
    /// `statistics` is rows x slots; a row's weight is the sum of its statistics times `weight_of_slot`. Counting ends
    /// early, with `complete()` false, when the time is up. The pricer must outlive this.
    RuleTables(const Pricer &pricer, std::span<const double> statistics, std::span<const double> weight_of_slot,
               int max_depth, double seconds, const std::atomic<bool> &cancelled);

    bool complete() const { return complete_; }
    const Pricer &pricer() const { return pricer_; }
    std::size_t n_slots() const { return weight_of_slot_.size(); }
    const std::vector<double> &weight_of_slot() const { return weight_of_slot_; }
    const std::vector<RuleTable> &tables() const { return tables_; }
    const double *sums(const RuleTable &table) const { return sums_.data() + table.first * n_slots(); }
    const std::uint64_t *hashes(const RuleTable &table) const { return hashes_.data() + table.first; }

    /// All rules below the threshold, or the cheapest `limit` of them.
    PricingResult price(const TableTask &task, const std::atomic<bool> &cancelled) const;

    /// Sums of the slots and of the row hashes for each rule (condition numbers, -1 padded).
    void totals(std::span<const std::int32_t> rules, int width, std::vector<double> &sums,
                std::vector<std::uint64_t> &hashes) const;

  private:
    struct Entries;
    using Group = std::array<int, max_tabled_length>; // places in `order_`, falling, -1 for none
    void rank_levels();
    void plan(int max_depth);
    void count(const Entries &all, const Stopwatch &watch);
    void count_pairs(const Entries &entries, int first, int second);
    void fill_modal(const Group &group, const Group &rest);

    const Pricer &pricer_;
    std::vector<double> weight_of_slot_;
    std::vector<int> order_;          // levels, the one with the least frequent most frequent code first
    std::vector<std::uint8_t> modal_; // the most frequent code of each of them
    std::vector<RuleTable> tables_;
    std::map<Group, std::size_t> table_of_;
    std::vector<double> sums_;
    std::vector<std::uint64_t> hashes_;
    int max_depth_ = 0;
    bool complete_ = true;
};

} // namespace omtree
