#include <inttypes.h>
#include <string.h>

#include "base/allocate.h"
#include "base/checked.h"
#include "base/error.h"
#include "record/index.h"

/* ---- Probed kernels ---- */

static rawhal_status_t find_probe(const record_reader_t *reader, uint64_t number,
                                  const index_probe_t **probe, rawhal_error_t *error)
{
  *probe = NULL;
  if (!number || number > reader->probes.count)
    return rawhal_fail(error, RAWHAL_NOT_FOUND, "there is no probed kernel %" PRIu64 " of %zu",
                       number, reader->probes.count);
  *probe = INDEX_AT(reader->probes, index_probe_t, number);
  return RAWHAL_OK;
}

rawhal_status_t record_reader_probe(record_reader_t *reader, uint64_t number, record_probe_t *probe,
                                    rawhal_error_t *error)
{
  frame_t frame;
  format_probe_t head;
  const index_probe_t *entry;
  *probe = (record_probe_t){0};
  rawhal_status_t status = find_probe(reader, number, &entry, error);
  if (status == RAWHAL_OK)
    status = index_read_again(reader, entry->frame, FORMAT_PROBE, &frame, error);
  return status ? status : index_parse_probe(&frame, &head, probe, error);
}

/* Whether all of a content is there, which is known when the file has been read. */
static record_content_t content_of(const record_reader_t *reader, uint64_t number, uint64_t size)
{
  const index_content_t *content = INDEX_AT(reader->contents, index_content_t, number);
  return (record_content_t){number, size, content->have == content->size};
}

static rawhal_status_t copy_points(void *to, uint64_t offset, const void *bytes, size_t size,
                                   rawhal_error_t *error)
{
  (void)error;
  memcpy((char *)to + offset, bytes, size);
  return RAWHAL_OK;
}

rawhal_status_t record_reader_points(record_reader_t *reader, uint64_t number,
                                     rawhal_probe_point_t *to, rawhal_error_t *error)
{
  const index_probe_t *entry;
  rawhal_status_t status = find_probe(reader, number, &entry, error);
  if (status != RAWHAL_OK || !entry->content.number)
    return status;
  const record_content_t content = content_of(reader, entry->content.number, entry->content.size);
  status = record_reader_content(reader, &content, copy_points, to, error);
  return status ? status : probe_check_points(&entry->probe, to, RAWHAL_MALFORMED, error);
}

/* ---- What dispatches left ---- */

bool record_reader_records(const record_reader_t *reader, uint64_t number,
                           record_records_t *records)
{
  *records = (record_records_t){0};
  if (!number || number > reader->probed.count)
    return false;
  const format_probed_t *head = &INDEX_AT(reader->probed, index_probed_t, number)->head;
  const record_probe_t *probe = &INDEX_AT(reader->probes, index_probe_t, head->probe)->probe;
  *records = (record_records_t){
      head->dispatch,  head->probe,       head->flags,
      head->frequency, head->allocations, probe->counters,
      head->waves,     head->events,      content_of(reader, head->content, head->size)};
  return true;
}

/* What is taken of a content, which comes in pieces that end anywhere. */
typedef struct taking {
  const record_take_records_t *take;
  const index_probed_t *entry;
  uint32_t counters, event_bytes;
  uint64_t at; /* in the content: what comes before was taken */
  size_t kept; /* bytes of a record of which the rest comes with the next piece */
  _Alignas(uint64_t) unsigned char record[RECORD_EVENT_LANES_BYTES];
  unsigned char *front; /* allocations and their names, up to the header */
} taking_t;

static rawhal_status_t take_allocations(const taking_t *taking, rawhal_error_t *error)
{
  const format_probed_t *head = &taking->entry->head;
  const char *name = (const char *)taking->front + taking->entry->layout.names;
  uint32_t left = head->names_size;
  rawhal_status_t status = RAWHAL_OK;
  for (uint32_t i = 0; i < head->allocations && status == RAWHAL_OK; ++i) {
    format_allocation_t item;
    uint64_t end;
    memcpy(&item, taking->front + i * sizeof(item), sizeof(item));
    if (item.name_size > left || !item.size || !checked_add_u64(item.address, item.size, &end))
      return rawhal_fail(error, RAWHAL_MALFORMED,
                         "allocation %u has %" PRIu64 " bytes at 0x%" PRIx64
                         ", and %u bytes of name of %u",
                         i, item.size, item.address, item.name_size, left);
    const record_allocation_t allocation = {
        item.address, item.size, item.argument, {name, item.name_size}};
    name += item.name_size;
    left -= item.name_size;
    if (taking->take->allocation)
      status = taking->take->allocation(taking->take->context, i, &allocation, error);
  }
  return status;
}

