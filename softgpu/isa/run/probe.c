#include "softgpu/isa/run/probe.h"

#include <stdlib.h>
#include <string.h>

#include "softgpu/device/clock.h"
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/run/width.h"

/* --- its memory --- */

static uint64_t counters_end(const isa_probe_t *probe)
{
  const uint64_t end = sizeof(rawhal_probe_header_t) + 8ull * probe->counters;
  return (end + 63) & ~63ull;
}

/* Both parts, as the dispatch's device may write to them; NULL: it may not. Events can be none. */
static uint8_t *reach_buffer(const isa_probe_t *probe)
{
  const bool has_waves = probe->kinds & RAWHAL_PROBE_WAVES;
  const uint64_t waves = has_waves ? probe->argument.wave_capacity : 0;
  return softgpu_memory_reach(probe->node, probe->argument.buffer,
                              counters_end(probe) + waves * sizeof(rawhal_probe_wave_t), true);
}

static uint8_t *reach_events(const isa_probe_t *probe)
{
  const uint64_t bytes = (uint64_t)probe->argument.event_capacity * probe->event_bytes;
  return bytes ? softgpu_memory_reach(probe->node, probe->argument.events, bytes, true) : NULL;
}

/* Before the dispatch runs. */
static void find_memory(isa_probe_t *probe)
{
  if (probe->is_host) {
    probe->buffer = (uint8_t *)(uintptr_t)probe->argument.buffer;
    probe->events = (uint8_t *)(uintptr_t)probe->argument.events;
    probe->generation = softgpu_memory_generation();
    return;
  }
  const bool has_events = probe->argument.event_capacity && probe->event_bytes;
  probe->generation = softgpu_memory_generation(); /* before it is looked for */
  probe->buffer = reach_buffer(probe);
  probe->events = reach_events(probe);
  probe->is_gone = !probe->buffer || (has_events && !probe->events) ||
                   ((uintptr_t)probe->buffer | (uintptr_t)probe->events) % sizeof(uint64_t);
  if (probe->is_gone)
    probe->generation = UINT64_MAX; /* which it never is */
}

/* The slow way: memory was freed meanwhile. What is not there any more does not come back. */
static bool is_still_there(isa_probe_t *probe, uint64_t generation)
{
  if (__atomic_load_n(&probe->is_gone, __ATOMIC_RELAXED))
    return false;
  if (!probe->is_host &&
      (reach_buffer(probe) != probe->buffer || reach_events(probe) != probe->events)) {
    __atomic_store_n(&probe->is_gone, true, __ATOMIC_RELAXED);
    return false;
  }
  __atomic_store_n(&probe->generation, generation, __ATOMIC_RELAXED);
  return true;
}

static inline bool is_there(isa_probe_t *probe)
{
  const uint64_t generation = softgpu_memory_generation();
  return __builtin_expect(__atomic_load_n(&probe->generation, __ATOMIC_RELAXED) == generation, 1) ||
         is_still_there(probe, generation);
}

/* --- records --- */

static uint32_t take_number(uint8_t *count)
{
  return __atomic_fetch_add((uint32_t *)(void *)count, 1, __ATOMIC_RELAXED);
}

static inline void add(const isa_probe_t *probe, uint32_t counter, uint64_t amount)
{
  uint64_t *counters = (uint64_t *)(void *)(probe->buffer + sizeof(rawhal_probe_header_t));
  __atomic_fetch_add(&counters[counter], amount, __ATOMIC_RELAXED);
}

static uint8_t *wave_record(const isa_probe_t *probe, uint32_t number)
{
  return number < probe->argument.wave_capacity
             ? probe->buffer + counters_end(probe) + (uint64_t)number * sizeof(rawhal_probe_wave_t)
             : NULL;
}

static void begin_wave(const isa_probe_t *probe, isa_wave_t *wave)
{
  const uint32_t number = take_number(probe->buffer + offsetof(rawhal_probe_header_t, waves));
  uint8_t *at = wave_record(probe, number);
  wave->recorded = number + 1;
  if (!at)
    return;
  rawhal_probe_wave_t record = {.start = softgpu_wave_ticks(),
                                .hw_id = wave->hw_id,
                                .xcc_id = wave->xcc_id,
                                .first_item = *isa_row(wave, wave->v, 0)};
  for (unsigned i = 0; i < 3; ++i)
    record.workgroup[i] = probe->group_sgpr[i] < 0 ? 0 : wave->s[probe->group_sgpr[i]];
  memcpy(at, &record, offsetof(rawhal_probe_wave_t, end));
}

