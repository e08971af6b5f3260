// Pricing from joint tables: every rule of every group of features is looked at, unless the cells it would be made of
// show that no rule there is wanted. No row is touched but those with a price of their own.
#include <algorithm>
#include <thread>

#include "core/clones.hpp"
#include "rules/rule_tables.hpp"

namespace omtree {
namespace {

/// The only condition of a place that a group leaves free.
Level free_place() {
    Level level;
    level.n_codes = 1;
    level.first = -1;
    level.sets.push_back({1, 0, 0, 0});
    level.plans.push_back({SumPlan::nothing, {0}});
    return level;
}

/// Adds up the values below zero of each label over `n` vectors; the least of these sums.
OMTREE_CLONES
double least_sum(const double *vectors, std::size_t n, std::size_t width, std::size_t n_labels, double *sums) {
    std::fill_n(sums, width, 0.0);
    for (std::size_t v = 0; v < n; ++v) {
        for (std::size_t s = 0; s < width; ++s) {
            sums[s] += std::min(0.0, vectors[v * width + s]);
        }
    }
    return *std::min_element(sums, sums + n_labels);
}

/// What each cell adds to the cost of a rule under each label, and its weight.
OMTREE_CLONES
void value_cells(const double *slots, std::size_t n_cells, std::size_t n_slots, const double *worth, std::size_t width,
                 const double *price, std::size_t n_labels, double *out) {
    for (std::size_t cell = 0; cell < n_cells; ++cell) {
        double *vector = out + cell * width;
        std::fill_n(vector, n_labels, -price[cell]);
        std::fill_n(vector + n_labels, width - n_labels, 0.0);
        for (std::size_t slot = 0; slot < n_slots; ++slot) {
            const double amount = slots[cell * n_slots + slot];
            if (amount != 0.0) {
                for (std::size_t s = 0; s < width; ++s) {
                    vector[s] += amount * worth[slot * width + s];
                }
            }
        }
    }
}

/// Puts the sum of all vectors behind them.
OMTREE_CLONES
void add_up(double *vectors, std::size_t n, std::size_t width) {
    double *out = vectors + n * width;
    std::fill_n(out, width, 0.0);
    for (std::size_t v = 0; v < n; ++v) {
        for (std::size_t s = 0; s < width; ++s) {
            out[s] += vectors[v * width + s];
        }
    }
}

/// One thread's scan of some of the tables.
class Scan {
  public:
    Scan(const RuleTables &tables, const TableTask &task)
        : tables_(tables), task_(task), n_labels_(static_cast<std::size_t>(tables.pricer().n_classes())),
          width_((n_labels_ + 1 + 3) / 4 * 4), support_(with_tolerance(task.rules.min_support)), free_(free_place()),
          pool_(task.rules), worth_(tables.n_slots() * width_, 0.0), bound_(width_) {
        for (std::size_t slot = 0; slot < tables.n_slots(); ++slot) {
            std::copy_n(task.worth.data() + slot * n_labels_, n_labels_, worth_.data() + slot * width_);
            worth_[slot * width_ + n_labels_] = tables.weight_of_slot()[slot];
        }
    }

    void look_at(const RuleTable &table) {
        table_ = &table;
        for (std::size_t p = 0; p < max_tabled_length; ++p) {
            levels_[p] = table.levels[p] < 0
                             ? &free_
                             : &tables_.pricer().graph().levels()[static_cast<std::size_t>(table.levels[p])];
        }
        make_cells();
        const std::size_t slice = table.n_codes[1] * table.n_codes[2] * width_;
        slices_.resize(levels_[0]->sets.size() * slice);
        add_up(cells_.data(), table.n_codes[0], slice);
        sum_codes(*levels_[0], slice, false, cells_.data(), slices_.data());
        for (std::size_t j = 0; j < levels_[0]->sets.size(); ++j) {
            node_[0] = j;
            scan_slice(slices_.data() + j * slice);
        }
    }

    RulePool &pool() { return pool_; }
    double least() const { return least_; }
    std::uint64_t looked_at() const { return looked_at_; }
    bool full() const { return task_.rules.stop_when_full && pool_.overflowed(); }

  private:
    bool hopeless(double bound) const {
        return task_.rules.constant + bound >= task_.rules.threshold ||
               task_.rules.constant + bound > pool_.threshold();
    }

    void make_cells() {
        const std::size_t n = table_->size();
        price_.assign(n, 0.0);
        std::array<const std::uint8_t *, max_tabled_length> codes{};
        for (std::size_t p = 0; p < max_tabled_length; ++p) {
            codes[p] = table_->levels[p] < 0 ? nullptr : tables_.pricer().codes_of(levels_[p]->feature);
        }
        for (std::size_t r = 0; r < task_.rows.size(); ++r) {
            std::size_t cell = 0;
            for (std::size_t p = 0; p < max_tabled_length; ++p) {
                cell = cell * table_->n_codes[p] + (codes[p] ? codes[p][task_.rows[r]] : 0);
            }
            price_[cell] += task_.price[r];
        }
        cells_.resize((n + table_->n_codes[1] * table_->n_codes[2]) * width_);
        value_cells(tables_.sums(*table_), n, tables_.n_slots(), worth_.data(), width_, price_.data(), n_labels_,
                    cells_.data());
    }

