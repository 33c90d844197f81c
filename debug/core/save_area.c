#include "debug/core/save_area.h"

#include "base/checked.h"
#include "debug/core/format.h"

enum {
  HEADER = 64,    /* with what follows it, so that the control stack begins a line */
  VGPR_BLOCK = 8, /* of both kinds together */
  ACCUM_BLOCK = 4,
  SGPR_BLOCKS = 7 << 6, /* 112, and the TTMPs' 16 */
  LDS_SHIFT = 9,
  ACCUM_SHIFT = 24,
  DISPLACED = 32,    /* bytes for a wave, for the debugger to step over breakpoints in */
  MOST_SLICE = 8191, /* KiB, in 13 bits */
  MOST_SLOTS = 4095, /* in 12 bits */
  KIB = 1024,
};

/* What the trap handler says of each: TRAPSTS, and the number of the trap. */
static const struct {
  uint32_t trapsts, trap;
} stops[CORE_STOPS] = {
    [CORE_STOP_MEMORY] = {TRAPSTS_XNACK_ERROR | TRAPSTS_MEM_VIOL, 0},
    [CORE_STOP_ADDRESS] = {TRAPSTS_MEM_VIOL, 0},
    [CORE_STOP_ILLEGAL] = {TRAPSTS_ILLEGAL, 0},
    [CORE_STOP_OTHER] = {0, 4},
};

static uint32_t round_up(uint32_t value, uint32_t unit)
{
  return (value + unit - 1) / unit * unit;
}

save_scratch_t save_scratch_of(const core_chip_t *chip, const core_agent_t *agent,
                               const core_queue_t *queue)
{
  save_scratch_t scratch = {0};
  const uint32_t told = 1u << chip->engine_bits;
  uint32_t engines = agent->arrays_per_engine ? agent->arrays / agent->arrays_per_engine : 0;
  if (!engines || engines > MOST_SLOTS || !queue->slice_bytes || queue->slice_bytes % KIB ||
      queue->slice_bytes / KIB > MOST_SLICE)
    return scratch;
  scratch.per_engine = MOST_SLOTS / engines;
  if (scratch.per_engine > FORMAT_SCOREBOARD + 1)
    scratch.per_engine = FORMAT_SCOREBOARD + 1;
  scratch.base = queue->scratch;
  scratch.slice_bytes = queue->slice_bytes;
  scratch.slots = scratch.per_engine * engines;
  if (engines > told) /* slots of the others cannot be told of a wave */
    engines = told;
  return scratch;
}

uint32_t save_tmpring(const save_scratch_t *scratch)
{
  return (uint32_t)(scratch->slice_bytes / KIB) << 12 | scratch->slots;
}

/* The slot of a wave's slice. False: it has none that can be told. */
static bool find_slot(const save_input_t *input, const core_wave_t *wave, uint32_t *slot)
{
  const save_scratch_t *scratch = &input->scratch;
  *slot = 0;
  if (!wave->scratch || !scratch->slice_bytes || wave->scratch < scratch->base)
    return false;
  const uint64_t offset = wave->scratch - scratch->base;
  const uint64_t most = (uint64_t)scratch->per_engine << input->chip->engine_bits;
  if (offset % scratch->slice_bytes || offset / scratch->slice_bytes >= scratch->slots ||
      offset / scratch->slice_bytes >= most)
    return false;
  *slot = (uint32_t)(offset / scratch->slice_bytes);
  return true;
}

bool save_shape_of(const core_chip_t *chip, const core_wave_t *wave, save_shape_t *shape)
{
  enum { MOST_ROWS = 512, MOST_VGPRS = 256 };
  *shape = (save_shape_t){0};
  if (wave->vgpr_count > MOST_VGPRS || wave->agpr_count > MOST_VGPRS ||
      wave->lds_bytes > 255 * chip->lds_block)
    return false;
  shape->vgprs = round_up(wave->vgpr_count ? wave->vgpr_count : 1, ACCUM_BLOCK);
  const uint32_t rows = round_up(shape->vgprs + wave->agpr_count, VGPR_BLOCK);
  shape->agprs = rows - shape->vgprs;
  shape->lds_bytes = round_up(wave->lds_bytes, chip->lds_block);
  shape->state = (uint32_t)FORMAT_STATE | (rows / VGPR_BLOCK - 1) | SGPR_BLOCKS |
                 (shape->lds_bytes / chip->lds_block) << LDS_SHIFT |
                 (shape->vgprs / ACCUM_BLOCK - 1) << ACCUM_SHIFT;
  return rows <= MOST_ROWS;
}

