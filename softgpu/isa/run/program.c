/* Code, and a wave's instructions from its program counter to their results. Who follows one comes
 * by
 *   isa_wave_run()        the code at wave->pc and, in it, the instruction
 *   isa_program_chunk()   fetches the code, a chunk at a time
 *   isa_program_decode()  decodes the instruction, unless it has been, and those behind:
 *     isa_decode()        decode/decode.c: words into isa_inst_t, by the tables of describe/
 *     isa_prepare()       run/width.c: the executor by the encoding, such as isa_valu_prepare() of
 *                         exec/vector/valu.c; it looks at the operands and chooses functions
 *   run_block()           calls the first one's function, inst->run_on; v_add_f32's is made by
 *                         exec/vector/fast.inc of its row in exec/vector/float_table.inc. It writes
 *                         the result and calls the next one's: isa_go_on() of base/wave.h
 *
 * A fault ends it; fault.c describes it. */
#include "softgpu/isa/run/program.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/device/memory.h"
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/memory/lds_load.h"
#include "softgpu/isa/run/probe.h"
#include "softgpu/isa/run/width.h"

enum {
  BUCKETS = 1024,
  CODE = sizeof((isa_chunk_t){0}.code) / sizeof(uint32_t),
  IDLE_MOST = 16 /* probed programs that are kept */
};

struct isa_program {
  isa_limits_t limits;
  uint32_t references; /* under `programs_lock` */
  struct isa_program *next;
  pthread_mutex_t lock; /* chunks are added and decoded under it, and read without */
  uint32_t ranges;      /* instructions decoded, which get one of a thread's ranges each in turn */
  isa_probe_t *probe;   /* NULL: it is not probed, and any number of dispatches shares it */
  uint64_t epoch;       /* `epoch` when it was opened, of a probed one */
  isa_chunk_t *buckets[BUCKETS];
};

static pthread_mutex_t programs_lock = PTHREAD_MUTEX_INITIALIZER;
static isa_program_t *programs; /* each holds one reference */
static isa_program_t *idle;     /* probed ones of dispatches that have ended, the last first */
static uint64_t epoch;          /* how often code was dropped */

static bool same_limits(const isa_limits_t *a, const isa_limits_t *b)
{
  return a->checks == b->checks && a->chip == b->chip && a->lanes == b->lanes &&
         a->node == b->node && a->sgprs == b->sgprs && a->vgprs == b->vgprs &&
         a->agprs == b->agprs && a->reference == b->reference;
}

static void chunk_free(isa_chunk_t *chunk)
{
  for (isa_stretch_t *stretch = chunk->stretches, *next; stretch; stretch = next) {
    next = stretch->next;
    free(stretch);
  }
  free(chunk);
}

static void program_free(isa_program_t *program)
{
  for (unsigned i = 0; i < BUCKETS; ++i)
    for (isa_chunk_t *chunk = program->buckets[i], *next; chunk; chunk = next) {
      next = chunk->next;
      chunk_free(chunk);
    }
  pthread_mutex_destroy(&program->lock);
  free(program->probe);
  free(program);
}

static isa_program_t *program_make(const isa_limits_t *limits)
{
  isa_program_t *program = calloc(1, sizeof *program);
  if (program) {
    program->limits = *limits;
    pthread_mutex_init(&program->lock, NULL);
    program->references = 1;
  }
  return program;
}

isa_program_t *isa_program_open(const isa_limits_t *limits)
{
  pthread_mutex_lock(&programs_lock);
  isa_program_t *program = programs;
  while (program && !same_limits(&program->limits, limits))
    program = program->next;
  if (!program && (program = program_make(limits))) {
    program->next = programs;
    programs = program;
  }
  if (program)
    ++program->references;
  pthread_mutex_unlock(&programs_lock);
  return program;
}

/* --- probed programs: a dispatch has one alone, with what it records in it --- */

/* Takes one that was used before out of the idle ones. With `programs_lock`. */
static isa_program_t *idle_take(const isa_limits_t *limits, const isa_probe_t *probe)
{
  isa_program_t **at = &idle;
  while (*at && !(same_limits(&(*at)->limits, limits) && isa_probe_is_same((*at)->probe, probe)))
    at = &(*at)->next;
  isa_program_t *program = *at;
  if (program) {
    *at = program->next;
    program->references = 1;
  }
  return program;
}