static rawhal_status_t take_header(const taking_t *taking, rawhal_error_t *error)
{
  rawhal_probe_header_t header;
  const format_probed_t *head = &taking->entry->head;
  memcpy(&header, taking->record, sizeof(header));
  if (head->waves > header.waves || head->waves > header.wave_capacity ||
      head->events > header.events || head->events > header.event_capacity)
    return rawhal_fail(error, RAWHAL_MALFORMED,
                       "%u waves and %u events are there, of %u and %u in room for %u and %u",
                       head->waves, head->events, header.waves, header.events, header.wave_capacity,
                       header.event_capacity);
  return taking->take->header ? taking->take->header(taking->take->context, &header, error)
                              : RAWHAL_OK;
}

static rawhal_status_t take_event(const taking_t *taking, uint32_t number, rawhal_error_t *error)
{
  rawhal_probe_event_t event;
  const bool lanes = taking->event_bytes == RECORD_EVENT_LANES_BYTES;
  memcpy(&event, taking->record, sizeof(event));
  return taking->take->event(
      taking->take->context, number, &event,
      lanes ? (const uint64_t *)(const void *)(taking->record + sizeof(event)) : NULL, error);
}

/* The record at a place that is behind the header, whole in taking->record. */
static rawhal_status_t take_record(const taking_t *taking, rawhal_error_t *error)
{
  const probe_layout_t *layout = &taking->entry->layout;
  const record_take_records_t *take = taking->take;
  if (taking->at == layout->header)
    return take_header(taking, error);
  if (taking->at < layout->waves) {
    uint64_t value;
    const uint64_t number = (taking->at - layout->counters) / sizeof(value);
    memcpy(&value, taking->record, sizeof(value));
    return take->counter && number < taking->counters
               ? take->counter(take->context, (uint32_t)number, value, error)
               : RAWHAL_OK;
  }
  if (taking->at < layout->events) {
    rawhal_probe_wave_t wave;
    const uint64_t number = (taking->at - layout->waves) / sizeof(wave);
    memcpy(&wave, taking->record, sizeof(wave));
    return take->wave ? take->wave(take->context, (uint32_t)number, &wave, error) : RAWHAL_OK;
  }
  const uint64_t number = (taking->at - layout->events) / taking->event_bytes;
  return take->event ? take_event(taking, (uint32_t)number, error) : RAWHAL_OK;
}

/* Bytes of what begins at a place; the part before the header is one. */
static uint64_t record_size(const taking_t *taking)
{
  const probe_layout_t *layout = &taking->entry->layout;
  if (taking->at < layout->header)
    return layout->header;
  if (taking->at < layout->counters)
    return sizeof(rawhal_probe_header_t);
  if (taking->at < layout->waves)
    return sizeof(uint64_t);
  return taking->at < layout->events ? sizeof(rawhal_probe_wave_t) : taking->event_bytes;
}

static rawhal_status_t take_piece(void *context, uint64_t offset, const void *bytes, size_t size,
                                  rawhal_error_t *error)
{
  taking_t *taking = context;
  const unsigned char *from = bytes;
  (void)offset;
  for (size_t done = 0; done < size;) {
    const bool front = taking->at < taking->entry->layout.header;
    const size_t lacking = (size_t)record_size(taking) - taking->kept;
    const size_t part = size - done < lacking ? size - done : lacking;
    memcpy((front ? taking->front : taking->record) + taking->kept, from + done, part);
    done += part;
    taking->kept += part;
    if (part < lacking)
      return RAWHAL_OK;
    rawhal_status_t status = front ? take_allocations(taking, error) : take_record(taking, error);
    if (status != RAWHAL_OK)
      return status;
    taking->at += taking->kept;
    taking->kept = 0;
  }
  return RAWHAL_OK;
}

rawhal_status_t record_reader_take(record_reader_t *reader, uint64_t number,
                                   const record_take_records_t *take, rawhal_error_t *error)
{
  record_records_t records;
  if (!record_reader_records(reader, number, &records) || !records.content.whole)
    return rawhal_fail(error, RAWHAL_NOT_FOUND,
                       "there are no records %" PRIu64 " of %zu, or not all of them", number,
                       reader->probed.count);
  const index_probed_t *entry = INDEX_AT(reader->probed, index_probed_t, number);
  taking_t taking = {.take = take,
                     .entry = entry,
                     .counters = records.counters,
                     .event_bytes =
                         INDEX_AT(reader->probes, index_probe_t, records.probe)->probe.event_bytes};
  /* no more than the file has, as the content is whole */
  if (entry->layout.header && !(taking.front = allocate(NULL, (size_t)entry->layout.header)))
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for allocations that were recorded");
  rawhal_status_t status =
      record_reader_content(reader, &records.content, take_piece, &taking, error);
  allocate_free(NULL, taking.front);
  return status;
}
