/* The reference engine's scalar instructions that steer the wave: where it goes on, when, and what
 * it is told of the hardware. */
#include "softgpu/device/clock.h"
#include "softgpu/isa/describe/chips.h"
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/memory/lds_load.h"
#include "softgpu/isa/reference/reference.h"

/* Of s_getreg and s_setreg: a register's number, the first bit of it, and how many, less one. */
typedef struct field {
  unsigned id, first;
  uint32_t mask; /* of a value that begins at bit 0 */
} field_t;

static field_t field_of(const isa_inst_t *inst)
{
  const uint32_t simm = (uint32_t)inst->simm;
  return (field_t){simm & 0x3f, simm >> 6 & 0x1f, UINT32_MAX >> (31 - (simm >> 11 & 0x1f))};
}

enum { MODE = 1, STATUS = 2, HW_ID = 4, SH_MEM_BASES = 15, XCC_ID = 20 };
/* Of chips where flat_scratch is no pair of SGPRs. */
enum { FLAT_SCR_LO = 20, FLAT_SCR_HI = 21, HW_ID1 = 23, SHADER_CYCLES = 29 };

/* What GFX10 numbers otherwise. Of registers and LDS it is allocated a wave is told nothing. */
static uint32_t hardware_register10(const isa_wave_t *w, unsigned id)
{
  switch (id) {
  case FLAT_SCR_LO:
    return (uint32_t)w->flat_scratch;
  case FLAT_SCR_HI:
    return (uint32_t)(w->flat_scratch >> 32);
  case HW_ID1:
    return w->hw_id;
  case SHADER_CYCLES:
    return softgpu_wave_cycles() & 0xfffff;
  default:
    return 0;
  }
}

static bool has_flat_scratch(const isa_inst_t *inst)
{
  return isa_chip(inst->chip)->has_flat_scratch;
}

static uint32_t hardware_register(const isa_wave_t *w, const isa_inst_t *inst, unsigned id)
{
  if (!has_flat_scratch(inst) && id != MODE && id != STATUS && id != SH_MEM_BASES)
    return hardware_register10(w, id);
  switch (id) {
  case MODE: /* with what s_setvskip has set */
    return w->vskip ? w->mode | 1u << 28 : w->mode & ~(1u << 28);
  case STATUS: /* SCC, EXECZ, VCCZ */
    return (w->scc ? 1u : 0) | (isa_exec(w) ? 0 : 1u << 9) | (isa_vcc(w) ? 0 : 1u << 10);
  case HW_ID:
    return w->hw_id;
  case XCC_ID:
    return w->xcc_id;
  case SH_MEM_BASES:
    return w->dispatch->shared_aperture_hi >> 16 << 16 | w->dispatch->private_aperture_hi >> 16;
  default:
    return 0;
  }
}

/* A register's value with some of its bits replaced. */
static uint32_t with_field(uint32_t old, field_t field, uint32_t value)
{
  for (unsigned i = 0; i + field.first < 32; ++i)
    if (field.mask >> i & 1)
      old = (old & ~(1u << (i + field.first))) | (value >> i & 1) << (i + field.first);
  return old;
}

/* Only the mode is there to be written, and flat_scratch. */
static void set_hardware_register(isa_wave_t *w, const isa_inst_t *inst, uint32_t value)
{
  const field_t field = field_of(inst);
  const unsigned shift = field.id == FLAT_SCR_HI ? 32 : 0;
  if (field.id == MODE)
    w->mode = with_field(w->mode, field, value);
  if (has_flat_scratch(inst) || isa_chip(inst->chip)->architected_scratch ||
      (field.id != FLAT_SCR_LO && field.id != FLAT_SCR_HI))
    return;
  const uint64_t part = with_field((uint32_t)(w->flat_scratch >> shift), field, value);
  w->flat_scratch = (w->flat_scratch & ~((uint64_t)UINT32_MAX << shift)) | part << shift;
}

/* m0 is added to the number of the source, or of the destination, which must be one of the wave's
 * numbered registers then. */
static bool move_relative(isa_wave_t *w, const isa_inst_t *inst, bool is_source)
{
  const unsigned dwords = inst->row->dst;
  const isa_operand_t *moved = is_source ? &inst->src[0] : &inst->dst;
  const uint64_t number = moved->index + (uint64_t)w->s[ISA_M0];
  if (moved->kind != ISA_OPERAND_SGPR || number + dwords > w->sgprs)
    return isa_wave_fault(w, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION, 0, 0, 0);
  const isa_operand_t there = {.kind = ISA_OPERAND_SGPR, .index = (uint16_t)number};
  const uint64_t value =
      isa_reference_scalar(w, is_source ? &there : &inst->src[0], dwords, 32 * dwords);
  isa_reference_write(w, is_source ? &inst->dst : &there, dwords, value);
  return true;
}

