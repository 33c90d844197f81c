#include "hal/witness.h"

#include "hal/buffer.h"
#include "hal/dump.h"
#include "hal/executable.h"
#include "hal/peer.h"
#include "hal/runtime.h"

#include "debug/waves.h"

#include "base/clock.h"
#include "base/own_memory.h"

enum { FREED_BUFFERS = 1024 }; /* remembered, the latest; a power of two */

static debug_allocation_t freed[FREED_BUFFERS];
static uint64_t freed_count;

static debug_allocation_t describe(const rawhal_buffer_t *buffer)
{
  debug_allocation_t allocation = {
      .base = (uint64_t)(uintptr_t)buffer->memory,
      .size = buffer->size,
      .number = buffer->number,
      .made_at = buffer->made_at,
      .owner = buffer->kind == RAWHAL_MEMORY_DEVICE ? buffer->device->queue.agent.handle : 0,
  };
  memcpy(allocation.label, buffer->label, sizeof(allocation.label));
  return allocation;
}

void witness_freed(const rawhal_buffer_t *buffer)
{
  debug_allocation_t *slot = &freed[freed_count++ & (FREED_BUFFERS - 1)];
  *slot = describe(buffer);
  slot->freed_at = clock_now();
}

static bool allocation(void *context, debug_cursor_t *cursor, debug_allocation_t *told)
{
  const rawhal_device_t *device =
      (const void *)((const char *)context - offsetof(rawhal_device_t, queue));
  const uint64_t kept = freed_count < FREED_BUFFERS ? freed_count : FREED_BUFFERS;
  const size_t index = cursor->index++;
  if (index < kept) {
    *told = freed[(freed_count - 1 - index) & (FREED_BUFFERS - 1)];
    return true;
  }
  const rawhal_buffer_t *buffer = index == kept ? registry_first() : cursor->at;
  if (!buffer)
    return false;
  cursor->at = buffer->hh.next;
  *told = describe(buffer);
  told->reachable = peer_reaches(device, buffer);
  return true;
}

static bool read_memory(void *context, uint64_t address, void *to, size_t size)
{
  (void)context;
  const uint64_t place = registry_place(address, size);
  return place && own_memory_copy(to, place, size);
}

static bool device_tells(const void *hsa_queue, rawhal_fault_t *fault)
{
  return debug_softgpu_fault(runtime_softgpu(), hsa_queue, fault);
}

static void waves_tell(const void *hsa_queue, rawhal_fault_t *fault)
{
  (void)debug_waves_describe(runtime_softgpu(), hsa_queue, fault->entry, fault->device_text,
                             sizeof(fault->device_text));
}

static bool stand_tell(const void *hsa_queue, const rawhal_fault_t *fault, debug_stand_t *stand)
{
  return debug_waves_stand(runtime_softgpu(), hsa_queue, fault, stand);
}

const queue_witness_t hal_witness = {
    .device = device_tells,
    .waves = waves_tell,
    .stand = stand_tell,
    .code_hold = executables_try_hold,
    .code_let = executables_let,
    .code_has = executables_have,
    .memory_hold = registry_hold,
    .memory_let = registry_let,
    .allocation = allocation,
    .read = read_memory,
    .cores = &hal_cores,
    .gather = dump_death,
    .gather_other = dump_other,
};
