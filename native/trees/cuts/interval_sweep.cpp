#include "trees/cuts/interval_sweep.hpp"

#include <string_view>

// Vectors wider than the baseline's are passed within one file only, so their
// calling convention is nobody's concern.
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define OMTREE_X86 1
#endif

namespace omtree {
namespace {

namespace portable {
namespace narrow {
using Number = std::int16_t;
#include "trees/cuts/interval_sweep.inc"
} // namespace narrow
namespace wide {
using Number = std::int32_t;
#include "trees/cuts/interval_sweep.inc"
} // namespace wide
} // namespace portable

#if defined(OMTREE_X86)
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt,lzcnt,fma")
namespace avx2 {
namespace narrow {
using Number = std::int16_t;
#include "trees/cuts/interval_sweep.inc"
} // namespace narrow
namespace wide {
using Number = std::int32_t;
#include "trees/cuts/interval_sweep.inc"
} // namespace wide
} // namespace avx2
#pragma GCC pop_options
#endif

} // namespace

template <> void sweep_intervals(const IntervalTask<std::int16_t> &task, int n_parts, std::int16_t *right_rows) {
#if defined(OMTREE_X86)
    // Sixteen short lanes are one register of AVX2; wider ones gain nothing.
    if (std::string_view(sweep_instructions()) != "portable") {
        return avx2::narrow::sweep(task, n_parts, right_rows);
    }
#endif
    portable::narrow::sweep(task, n_parts, right_rows);
}

template <> void sweep_intervals(const IntervalTask<std::int32_t> &task, int n_parts, std::int32_t *right_rows) {
#if defined(OMTREE_X86)
    if (std::string_view(sweep_instructions()) != "portable") {
        return avx2::wide::sweep(task, n_parts, right_rows);
    }
#endif
    portable::wide::sweep(task, n_parts, right_rows);
}

} // namespace omtree
