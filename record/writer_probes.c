/* What probes saw: how a kernel is probed, and what it left of a dispatch. */
#include <inttypes.h>
#include <string.h>

#include "base/allocate.h"
#include "base/cancel.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/escape.h"
#include "record/append.h"
#include "record/probe_layout.h"

/* ---- A probed kernel ---- */

static rawhal_status_t check_probe(const record_probe_t *probe, rawhal_error_t *error)
{
  if (probe->kernel.size > RECORD_MOST_NAME)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "a name of %zu bytes, more than %d",
                       probe->kernel.size, RECORD_MOST_NAME);
  if (!probe_is_sound(probe))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "no probe has %u points, %u counters, events of %u bytes and maker %d",
                       probe->point_count, probe->counters, probe->event_bytes, (int)probe->maker);
  return probe_check_points(probe, probe->points, RAWHAL_INVALID_ARGUMENT, error);
}

/* Whole before anything can refer to it, as the lock is held. */
static rawhal_status_t append_probe(record_writer_t *writer, const record_probe_t *probe,
                                    rawhal_error_t *error)
{
  const size_t size = probe->point_count * sizeof(*probe->points);
  const format_probe_t head = {.probe = writer->probes.count + 1,
                               .object = probe->object,
                               .content = size ? writer->contents + 1 : 0,
                               .entry = probe->entry,
                               .code_bytes = probe->code_bytes,
                               .kinds = probe->kinds,
                               .maker = probe->maker,
                               .counters = probe->counters,
                               .event_bytes = probe->event_bytes,
                               .points = probe->point_count,
                               .name_size = (uint32_t)probe->kernel.size};
  payload_t payload = payload_of(&head, sizeof(head));
  payload_add(&payload, probe->kernel.data, probe->kernel.size);
  const append_probe_t kept = {probe->counters, probe->event_bytes};
  if (!list_add(&writer->probes, &kept, sizeof(kept)))
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for one more probed kernel");
  rawhal_status_t status = append_frame(writer, FORMAT_PROBE, payload, error);
  if (status != RAWHAL_OK)
    return status; /* nothing is recorded any more */
  writer->contents += size != 0;
  for (size_t at = 0; at < size && status == RAWHAL_OK; at += RECORD_PIECE)
    status = append_piece(writer, head.content, at, (const char *)probe->points + at,
                          size - at < RECORD_PIECE ? size - at : RECORD_PIECE, error);
  return status;
}

rawhal_status_t record_writer_probe(record_writer_t *writer, const record_probe_t *probe,
                                    uint64_t *number, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  *number = 0;
  rawhal_status_t status = check_probe(probe, error);
  if (status != RAWHAL_OK || (status = append_enter(writer, error)))
    return status;
  if (!probe->object || probe->object > writer->objects)
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "there is no code object %" PRIu64,
                         probe->object);
  else
    status = append_probe(writer, probe, error);
  if (status == RAWHAL_OK)
    *number = writer->probes.count;
  pthread_mutex_unlock(&writer->lock);
  return status;
}

/* ---- What a dispatch left ---- */

typedef struct drain {
  record_writer_t *writer;
  const record_probed_t *probed;
  const record_probe_memory_t *memory;
  append_probe_t probe;
  rawhal_probe_header_t header;
  format_probed_t head;
  probe_layout_t layout;
  unsigned char *piece; /* RECORD_PIECE bytes */
  size_t filled;        /* of it */
  uint64_t written;     /* bytes of the content that are in the file */
} drain_t;

static rawhal_string_t cut_name(const record_allocation_t *allocation)
{
  const rawhal_string_t name = allocation->name;
  return (rawhal_string_t){name.data, name.size > RECORD_MOST_ARGUMENT_NAME
                                          ? escape_cut(name, RECORD_MOST_ARGUMENT_NAME)
                                          : name.size};
}

static rawhal_status_t check_probed(drain_t *drain, rawhal_error_t *error)
{
  const record_probed_t *probed = drain->probed;
  uint64_t end;
  if (probed->flags & ~(uint32_t)RECORD_PROBED_FLAGS)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "unknown flags 0x%x", probed->flags);
  if (probed->allocation_count > RECORD_MOST_ALLOCATIONS)
    return rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "%u allocations, more than %d",
                       probed->allocation_count, RECORD_MOST_ALLOCATIONS);
  for (uint32_t i = 0; i < probed->allocation_count; ++i) {
    const record_allocation_t *allocation = &probed->allocations[i];
    if (!allocation->size || !checked_add_u64(allocation->address, allocation->size, &end))
      return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                         "no allocation has %" PRIu64 " bytes at 0x%" PRIx64, allocation->size,
                         allocation->address);
    drain->head.names_size += (uint32_t)cut_name(allocation).size;
  }
  return RAWHAL_OK;
}

