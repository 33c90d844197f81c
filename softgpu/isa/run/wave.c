/* A wave's instructions, from its program counter to their results. Who follows one comes by
 *
 *   isa_wave_run()        here: the code at wave->pc and, in it, the instruction
 *   isa_program_chunk()   program.c: fetches the code, a chunk at a time
 *   isa_program_decode()  program.c: decodes the instruction, unless it has been, and those behind:
 *     isa_decode()          decode/decode.c: words into isa_inst_t, by the tables of describe/
 *     isa_prepare()         prepare.c: the executor by the encoding, such as isa_valu_prepare() of
 *                           exec/vector/valu.c; it looks at the operands and chooses functions
 *   run_block()           here: calls the first one's function, inst->run_on; v_add_f32's is made
 *                         by exec/vector/fast.inc of its row in exec/vector/float_table.inc. It
 *                         writes the result and calls the next one's: isa_go_on() of base/wave.h
 *
 * A fault ends it; fault.c describes it. */
#include "softgpu/isa/memory/lds_load.h"
#include "softgpu/isa/run/group.h"

/* One instruction, with everything that may matter to it or to those after it. */
static bool run_one(const isa_inst_t *inst, isa_wave_t *wave, uint64_t *executed)
{
  const uint64_t base = wave->chunk->base;
  const bool is_skipped = wave->vskip && inst->encoding >= ISA_VOP1;
  ++*executed;
  --wave->budget;
  wave->pc = base + 4ull * (inst->slot + inst->dwords);
  wave->vmem_issued += inst->encoding >= ISA_FLAT && !is_skipped;
  if (is_skipped || inst->run(wave, inst))
    return true;
  wave->pc = base + 4ull * inst->slot;
  return false;
}

/* How many of the instructions that were to be run were not: the wave faulted at `wave->stop`. */
static uint32_t count_undone(const isa_wave_t *wave, const isa_inst_t *end, bool is_later_block)
{
  return is_later_block ? wave->stop->block - 1u : (uint32_t)(end - wave->stop) - 1;
}

/* A block, or what of it the turn has room for, and blocks to which it branches. No instruction but
 * the last looks at the program counter or at the turn, and nothing waits for vector memory: that
 * need not be counted. */
static bool run_block(const isa_inst_t *inst, isa_wave_t *wave, uint64_t *executed)
{
  const uint64_t base = wave->chunk->base;
  uint32_t count = inst->block, end = inst->end;
  if (count > (uint32_t)wave->budget) {
    count = (uint32_t)wave->budget;
    end = inst[count].slot;
    wave->next = inst + count;
  }
  wave->budget -= (int32_t)count;
  wave->pc = base + 4ull * end;
  for (uint32_t part; count; count -= part, inst += part) {
    part = count < ISA_RUN_ON ? count : ISA_RUN_ON;
    const uint32_t left = (uint32_t)wave->budget, most = ISA_RUN_ON - part;
    const uint32_t room = left < most ? left : most;
    wave->room = room;
    wave->stop = inst + part;
    const bool ok = inst->run_on(wave, inst);
    *executed += part + (room - wave->room);
    if (!ok) {
      *executed -= count_undone(wave, inst + part, wave->room != room);
      wave->pc = base + 4ull * wave->stop->slot;
      return false;
    }
  }
  return true;
}

bool isa_wave_run(isa_program_t *program, isa_wave_t *wave, uint32_t turn, uint64_t *executed)
{
  wave->budget = (int32_t)turn;
  if (wave->vmem_awaited && !isa_lds_loads_land(wave, wave->vmem_awaited))
    return false;
  wave->vmem_awaited = 0;
  while (wave->budget > 0) {
    isa_chunk_t *const chunk = isa_program_chunk(program, wave->pc, wave->chunk);
    if (!chunk)
      return isa_wave_fault(wave, SOFTGPU_FAULT_FETCH, 0, wave->pc, 4);
    if (chunk != wave->chunk)
      wave->next = NULL;
    wave->chunk = chunk;
    wave->code = chunk->at;
    while (wave->budget > 0 && wave->pc - chunk->base < chunk->bytes && !(wave->pc & 3)) {
      const uint32_t slot = (uint32_t)(wave->pc - chunk->base) / 4;
      const isa_inst_t *inst = wave->next;
      if (!inst)
        inst = __atomic_load_n(&chunk->at[slot], __ATOMIC_ACQUIRE);
      if (!inst)
        inst = isa_program_decode(program, chunk, slot);
      if (!inst)
        return isa_wave_fault(wave, SOFTGPU_FAULT_FETCH, 0, wave->pc, 4);
      wave->next = NULL;
      const bool is_alone = !inst->block || wave->vskip || wave->lds_loads;
      if (is_alone ? !run_one(inst, wave, executed) : !run_block(inst, wave, executed))
        return false;
    }
  }
  return wave->state != ISA_WAVE_ENDED || isa_lds_loads_land(wave, wave->vmem_issued);
}
