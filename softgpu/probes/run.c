#include "softgpu/probes/run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/checked.h"

/* ---- Kernargs ---- */

/* What metadata say may be more than what there is. */
static bool copy_kernargs(const softgpu_prober_device_t *device, run_t *run)
{
  const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(run->kernel->layout);
  const uint32_t sizes[] = {info->effective_size, info->segment_size};
  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); ++i) {
    const void *from =
        sizes[i] ? device->reach(run->dispatch.node, run->dispatch.kernarg, sizes[i], false) : NULL;
    if (sizes[i] && !from)
      continue;
    run->kernargs = malloc(sizes[i] ? sizes[i] : 1);
    if (run->kernargs && from)
      memcpy(run->kernargs, from, sizes[i]);
    run->kernarg_bytes = sizes[i];
    return run->kernargs != NULL;
  }
  return false;
}

/* ---- Allocations ---- */

static void add(run_t *run, uint32_t named, uint64_t base, uint64_t size, uint32_t argument,
                rawhal_string_t name)
{
  for (uint32_t i = 0; i < named; ++i) /* two pointers may lead to it */
    if (run->allocations[i].address == base)
      return;
  run->allocations[run->allocation_count++] = (record_allocation_t){base, size, argument, name};
}

static void find_arguments(const softgpu_prober_device_t *device, run_t *run)
{
  const rawhal_kernarg_argument_t *argument;
  for (size_t i = 0; run->allocation_count < RUN_NAMED &&
                     (argument = rawhal_kernarg_layout_argument(run->kernel->layout, i));
       ++i) {
    uint64_t address, base, size;
    if (argument->value_kind != RAWHAL_VALUE_GLOBAL_BUFFER || argument->size != sizeof(address) ||
        !range_within(argument->offset, sizeof(address), run->kernarg_bytes))
      continue;
    memcpy(&address, (const char *)run->kernargs + argument->offset, sizeof(address));
    if (device->allocation(address, &base, &size) && base <= address)
      add(run, run->allocation_count, base, size, argument->offset, argument->name);
  }
}

/* Where pointers in memory may lead, too. */
static void find_others(const softgpu_prober_device_t *device, run_t *run)
{
  const uint32_t named = run->allocation_count;
  for (uint64_t at = 0, base, size;
       run->allocation_count < RUN_ALLOCATIONS && device->allocation(at, &base, &size);
       at = base + size)
    add(run, named, base, size, RECORD_NO_ARGUMENT, (rawhal_string_t){0});
}

static void find_allocations(const softgpu_prober_device_t *device, run_t *run)
{
  const bool all = run->kernel->rule->kinds & RAWHAL_PROBE_MEMORY;
  run->allocations = malloc((all ? RUN_ALLOCATIONS : RUN_NAMED) * sizeof(*run->allocations));
  if (!run->allocations)
    return;
  find_arguments(device, run);
  if (all)
    find_others(device, run);
}

/* ---- The whole ---- */

static bool take_memory(run_t *run)
{
  const softgpu_prober_dispatch_t *dispatch = &run->dispatch;
  run->room =
      probe_room(run->kernel->plan, run->kernel->rule->buffer, dispatch->grid, dispatch->workgroup);
  char *memory = mmap(NULL, run->room.bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return false;
  run->memory = memory;
  rawhal_probe_header_t *header = (rawhal_probe_header_t *)(void *)memory;
  header->wave_capacity = run->room.wave_capacity;
  header->event_capacity = run->room.event_capacity;
  return true;
}

void run_free(run_t *run)
{
  if (run->memory)
    (void)munmap(run->memory, run->room.bytes);
  free(run->kernargs);
  free(run->allocations);
  free(run);
}

run_t *run_make(const softgpu_prober_device_t *device, const softgpu_prober_dispatch_t *dispatch,
                kernel_t *kernel)
{
  run_t *run = calloc(1, sizeof(*run));
  if (!run)
    return NULL;
  run->kernel = kernel;
  run->dispatch = *dispatch;
  if (!copy_kernargs(device, run) || !take_memory(run)) {
    run_free(run);
    return NULL;
  }
  find_allocations(device, run);
  return run;
}

softgpu_prober_wish_t run_wish(const run_t *run)
{
  const rawhal_probe_plan_info_t *info = rawhal_probe_plan_info(run->kernel->plan);
  return (softgpu_prober_wish_t){.argument =
                                     probe_room_argument(&run->room, (uintptr_t)run->memory),
                                 .kinds = info->kinds,
                                 .event_bytes = info->event_bytes,
                                 .counters = info->counters,
                                 .points = info->points,
                                 .count = info->point_count};
}
