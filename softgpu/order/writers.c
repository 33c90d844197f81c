#include "softgpu/order/writers.h"

#include <stdlib.h>
#include <string.h>

#include "softgpu/device/memory.h"
#include "softgpu/isa/describe/memory.h"
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/run/width.h"

bool writers_make(writers_t *writers, const softgpu_back_t *asked)
{
  writers->asked = *asked;
  if (asked->space == SOFTGPU_BACK_NOTHING)
    return true;
  writers->bytes = calloc((size_t)asked->bytes, sizeof *writers->bytes);
  return writers->bytes;
}

void writers_free(writers_t *writers)
{
  free(writers->bytes);
}

softgpu_back_state_t writers_begin(writers_t *writers, const softgpu_back_t *asked, uint32_t node)
{
  if (asked->space != SOFTGPU_BACK_MEMORY)
    return SOFTGPU_BACK_RUNS;
  writers->base = softgpu_memory_reach(node, asked->address, asked->bytes, false);
  return writers->base ? SOFTGPU_BACK_RUNS : SOFTGPU_BACK_NOT_THERE;
}

/* ---- Instructions ---- */

/* As the engine was given it: what runs it may have other words for its operands. */
static bool decode(const isa_wave_t *wave, const isa_inst_t *inst, const isa_chunk_t *chunk,
                   isa_inst_t *decoded)
{
  return isa_decode_of(wave->dispatch->chip, wave->lanes, &chunk->code[inst->slot],
                       chunk->available - inst->slot, decoded) == ISA_DECODED;
}

static bool may_write(const isa_wave_t *wave, const isa_inst_t *inst)
{
  return inst->encoding >= ISA_DS ? !wave->vskip : inst->encoding == ISA_SMEM;
}

static bool is_of_group(const writers_t *writers, const isa_group_t *group)
{
  return writers->asked.space == SOFTGPU_BACK_MEMORY ||
         memcmp(group->id, writers->asked.lds_group, sizeof group->id) == 0;
}

static void note_place(writers_t *writers, unsigned lane, const place_t *place)
{
  for (unsigned i = 0; i < place->bytes; ++i) {
    const uint64_t at =
        place->at[i] ? (uint64_t)((uintptr_t)place->at[i] - (uintptr_t)writers->at) : UINT64_MAX;
    if (at >= writers->asked.bytes || writers->hits == WRITERS_HITS)
      continue;
    writers->before[writers->hits] = *place->at[i];
    writers->hit[writers->hits].at = (uint32_t)at;
    writers->hit[writers->hits++].lane = (uint8_t)lane;
  }
}

static const uint8_t *base_of(const writers_t *writers, const isa_wave_t *wave)
{
  return writers->base ? writers->base : wave->lds + writers->asked.address;
}

/* Nothing is accessed. What it finds wrong the instruction will. */
static void find_places(writers_t *writers, isa_wave_t *wave, const isa_inst_t *inst)
{
  softgpu_fault_t other, *const described = wave->fault;
  const bool is_scalar = inst->encoding == ISA_SMEM;
  place_t place;
  if (!isa_width_of(wave)->reference.allows(wave, inst))
    return;
  wave->fault = &other;
  ISA_EACH_LANE(lane, is_scalar ? 1 : isa_exec(wave))
    for (unsigned part = 0; isa_width_of(wave)->reference.writes(wave, inst, lane, part, &place);
         ++part)
      note_place(writers, is_scalar ? (unsigned)SOFTGPU_BACK_NO_LANE : lane, &place);
  wave->fault = described;
}

static bool is_conditional(const isa_inst_t *inst)
{
  const isa_access_t *access = isa_access_of(inst->op);
  return access && access->kind == ISA_ATOMIC &&
         (access->atomic == ISA_ATOMIC_CMPSWAP || access->atomic == ISA_ATOMIC_CMPSWAP_F);
}

