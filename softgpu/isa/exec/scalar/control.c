/* Scalar instructions that steer the wave: branches, calls, barriers, hardware registers, register
 * indexing. The program counter has already moved past the instruction when they run. */
#include "softgpu/device/clock.h"
#include "softgpu/isa/describe/chips.h"
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/exec/scalar/operand.h"
#include "softgpu/isa/exec/scalar/salu.h"
#include "softgpu/isa/memory/lds_load.h"

/* A whole function each: what an instruction does to the wave `w`. */
#define CONTROL(name, ...)                                                                         \
  static bool run_##name(isa_wave_t *w, const isa_inst_t *inst)                                    \
  {                                                                                                \
    (void)inst;                                                                                    \
    __VA_ARGS__;                                                                                   \
    return true;                                                                                   \
  }
#define BRANCH(name, condition)                                                                    \
  CONTROL(name, w->pc += (condition) ? (uint64_t)(int64_t)inst->simm * 4 : 0)                      \
  static bool run_##name##_on(isa_wave_t *w, const isa_inst_t *inst)                               \
  {                                                                                                \
    return isa_go_to(w, inst, (condition) ? inst->simm : 0);                                       \
  }
BRANCH(s_branch, true)
BRANCH(s_cbranch_scc0, !w->scc)
BRANCH(s_cbranch_scc1, w->scc)
BRANCH(s_cbranch_vccz, isa_vcc(w) == 0)
BRANCH(s_cbranch_vccnz, isa_vcc(w) != 0)
BRANCH(s_cbranch_execz, isa_exec(w) == 0)
BRANCH(s_cbranch_execnz, isa_exec(w) != 0)
CONTROL(s_getpc_b64, isa_write_s64(w, inst->dst.index, w->pc))
CONTROL(s_setpc_b64, w->pc = isa_read64(w, &inst->src[0]))
CONTROL(s_swappc_b64, const uint64_t target = isa_read64(w, &inst->src[0]);
        isa_write_s64(w, inst->dst.index, w->pc); w->pc = target)
CONTROL(s_call_b64, isa_write_s64(w, inst->dst.index, w->pc);
        w->pc += (uint64_t)(int64_t)inst->simm * 4)
CONTROL(s_endpgm, w->state = ISA_WAVE_ENDED; w->budget = 0)
CONTROL(s_barrier, w->state = ISA_WAVE_AT_BARRIER; w->budget = 0)
/* Programs sleep while they wait for others. */
CONTROL(s_sleep, w->budget = 0)
/* Halted waves stay where they are until the dispatch is stopped. */
CONTROL(s_sethalt, if (inst->simm & 1) w->pc -= 4, w->budget = 0)
/* Of what it waits for only loads into LDS are not complete already. (There is no block while some
 * are on their way, and nothing to wait for within one.) */
CONTROL(s_waitcnt, const unsigned count = (unsigned)inst->simm;
        isa_lds_loads_await(w, (count & 15) | (count >> 14 & 3) << 4))

CONTROL(s_waitcnt_vmcnt, isa_lds_loads_await(w, (unsigned)inst->simm & 63))

/* A loop that runs for lanes 0 to 31 and then for the others, by halves of EXEC; what the register
 * keeps is the half that is not being run. */
static bool run_s_subvector_loop_begin(isa_wave_t *w, const isa_inst_t *inst)
{
  uint32_t *const low = isa_exec_halves(w), *const high = low + 1, *kept = &w->s[inst->dst.index];
  if (!*low && !*high) {
    w->pc += (uint64_t)(int64_t)inst->simm * 4;
  } else if (!*low) {
    *kept = *low;
  } else {
    *kept = *high;
    *high = 0;
  }
  return true;
}

static bool run_s_subvector_loop_end(isa_wave_t *w, const isa_inst_t *inst)
{
  uint32_t *const low = isa_exec_halves(w), *const high = low + 1, *kept = &w->s[inst->dst.index];
  const uint32_t value = inst->dst.index == ISA_NOWHERE ? 0 : *kept;
  if (*high) {
    *low = value;
  } else if (value) {
    *high = *kept;
    *kept = *low;
    *low = 0;
    w->pc += (uint64_t)(int64_t)inst->simm * 4;
  }
  return true;
}

/* What ROCr's trap handler does: 3, llvm.debugtrap, is nothing without a debugger; every other one
 * is an exception of the queue, 2, llvm.trap, as an abort. */