static uint32_t record_bytes(const save_shape_t *shape, bool first)
{
  return FORMAT_ROW * (shape->vgprs + shape->agprs) +
         4 * (FORMAT_SGPRS + FORMAT_HWREGS + FORMAT_TTMPS) + (first ? shape->lds_bytes : 0) +
         FORMAT_GAP;
}

uint64_t save_wave_bytes(const save_shape_t *shape, bool first)
{
  return record_bytes(shape, first) + DISPLACED + 2 * sizeof(uint32_t);
}

/* The waves of this area, one after the other. */
typedef struct cursor {
  size_t index;
  const core_wave_t *wave;
  save_shape_t shape;
  bool first, last;
} cursor_t;

static bool is_here(const save_input_t *input, size_t i)
{
  return input->chosen[i] && input->waves[i].queue == input->queue &&
         input->waves[i].xcc == input->xcc;
}

/* From `index` on. Work-groups are chosen whole: neighbours tell where one begins and ends. */
static bool next_wave(const save_input_t *input, cursor_t *cursor)
{
  const core_wave_t *waves = input->waves;
  size_t i = cursor->index;
  while (i < input->wave_count && !is_here(input, i))
    ++i;
  if (i == input->wave_count)
    return false;
  cursor->index = i + 1;
  cursor->wave = &waves[i];
  cursor->first = i == 0 || !save_same_group(&waves[i - 1], &waves[i]);
  cursor->last = i + 1 == input->wave_count || !save_same_group(&waves[i], &waves[i + 1]);
  save_shape_t shape;
  (void)save_shape_of(input->chip, cursor->wave, &shape);
  if (!cursor->first) { /* LDS is its first wave's, and the state's word says so for all */
    shape.lds_bytes = cursor->shape.lds_bytes;
    shape.state = (shape.state & ~(255u << LDS_SHIFT)) | (cursor->shape.state & 255u << LDS_SHIFT);
  }
  cursor->shape = shape;
  return true;
}

/* What the header says of the area. */
static bool measure(const save_input_t *input, core_format_save_t *header, uint64_t *bytes)
{
  uint64_t stack = 0, waves = 0, count = 0;
  uint32_t state = 0;
  for (cursor_t cursor = {0}; next_wave(input, &cursor); ++count) {
    stack += cursor.shape.state != state ? 8u : 4u;
    state = cursor.shape.state;
    waves += record_bytes(&cursor.shape, cursor.first);
  }
  stack += count ? 4 * FORMAT_STACK_HEAD : 0;
  const uint64_t end = HEADER + stack + waves, debug = (end + 63) & ~(uint64_t)63;
  *bytes = debug + (count * DISPLACED + 63) / 64 * 64;
  *header = (core_format_save_t){.stack_offset = HEADER,
                                 .stack_bytes = (uint32_t)stack,
                                 .waves_end = (uint32_t)end,
                                 .waves_bytes = (uint32_t)waves,
                                 .debug_offset = (uint32_t)debug,
                                 .debug_bytes = (uint32_t)(*bytes - debug)};
  return *bytes <= INT32_MAX;
}

uint64_t save_area_bytes(const save_input_t *input)
{
  core_format_save_t header;
  uint64_t bytes;
  return measure(input, &header, &bytes) ? bytes : 0;
}

static void put_64(uint32_t *words, uint64_t value)
{
  memcpy(words, &value, sizeof(value));
}

static uint64_t told_pc(const save_input_t *input, const core_wave_t *wave)
{
  return wave->pc + (wave->stop == CORE_STOP_TRAP && input->abi < FORMAT_AT_TRAP_ABI ? 4 : 0);
}