    /// Rules with a given first condition.
    void scan_slice(const double *slice) {
        const std::size_t n_cells = table_->n_codes[1] * table_->n_codes[2];
        if (hopeless(least_sum(slice, n_cells, width_, n_labels_, bound_.data()))) {
            return;
        }
        const std::size_t row = table_->n_codes[2] * width_;
        rows_.assign(slice, slice + n_cells * width_);
        rows_.resize(n_cells * width_ + row);
        add_up(rows_.data(), table_->n_codes[1], row);
        row_sums_.resize(levels_[1]->sets.size() * row);
        sum_codes(*levels_[1], row, false, rows_.data(), row_sums_.data());
        for (std::size_t j = 0; j < levels_[1]->sets.size(); ++j) {
            node_[1] = j;
            scan_row(row_sums_.data() + j * row);
        }
    }

    /// Rules with given first and second conditions.
    void scan_row(const double *row) {
        const std::size_t n_codes = table_->n_codes[2];
        if (hopeless(least_sum(row, n_codes, width_, n_labels_, bound_.data()))) {
            return;
        }
        last_.assign(row, row + n_codes * width_);
        last_.resize((n_codes + 1) * width_);
        add_up(last_.data(), n_codes, width_);
        if (last_[n_codes * width_ + n_labels_] < support_) {
            return;
        }
        last_sums_.resize(levels_[2]->sets.size() * width_);
        sum_codes(*levels_[2], width_, false, last_.data(), last_sums_.data());
        looked_at_ += levels_[2]->sets.size();
        for (std::size_t j = 0; j < levels_[2]->sets.size(); ++j) {
            const double *sums = last_sums_.data() + j * width_;
            const double *best = std::min_element(sums, sums + n_labels_);
            const double cost = task_.rules.constant + *best;
            if (sums[n_labels_] < support_) {
                continue;
            }
            if (cost < task_.rules.threshold && cost <= pool_.threshold()) {
                node_[2] = j;
                offer(sums, static_cast<int>(best - sums));
            }
        }
    }

    /// Adds the rule at hand with its cheapest class, or with every class that is cheap enough.
    void offer(const double *sums, int label) {
        PricedRule rule;
        rule.rows_hash = hash();
        if (rule.rows_hash == 0) {
            return; // no rows
        }
        for (std::size_t p = 0; p < max_tabled_length; ++p) {
            if (table_->levels[p] >= 0) {
                rule.conditions[static_cast<std::size_t>(rule.length++)] =
                    levels_[p]->first + static_cast<int>(node_[p]);
            }
        }
        std::sort(rule.conditions.begin(), rule.conditions.begin() + rule.length);
        least_ = std::min(least_, task_.rules.constant + sums[label]);
        const int n_labels = static_cast<int>(n_labels_);
        for (int l = task_.rules.all_labels ? 0 : label; l < (task_.rules.all_labels ? n_labels : label + 1); ++l) {
            rule.label = l;
            rule.cost = task_.rules.constant + sums[l];
            if (rule.cost < task_.rules.threshold) {
                pool_.add(rule);
            }
        }
    }

    std::uint64_t hash() const {
        const std::uint64_t *hashes = tables_.hashes(*table_);
        std::uint64_t sum = 0;
        for (unsigned a = 0; a < table_->n_codes[0]; ++a) {
            for (unsigned b = 0; b < table_->n_codes[1]; ++b, hashes += table_->n_codes[2]) {
                if (contains(levels_[0]->sets[node_[0]], a) && contains(levels_[1]->sets[node_[1]], b)) {
                    for (unsigned c = 0; c < table_->n_codes[2]; ++c) {
                        sum += contains(levels_[2]->sets[node_[2]], c) ? hashes[c] : 0;
                    }
                }
            }
        }
        return sum;
    }

    const RuleTables &tables_;
    const TableTask &task_;
    std::size_t n_labels_;
    std::size_t width_; // of a vector: values by label, the weight, and zeros up to a round number
    double support_;
    Level free_;
    RulePool pool_;
    std::vector<double> worth_;
    const RuleTable *table_ = nullptr;
    std::array<const Level *, max_tabled_length> levels_{};
    std::array<std::size_t, max_tabled_length> node_{};
    std::vector<double> price_, cells_, slices_, rows_, row_sums_, last_, last_sums_, bound_;
    double least_ = 1e300;
    std::uint64_t looked_at_ = 0;
};

} // namespace

PricingResult RuleTables::price(const TableTask &task, const std::atomic<bool> &cancelled) const {
    const Stopwatch watch(task.rules.seconds, cancelled);
    const std::size_t n_threads = static_cast<std::size_t>(std::max(1, pricer_.n_threads()));
    std::vector<Scan> scans(n_threads, Scan(*this, task));
    std::atomic<std::size_t> next{0};
    std::atomic<bool> stop{false};
    const auto work = [&](Scan &scan) {
        for (std::size_t t = next++; t < tables_.size() && !stop; t = next++) {
            if (watch.expired()) {
                stop = true;
                return;
            }
            scan.look_at(tables_[t]);
            if (scan.full()) {
                stop = true;
            }
        }
    };
    std::vector<std::thread> threads;
    for (std::size_t t = 1; t < n_threads; ++t) {
        threads.emplace_back(work, std::ref(scans[t]));
    }
    work(scans.front());
    for (auto &thread : threads) {
        thread.join();
    }
    PricingResult result;
    result.least = 1e300;
    RulePool pool(task.rules);
    for (Scan &scan : scans) {
        result.least = std::min(result.least, scan.least());
        result.looked_at += scan.looked_at();
        pool.absorb(std::move(scan.pool()));
    }
    // What was ruled out unseen costs at least the threshold.
    result.least = std::min(result.least, task.rules.threshold);
    result.complete = !stop;
    result.rules = pool.finish(result.overflow);
    return result;
}

} // namespace omtree
