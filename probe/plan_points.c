#include "probe/plan.h"

#include "base/error.h"

#include <string.h>

enum { COUNTERS_MOST = (EMIT_MOST_OFFSET - 4096) / 8 }; /* their offsets, and those of waves */

static bool wants(const rawhal_probe_plan_t *plan, uint32_t kind)
{
  return plan->info.kinds & kind;
}

static rawhal_status_t add(rawhal_probe_plan_t *plan, const rawhal_probe_point_t *point,
                           rawhal_error_t *error)
{
  if (plan->info.point_count == plan->point_room) {
    const size_t room = plan->point_room ? plan->point_room * 2 : 64;
    rawhal_probe_point_t *more = allocate_more(
        plan->allocator, plan->points, plan->point_room * sizeof(*more), room * sizeof(*more));
    if (!more)
      return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for the points of a plan");
    plan->points = more;
    plan->point_room = room;
  }
  plan->points[plan->info.point_count++] = *point;
  plan->stubs.has_lanes |= point->lane_bytes != 0;
  return RAWHAL_OK;
}

/* One that names no registers. */
static rawhal_probe_point_t point_at(const walk_instruction_t *instruction)
{
  return (rawhal_probe_point_t){.offset = instruction->at * 4,
                                .scalar = CODE_NONE,
                                .soffset = CODE_NONE,
                                .vector = CODE_NONE};
}

/* ---- Counters ---- */

static rawhal_status_t add_counter(rawhal_probe_plan_t *plan, rawhal_probe_point_t point,
                                   rawhal_error_t *error)
{
  if (plan->info.counters == COUNTERS_MOST)
    return rawhal_fail(error, RAWHAL_CAP_EXCEEDED, "it has more than %d places to count",
                       COUNTERS_MOST);
  point.counter = plan->info.counters++;
  return add(plan, &point, error);
}

/* A block goes to the next head, or to what is not reached. */
static rawhal_status_t add_block(rawhal_probe_plan_t *plan, uint32_t number, rawhal_error_t *error)
{
  const walk_t *walk = &plan->walk;
  const walk_instruction_t *first = &walk->instructions[number];
  uint32_t last = number;
  while (last + 1 < walk->count && !walk->instructions[last + 1].is_head)
    ++last;
  const walk_instruction_t *end = &walk->instructions[last];
  rawhal_probe_point_t point = point_at(first);
  point.action = RAWHAL_PROBE_COUNT;
  point.block_bytes = (end->at + end->dwords - first->at) * 4;
  point.instructions = last - number + 1;
  rawhal_status_t status = add_counter(plan, point, error);
  if (status != RAWHAL_OK || !wants(plan, RAWHAL_PROBE_EXEC))
    return status;
  point.action = RAWHAL_PROBE_ACTIVE;
  point.block_bytes = point.instructions = 0;
  return add_counter(plan, point, error);
}

/* ---- Events ---- */

static rawhal_status_t add_access(rawhal_probe_plan_t *plan, const walk_instruction_t *instruction,
                                  rawhal_error_t *error)
{
  const code_t code = walk_code(&plan->walk, instruction);
  code_access_t access;
  code_access(&code, &access);
  if (!access.bytes)
    return RAWHAL_OK;
  if (access.lane_bytes && access.vector + access.lane_bytes / 4u > CODE_SET_END)
    return rawhal_fail_at(error, RAWHAL_UNSUPPORTED,
                          plan->walk.offset + instruction->at * UINT64_C(4),
                          "half of the address of an access would be behind v%u, the last that "
                          "there is",
                          CODE_SET_END - 1);
  const rawhal_probe_point_t point = {.offset = instruction->at * 4,
                                      .action = RAWHAL_PROBE_ACCESS,
                                      .source = access.source,
                                      .flags = access.flags,
                                      .bytes = access.bytes,
                                      .immediate = {access.immediate[0], access.immediate[1]},
                                      .scalar = access.scalar,
                                      .soffset = access.soffset,
                                      .vector = access.lane_bytes ? access.vector : CODE_NONE,
                                      .lane_bytes = access.lane_bytes};
  return add(plan, &point, error);
}

