#include "rules/pricing.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "core/clones.hpp"

namespace omtree {
namespace {

std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

template <std::size_t Width>
void add_rows_fixed(const double *stats, std::size_t stride, const std::uint8_t *codes,
                    std::span<const std::int32_t> rows, double *histogram) {
    for (const std::int32_t i : rows) {
        double *cell = histogram + codes[i] * Width;
        const double *row = stats + static_cast<std::size_t>(i) * stride;
        for (std::size_t s = 0; s < Width; ++s) {
            cell[s] += row[s];
        }
    }
}

OMTREE_CLONES
void add_rows(const double *stats, std::size_t stride, const std::uint8_t *codes, std::span<const std::int32_t> rows,
              std::size_t width, double *histogram) {
    switch (width) {
    case 4:
        return add_rows_fixed<4>(stats, stride, codes, rows, histogram);
    case 8:
        return add_rows_fixed<8>(stats, stride, codes, rows, histogram);
    case 12:
        return add_rows_fixed<12>(stats, stride, codes, rows, histogram);
    case 16:
        return add_rows_fixed<16>(stats, stride, codes, rows, histogram);
    default:
        for (const std::int32_t i : rows) {
            double *cell = histogram + codes[i] * width;
            const double *row = stats + static_cast<std::size_t>(i) * stride;
            for (std::size_t s = 0; s < width; ++s) {
                cell[s] += row[s];
            }
        }
    }
}

auto order_of(const PricedRule &r) {
    return std::tie(r.cost, r.rows_hash, r.label, r.length, r.conditions);
}

} // namespace

Pricer::Pricer(std::span<const std::uint8_t> codes, std::span<const double> weight, int n_classes, Graph graph,
               int n_threads)
    : codes_(codes), weight_(weight.begin(), weight.end()), row_hash_(weight.size()), n_classes_(n_classes),
      graph_(std::move(graph)), n_threads_(n_threads) {
    for (std::size_t i = 0; i < row_hash_.size(); ++i) {
        row_hash_[i] = mix(i);
    }
}

void Pricer::covered(std::span<const std::int32_t> rule, std::span<const std::int32_t> rows,
                     std::vector<std::int32_t> &places) const {
    places.resize(rows.size());
    std::iota(places.begin(), places.end(), 0);
    for (const std::int32_t condition : rule) {
        if (condition < 0) {
            break;
        }
        const CodeSet &set = graph_.codes_of(condition);
        const std::uint8_t *codes =
            codes_of(graph_.levels()[static_cast<std::size_t>(graph_.level_of(condition))].feature);
        std::size_t n = 0;
        for (const std::int32_t place : places) {
            places[n] = place;
            n += contains(set, codes[rows[static_cast<std::size_t>(place)]]);
        }
        places.resize(n);
    }
}

void Pricer::cover(std::span<const std::int32_t> rules, int width, std::span<const std::int32_t> rows,
                   std::vector<std::int64_t> &start, std::vector<std::int32_t> &places) const {
    const auto w = static_cast<std::size_t>(width);
    start.assign(1, 0);
    std::vector<std::int32_t> kept;
    for (std::size_t r = 0; r + w <= rules.size() && w > 0; r += w) {
        covered(rules.subspan(r, w), rows, kept);
        places.insert(places.end(), kept.begin(), kept.end());
        start.push_back(static_cast<std::int64_t>(places.size()));
    }
}

std::vector<double> Pricer::coverage(std::span<const std::int32_t> rules, int width, std::span<const double> share,
                                     std::span<const std::int32_t> rows) const {
    const auto w = static_cast<std::size_t>(width);
    std::vector<double> sums(rows.size(), 0.0);
    std::vector<std::int32_t> kept;
    for (std::size_t r = 0; r < share.size(); ++r) {
        covered(rules.subspan(r * w, w), rows, kept);
        for (const std::int32_t place : kept) {
            sums[static_cast<std::size_t>(place)] += share[r];
        }
    }
    return sums;
}

void Pricer::totals(std::span<const std::int32_t> rules, int width, std::span<const double> statistics,
                    std::vector<double> &sums, std::vector<std::uint64_t> &hashes) const {
    const auto w = static_cast<std::size_t>(width);
    const std::size_t n_slots = statistics.size() / std::max<std::size_t>(1, n_rows());
    std::vector<std::int32_t> all(n_rows());
    std::iota(all.begin(), all.end(), 0);
    std::vector<std::int32_t> kept;
    for (std::size_t r = 0; r + w <= rules.size() && w > 0; r += w) {
        covered(rules.subspan(r, w), all, kept);
        sums.resize(sums.size() + n_slots, 0.0);
        double *out = sums.data() + sums.size() - n_slots;
        std::uint64_t hash = 0;
        for (const std::int32_t i : kept) {
            for (std::size_t s = 0; s < n_slots; ++s) {
                out[s] += statistics[static_cast<std::size_t>(i) * n_slots + s];
            }
            hash += row_hash_[static_cast<std::size_t>(i)];
        }
        hashes.push_back(hash);
    }
}

void RulePool::add(const PricedRule &rule) {
    rules_.push_back(rule);
    if (rules_.size() >= 4 * limit_ + 1024) {
        compact();
    }
}

void RulePool::absorb(RulePool &&other) {
    overflow_ = overflow_ || other.overflow_;
    rules_.insert(rules_.end(), other.rules_.begin(), other.rules_.end());
}

void RulePool::compact() {
    // Of the rules with one set of rows and one class the shortest stays: unless tests have prices, what these rules
    // cost differs by rounding only.
    std::sort(rules_.begin(), rules_.end(), [this](const PricedRule &a, const PricedRule &b) {
        const double cost_a = costs_differ_ ? a.cost : 0.0;
        const double cost_b = costs_differ_ ? b.cost : 0.0;
        return std::tie(a.rows_hash, a.label, cost_a, a.length, a.conditions) <
               std::tie(b.rows_hash, b.label, cost_b, b.length, b.conditions);
    });
    const auto same = [](const PricedRule &a, const PricedRule &b) {
        return a.rows_hash == b.rows_hash && a.label == b.label;
    };
    rules_.erase(std::unique(rules_.begin(), rules_.end(), same), rules_.end());
    std::sort(rules_.begin(), rules_.end(),
              [](const PricedRule &a, const PricedRule &b) { return order_of(a) < order_of(b); });
    if (rules_.size() > limit_) {
        overflow_ = true;
        rules_.resize(limit_);
        threshold_ = std::min(threshold_, rules_.back().cost);
    }
}

std::vector<PricedRule> RulePool::finish(bool &overflow) {
    compact();
    overflow = overflow_;
    return std::move(rules_);
}

OMTREE_CLONES
void sum_codes(const Level &level, std::size_t width, bool add_only, const double *histogram, double *sums) {
    // The sums over all codes stand behind the histogram's cells.
    const double *everything = histogram + static_cast<std::size_t>(level.n_codes) * width;
    for (std::size_t j = 0; j < level.plans.size(); ++j) {
        const SumPlan &plan = level.plans[j];
        double *out = sums + j * width;
        if (plan.base == SumPlan::everything && add_only) {
            std::fill_n(out, width, 0.0);
            for (int code = 0; code < level.n_codes; ++code) {
                if (contains(level.sets[j], static_cast<unsigned>(code))) {
                    for (std::size_t s = 0; s < width; ++s) {
                        out[s] += histogram[static_cast<std::size_t>(code) * width + s];
                    }
                }
            }
            continue;
        }
        if (plan.base == SumPlan::everything) {
            std::copy_n(everything, width, out);
            for (const auto code : plan.codes) {
                for (std::size_t s = 0; s < width; ++s) {
                    out[s] -= histogram[code * width + s];
                }
            }
            continue;
        }
        if (plan.base >= 0) {
            std::copy_n(sums + static_cast<std::size_t>(plan.base) * width, width, out);
        } else {
            std::fill_n(out, width, 0.0);
        }
        for (const auto code : plan.codes) {
            for (std::size_t s = 0; s < width; ++s) {
                out[s] += histogram[code * width + s];
            }
        }
    }
}

void sum_conditions(const RowVectors &vectors, const std::uint8_t *codes, const Level &level,
                    std::span<const std::int32_t> rows, bool add_only, std::vector<double> &histogram,
                    std::vector<double> &sums) {
    const auto n_codes = static_cast<std::size_t>(level.n_codes);
    const std::size_t width = vectors.width;
    histogram.assign((n_codes + 1) * width, 0.0);
    add_rows(vectors.data, vectors.stride, codes, rows, width, histogram.data());
    for (std::size_t code = 0; code < n_codes; ++code) {
        for (std::size_t s = 0; s < width; ++s) {
            histogram[n_codes * width + s] += histogram[code * width + s];
        }
    }
    sums.resize(level.sets.size() * width);
    sum_codes(level, width, add_only, histogram.data(), sums.data());
}

void Pricer::hash_codes(const Level &level, std::span<const std::int32_t> rows,
                        std::vector<std::uint64_t> &hashes) const {
    hashes.assign(static_cast<std::size_t>(level.n_codes), 0);
    const std::uint8_t *codes = codes_of(level.feature);
    for (const std::int32_t i : rows) {
        hashes[codes[i]] += row_hash_[static_cast<std::size_t>(i)];
    }
}

std::uint64_t hash_of_condition(const Level &level, int j, std::span<const std::uint64_t> hashes) {
    std::uint64_t hash = 0;
    for (unsigned code = 0; code < hashes.size(); ++code) {
        hash += contains(level.sets[static_cast<std::size_t>(j)], code) ? hashes[code] : 0;
    }
    return hash;
}

} // namespace omtree