static bool run_s_trap(isa_wave_t *w, const isa_inst_t *inst)
{
  enum { DEBUGTRAP = 3 };
  const unsigned id = (unsigned)inst->simm & 255;
  return (id == DEBUGTRAP && !__atomic_load_n(&isa_debug_traps, __ATOMIC_RELAXED)) ||
         isa_wave_fault(w, SOFTGPU_FAULT_TRAP, 0, id, 0);
}

/* An interrupt is how a kernel wakes the host when it has changed a signal: M0 has the number of
 * the signal's event, which the kernel has written to the event's mailbox as well. Other messages
 * are for those who draw. */
static bool run_s_sendmsg(isa_wave_t *w, const isa_inst_t *inst)
{
  enum { MESSAGE = 15, INTERRUPT = 1, EVENT = 0xffffff };
  if ((inst->simm & MESSAGE) == INTERRUPT && w->dispatch && w->dispatch->interrupt)
    w->dispatch->interrupt(w->s[ISA_M0] & EVENT);
  return true;
}

/* A message that is answered: with the time, or, of what there is none, with 0. */
static bool run_s_sendmsg_rtn(isa_wave_t *w, const isa_inst_t *inst)
{
  enum { GET_REALTIME = 131 };
  const uint64_t value = inst->simm == GET_REALTIME ? softgpu_wave_ticks() : 0;
  if (inst->row->dst == 2)
    isa_write_s64(w, inst->dst.index, value);
  else
    w->s[inst->dst.index] = (uint32_t)value;
  return true;
}

/* --- hardware registers: id in bits 0-5 of the immediate, then bit offset and size - 1 --- */

enum {
  HWREG_MODE = 1,
  HWREG_STATUS,
  HWREG_TRAPSTS,
  HWREG_HW_ID, /* GFX9 */
  HWREG_SH_MEM_BASES = 15,
  HWREG_XCC_ID = 20,      /* gfx942; 0 before */
  HWREG_FLAT_SCR_LO = 20, /* from GFX10 on, as those that follow */
  HWREG_FLAT_SCR_HI,
  HWREG_HW_ID1 = 23,
  HWREG_SHADER_CYCLES = 29, /* 20 bits */
  MODE_VSKIP = 28           /* a bit that only s_setvskip sets here */
};

/* What there is from GFX10 on, where GFX9 has others or none. */
static uint32_t hwreg_read_later(const isa_wave_t *w, unsigned id)
{
  switch (id) {
  case HWREG_FLAT_SCR_LO:
    return (uint32_t)w->flat_scratch;
  case HWREG_FLAT_SCR_HI:
    return (uint32_t)(w->flat_scratch >> 32);
  case HWREG_HW_ID1:
    return w->hw_id;
  case HWREG_SHADER_CYCLES:
    return softgpu_wave_cycles() & 0xfffff;
  default:
    return 0;
  }
}

static uint32_t hwreg_read(const isa_wave_t *w, const isa_inst_t *inst)
{
  const unsigned id = (unsigned)inst->simm & 63;
  if (id > HWREG_TRAPSTS && id != HWREG_SH_MEM_BASES && !isa_chip(inst->chip)->has_flat_scratch)
    return hwreg_read_later(w, id);
  switch (id) {
  case HWREG_MODE:
    return (w->mode & ~(1u << MODE_VSKIP)) | (uint32_t)w->vskip << MODE_VSKIP;
  case HWREG_STATUS:
    return w->scc | (uint32_t)(isa_exec(w) == 0) << 9 | (uint32_t)(isa_vcc(w) == 0) << 10;
  case HWREG_HW_ID:
    return w->hw_id;
  case HWREG_XCC_ID:
    return w->xcc_id;
  case HWREG_SH_MEM_BASES: /* address bits 63-48 of the private and the shared aperture */
    return w->dispatch->private_aperture_hi >> 16 | (w->dispatch->shared_aperture_hi & 0xffff0000);
  default:
    return 0;
  }
}

static uint32_t hwreg_mask(const isa_inst_t *inst)
{
  unsigned size = ((unsigned)inst->simm >> 11 & 31) + 1;
  return size >= 32 ? UINT32_MAX : (1u << size) - 1;
}

static bool run_s_getreg_b32(isa_wave_t *w, const isa_inst_t *inst)
{
  unsigned simm = (unsigned)inst->simm;
  w->s[inst->dst.index] = hwreg_read(w, inst) >> (simm >> 6 & 31) & hwreg_mask(inst);
  return true;
}

