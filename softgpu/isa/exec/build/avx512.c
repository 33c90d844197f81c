/* The vector ALU for x86 processors with AVX-512. */
#if defined(__x86_64__)
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

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

static inline uint32_t mask_of_avx512(const uint32_t *row)
{
  const __m512i low = _mm512_loadu_si512(row), high = _mm512_loadu_si512(row + 16);
  return _mm512_movepi32_mask(low) | (uint32_t)_mm512_movepi32_mask(high) << 16;
}

#define VALU_LARGER(a, b) ((valu_vector_t)_mm512_max_epu32((__m512i)(a), (__m512i)(b)))
#define VALU_BUILD        isa_valu_avx512
#define VALU_VECTOR       64
#define VALU_IS_ZERO      is_zero_avx512
#define VALU_MASK_OF      mask_of_avx512
#include "softgpu/isa/exec/build/build.inc"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
