#include "softgpu/debug/save.h"

#include <string.h>

enum {
  STACK_AT = SAVE_DEBUG_AT + SAVE_DEBUG_BYTES,
  SGPRS = 112, /* that are saved, of which the last 4 are none */
  KEPT_SGPRS = ISA_TTMP,
  HWREGS = 16,
  TTMPS = 16,
  SPECIAL = 4 * (SGPRS + HWREGS + TTMPS),
  GAP = 64, /* above every wave */
  KIB = 1024,
  SLOTS = 512, /* of an engine, that can be told */
};

enum { M0, PC, EXEC = 3, STATUS = 5, TRAPSTS, MODE = 9 }; /* hardware registers */

enum {
  STATUS_SCC = 1,
  STATUS_TRAP_EN = 1 << 6,
  STATUS_EXECZ = 1 << 9,
  STATUS_VCCZ = 1 << 10,
  STATUS_VALID = 1 << 16,
  STATUS_KEPT = SAVE_STATUS_HALT | SAVE_STATUS_SKIP_EXPORT,
};

typedef struct header {
  uint32_t stack_offset, stack_bytes, waves_end, waves_bytes, debug_offset, debug_bytes;
} header_t;

static uint32_t lds_block(const isa_launch_t *launch)
{
  return softgpu_lds_bytes(launch->dispatch.chip) / 128;
}

static uint32_t lds_bytes(const isa_launch_t *launch)
{
  const uint32_t block = lds_block(launch);
  return (isa_launch_lds(&launch->dispatch) + block - 1) / block * block;
}

static size_t record_bytes(const isa_launch_t *launch, bool first)
{
  return isa_launch_row(launch) * launch->limits.rows + SPECIAL + (first ? lds_bytes(launch) : 0) +
         GAP;
}

/* The control stack's word for waves of the launch: registers and LDS in blocks. */
static uint32_t state_word(const isa_launch_t *launch)
{
  return 1u << 31 | (launch->limits.rows / 8 - 1) | 7u << 6 |
         lds_bytes(launch) / lds_block(launch) << 9 | (launch->limits.first_agpr / 4 - 1) << 24;
}

static uint32_t wave_word(const isa_launch_t *launch, const isa_wave_t *wave, bool first, bool last)
{
  uint32_t word = (uint32_t)last << 16 | (uint32_t)first << 17;
  if (launch->slice_bytes) {
    const uint64_t slot = (wave->scratch - launch->dispatch.scratch_base) / launch->slice_bytes;
    if (slot < SLOTS * SAVE_ENGINES)
      word |= 1u << 15 | (uint32_t)slot; /* the engine's number is above the slot's */
  }
  return word;
}

uint32_t save_tmpring(const isa_launch_t *launch)
{
  return (uint32_t)(launch->slice_bytes / KIB) << 12 | SLOTS * SAVE_ENGINES;
}

void save_nothing(uint8_t *area)
{
  const header_t header = {STACK_AT, 0, STACK_AT, 0, SAVE_DEBUG_AT, SAVE_DEBUG_BYTES};
  memcpy(area, &header, sizeof header);
}

/* --- one wave after the other --- */

typedef struct cursor {
  const save_group_t *groups;
  size_t count;
  size_t at;      /* the wave's group */
  uint32_t index; /* of the wave behind */
  const isa_launch_t *launch;
  isa_wave_t *wave;
  save_wave_t *saved;
  bool first, last;
} cursor_t;

static uint32_t next_alive(const isa_group_t *group, uint32_t from)
{
  while (from < group->waves && group->wave[from].state == ISA_WAVE_ENDED)
    ++from;
  return from;
}

static bool next(cursor_t *cursor)
{
  for (; cursor->at < cursor->count; ++cursor->at, cursor->index = 0) {
    const save_group_t *in = &cursor->groups[cursor->at];
    isa_group_t *group = in->group;
    const uint32_t index = next_alive(group, cursor->index);
    if (index == group->waves)
      continue;
    cursor->launch = group->launch;
    cursor->wave = &group->wave[index];
    cursor->saved = save_wave_of(in, index);
    cursor->first = index == next_alive(group, 0);
    cursor->index = index + 1;
    cursor->last = next_alive(group, cursor->index) == group->waves;
    return true;
  }
  return false;
}

