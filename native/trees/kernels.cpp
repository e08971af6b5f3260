#include "trees/kernels.hpp"

#include <bit>
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include "core/clones.hpp"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define OMTREE_X86 1
#include <immintrin.h>
#elif defined(__aarch64__) && defined(__ARM_NEON)
#define OMTREE_NEON 1
#include <arm_neon.h>
#endif

// Vectors wider than the baseline's are passed within one file only, so their calling convention is nobody's concern.
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif

namespace omtree {
namespace {

namespace portable {
#include "trees/kernels.inc"

void count_pairs(const BitView &bits, const std::uint64_t *mask, std::int32_t *counts) {
    for (int s = 0; s < bits.n_segments; ++s) {
        const Segment &segment = bits.segments[s];
        for (int i = 0; i < bits.n_columns; ++i) {
            std::int32_t *row = counts + (static_cast<std::size_t>(segment.label) * bits.n_columns + i) * bits.stride;
            const std::uint64_t *a = bits.rows + static_cast<std::size_t>(i) * bits.n_words;
            for (int j = i; j < bits.n_columns; ++j) {
                const std::uint64_t *b = bits.rows + static_cast<std::size_t>(j) * bits.n_words;
                int sum = 0;
                for (int w = segment.begin; w < segment.end; ++w) {
                    sum += std::popcount(a[w] & b[w] & (mask != nullptr ? mask[w] : ~std::uint64_t{0}));
                }
                row[j] += sum * segment.weight;
            }
        }
    }
}

void compress(const std::uint64_t *from, const std::uint64_t *mask, int begin, int end, std::uint64_t *to) {
    int filled = 0;
    for (int w = begin; w < end; ++w) {
        for (std::uint64_t left = mask[w]; left != 0; left &= left - 1) {
            to[filled / 64] |= (from[w] >> std::countr_zero(left) & 1) << (filled % 64);
            ++filled;
        }
    }
}
} // namespace portable

#ifdef OMTREE_X86
constexpr int words_at_once = 128; ///< so that a block of all columns stays in cache

#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt,lzcnt,fma")
namespace avx2 {
#include "trees/kernels.inc"

// Bits of four words at a time, by a table of the bits of half bytes.
inline __m256i popcount_words(__m256i x) {
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2,
                                           2, 3, 2, 3, 3, 4);
    const __m256i low = _mm256_set1_epi8(15);
    const __m256i a = _mm256_shuffle_epi8(table, _mm256_and_si256(x, low));
    const __m256i b = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(x, 4), low));
    return _mm256_sad_epu8(_mm256_add_epi8(a, b), _mm256_setzero_si256());
}

void count_pairs(const BitView &bits, const std::uint64_t *mask, std::int32_t *counts) {
    for (int s = 0; s < bits.n_segments; ++s) {
        const Segment &segment = bits.segments[s];
        for (int start = segment.begin; start < segment.end; start += words_at_once) {
            const int stop = start + words_at_once < segment.end ? start + words_at_once : segment.end;
            for (int i = 0; i < bits.n_columns; ++i) {
                std::int32_t *row =
                    counts + (static_cast<std::size_t>(segment.label) * bits.n_columns + i) * bits.stride;
                std::uint64_t own[words_at_once];
                const std::uint64_t *a = bits.rows + static_cast<std::size_t>(i) * bits.n_words;
                for (int w = start; w < stop; ++w) {
                    own[w - start] = mask != nullptr ? a[w] & mask[w] : a[w];
                }
                for (int j = i & ~7; j < bits.n_columns; j += 8) {
                    __m256i sum0 = _mm256_setzero_si256();
                    __m256i sum1 = sum0;
                    for (int w = start; w < stop; ++w) {
                        const __m256i x = _mm256_set1_epi64x(static_cast<long long>(own[w - start]));
                        const std::uint64_t *b = bits.words + static_cast<std::size_t>(w) * bits.stride + j;
                        const __m256i b0 = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(b));
                        const __m256i b1 = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(b + 4));
                        sum0 = _mm256_add_epi64(sum0, popcount_words(_mm256_and_si256(x, b0)));
                        sum1 = _mm256_add_epi64(sum1, popcount_words(_mm256_and_si256(x, b1)));
                    }
                    alignas(32) std::int64_t sums[8];
                    _mm256_store_si256(reinterpret_cast<__m256i *>(sums), sum0);
                    _mm256_store_si256(reinterpret_cast<__m256i *>(sums + 4), sum1);
                    for (int l = 0; l < 8; ++l) {
                        row[j + l] += static_cast<std::int32_t>(sums[l]) * segment.weight;
                    }
                }
            }
        }
    }
}

