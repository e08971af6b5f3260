#include <algorithm>
#include <utility>

#include "trees/general_searcher.hpp"

namespace omtree::general {

void Screen::codes(int block, std::vector<std::uint8_t> &out) const {
    thread_local std::vector<int> positions;
    partition.positions(block, positions);
    out.clear();
    for (const int position : positions) {
        out.push_back(static_cast<std::uint8_t>(present[position]));
    }
    std::sort(out.begin(), out.end());
}

CodeMask Searcher::mask_of(const Screen &screen, int feature, int block) const {
    std::vector<std::uint8_t> codes;
    screen.codes(block, codes);
    return mask_of(screen.partition, screen.present, codes, feature, block);
}

bool Searcher::screen(const RowList &rows, int depth, int budget, int feature, double cap, Screen &out) {
    Level &level = *levels_[depth];
    level.begun = false;
    level.tabled = false;
    Values values;
    values.start(budget, infinity);
    // Of two children each is known soon enough by what the other leaves it.
    level.thorough = problem_.max_children != 2;
    try_feature(rows, depth, budget, feature, std::vector<double>(budget + 1, cap), values, false);
    level.thorough = false;
    return hand_over(level, cap, out);
}

bool Searcher::screen(const Counts &counts, int depth, int budget, int feature, double cap, Screen &out) {
    Level &level = *levels_[depth];
    level.begun = false;
    if (!may_split(feature)) {
        return false;
    }
    const std::size_t first = static_cast<std::size_t>(shared_.first_code[feature]) * shared_.n_statistics;
    level.screened.start(budget, infinity);
    level.caps.assign(budget + 1, cap);
    if (depth == 1) {
        last_feature(&counts[first], feature, budget, level.caps, level.screened, false);
    } else {
        second_feature(&counts[first * shared_.n_codes], feature, budget, level.caps, level.screened, false);
    }
    return hand_over(level, cap, out);
}

/// Gives away what the level knows about the feature that was tried last, where that is of use.
bool Searcher::hand_over(Level &level, double cap, Screen &out) {
    bool below = false;
    for (int m = 2; level.begun && m <= level.partition.budget(); ++m) {
        below = below || level.partition.best(m) < cap;
    }
    if (!below) {
        return false;
    }
    std::swap(out.partition, level.partition);
    std::swap(out.present, level.present);
    std::swap(out.histogram, level.histogram);
    out.missing = level.missing;
    out.k = static_cast<int>(out.present.size()) - out.missing;
    out.paid = level.paid;
    out.complete = level.complete;
    return true;
}

void Searcher::count(const RowList &rows, int depth, Counts &out) const {
    const int n = shared_.n_statistics;
    if (depth == 2) {
        out.resize(static_cast<std::size_t>(shared_.n_codes) * shared_.n_codes * n);
        count_table(rows, out.data());
        return;
    }
    out.assign(static_cast<std::size_t>(shared_.n_codes) * n, 0.0);
    for (const std::uint32_t i : rows) {
        const std::uint8_t *codes = shared_.row(i);
        const double *from = judge_.row(i);
        for (int f = 0; f < shared_.n_features; ++f) {
            double *to = &out[static_cast<std::size_t>(shared_.first_code[f] + codes[f]) * n];
            for (int s = 0; s < n; ++s) {
                to[s] += from[s];
            }
        }
    }
}

namespace {

/// The sum of the parts of one size that the codes have.
void add_up(const double *parts, std::size_t size, const std::vector<std::uint8_t> &codes, std::vector<double> &out) {
    const double *first = parts + codes[0] * size;
    out.assign(first, first + size);
    for (std::size_t c = 1; c < codes.size(); ++c) {
        const double *more = parts + codes[c] * size;
        for (std::size_t i = 0; i < size; ++i) {
            out[i] += more[i];
        }
    }
}

} // namespace

void Searcher::count_child(const Counts &counts, int feature, const std::vector<std::uint8_t> &codes,
                           Counts &out) const {
    const std::size_t size = static_cast<std::size_t>(shared_.n_codes) * shared_.n_statistics;
    add_up(&counts[shared_.first_code[feature] * size], size, codes, out);
}

bool Searcher::count_child(const std::vector<std::uint8_t> &codes, Counts &out) const {
    const Level &level = *levels_[3];
    if (!level.tabled) {
        return false;
    }
    const auto width = static_cast<std::size_t>(shared_.n_codes);
    add_up(level.tables.data(), width * width * shared_.n_statistics, codes, out);
    return true;
}

} // namespace omtree::general
