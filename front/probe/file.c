#include "front/probe/file.h"

#include "front/engine/trace.h"
#include "front/output.h"
#include "front/record_file.h"
#include "front/report.h"

#include "base/error.h"
#include "debug/softgpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static record_writer_t *writer; /* of the worker alone, but for opening and closing */
static atomic_bool ended;       /* it has been told why */
static bool host_time;          /* the device is softgpu */

rawhal_status_t probe_file_check(const char *path, rawhal_error_t *error)
{
  uint64_t bound;
  if (!output_would_make_file(path))
    return rawhal_fail(error, file_failure(errno), "the file of probes '%.200s': %s", path,
                       strerror(errno));
  return record_file_bound("RAWHAL_PROBE_BYTES", &bound, error);
}

rawhal_status_t probe_file_open(const char *path, rawhal_error_t *error)
{
  record_options_t options = {0};
  rawhal_status_t status = record_file_bound("RAWHAL_PROBE_BYTES", &options.bound, error);
  if (status == RAWHAL_OK)
    status = record_writer_create_new(path, &options, &writer, error);
  debug_softgpu_t softgpu;
  debug_softgpu_find_loaded(&softgpu);
  host_time = softgpu.memory_bound != NULL;
  atomic_store(&ended, status != RAWHAL_OK);
  return status;
}

bool probe_file_has_ended(const probe_rule_t *rule)
{
  return rule->engine ? engine_trace_has_ended() : atomic_load(&ended);
}

/* Once: a bound that was reached, a disk that is full. What was written stays. */
static void tell(const rawhal_error_t *error)
{
  if (!atomic_exchange(&ended, true))
    front_report("probe: the file ends here: %s", error->message);
}

void probe_file_close(void)
{
  rawhal_error_t error;
  if (writer && record_writer_close(writer, &error) != RAWHAL_OK)
    tell(&error);
  writer = NULL;
}

void probe_file_abandon(void)
{
  writer = NULL;
}

/* ---- Dispatches ---- */

/* The kernel, once. */
static rawhal_status_t write_kernel(probed_t *entry, uint64_t object, rawhal_error_t *error)
{
  const rawhal_probe_plan_info_t *info = rawhal_probe_plan_info(entry->plan);
  const record_probe_t probe = {.object = object,
                                .kernel = entry->kernel->facts->name,
                                .maker = entry->rule->by_softgpu ? RECORD_MADE_BY_DEVICE
                                                                 : RECORD_MADE_BY_CODE,
                                .kinds = info->kinds,
                                .entry = entry->kernel->facts->descriptor->entry,
                                .code_bytes = info->code_bytes,
                                .counters = info->counters,
                                .event_bytes = info->event_bytes,
                                .point_count = (uint32_t)info->point_count,
                                .points = info->points};
  return entry->number ? RAWHAL_OK : record_writer_probe(writer, &probe, &entry->number, error);
}

static rawhal_status_t read_memory(void *context, record_probe_part_t part, uint64_t offset,
                                   void *to, size_t size, rawhal_error_t *error)
{
  const probe_run_t *run = context;
  (void)error;
  memcpy(to, run->memory->bytes + (part == RECORD_PROBE_EVENTS ? run->room.events_at : 0) + offset,
         size);
  return RAWHAL_OK;
}

/* What it has recorded. */
static rawhal_status_t write_drained(probe_run_t *run, uint64_t dispatch,
                                     record_probe_written_t *written, rawhal_error_t *error)
{
  enum { MEMREALTIME_HZ = 100000000 };
  const record_probed_t probed = {.dispatch = dispatch,
                                  .probe = run->of->number,
                                  .flags = (run->end ? 0 : (uint32_t)RECORD_PROBED_STOPPED) |
                                           (host_time ? (uint32_t)RECORD_PROBED_HOST_TIME : 0),
                                  .frequency = MEMREALTIME_HZ,
                                  .allocation_count = run->allocation_count,
                                  .allocations = run->allocations};
  const record_probe_memory_t memory = {run->room.wave_capacity, run->room.event_capacity,
                                        read_memory, run};
  return record_writer_probed(writer, &probed, &memory, written, error);
}

static rawhal_status_t write_all(probe_run_t *run, record_probe_written_t *written,
                                 rawhal_error_t *error)
{
  uint64_t number = 0;
  const rawhal_bytes_t kernargs = {run->block, run->kernarg_bytes};
  probed_t *entry = run->of;
  record_dispatch_t dispatch =
      record_file_describe(entry->device, run->queue, entry->kernel, &run->packet, kernargs);
  rawhal_status_t status = record_file_write(writer, &dispatch, entry->kernel, &number, error);
  if (status == RAWHAL_OK)
    status = write_kernel(entry, dispatch.object, error);
  if (status == RAWHAL_OK)
    status = record_writer_place(writer, number, &entry->place, error);
  return status == RAWHAL_OK ? write_drained(run, number, written, error) : status;
}

static uint32_t least(uint32_t a, uint32_t b)
{
  return a < b ? a : b;
}

/* Of a dispatch that was stopped, all of it: what the device had begun to write is not counted. */
static void clear(const probe_run_t *run, uint32_t waves, uint32_t events)
{
  const size_t event_bytes = rawhal_probe_plan_info(run->of->plan)->event_bytes;
  if (!run->end) {
    memset(run->memory->bytes, 0, run->memory->size);
    return;
  }
  memset(run->memory->bytes, 0, (size_t)rawhal_probe_buffer_bytes(run->of->plan, waves));
  memset(run->memory->bytes + run->room.events_at, 0, events * event_bytes);
}

/* A kernel that writes beyond its maps leaves nothing to the next. */
static bool write_maps(probe_run_t *run)
{
  const engine_record_t record = {.kernel = run->of->kernel,
                                  .packet = &run->packet,
                                  .queue = run->queue,
                                  .start = run->start,
                                  .end = run->end,
                                  .maps = &run->of->engine->maps,
                                  .places = &run->places,
                                  .memory = run->memory->bytes};
  const bool kept = engine_trace_write(&record);
  memset(run->memory->bytes, 0, run->memory->size);
  return kept;
}

static bool write_records(probe_run_t *run)
{
  rawhal_error_t error;
  record_probe_written_t written = {0};
  const rawhal_probe_header_t *header = (const void *)run->memory->bytes;
  const uint32_t waves = least(header->waves, run->room.wave_capacity);
  const uint32_t events = least(header->events, run->room.event_capacity);
  bool kept = writer && !atomic_load(&ended);
  if (kept && write_all(run, &written, &error) != RAWHAL_OK) {
    tell(&error);
    kept = false;
  }
  if (kept)
    atomic_fetch_add(&run->of->rule->lost, (uint64_t)written.lost_waves + written.lost_events);
  clear(run, waves, events);
  return kept;
}

/* Of one that is not in the file nothing is lost: it counts as if it had not been probed. */
void probe_file_write(probe_run_t *run)
{
  probe_rule_t *rule = run->of->rule;
  if (run->of->engine ? write_maps(run) : write_records(run))
    return;
  atomic_fetch_sub(&rule->probed, 1);
  atomic_fetch_add(&rule->kept[PROBE_KEPT_FILE], 1);
}