/* Registers whose change has an effect. */
static void hwreg_write(isa_wave_t *w, const isa_inst_t *inst, uint32_t value)
{
  unsigned offset = (unsigned)inst->simm >> 6 & 31;
  uint32_t mask = hwreg_mask(inst) << offset;
  const unsigned id = (unsigned)inst->simm & 63;
  if (id == HWREG_MODE)
    w->mode = (w->mode & ~mask) | (value << offset & mask);
  if (isa_chip(inst->chip)->has_flat_scratch || isa_chip(inst->chip)->architected_scratch ||
      (id != HWREG_FLAT_SCR_LO && id != HWREG_FLAT_SCR_HI))
    return;
  const unsigned shift = id == HWREG_FLAT_SCR_HI ? 32 : 0;
  w->flat_scratch =
      (w->flat_scratch & ~((uint64_t)mask << shift)) | (uint64_t)(value << offset & mask) << shift;
}

CONTROL(s_setreg_b32, hwreg_write(w, inst, w->s[inst->dst.index]))
CONTROL(s_setreg_imm32_b32, hwreg_write(w, inst, inst->src[0].value))
CONTROL(s_round_mode, w->mode = (w->mode & ~15u) | ((unsigned)inst->simm & 15))
CONTROL(s_denorm_mode, w->mode = (w->mode & ~0xf0u) | ((unsigned)inst->simm & 15) << 4)

/* --- register indexing: m0 bits 0-7 are the index, bits 12-15 which operands it applies to --- */

static void gpr_index(isa_wave_t *w, uint32_t index, unsigned mode)
{
  w->s[ISA_M0] = (w->s[ISA_M0] & 0xffff0f00) | (index & 255) | (mode & 15) << 12;
  w->gpr_index_mode = mode & 15;
}

CONTROL(s_set_gpr_idx_on, gpr_index(w, isa_read32(w, &inst->src[0]), (unsigned)inst->simm))
CONTROL(s_set_gpr_idx_idx, const uint32_t index = isa_read32(w, &inst->src[0]) & 255;
        w->s[ISA_M0] = (w->s[ISA_M0] & ~255u) | index)
CONTROL(s_set_gpr_idx_mode, gpr_index(w, w->s[ISA_M0], (unsigned)inst->simm))
CONTROL(s_set_gpr_idx_off, w->gpr_index_mode = 0)
/* The engine skips vector instructions while vskip is set. */
CONTROL(s_setvskip,
        w->vskip = isa_read32(w, &inst->src[0]) >> (isa_read32(w, &inst->src[1]) & 31) & 1)

/* Relative moves through m0 reach only the SGPRs below vcc and its kind. */
static bool indexed(isa_wave_t *w, const isa_operand_t *operand, unsigned dwords, unsigned *index)
{
  uint64_t at = (uint64_t)operand->index + w->s[ISA_M0];
  *index = (unsigned)at;
  if (operand->kind == ISA_OPERAND_SGPR && at + dwords <= w->sgprs)
    return true;
  return isa_wave_fault(w, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION, 0, 0, 0);
}

static bool run_s_movrels(isa_wave_t *w, const isa_inst_t *inst)
{
  unsigned from, dwords = inst->row->dst;
  if (!indexed(w, &inst->src[0], dwords, &from))
    return false;
  const uint64_t value = dwords == 2 ? isa_read_s64(w, from) : w->s[from];
  for (unsigned i = 0; i < dwords; ++i) /* which may overlap the source by one */
    w->s[inst->dst.index + i] = (uint32_t)(value >> 32 * i);
  return true;
}

static bool run_s_movreld(isa_wave_t *w, const isa_inst_t *inst)
{
  unsigned to, dwords = inst->row->dst;
  uint64_t value = dwords == 2 ? isa_read64(w, &inst->src[0]) : isa_read32(w, &inst->src[0]);
  if (!indexed(w, &inst->dst, dwords, &to))
    return false;
  for (unsigned i = 0; i < dwords; ++i)
    w->s[to + i] = (uint32_t)(value >> 32 * i);
  return true;
}

/* Both registers, by fields of M0. */
static bool run_s_movrelsd_2(isa_wave_t *w, const isa_inst_t *inst)
{
  const uint32_t m0 = w->s[ISA_M0];
  const uint32_t from = inst->src[0].index + (m0 & 1023), to = inst->dst.index + (m0 >> 16 & 1023);
  if (inst->src[0].kind != ISA_OPERAND_SGPR || from >= w->sgprs || to >= w->sgprs)
    return isa_wave_fault(w, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION, 0, 0, 0);
  w->s[to] = w->s[from];
  return true;
}

