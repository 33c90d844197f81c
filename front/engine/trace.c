#include "front/engine/trace.h"

#include "front/engine/program.h"
#include "front/output.h"
#include "front/report.h"

#include "base/error.h"
#include "base/file_signals.h"
#include "hsaco/content.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRACE_BOUND ((uint64_t)1 << 30)

typedef struct trace_head {
  char magic[8];
  uint32_t byte_order, version;
  uint64_t process, zero;
} trace_head_t;

/* Tables of maps, the kernel's name and the maps follow, each at a multiple of 8. */
typedef struct trace_dispatch {
  uint64_t size, check; /* of all of it; of what follows */
  uint64_t number, queue, start, end;
  uint64_t hash_high, hash_low;
  uint32_t grid[3], workgroup[3];
  uint32_t maps, name_size;
} trace_dispatch_t;

typedef struct trace_map {
  char name[ENGINE_MAP_NAME];
  uint64_t rows, capacity;
  uint32_t record_bytes, level;
  uint64_t offset, size; /* from the first byte of the dispatch */
} trace_map_t;

static_assert(sizeof(trace_head_t) == 32 && sizeof(trace_dispatch_t) == 96 &&
                  sizeof(trace_map_t) == 104,
              "no gaps");

static int file = -1;
static char path[PATH_MAX], callback[PATH_MAX];
static uint64_t most, bytes, number, patience;
static atomic_bool ended;

bool engine_trace_has_ended(void)
{
  return atomic_load(&ended);
}

static bool end_it(const char *why)
{
  if (!atomic_exchange(&ended, true))
    front_report("probe: the trace '%.300s' ends here: %s", path, why);
  return false;
}

rawhal_status_t engine_trace_open(const char *told, uint64_t limit, uint64_t bound,
                                  rawhal_error_t *error)
{
  char link[64], name[PATH_MAX + 16];
  const trace_head_t head = {"rawhalMP", 0x01020304, 1, (uint64_t)getpid(), 0};
  (void)snprintf(name, sizeof(name), "%s/trace", engine_folder());
  *callback = '\0';
  if (told && !realpath(told, callback)) /* the program may go elsewhere */
    return rawhal_fail(error, file_failure(errno), "the callback '%.200s': %s", told,
                       strerror(errno));
  file = output_make(name, 0666);
  (void)snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
  const ssize_t length = file < 0 ? -1 : readlink(link, path, sizeof(path) - 1);
  if (length < 0 || !write_without_signals(file, &head, sizeof(head)))
    return rawhal_fail(error, file_failure(errno), "the trace '%.200s': %s", name, strerror(errno));
  path[length] = '\0';
  bytes = sizeof(head);
  most = !bound ? TRACE_BOUND : bound > bytes ? bound : bytes;
  number = 0;
  patience = limit;
  atomic_store(&ended, false);
  return engine_programs_open(error);
}

void engine_trace_close(void)
{
  char log[PATH_MAX + 16];
  rawhal_error_t error;
  if (file < 0)
    return;
  (void)close(file);
  engine_trace_abandon();
  (void)snprintf(log, sizeof(log), "%s/callback.log", engine_folder());
  if (*callback && number &&
      engine_program_run(&(engine_program_t){callback, path, log, patience, NULL}, &error) !=
          RAWHAL_OK)
    front_report("probe: the callback: %s", error.message);
  engine_programs_close();
}

void engine_trace_abandon(void)
{
  file = -1;
  atomic_store(&ended, true);
}

/* ---- Dispatches ---- */

static uint64_t padded(uint64_t size)
{
  return (size + 7) & ~(uint64_t)7; /* of memory that there is */
}

/* What comes before the maps. NULL: no memory. */
static trace_dispatch_t *describe(const engine_record_t *record, size_t *size)
{
  const hsa_kernel_dispatch_packet_t *packet = record->packet;
  const rawhal_content_hash_t hash = object_hash(record->kernel->object);
  const rawhal_string_t name = record->kernel->facts->name;
  const size_t table = record->maps->count * sizeof(trace_map_t);
  *size = sizeof(trace_dispatch_t) + table + padded(name.size);
  trace_dispatch_t *made = calloc(1, *size);
  if (!made)
    return NULL;
  *made = (trace_dispatch_t){
      .size = *size,
      .number = number + 1,
      .queue = record->queue,
      .start = record->start,
      .end = record->end,
      .hash_high = hash.high,
      .hash_low = hash.low,
      .grid = {packet->grid_size_x, packet->grid_size_y, packet->grid_size_z},
      .workgroup = {packet->workgroup_size_x, packet->workgroup_size_y, packet->workgroup_size_z},
      .maps = record->maps->count,
      .name_size = (uint32_t)name.size};
  trace_map_t *maps = (trace_map_t *)(made + 1);
  for (uint32_t i = 0; i < made->maps; ++i) {
    const engine_map_t *map = &record->maps->maps[i];
    maps[i] = (trace_map_t){.rows = record->places->rows[i],
                            .capacity = map->capacity,
                            .record_bytes = map->record_bytes,
                            .level = map->level,
                            .offset = made->size,
                            .size = record->places->sizes[i]};
    memcpy(maps[i].name, map->name, sizeof(maps[i].name));
    made->size += padded(maps[i].size);
  }
  memcpy((char *)(maps + made->maps), name.data, name.size);
  return made;
}

/* What follows a map up to a multiple of 8 is in its memory, too. */
static bool write_all(const engine_record_t *record, trace_dispatch_t *head, size_t size)
{
  const size_t checked = offsetof(trace_dispatch_t, number);
  head->check = content_sum((const char *)head + checked, size - checked, 0);
  for (uint32_t i = 0; i < head->maps; ++i)
    head->check = content_sum(record->memory + record->places->offsets[i],
                              (size_t)record->places->sizes[i], head->check);
  if (!write_without_signals(file, head, size))
    return end_it(strerror(errno));
  for (uint32_t i = 0; i < head->maps; ++i)
    if (!write_without_signals(file, record->memory + record->places->offsets[i],
                               (size_t)padded(record->places->sizes[i])))
      return end_it(strerror(errno));
  return true;
}

bool engine_trace_write(const engine_record_t *record)
{
  size_t size;
  if (file < 0 || atomic_load(&ended))
    return false;
  trace_dispatch_t *head = describe(record, &size);
  if (!head)
    return false;
  const bool fits = head->size <= most - bytes;
  const bool written = fits ? write_all(record, head, size) : end_it("it has no room for more");
  bytes += head->size;
  number += written;
  free(head);
  return written;
}
