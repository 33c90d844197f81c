/* The vector ALU for x86 processors with AVX2, FMA and F16C. */
#if defined(__x86_64__) && !defined(SOFTGPU_WITHOUT_AVX2)
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,bmi,bmi2"))), apply_to = function)
#else
#pragma GCC target("avx2,fma,f16c,bmi,bmi2")
#endif

#include "softgpu/isa/exec/build/gather_x86.inc"

static inline bool is_zero_avx2(const void *lanes)
{
  const __m256i all = _mm256_loadu_si256(lanes);
  return _mm256_testz_si256(all, all);
}

__attribute__((always_inline)) static inline uint64_t mask_of_avx2(const void *row)
{
  const float *lanes = row;
  uint64_t mask = 0;
#pragma GCC unroll 8
  for (unsigned i = 0; i < ISA_LANES / 8; ++i)
    mask |= (uint64_t)(uint32_t)_mm256_movemask_ps(_mm256_loadu_ps(lanes + 8 * i)) << 8 * i;
  return mask;
}

/* (GCC takes the intrinsic for a comparison of the mask with 0, and compares.) */
__attribute__((always_inline)) static inline __m256 choose_avx2(__m256 mask, __m256 a, __m256 b)
{
  __m256 chosen;
  __asm__("vblendvps %3, %2, %1, %0" : "=x"(chosen) : "x"(b), "xm"(a), "x"(mask));
  return chosen;
}
#define VALU_CHOOSE(mask, a, b)                                                                    \
  ((valu_vector_t)choose_avx2((__m256)(mask), (__m256)(a), (__m256)(b)))

/* The 8 lanes of which a bit is set, as the host's masked moves want them. */
__attribute__((always_inline)) static inline __m256i lanes_of_avx2(uint32_t active)
{
  const __m256i bits = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)active), bits), bits);
}

__attribute__((always_inline)) static inline void gather_avx2(uint32_t *to, const uint8_t *base,
                                                              const uint32_t *at)
{
  for (unsigned i = 0; i < 16; i += 8) {
    const __m256i offsets = _mm256_loadu_si256((const __m256i *)(const void *)(at + i));
    _mm256_storeu_si256((__m256i *)(void *)(to + i),
                        _mm256_i32gather_epi32((const int *)(const void *)base, offsets, 1));
  }
}

__attribute__((always_inline)) static inline void
gather_active_avx2(uint32_t *to, const uint8_t *base, const uint32_t *at, uint32_t active)
{
  for (unsigned i = 0; i < 16; i += 8) {
    const __m256i offsets = _mm256_loadu_si256((const __m256i *)(const void *)(at + i));
    __m256i *const row = (__m256i *)(void *)(to + i);
    _mm256_storeu_si256(row, _mm256_mask_i32gather_epi32(_mm256_loadu_si256(row),
                                                         (const int *)(const void *)base, offsets,
                                                         lanes_of_avx2(active >> i), 1));
  }
}

__attribute__((always_inline)) static inline void
gather_pairs_avx2(uint32_t *low, uint32_t *high, const uint8_t *base, const uint32_t *at)
{
  for (unsigned i = 0; i < 16; i += 4) {
    const __m128 a = (__m128)quadwords_x86(base, at + i);
    const __m128 b = (__m128)quadwords_x86(base, at + i + 2);
    _mm_storeu_ps((float *)(void *)(low + i), _mm_shuffle_ps(a, b, 0x88));
    _mm_storeu_ps((float *)(void *)(high + i), _mm_shuffle_ps(a, b, 0xdd));
  }
}

/* Of 16 dwords in a row those of active lanes: what is between them is not touched. */
__attribute__((always_inline)) static inline void
load_active_avx2(uint32_t *to, const uint8_t *from, uint32_t active)
{
  for (unsigned i = 0; i < 16; i += 8) {
    const __m256i lanes = lanes_of_avx2(active >> i);
    __m256i *const row = (__m256i *)(void *)(to + i);
    const __m256i loaded =
        _mm256_maskload_epi32((const int *)(const void *)(from + (size_t)4 * i), lanes);
    _mm256_storeu_si256(row, _mm256_blendv_epi8(_mm256_loadu_si256(row), loaded, lanes));
  }
}

__attribute__((always_inline)) static inline void
store_active_avx2(uint8_t *to, const uint32_t *from, uint32_t active)
{
  for (unsigned i = 0; i < 16; i += 8)
    _mm256_maskstore_epi32((int *)(void *)(to + (size_t)4 * i), lanes_of_avx2(active >> i),
                           _mm256_loadu_si256((const __m256i *)(const void *)(from + i)));
}

/* The f32 of an f16 in the low half of each lane. NaNs are quieted. */
__attribute__((always_inline)) static inline __m256 of_halves_avx2(__m256i lanes)
{
  const __m256i low = _mm256_and_si256(lanes, _mm256_set1_epi32(0xffff));
  return _mm256_cvtph_ps(
      _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1)));
}

#define VALU_OF_HALVES(lanes) ((valu_vector_t)of_halves_avx2((__m256i)(lanes)))
#define VALU_TO_HALVES(lanes)                                                                      \
  ((valu_vector_t)_mm256_cvtepu16_epi32(                                                           \
      _mm256_cvtps_ph((__m256)(lanes), _MM_FROUND_TO_NEAREST_INT)))
#define VALU_LOAD_ACTIVE      load_active_avx2
#define VALU_STORE_ACTIVE     store_active_avx2
#define VALU_GATHER           gather_avx2
#define VALU_GATHER_ACTIVE    gather_active_avx2
#define VALU_GATHER_PAIRS     gather_pairs_avx2
#define VALU_GATHER_QUADS     gather_quads_x86
#define VALU_SCATTER_QUADS    scatter_quads_x86
#define VALU_LARGER(a, b)     ((valu_vector_t)_mm256_max_epu32((__m256i)(a), (__m256i)(b)))
#define VALU_FMA(a, b, c)     _mm256_fmadd_ps(a, b, c)
#define VALU_SPREAD(x)        _mm256_set1_ps(x)
#define VALU_BUILD            isa_valu_avx2
#define VALU_VECTOR           32
#define VALU_IS_ZERO          is_zero_avx2
#define VALU_MASK_OF          mask_of_avx2
#define VALU_OF_MASK(mask, n) ((valu_vector_t)lanes_of_avx2((uint32_t)((mask) >> 8 * (n))))
#include "softgpu/isa/exec/build/build.inc"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