static void put_special(const cursor_t *cursor, uint32_t words[SGPRS + HWREGS + TTMPS])
{
  const isa_wave_t *wave = cursor->wave;
  const save_wave_t *saved = cursor->saved;
  const uint64_t exec = isa_exec(wave);
  uint32_t *hwregs = words + SGPRS;
  memset(words, 0, SPECIAL);
  memcpy(words, wave->s, KEPT_SGPRS * sizeof *words);
  hwregs[M0] = wave->s[ISA_M0];
  memcpy(&hwregs[PC], &wave->pc, sizeof wave->pc);
  memcpy(&hwregs[EXEC], &exec, sizeof exec);
  hwregs[STATUS] = STATUS_VALID | STATUS_TRAP_EN | (wave->scc ? STATUS_SCC : 0) |
                   (exec ? 0 : STATUS_EXECZ) | (isa_vcc(wave) ? 0 : STATUS_VCCZ) | saved->status;
  hwregs[TRAPSTS] = saved->trapsts;
  hwregs[MODE] = wave->mode;
  memcpy(hwregs + HWREGS, saved->ttmp, sizeof saved->ttmp);
}

static void get_special(const cursor_t *cursor, const uint32_t words[SGPRS + HWREGS + TTMPS])
{
  isa_wave_t *wave = cursor->wave;
  save_wave_t *saved = cursor->saved;
  const uint32_t *hwregs = words + SGPRS;
  uint64_t exec;
  memcpy(wave->s, words, KEPT_SGPRS * sizeof *words);
  wave->s[ISA_M0] = hwregs[M0];
  memcpy(&wave->pc, &hwregs[PC], sizeof wave->pc);
  memcpy(&exec, &hwregs[EXEC], sizeof exec);
  isa_set_exec(wave, exec);
  wave->scc = hwregs[STATUS] & STATUS_SCC;
  saved->status = hwregs[STATUS] & STATUS_KEPT;
  saved->trapsts = hwregs[TRAPSTS];
  wave->mode = hwregs[MODE];
  memcpy(saved->ttmp, hwregs + HWREGS, sizeof saved->ttmp);
  wave->next = NULL; /* which was the instruction at the PC of before */
}

static size_t row_bytes(const cursor_t *cursor)
{
  return isa_launch_row(cursor->launch) * cursor->launch->limits.rows;
}

/* --- all of them --- */

/* `stack`: its bytes. Returns those of the waves. */
static size_t measure(const save_group_t *groups, size_t count, uint32_t *stack)
{
  size_t waves = 0;
  *stack = 3 * 4;
  for (cursor_t cursor = {.groups = groups, .count = count}; next(&cursor); *stack += 4)
    waves += record_bytes(cursor.launch, cursor.first);
  return waves;
}

void save_store(uint8_t *area, const save_group_t *groups, size_t count)
{
  uint32_t words[SGPRS + HWREGS + TTMPS], stack_bytes;
  const size_t waves = measure(groups, count, &stack_bytes);
  if (!waves || waves > SAVE_AREA_BYTES - STACK_AT - stack_bytes) { /* more than any thread has */
    save_nothing(area);
    return;
  }
  const header_t header = {STACK_AT,        stack_bytes,   STACK_AT + stack_bytes + (uint32_t)waves,
                           (uint32_t)waves, SAVE_DEBUG_AT, SAVE_DEBUG_BYTES};
  memcpy(area, &header, sizeof header);
  /* PM4 that a debugger skips: what context switches begin with. */
  uint32_t *word = (uint32_t *)(void *)(area + STACK_AT);
  *word++ = 0xc0001000;
  *word++ = 0xc0001000;
  *word++ = state_word(groups->group->launch);
  uint8_t *top = area + header.waves_end;
  for (cursor_t cursor = {.groups = groups, .count = count}; next(&cursor);) {
    *word++ = wave_word(cursor.launch, cursor.wave, cursor.first, cursor.last);
    top -= record_bytes(cursor.launch, cursor.first);
    memcpy(top, cursor.wave->v, row_bytes(&cursor));
    put_special(&cursor, words);
    memcpy(top + row_bytes(&cursor), words, sizeof words);
    if (cursor.first)
      memcpy(top + row_bytes(&cursor) + SPECIAL, cursor.wave->lds, cursor.wave->lds_bytes);
  }
}

void save_load(const uint8_t *area, const save_group_t *groups, size_t count)
{
  uint32_t words[SGPRS + HWREGS + TTMPS], stack_bytes;
  const size_t waves = measure(groups, count, &stack_bytes);
  const uint8_t *top = area + STACK_AT + stack_bytes + waves;
  if (!waves || waves > SAVE_AREA_BYTES - STACK_AT - stack_bytes)
    return;
  for (cursor_t cursor = {.groups = groups, .count = count}; next(&cursor);) {
    top -= record_bytes(cursor.launch, cursor.first);
    memcpy(cursor.wave->v, top, row_bytes(&cursor));
    memcpy(words, top + row_bytes(&cursor), sizeof words);
    get_special(&cursor, words);
    if (cursor.first)
      memcpy(cursor.wave->lds, top + row_bytes(&cursor) + SPECIAL, cursor.wave->lds_bytes);
  }
}
