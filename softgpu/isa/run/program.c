#include "softgpu/isa/run/program.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "softgpu/device/memory.h"
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/reference/reference.h"
#include "softgpu/isa/run/prepare.h"

enum { BUCKETS = 1024 };

struct isa_program {
  isa_limits_t limits;
  uint32_t references; /* under `programs_lock` */
  struct isa_program *next;
  pthread_mutex_t lock; /* chunks are added and decoded under it, and read without */
  uint32_t ranges;      /* instructions decoded, which get one of a thread's ranges each in turn */
  isa_chunk_t *buckets[BUCKETS];
};

static pthread_mutex_t programs_lock = PTHREAD_MUTEX_INITIALIZER;
static isa_program_t *programs; /* each holds one reference */

static bool same_limits(const isa_limits_t *a, const isa_limits_t *b)
{
  return a->chip == b->chip && a->node == b->node && a->sgprs == b->sgprs && a->vgprs == b->vgprs &&
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
  free(program);
}

isa_program_t *isa_program_open(const isa_limits_t *limits)
{
  pthread_mutex_lock(&programs_lock);
  isa_program_t *program = programs;
  while (program &&
         !(program->limits.checks == limits->checks && same_limits(&program->limits, limits)))
    program = program->next;
  if (!program && (program = calloc(1, sizeof *program))) {
    program->limits = *limits;
    pthread_mutex_init(&program->lock, NULL);
    program->references = 1;
    program->next = programs;
    programs = program;
  }
  if (program)
    ++program->references;
  pthread_mutex_unlock(&programs_lock);
  return program;
}

void isa_program_close(isa_program_t *program)
{
  pthread_mutex_lock(&programs_lock);
  bool is_last = --program->references == 0;
  pthread_mutex_unlock(&programs_lock);
  if (is_last)
    program_free(program);
}

void softgpu_invalidate_code(void)
{
  pthread_mutex_lock(&programs_lock);
  isa_program_t *dropped = programs;
  programs = NULL;
  pthread_mutex_unlock(&programs_lock);
  while (dropped) {
    isa_program_t *next = dropped->next;
    isa_program_close(dropped);
    dropped = next;
  }
}

/* --- chunks --- */

static uint64_t chunk_base(uint64_t pc)
{
  return pc & ~(uint64_t)(ISA_CHUNK * 4 - 1);
}

static isa_chunk_t **bucket_of(isa_program_t *program, uint64_t base)
{
  return &program->buckets[base / (ISA_CHUNK * 4) % BUCKETS];
}

/* Executable dwords at `base`, at most what a chunk keeps; 0 when there are none at `pc`. Where the
 * thunk allocated it, which is where code is, host and devices have it at the same address. */
static uint32_t executable_dwords(const isa_limits_t *limits, uint64_t base, uint64_t pc)
{
  softgpu_allocation_t code;
  if (!softgpu_memory_find(pc, &code) || !(code.flags & SOFTGPU_MEMORY_EXECUTE) || code.shift ||
      !softgpu_memory_allows(&code, limits->node))
    return 0;
  uint64_t end = code.base + code.size;
  if (base < code.base)
    return 0; /* allocations start at page boundaries, chunks do not cross them */
  uint64_t dwords = (end - base) / 4;
  const uint32_t most = ISA_CHUNK + ISA_MOST_DWORDS - 1;
  const uint32_t count = dwords < most ? (uint32_t)dwords : most;
  return softgpu_memory_present(&code, base, count * 4ull) ? count : 0;
}

static const void *host(uint64_t address)
{
  return (const void *)(uintptr_t)address;
}

/* Memory may have been freed, and other code put in its place, since the chunk was made. */
static bool chunk_is_current(const isa_limits_t *limits, isa_chunk_t *chunk)
{
  const uint64_t generation = softgpu_memory_generation();
  if (isa_chunk_is_as_compared(chunk))
    return true;
  if (executable_dwords(limits, chunk->base, chunk->base) != chunk->available ||
      memcmp(host(chunk->base), chunk->words, chunk->available * 4) != 0)
    return false;
  __atomic_store_n(&chunk->generation, generation, __ATOMIC_RELAXED);
  return true;
}

static isa_chunk_t *chunk_create(const isa_limits_t *limits, uint64_t base, uint64_t pc)
{
  uint64_t generation = softgpu_memory_generation();
  uint32_t available = executable_dwords(limits, base, pc);
  isa_chunk_t *chunk = available ? calloc(1, sizeof *chunk) : NULL;
  if (!chunk)
    return NULL;
  chunk->base = base;
  chunk->available = available;
  chunk->generation = generation;
  memcpy(chunk->words, host(base), available * 4);
  return chunk;
}

static isa_chunk_t *chunk_find(const isa_limits_t *limits, isa_chunk_t *first, uint64_t base)
{
  for (isa_chunk_t *chunk = first; chunk; chunk = chunk->next)
    if (chunk->base == base)
      return chunk_is_current(limits, chunk) ? chunk
                                             : NULL; /* newer ones stand before older ones */
  return NULL;
}

