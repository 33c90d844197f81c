/* Instructions that probes are made of, and code as it grows. Internal to this folder.
 *
 * Facts: MI200 and MI300 ISA documents. Each opcode that a probe may have is in here, once: what is
 * written and what verify.c lets pass. */
#ifndef RAWHAL_PROBE_EMIT_H
#define RAWHAL_PROBE_EMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hsaco/memory.h"
#include "probe/code.h"

typedef enum emit_op { /* format << 12 | opcode */
                       EMIT_s_mov_b32 = CODE_SOP1 << 12 | 0x00,
                       EMIT_s_mov_b64 = CODE_SOP1 << 12 | 0x01,
                       EMIT_s_bcnt1_i32_b64 = CODE_SOP1 << 12 | 0x0d,
                       EMIT_s_add_u32 = CODE_SOP2 << 12 | 0x00,
                       EMIT_s_addc_u32 = CODE_SOP2 << 12 | 0x04,
                       EMIT_s_min_u32 = CODE_SOP2 << 12 | 0x07,
                       EMIT_s_cselect_b32 = CODE_SOP2 << 12 | 0x0a,
                       EMIT_s_lshl_b32 = CODE_SOP2 << 12 | 0x1c,
                       EMIT_s_mul_i32 = CODE_SOP2 << 12 | 0x24,
                       EMIT_s_getreg_b32 = CODE_SOPK << 12 | 0x11,
                       EMIT_s_cmp_lg_u32 = CODE_SOPC << 12 | 0x07,
                       EMIT_s_cmp_ge_u32 = CODE_SOPC << 12 | 0x09,
                       EMIT_s_setvskip = CODE_SOPC << 12 | 0x10,
                       EMIT_s_nop = CODE_SOPP << 12 | 0x00,
                       EMIT_s_endpgm = CODE_SOPP << 12 | 0x01,
                       EMIT_s_branch = CODE_SOPP << 12 | 0x02,
                       EMIT_s_cbranch_scc1 = CODE_SOPP << 12 | 0x05,
                       EMIT_s_waitcnt = CODE_SOPP << 12 | 0x0c,
                       EMIT_s_set_gpr_idx_off = CODE_SOPP << 12 | 0x1c,
                       EMIT_s_load_dword = CODE_SMEM << 12 | 0x00,
                       EMIT_s_load_dwordx2 = CODE_SMEM << 12 | 0x01,
                       EMIT_s_load_dwordx4 = CODE_SMEM << 12 | 0x02,
                       EMIT_s_store_dwordx2 = CODE_SMEM << 12 | 0x11,
                       EMIT_s_store_dwordx4 = CODE_SMEM << 12 | 0x12,
                       EMIT_s_buffer_store_dwordx2 = CODE_SMEM << 12 | 0x19,
                       EMIT_s_buffer_store_dwordx4 = CODE_SMEM << 12 | 0x1a,
                       EMIT_s_dcache_wb = CODE_SMEM << 12 | 0x21,
                       EMIT_s_memrealtime = CODE_SMEM << 12 | 0x25,
                       EMIT_s_atomic_add = CODE_SMEM << 12 | 0x82,
                       EMIT_s_atomic_add_x2 = CODE_SMEM << 12 | 0xa2,
                       EMIT_v_readfirstlane_b32 = CODE_VOP1 << 12 | 0x02,
                       EMIT_v_lshl_add_u32 = CODE_VOP3 << 12 | 0x1fd,
                       EMIT_v_readlane_b32 = CODE_VOP3 << 12 | 0x289,
                       EMIT_v_writelane_b32 = CODE_VOP3 << 12 | 0x28a,
                       EMIT_v_mbcnt_lo_u32_b32 = CODE_VOP3 << 12 | 0x28c,
                       EMIT_v_mbcnt_hi_u32_b32 = CODE_VOP3 << 12 | 0x28d,
                       EMIT_v_accvgpr_read_b32 = CODE_VOP3P << 12 | 0x58,
                       EMIT_v_accvgpr_write_b32 = CODE_VOP3P << 12 | 0x59,
                       EMIT_buffer_store_dword = CODE_MUBUF << 12 | 0x1c,
                       EMIT_buffer_store_dwordx2 = CODE_MUBUF << 12 | 0x1d,
                       EMIT_scratch_load_dword = CODE_FLAT << 12 | 0x14,
                       EMIT_scratch_store_dword = CODE_FLAT << 12 | 0x1c,
} emit_op_t;

