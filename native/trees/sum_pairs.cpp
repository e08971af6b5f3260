#include "trees/sum_pairs.hpp"

#include <algorithm>
#include <cstring>

#include "core/clones.hpp"

namespace omtree {
namespace {

typedef double Four __attribute__((vector_size(32)));
constexpr std::size_t at_once = 4;
constexpr std::size_t most_rows = 1 << 15; ///< that are counted before the time is looked at

OMTREE_CLONES void add_rows(std::span<const std::uint32_t> rows, const std::uint32_t *places, std::size_t n_active,
                            const double *sums, std::size_t stride, std::size_t n_codes, double *cells) {
    for (const std::uint32_t i : rows) {
        const std::uint32_t *own = places + i * n_active;
        for (std::size_t part = 0; part < stride; part += at_once) {
            Four more;
            std::memcpy(&more, sums + i * stride + part, sizeof more);
            for (std::size_t a = 0; a < n_active; ++a) {
                double *line = cells + own[a] * n_codes * stride + part;
                for (std::size_t b = a; b < n_active; ++b) {
                    double *to = line + own[b] * stride;
                    Four sum;
                    std::memcpy(&sum, to, sizeof sum);
                    sum += more;
                    std::memcpy(to, &sum, sizeof sum);
                }
            }
        }
    }
}

} // namespace

void SumPairs::count(const Shared<double> &shared, const Samples<double> &samples, const std::vector<char> &used,
                     int splitting) {
    if (unfinished_) {
        std::fill(cells_.begin(), cells_.end(), 0.0);
        unfinished_ = false;
    }
    if (id_ == samples.id) {
        return;
    }
    id_ = samples.id;
    shared_ = &shared;
    n_sums_ = shared.problem.n_classes;
    stride_ = (n_sums_ + at_once - 1) / at_once * at_once;
    active_.clear();
    n_codes_ = 0;
    for (int f = 0; f < static_cast<int>(used.size()); ++f) {
        if (!used[f] || f == splitting) {
            active_.push_back({f, static_cast<int>(n_codes_), shared.problem.features[f].n_codes});
            n_codes_ += shared.problem.features[f].n_codes;
        }
    }
    places_.resize(samples.size * active_.size());
    for (std::size_t a = 0; a < active_.size(); ++a) {
        const std::uint8_t *column = samples.column(active_[a].feature);
        for (std::size_t i = 0; i < samples.size; ++i) {
            places_[i * active_.size() + a] = active_[a].first + column[i];
        }
    }
    sums_.assign(samples.size * stride_, 0.0);
    for (std::size_t i = 0; i < samples.size; ++i) {
        std::copy_n(&samples.weight[i * n_sums_], n_sums_, &sums_[i * stride_]);
    }
    cells_.resize(n_codes_ * n_codes_ * stride_, 0.0);
}

void SumPairs::add(std::span<const std::uint32_t> rows, const std::function<void()> &check, double *table) {
    unfinished_ = true;
    for (std::size_t begin = 0; begin < rows.size(); begin += most_rows) {
        check();
        add_rows(rows.subspan(begin, std::min(most_rows, rows.size() - begin)), places_.data(), active_.size(),
                 sums_.data(), stride_, n_codes_, cells_.data());
    }
    move(table);
    unfinished_ = false;
}

/// Moves the cells to the table, both ways, and leaves zeros.
void SumPairs::move(double *table) {
    const auto width = static_cast<std::size_t>(shared_->width);
    for (std::size_t a = 0; a < active_.size(); ++a) {
        const Active &one = active_[a];
        const auto place = shared_->place[one.feature];
        for (int i = 0; i < one.n_codes; ++i) {
            double *line = table + (shared_->first_code[one.feature] + i) * width;
            const double *own = &cells_[((one.first + i) * n_codes_ + one.first + i) * stride_];
            if (own[0] == 0.0) {
                continue; // no row has this code
            }
            for (std::size_t b = a; b < active_.size(); ++b) {
                const Active &other = active_[b];
                const auto there = shared_->place[other.feature];
                double *cell = &cells_[((one.first + i) * n_codes_ + other.first) * stride_];
                for (int j = 0; j < other.n_codes; ++j, cell += stride_) {
                    if (cell[0] == 0.0) {
                        continue;
                    }
                    double *to = line + there.offset + j * there.code_stride;
                    double *back =
                        table + (shared_->first_code[other.feature] + j) * width + place.offset + i * place.code_stride;
                    for (int s = 0; s < n_sums_; ++s) {
                        to[s * there.class_stride] = cell[s];
                        back[s * place.class_stride] = cell[s];
                        cell[s] = 0.0;
                    }
                }
            }
        }
    }
}

} // namespace omtree
