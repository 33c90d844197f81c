/* One dispatch that is probed, from its packet to its end. */
#include "front/probe/probed.h"

#include "front/blocks.h"
#include "front/kernargs.h"
#include "front/probe/worker.h"
#include "front/queues.h"
#include "front/ranges.h"

#include "base/checked.h"
#include "base/clock.h"
#include "debug/softgpu.h"

#include <stdlib.h>
#include <string.h>

static atomic_size_t flying; /* on the device */

bool probes_flying(void)
{
  return atomic_load(&flying) != 0;
}

void probes_goes(probe_run_t *run)
{
  if (!run)
    return;
  run->flies = true;
  atomic_fetch_add(&flying, 1);
}

void probes_ended(probe_run_t *run, uint64_t start, uint64_t end)
{
  if (!run)
    return;
  const bool flew = run->flies;
  run->start = start;
  run->end = end;
  if (end)
    probed_accept(run->of);
  probe_worker_finish(run);
  if (flew)
    atomic_fetch_sub(&flying, 1);
}

void probe_run_abandon(void)
{
  atomic_store(&flying, 0);
}

/* ---- Memory ---- */

/* Dispatches that have ended may have it still: nobody has looked, or it is being written. A rule
 * may wait for that, and for those that run, as long as one after the other ends. */
static probe_memory_t *memory_of(const probe_rule_t *rule, probe_pool_t *pool, uint64_t bytes)
{
  static const uint64_t patience = CLOCK_SECOND / 10, nap = 50000;
  probe_memory_t *memory = probe_memory_take(pool, bytes);
  for (uint64_t until = 0; !memory;) {
    queues_harvest();
    const bool any = probes_flying(); /* what does not is the worker's already */
    const uint64_t finished = probe_worker_finished();
    memory = probe_memory_take(pool, bytes);
    if (memory || !rule->waits)
      break;
    if (probe_worker_wait_finished(finished)) {
      until = 0;
      continue;
    }
    if (!any || (until && clock_now() > until))
      break;
    until = until ? until : clock_now() + patience;
    clock_nap(nap);
  }
  return memory;
}

/* For what is too large there will be no memory, however long it is waited for. */
static bool take_maps(probe_run_t *run)
{
  probe_rule_t *rule = run->of->rule;
  const engine_t *engine = run->of->engine;
  if (engine_lay_out(&engine->maps, &run->packet, engine->lanes, &run->places) &&
      run->places.size <= rule->buffer)
    run->memory = memory_of(rule, &rule->memory, run->places.size);
  return run->memory != NULL;
}

static bool take_memory(probe_run_t *run)
{
  probe_rule_t *rule = run->of->rule;
  const hsa_kernel_dispatch_packet_t *packet = &run->packet;
  const uint32_t grid[] = {packet->grid_size_x, packet->grid_size_y, packet->grid_size_z};
  const uint16_t workgroup[] = {packet->workgroup_size_x, packet->workgroup_size_y,
                                packet->workgroup_size_z};
  run->room = probe_room(run->of->plan, rule->buffer, grid, workgroup);
  run->memory = memory_of(rule, &rule->memory, run->room.bytes);
  if (!run->memory)
    return false;
  rawhal_probe_header_t *header = (rawhal_probe_header_t *)(void *)run->memory->bytes;
  header->wave_capacity = run->room.wave_capacity;
  header->event_capacity = run->room.event_capacity;
  return true;
}

/* ---- Allocations ---- */

enum { NAMED = 64, ALL = 1024 }; /* allocations of a dispatch: of its pointers, and with others */

/* Is it among the first ones already? Two pointers may lead to it. */
static bool has_allocation(const probe_run_t *run, uint32_t named, uint64_t address)
{
  for (uint32_t i = 0; i < named; ++i)
    if (run->allocations[i].address == address)
      return true;
  return false;
}

static void add_allocation(probe_run_t *run, uint32_t named, const range_t *range,
                           uint32_t argument, rawhal_string_t name)
{
  if (!has_allocation(run, named, range->base))
    run->allocations[run->allocation_count++] =
        (record_allocation_t){range->base, range->size, argument, name};
}

/* Where the pointers among its kernargs lead. */
static void find_arguments(probe_run_t *run)
{
  const rawhal_kernarg_layout_t *layout = run->of->kernel->layout;
  const rawhal_kernarg_argument_t *argument;
  for (size_t i = 0;
       run->allocation_count < NAMED && (argument = rawhal_kernarg_layout_argument(layout, i));
       ++i) {
    range_t range;
    uint64_t address;
    if (argument->value_kind != RAWHAL_VALUE_GLOBAL_BUFFER || argument->size != sizeof(address) ||
        !range_within(argument->offset, sizeof(address), run->kernarg_bytes))
      continue;
    memcpy(&address, run->block + argument->offset, sizeof(address));
    if (ranges_live(address, &range))
      add_allocation(run, run->allocation_count, &range, argument->offset, argument->name);
  }
}

/* Where pointers in memory may lead, too. */
static void find_others(probe_run_t *run)
{
  const uint32_t named = run->allocation_count, room = ALL - named;
  range_t *ranges = malloc(room * sizeof(*ranges));
  const size_t found = ranges ? ranges_list(ranges, room) : 0;
  for (size_t i = 0; i < found && i < room && !ranges[i].freed_at; ++i)
    add_allocation(run, named, &ranges[i], RECORD_NO_ARGUMENT, (rawhal_string_t){0});
  free(ranges);
}