enum { /* operands: MI200 ISA document, "Scalar ALU operands" */
       EMIT_ZERO = 128,
       EMIT_MINUS_ONE = 193,
       EMIT_LITERAL = 255,
       EMIT_VGPR = 256,            /* v0, in operands of 9 bits */
       EMIT_MOST_OFFSET = 0xfffff, /* of scalar memory: 21 bits with a sign */
       EMIT_MOST_BUFFER_OFFSET = 0xfff,
       EMIT_RESOURCE = 0x27000, /* the last dword of a buffer's resource: bytes, as they are */
       /* s_getreg's operand: register, first bit, bits - 1 */
       EMIT_HW_ID = 4 | 0 << 6 | 31 << 11,
       EMIT_XCC_ID = 20 | 0 << 6 | 31 << 11,
       EMIT_SKIPS = 1 | 28 << 6 | 0 << 11, /* MODE's bit that s_setvskip sets */
       EMIT_WAIT_SCALAR = 0xc07f,          /* lgkmcnt(0), any vmcnt and expcnt */
       EMIT_WAIT_VECTOR = 0x0f70,          /* vmcnt(0), any others */
       EMIT_WAIT_ALL = 0,
       EMIT_VECTOR_COUNT = 0xc00f, /* its bits of vmcnt */
};
/* 0 to 64. */
static inline uint32_t emit_integer(uint32_t value)
{
  return EMIT_ZERO + value;
}

/* Code that grows. After a failure nothing is added, and `failed` says so. */
typedef struct emit {
  const allocator_t *allocator;
  uint32_t *dwords;
  size_t count, room;
  bool failed;
} emit_t;

void emit_free(emit_t *emit);
void emit_dwords(emit_t *emit, const uint32_t *dwords, size_t count);

/* `literal` counts where an operand is EMIT_LITERAL. */
void emit_sop1(emit_t *emit, emit_op_t op, uint32_t to, uint32_t from, uint32_t literal);
void emit_sop2(emit_t *emit, emit_op_t op, uint32_t to, uint32_t a, uint32_t b, uint32_t literal);
void emit_sopc(emit_t *emit, emit_op_t op, uint32_t a, uint32_t b);
void emit_sopk(emit_t *emit, emit_op_t op, uint32_t to, uint32_t immediate);
void emit_sopp(emit_t *emit, emit_op_t op, uint32_t immediate);
/* `returns`: an atomic gives what was there. */
void emit_smem(emit_t *emit, emit_op_t op, uint32_t data, uint32_t base, uint32_t offset,
               bool returns);
/* Of a buffer, at the sum of an SGPR and a constant; beyond its end nothing is done. */
void emit_scalar_buffer(emit_t *emit, emit_op_t op, uint32_t data, uint32_t resource, uint32_t sgpr,
                        uint32_t offset);
void emit_vop3(emit_t *emit, emit_op_t op, uint32_t to, uint32_t a, uint32_t b, uint32_t c);
void emit_readfirstlane(emit_t *emit, uint32_t to, uint32_t vgpr);
/* Likewise, each lane at the sum of a VGPR and a constant. */
void emit_buffer_store(emit_t *emit, emit_op_t op, uint32_t vgpr, uint32_t data, uint32_t resource,
                       uint32_t offset);
/* v_accvgpr_write_b32 to an AGPR from a VGPR, v_accvgpr_read_b32 the other way. */
void emit_accvgpr(emit_t *emit, emit_op_t op, uint32_t to, uint32_t from);
/* Of gfx942 and gfx950: each lane's first dword of scratch. */
void emit_scratch(emit_t *emit, emit_op_t op, uint32_t vgpr);

/* s_cbranch_scc1 to where emit_land() will be called; its result goes there. */
size_t emit_skip(emit_t *emit);
void emit_land(emit_t *emit, size_t skip);

/* Is it one that probes are made of? */
bool emit_knows(const code_t *code);

#endif