void writers_look(writers_t *writers, const isa_group_t *group, isa_wave_t *wave,
                  const isa_inst_t *inst, const isa_chunk_t *chunk, uint64_t instructions)
{
  isa_inst_t decoded;
  ++writers->time;
  writers->hits = 0;
  if (!writers->bytes || !may_write(wave, inst) || wave->gws_waits ||
      !is_of_group(writers, group) || !decode(wave, inst, chunk, &decoded))
    return;
  writers->now = (written_t){.time = writers->time,
                             .pc = wave->pc,
                             .instructions = instructions,
                             .wave = (uint8_t)wave->index};
  memcpy(writers->now.workgroup, group->id, sizeof group->id);
  writers->chip = wave->dispatch->chip;
  writers->lanes = wave->lanes;
  writers->is_conditional = is_conditional(&decoded);
  writers->at = base_of(writers, wave);
  find_places(writers, wave, &decoded);
}

/* So many hits, from the first on, are one lane's. */
static size_t count_of_lane(const writers_t *writers, size_t first)
{
  size_t end = first + 1;
  while (end < writers->hits && writers->hit[end].lane == writers->hit[first].lane)
    ++end;
  return end - first;
}

/* Of an exchange that only happens where a value is what it is to be. Of lanes that all want the
 * same bytes the first one got them, as the others saw what it had put there. */
static bool has_happened(const writers_t *writers, size_t first, size_t count)
{
  bool is_changed = false;
  for (size_t i = first; i < first + count; ++i) {
    const written_t *before = &writers->bytes[writers->hit[i].at];
    if (before->time == writers->now.time)
      return false;
    is_changed |= writers->at[writers->hit[i].at] != writers->before[i];
  }
  return is_changed;
}

void writers_commit(writers_t *writers)
{
  for (size_t i = 0, count; i < writers->hits; i += count) {
    count = count_of_lane(writers, i);
    if (writers->is_conditional && !has_happened(writers, i, count))
      continue;
    writers->now.lane = writers->hit[i].lane;
    for (size_t n = i; n < i + count; ++n)
      writers->bytes[writers->hit[n].at] = writers->now;
  }
  writers->hits = 0;
}

/* ---- What is told ---- */

static bool is_same(const written_t *a, const written_t *b)
{
  return a->time == b->time && a->lane == b->lane;
}

/* The code is still there, as its waves are. */
static void add_instruction(const writers_t *writers, softgpu_back_writer_t *to)
{
  isa_inst_t inst;
  uint32_t words[ISA_MOST_DWORDS] = {0};
  const uint32_t count = softgpu_memory_code(0, to->pc, to->pc, ISA_MOST_DWORDS);
  memcpy(words, (const void *)(uintptr_t)to->pc, count * sizeof *words);
  memcpy(to->instruction, words, sizeof to->instruction);
  if (count && isa_decode_of(writers->chip, writers->lanes, words, count, &inst) == ISA_DECODED)
    isa_text(&inst, to->instruction_text, sizeof to->instruction_text);
}

void writers_tell(const writers_t *writers, uint64_t entry, softgpu_back_writer_fn *writer,
                  void *context)
{
  const uint64_t count = writers->bytes ? writers->asked.bytes : 0;
  for (uint64_t first = 0, end; first < count; first = end) {
    const written_t *written = &writers->bytes[first];
    end = first + 1;
    while (end < count && is_same(written, &writers->bytes[end]))
      ++end;
    softgpu_back_writer_t told = {.offset = first, .bytes = end - first};
    if (written->time) {
      told.pc = written->pc;
      told.pc_offset = written->pc - entry;
      told.instructions = written->instructions;
      told.time = written->time;
      told.wave = written->wave;
      told.lane = written->lane;
      memcpy(told.workgroup, written->workgroup, sizeof told.workgroup);
      add_instruction(writers, &told);
    }
    writer(context, &told);
  }
}
