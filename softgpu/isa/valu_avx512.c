/* The vector ALU for x86 processors with AVX-512. */
#if defined(__x86_64__)
#include <immintrin.h>

#if defined(__clang__)
#pragma clang attribute push(                                                                      \
    __attribute__((                                                                                \
        target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,prefer-vector-width=512"))),  \
    apply_to = function)
#else
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi,bmi2,prefer-vector-width=512")
#endif

#include "softgpu/isa/float.h"
#include "softgpu/isa/small.h"
#include "softgpu/isa/valu_mfma.h"

#define VALU_BUILD          isa_valu_avx512
#define VALU_IS_ZERO(lanes) (!_mm512_test_epi32_mask((__m512i) * (lanes), (__m512i) * (lanes)))
#include "softgpu/isa/valu_build.inc"

#if defined(__clang__)
#pragma clang attribute pop
#endif
#endif
