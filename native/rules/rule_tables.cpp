#include "rules/rule_tables.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <thread>

namespace omtree {
namespace {

/// Entries counted before the next table's turn: few enough to stay in the cache.
constexpr std::size_t chunk = 4096;

} // namespace

/// The statistics that are not zero, one after the other, with the codes of their rows; the first one of each row
/// carries the row's hash.
struct RuleTables::Entries {
    std::vector<std::int32_t> row;
    std::vector<std::uint16_t> slot;
    std::vector<double> amount;
    std::vector<std::uint64_t> hash;
    std::vector<std::uint8_t> first_code;
    std::vector<std::vector<std::uint8_t>> codes; // of the levels before the first one in the order

    Entries() = default;

    Entries(const Pricer &pricer, std::span<const double> statistics, std::size_t n_slots) {
        reserve(pricer.n_rows());
        for (std::size_t i = 0; i < pricer.n_rows(); ++i) {
            std::uint64_t own = pricer.row_hash()[i];
            for (std::size_t s = 0; s < n_slots; ++s) {
                // A row with nothing in it is still a row.
                if (const double x = statistics[i * n_slots + s]; x != 0.0 || (s + 1 == n_slots && own != 0)) {
                    row.push_back(static_cast<std::int32_t>(i));
                    slot.push_back(static_cast<std::uint16_t>(s));
                    amount.push_back(x);
                    hash.push_back(own);
                    own = 0;
                }
            }
        }
    }

    void reserve(std::size_t n) {
        row.reserve(n);
        slot.reserve(n);
        amount.reserve(n);
        hash.reserve(n);
    }

