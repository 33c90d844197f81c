/* rawhal probe verify: what the copy records of a dispatch, held against what is known of that. */
#include "tools/probe/verify.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/shared/tool.h"

enum {
  MOST_WAVES = 1 << 16,   /* records of them; the others are counted */
  EVENT_BYTES = 8 << 20,  /* the same of events */
  GUARD = 4096,           /* bytes behind, which stay as they are */
  UNTOUCHED = 0x5a5a5a5a, /* what they are */
};

/* ---- Before ---- */

static bool make_memory(verify_records_t *records, const verify_dispatch_t *dispatch,
                        rawhal_error_t *error)
{
  const rawhal_probe_plan_t *plan = dispatch->kernel->plan;
  const rawhal_probe_plan_info_t *info = rawhal_probe_plan_info(plan);
  const uint64_t waves = verify_waves_of(&dispatch->replay->source->dispatch);
  records->wave_capacity =
      !(info->kinds & RAWHAL_PROBE_WAVES) ? 0 : (uint32_t)(waves < MOST_WAVES ? waves : MOST_WAVES);
  records->event_capacity = info->event_bytes ? EVENT_BYTES / info->event_bytes : 0;
  records->main_bytes = rawhal_probe_buffer_bytes(plan, records->wave_capacity);
  records->size = records->main_bytes + (uint64_t)records->event_capacity * info->event_bytes;
  const rawhal_probe_header_t header = {.wave_capacity = records->wave_capacity,
                                        .event_capacity = records->event_capacity};
  return rawhal_buffer_allocate(dispatch->replay->device, RAWHAL_MEMORY_DEVICE,
                                (size_t)records->size + GUARD, &records->memory,
                                error) == RAWHAL_OK &&
         rawhal_buffer_fill(records->memory, 0, 0, (size_t)records->size, error) == RAWHAL_OK &&
         rawhal_buffer_fill(records->memory, records->size, UNTOUCHED, GUARD, error) == RAWHAL_OK &&
         rawhal_buffer_write(records->memory, 0, &header, sizeof(header), error) == RAWHAL_OK;
}

/* The original's kernargs, and one argument more. */
static bool make_image(verify_records_t *records, const verify_dispatch_t *dispatch,
                       rawhal_error_t *error)
{
  const replay_t *replay = dispatch->replay;
  const rawhal_probe_plan_info_t *info = rawhal_probe_plan_info(dispatch->kernel->plan);
  const uint64_t address = rawhal_buffer_address(records->memory);
  const rawhal_probe_argument_t argument = {
      .buffer = address,
      .events = records->event_capacity ? address + records->main_bytes : 0,
      .wave_capacity = records->wave_capacity,
      .event_capacity = records->event_capacity};
  if (replay->image_size > info->argument_offset)
    return tool_refuse(error, RAWHAL_UNSUPPORTED,
                       "%zu bytes of kernargs were recorded, and its own argument is at %" PRIu32,
                       replay->image_size, info->argument_offset);
  records->image_size = info->kernarg_size;
  records->image = calloc(1, records->image_size);
  if (!records->image)
    return tool_refuse(error, RAWHAL_OUT_OF_MEMORY, "out of memory");
  memcpy(records->image, replay->image, replay->image_size);
  memcpy(records->image + info->argument_offset, &argument, sizeof(argument));
  return true;
}

bool verify_records_open(verify_records_t *records, const verify_dispatch_t *dispatch,
                         rawhal_error_t *error)
{
  return make_memory(records, dispatch, error) && make_image(records, dispatch, error);
}

void verify_records_close(verify_records_t *records)
{
  rawhal_buffer_free(records->memory);
  free(records->image);
}

/* ---- After ---- */

/* All of it, in the host's memory. */
typedef struct looking {
  const verify_records_t *records;
  verify_dispatch_t *dispatch;
  const rawhal_probe_plan_info_t *info;
  const unsigned char *bytes;
  rawhal_probe_header_t header;
} looking_t;

static bool check_header(const looking_t *looking)
{
  static const uint64_t zero[6];
  const rawhal_probe_header_t *header = &looking->header;
  if (header->wave_capacity == looking->records->wave_capacity &&
      header->event_capacity == looking->records->event_capacity &&
      !memcmp(header->zero, zero, sizeof(zero)))
    return true;
  verify_say(looking->dispatch->said, "the copy has changed what its records begin with");
  return false;
}

static bool check_guard(const looking_t *looking)
{
  const uint32_t untouched = UNTOUCHED;
  for (size_t i = 0; i < GUARD; i += sizeof(untouched))
    if (memcmp(looking->bytes + looking->records->size + i, &untouched, sizeof(untouched)) != 0) {
      verify_say(looking->dispatch->said, "the copy writes beyond the memory of its records");
      return false;
    }
  return true;
}

