#include "trees/sum_pairs.hpp"

#include <algorithm>
#include <cstring>

#include "core/clones.hpp"

namespace omtree {
namespace {

typedef double Four __attribute__((vector_size(32)));
constexpr std::size_t at_once = 4;
constexpr std::size_t most_rows = 1 << 15; ///< that are counted before the time is looked at
constexpr std::size_t block_rows = 1024;   ///< whose sums stay in cache for all features

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

/// Adds the sums of samples to the cells of two of their codes.
OMTREE_CLONES void add_block(const std::uint8_t *outer, const std::uint8_t *inner, std::size_t n_rows,
                             const double *sums, std::size_t stride, std::size_t n_inner, double *cells) {
    for (std::size_t i = 0; i < n_rows; ++i, sums += stride) {
        double *to = cells + (outer[i] * n_inner + inner[i]) * stride;
        for (std::size_t part = 0; part < stride; part += at_once) {
            Four more, sum;
            std::memcpy(&more, sums + part, sizeof more);
            std::memcpy(&sum, to + part, sizeof sum);
            sum += more;
            std::memcpy(to + part, &sum, sizeof sum);
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

void SumPairs::of_feature(const Shared<double> &shared, const Samples<double> &samples, int feature, double *slab) {
    const auto &features = shared.problem.features;
    const std::size_t n_outer = features[feature].n_codes;
    const std::size_t n_sums = shared.problem.n_classes;
    const std::size_t stride = (n_sums + at_once - 1) / at_once * at_once;
    slab_.assign(n_outer * shared.n_codes * stride, 0.0);
    block_.assign(block_rows * stride, 0.0);
    for (std::size_t begin = 0; begin < samples.size; begin += block_rows) {
        const std::size_t n_rows = std::min(block_rows, samples.size - begin);
        for (std::size_t i = 0; i < n_rows; ++i) {
            std::copy_n(&samples.weight[(begin + i) * n_sums], n_sums, &block_[i * stride]);
        }
        for (int other = 0; other < static_cast<int>(features.size()); ++other) {
            add_block(samples.column(feature) + begin, samples.column(other) + begin, n_rows, block_.data(), stride,
                      features[other].n_codes, &slab_[n_outer * shared.first_code[other] * stride]);
        }
    }
    const double *cell = slab_.data();
    for (int other = 0; other < static_cast<int>(features.size()); ++other) {
        const auto [offset, code_stride, class_stride] = shared.place[other];
        for (std::size_t i = 0; i < n_outer; ++i) {
            double *line = slab + i * shared.width + offset;
            for (int j = 0; j < features[other].n_codes; ++j, cell += stride) {
                for (std::size_t s = 0; s < n_sums; ++s) {
                    line[j * code_stride + s * class_stride] = cell[s];
                }
            }
        }
    }
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
