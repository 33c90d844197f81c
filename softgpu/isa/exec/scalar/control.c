/* Scalar instructions that steer the wave: branches, calls, barriers, hardware registers, register
 * indexing. The program counter has already moved past the instruction when they run. */
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/exec/scalar/operand.h"
#include "softgpu/isa/exec/scalar/salu.h"
#include "softgpu/isa/memory/lds_load.h"

static void jump(isa_wave_t *w, const isa_inst_t *inst)
{
  w->pc += (uint64_t)(int64_t)inst->simm * 4;
}

#define BRANCH(name, condition)                                                                    \
  static bool run_##name(isa_wave_t *w, const isa_inst_t *inst)                                    \
  {                                                                                                \
    if (condition)                                                                                 \
      jump(w, inst);                                                                               \
    return true;                                                                                   \
  }                                                                                                \
  static bool run_##name##_on(isa_wave_t *w, const isa_inst_t *inst)                               \
  {                                                                                                \
    return isa_go_to(w, inst, (condition) ? inst->simm : 0);                                       \
  }
BRANCH(s_branch, true)
BRANCH(s_cbranch_scc0, !w->scc)
BRANCH(s_cbranch_scc1, w->scc)
BRANCH(s_cbranch_vccz, isa_read_s64(w, ISA_VCC) == 0)
BRANCH(s_cbranch_vccnz, isa_read_s64(w, ISA_VCC) != 0)
BRANCH(s_cbranch_execz, isa_exec(w) == 0)
BRANCH(s_cbranch_execnz, isa_exec(w) != 0)

/* Of what it waits for only loads into LDS are not complete already. (There is no block while some
 * are on their way, and nothing to wait for within one.) */
static bool run_s_waitcnt(isa_wave_t *w, const isa_inst_t *inst)
{
  const unsigned simm = (unsigned)inst->simm;
  isa_lds_loads_await(w, (simm & 15) | (simm >> 14 & 3) << 4);
  return true;
}

static bool run_s_endpgm(isa_wave_t *w, const isa_inst_t *inst)
{
  (void)inst;
  w->state = ISA_WAVE_ENDED;
  w->budget = 0;
  return true;
}

static bool run_s_barrier(isa_wave_t *w, const isa_inst_t *inst)
{
  (void)inst;
  w->state = ISA_WAVE_AT_BARRIER;
  w->budget = 0;
  return true;
}

/* Programs sleep while they wait for others. */
static bool run_s_sleep(isa_wave_t *w, const isa_inst_t *inst)
{
  (void)inst;
  w->budget = 0;
  return true;
}

/* Halted waves stay where they are until the dispatch is stopped. */
static bool run_s_sethalt(isa_wave_t *w, const isa_inst_t *inst)
{
  if (inst->simm & 1) {
    w->pc -= 4;
    w->budget = 0;
  }
  return true;
}

/* What ROCr's trap handler does: 3, llvm.debugtrap, is nothing without a debugger; every other one
 * is an exception of the queue, 2, llvm.trap, as an abort. */
