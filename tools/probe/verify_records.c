/* rawhal probe verify: memory for what is recorded of a dispatch, and what is in it then. */
#include "tools/probe/verify.h"

#include <stdlib.h>
#include <string.h>

#include "tools/shared/tool.h"

enum {
  MOST_WAVES = 1 << 16,   /* records of them; the others are counted */
  MOST_EVENTS = 64 << 20, /* the same of events, in bytes */
};

static void find_room(verify_records_t *records, const verify_dispatch_t *dispatch, uint64_t events)
{
  const rawhal_probe_plan_info_t *info = records->info;
  const uint64_t waves = verify_waves_of(&dispatch->replay->source->dispatch);
  const uint64_t most = info->event_bytes ? MOST_EVENTS / info->event_bytes : 0;
  if (info->kinds & RAWHAL_PROBE_WAVES)
    records->argument.wave_capacity = (uint32_t)(waves < MOST_WAVES ? waves : MOST_WAVES);
  records->argument.event_capacity = (uint32_t)(events < most ? events : most);
  records->main_bytes =
      rawhal_probe_buffer_bytes(dispatch->kernel->plan, records->argument.wave_capacity);
  records->size =
      records->main_bytes + (uint64_t)records->argument.event_capacity * info->event_bytes;
}

bool verify_records_open(verify_records_t *records, const verify_dispatch_t *dispatch,
                         uint64_t events, rawhal_error_t *error)
{
  *records = (verify_records_t){.info = rawhal_probe_plan_info(dispatch->kernel->plan)};
  find_room(records, dispatch, events);
  const rawhal_probe_header_t header = {.wave_capacity = records->argument.wave_capacity,
                                        .event_capacity = records->argument.event_capacity};
  const size_t size = (size_t)records->size;
  if (rawhal_buffer_allocate(dispatch->replay->device, RAWHAL_MEMORY_DEVICE, size + VERIFY_GUARD,
                             &records->memory, error) != RAWHAL_OK ||
      rawhal_buffer_fill(records->memory, 0, 0, size, error) != RAWHAL_OK ||
      rawhal_buffer_fill(records->memory, size, VERIFY_UNTOUCHED, VERIFY_GUARD, error) !=
          RAWHAL_OK ||
      rawhal_buffer_write(records->memory, 0, &header, sizeof(header), error) != RAWHAL_OK)
    return false;
  records->argument.buffer = rawhal_buffer_address(records->memory);
  if (records->argument.event_capacity)
    records->argument.events = records->argument.buffer + records->main_bytes;
  return true;
}

void verify_records_close(verify_records_t *records)
{
  rawhal_buffer_free(records->memory);
  records->memory = NULL;
}

bool verify_records_take(const verify_records_t *records, verify_taken_t *taken,
                         rawhal_error_t *error)
{
  const size_t size = (size_t)records->size + VERIFY_GUARD;
  const uint32_t waves = records->argument.wave_capacity, events = records->argument.event_capacity;
  *taken =
      (verify_taken_t){.info = records->info, .bytes = malloc(size), .argument = records->argument};
  if (!taken->bytes)
    return tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "out of memory");
  if (rawhal_buffer_read(records->memory, 0, taken->bytes, size, error) != RAWHAL_OK) {
    verify_taken_free(taken);
    return false;
  }
  memcpy(&taken->header, taken->bytes, sizeof(taken->header));
  taken->counters = taken->bytes + sizeof(taken->header);
  taken->events = taken->bytes + records->main_bytes;
  taken->waves = taken->events - (size_t)waves * sizeof(rawhal_probe_wave_t);
  taken->guard = taken->bytes + records->size;
  taken->wave_count = taken->header.waves < waves ? taken->header.waves : waves;
  taken->event_count = taken->header.events < events ? taken->header.events : events;
  return true;
}

void verify_taken_free(verify_taken_t *taken)
{
  free(taken->bytes);
  *taken = (verify_taken_t){0};
}