void compress(const std::uint64_t *from, const std::uint64_t *mask, int begin, int end, std::uint64_t *to) {
    int filled = 0;
    std::uint64_t word = 0;
    for (int w = begin; w < end; ++w) {
        const std::uint64_t bits = _pext_u64(from[w], mask[w]);
        const int n = __builtin_popcountll(mask[w]);
        word |= bits << filled;
        if (filled + n >= 64) {
            *to++ = word;
            word = filled > 0 ? bits >> (64 - filled) : 0;
            filled -= 64;
        }
        filled += n;
    }
    if (filled > 0) {
        *to = word;
    }
}
} // namespace avx2
#pragma GCC pop_options

#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx512vpopcntdq,avx2,bmi,bmi2,popcnt,lzcnt,fma")
namespace avx512 {
#include "trees/kernels.inc"

void count_pairs(const BitView &bits, const std::uint64_t *mask, std::int32_t *counts) {
    for (int s = 0; s < bits.n_segments; ++s) {
        const Segment &segment = bits.segments[s];
        const __m256i weight = _mm256_set1_epi32(segment.weight);
        for (int start = segment.begin; start < segment.end; start += words_at_once) {
            const int stop = start + words_at_once < segment.end ? start + words_at_once : segment.end;
            for (int i = 0; i < bits.n_columns; ++i) {
                std::int32_t *row =
                    counts + (static_cast<std::size_t>(segment.label) * bits.n_columns + i) * bits.stride;
                std::uint64_t own[words_at_once];
                const std::uint64_t *a = bits.rows + static_cast<std::size_t>(i) * bits.n_words;
                for (int w = start; w < stop; ++w) {
                    own[w - start] = mask != nullptr ? a[w] & mask[w] : a[w];
                }
                int j = i & ~15;
                const auto add = [&](std::int32_t *to, __m512i sums) {
                    const __m256i narrow = _mm256_mullo_epi32(_mm512_maskz_cvtepi64_epi32(255, sums), weight);
                    __m256i *at = reinterpret_cast<__m256i *>(to);
                    _mm256_storeu_si256(at, _mm256_add_epi32(_mm256_loadu_si256(at), narrow));
                };
                for (; j + 32 <= bits.stride; j += 32) {
                    __m512i s0 = _mm512_setzero_si512();
                    __m512i s1 = s0;
                    __m512i s2 = s0;
                    __m512i s3 = s0;
                    for (int w = start; w < stop; ++w) {
                        const __m512i x = _mm512_set1_epi64(static_cast<long long>(own[w - start]));
                        const std::uint64_t *b = bits.words + static_cast<std::size_t>(w) * bits.stride + j;
                        s0 = _mm512_add_epi64(s0, _mm512_popcnt_epi64(_mm512_and_si512(x, _mm512_loadu_si512(b))));
                        s1 = _mm512_add_epi64(s1, _mm512_popcnt_epi64(_mm512_and_si512(x, _mm512_loadu_si512(b + 8))));
                        s2 = _mm512_add_epi64(s2, _mm512_popcnt_epi64(_mm512_and_si512(x, _mm512_loadu_si512(b + 16))));
                        s3 = _mm512_add_epi64(s3, _mm512_popcnt_epi64(_mm512_and_si512(x, _mm512_loadu_si512(b + 24))));
                    }
                    add(row + j, s0);
                    add(row + j + 8, s1);
                    add(row + j + 16, s2);
                    add(row + j + 24, s3);
                }
                for (; j < bits.stride; j += 16) {
                    __m512i s0 = _mm512_setzero_si512();
                    __m512i s1 = s0;
                    for (int w = start; w < stop; ++w) {
                        const __m512i x = _mm512_set1_epi64(static_cast<long long>(own[w - start]));
                        const std::uint64_t *b = bits.words + static_cast<std::size_t>(w) * bits.stride + j;
                        s0 = _mm512_add_epi64(s0, _mm512_popcnt_epi64(_mm512_and_si512(x, _mm512_loadu_si512(b))));
                        s1 = _mm512_add_epi64(s1, _mm512_popcnt_epi64(_mm512_and_si512(x, _mm512_loadu_si512(b + 8))));
                    }
                    add(row + j, s0);
                    add(row + j + 8, s1);
                }
            }
        }
    }
}
} // namespace avx512
#pragma GCC pop_options
#endif

