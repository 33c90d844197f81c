/* Queues and the waves that they run. */
#include <elf.h>

#include "base/error.h"
#include "debug/core/plan.h"
#include "debug/core/save_area.h"

enum { PAGE = 4096 };

/* ---- amd_queue_t ---- */

static const core_agent_t *agent_of(const plan_t *plan, const core_queue_t *queue)
{
  return &plan->from->agents[queue->agent];
}

static void put(unsigned char *bytes, size_t at, const void *value, size_t size)
{
  memcpy(bytes + at, value, size);
}

/* Its own bytes, but for how the scratch is told: slots are as many as can be. */
static void write_queue(const plan_t *plan, const core_queue_t *queue, unsigned char *bytes)
{
  const core_agent_t *agent = agent_of(plan, queue);
  const core_chip_t *chip = core_chip_of(agent->gfx_target_version);
  memcpy(bytes, queue->bytes, CORE_QUEUE_BYTES);
  if (!chip)
    return;
  const save_scratch_t scratch = save_scratch_of(chip, agent, queue);
  const uint32_t tmpring = save_tmpring(&scratch);
  const uint64_t all = scratch.slice_bytes * scratch.slots;
  put(bytes, FORMAT_TMPRING, &tmpring, sizeof(tmpring));
  put(bytes, FORMAT_SCRATCH_BASE, &scratch.base, sizeof(scratch.base));
  put(bytes, FORMAT_SCRATCH_BYTES, &all, sizeof(all));
}

static void refuse(plan_t *plan, size_t index, uint32_t reason)
{
  plan_leave_out(plan, plan->from->queues[index].address, 0, CORE_QUEUE, reason);
}

rawhal_status_t plan_queues(plan_t *plan, rawhal_error_t *error)
{
  for (size_t i = 0; i < plan->from->queue_count; ++i) {
    const core_queue_t *queue = &plan->from->queues[i];
    unsigned char *bytes = plan_take(&plan->arena, 1, CORE_QUEUE_BYTES);
    const core_range_t range = {queue->address, CORE_QUEUE_BYTES, bytes, PF_R | PF_W};
    plan->queues[i] = (core_format_queue_t){0};
    if (!bytes)
      return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "the scratch is too small for queue %zu", i);
    write_queue(plan, queue, bytes);
    if (plan->refused[i]) {
      refuse(plan, i, CORE_REASON_MISTAKE + plan->refused[i]);
      continue;
    }
    if (!plan_add(plan, &range, false)) {
      refuse(plan, i, CORE_REASON_BUDGET);
      continue;
    }
    plan->queues[i] = (core_format_queue_t){.ring = queue->ring,
                                            .write_pointer = queue->address + FORMAT_WRITE_ID,
                                            .read_pointer = queue->address + FORMAT_READ_ID,
                                            .id = queue->id,
                                            .gpu_id = agent_of(plan, queue)->gpu_id,
                                            .ring_bytes = queue->ring_bytes,
                                            .type = FORMAT_QUEUE_AQL};
  }
  return RAWHAL_OK;
}

/* ---- Waves ---- */

static bool is_in_file(const plan_t *plan, size_t queue)
{
  return plan->queues[queue].type != 0;
}

static save_input_t input_of(const plan_t *plan, uint32_t queue, uint32_t xcc)
{
  const core_queue_t *from = &plan->from->queues[queue];
  const core_agent_t *agent = agent_of(plan, from);
  save_input_t input = {.chip = core_chip_of(agent->gfx_target_version),
                        .waves = plan->from->waves,
                        .chosen = plan->chosen,
                        .wave_count = plan->from->wave_count,
                        .queue = queue,
                        .xcc = xcc,
                        .abi = plan->abi,
                        .packets = from->ring_bytes / FORMAT_PACKET};
  input.scratch = save_scratch_of(input.chip, agent, from);
  return input;
}