static void find_allocations(probe_run_t *run)
{
  const bool all = run->of->rule->kinds & RAWHAL_PROBE_MEMORY;
  run->allocations = malloc((all ? ALL : NAMED) * sizeof(*run->allocations));
  if (!run->allocations)
    return;
  find_arguments(run);
  if (all)
    find_others(run);
}

/* ---- Kernargs ---- */

/* In memory of ours: the program's, and room behind them. */
static probe_kept_t copy_kernargs(probe_run_t *run, size_t bytes)
{
  kernargs_t kernargs;
  kernargs_copy(&kernargs, &run->packet, run->of->kernarg_most);
  if (kernargs.unread && run->of->kernarg_most != run->of->kernarg_bytes) {
    kernargs_give_back(&kernargs);
    kernargs_copy(&kernargs, &run->packet, run->of->kernarg_bytes);
  }
  run->block = kernargs.unread ? NULL : blocks_take(bytes);
  run->block_bytes = bytes;
  if (run->block) {
    run->kernarg_bytes = kernargs.bytes.size;
    memset(run->block, 0, bytes);
    if (run->kernarg_bytes)
      memcpy(run->block, kernargs.bytes.data, run->kernarg_bytes);
  }
  kernargs_give_back(&kernargs);
  return run->block ? PROBE_KEPTS : kernargs.unread ? PROBE_KEPT_KERNARGS : PROBE_KEPT_MEMORY;
}

/* The copy runs, with one argument more. */
static probe_kept_t by_code(probe_run_t *run, hsa_kernel_dispatch_packet_t *packet)
{
  const rawhal_probe_plan_info_t *info = rawhal_probe_plan_info(run->of->plan);
  const probe_kept_t kept = copy_kernargs(run, info->kernarg_size);
  if (kept != PROBE_KEPTS)
    return kept;
  const rawhal_probe_argument_t argument =
      probe_room_argument(&run->room, (uintptr_t)run->memory->bytes);
  memcpy(run->block + info->argument_offset, &argument, sizeof(argument));
  if (packet->private_segment_size < info->scratch_bytes)
    packet->private_segment_size = info->scratch_bytes;
  packet->kernel_object = run->of->probed_object;
  packet->kernarg_address = run->block;
  return kept;
}

/* The kernel runs as it is, by kernargs at an address by which softgpu knows the dispatch. */
static probe_kept_t by_softgpu(probe_run_t *run, hsa_kernel_dispatch_packet_t *packet)
{
  const rawhal_probe_plan_info_t *info = rawhal_probe_plan_info(run->of->plan);
  const probe_kept_t kept = copy_kernargs(run, run->of->kernarg_most ? run->of->kernarg_most : 1);
  if (kept != PROBE_KEPTS)
    return kept;
  const rawhal_probe_argument_t argument =
      probe_room_argument(&run->room, (uintptr_t)run->memory->bytes);
  if (!run->of->ask((uint64_t)(uintptr_t)run->block, &argument, info->kinds, info->event_bytes,
                    info->counters, info->points, info->point_count))
    return PROBE_KEPT_MEMORY;
  packet->kernarg_address = run->block;
  return kept;
}

/* The engine's copy runs, with its maps as arguments. */
static probe_kept_t by_engine(probe_run_t *run, hsa_kernel_dispatch_packet_t *packet)
{
  void *block;
  rawhal_error_t error;
  const engine_t *engine = run->of->engine;
  const rawhal_status_t status = engine_dispatch(engine, run->of->device, &run->places,
                                                 run->memory->bytes, packet, &block, &error);
  run->block = block;
  return status == RAWHAL_OK              ? PROBE_KEPTS
         : status == RAWHAL_UNSUPPORTED   ? PROBE_KEPT_KERNARGS
         : status == RAWHAL_OUT_OF_MEMORY ? PROBE_KEPT_MEMORY
                                          : PROBE_KEPT_LAUNCH;
}

/* ---- The whole ---- */

static void give_back_block(probe_run_t *run)
{
  if (run->of->engine)
    instead_give_back(&run->of->engine->instead, run->block);
  else
    blocks_give_back(run->block, run->block_bytes);
}

void probe_run_free(probe_run_t *run)
{
  if (run->of->ask && run->block && !run->end) /* it may never have gone */
    (void)run->of->ask((uint64_t)(uintptr_t)run->block, NULL, 0, 0, 0, NULL, 0);
  give_back_block(run);
  probe_memory_give_back(&run->of->rule->memory, run->memory);
  probed_release(run->of);
  free(run->allocations);
  free(run);
}

probe_kept_t probe_run_begin(probed_t *entry, uint64_t queue_id,
                             hsa_kernel_dispatch_packet_t *packet, probe_run_t **run)
{
  probe_run_t *made = calloc(1, sizeof(*made));
  if (!made)
    return PROBE_KEPT_MEMORY;
  made->of = entry;
  made->packet = *packet;
  made->queue = queue_id;
  probed_hold(entry);
  const bool taken = entry->engine ? take_maps(made) : take_memory(made);
  const probe_kept_t kept = !taken          ? PROBE_KEPT_MEMORY
                            : entry->engine ? by_engine(made, packet)
                            : entry->ask    ? by_softgpu(made, packet)
                                            : by_code(made, packet);
  if (kept == PROBE_KEPTS) {
    if (!entry->engine)
      find_allocations(made);
    *run = made;
    return kept;
  }
  if (made->memory)
    memset(made->memory->bytes, 0, sizeof(rawhal_probe_header_t));
  probe_run_free(made);
  return kept;
}
