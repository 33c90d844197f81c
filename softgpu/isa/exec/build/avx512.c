/* The vector ALU for x86 processors with AVX-512. */
#if defined(__x86_64__)
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#include "softgpu/isa/base/wave.h"

#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2"))),               \
    apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,prefer-vector-width=512")
#endif

static inline bool is_zero_avx512(const void *lanes)
{
  const __m512i all = _mm512_loadu_si512(lanes);
  return !_mm512_test_epi32_mask(all, all);
}

__attribute__((always_inline)) static inline uint64_t mask_of_avx512(const void *row)
{
  const __m512i *lanes = row;
  uint64_t mask = 0;
#pragma GCC unroll 4
  for (unsigned n = 0; n < 4; n++)
    mask |= (uint64_t)_mm512_movepi32_mask(_mm512_loadu_si512(&lanes[n])) << 16 * n;
  return mask;
}

__attribute__((always_inline)) static inline __mmask16 active_avx512(const isa_wave_t *wave,
                                                                     unsigned n)
{
  return (__mmask16)(isa_exec(wave) >> 16 * n);
}

/* Mostly there is none in any lane, active or not. */
__attribute__((always_inline)) static inline bool has_nan_avx512(const isa_wave_t *wave,
                                                                 const void *row)
{
  const __m512 *lanes = row;
  const __m512 a = _mm512_loadu_ps(&lanes[0]), b = _mm512_loadu_ps(&lanes[1]);
  const __m512 c = _mm512_loadu_ps(&lanes[2]), d = _mm512_loadu_ps(&lanes[3]);
  const __mmask16 low = _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q);
  const __mmask16 high = _mm512_cmp_ps_mask(c, d, _CMP_UNORD_Q);
  if (__builtin_expect(_kortestz_mask16_u8(low, high), 1))
    return false;
  return _mm512_mask_cmp_ps_mask(active_avx512(wave, 0), a, a, _CMP_UNORD_Q) ||
         _mm512_mask_cmp_ps_mask(active_avx512(wave, 1), b, b, _CMP_UNORD_Q) ||
         _mm512_mask_cmp_ps_mask(active_avx512(wave, 2), c, c, _CMP_UNORD_Q) ||
         _mm512_mask_cmp_ps_mask(active_avx512(wave, 3), d, d, _CMP_UNORD_Q);
}

/* A store with a mask would do, but what loads the row next would have to wait until it is in the
 * cache: the compiler shall not see that it is one. */
__attribute__((always_inline)) static inline void write_avx512(const isa_wave_t *wave, uint32_t *d,
                                                               const void *row)
{
  const __m512i *lanes = row;
  const bool is_full = isa_exec(wave) == UINT64_MAX;
#pragma GCC unroll 4
  for (unsigned n = 0; n < 4; n++) {
    __m512i new = _mm512_loadu_si512(&lanes[n]);
    if (!is_full) {
      __m512i old = _mm512_loadu_si512(d + 16 * n);
      __asm__("" : "+v"(old));
      new = _mm512_mask_mov_epi32(old, active_avx512(wave, n), new);
    }
    _mm512_storeu_si512(d + 16 * n, new);
  }
}

__attribute__((always_inline)) static inline void gather_avx512(uint32_t *to, const uint8_t *base,
                                                                const uint32_t *at)
{
  _mm512_storeu_si512(to, _mm512_i32gather_epi32(_mm512_loadu_si512(at), base, 1));
}

/* Quadwords, each in one piece. */
__attribute__((always_inline)) static inline void
gather_pairs_avx512(uint32_t *low, uint32_t *high, const uint8_t *base, const uint32_t *at)
{
  const __m512i evens =
      _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i odds = _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
  const __m256i *const halves = (const __m256i *)(const void *)at;
  const __m512i a = _mm512_i32gather_epi64(_mm256_loadu_si256(halves), base, 1);
  const __m512i b = _mm512_i32gather_epi64(_mm256_loadu_si256(halves + 1), base, 1);
  _mm512_storeu_si512(low, _mm512_permutex2var_epi32(a, evens, b));
  _mm512_storeu_si512(high, _mm512_permutex2var_epi32(a, odds, b));
}

/* Of 16 dwords in a row those of active lanes: what is between them is not touched. */
__attribute__((always_inline)) static inline void
load_active_avx512(uint32_t *to, const uint8_t *from, uint32_t active)
{
  const __m512i old = _mm512_loadu_si512(to);
  _mm512_storeu_si512(to, _mm512_mask_loadu_epi32(old, (__mmask16)active, from));
}

__attribute__((always_inline)) static inline void
store_active_avx512(uint8_t *to, const uint32_t *from, uint32_t active)
{
  _mm512_mask_storeu_epi32(to, (__mmask16)active, _mm512_loadu_si512(from));
}

#define VALU_LOAD_ACTIVE  load_active_avx512
#define VALU_STORE_ACTIVE store_active_avx512
#define VALU_GATHER       gather_avx512
#define VALU_GATHER_PAIRS gather_pairs_avx512
#define VALU_LARGER(a, b) ((valu_vector_t)_mm512_max_epu32((__m512i)(a), (__m512i)(b)))
#define VALU_FMA(a, b, c) ((valu_floats_t)_mm512_fmadd_ps((__m512)(a), (__m512)(b), (__m512)(c)))
#define VALU_SPREAD(x)    _mm512_set1_ps(x)
#define VALU_BUILD        isa_valu_avx512
#define VALU_VECTOR       64
#define VALU_IS_ZERO      is_zero_avx512
#define VALU_MASK_OF      mask_of_avx512
#define VALU_HAS_NAN      has_nan_avx512
#define VALU_WRITE        write_avx512
#include "softgpu/isa/exec/build/build.inc"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