/* What a work-group's waves take, and what ends it. False: they cannot be told. */
static bool measure_group(const plan_t *plan, size_t first, size_t *end, uint64_t *bytes,
                          bool *stopped)
{
  const core_wave_t *waves = plan->from->waves;
  const core_agent_t *agent = agent_of(plan, &plan->from->queues[waves[first].queue]);
  const core_chip_t *chip = core_chip_of(agent->gfx_target_version);
  bool good = chip && waves[first].xcc < agent->xccs;
  *stopped = false;
  *bytes = 0;
  size_t i = first;
  for (; i < plan->from->wave_count && save_same_group(&waves[first], &waves[i]); ++i) {
    save_shape_t shape;
    *stopped |= waves[i].stop != CORE_STOP_NONE;
    good = good && save_shape_of(chip, &waves[i], &shape);
    *bytes += good ? save_wave_bytes(&shape, i == first) : 0;
  }
  *end = i;
  return good;
}

/* Those of work-groups in which one has stopped, or the others. */
static void choose(plan_t *plan, bool stopped, uint64_t *left)
{
  size_t end;
  for (size_t i = 0; i < plan->from->wave_count; i = end) {
    const uint32_t queue = plan->from->waves[i].queue;
    uint64_t bytes;
    bool stands;
    const bool good = measure_group(plan, i, &end, &bytes, &stands);
    if (stands != stopped || !is_in_file(plan, queue))
      continue;
    if (good && bytes <= *left) {
      memset(plan->chosen + i, 1, end - i);
      *left -= bytes;
    } else {
      plan_leave_out(plan, plan->from->queues[queue].address, bytes, CORE_WAVES,
                     good ? CORE_REASON_BUDGET : CORE_REASON_UNREADABLE);
    }
  }
}

static uint32_t xccs_of(const plan_t *plan, size_t queue)
{
  return agent_of(plan, &plan->from->queues[queue])->xccs;
}

static bool has_areas(const plan_t *plan, size_t queue)
{
  return is_in_file(plan, queue) &&
         core_chip_of(agent_of(plan, &plan->from->queues[queue])->gfx_target_version);
}

/* What areas take beside their waves. */
static uint64_t areas_cost(const plan_t *plan)
{
  enum { EACH = 512 };
  uint64_t cost = 0;
  for (size_t i = 0; i < plan->from->queue_count; ++i)
    cost += has_areas(plan, i) ? (uint64_t)EACH * xccs_of(plan, i) : 0;
  return cost;
}

/* The areas of a queue, as far from each other as the largest of them is long. */
static bool write_areas(plan_t *plan, uint32_t queue)
{
  uint64_t reserved = 0, address, bytes;
  for (uint32_t xcc = 0; xcc < xccs_of(plan, queue); ++xcc) {
    const save_input_t input = input_of(plan, queue, xcc);
    bytes = save_area_bytes(&input);
    if (!bytes)
      return false;
    if (bytes > reserved)
      reserved = bytes;
  }
  reserved = (reserved + PAGE - 1) / PAGE * PAGE;
  if (reserved > UINT32_MAX || !plan_own(plan, reserved * xccs_of(plan, queue), PAGE, &address))
    return false;
  plan->queues[queue].save_area = address;
  plan->queues[queue].save_area_bytes = (uint32_t)reserved;
  for (uint32_t xcc = 0; xcc < xccs_of(plan, queue); ++xcc, address += reserved) {
    const save_input_t input = input_of(plan, queue, xcc);
    core_range_t range = {
        .address = address, .size = save_area_bytes(&input), .flags = PF_R | PF_W};
    unsigned char *area = plan_take(&plan->arena, 1, (size_t)range.size);
    range.bytes = area;
    if (!area)
      return false;
    save_area_write(&input, area);
    if (!plan_add(plan, &range, false))
      return false;
  }
  return true;
}

void plan_waves(plan_t *plan)
{
  const uint64_t cost = areas_cost(plan), scratch = plan->arena.size - plan->arena.used;
  uint64_t left = plan_room(plan);
  if (left > scratch)
    left = scratch;
  left = left > cost ? left - cost : 0;
  memset(plan->chosen, 0, plan->from->wave_count);
  choose(plan, true, &left);
  choose(plan, false, &left);
  for (uint32_t i = 0; i < plan->from->queue_count; ++i) {
    if (!is_in_file(plan, i) || (has_areas(plan, i) && write_areas(plan, i)))
      continue;
    /* Of a chip that no debugger knows, or beyond the budget. */
    refuse(plan, i,
           has_areas(plan, i) ? CORE_REASON_BUDGET : CORE_REASON_MISTAKE + (int)MISTAKE_CHIP);
    plan->queues[i].type = 0;
  }
}