/* The first of `count` records, as many as `room` bytes are enough for. */
static uint32_t fitting(uint32_t count, uint64_t bytes, uint64_t room)
{
  return bytes && count > room / bytes ? (uint32_t)(room / bytes) : count;
}

/* How many events, and then waves, the file has room for; what has to be there, too, is let be
 * what ends it. With the lock held. */
static void fit(drain_t *drain)
{
  const record_writer_t *writer = drain->writer;
  const uint64_t frame = sizeof(format_frame_t) + sizeof(format_piece_t);
  const uint64_t left = writer->bound - writer->bytes;
  const uint64_t heads =
      sizeof(format_frame_t) + sizeof(format_probed_t) + FORMAT_END_BYTES + 2 * frame;
  uint64_t room = left > heads ? left - heads : 0;
  room -= room / RECORD_PIECE * frame < room ? room / RECORD_PIECE * frame : room;
  const probe_layout_t *layout = &drain->layout;
  if (layout->size <= room)
    return;
  const uint32_t waves = fitting(drain->head.waves, sizeof(rawhal_probe_wave_t),
                                 room > layout->waves ? room - layout->waves : 0);
  const bool all = waves == drain->head.waves;
  drain->head.events = fitting(drain->head.events, drain->probe.event_bytes,
                               all && room > layout->events ? room - layout->events : 0);
  drain->head.waves = waves;
}

static bool lay_out(drain_t *drain)
{
  return probe_layout(&drain->head, drain->probe.counters, drain->probe.event_bytes,
                      &drain->layout);
}

static uint32_t lesser(uint32_t a, uint32_t b)
{
  return a < b ? a : b;
}

/* The first frame, with what is known of the rest. */
static rawhal_status_t append_probed(drain_t *drain, rawhal_error_t *error)
{
  record_writer_t *writer = drain->writer;
  const record_probed_t *probed = drain->probed;
  const record_probe_memory_t *memory = drain->memory;
  drain->head.dispatch = probed->dispatch;
  drain->head.probe = probed->probe;
  drain->head.frequency = probed->frequency;
  drain->head.flags = probed->flags;
  drain->head.allocations = probed->allocation_count;
  drain->head.waves = lesser(drain->header.waves, memory->wave_capacity);
  drain->head.events = lesser(drain->header.events, memory->event_capacity);
  rawhal_status_t status = append_enter(writer, error);
  if (status != RAWHAL_OK)
    return status;
  bool fits = lay_out(drain);
  fit(drain);
  fits &= lay_out(drain);
  drain->head.content = writer->contents + 1;
  drain->head.size = drain->layout.size;
  if (!probed->dispatch || probed->dispatch > writer->dispatches)
    status = rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "there is no dispatch %" PRIu64,
                         probed->dispatch);
  else if (!fits)
    status = rawhal_fail(error, RAWHAL_OUT_OF_RANGE, "records of more bytes than can be said");
  else
    status =
        append_frame(writer, FORMAT_PROBED, payload_of(&drain->head, sizeof(drain->head)), error);
  writer->contents += status == RAWHAL_OK;
  pthread_mutex_unlock(&writer->lock);
  return status;
}

static rawhal_status_t flush(drain_t *drain, rawhal_error_t *error)
{
  if (!drain->filled)
    return RAWHAL_OK;
  rawhal_status_t status = append_enter(drain->writer, error);
  if (status != RAWHAL_OK)
    return status;
  status = append_piece(drain->writer, drain->head.content, drain->written, drain->piece,
                        drain->filled, error);
  pthread_mutex_unlock(&drain->writer->lock);
  drain->written += drain->filled;
  drain->filled = 0;
  return status;
}

/* Where the next bytes of the content go, at most `*size`; the piece before is written when it is
 * full. */
static rawhal_status_t next_room(drain_t *drain, uint64_t left, size_t *size, rawhal_error_t *error)
{
  rawhal_status_t status = drain->filled == RECORD_PIECE ? flush(drain, error) : RAWHAL_OK;
  *size = left < RECORD_PIECE - drain->filled ? (size_t)left : RECORD_PIECE - drain->filled;
  return status;
}

/* NULL: zeros. */
static rawhal_status_t put(drain_t *drain, const void *bytes, uint64_t count, rawhal_error_t *error)
{
  size_t size;
  rawhal_status_t status = RAWHAL_OK;
  for (uint64_t at = 0; at < count; at += size) {
    if ((status = next_room(drain, count - at, &size, error)))
      return status;
    if (bytes)
      memcpy(drain->piece + drain->filled, (const char *)bytes + at, size);
    else
      memset(drain->piece + drain->filled, 0, size);
    drain->filled += size;
  }
  return RAWHAL_OK;
}

