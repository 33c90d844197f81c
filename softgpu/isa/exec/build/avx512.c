/* The vector ALU for x86 processors with AVX-512. */
#if defined(__x86_64__) && !defined(SOFTGPU_WITHOUT_AVX512)
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

#include "softgpu/isa/exec/build/gather_x86.inc"

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
  for (unsigned n = 0; n < ISA_LANES / 16; ++n)
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
  const __mmask16 low = _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q);
#if ISA_LANES == 64
  const __m512 c = _mm512_loadu_ps(&lanes[2]), d = _mm512_loadu_ps(&lanes[3]);
  const __mmask16 high = _mm512_cmp_ps_mask(c, d, _CMP_UNORD_Q);
#else
  const __mmask16 high = low;
#endif
  if (__builtin_expect(_kortestz_mask16_u8(low, high), 1))
    return false;
#if ISA_LANES == 64
  if (_mm512_mask_cmp_ps_mask(active_avx512(wave, 2), c, c, _CMP_UNORD_Q) ||
      _mm512_mask_cmp_ps_mask(active_avx512(wave, 3), d, d, _CMP_UNORD_Q))
    return true;
#endif
  return _mm512_mask_cmp_ps_mask(active_avx512(wave, 0), a, a, _CMP_UNORD_Q) ||
         _mm512_mask_cmp_ps_mask(active_avx512(wave, 1), b, b, _CMP_UNORD_Q);
}

/* A store with a mask would do, but what loads the row next would have to wait until it is in the
 * cache: the compiler shall not see that it is one. */
__attribute__((always_inline)) static inline void write_avx512(const isa_wave_t *wave, uint32_t *d,
                                                               unsigned n, __m512i new)
{
  __m512i old = _mm512_loadu_si512(d + 16 * n);
  __asm__("" : "+v"(old));
  _mm512_storeu_si512(d + 16 * n, _mm512_mask_mov_epi32(old, active_avx512(wave, n), new));
}

__attribute__((always_inline)) static inline __m512i four_avx512(__m128i a, __m128i b, __m128i c,
                                                                 __m128i d)
{
  const __m256i low = _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
  const __m256i high = _mm256_inserti128_si256(_mm256_castsi128_si256(c), d, 1);
  return _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
}

__attribute__((always_inline)) static inline void gather_avx512(uint32_t *to, const uint8_t *base,
                                                                const uint32_t *at)
{
  _mm512_storeu_si512(to, _mm512_i32gather_epi32(_mm512_loadu_si512(at), base, 1));
}

__attribute__((always_inline)) static inline void
gather_active_avx512(uint32_t *to, const uint8_t *base, const uint32_t *at, uint32_t active)
{
  _mm512_storeu_si512(to, _mm512_mask_i32gather_epi32(_mm512_loadu_si512(to), (__mmask16)active,
                                                      _mm512_loadu_si512(at), base, 1));
}

__attribute__((always_inline)) static inline void
gather_pairs_avx512(uint32_t *low, uint32_t *high, const uint8_t *base, const uint32_t *at)
{
  const __m512 a = (__m512)four_avx512(quadwords_x86(base, at), quadwords_x86(base, at + 4),
                                       quadwords_x86(base, at + 8), quadwords_x86(base, at + 12));
  const __m512 b = (__m512)four_avx512(quadwords_x86(base, at + 2), quadwords_x86(base, at + 6),
                                       quadwords_x86(base, at + 10), quadwords_x86(base, at + 14));
  _mm512_storeu_ps(low, _mm512_shuffle_ps(a, b, 0x88));
  _mm512_storeu_ps(high, _mm512_shuffle_ps(a, b, 0xdd));
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

/* The f32 of an f16 in the low half of each lane. NaNs are quieted. */
#define VALU_OF_HALVES(lanes)                                                                      \
  ((valu_vector_t)_mm512_cvtph_ps(_mm512_cvtepi32_epi16((__m512i)(lanes))))
#define VALU_TO_HALVES(lanes)                                                                      \
  ((valu_vector_t)_mm512_cvtepu16_epi32(                                                           \
      _mm512_cvtps_ph((__m512)(lanes), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)))
#define VALU_LOAD_ACTIVE      load_active_avx512
#define VALU_STORE_ACTIVE     store_active_avx512
#define VALU_GATHER           gather_avx512
#define VALU_GATHER_ACTIVE    gather_active_avx512
#define VALU_GATHER_PAIRS     gather_pairs_avx512
#define VALU_GATHER_QUADS     gather_quads_x86
#define VALU_SCATTER_QUADS    scatter_quads_x86
#define VALU_LARGER(a, b)     ((valu_vector_t)_mm512_max_epu32((__m512i)(a), (__m512i)(b)))
#define VALU_FMA(a, b, c)     _mm512_fmadd_ps(a, b, c)
#define VALU_SPREAD(x)        _mm512_set1_ps(x)
#define VALU_BUILD            isa_valu_avx512
#define VALU_VECTOR           64
#define VALU_IS_ZERO          is_zero_avx512
#define VALU_MASK_OF          mask_of_avx512
#define VALU_HAS_NAN          has_nan_avx512
#define VALU_WRITES_ALL(wave) (isa_exec(wave) == ISA_ALL_LANES)
#define VALU_OF_MASK(mask, n)                                                                      \
  ((valu_vector_t)_mm512_maskz_set1_epi32((__mmask16)((mask) >> 16 * (n)), -1))
#define VALU_ACTIVE(wave, n, vector)                                                               \
  ((valu_vector_t)_mm512_maskz_mov_epi32(active_avx512(wave, n), (__m512i)(vector)))
#define VALU_WRITE_VECTOR(wave, d, n, vector) write_avx512(wave, d, n, (__m512i)(vector))
#include "softgpu/isa/exec/build/build.inc"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
