#include "trees/cuts/sweep.hpp"

#include <cstdlib>
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
#include "trees/cuts/sweep.inc"
} // namespace narrow
namespace wide {
using Number = std::int32_t;
#include "trees/cuts/sweep.inc"
} // namespace wide
namespace real {
using Number = double;
#include "trees/cuts/sweep.inc"
#include "trees/cuts/sweep_squares.inc"
} // namespace real
} // namespace portable

#if defined(OMTREE_X86)
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt,lzcnt,fma")
namespace avx2 {
namespace narrow {
using Number = std::int16_t;
#include "trees/cuts/sweep.inc"
} // namespace narrow
namespace wide {
using Number = std::int32_t;
#include "trees/cuts/sweep.inc"
} // namespace wide
namespace real {
using Number = double;
#include "trees/cuts/sweep.inc"
#include "trees/cuts/sweep_squares.inc"
} // namespace real
} // namespace avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,popcnt,lzcnt,fma")
namespace avx512 {
namespace narrow {
using Number = std::int16_t;
#include "trees/cuts/sweep.inc"
} // namespace narrow
namespace wide {
using Number = std::int32_t;
#include "trees/cuts/sweep.inc"
} // namespace wide
namespace real {
using Number = double;
#include "trees/cuts/sweep.inc"
#include "trees/cuts/sweep_squares.inc"
} // namespace real
} // namespace avx512
#pragma GCC pop_options
#endif

struct Sweeps {
    const char *name;
    void (*narrow)(const SweepTask<std::int16_t> &, std::int16_t *, std::int16_t *);
    void (*wide)(const SweepTask<std::int32_t> &, std::int32_t *, std::int32_t *);
    void (*real)(const SweepTask<double> &, double *, double *);
    void (*squares)(const SweepTask<double> &, const double *, double *, double *);
};

const Sweeps &best_sweeps() {
    static const Sweeps chosen = [] {
        const Sweeps portable_sweeps = {"portable", portable::narrow::sweep, portable::wide::sweep,
                                        portable::real::sweep, portable::real::sweep_squares};
#if defined(OMTREE_X86)
        // For tests: the versions that this processor would not choose itself.
        const char *wanted = std::getenv("OMTREE_KERNELS");
        const std::string_view most = wanted != nullptr ? wanted : "avx512";
        const bool v4 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
        if (v4 && most == "avx512") {
            return Sweeps{"avx512", avx512::narrow::sweep, avx512::wide::sweep, avx512::real::sweep,
                          avx512::real::sweep_squares};
        }
        if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && most != "portable") {
            return Sweeps{"avx2", avx2::narrow::sweep, avx2::wide::sweep, avx2::real::sweep, avx2::real::sweep_squares};
        }
#endif
        return portable_sweeps;
    }();
    return chosen;
}

} // namespace

template <> void sweep_errors(const SweepTask<std::int16_t> &task, std::int16_t *left, std::int16_t *right) {
    best_sweeps().narrow(task, left, right);
}

template <> void sweep_errors(const SweepTask<std::int32_t> &task, std::int32_t *left, std::int32_t *right) {
    best_sweeps().wide(task, left, right);
}

template <> void sweep_errors(const SweepTask<double> &task, double *left, double *right) {
    best_sweeps().real(task, left, right);
}

void sweep_squares(const SweepTask<double> &task, const double *sum, double *left, double *right) {
    best_sweeps().squares(task, sum, left, right);
}

const char *sweep_instructions() {
    return best_sweeps().name;
}

} // namespace omtree