    std::size_t size() const { return row.size(); }
};

RuleTables::RuleTables(const Pricer &pricer, std::span<const double> statistics, std::span<const double> weight_of_slot,
                       int max_depth, double seconds, const std::atomic<bool> &cancelled)
    : pricer_(pricer), weight_of_slot_(weight_of_slot.begin(), weight_of_slot.end()),
      max_depth_(std::min(max_depth, max_tabled_length)) {
    rank_levels();
    plan(max_depth_);
    count(Entries(pricer, statistics, n_slots()), Stopwatch(seconds, cancelled));
}

void RuleTables::rank_levels() {
    const auto &levels = pricer_.graph().levels();
    std::vector<std::size_t> most(levels.size(), 0);
    std::vector<std::uint8_t> modal(levels.size(), 0);
    for (std::size_t l = 0; l < levels.size(); ++l) {
        std::array<std::size_t, 256> counts{};
        const std::uint8_t *codes = pricer_.codes_of(levels[l].feature);
        for (std::size_t i = 0; i < pricer_.n_rows(); ++i) {
            ++counts[codes[i]];
        }
        const auto top = std::max_element(counts.begin(), counts.end());
        most[l] = *top;
        modal[l] = static_cast<std::uint8_t>(top - counts.begin());
    }
    order_.resize(levels.size());
    std::iota(order_.begin(), order_.end(), 0);
    std::stable_sort(order_.begin(), order_.end(), [&](int a, int b) {
        return most[static_cast<std::size_t>(a)] < most[static_cast<std::size_t>(b)];
    });
    for (const int l : order_) {
        modal_.push_back(modal[static_cast<std::size_t>(l)]);
    }
}

void RuleTables::plan(int max_depth) {
    std::size_t n_cells = 0;
    const auto add = [&](const Group &group) {
        RuleTable table;
        for (std::size_t p = 0; p < group.size() && group[p] >= 0; ++p) {
            table.levels[p] = order_[static_cast<std::size_t>(group[p])];
            table.n_codes[p] =
                static_cast<std::size_t>(pricer_.graph().levels()[static_cast<std::size_t>(table.levels[p])].n_codes);
        }
        table.first = n_cells;
        n_cells += table.size();
        table_of_[group] = tables_.size();
        tables_.push_back(table);
    };
    const int n = static_cast<int>(order_.size());
    add({-1, -1, -1});
    for (int a = 0; max_depth > 0 && a < n; ++a) {
        add({a, -1, -1});
        for (int b = 0; max_depth > 1 && b < a; ++b) {
            add({a, b, -1});
            for (int c = 0; max_depth > 2 && c < b; ++c) {
                add({a, b, c});
            }
        }
    }
    sums_.assign(n_cells * n_slots(), 0.0);
    hashes_.assign(n_cells, 0);
}

/// Tables are counted without the rows that have the most frequent code of the table's first level; these rows are what
/// is left of a table of the other levels, counted before. On rare features nearly all rows are saved.
void RuleTables::count(const Entries &all, const Stopwatch &watch) {
    for (std::size_t e = 0; e < all.size(); ++e) {
        sums_[all.slot[e]] += all.amount[e];
        hashes_[0] += all.hash[e];
    }
    const auto &levels = pricer_.graph().levels();
    const int n = max_depth_ > 0 ? static_cast<int>(order_.size()) : 0;
    for (int a = 0; a < n; ++a) {
        const auto codes_of = [&](int place) {
            return pricer_.codes_of(levels[static_cast<std::size_t>(order_[static_cast<std::size_t>(place)])].feature);
        };
        Entries some;
        const std::uint8_t *own = codes_of(a);
        for (std::size_t e = 0; e < all.size(); ++e) {
            if (own[all.row[e]] != modal_[static_cast<std::size_t>(a)]) {
                some.row.push_back(all.row[e]);
                some.slot.push_back(all.slot[e]);
                some.amount.push_back(all.amount[e]);
                some.hash.push_back(all.hash[e]);
                some.first_code.push_back(own[all.row[e]]);
            }
        }
        const RuleTable &single = tables_[table_of_.at({a, -1, -1})];
        for (std::size_t e = 0; e < some.size(); ++e) {
            const std::size_t cell = single.first + some.first_code[e];
            sums_[cell * n_slots() + some.slot[e]] += some.amount[e];
            hashes_[cell] += some.hash[e];
        }
        fill_modal({a, -1, -1}, {-1, -1, -1});
        if (max_depth_ < 2) {
            continue;
        }
        some.codes.resize(static_cast<std::size_t>(a));
        std::atomic<int> next_gather{0};
        std::atomic<int> next{0};
        const auto in_threads = [&](const std::function<void()> &work) {
            std::vector<std::thread> threads;
            for (int t = 1; t < pricer_.n_threads(); ++t) {
                threads.emplace_back(work);
            }
            work();
            for (auto &thread : threads) {
                thread.join();
            }
        };
        in_threads([&] {
            for (int b = next_gather++; b < a; b = next_gather++) {
                const std::uint8_t *codes = codes_of(b);
                auto &out = some.codes[static_cast<std::size_t>(b)];
                out.resize(some.size());
                std::transform(some.row.begin(), some.row.end(), out.begin(),
                               [codes](std::int32_t i) { return codes[i]; });
            }
        });
        in_threads([&] {
            for (int b = next++; b < a && !watch.expired(); b = next++) {
                count_pairs(some, a, b);
            }
        });
        if (next < a) {
            complete_ = false;
            return;
        }
    }
}

/// Counts the tables whose first two levels are these.
void RuleTables::count_pairs(const Entries &entries, int first, int second) {
    const std::size_t n_slots = this->n_slots();
    const RuleTable &pair = tables_[table_of_.at({first, second, -1})];
    const auto count = [&](const RuleTable &table, const std::uint32_t *cells, std::size_t begin, std::size_t n) {
        double *sums = sums_.data() + table.first * n_slots;
        std::uint64_t *hashes = hashes_.data() + table.first;
        for (std::size_t i = 0; i < n; ++i) {
            const std::size_t cell = cells[i];
            sums[cell * n_slots + entries.slot[begin + i]] += entries.amount[begin + i];
            hashes[cell] += entries.hash[begin + i];
        }
    };
    std::array<std::uint32_t, chunk> pairs;
    std::array<std::uint32_t, chunk> triples;
    const std::uint8_t *second_codes = entries.codes[static_cast<std::size_t>(second)].data();
    const int n_third = max_depth_ > 2 ? second : 0;
    const std::size_t first_triple = table_of_.at({first, second, -1}) + 1; // planned one after the other
    for (std::size_t begin = 0; begin < entries.size(); begin += chunk) {
        const std::size_t n = std::min(chunk, entries.size() - begin);
        for (std::size_t i = 0; i < n; ++i) {
            pairs[i] =
                entries.first_code[begin + i] * static_cast<std::uint32_t>(pair.n_codes[1]) + second_codes[begin + i];
        }
        count(pair, pairs.data(), begin, n);
        for (int third = 0; third < n_third; ++third) {
            const RuleTable &table = tables_[first_triple + static_cast<std::size_t>(third)];
            const auto n_codes = static_cast<std::uint32_t>(table.n_codes[2]);
            const std::uint8_t *codes = entries.codes[static_cast<std::size_t>(third)].data() + begin;
            for (std::size_t i = 0; i < n; ++i) {
                triples[i] = pairs[i] * n_codes + codes[i];
            }
            count(table, triples.data(), begin, n);
        }
    }
    fill_modal({first, second, -1}, {second, -1, -1});
    for (int third = 0; third < n_third; ++third) {
        fill_modal({first, second, third}, {second, third, -1});
    }
}

/// The rows with the most frequent code of the first level: all rows by the other levels, without the rest.
void RuleTables::fill_modal(const Group &group, const Group &rest) {
    const RuleTable &table = tables_[table_of_.at(group)];
    const RuleTable &others = tables_[table_of_.at(rest)];
    const std::size_t n = others.size();
    const std::size_t modal = modal_[static_cast<std::size_t>(group[0])];
    const std::size_t start = table.first + modal * n;
    std::copy_n(sums_.data() + others.first * n_slots(), n * n_slots(), sums_.data() + start * n_slots());
    std::copy_n(hashes_.data() + others.first, n, hashes_.data() + start);
    for (std::size_t code = 0; code < table.n_codes[0]; ++code) {
        if (code == modal) {
            continue;
        }
        const std::size_t from = table.first + code * n;
        for (std::size_t x = 0; x < n * n_slots(); ++x) {
            sums_[start * n_slots() + x] -= sums_[from * n_slots() + x];
        }
        for (std::size_t cell = 0; cell < n; ++cell) {
            hashes_[start + cell] -= hashes_[from + cell];
        }
    }
    for (std::size_t cell = start; cell < start + n; ++cell) {
        if (hashes_[cell] == 0) { // no rows: what is left is rounding
            std::fill_n(sums_.data() + cell * n_slots(), n_slots(), 0.0);
        }
    }
}

void RuleTables::totals(std::span<const std::int32_t> rules, int width, std::vector<double> &sums,
                        std::vector<std::uint64_t> &hashes) const {
    const Graph &graph = pricer_.graph();
    std::vector<int> place(order_.size());
    for (std::size_t p = 0; p < order_.size(); ++p) {
        place[static_cast<std::size_t>(order_[p])] = static_cast<int>(p);
    }
    const auto w = static_cast<std::size_t>(width);
    const std::size_t n_rules = w ? rules.size() / w : 0;
    sums.assign(n_rules * n_slots(), 0.0);
    hashes.assign(n_rules, 0);
    for (std::size_t r = 0; r < n_rules; ++r) {
        std::vector<std::pair<int, int>> tested; // place and condition
        for (std::size_t c = 0; c < w && rules[r * w + c] >= 0; ++c) {
            const int condition = rules[r * w + c];
            tested.emplace_back(place[static_cast<std::size_t>(graph.level_of(condition))], condition);
        }
        std::sort(tested.rbegin(), tested.rend());
        Group group{-1, -1, -1};
        CodeSet all{};
        all.fill(~std::uint64_t{0});
        std::array<CodeSet, max_tabled_length> sets{all, all, all};
        for (std::size_t t = 0; t < tested.size(); ++t) {
            group[t] = tested[t].first;
            sets[t] = graph.codes_of(tested[t].second);
        }
        const RuleTable &table = tables_[table_of_.at(group)];
        std::size_t cell = table.first;
        for (unsigned a = 0; a < table.n_codes[0]; ++a) {
            for (unsigned b = 0; b < table.n_codes[1]; ++b) {
                const bool inside = contains(sets[0], a) && contains(sets[1], b);
                for (unsigned c = 0; c < table.n_codes[2]; ++c, ++cell) {
                    if (inside && contains(sets[2], c)) {
                        for (std::size_t s = 0; s < n_slots(); ++s) {
                            sums[r * n_slots() + s] += sums_[cell * n_slots() + s];
                        }
                        hashes[r] += hashes_[cell];
                    }
                }
            }
        }
    }
}

} // namespace omtree