static rawhal_status_t put_memory(drain_t *drain, record_probe_part_t part, uint64_t from,
                                  uint64_t count, rawhal_error_t *error)
{
  size_t size;
  rawhal_status_t status = RAWHAL_OK;
  for (uint64_t at = 0; at < count; at += size) {
    if ((status = next_room(drain, count - at, &size, error)) ||
        (status = drain->memory->read(drain->memory->context, part, from + at,
                                      drain->piece + drain->filled, size, error)))
      return status;
    drain->filled += size;
  }
  return RAWHAL_OK;
}

static rawhal_status_t put_allocations(drain_t *drain, rawhal_error_t *error)
{
  rawhal_status_t status = RAWHAL_OK;
  const record_probed_t *probed = drain->probed;
  for (uint32_t i = 0; i < probed->allocation_count && status == RAWHAL_OK; ++i) {
    const record_allocation_t *allocation = &probed->allocations[i];
    const format_allocation_t item = {allocation->address, allocation->size, allocation->argument,
                                      (uint32_t)cut_name(allocation).size};
    status = put(drain, &item, sizeof(item), error);
  }
  for (uint32_t i = 0; i < probed->allocation_count && status == RAWHAL_OK; ++i) {
    const rawhal_string_t name = cut_name(&probed->allocations[i]);
    status = put(drain, name.data, name.size, error);
  }
  const probe_layout_t *layout = &drain->layout;
  return status ? status
                : put(drain, NULL, layout->header - layout->names - drain->head.names_size, error);
}

static rawhal_status_t put_all(drain_t *drain, rawhal_error_t *error)
{
  const probe_layout_t *layout = &drain->layout;
  rawhal_status_t status = put_allocations(drain, error);
  if (status == RAWHAL_OK)
    status = put(drain, &drain->header, sizeof(drain->header), error);
  if (status == RAWHAL_OK)
    status = put_memory(drain, RECORD_PROBE_BUFFER, sizeof(drain->header),
                        layout->events - layout->counters, error);
  if (status == RAWHAL_OK)
    status = put_memory(drain, RECORD_PROBE_EVENTS, 0, layout->size - layout->events, error);
  return status ? status : flush(drain, error);
}

/* What a kernel may have written over its own capacities is not passed on. */
static rawhal_status_t read_header(drain_t *drain, rawhal_error_t *error)
{
  rawhal_probe_header_t read = {0};
  const record_probe_memory_t *memory = drain->memory;
  rawhal_status_t status =
      memory->read(memory->context, RECORD_PROBE_BUFFER, 0, &read, sizeof(read), error);
  drain->header = (rawhal_probe_header_t){.waves = read.waves,
                                          .events = drain->probe.event_bytes ? read.events : 0,
                                          .wave_capacity = memory->wave_capacity,
                                          .event_capacity = memory->event_capacity};
  return status;
}

static rawhal_status_t find_probe(drain_t *drain, rawhal_error_t *error)
{
  record_writer_t *writer = drain->writer;
  const uint64_t number = drain->probed->probe;
  rawhal_status_t status = append_enter(writer, error);
  if (status != RAWHAL_OK)
    return status;
  if (number && number <= writer->probes.count)
    drain->probe = ((const append_probe_t *)writer->probes.items)[number - 1];
  else
    status =
        rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "there is no probed kernel %" PRIu64, number);
  pthread_mutex_unlock(&writer->lock);
  return status;
}

rawhal_status_t record_writer_probed(record_writer_t *writer, const record_probed_t *probed,
                                     const record_probe_memory_t *memory,
                                     record_probe_written_t *written, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  drain_t drain = {.writer = writer, .probed = probed, .memory = memory};
  if (written)
    *written = (record_probe_written_t){0};
  rawhal_status_t status = check_probed(&drain, error);
  if (status != RAWHAL_OK || (status = find_probe(&drain, error)) ||
      (status = read_header(&drain, error)))
    return status;
  if (!(drain.piece = allocate(NULL, RECORD_PIECE)))
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a piece of records");
  status = append_probed(&drain, error);
  if (status == RAWHAL_OK)
    status = put_all(&drain, error);
  allocate_free(NULL, drain.piece);
  if (written && status == RAWHAL_OK)
    *written = (record_probe_written_t){drain.head.waves, drain.head.events,
                                        drain.header.waves - drain.head.waves,
                                        drain.header.events - drain.head.events};
  return status;
}