const isa_chunk_t *isa_program_chunk(isa_program_t *program, uint64_t pc)
{
  uint64_t base = chunk_base(pc);
  isa_chunk_t **bucket = bucket_of(program, base);
  if (pc & 3)
    return NULL;
  const isa_limits_t *limits = &program->limits;
  isa_chunk_t *chunk = chunk_find(limits, __atomic_load_n(bucket, __ATOMIC_ACQUIRE), base);
  if (!chunk) {
    pthread_mutex_lock(&program->lock);
    chunk = chunk_find(limits, *bucket, base);
    if (!chunk && (chunk = chunk_create(limits, base, pc))) {
      chunk->next = *bucket;
      __atomic_store_n(bucket, chunk, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&program->lock);
  }
  return chunk && (pc - base) / 4 < chunk->available ? chunk : NULL;
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

/* False when what follows is not reached by falling through. */
static bool decode_slot(isa_program_t *program, const isa_chunk_t *chunk, uint32_t slot,
                        isa_inst_t *inst)
{
  const isa_limits_t *limits = &program->limits;
  isa_decode_status_t status =
      isa_decode(limits->chip, &chunk->words[slot], chunk->available - slot, inst);
  if (status != ISA_DECODED)
    isa_runs_alone(inst, status == ISA_DECODE_TRUNCATED ? run_truncated : run_illegal);
  else if (limits->reference)
    isa_runs_alone(inst, isa_reference_run);
  else if (!isa_prepare(inst, limits))
    isa_runs_alone(inst, run_illegal);
  else if (!inst->run_on)
    isa_runs_alone(inst, inst->run);
  if (!inst->dwords)
    inst->dwords = 1;
  /* Checks and the reference engine look at the program counter anywhere. */
  inst->is_alone |= limits->reference || limits->checks;
  inst->slot = (uint16_t)slot;
  inst->range = (uint16_t)(program->ranges++ % ISA_RANGES);
  return status == ISA_DECODED && inst->op != ISA_s_endpgm && inst->op != ISA_s_branch &&
         inst->op != ISA_s_setpc_b64;
}

/* How many instructions run from each without a look at the wave; of what is alone, none. */
static void count_blocks(isa_inst_t *inst, uint32_t count)
{
  uint16_t block = 0, end = 0;
  while (count-- > 0) {
    block = inst[count].is_alone ? 0 : inst[count].ends_block ? 1 : (uint16_t)(block + 1);
    if (block <= 1)
      end = (uint16_t)(inst[count].slot + inst[count].dwords);
    inst[count].block = block;
    inst[count].end = end;
  }
}

/* Which of the address patterns that a wave remembers each uses: those with the same register have
 * one together until it is written. */
static void number_moves(isa_inst_t *inst, uint32_t count)
{
  uint8_t known[256] = {0}; /* by register: from 1 on; 0: none */
  for (uint32_t next = 0; count-- > 0; ++inst) {
    if (inst->vaddr.kind == ISA_OPERAND_VGPR) {
      uint8_t *const number = &known[inst->vaddr.index];
      if (!*number)
        *number = (uint8_t)(1 + next++ % ISA_MOVES_KEPT);
      inst->moves = *number - 1;
    }
    if (inst->dst.kind == ISA_OPERAND_VGPR && inst->row)
      for (unsigned i = inst->dst.index; i < inst->dst.index + inst->row->dst && i < 256; ++i)
        known[i] = 0;
  }
}

/* With `kept` of the old one's instructions. NULL, and that one freed, when out of memory. */
static isa_stretch_t *stretch_resize(isa_stretch_t *stretch, uint32_t kept, uint32_t count)
{
  isa_stretch_t *resized =
      aligned_alloc(_Alignof(isa_stretch_t), sizeof *stretch + count * sizeof *stretch->inst);
  if (resized && kept)
    memcpy(resized, stretch, sizeof *stretch + kept * sizeof *stretch->inst);
  free(stretch);
  return resized;
}

static bool decode_stretch(isa_program_t *program, isa_chunk_t *chunk, uint32_t slot)
{
  isa_stretch_t *stretch = NULL;
  uint32_t count = 0, room = 0;
  bool goes_on = true;
  while (goes_on && slot < ISA_CHUNK && slot < chunk->available && !chunk->at[slot]) {
    if (count == room) {
      room = room ? 2 * room : 32;
      if (!(stretch = stretch_resize(stretch, count, room)))
        return false;
    }
    goes_on = decode_slot(program, chunk, slot, &stretch->inst[count]);
    slot += stretch->inst[count++].dwords;
  }
  if (!(stretch = stretch_resize(stretch, count, count)))
    return false;
  count_blocks(stretch->inst, count);
  number_moves(stretch->inst, count);
  stretch->next = chunk->stretches;
  chunk->stretches = stretch;
  for (uint32_t i = 0; i < count; ++i)
    __atomic_store_n(&chunk->at[stretch->inst[i].slot], &stretch->inst[i], __ATOMIC_RELEASE);
  return true;
}

bool isa_program_decode(isa_program_t *program, const isa_chunk_t *constant, uint32_t slot)
{
  pthread_mutex_lock(&program->lock);
  isa_chunk_t *chunk = *bucket_of(program, constant->base);
  while (chunk && chunk != constant)
    chunk = chunk->next;
  const bool is_there = chunk && (chunk->at[slot] || decode_stretch(program, chunk, slot));
  pthread_mutex_unlock(&program->lock);
  return is_there;
}