/* s_movrelsd_2_b32: m0[9:0] is added to the source's number, m0[25:16] to the destination's. */
static bool move_relative_both(isa_wave_t *w, const isa_inst_t *inst)
{
  const uint32_t m0 = w->s[ISA_M0];
  const unsigned from = inst->src[0].index + (m0 & 0x3ff),
                 to = inst->dst.index + (m0 >> 16 & 0x3ff);
  if (inst->src[0].kind != ISA_OPERAND_SGPR || from >= w->sgprs || to >= w->sgprs)
    return isa_wave_fault(w, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION, 0, 0, 0);
  w->s[to] = w->s[from];
  return true;
}

/* The two halves of EXEC, one after the other: the register keeps the one that is not looked at.
 * Returns whether it goes to the loop's other end. RDNA2 ISA document, S_SUBVECTOR_LOOP. */
static bool loop_over_halves(isa_wave_t *w, const isa_inst_t *inst)
{
  const uint64_t exec = isa_exec(w);
  const uint32_t low = (uint32_t)exec, high = (uint32_t)(exec >> 32);
  const uint32_t kept = (uint32_t)isa_reference_scalar(w, &inst->dst, 1, 32);
  if (inst->op == ISA_s_subvector_loop_begin) {
    if (!exec)
      return true;
    isa_reference_write(w, &inst->dst, 1, low ? high : 0);
    if (low) /* the register may be a half of EXEC itself */
      isa_exec_halves(w)[1] = 0;
    return false;
  }
  if (high) {
    isa_set_exec(w, (uint64_t)high << 32 | kept);
    return false;
  }
  if (!kept)
    return false;
  isa_reference_write(w, &inst->dst, 1, low);
  isa_set_exec(w, (uint64_t)kept << 32);
  return true;
}

/* Whether a branch is taken. Sets *found to whether it is one. */
static bool is_taken(const isa_wave_t *w, const isa_inst_t *inst, bool *found)
{
  const bool has_vcc = isa_vcc(w) != 0;
  const bool has_exec = isa_exec(w) != 0;
  switch (inst->op) {
  case ISA_s_branch:
    ONE(s_call_b64) : return true;
    ONE(s_cbranch_scc0) : return !w->scc;
    ONE(s_cbranch_scc1) : return w->scc;
    ONE(s_cbranch_vccz) : return !has_vcc;
    ONE(s_cbranch_vccnz) : return has_vcc;
    ONE(s_cbranch_execz) : return !has_exec;
    ONE(s_cbranch_execnz) : return has_exec;
  default:
    *found = false;
    return false;
  }
}

bool isa_reference_takes(const isa_wave_t *wave, const isa_inst_t *inst)
{
  bool found;
  return is_taken(wave, inst, &found);
}

/* The turn is over, and the wave may not be ready for another one. */
static bool give_way(isa_wave_t *w, unsigned state)
{
  w->state = (uint8_t)state;
  w->budget = 0;
  return true;
}

static void set_index(isa_wave_t *w, uint32_t kept, uint32_t index, uint32_t mode)
{
  w->s[ISA_M0] = (w->s[ISA_M0] & kept) | (index & 255) | (mode & 15) << 12;
}

/* Which register vector operands begin at, and of which of them. */
static bool sets_index(isa_wave_t *w, const isa_inst_t *inst)
{
  const uint32_t simm = (uint32_t)inst->simm;
  switch (inst->op) {
  case ISA_s_set_gpr_idx_on:
    set_index(w, 0xffff0f00, (uint32_t)isa_reference_scalar(w, &inst->src[0], 1, 32), simm);
    w->gpr_index_mode = simm & 15;
    return true;
  case ISA_s_set_gpr_idx_mode:
    set_index(w, 0xffff0fff, 0, simm);
    w->gpr_index_mode = simm & 15;
    return true;
  case ISA_s_set_gpr_idx_idx:
    set_index(w, 0xffffff00, (uint32_t)isa_reference_scalar(w, &inst->src[0], 1, 32), 0);
    return true;
  case ISA_s_set_gpr_idx_off:
    w->gpr_index_mode = 0;
    return true;
  default:
    return false;
  }
}

/* Caches, priorities, counters and the debugger's branches mean nothing here. */
static bool means_nothing(unsigned op)
{
  switch (op) {
  case ISA_s_nop:
  case ISA_s_wakeup:
  case ISA_s_setkill:
  case ISA_s_setprio:
  case ISA_s_sendmsghalt:
  case ISA_s_icache_inv:
  case ISA_s_incperflevel:
  case ISA_s_decperflevel:
  case ISA_s_ttracedata:
  case ISA_s_cbranch_cdbgsys:
  case ISA_s_cbranch_cdbguser:
  case ISA_s_cbranch_cdbgsys_or_user:
  case ISA_s_cbranch_cdbgsys_and_user:
  case ISA_s_version:
  case ISA_s_waitcnt_vscnt:
  case ISA_s_waitcnt_expcnt:
  case ISA_s_waitcnt_lgkmcnt:
  case ISA_s_waitcnt_depctr:
  case ISA_s_wait_idle:
  case ISA_s_clause:
  case ISA_s_inst_prefetch:
  case ISA_s_code_end:
  case ISA_s_ttracedata_imm:
  case ISA_s_delay_alu:
  case ISA_s_wait_event:
    return true;
  default:
    return false;
  }
}