static bool run_s_trap(isa_wave_t *w, const isa_inst_t *inst)
{
  enum { DEBUGTRAP = 3 };
  const unsigned id = (unsigned)inst->simm & 255;
  return id == DEBUGTRAP || isa_wave_fault(w, SOFTGPU_FAULT_TRAP, 0, id, 0);
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

static bool run_s_getpc_b64(isa_wave_t *w, const isa_inst_t *inst)
{
  isa_write_s64(w, inst->dst.index, w->pc);
  return true;
}

static bool run_s_setpc_b64(isa_wave_t *w, const isa_inst_t *inst)
{
  w->pc = isa_read64(w, &inst->src[0]);
  return true;
}

static bool run_s_swappc_b64(isa_wave_t *w, const isa_inst_t *inst)
{
  uint64_t target = isa_read64(w, &inst->src[0]);
  isa_write_s64(w, inst->dst.index, w->pc);
  w->pc = target;
  return true;
}

static bool run_s_call_b64(isa_wave_t *w, const isa_inst_t *inst)
{
  isa_write_s64(w, inst->dst.index, w->pc);
  jump(w, inst);
  return true;
}

/* --- hardware registers: id in bits 0-5 of the immediate, then bit offset and size - 1 --- */

enum {
  HWREG_MODE = 1,
  HWREG_STATUS,
  HWREG_TRAPSTS,
  HWREG_HW_ID,
  HWREG_SH_MEM_BASES = 15,
  HWREG_XCC_ID = 20 /* gfx942; 0 before */
};

static uint32_t hwreg_read(const isa_wave_t *w, unsigned id)
{
  switch (id) {
  case HWREG_MODE:
    return w->mode;
  case HWREG_STATUS:
    return w->scc | (uint32_t)(isa_exec(w) == 0) << 9 |
           (uint32_t)(isa_read_s64(w, ISA_VCC) == 0) << 10;
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
  w->s[inst->dst.index] = hwreg_read(w, simm & 63) >> (simm >> 6 & 31) & hwreg_mask(inst);
  return true;
}

/* MODE is the only register whose change has an effect. */
static void hwreg_write(isa_wave_t *w, const isa_inst_t *inst, uint32_t value)
{
  unsigned offset = (unsigned)inst->simm >> 6 & 31;
  uint32_t mask = hwreg_mask(inst) << offset;
  if ((inst->simm & 63) == HWREG_MODE)
    w->mode = (w->mode & ~mask) | (value << offset & mask);
}

static bool run_s_setreg_b32(isa_wave_t *w, const isa_inst_t *inst)
{
  hwreg_write(w, inst, w->s[inst->dst.index]);
  return true;
}

static bool run_s_setreg_imm32_b32(isa_wave_t *w, const isa_inst_t *inst)
{
  hwreg_write(w, inst, inst->src[0].value);
  return true;
}

/* --- register indexing: m0 bits 0-7 are the index, bits 12-15 which operands it applies to --- */

static void gpr_index(isa_wave_t *w, uint32_t index, unsigned mode)
{
  w->s[ISA_M0] = (w->s[ISA_M0] & 0xffff0f00) | (index & 255) | (mode & 15) << 12;
  w->gpr_index_mode = mode & 15;
}

static bool run_s_set_gpr_idx_on(isa_wave_t *w, const isa_inst_t *inst)
{
  gpr_index(w, isa_read32(w, &inst->src[0]), (unsigned)inst->simm);
  return true;
}

static bool run_s_set_gpr_idx_idx(isa_wave_t *w, const isa_inst_t *inst)
{
  w->s[ISA_M0] = (w->s[ISA_M0] & ~255u) | (isa_read32(w, &inst->src[0]) & 255);
  return true;
}

static bool run_s_set_gpr_idx_mode(isa_wave_t *w, const isa_inst_t *inst)
{
  gpr_index(w, w->s[ISA_M0], (unsigned)inst->simm);
  return true;
}

static bool run_s_set_gpr_idx_off(isa_wave_t *w, const isa_inst_t *inst)
{
  (void)inst;
  w->gpr_index_mode = 0;
  return true;
}

/* The engine skips vector instructions while vskip is set. */
static bool run_s_setvskip(isa_wave_t *w, const isa_inst_t *inst)
{
  w->vskip = isa_read32(w, &inst->src[0]) >> (isa_read32(w, &inst->src[1]) & 31) & 1;
  return true;
}

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

/* What runs nothing: caches, priorities and counters have no meaning here, as instructions complete
 * in order, and the debugger's conditions of s_cbranch_cdbg* never hold. */
static const struct {
  uint16_t op;
  isa_run_t run, run_on; /* run_on: NULL where there is but the one */
  bool ends_block;
} controls[] = {
    {ISA_s_branch, run_s_branch, run_s_branch_on, true},
    {ISA_s_cbranch_scc0, run_s_cbranch_scc0, run_s_cbranch_scc0_on, true},
    {ISA_s_cbranch_scc1, run_s_cbranch_scc1, run_s_cbranch_scc1_on, true},
    {ISA_s_cbranch_vccz, run_s_cbranch_vccz, run_s_cbranch_vccz_on, true},
    {ISA_s_cbranch_vccnz, run_s_cbranch_vccnz, run_s_cbranch_vccnz_on, true},
    {ISA_s_cbranch_execz, run_s_cbranch_execz, run_s_cbranch_execz_on, true},
    {ISA_s_cbranch_execnz, run_s_cbranch_execnz, run_s_cbranch_execnz_on, true},
    {ISA_s_endpgm, run_s_endpgm, NULL, true},
    {ISA_s_endpgm_saved, run_s_endpgm, NULL, true},
    {ISA_s_barrier, run_s_barrier, NULL, true},
    {ISA_s_sleep, run_s_sleep, NULL, true},
    {ISA_s_sethalt, run_s_sethalt, NULL, true},
    {ISA_s_trap, run_s_trap, NULL, true},
    {ISA_s_getpc_b64, run_s_getpc_b64, NULL, true},
    {ISA_s_setpc_b64, run_s_setpc_b64, NULL, true},
    {ISA_s_swappc_b64, run_s_swappc_b64, NULL, true},
    {ISA_s_call_b64, run_s_call_b64, NULL, true},
    {ISA_s_getreg_b32, run_s_getreg_b32, NULL, false},
    {ISA_s_setreg_b32, run_s_setreg_b32, NULL, false},
    {ISA_s_setreg_imm32_b32, run_s_setreg_imm32_b32, NULL, false},
    {ISA_s_set_gpr_idx_on, run_s_set_gpr_idx_on, NULL, false},
    {ISA_s_set_gpr_idx_idx, run_s_set_gpr_idx_idx, NULL, false},
    {ISA_s_set_gpr_idx_mode, run_s_set_gpr_idx_mode, NULL, false},
    {ISA_s_set_gpr_idx_off, run_s_set_gpr_idx_off, NULL, false},
    {ISA_s_setvskip, run_s_setvskip, NULL, true},
    {ISA_s_movrels_b32, run_s_movrels, NULL, false},
    {ISA_s_movrels_b64, run_s_movrels, NULL, false},
    {ISA_s_movreld_b32, run_s_movreld, NULL, false},
    {ISA_s_movreld_b64, run_s_movreld, NULL, false},
    {ISA_s_nop, isa_run_nothing, isa_run_nothing_on, false},
    {ISA_s_wakeup, isa_run_nothing, isa_run_nothing_on, false},
    {ISA_s_waitcnt, run_s_waitcnt, isa_run_nothing_on, false},
    {ISA_s_setkill, isa_run_nothing, isa_run_nothing_on, false},
    {ISA_s_setprio, isa_run_nothing, isa_run_nothing_on, false},
    {ISA_s_sendmsg, run_s_sendmsg, NULL, false},
    {ISA_s_sendmsghalt, isa_run_nothing, isa_run_nothing_on, false},
    {ISA_s_icache_inv, isa_run_nothing, isa_run_nothing_on, false},
    {ISA_s_incperflevel, isa_run_nothing, isa_run_nothing_on, false},
    {ISA_s_decperflevel, isa_run_nothing, isa_run_nothing_on, false},
    {ISA_s_ttracedata, isa_run_nothing, isa_run_nothing_on, false},
    {ISA_s_cbranch_cdbgsys, isa_run_nothing, isa_run_nothing_on, false},
    {ISA_s_cbranch_cdbguser, isa_run_nothing, isa_run_nothing_on, false},
    {ISA_s_cbranch_cdbgsys_or_user, isa_run_nothing, isa_run_nothing_on, false},
    {ISA_s_cbranch_cdbgsys_and_user, isa_run_nothing, isa_run_nothing_on, false},
};

bool isa_salu_control_prepare(isa_inst_t *inst)
{
  for (size_t i = 0; i < sizeof controls / sizeof *controls; ++i)
    if (controls[i].op == inst->op) {
      inst->run = controls[i].run;
      inst->ends_block = controls[i].ends_block;
      inst->run_on = controls[i].run_on;
      return true;
    }
  return false;
}
