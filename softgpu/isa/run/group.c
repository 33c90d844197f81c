#include "softgpu/isa/run/group.h"

#include "softgpu/isa/memory/lds_load.h"
#include "softgpu/isa/memory/shadow.h"
#include "softgpu/isa/run/keep.h"

#include <string.h>

enum { ALIGNMENT = 256 };

static uint32_t wanted_turn, slice_length = ISA_SLICE;

void isa_group_set_turns(uint32_t turn, uint32_t slice)
{
  wanted_turn = turn;
  slice_length = slice ? slice : ISA_SLICE;
}

static uint32_t turn_of(const isa_group_t *group)
{
  const bool shares = group->waves > 1 && group->wave->lds_bytes;
  return wanted_turn ? wanted_turn : shares ? ISA_TURN : ISA_LONG_TURN;
}

static size_t aligned(size_t size)
{
  return (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
}

/* The parts of a group's memory, in their order. */
typedef struct parts {
  size_t header, waves, rows, lds, shadow;
} parts_t;

static parts_t parts_of(const isa_launch_t *launch)
{
  const uint32_t waves = launch->group_waves, lds = isa_launch_lds(&launch->dispatch);
  const uint32_t checks = launch->limits.reference ? 0 : launch->dispatch.checks; /* has none */
  return (parts_t){
      .header = aligned(sizeof(isa_group_t)),
      .waves = aligned(waves * sizeof(isa_wave_t)),
      .rows =
          aligned((size_t)waves * (launch->limits.rows + launch->id_rows) * isa_launch_row(launch)),
      .lds = aligned(lds + 1),
      .shadow = aligned(isa_shadow_size(checks, lds)),
  };
}

size_t isa_group_bytes(const isa_launch_t *launch)
{
  const parts_t parts = parts_of(launch);
  return parts.header + parts.waves + parts.rows + parts.lds + parts.shadow;
}

isa_group_t *isa_group_create(const isa_launch_t *launch, isa_program_t *program)
{
  const uint32_t rows = launch->limits.rows, waves = launch->group_waves;
  const parts_t parts = parts_of(launch);
  const size_t bytes = isa_group_bytes(launch);
  uint8_t *memory = isa_keep_take(bytes);
  if (!memory)
    return NULL;
  isa_group_t *group = (isa_group_t *)(void *)memory;
  memset(memory, 0, parts.header + parts.waves);
  group->bytes = bytes;
  group->launch = launch;
  group->program = program;
  group->capacity = waves;
  group->wave = (isa_wave_t *)(void *)(memory + parts.header);
  group->lds = memory + parts.header + parts.waves + parts.rows;
  group->shadow = parts.shadow ? (isa_shadow_t *)(void *)(group->lds + parts.lds) : NULL;
  uint8_t *at = memory + parts.header + parts.waves;
  const size_t row = isa_launch_row(launch);
  for (uint32_t i = 0; i < waves; ++i, at += rows * row) {
    isa_wave_t *wave = &group->wave[i];
    wave->lanes = launch->limits.lanes;
    wave->v = (isa_row_t *)(void *)at;
    wave->a =
        launch->limits.agprs ? (isa_row_t *)(void *)(at + launch->limits.first_agpr * row) : NULL;
  }
  group->ids = (uint32_t *)(void *)at;
  return group;
}

void isa_group_destroy(isa_group_t *group)
{
  for (uint32_t i = 0; i < group->capacity; ++i)
    isa_lds_loads_drop(&group->wave[i]);
  isa_keep_give(group, group->bytes);
}

static uint32_t *ids_of(const isa_group_t *group, uint32_t wave)
{
  const isa_launch_t *launch = group->launch;
  return group->ids + (size_t)wave * launch->id_rows * launch->limits.lanes;
}

/* Nearly all work-groups of a launch have the same size. */
static void know_ids(isa_group_t *group, const uint32_t size[3])
{
  const uint32_t *known = group->ids_size;
  if (known[0] == size[0] && known[1] == size[1] && known[2] == size[2])
    return;
  for (uint32_t i = 0; i < group->waves; ++i)
    isa_launch_ids(group->launch, size, i, ids_of(group, i));
  memcpy(group->ids_size, size, sizeof group->ids_size);
}

void isa_group_begin(isa_group_t *group, uint64_t number, uint64_t scratch_slot,
                     isa_thread_t *thread, softgpu_fault_t *fault)
{
  const isa_launch_t *launch = group->launch;
  const softgpu_dispatch_t *dispatch = &launch->dispatch;
  const uint32_t lds_bytes = isa_launch_lds(dispatch);
  uint32_t size[3];
  group->id[0] = (uint32_t)(number % launch->groups[0]);
  group->id[1] = (uint32_t)(number / launch->groups[0] % launch->groups[1]);
  group->id[2] = (uint32_t)(number / launch->groups[0] / launch->groups[1]);
  for (unsigned i = 0; i < 3; ++i) {
    uint64_t first = (uint64_t)group->id[i] * dispatch->workgroup[i];
    uint64_t left = dispatch->grid[i] - first;
    size[i] = left < dispatch->workgroup[i] ? (uint32_t)left : dispatch->workgroup[i];
  }
  group->waves = (size[0] * size[1] * size[2] - 1) / launch->limits.lanes + 1;
  group->ended = 0;
  know_ids(group, size);
  isa_poison(group->lds, lds_bytes / 4); /* so that reads of what was not written show */
  if (group->shadow) {
    memset(group->shadow, 0, isa_shadow_size(dispatch->checks, lds_bytes));
    group->shadow->epoch = 1;
  }
  for (uint32_t i = 0; i < group->waves; ++i) {
    isa_wave_t *wave = &group->wave[i];
    wave->index = i;
    wave->vmem_issued = wave->vmem_awaited = wave->vmem_old = 0;
    wave->hw_id = isa_placement_hw_id(dispatch->chip, &group->place, i);
    wave->xcc_id = isa_placement_xcc_id(dispatch->chip, &group->place);
    wave->entry = launch->entry;
    wave->next = NULL;
    wave->shadow = group->shadow;
    wave->thread = thread;
    wave->fault = fault;
    wave->lds = group->lds;
    wave->lds_bytes = lds_bytes;
    wave->scratch =
        dispatch->scratch_base + (scratch_slot * launch->group_waves + i) * launch->slice_bytes;
    isa_launch_wave(launch, group->id, size, wave);
    memcpy(wave->v, ids_of(group, i), launch->id_rows * isa_launch_row(launch));
  }
}

/* --- running --- */

/* A load into LDS that no wave waits for lands some time, too: a wave may look for what it brings.
 * It does at the end of the next slice, later than anything else takes effect. */
static bool land_old(isa_group_t *group)
{
  for (uint32_t i = 0; i < group->waves; ++i) {
    isa_wave_t *wave = &group->wave[i];
    if (!isa_lds_loads_land(wave, wave->vmem_old)) {
      isa_fault_describe(wave->fault, group, wave);
      return false;
    }
    wave->vmem_old = wave->vmem_issued;
  }
  return true;
}

/* True when all waves that have not ended wait at the barrier, and now go on. */
static bool release_barrier(isa_group_t *group)
{
  for (uint32_t i = 0; i < group->waves; ++i)
    if (group->wave[i].state == ISA_WAVE_READY)
      return false;
  for (uint32_t i = 0; i < group->waves; ++i)
    if (group->wave[i].state == ISA_WAVE_AT_BARRIER)
      group->wave[i].state = ISA_WAVE_READY;
  if (group->shadow)
    ++group->shadow->epoch;
  return true;
}

#define NAME isa_group_run
#define RUN  isa_wave_run
#define PARAMETER
#include "softgpu/isa/run/turns.inc"

#define NAME      isa_group_run_supervised
#define RUN       run
#define PARAMETER , isa_wave_run_t *run
#include "softgpu/isa/run/turns.inc"
