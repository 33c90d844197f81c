#include "debug/gathered.h"

#include "debug/dispatch.h"

#include "base/clock.h"

#include <string.h>

debug_dispatch_t *gathered_packet(debug_gathered_t *gathered, const hsa_queue_t *queue,
                                  uint64_t index, const hsa_kernel_dispatch_packet_t *packet)
{
  debug_dispatch_t *dispatch = &gathered->dispatches[gathered->count++];
  *dispatch = dispatch_of_packet(queue->id, index, packet);
  dispatch->running = true;
  return dispatch;
}

void gathered_memory(debug_gathered_t *gathered, const debug_allocation_t *allocation)
{
  if (gathered->memory_count < gathered->memory_room)
    gathered->memory[gathered->memory_count++] = *allocation;
}

bool gathered_has(const debug_gathered_t *gathered, uint64_t base)
{
  for (size_t i = 0; i < gathered->memory_count; ++i)
    if (gathered->memory[i].base == base && !gathered->memory[i].freed_at)
      return true;
  return false;
}

void gathered_words(const debug_gathered_t *gathered, void (*visit)(void *context, uint64_t word),
                    void *context)
{
  uint64_t word;
  for (size_t i = 0; i < gathered->count; ++i) {
    const rawhal_bytes_t image = gathered->dispatches[i].kernargs;
    for (size_t at = 0; at < GATHERED_WORDS && (at + 1) * sizeof(word) <= image.size; ++at) {
      memcpy(&word, (const char *)image.data + at * sizeof(word), sizeof(word));
      visit(context, word);
    }
  }
}

/* ---- Why ---- */

static bool allocation(void *context, debug_cursor_t *cursor, debug_allocation_t *told)
{
  const debug_gathered_t *gathered = context;
  if (cursor->index >= gathered->memory_count)
    return false;
  *told = gathered->memory[cursor->index++];
  return true;
}

debug_scene_t gathered_scene(debug_gathered_t *gathered,
                             bool (*read)(void *context, uint64_t address, void *to, size_t size))
{
  return (debug_scene_t){
      .now = clock_now(),
      .dispatches = gathered->dispatches,
      .dispatch_count = gathered->count,
      .device = gathered->device,
      .waits = gathered->waits,
      .stand = gathered->stand.groups ? &gathered->stand : NULL,
      .context = gathered,
      .allocation = allocation,
      .read = read,
  };
}

void gathered_explain(debug_gathered_t *gathered,
                      bool (*read)(void *context, uint64_t address, void *to, size_t size),
                      rawhal_fault_t *fault)
{
  const debug_scene_t around = gathered_scene(gathered, read);
  if (!gathered->count)
    fault->known &= ~(uint32_t)RAWHAL_FAULT_KNOWS_DISPATCH;
  if (fault->known & RAWHAL_FAULT_KNOWS_DISPATCH)
    dispatch_failed(gathered->dispatches, *gathered->descriptors, fault);
  cause_find(&around, fault);
}
