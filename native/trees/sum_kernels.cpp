#include "trees/sum_kernels.hpp"

#include <cstdlib>
#include <string_view>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define OMTREE_X86 1
#include <immintrin.h>
#endif

// Vectors wider than the baseline's are passed within one file only, so their calling convention is nobody's concern.
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace omtree {
namespace {

namespace portable {
template <typename Reals> inline Reals inverse(Reals x) {
    return 1.0 / x;
}
#include "trees/sum_kernels.inc"
} // namespace portable

#ifdef OMTREE_X86
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt,lzcnt,fma")
namespace avx2 {
template <typename Reals> inline Reals inverse(Reals x) {
    return 1.0 / x;
}
#include "trees/sum_kernels.inc"
} // namespace avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,avx2,bmi,bmi2,popcnt,lzcnt,fma")
namespace avx512 {
/// A guess of 14 bits, twice doubled: a third of the time of a division, and as exact but for the last digit.
template <typename Reals> inline Reals inverse(Reals x) {
    const __m512d whole = reinterpret_cast<__m512d>(x);
    const __m512d two = _mm512_set1_pd(2.0);
    __m512d guess = _mm512_maskz_rcp14_pd(255, whole);
    guess = _mm512_mul_pd(guess, _mm512_fnmadd_pd(whole, guess, two));
    guess = _mm512_mul_pd(guess, _mm512_fnmadd_pd(whole, guess, two));
    return reinterpret_cast<Reals>(guess);
}
#include "trees/sum_kernels.inc"
} // namespace avx512
#pragma GCC pop_options
#endif

constexpr SumKernels portable_kernels = {"portable", portable::best_second, portable::add, portable::subtract,
                                         portable::add_pairs};

/// The best version this processor has; OMTREE_KERNELS names a simpler one, for tests.
SumKernels choose() {
    const char *variable = std::getenv("OMTREE_KERNELS");
    const std::string_view wanted = variable != nullptr ? variable : "";
    if (wanted == "portable") {
        return portable_kernels;
    }
#ifdef OMTREE_X86
    __builtin_cpu_init();
    const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2") &&
                          __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("fma");
    if (wanted != "avx2" && has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) {
        return {"avx512", avx512::best_second, avx512::add, avx512::subtract, avx512::add_pairs};
    }
    if (has_avx2) {
        return {"avx2", avx2::best_second, avx2::add, avx2::subtract, avx2::add_pairs};
    }
#endif
    return portable_kernels;
}

} // namespace

const SumKernels &sum_kernels() {
    static const SumKernels chosen = choose();
    return chosen;
}

} // namespace omtree
