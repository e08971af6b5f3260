#include <algorithm>

#include "trees/general_searcher.hpp"

namespace omtree::general {

void Searcher::count_histogram(const RowList &rows, int feature, bool floors, std::vector<double> &out) const {
    const int n = shared_.n_statistics;
    out.assign(static_cast<std::size_t>(problem_.features[feature].n_codes) * width_, 0.0);
    for (const std::uint32_t i : rows) {
        double *to = &out[shared_.row(i)[feature] * width_];
        const double *from = judge_.row(i);
        for (int s = 0; s < n; ++s) {
            to[s] += from[s];
        }
        if (floors) {
            to[n] += judge_.floor()[i];
        }
    }
}

namespace {

template <int n> void add_row(double *to, const double *from) {
    for (int s = 0; s < n; ++s) {
        to[s] += from[s];
    }
}

/// Adds the statistics of each row where its codes of every two features meet, one half of the table.
template <int fixed> void add_pairs(const Shared &shared, const RowList &rows, std::size_t *place, double *table) {
    const int n = fixed > 0 ? fixed : shared.n_statistics;
    const std::size_t n_features = shared.n_features;
    const std::size_t stride = static_cast<std::size_t>(shared.n_codes) * n;
    for (const std::uint32_t i : rows) {
        const std::uint8_t *codes = shared.row(i);
        const double *from = shared.judge.row(i);
        for (std::size_t a = 0; a < n_features; ++a) {
            place[a] = shared.first_code[a] + codes[a];
        }
        for (std::size_t a = 0; a < n_features; ++a) {
            double *line = table + place[a] * stride;
            for (std::size_t b = a; b < n_features; ++b) {
                double *to = line + place[b] * n;
                if constexpr (fixed > 0) {
                    add_row<fixed>(to, from);
                } else {
                    for (int s = 0; s < n; ++s) {
                        to[s] += from[s];
                    }
                }
            }
        }
    }
}

} // namespace

/// Joint statistics of all pairs of features: line by code of the first, column by code of the second.
void Searcher::count_table(const RowList &rows, double *table) const {
    const int n = shared_.n_statistics;
    std::fill_n(table, static_cast<std::size_t>(shared_.n_codes) * shared_.n_codes * n, 0.0);
    std::vector<std::size_t> place(shared_.n_features);
    const auto add = n == 2   ? add_pairs<2>
                     : n == 3 ? add_pairs<3>
                     : n == 4 ? add_pairs<4>
                     : n == 5 ? add_pairs<5>
                     : n == 6 ? add_pairs<6>
                              : add_pairs<0>;
    add(shared_, rows, place.data(), table);
    const std::size_t width = shared_.n_codes;
    for (int f = 0; f < shared_.n_features; ++f) {
        for (int i = shared_.first_code[f]; i < shared_.first_code[f] + problem_.features[f].n_codes; ++i) {
            for (std::size_t j = shared_.first_code[f] + problem_.features[f].n_codes; j < width; ++j) {
                std::copy_n(table + (i * width + j) * n, n, table + (j * width + i) * n);
            }
        }
    }
}

double Searcher::floor_one(const double *histogram, int above, double leaf) const {
    const int n = shared_.n_statistics;
    double least = leaf;
    for (int h = 0; h < shared_.n_features; ++h) {
        if (h == above) {
            continue;
        }
        const double *codes = histogram + static_cast<std::size_t>(shared_.first_code[h]) * n;
        double sum = 0.0;
        for (int c = 0; c < problem_.features[h].n_codes && sum < least; ++c, codes += n) {
            if (codes[0] > 0.0) {
                sum += judge_.bare_loss(codes, {});
            }
        }
        least = std::min(least, sum);
    }
    return least;
}

double Searcher::floor_two(const double *table, double leaf) const {
    const int n = shared_.n_statistics;
    const std::size_t stride = static_cast<std::size_t>(shared_.n_codes) * n;
    double least = leaf;
    for (int g = 0; g < shared_.n_features; ++g) {
        double sum = 0.0;
        for (int c = 0; c < problem_.features[g].n_codes && sum < least; ++c) {
            const int place = shared_.first_code[g] + c;
            const double *line = table + place * stride;
            const double *own = line + static_cast<std::size_t>(place) * n;
            if (own[0] > 0.0) {
                sum += floor_one(line, g, judge_.bare_loss(own, {}));
            }
        }
        least = std::min(least, sum);
    }
    return least;
}

/// Loss of the rows with a leaf for each value of the feature; stops adding at `enough`.
double Searcher::bare_split(const RowList &rows, int feature, double enough) {
    const int n_codes = problem_.features[feature].n_codes;
    double sum = 0.0;
    if (judge_.additive_loss()) {
        count_histogram(rows, feature, false, histogram_);
        for (int code = 0; code < n_codes && sum < enough; ++code) {
            sum += judge_.bare_loss(&histogram_[code * width_], {});
        }
        return sum;
    }
    buckets_.resize(std::max<std::size_t>(buckets_.size(), n_codes));
    for (int code = 0; code < n_codes; ++code) {
        buckets_[code].clear();
    }
    for (const std::uint32_t i : rows) {
        buckets_[shared_.row(i)[feature]].push_back(i);
    }
    for (int code = 0; code < n_codes && sum < enough; ++code) {
        if (!buckets_[code].empty()) {
            // Statistics do not matter to a loss that asks for the rows.
            sum += judge_.bare_loss(judge_.row(buckets_[code][0]), buckets_[code]);
        }
    }
    return sum;
}

void Searcher::floor_by_rows(Level &level, int depth, int feature) {
    const int n = shared_.n_statistics;
    for (int code = 0; code < problem_.features[feature].n_codes; ++code) {
        const RowList &rows = level.by_code[code];
        if (rows.empty()) {
            continue;
        }
        check();
        double *own = &level.histogram[code * width_];
        double least = judge_.bare_loss(own, rows);
        for (int h = 0; h < shared_.n_features && depth == 2 && least > own[n]; ++h) {
            if (h != feature) {
                least = std::min(least, bare_split(rows, h, least));
            }
        }
        own[n] = std::max(own[n], least);
    }
    level.leaves_known =
        depth == 1 && judge_.linear.empty() && judge_.ratios.empty() && !judge_.predicate && problem_.forced.empty();
}

} // namespace omtree::general
