/* Which matrix instructions there are, under gfx90a's, gfx942's and gfx950's names. */
#include "softgpu/isa/describe/matrix.h"

#include <stddef.h>

#define ROW(name, a, b, size, k, blocks, is_sparse)                                                \
  {                                                                                                \
    ISA_##name, a, b, size, k, blocks, is_sparse                                                   \
  }
#define BOTH_NAMES(old, new, format, size, k, blocks)                                              \
  ROW(old, format, format, size, k, blocks, false), ROW(new, format, format, size, k, blocks, false)
#define ONE_NAME(name, format, size, k, blocks) ROW(name, format, format, size, k, blocks, false)
#define SPARSE(name, format, size, k)           ROW(name, format, format, size, k, 1, true)
/* fp8 and bf8 in every combination. */
#define EIGHT_BITS(prefix, size, k, is_sparse)                                                     \
  ROW(prefix##_fp8_fp8, MFMA_FP8, MFMA_FP8, size, k, 1, is_sparse),                                \
      ROW(prefix##_fp8_bf8, MFMA_FP8, MFMA_BF8, size, k, 1, is_sparse),                            \
      ROW(prefix##_bf8_fp8, MFMA_BF8, MFMA_FP8, size, k, 1, is_sparse),                            \
      ROW(prefix##_bf8_bf8, MFMA_BF8, MFMA_BF8, size, k, 1, is_sparse)

static const mfma_t rows[] = {
    BOTH_NAMES(v_mfma_f32_32x32x1f32, v_mfma_f32_32x32x1_2b_f32, MFMA_F32, 32, 1, 2),
    BOTH_NAMES(v_mfma_f32_16x16x1f32, v_mfma_f32_16x16x1_4b_f32, MFMA_F32, 16, 1, 4),
    BOTH_NAMES(v_mfma_f32_4x4x1f32, v_mfma_f32_4x4x1_16b_f32, MFMA_F32, 4, 1, 16),
    BOTH_NAMES(v_mfma_f32_32x32x2f32, v_mfma_f32_32x32x2_f32, MFMA_F32, 32, 2, 1),
    BOTH_NAMES(v_mfma_f32_16x16x4f32, v_mfma_f32_16x16x4_f32, MFMA_F32, 16, 4, 1),
    BOTH_NAMES(v_mfma_f32_32x32x4f16, v_mfma_f32_32x32x4_2b_f16, MFMA_F16, 32, 4, 2),
    BOTH_NAMES(v_mfma_f32_16x16x4f16, v_mfma_f32_16x16x4_4b_f16, MFMA_F16, 16, 4, 4),
    BOTH_NAMES(v_mfma_f32_4x4x4f16, v_mfma_f32_4x4x4_16b_f16, MFMA_F16, 4, 4, 16),
    BOTH_NAMES(v_mfma_f32_32x32x8f16, v_mfma_f32_32x32x8_f16, MFMA_F16, 32, 8, 1),
    BOTH_NAMES(v_mfma_f32_16x16x16f16, v_mfma_f32_16x16x16_f16, MFMA_F16, 16, 16, 1),
    BOTH_NAMES(v_mfma_f32_32x32x4bf16_1k, v_mfma_f32_32x32x4_2b_bf16, MFMA_BF16, 32, 4, 2),
    BOTH_NAMES(v_mfma_f32_16x16x4bf16_1k, v_mfma_f32_16x16x4_4b_bf16, MFMA_BF16, 16, 4, 4),
    BOTH_NAMES(v_mfma_f32_4x4x4bf16_1k, v_mfma_f32_4x4x4_16b_bf16, MFMA_BF16, 4, 4, 16),
    BOTH_NAMES(v_mfma_f32_32x32x8bf16_1k, v_mfma_f32_32x32x8_bf16, MFMA_BF16, 32, 8, 1),
    BOTH_NAMES(v_mfma_f32_16x16x16bf16_1k, v_mfma_f32_16x16x16_bf16, MFMA_BF16, 16, 16, 1),
    ONE_NAME(v_mfma_f32_32x32x2bf16, MFMA_BF16, 32, 2, 2),
    ONE_NAME(v_mfma_f32_16x16x2bf16, MFMA_BF16, 16, 2, 4),
    ONE_NAME(v_mfma_f32_4x4x2bf16, MFMA_BF16, 4, 2, 16),
    ONE_NAME(v_mfma_f32_32x32x4bf16, MFMA_BF16, 32, 4, 1),
    ONE_NAME(v_mfma_f32_16x16x8bf16, MFMA_BF16, 16, 8, 1),
    BOTH_NAMES(v_mfma_i32_32x32x4i8, v_mfma_i32_32x32x4_2b_i8, MFMA_I8, 32, 4, 2),
    BOTH_NAMES(v_mfma_i32_16x16x4i8, v_mfma_i32_16x16x4_4b_i8, MFMA_I8, 16, 4, 4),
    BOTH_NAMES(v_mfma_i32_4x4x4i8, v_mfma_i32_4x4x4_16b_i8, MFMA_I8, 4, 4, 16),
    ONE_NAME(v_mfma_i32_32x32x8i8, MFMA_I8, 32, 8, 1),
    ONE_NAME(v_mfma_i32_16x16x16i8, MFMA_I8, 16, 16, 1),
    ONE_NAME(v_mfma_i32_32x32x16_i8, MFMA_I8, 32, 16, 1),
    ONE_NAME(v_mfma_i32_16x16x32_i8, MFMA_I8, 16, 32, 1),
    BOTH_NAMES(v_mfma_f64_16x16x4f64, v_mfma_f64_16x16x4_f64, MFMA_F64, 16, 4, 1),
    BOTH_NAMES(v_mfma_f64_4x4x4f64, v_mfma_f64_4x4x4_4b_f64, MFMA_F64, 4, 4, 4),
    ONE_NAME(v_mfma_f32_16x16x8_xf32, MFMA_XF32, 16, 8, 1),
    ONE_NAME(v_mfma_f32_32x32x4_xf32, MFMA_XF32, 32, 4, 1),
    ONE_NAME(v_mfma_f32_16x16x32_f16, MFMA_F16, 16, 32, 1),
    ONE_NAME(v_mfma_f32_32x32x16_f16, MFMA_F16, 32, 16, 1),
    ONE_NAME(v_mfma_f32_16x16x32_bf16, MFMA_BF16, 16, 32, 1),
    ONE_NAME(v_mfma_f32_32x32x16_bf16, MFMA_BF16, 32, 16, 1),
    ONE_NAME(v_mfma_i32_16x16x64_i8, MFMA_I8, 16, 64, 1),
    ONE_NAME(v_mfma_i32_32x32x32_i8, MFMA_I8, 32, 32, 1),
    ONE_NAME(v_mfma_f32_16x16x128_f8f6f4, MFMA_MIXED, 16, 128, 1),
    ONE_NAME(v_mfma_f32_32x32x64_f8f6f4, MFMA_MIXED, 32, 64, 1),
    EIGHT_BITS(v_mfma_f32_16x16x32, 16, 32, false),
    EIGHT_BITS(v_mfma_f32_32x32x16, 32, 16, false),
    SPARSE(v_smfmac_f32_16x16x32_f16, MFMA_F16, 16, 32),
    SPARSE(v_smfmac_f32_32x32x16_f16, MFMA_F16, 32, 16),
    SPARSE(v_smfmac_f32_16x16x32_bf16, MFMA_BF16, 16, 32),
    SPARSE(v_smfmac_f32_32x32x16_bf16, MFMA_BF16, 32, 16),
    SPARSE(v_smfmac_i32_16x16x64_i8, MFMA_I8, 16, 64),
    SPARSE(v_smfmac_i32_32x32x32_i8, MFMA_I8, 32, 32),
    EIGHT_BITS(v_smfmac_f32_16x16x64, 16, 64, true),
    EIGHT_BITS(v_smfmac_f32_32x32x32, 32, 32, true),
    SPARSE(v_smfmac_f32_16x16x64_f16, MFMA_F16, 16, 64),
    SPARSE(v_smfmac_f32_32x32x32_f16, MFMA_F16, 32, 32),
    SPARSE(v_smfmac_f32_16x16x64_bf16, MFMA_BF16, 16, 64),
    SPARSE(v_smfmac_f32_32x32x32_bf16, MFMA_BF16, 32, 32),
    SPARSE(v_smfmac_i32_16x16x128_i8, MFMA_I8, 16, 128),
    SPARSE(v_smfmac_i32_32x32x64_i8, MFMA_I8, 32, 64),
    EIGHT_BITS(v_smfmac_f32_16x16x128, 16, 128, true),
    EIGHT_BITS(v_smfmac_f32_32x32x64, 32, 64, true),
};

const mfma_t *isa_mfma_find(unsigned op)
{
  for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].op == op)
      return &rows[i];
  return NULL;
}
