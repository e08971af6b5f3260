#include <algorithm>

#include "trees/binary_worker.hpp"

namespace omtree {

/// Lower bounds by number of leaves for the two sides of a column: what no tree avoids, and what similar sets cost.
void BinarySearch::Worker::bound_sides(const BitNode &node, const Context &context, int column, int sizes,
                                       std::vector<double> &in, std::vector<double> &out) const {
    const int n = node.n_columns();
    const bool bounds = search_.problem_.use_bounds;
    in.assign(sizes + 1, bounds ? context.floor_in[column] : 0.0);
    out.assign(sizes + 1, bounds ? context.floor - context.floor_in[column] : 0.0);
    const int first = search_.every_size_ ? 2 : 1;
    if (bounds && !search_.every_size_) {
        // Two leaves at most, for which the best is known, or three prices and more.
        const double price = search_.price_;
        in[1] = std::min(context.second_in[column], in[1] + 3 * price);
        out[1] = std::min(context.second_out[column], out[1] + 3 * price);
    }
    if (bounds) {
        const double scale = search_.largest_cost_;
        const double *weight = &context.weight[static_cast<std::size_t>(column) * n];
        const double own = weight[column];
        for (const int other : context.solved) {
            const double both = weight[other];
            const double theirs = context.weight[static_cast<std::size_t>(other) * n + other];
            const std::vector<double> &a = context.known[2 * other + 1];
            const std::vector<double> &b = context.known[2 * other];
            // Our best tree, used on the other set, costs at most the samples that only the other set has. A leaf that
            // falls short of the support there is given up for its neighbour: it has lost at least one of the samples
            // that only we have, and what it still had, less than the support, may become wrong.
            const double short_of = search_.support_ - 1;
            const double neither = context.all - theirs - own + both;
            const double a_in = scale * (theirs - both + short_of * (own - both));
            const double a_out = scale * (both + short_of * neither);
            const double b_in = scale * (neither + short_of * both);
            const double b_out = scale * (own - both + short_of * (theirs - both));
            const double more = search_.foreign_price(feature_of(node, column), feature_of(node, other)) * context.all;
            for (int m = first; m <= sizes; ++m) {
                in[m] = std::max({in[m], a[m] - a_in - more, b[m] - b_in - more});
                out[m] = std::max({out[m], a[m] - a_out - more, b[m] - b_out - more});
            }
        }
    }
    if (search_.every_size_) {
        in[1] = context.leaf_in[column];
        out[1] = context.leaf_out[column];
        for (int m = 2; m <= sizes; ++m) {
            in[m] = std::min(in[m], in[1]);
            out[m] = std::min(out[m], out[1]);
        }
    }
}

double BinarySearch::Worker::least(const BitNode &node, const Context &context, int column, int depth) const {
    const int sizes = search_.n_sizes(depth - 1);
    std::vector<double> in;
    std::vector<double> out;
    bound_sides(node, context, column, sizes, in, out);
    return in[sizes] + out[sizes] + context.paid[column];
}

bool BinarySearch::Worker::hopeless(const std::vector<double> &in, const std::vector<double> &out, int sizes,
                                    const std::vector<double> &upper) const {
    if (!search_.every_size_) {
        return in[1] + out[1] >= upper[1];
    }
    const int most = static_cast<int>(in.size()) - 1;
    for (int m = 2; m <= sizes; ++m) {
        for (int a = std::max(1, m - most); a <= std::min(m - 1, most); ++a) {
            if (in[a] + out[m - a] < upper[m]) {
                return false;
            }
        }
    }
    return true;
}

/// What one side may cost at most, by number of leaves, given what the other costs at least.
void BinarySearch::Worker::limit(const std::vector<double> &other, int sizes, const std::vector<double> &upper,
                                 std::vector<double> &out) const {
    const int most = static_cast<int>(other.size()) - 1;
    const double slack = search_.cost_.tolerance() / 2;
    out.assign(most + 1, infinity);
    if (!search_.problem_.use_bounds) {
        return;
    }
    if (!search_.every_size_) {
        out[1] = upper[1] - other[1] + slack;
        return;
    }
    for (int a = 1; a <= most; ++a) {
        double largest = -infinity;
        for (int b = 1; b <= std::min(most, sizes - a); ++b) {
            largest = std::max(largest, upper[a + b] - other[b]);
        }
        out[a] = largest + slack;
    }
}

/// Raises the bounds by what the cache knows; true when nothing is left to find below the limit.
bool BinarySearch::Worker::remembered(const ConditionSet &path, int depth, Level &level, std::vector<double> &bound,
                                      const std::vector<double> &child_upper) const {
    const int sizes = static_cast<int>(bound.size()) - 1;
    if (!search_.problem_.use_cache || !search_.cache_.find(path, depth, level.known) ||
        static_cast<int>(level.known.values.size()) <= sizes) {
        return false;
    }
    bool enough = true;
    for (int m = 1; m <= sizes; ++m) {
        bound[m] = level.known.exact[m] ? level.known.values[m] : std::max(bound[m], level.known.values[m]);
        enough = enough && (level.known.exact[m] || bound[m] >= child_upper[m]);
    }
    return enough;
}

} // namespace omtree