static void end_wave(const isa_probe_t *probe, isa_wave_t *wave)
{
  const uint64_t end = softgpu_wave_ticks();
  uint8_t *at = wave->recorded ? wave_record(probe, wave->recorded - 1) : NULL;
  if (at)
    memcpy(at + offsetof(rawhal_probe_wave_t, end), &end, sizeof end);
  wave->recorded = 0;
}

/* A scalar source by its encoding. */
static uint32_t scalar(const isa_wave_t *wave, unsigned code)
{
  const isa_operand_t constant = {.kind = ISA_OPERAND_INLINE, .index = (uint16_t)code};
  if (code < ISA_SGPRS)
    return wave->s[code];
  const bool is_constant =
      code <= ISA_CODE_LAST_INTEGER || (code >= ISA_CODE_FLOATS && code <= ISA_CODE_LAST_FLOAT);
  return is_constant ? (uint32_t)isa_width_of(wave)->reference.scalar(wave, &constant, 1, 32) : 0;
}

static void put_scalars(const isa_wave_t *wave, const rawhal_probe_point_t *point,
                        uint32_t scalars[4])
{
  const bool has_sgpr = point->scalar != ISA_PROBE_NO_SGPR;
  const uint32_t *s = has_sgpr ? &wave->s[point->scalar] : NULL;
  const uint64_t now = point->action == RAWHAL_PROBE_ARRIVE ? softgpu_wave_ticks() : 0;
  switch (point->source) {
  case RAWHAL_PROBE_NONE:
    memcpy(scalars, &now, sizeof now);
    break;
  case RAWHAL_PROBE_GLOBAL:
    if (has_sgpr)
      memcpy(scalars, s, 2 * sizeof *s);
    break;
  case RAWHAL_PROBE_BUFFER:
    if (has_sgpr)
      memcpy(scalars, s, 3 * sizeof *s);
    scalars[3] = scalar(wave, point->soffset);
    break;
  case RAWHAL_PROBE_SGPR:
    if (has_sgpr)
      scalars[0] = *s;
    break;
  default:
    break;
  }
}

/* Active lanes, low and high halves of each. */
static void put_lanes(uint64_t *to, uint64_t exec, unsigned lanes, const uint32_t *low,
                      const uint32_t *high)
{
  if (exec == isa_all_lanes(lanes)) {
    for (unsigned lane = 0; lane < lanes; ++lane)
      to[lane] = low[lane] | (uint64_t)high[lane] << 32;
    return;
  }
  ISA_EACH_LANE(lane, exec)
    to[lane] = low[lane] | (uint64_t)high[lane] << 32;
}

static void put_event(const isa_probe_t *probe, const isa_wave_t *wave,
                      const rawhal_probe_point_t *point)
{
  static const uint32_t zeros[ISA_LANES_MOST];
  const uint32_t number = take_number(probe->buffer + offsetof(rawhal_probe_header_t, events));
  if (number >= probe->argument.event_capacity)
    return;
  uint8_t *at = probe->events + (uint64_t)number * probe->event_bytes;
  rawhal_probe_event_t event = {
      .exec = isa_exec(wave), .offset = point->offset, .wave = wave->recorded - 1};
  put_scalars(wave, point, event.scalar);
  memcpy(at, &event, sizeof event);
  const unsigned rows = point->lane_bytes / 4u;
  if (rows && point->vector + rows <= wave->vgprs) {
    const uint32_t *low = isa_row(wave, wave->v, point->vector);
    put_lanes((uint64_t *)(void *)(at + sizeof event), event.exec, wave->lanes, low,
              rows == 2 ? low + wave->lanes : zeros);
  }
}

static void do_point(const isa_probe_t *probe, isa_wave_t *wave, const isa_inst_t *inst,
                     const rawhal_probe_point_t *point)
{
  switch (point->action) {
  case RAWHAL_PROBE_COUNT:
    add(probe, point->counter, 1);
    break;
  case RAWHAL_PROBE_PASSED: /* it changes nothing of what it looks at */
    if (!isa_width_of(wave)->reference.takes(wave, inst))
      add(probe, point->counter, 1);
    break;
  case RAWHAL_PROBE_ACTIVE:
    add(probe, point->counter, (uint64_t)__builtin_popcountll(isa_exec(wave)));
    break;
  default:
    put_event(probe, wave, point);
    break;
  }
}

/* --- instructions --- */

static void record(isa_wave_t *wave, const isa_inst_t *inst, bool is_skipped)
{
  const isa_probed_t *probed = inst->probed;
  isa_probe_t *probe = probed->probe;
  if (wave->gws_waits || !is_there(probe)) /* that comes once more, and was recorded */
    return;
  if (probed->begins && !wave->recorded)
    begin_wave(probe, wave);
  for (uint32_t i = 0; i < probed->count; ++i) {
    const rawhal_probe_point_t *point = &probe->points[probed->first + i];
    if (!is_skipped || point->action != RAWHAL_PROBE_ACCESS)
      do_point(probe, wave, inst, point);
  }
  if (probed->ends)
    end_wave(probe, wave);
}