/* Hardware registers, and the mode's parts that instructions of their own write. */
static bool accesses_mode(isa_wave_t *w, const isa_inst_t *inst)
{
  const uint32_t simm = (uint32_t)inst->simm;
  switch (inst->op) {
  case ISA_s_setvskip:
    w->vskip = isa_reference_scalar(w, &inst->src[0], 1, 32) >>
                   (isa_reference_scalar(w, &inst->src[1], 1, 32) & 31) &
               1;
    return true;
  case ISA_s_getreg_b32: {
    const field_t field = field_of(inst);
    isa_reference_write(w, &inst->dst, 1,
                        hardware_register(w, inst, field.id) >> field.first & field.mask);
    return true;
  }
  case ISA_s_setreg_b32:
    set_hardware_register(w, inst, (uint32_t)isa_reference_scalar(w, &inst->dst, 1, 32));
    return true;
  case ISA_s_setreg_imm32_b32:
    set_hardware_register(w, inst, inst->src[0].value);
    return true;
  case ISA_s_round_mode:
    w->mode = (w->mode & ~15u) | (simm & 15);
    return true;
  case ISA_s_denorm_mode:
    w->mode = (w->mode & ~0xf0u) | (simm & 15) << 4;
    return true;
  default:
    return false;
  }
}

bool isa_reference_control(isa_wave_t *w, const isa_inst_t *inst, bool *found)
{
  const uint32_t simm = (uint32_t)inst->simm;
  const uint64_t next = w->pc;
  *found = true;
  const bool taken = is_taken(w, inst, found);
  if (*found) {
    w->pc += taken ? (uint64_t)((int64_t)inst->simm * 4) : 0;
    if (inst->op == ISA_s_call_b64)
      isa_reference_write(w, &inst->dst, 2, next);
    return true;
  }
  *found = true;
  switch (inst->op) {
  case ISA_s_getpc_b64:
    isa_reference_write(w, &inst->dst, 2, next);
    return true;
  case ISA_s_setpc_b64:
    w->pc = isa_reference_scalar(w, &inst->src[0], 2, 64);
    return true;
  case ISA_s_swappc_b64:
    w->pc = isa_reference_scalar(w, &inst->src[0], 2, 64);
    isa_reference_write(w, &inst->dst, 2, next);
    return true;
    BOTH(s_movrels) : return move_relative(w, inst, true);
    BOTH(s_movreld) : return move_relative(w, inst, false);
    ONE(s_movrelsd_2_b32) : return move_relative_both(w, inst);
  case ISA_s_subvector_loop_begin:
  case ISA_s_subvector_loop_end:
    w->pc += loop_over_halves(w, inst) ? (uint64_t)((int64_t)inst->simm * 4) : 0;
    return true;
  case ISA_s_endpgm:
    ONE(s_endpgm_saved) : return give_way(w, ISA_WAVE_ENDED);
    ONE(s_barrier) : return give_way(w, ISA_WAVE_AT_BARRIER);
    ONE(s_sleep) : return give_way(w, w->state);
  case ISA_s_sethalt: /* and stays here, for nobody lets it go on */
    w->pc -= simm & 1 ? 4 : 0;
    return !(simm & 1) || give_way(w, w->state);
  case ISA_s_trap: /* 3 is the debugger's, which there is not */
    return ((simm & 255) == 3 && !__atomic_load_n(&isa_debug_traps, __ATOMIC_RELAXED)) ||
           isa_wave_fault(w, SOFTGPU_FAULT_TRAP, 0, simm & 255, 0);
  case ISA_s_sendmsg: /* 1: an interrupt, whose event's number is m0[23:0] */
    if ((simm & 15) == 1 && w->dispatch && w->dispatch->interrupt)
      w->dispatch->interrupt(w->s[ISA_M0] & 0xffffff);
    return true;
  case ISA_s_sendmsg_rtn_b32:
  case ISA_s_sendmsg_rtn_b64: /* 131: the time; of what else there is to ask, there is nothing */
    isa_reference_write(w, &inst->dst, inst->row->dst, simm == 131 ? softgpu_wave_ticks() : 0);
    return true;
  case ISA_s_waitcnt: /* vmcnt is simm[15:14], simm[3:0]; all else is complete already */
    isa_lds_loads_await(w, (simm >> 14 & 3) * 16 + (simm & 15));
    return true;
  case ISA_s_waitcnt_vmcnt:
    isa_lds_loads_await(w, (isa_reference_scalar(w, &inst->dst, 1, 32) & 63) + (simm & 63));
    return true;
  default:
    *found = accesses_mode(w, inst) || sets_index(w, inst) || means_nothing(inst->op);
    return true;
  }
}
