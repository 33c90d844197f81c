/* The code of target.c's kernels; target.h says where each begins. */
#ifndef TESTS_SOFTGPU_DEBUG_TARGET_CODE_H
#define TESTS_SOFTGPU_DEBUG_TARGET_CODE_H

#include "tests/softgpu/debug/target.h"

/* clang's assembler made them of what stands beside them. */
static const struct {
  uint32_t at, words[64];
} code[] = {
    {CODE_WORK,
     {0xc0060100, 0x00000000, /* s_load_dwordx2 s[4:5], s[0:1], 0 */
      0xbf8cc07f,             /* s_waitcnt lgkmcnt(0) */
      0x24020082,             /* v_lshlrev_b32 v1, 2, v0 */
      0x7e040281,             /* v_mov_b32 v2, 1 */
      0xb0060005,             /* s_movk_i32 s6, 5 */
      0xd81a0000, 0x00000001, /* ds_write_b32 v1, v0 */
      0xbf8cc07f,             /* s_waitcnt lgkmcnt(0) */
      0xbf8a0000,             /* s_barrier */
      0x68040406,             /* again: v_add_u32 v2, s6, v2 */
      0x80868106,             /* s_sub_u32 s6, s6, 1 */
      0xbf078006,             /* s_cmp_lg_u32 s6, 0 */
      0xbf85fffc,             /* s_cbranch_scc1 again */
      0xdc708000, 0x00040201, /* global_store_dword v1, v2, s[4:5] */
      0xbf810000}},           /* s_endpgm */
    {CODE_FAULT,
     {0x7e040287,             /* v_mov_b32 v2, 7 */
      0x7e0002ff, 0x00001000, /* v_mov_b32 v0, 0x1000 */
      0x7e020280,             /* v_mov_b32 v1, 0 */
      0xdc708000, 0x007f0200, /* global_store_dword v[0:1], v2, off */
      0xbf810000}},
    {CODE_ASSERT, {0xb0060009 /* s_movk_i32 s6, 9 */, 0xbf920002 /* s_trap 2 */, 0xbf810000}},
    {CODE_DEBUG_TRAP,
     {0xb0060009, 0xbf920003 /* s_trap 3 */, 0xb006000a /* s_movk_i32 s6, 10 */, 0xbf810000}},
    {CODE_SPIN,
     {0xc0060100, 0x00000000, /* s_load_dwordx2 s[4:5], s[0:1], 0 */
      0x7e020280,             /* v_mov_b32 v1, 0 */
      0x7e060281,             /* v_mov_b32 v3, 1 */
      0xbf8cc07f,             /* s_waitcnt lgkmcnt(0) */
      0xdc518400, 0x02040001, /* look: global_load_dword v2, v1, s[4:5] offset:1024 glc */
      0xbf8c0f70,             /* s_waitcnt vmcnt(0) */
      0x7e0c0502,             /* v_readfirstlane_b32 s6, v2 */
      0xbf068006,             /* s_cmp_eq_u32 s6, 0 */
      0xbf85fffa,             /* s_cbranch_scc1 look */
      0xbf810000}},
    {CODE_LANES,
     {0xb0060009,   /* s_movk_i32 s6, 9 */
      0x7d9400a5,   /* v_cmp_eq_u32 vcc, 37, v0 */
      0xbe88206a,   /* s_and_saveexec_b64 s[8:9], vcc */
      0xbf880001,   /* s_cbranch_execz end */
      0xbf920002,   /* s_trap 2 */
      0xbf810000}}, /* end: s_endpgm */
    {CODE_ILLEGAL,
     {0xb0060009 /* s_movk_i32 s6, 9 */, 0xbfff0000 /* no instruction */, 0xbf810000}},
    {CODE_MISALIGNED,
     {0xc0060100, 0x00000000, /* s_load_dwordx2 s[4:5], s[0:1], 0 */
      0x7e020286,             /* v_mov_b32 v1, 6 */
      0xbf8cc07f,             /* s_waitcnt lgkmcnt(0) */
      0xdd088000, 0x00040001, /* global_atomic_add v1, v0, s[4:5] */
      0xbf810000}},           /* s_endpgm */
    {CODE_BARE_TRAP,
     {0xb0060009,   /* s_movk_i32 s6, 9 */
      0xbf920001,   /* s_trap 1 */
      0xbf810000}}, /* s_endpgm */
    {CODE_TOUCH,
     {0xc0060100, 0x00000000, /* s_load_dwordx2 s[4:5], s[0:1], 0 */
      0x24020082,             /* v_lshlrev_b32 v1, 2, v0 */
      0x7e040281,             /* v_mov_b32 v2, 1 */
      0xbf8cc07f,             /* s_waitcnt lgkmcnt(0) */
      0xdc508000, 0x03040001, /* global_load_dword v3, v1, s[4:5] */
      0xbf8c0f70,             /* s_waitcnt vmcnt(0) */
      0xdd088000, 0x00040201, /* global_atomic_add v1, v2, s[4:5] */
      0xbf8c0f70,             /* s_waitcnt vmcnt(0) */
      0xdc708800, 0x00040301, /* global_store_dword v1, v3, s[4:5] offset:2048 */
      0xbf810000}},           /* s_endpgm */
    {CODE_MIX,
     {0xc0060100, 0x00000000, /* s_load_dwordx2 s[4:5], s[0:1], 0 */
      0x24020082,             /* v_lshlrev_b32 v1, 2, v0 */
      0x7e040281,             /* v_mov_b32 v2, 1 */
      0xb0060028,             /* s_movk_i32 s6, 40 */
      0xbe8700ff, 0x00012345, /* s_mov_b32 s7, 0x12345 */
      0x7e0c0d00,             /* v_cvt_f32_u32 v6, v0 */
      0xd3d94000, 0x18000100, /* v_accvgpr_write_b32 a0, v0 */
      0xd3d94001, 0x18000101, /* v_accvgpr_write_b32 a1, v1 */
      0xd3d94002, 0x18000102, /* v_accvgpr_write_b32 a2, v2 */
      0xd3d94003, 0x18000106, /* v_accvgpr_write_b32 a3, v6 */
      0xbf8cc07f,             /* s_waitcnt lgkmcnt(0) */
      0x68040406,             /* loop: v_add_u32 v2, s6, v2 */
      0xd2850003, 0x00000f02, /* v_mul_lo_u32 v3, v2, s7 */
      0x2a080103,             /* v_xor_b32 v4, v3, v0 */
      0xd81a0000, 0x00000401, /* ds_write_b32 v1, v4 */
      0xbf8cc07f,             /* s_waitcnt lgkmcnt(0) */
      0x9207ff07, 0x0019660d, /* s_mul_i32 s7, s7, 0x19660d */
      0xb7073c6e,             /* s_addk_i32 s7, 0x3c6e */
      0xd87e0000, 0x05000301, /* ds_bpermute_b32 v5, v1, v3 */
      0xbf8cc07f,             /* s_waitcnt lgkmcnt(0) */
      0xd2890008, 0x00010b05, /* v_readlane_b32 s8, v5, 5 */
      0x8609ff08, 0x000000ff, /* s_and_b32 s9, s8, 0xff */
      0x7d980009,             /* v_cmp_gt_u32 vcc, s9, v0 */
      0xbe8a206a,             /* s_and_saveexec_b64 s[10:11], vcc */
      0x020c0cf2,             /* v_add_f32 v6, 1.0, v6 */
      0xd1cb0007, 0x041e0d06, /* v_fma_f32 v7, v6, v6, v7 */
      0x87fe0a7e,             /* s_or_b64 exec, exec, s[10:11] */
      0xd3c28000, 0x04020f06, /* v_mfma_f32_4x4x1f32 a[0:3], v6, v7, a[0:3] */
      0xbf800007,             /* s_nop 7 */
      0xd3d84008, 0x18000101, /* v_accvgpr_read_b32 v8, a1 */
      0xd86c0000, 0x09000001, /* ds_read_b32 v9, v1 */
      0xbf8cc07f,             /* s_waitcnt lgkmcnt(0) */
      0xdc708000, 0x00040901, /* global_store_dword v1, v9, s[4:5] */
      0xdc508000, 0x0a040001, /* global_load_dword v10, v1, s[4:5] */
      0xbf8c0f70,             /* s_waitcnt vmcnt(0) */
      0x681604fa, 0xff01110a, /* v_add_u32_dpp v11, v10, v2 row_shr:1 row_mask:0xf bank_mask:0xf */
      0xbf0d8307,             /* s_bitcmp1_b32 s7, 3 */
      0x850c0908,             /* s_cselect_b32 s12, s8, s9 */
      0x80868106,             /* s_sub_u32 s6, s6, 1 */
      0xbf078006,             /* s_cmp_lg_u32 s6, 0 */
      0xbf85ffd5,             /* s_cbranch_scc1 loop */
      0xbf810000}},           /* s_endpgm */
};

#endif