/* What runs nothing: caches, priorities and counters have no meaning here, as instructions complete
 * in order, and the debugger's conditions of s_cbranch_cdbg* never hold. */
/* clang-format off */
#define BRANCHES(name) {ISA_##name, run_##name, run_##name##_on, true}
#define ENDS(name)     {ISA_##name, run_##name, NULL, true}
#define GOES_ON(name)  {ISA_##name, run_##name, NULL, false}
#define NOTHING(name)  {ISA_##name, isa_run_nothing, isa_run_nothing_on, false}
static const struct {
  uint16_t op;
  isa_run_t run, run_on; /* run_on: NULL where there is but the one */
  bool ends_block;
} controls[] = {
    BRANCHES(s_branch), BRANCHES(s_cbranch_scc0), BRANCHES(s_cbranch_scc1),
    BRANCHES(s_cbranch_vccz), BRANCHES(s_cbranch_vccnz), BRANCHES(s_cbranch_execz),
    BRANCHES(s_cbranch_execnz), ENDS(s_endpgm), {ISA_s_endpgm_saved, run_s_endpgm, NULL, true},
    ENDS(s_barrier), ENDS(s_sleep), ENDS(s_sethalt), ENDS(s_trap), ENDS(s_getpc_b64),
    ENDS(s_setpc_b64), ENDS(s_swappc_b64), ENDS(s_call_b64), GOES_ON(s_getreg_b32),
    GOES_ON(s_setreg_b32), GOES_ON(s_setreg_imm32_b32), GOES_ON(s_set_gpr_idx_on),
    GOES_ON(s_set_gpr_idx_idx), GOES_ON(s_set_gpr_idx_mode), GOES_ON(s_set_gpr_idx_off),
    ENDS(s_setvskip), {ISA_s_movrels_b32, run_s_movrels, NULL, false},
    {ISA_s_movrels_b64, run_s_movrels, NULL, false},
    {ISA_s_movreld_b32, run_s_movreld, NULL, false},
    {ISA_s_movreld_b64, run_s_movreld, NULL, false}, NOTHING(s_nop), NOTHING(s_wakeup),
    {ISA_s_waitcnt, run_s_waitcnt, isa_run_nothing_on, false}, NOTHING(s_setkill),
    NOTHING(s_setprio), GOES_ON(s_sendmsg), NOTHING(s_sendmsghalt), NOTHING(s_icache_inv),
    NOTHING(s_incperflevel), NOTHING(s_decperflevel), NOTHING(s_ttracedata),
    NOTHING(s_cbranch_cdbgsys), NOTHING(s_cbranch_cdbguser), NOTHING(s_cbranch_cdbgsys_or_user),
    NOTHING(s_cbranch_cdbgsys_and_user), GOES_ON(s_round_mode), GOES_ON(s_denorm_mode),
    {ISA_s_waitcnt_vmcnt, run_s_waitcnt_vmcnt, isa_run_nothing_on, false},
    ENDS(s_subvector_loop_begin), ENDS(s_subvector_loop_end),
    {ISA_s_movrelsd_2_b32, run_s_movrelsd_2, NULL, false}, NOTHING(s_clause),
    NOTHING(s_code_end), NOTHING(s_inst_prefetch), NOTHING(s_version), NOTHING(s_wait_idle),
    NOTHING(s_waitcnt_depctr), NOTHING(s_waitcnt_expcnt), NOTHING(s_waitcnt_lgkmcnt),
    NOTHING(s_waitcnt_vscnt), NOTHING(s_ttracedata_imm), NOTHING(s_delay_alu),
    NOTHING(s_wait_event), {ISA_s_sendmsg_rtn_b32, run_s_sendmsg_rtn, NULL, false},
    {ISA_s_sendmsg_rtn_b64, run_s_sendmsg_rtn, NULL, false},
};
/* clang-format on */

/* The upper half of EXEC, through which they loop, waves of 32 have not. */
static bool is_loop_of_halves(const isa_inst_t *inst)
{
  return inst->op == ISA_s_subvector_loop_begin || inst->op == ISA_s_subvector_loop_end;
}

bool isa_salu_control_prepare(isa_inst_t *inst)
{
  if (ISA_LANES == 32 && is_loop_of_halves(inst))
    return false;
  for (size_t i = 0; i < sizeof controls / sizeof *controls; ++i)
    if (controls[i].op == inst->op) {
      inst->run = controls[i].run;
      inst->ends_block = controls[i].ends_block;
      inst->run_on = controls[i].run_on;
      return true;
    }
  return false;
}
