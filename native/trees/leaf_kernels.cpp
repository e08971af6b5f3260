#include "trees/leaf_kernels.hpp"

#include <cstddef>
#include <string_view>

#include "loss/poisson.hpp"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define OMTREE_X86 1
#endif

// Vectors wider than the baseline's are passed within one file only, so their calling convention is nobody's concern.
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace omtree {
namespace {

namespace portable {
#include "trees/leaf_kernels.inc"
} // namespace portable

#ifdef OMTREE_X86
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt,lzcnt,fma")
namespace avx2 {
#include "trees/leaf_kernels.inc"
} // namespace avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,avx2,bmi,bmi2,popcnt,lzcnt,fma")
namespace avx512 {
#include "trees/leaf_kernels.inc"
} // namespace avx512
#pragma GCC pop_options
#endif

template <typename Count> const LeafKernels<Count> *choose() {
#ifdef OMTREE_X86
    const std::string_view name = kernels().name;
    if (name == "avx512") {
        return avx512::table<Count>;
    }
    if (name == "avx2") {
        return avx2::table<Count>;
    }
#endif
    return portable::table<Count>;
}

} // namespace

template <> const LeafKernels<std::int32_t> &leaf_kernels(Loss loss) {
    static const LeafKernels<std::int32_t> *const chosen = choose<std::int32_t>();
    return chosen[static_cast<int>(loss)];
}

template <> const LeafKernels<double> &leaf_kernels(Loss loss) {
    static const LeafKernels<double> *const chosen = choose<double>();
    return chosen[static_cast<int>(loss)];
}

} // namespace omtree