/* Keeps one whose dispatch has ended; the one to be freed instead, or NULL. Likewise. */
static isa_program_t *idle_give(isa_program_t *program)
{
  if (program->epoch != epoch)
    return program;
  program->next = idle;
  idle = program;
  isa_program_t **last = &idle;
  for (uint32_t n = 0; n < IDLE_MOST && *last; ++n)
    last = &(*last)->next;
  isa_program_t *dropped = *last; /* there is no other behind it */
  *last = NULL;
  return dropped;
}

isa_program_t *isa_program_open_probed(const isa_limits_t *limits, isa_probe_t *probe)
{
  pthread_mutex_lock(&programs_lock);
  isa_program_t *program = idle_take(limits, probe);
  const uint64_t now = epoch;
  pthread_mutex_unlock(&programs_lock);
  if (program) {
    memcpy(program->probe, probe, offsetof(isa_probe_t, points)); /* which others point to */
    free(probe);
  } else if ((program = program_make(limits)) != NULL) {
    program->probe = probe;
  } else {
    free(probe);
    return NULL;
  }
  program->epoch = now;
  return program;
}

void isa_program_close(isa_program_t *program)
{
  isa_program_t *dropped = NULL;
  pthread_mutex_lock(&programs_lock);
  if (--program->references == 0)
    dropped = program->probe ? idle_give(program) : program;
  pthread_mutex_unlock(&programs_lock);
  if (dropped)
    program_free(dropped);
}

void softgpu_invalidate_code(void)
{
  pthread_mutex_lock(&programs_lock);
  isa_program_t *dropped = programs, *unused = idle;
  programs = idle = NULL;
  ++epoch;
  pthread_mutex_unlock(&programs_lock);
  for (isa_program_t *next; dropped; dropped = next) {
    next = dropped->next;
    isa_program_close(dropped);
  }
  for (isa_program_t *next; unused; unused = next) {
    next = unused->next;
    program_free(unused);
  }
}

/* --- chunks --- */

static bool chunk_has(const isa_chunk_t *chunk, uint64_t pc)
{
  return pc - chunk->base < chunk->bytes && !(pc & 3);
}

static bool is_as_compared(const isa_chunk_t *chunk, uint64_t generation)
{
  return __atomic_load_n(&chunk->generation, __ATOMIC_RELAXED) == generation;
}

/* Memory may have been freed, and other code put in its place, since the chunk was made. */
static bool chunk_is_current(const isa_limits_t *limits, isa_chunk_t *chunk)
{
  const uint64_t generation = softgpu_memory_generation();
  if (is_as_compared(chunk, generation))
    return true;
  if (softgpu_memory_code(limits->node, chunk->base, chunk->base, CODE) != chunk->available ||
      memcmp((const void *)(uintptr_t)chunk->base, chunk->code, chunk->available * 4) != 0)
    return false;
  __atomic_store_n(&chunk->generation, generation, __ATOMIC_RELAXED);
  return true;
}

/* Newer ones stand before older ones. */
static isa_chunk_t *chunk_find(const isa_limits_t *limits, isa_chunk_t *first, uint64_t base)
{
  while (first && first->base != base)
    first = first->next;
  return first && chunk_is_current(limits, first) ? first : NULL;
}

