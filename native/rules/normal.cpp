#include "rules/normal.hpp"

#include "core/clones.hpp"

namespace omtree {

OMTREE_CLONES
void add_normal_matrix(std::span<const std::int32_t> start, std::span<const std::int32_t> index,
                       std::span<const double> weight, std::span<double> out, std::size_t size) {
    for (std::size_t j = 0; j < weight.size(); ++j) {
        const std::int32_t *first = index.data() + start[j];
        const std::int32_t *last = index.data() + start[j + 1];
        const double w = weight[j];
        for (const std::int32_t *a = first; a != last; ++a) {
            double *row = out.data() + static_cast<std::size_t>(*a) * size;
            for (const std::int32_t *b = first; b <= a; ++b) {
                row[*b] += w;
            }
        }
    }
}

} // namespace omtree