void isa_probe_skipped(isa_wave_t *wave, const isa_inst_t *inst)
{
  record(wave, inst, true);
}

static bool run_probed(isa_wave_t *wave, const isa_inst_t *inst)
{
  record(wave, inst, false);
  return inst->probed->run(wave, inst);
}

static bool run_probed_on(isa_wave_t *wave, const isa_inst_t *inst)
{
  record(wave, inst, false);
  return inst->probed->run_on(wave, inst);
}

/* The same where all there is to do is to count a block, as it mostly is. */
static inline void count_block(const isa_inst_t *inst)
{
  isa_probe_t *probe = inst->probed->probe;
  if (is_there(probe))
    add(probe, probe->points[inst->probed->first].counter, 1);
}

static bool run_counted(isa_wave_t *wave, const isa_inst_t *inst)
{
  count_block(inst);
  return inst->probed->run(wave, inst);
}

static bool run_counted_on(isa_wave_t *wave, const isa_inst_t *inst)
{
  count_block(inst);
  return inst->probed->run_on(wave, inst);
}

static bool ends_wave(const isa_inst_t *inst)
{
  return inst->op == ISA_s_endpgm || inst->op == ISA_s_endpgm_saved;
}

/* The first point that is not before `offset`. */
static uint32_t point_at(const isa_probe_t *probe, uint64_t offset)
{
  uint32_t low = 0, count = (uint32_t)probe->count;
  while (low < count) {
    const uint32_t middle = low + (count - low) / 2;
    if (probe->points[middle].offset < offset)
      low = middle + 1;
    else
      count = middle;
  }
  return low;
}

void isa_probe_attach(isa_probe_t *probe, uint64_t base, isa_inst_t *inst, uint32_t count,
                      isa_probed_t *probed)
{
  const bool has_waves = probe->kinds & RAWHAL_PROBE_WAVES;
  for (uint32_t i = 0; i < count; ++i, ++inst) {
    const uint64_t at = base + 4ull * inst->slot, offset = at - probe->first;
    const uint32_t first = point_at(probe, offset);
    uint32_t end = first;
    while (end < probe->count && probe->points[end].offset == offset)
      ++end;
    *probed = (isa_probed_t){probe,
                             inst->run,
                             inst->run_on,
                             first,
                             end - first,
                             has_waves && at == probe->entry,
                             has_waves && ends_wave(inst)};
    if (first == end && !probed->begins && !probed->ends)
      continue;
    const bool is_sync = inst->row && inst->row->flags & ISA_F_GWS;
    const bool is_count = end - first == 1 && probe->points[first].action == RAWHAL_PROBE_COUNT &&
                          !probed->begins && !probed->ends && !is_sync;
    inst->probed = probed++;
    isa_runs_before(inst, is_count ? run_counted : run_probed,
                    is_count ? run_counted_on : run_probed_on);
  }
}

/* --- dispatches --- */

/* Of the kernel, from its descriptor: where its arguments are preloaded, waves begin behind it. */
static bool first_byte(const isa_launch_t *launch, uint64_t *first)
{
  enum { ENTRY_OFFSET = 16 };
  const uint64_t object = launch->dispatch.kernel_object;
  const uint8_t *at = softgpu_memory_reach(launch->limits.node, object, 64, false);
  int64_t offset;
  if (!at)
    return false;
  memcpy(&offset, at + ENTRY_OFFSET, sizeof offset);
  *first = object + (uint64_t)offset;
  return true;
}

isa_program_t *isa_probe_open(const isa_launch_t *launch)
{
  isa_probe_t *probe =
      launch->dispatch.probe ? launch->dispatch.probe : isa_probe_take(&launch->dispatch);
  if (probe && !first_byte(launch, &probe->first)) {
    free(probe);
    probe = NULL;
  }
  if (!probe)
    return isa_program_open(&launch->limits);
  probe->entry = launch->entry;
  probe->node = launch->limits.node;
  memcpy(probe->group_sgpr, launch->group_sgpr, sizeof probe->group_sgpr);
  find_memory(probe);
  return isa_program_open_probed(&launch->limits, probe);
}

bool isa_probe_is_same(const isa_probe_t *a, const isa_probe_t *b)
{
  return a->first == b->first && a->entry == b->entry && a->count == b->count &&
         !((a->kinds ^ b->kinds) & RAWHAL_PROBE_WAVES) &&
         memcmp(a->points, b->points, a->count * sizeof *a->points) == 0;
}