static bool check_waves(const looking_t *looking)
{
  const verify_records_t *records = looking->records;
  verify_dispatch_t *dispatch = looking->dispatch;
  const bool wanted = looking->info->kinds & RAWHAL_PROBE_WAVES;
  const uint64_t waves = wanted ? verify_waves_of(&dispatch->replay->source->dispatch) : 0;
  if (looking->header.waves != waves) {
    verify_say(dispatch->said, "the copy has recorded %" PRIu32 " waves; the grid has %" PRIu64,
               looking->header.waves, waves);
    return false;
  }
  const unsigned char *first = looking->bytes + records->main_bytes -
                               (size_t)records->wave_capacity * sizeof(rawhal_probe_wave_t);
  return verify_waves(first, records->wave_capacity, waves, dispatch);
}

static bool is_place(const rawhal_probe_plan_info_t *info, uint32_t offset)
{
  size_t low = 0, high = info->point_count;
  while (low < high) { /* the first that is not before it */
    const size_t middle = low + (high - low) / 2;
    if (info->points[middle].offset < offset)
      low = middle + 1;
    else
      high = middle;
  }
  return low < info->point_count && info->points[low].offset == offset;
}

static bool check_events(const looking_t *looking)
{
  const uint32_t there = looking->header.events, room = looking->records->event_capacity;
  const uint32_t kept = there < room ? there : room;
  for (uint32_t i = 0; i < kept; ++i) {
    rawhal_probe_event_t event;
    memcpy(&event,
           looking->bytes + looking->records->main_bytes + (size_t)i * looking->info->event_bytes,
           sizeof(event));
    if (event.wave < looking->header.waves && is_place(looking->info, event.offset))
      continue;
    verify_say(looking->dispatch->said,
               "the copy's event %" PRIu32 " is of wave %" PRIu32 " at +0x%" PRIx32
               ", where there is none",
               i, event.wave, event.offset);
    return false;
  }
  if (there && !looking->info->event_bytes) {
    verify_say(looking->dispatch->said, "the copy counts %" PRIu32 " events, of which it has none",
               there);
    return false;
  }
  return true;
}

static uint64_t count_instructions(const looking_t *looking)
{
  const rawhal_probe_plan_info_t *info = looking->info;
  uint64_t sum = 0;
  for (size_t i = 0; i < info->point_count; ++i) {
    const rawhal_probe_point_t *point = &info->points[i];
    uint64_t count;
    if (point->action != RAWHAL_PROBE_COUNT)
      continue;
    memcpy(&count, looking->bytes + sizeof(looking->header) + point->counter * sizeof(count),
           sizeof(count));
    sum += count * point->instructions;
  }
  return sum;
}

static bool check_blocks(const looking_t *looking)
{
  const verify_dispatch_t *dispatch = looking->dispatch;
  if (!(looking->info->kinds & RAWHAL_PROBE_BLOCKS) || !dispatch->counts)
    return true;
  const uint64_t counted = count_instructions(looking);
  if (counted == dispatch->instructions)
    return true;
  verify_say(looking->dispatch->said,
             "by the copy's counters waves have run %" PRIu64
             " instructions; the device counts %" PRIu64,
             counted, dispatch->instructions);
  return false;
}

static void add_up(const looking_t *looking)
{
  verify_kernel_t *kernel = looking->dispatch->kernel;
  const uint32_t events = looking->header.events, room = looking->records->event_capacity;
  kernel->has_waves = looking->info->kinds & RAWHAL_PROBE_WAVES;
  kernel->has_instructions =
      looking->info->kinds & RAWHAL_PROBE_BLOCKS && looking->dispatch->counts;
  kernel->waves += looking->header.waves;
  kernel->instructions += looking->dispatch->instructions;
  kernel->lost += events > room ? events - room : 0;
}

verify_result_t verify_records_check(const verify_records_t *records, verify_dispatch_t *dispatch)
{
  const size_t size = (size_t)records->size + GUARD;
  unsigned char *bytes = malloc(size);
  looking_t looking = {.records = records,
                       .dispatch = dispatch,
                       .info = rawhal_probe_plan_info(dispatch->kernel->plan),
                       .bytes = bytes};
  rawhal_error_t error;
  verify_result_t result = VERIFY_CANNOT;
  if (!bytes || rawhal_buffer_read(records->memory, 0, bytes, size, &error) != RAWHAL_OK) {
    verify_say(dispatch->said, "what the copy has recorded cannot be read");
  } else {
    memcpy(&looking.header, bytes, sizeof(looking.header));
    result = check_header(&looking) && check_guard(&looking) && check_waves(&looking) &&
                     check_events(&looking) && check_blocks(&looking)
                 ? VERIFY_SAME
                 : VERIFY_DIFFERENT;
  }
  if (result == VERIFY_SAME)
    add_up(&looking);
  free(bytes);
  return result;
}