static rawhal_status_t add_values(rawhal_probe_plan_t *plan, const rawhal_probe_spec_t *spec,
                                  uint32_t offset, rawhal_error_t *error)
{
  rawhal_status_t status = RAWHAL_OK;
  for (size_t i = 0; i < spec->value_count && status == RAWHAL_OK; ++i) {
    const rawhal_probe_value_t *value = &spec->values[i];
    if (value->offset != offset)
      continue;
    const uint8_t number = (uint8_t)value->number;
    const rawhal_probe_point_t point = {.offset = offset,
                                        .action = RAWHAL_PROBE_VALUE,
                                        .source = value->is_vector ? RAWHAL_PROBE_VGPR
                                                                   : RAWHAL_PROBE_SGPR,
                                        .bytes = 4,
                                        .scalar = value->is_vector ? (uint8_t)CODE_NONE : number,
                                        .soffset = CODE_NONE,
                                        .vector = value->is_vector ? number : (uint8_t)CODE_NONE,
                                        .lane_bytes = value->is_vector ? 4 : 0};
    status = add(plan, &point, error);
  }
  return status;
}

static rawhal_status_t check_values(const rawhal_probe_plan_t *plan,
                                    const rawhal_probe_spec_t *spec, rawhal_error_t *error)
{
  const rawhal_descriptor_t *d = plan->info.kernel->descriptor;
  for (size_t i = 0; i < spec->value_count; ++i) {
    const rawhal_probe_value_t *value = &spec->values[i];
    const uint32_t sgprs = d->sgpr_count < CODE_SGPRS ? d->sgpr_count : CODE_SGPRS,
                   vgprs = d->accum_offset < d->vgpr_count ? d->accum_offset : d->vgpr_count,
                   most = value->is_vector ? vgprs : sgprs;
    if (value->offset % 4 || walk_find(&plan->walk, value->offset / 4) == plan->walk.count)
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "value %zu: at +0x%x there is no instruction of the kernel's", i,
                         value->offset);
    if (value->number >= most)
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "value %zu: %c%u, of %u that waves have",
                         i, value->is_vector ? 'v' : 's', value->number, most);
  }
  return RAWHAL_OK;
}

/* ---- All of them ---- */

static rawhal_status_t add_of(rawhal_probe_plan_t *plan, const rawhal_probe_spec_t *spec,
                              uint32_t number, rawhal_error_t *error)
{
  const walk_instruction_t *instruction = &plan->walk.instructions[number];
  rawhal_probe_point_t point = point_at(instruction);
  rawhal_status_t status = RAWHAL_OK;
  if (instruction->is_head && wants(plan, RAWHAL_PROBE_BLOCKS))
    status = add_block(plan, number, error);
  if (status == RAWHAL_OK && wants(plan, RAWHAL_PROBE_MEMORY))
    status = add_access(plan, instruction, error);
  if (status == RAWHAL_OK && wants(plan, RAWHAL_PROBE_VALUES))
    status = add_values(plan, spec, point.offset, error);
  if (status == RAWHAL_OK && wants(plan, RAWHAL_PROBE_BARRIERS)) {
    const code_t code = walk_code(&plan->walk, instruction);
    point.action = RAWHAL_PROBE_ARRIVE;
    if (code_is_barrier(&code))
      status = add(plan, &point, error);
  }
  if (status == RAWHAL_OK && instruction->flow == CODE_BRANCHES &&
      wants(plan, RAWHAL_PROBE_EDGES)) {
    point.action = RAWHAL_PROBE_PASSED;
    point.target = plan->walk.instructions[instruction->target].at * 4;
    status = add_counter(plan, point, error);
  }
  return status;
}

rawhal_status_t plan_points(rawhal_probe_plan_t *plan, const rawhal_probe_spec_t *spec,
                            rawhal_error_t *error)
{
  rawhal_status_t status = check_values(plan, spec, error);
  for (uint32_t i = 0; i < plan->walk.count && status == RAWHAL_OK; ++i)
    status = add_of(plan, spec, i, error);
  if (status != RAWHAL_OK)
    return status;
  plan->info.points = plan->points;
  if (plan->info.kinds & STUB_EVENTS)
    plan->info.event_bytes = (uint32_t)sizeof(rawhal_probe_event_t) +
                             (plan->stubs.has_lanes ? RAWHAL_PROBE_LANES_BYTES : 0);
  plan->stubs.event_bytes = plan->info.event_bytes;
  plan->stubs.waves_offset =
      ((uint32_t)sizeof(rawhal_probe_header_t) + plan->info.counters * 8 + 63) & ~UINT32_C(63);
  return RAWHAL_OK;
}