isa_chunk_t *isa_program_chunk(isa_program_t *program, uint64_t pc)
{
  const isa_limits_t *limits = &program->limits;
  const uint64_t base = pc & ~(uint64_t)(ISA_CHUNK * 4 - 1);
  isa_chunk_t **bucket = &program->buckets[base / (ISA_CHUNK * 4) % BUCKETS];
  if (pc & 3)
    return NULL;
  isa_chunk_t *chunk = chunk_find(limits, __atomic_load_n(bucket, __ATOMIC_ACQUIRE), base);
  if (!chunk) {
    pthread_mutex_lock(&program->lock);
    chunk = chunk_find(limits, *bucket, base);
    const uint64_t generation = softgpu_memory_generation(); /* before the code is looked at */
    const uint32_t available = chunk ? 0 : softgpu_memory_code(limits->node, base, pc, CODE);
    if (available > 0 && (chunk = calloc(1, sizeof *chunk))) {
      chunk->base = base;
      chunk->available = available;
      chunk->bytes = 4 * (available < ISA_CHUNK ? available : (uint32_t)ISA_CHUNK);
      chunk->generation = generation;
      memcpy(chunk->code, (const void *)(uintptr_t)base, available * 4);
      chunk->next = *bucket;
      __atomic_store_n(bucket, chunk, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&program->lock);
  }
  return chunk && pc - base < chunk->bytes ? chunk : NULL;
}

/* --- decoding --- */

static bool run_illegal(isa_wave_t *wave, const isa_inst_t *inst)
{
  (void)inst;
  return isa_wave_fault(wave, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION, 0, 0, 0);
}

static bool run_truncated(isa_wave_t *wave, const isa_inst_t *inst)
{
  (void)inst;
  return isa_wave_fault(wave, SOFTGPU_FAULT_FETCH, 0, 0, 0);
}

/* Of instructions that follow each other: how many run from each without a look at the wave (of
 * what is alone, none); and which of the address patterns that a wave remembers each uses: those
 * with the same register have one together until it is written. */
static void link_stretch(isa_inst_t *inst, uint32_t count)
{
  uint8_t known[256] = {0}, patterns = 0; /* by register: from 1 on; 0: none */
  uint16_t block = 0, end = 0;
  for (uint32_t n = count; n-- > 0;) {
    block = inst[n].is_alone ? 0 : inst[n].ends_block ? 1 : (uint16_t)(block + 1);
    if (block <= 1)
      end = (uint16_t)(inst[n].slot + inst[n].dwords);
    inst[n].block = block;
    inst[n].end = end;
  }
  for (; count-- > 0; ++inst) {
    if (isa_is_memory(inst) && inst->mem.vaddr.kind == ISA_OPERAND_VGPR) {
      uint8_t *const number = &known[inst->mem.vaddr.index];
      if (!*number)
        *number = (uint8_t)(1 + patterns++ % ISA_MOVES_KEPT);
      inst->moves = *number - 1;
    }
    if (inst->dst.kind == ISA_OPERAND_VGPR && inst->row)
      for (unsigned i = inst->dst.index; i < inst->dst.index + inst->row->dst && i < 256; ++i)
        known[i] = 0;
  }
}

/* --- VOPD: what it consists of is behind the stretch's instructions --- */

static size_t count_duals(const isa_stretch_t *stretch, uint32_t count)
{
  size_t duals = 0;
  for (uint32_t i = 0; stretch && i < count; ++i)
    duals += stretch->inst[i].encoding == ISA_VOPD;
  return duals;
}

static void place_halves(isa_stretch_t *stretch, uint32_t count, const isa_limits_t *limits)
{
  isa_inst_t *halves = &stretch->inst[count];
  if (limits->reference)
    return;
  for (uint32_t i = 0; i < count; ++i)
    if (stretch->inst[i].encoding == ISA_VOPD) {
      stretch->inst[i].plan =
          isa_width(limits->lanes)->halves(&stretch->inst[i], limits, halves) ? halves : NULL;
      halves += 2;
    }
}

/* To what aligned_alloc() takes. */
static size_t rounded(size_t size)
{
  return (size + _Alignof(isa_stretch_t) - 1) / _Alignof(isa_stretch_t) * _Alignof(isa_stretch_t);
}

const isa_inst_t *isa_program_decode(isa_program_t *program, isa_chunk_t *chunk, uint32_t slot)
{
  const isa_limits_t *limits = &program->limits;
  const isa_width_t *width = isa_width(limits->lanes);
  const size_t most = sizeof(isa_stretch_t) + ISA_CHUNK * sizeof(isa_inst_t);
  const uint32_t first = slot;
  uint32_t count = 0;
  bool goes_on = true; /* to what follows, by falling through */
  pthread_mutex_lock(&program->lock);
  isa_stretch_t *stretch = NULL, *wide = aligned_alloc(_Alignof(isa_stretch_t), most);
  while (wide && goes_on && 4 * slot < chunk->bytes && !chunk->at[slot]) {
    isa_inst_t *inst = &wide->inst[count++];
    const isa_decode_status_t status = isa_decode_of(
        limits->chip, limits->lanes, &chunk->code[slot], chunk->available - slot, inst);
    if (status != ISA_DECODED)
      isa_runs_alone(inst, status == ISA_DECODE_TRUNCATED ? run_truncated : run_illegal);
    else if (limits->reference)
      isa_runs_alone(inst, width->reference.run);
    else if (!width->prepare(inst, limits))
      isa_runs_alone(inst, run_illegal);
    else if (!inst->run_on)
      isa_runs_alone(inst, inst->run);
    /* Checks and the reference engine look at the program counter anywhere. */
    inst->is_alone |= limits->reference || limits->checks;
    inst->slot = (uint16_t)slot;
    inst->range = (uint16_t)(program->ranges++ % ISA_RANGES);
    inst->dwords = inst->dwords ? inst->dwords : 1;
    slot += inst->dwords;
    goes_on = status == ISA_DECODED && inst->op != ISA_s_endpgm && inst->op != ISA_s_branch &&
              inst->op != ISA_s_setpc_b64;
  }
  const size_t probed = program->probe ? sizeof(isa_probed_t) : 0;
  const size_t halves = 2 * count_duals(wide, count);
  const size_t bytes = sizeof *stretch + (count + halves) * sizeof *stretch->inst;
  const size_t size = rounded(bytes + count * probed);
  if (count > 0 && (stretch = aligned_alloc(_Alignof(isa_stretch_t), size))) {
    link_stretch(wide->inst, count);
    wide->next = chunk->stretches;
    chunk->stretches = memcpy(stretch, wide, bytes - halves * sizeof *stretch->inst);
    place_halves(stretch, count, limits);
    if (probed)
      isa_probe_attach(program->probe, chunk->base, stretch->inst, count,
                       (isa_probed_t *)(void *)&stretch->inst[count + halves]);
    for (uint32_t i = 0; i < count; ++i)
      __atomic_store_n(&chunk->at[stretch->inst[i].slot], &stretch->inst[i], __ATOMIC_RELEASE);
  }
  free(wide);
  const isa_inst_t *inst = chunk->at[first];
  pthread_mutex_unlock(&program->lock);
  return inst;
}

/* --- running --- */

/* One instruction, with everything that may matter to it or to those after it. */
static bool run_one(const isa_inst_t *inst, isa_wave_t *wave, uint64_t *executed)
{
  const uint64_t base = wave->chunk->base;
  const bool is_skipped = wave->vskip && inst->encoding >= ISA_VOP1;
  ++*executed;
  --wave->budget;
  wave->pc = base + 4ull * (inst->slot + inst->dwords);
  wave->vmem_issued += inst->encoding >= ISA_FLAT && !is_skipped;
  if (is_skipped && inst->probed)
    isa_probe_skipped(wave, inst);
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

const isa_inst_t *isa_program_at(isa_program_t *program, uint64_t pc, const isa_chunk_t **chunk)
{
  isa_chunk_t *found = isa_program_chunk(program, pc);
  *chunk = found;
  if (!found)
    return NULL;
  const uint32_t slot = (uint32_t)(pc - found->base) / 4;
  const isa_inst_t *inst = __atomic_load_n(&found->at[slot], __ATOMIC_ACQUIRE);
  return inst ? inst : isa_program_decode(program, found, slot);
}

bool isa_wave_run(isa_program_t *program, isa_wave_t *wave, uint32_t turn, uint64_t *executed)
{
  wave->budget = (int32_t)turn;
  if (wave->vmem_awaited && !isa_lds_loads_land(wave, wave->vmem_awaited))
    return false;
  wave->vmem_awaited = 0;
  while (wave->budget > 0) {
    isa_chunk_t *chunk = wave->chunk;
    if (!chunk || !chunk_has(chunk, wave->pc) ||
        !is_as_compared(chunk, softgpu_memory_generation()))
      chunk = isa_program_chunk(program, wave->pc);
    if (!chunk)
      return isa_wave_fault(wave, SOFTGPU_FAULT_FETCH, 0, wave->pc, 4);
    if (chunk != wave->chunk)
      wave->next = NULL;
    wave->chunk = chunk;
    wave->code = chunk->at;
    while (wave->budget > 0 && chunk_has(chunk, wave->pc)) {
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
