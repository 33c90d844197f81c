#include "probe/emit.h"

#include <string.h>

static uint32_t op_of(emit_op_t op)
{
  return (uint32_t)op & 0xfff;
}

void emit_free(emit_t *emit)
{
  allocate_free(emit->allocator, emit->dwords);
  *emit = (emit_t){.allocator = emit->allocator};
}

void emit_dwords(emit_t *emit, const uint32_t *dwords, size_t count)
{
  if (!emit->failed && count > emit->room - emit->count) {
    const size_t room = (emit->room + count) * 2;
    uint32_t *grown = allocate_more(emit->allocator, emit->dwords, emit->room * sizeof(*grown),
                                    room * sizeof(*grown));
    emit->failed = !grown;
    if (grown) {
      emit->dwords = grown;
      emit->room = room;
    }
  }
  if (emit->failed)
    return;
  memcpy(emit->dwords + emit->count, dwords, count * sizeof(*dwords));
  emit->count += count;
}

static void emit_one(emit_t *emit, uint32_t dword, bool has_literal, uint32_t literal)
{
  const uint32_t dwords[] = {dword, literal};
  emit_dwords(emit, dwords, has_literal ? 2 : 1);
}

void emit_sop1(emit_t *emit, emit_op_t op, uint32_t to, uint32_t from, uint32_t literal)
{
  emit_one(emit, 0xbe800000 | to << 16 | op_of(op) << 8 | from, from == EMIT_LITERAL, literal);
}

void emit_sop2(emit_t *emit, emit_op_t op, uint32_t to, uint32_t a, uint32_t b, uint32_t literal)
{
  emit_one(emit, 0x80000000 | op_of(op) << 23 | to << 16 | b << 8 | a,
           a == EMIT_LITERAL || b == EMIT_LITERAL, literal);
}

void emit_sopc(emit_t *emit, emit_op_t op, uint32_t a, uint32_t b)
{
  emit_one(emit, 0xbf000000 | op_of(op) << 16 | b << 8 | a, false, 0);
}

void emit_sopk(emit_t *emit, emit_op_t op, uint32_t to, uint32_t immediate)
{
  emit_one(emit, 0xb0000000 | op_of(op) << 23 | to << 16 | immediate, false, 0);
}

void emit_sopp(emit_t *emit, emit_op_t op, uint32_t immediate)
{
  emit_one(emit, 0xbf800000 | op_of(op) << 16 | immediate, false, 0);
}

void emit_smem(emit_t *emit, emit_op_t op, uint32_t data, uint32_t base, uint32_t offset,
               bool returns)
{
  const bool has_offset = op != EMIT_s_dcache_wb && op != EMIT_s_memrealtime;
  const uint32_t dwords[] = {0xc0000000 | op_of(op) << 18 | (has_offset ? 1u << 17 : 0) |
                                 (returns ? 1u << 16 : 0) | data << 6 | base / 2,
                             offset};
  emit_dwords(emit, dwords, 2);
}

void emit_scalar_buffer(emit_t *emit, emit_op_t op, uint32_t data, uint32_t resource, uint32_t sgpr,
                        uint32_t offset)
{
  const uint32_t dwords[] = {0xc0000000 | op_of(op) << 18 | 1u << 17 | 1u << 14 | data << 6 |
                                 resource / 2,
                             sgpr << 25 | offset};
  emit_dwords(emit, dwords, 2);
}

void emit_vop3(emit_t *emit, emit_op_t op, uint32_t to, uint32_t a, uint32_t b, uint32_t c)
{
  const uint32_t dwords[] = {0xd0000000 | op_of(op) << 16 | to, c << 18 | b << 9 | a};
  emit_dwords(emit, dwords, 2);
}

void emit_readfirstlane(emit_t *emit, uint32_t to, uint32_t vgpr)
{
  emit_one(emit, 0x7e000000 | to << 17 | op_of(EMIT_v_readfirstlane_b32) << 9 | EMIT_VGPR | vgpr,
           false, 0);
}

void emit_buffer_store(emit_t *emit, emit_op_t op, uint32_t vgpr, uint32_t data, uint32_t resource,
                       uint32_t offset)
{
  const uint32_t dwords[] = {0xe0000000 | op_of(op) << 18 | 1u << 12 | offset,
                             (uint32_t)EMIT_ZERO << 24 | resource / 4 << 16 | data << 8 | vgpr};
  emit_dwords(emit, dwords, 2);
}

void emit_accvgpr(emit_t *emit, emit_op_t op, uint32_t to, uint32_t from)
{
  const uint32_t dwords[] = {0xd3804000 | op_of(op) << 16 | to, 0x18000000 | EMIT_VGPR | from};
  emit_dwords(emit, dwords, 2);
}

void emit_scratch(emit_t *emit, emit_op_t op, uint32_t vgpr)
{
  const uint32_t dwords[] = {0xdc000000 | op_of(op) << 18 | CODE_SEGMENT_SCRATCH << 14,
                             vgpr << (op == EMIT_scratch_load_dword ? 24 : 8) | 0x7f << 16};
  emit_dwords(emit, dwords, 2);
}

size_t emit_skip(emit_t *emit)
{
  emit_sopp(emit, EMIT_s_cbranch_scc1, 0);
  return emit->count;
}

void emit_land(emit_t *emit, size_t skip)
{
  if (!emit->failed)
    emit->dwords[skip - 1] |= (uint32_t)(emit->count - skip) & 0xffff;
}

bool emit_knows(const code_t *code)
{
  static const uint32_t ops[] = {
      EMIT_s_mov_b32,
      EMIT_s_mov_b64,
      EMIT_s_bcnt1_i32_b64,
      EMIT_s_add_u32,
      EMIT_s_addc_u32,
      EMIT_s_min_u32,
      EMIT_s_cselect_b32,
      EMIT_s_lshl_b32,
      EMIT_s_mul_i32,
      EMIT_s_getreg_b32,
      EMIT_s_cmp_lg_u32,
      EMIT_s_cmp_ge_u32,
      EMIT_s_nop,
      EMIT_s_branch,
      EMIT_s_cbranch_scc1,
      EMIT_s_waitcnt,
      EMIT_s_load_dword,
      EMIT_s_load_dwordx2,
      EMIT_s_load_dwordx4,
      EMIT_s_store_dwordx2,
      EMIT_s_store_dwordx4,
      EMIT_s_buffer_store_dwordx2,
      EMIT_s_buffer_store_dwordx4,
      EMIT_s_dcache_wb,
      EMIT_s_memrealtime,
      EMIT_s_atomic_add,
      EMIT_s_atomic_add_x2,
      EMIT_v_readfirstlane_b32,
      EMIT_v_lshl_add_u32,
      EMIT_v_readlane_b32,
      EMIT_v_writelane_b32,
      EMIT_v_mbcnt_lo_u32_b32,
      EMIT_v_mbcnt_hi_u32_b32,
      EMIT_v_accvgpr_read_b32,
      EMIT_v_accvgpr_write_b32,
      EMIT_buffer_store_dword,
      EMIT_buffer_store_dwordx2,
      EMIT_scratch_load_dword,
      EMIT_scratch_store_dword,
      EMIT_s_setvskip,
      EMIT_s_set_gpr_idx_off,
  };
  const uint32_t op = (uint32_t)code->format << 12 | code->op;
  for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); ++i)
    if (op == ops[i])
      return true;
  return false;
}