// Compilers make NEON of the vectors of the portable kernels by themselves, but take the bits of one word at a time.
#ifdef OMTREE_NEON
namespace neon {
constexpr int words_at_once = 31; ///< a byte counts the bits of as many: 31 * 8 < 256

void count_pairs(const BitView &bits, const std::uint64_t *mask, std::int32_t *counts) {
    for (int s = 0; s < bits.n_segments; ++s) {
        const Segment &segment = bits.segments[s];
        for (int start = segment.begin; start < segment.end; start += words_at_once) {
            const int stop = start + words_at_once < segment.end ? start + words_at_once : segment.end;
            for (int i = 0; i < bits.n_columns; ++i) {
                std::int32_t *row =
                    counts + (static_cast<std::size_t>(segment.label) * bits.n_columns + i) * bits.stride;
                std::uint64_t own[words_at_once];
                const std::uint64_t *a = bits.rows + static_cast<std::size_t>(i) * bits.n_words;
                for (int w = start; w < stop; ++w) {
                    own[w - start] = mask != nullptr ? a[w] & mask[w] : a[w];
                }
                for (int j = i & ~7; j < bits.n_columns; j += 8) {
                    uint8x16_t sums[4] = {vdupq_n_u8(0), vdupq_n_u8(0), vdupq_n_u8(0), vdupq_n_u8(0)};
                    for (int w = start; w < stop; ++w) {
                        const uint64x2_t x = vdupq_n_u64(own[w - start]);
                        const std::uint64_t *b = bits.words + static_cast<std::size_t>(w) * bits.stride + j;
                        for (int k = 0; k < 4; ++k) {
                            const uint64x2_t both = vandq_u64(x, vld1q_u64(b + 2 * k));
                            sums[k] = vaddq_u8(sums[k], vcntq_u8(vreinterpretq_u8_u64(both)));
                        }
                    }
                    for (int k = 0; k < 4; ++k) {
                        const uint64x2_t total = vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(sums[k])));
                        row[j + 2 * k] += static_cast<std::int32_t>(vgetq_lane_u64(total, 0)) * segment.weight;
                        row[j + 2 * k + 1] += static_cast<std::int32_t>(vgetq_lane_u64(total, 1)) * segment.weight;
                    }
                }
            }
        }
    }
}
} // namespace neon
#endif

constexpr Kernels portable_kernels = {"portable",
                                      portable::count_pairs,
                                      portable::best_second,
                                      portable::best_second_costs,
                                      portable::split_intervals,
                                      portable::split_subsets,
                                      portable::split_floor,
                                      portable::split_any_size,
                                      portable::add,
                                      portable::subtract,
                                      portable::compress};

/// The best version this processor has; OMTREE_KERNELS names a simpler one, for tests.
Kernels choose() {
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
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512vpopcntdq")) {
        return {"avx512",
                avx512::count_pairs,
                avx512::best_second,
                avx512::best_second_costs,
                avx512::split_intervals,
                avx512::split_subsets,
                avx512::split_floor,
                avx512::split_any_size,
                avx512::add,
                avx512::subtract,
                avx2::compress};
    }
    if (has_avx2) {
        return {"avx2",
                avx2::count_pairs,
                avx2::best_second,
                avx2::best_second_costs,
                avx2::split_intervals,
                avx2::split_subsets,
                avx2::split_floor,
                avx2::split_any_size,
                avx2::add,
                avx2::subtract,
                avx2::compress};
    }
#endif
#ifdef OMTREE_NEON
    Kernels with_neon = portable_kernels;
    with_neon.name = "neon";
    with_neon.count_pairs = neon::count_pairs;
    return with_neon;
#else
    return portable_kernels;
#endif
}

} // namespace

template <> void add_counts(const std::int32_t *a, const std::int32_t *b, std::size_t n, std::int32_t *to) {
    kernels().add(a, b, n, to);
}

template <> void subtract_counts(const std::int32_t *a, const std::int32_t *b, std::size_t n, std::int32_t *to) {
    kernels().subtract(a, b, n, to);
}

template <> OMTREE_CLONES void add_counts(const double *a, const double *b, std::size_t n, double *to) {
    for (std::size_t i = 0; i < n; ++i) {
        to[i] = a[i] + b[i];
    }
}

template <> OMTREE_CLONES void subtract_counts(const double *a, const double *b, std::size_t n, double *to) {
    for (std::size_t i = 0; i < n; ++i) {
        to[i] = a[i] - b[i];
    }
}

const Kernels &kernels() {
    static const Kernels chosen = choose();
    return chosen;
}

} // namespace omtree