/* HWREGs, then TTMPs. */
static void write_special(const save_input_t *input, const cursor_t *cursor,
                          uint32_t words[FORMAT_HWREGS + FORMAT_TTMPS])
{
  const core_wave_t *wave = cursor->wave;
  uint32_t *hwregs = words, *ttmps = words + FORMAT_HWREGS;
  const bool stopped = wave->stop != CORE_STOP_NONE, parks = input->chip->parks;
  const uint64_t pc = told_pc(input, wave);
  const uint32_t packet = (uint32_t)(wave->packet % input->packets);
  const uint32_t trap = wave->stop == CORE_STOP_TRAP ? wave->trap & 15 : stops[wave->stop].trap;
  const bool vcc = wave->sgprs[106] || wave->sgprs[107];
  hwregs[HWREG_M0] = wave->m0;
  put_64(&hwregs[HWREG_PC], pc);
  put_64(&hwregs[HWREG_EXEC], wave->exec);
  hwregs[HWREG_STATUS] = STATUS_VALID | STATUS_TRAP_EN | (wave->scc ? STATUS_SCC : 0) |
                         (wave->exec ? 0 : STATUS_EXECZ) | (vcc ? 0 : STATUS_VCCZ) |
                         (stopped ? STATUS_HALT : 0) | (stopped && parks ? STATUS_SKIP_EXPORT : 0);
  hwregs[HWREG_TRAPSTS] = stops[wave->stop].trapsts;
  hwregs[HWREG_MODE] = wave->mode;
  ttmps[6] = (stopped ? TTMP6_STOPPED : 0) | trap << TTMP6_TRAP_SHIFT;
  for (unsigned i = 0; i < 3; ++i)
    ttmps[8 + i] = wave->group[i];
  ttmps[11] = wave->index & 63;
  if (!parks) {
    ttmps[11] |= (uint32_t)TTMP11_VALID | packet << 6;
    return;
  }
  ttmps[6] |= packet;
  if (stopped) {
    ttmps[7] = (uint32_t)pc;
    ttmps[11] |= (uint32_t)(pc >> 32 & 0xffff) << 7;
  }
}

static void write_sgprs(const save_input_t *input, const core_wave_t *wave, uint32_t *words)
{
  uint32_t slot;
  memcpy(words, wave->sgprs, CORE_SGPRS * sizeof(*words));
  if (!input->chip->parks && find_slot(input, wave, &slot)) /* set up by the hardware there */
    put_64(&words[102], input->scratch.base + slot * input->scratch.slice_bytes);
}

static void write_record(const save_input_t *input, const cursor_t *cursor, unsigned char *at)
{
  const core_wave_t *wave = cursor->wave;
  uint32_t words[FORMAT_SGPRS + FORMAT_HWREGS + FORMAT_TTMPS] = {0};
  if (wave->vgpr_count)
    memcpy(at, wave->vgprs, (size_t)FORMAT_ROW * wave->vgpr_count);
  at += (size_t)FORMAT_ROW * cursor->shape.vgprs;
  if (wave->agpr_count)
    memcpy(at, wave->agprs, (size_t)FORMAT_ROW * wave->agpr_count);
  at += (size_t)FORMAT_ROW * cursor->shape.agprs;
  write_sgprs(input, wave, words);
  write_special(input, cursor, words + FORMAT_SGPRS);
  memcpy(at, words, sizeof(words));
  if (cursor->first && wave->lds_bytes)
    memcpy(at + sizeof(words), wave->lds, wave->lds_bytes);
}

static uint32_t wave_word(const save_input_t *input, const cursor_t *cursor)
{
  uint32_t slot, word = (cursor->last ? FORMAT_LAST : 0) | (cursor->first ? FORMAT_FIRST : 0);
  if (find_slot(input, cursor->wave, &slot))
    word |= FORMAT_SCRATCH_ENABLED | slot % input->scratch.per_engine |
            slot / input->scratch.per_engine << FORMAT_ENGINE_SHIFT;
  return word;
}

void save_area_write(const save_input_t *input, unsigned char *area)
{
  /* PM4 that a debugger skips: what context switches begin with. */
  static const uint32_t head[FORMAT_STACK_HEAD] = {0xc0001000, 0xc0001000};
  core_format_save_t header;
  uint64_t bytes;
  if (!measure(input, &header, &bytes))
    return;
  memcpy(area, &header, sizeof(header));
  unsigned char *stack = area + header.stack_offset, *top = area + header.waves_end;
  if (header.stack_bytes)
    memcpy(stack, head, sizeof(head));
  stack += sizeof(head);
  uint32_t state = 0;
  for (cursor_t cursor = {0}; next_wave(input, &cursor);) {
    const uint32_t words[2] = {cursor.shape.state, wave_word(input, &cursor)};
    const bool same = cursor.shape.state == state;
    memcpy(stack, words + same, sizeof(words) - same * sizeof(*words));
    stack += sizeof(words) - same * sizeof(*words);
    state = cursor.shape.state;
    top -= record_bytes(&cursor.shape, cursor.first);
    write_record(input, &cursor, top);
  }
}
