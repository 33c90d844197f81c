/* What a recording says of probes. */
#include <inttypes.h>

#include "base/error.h"
#include "record/index.h"

rawhal_status_t index_parse_probe(const frame_t *frame, format_probe_t *head, record_probe_t *probe,
                                  rawhal_error_t *error)
{
  rawhal_status_t status = index_take_head(frame, head, sizeof(*head), true, error);
  if (status != RAWHAL_OK)
    return status;
  *probe =
      (record_probe_t){.object = head->object,
                       .kernel = {(const char *)frame->payload + sizeof(*head), head->name_size},
                       .maker = (record_probe_maker_t)head->maker,
                       .kinds = head->kinds,
                       .entry = head->entry,
                       .code_bytes = head->code_bytes,
                       .counters = head->counters,
                       .event_bytes = head->event_bytes,
                       .point_count = head->points};
  if (head->name_size != frame->size - sizeof(*head) || head->name_size > RECORD_MOST_NAME ||
      head->zero || !probe_is_sound(probe) || !head->content != !head->points)
    return index_malformed(frame, error,
                           "probe %" PRIu64 " has %u points, %u counters, events of %u bytes, "
                           "maker %u, and %u bytes of name in %zu",
                           head->probe, head->points, head->counters, head->event_bytes,
                           head->maker, head->name_size, frame->size);
  return RAWHAL_OK;
}

rawhal_status_t index_take_probe(record_reader_t *reader, const frame_t *frame,
                                 rawhal_error_t *error)
{
  format_probe_t head;
  index_probe_t entry = {.frame = frame->offset};
  rawhal_status_t status = index_parse_probe(frame, &head, &entry.probe, error);
  if (status != RAWHAL_OK)
    return status;
  if (head.probe != reader->probes.count + 1 || !head.object || head.object > reader->objects.count)
    return index_malformed(frame, error,
                           "probe %" PRIu64 ", of code object %" PRIu64 " of %zu, comes after %zu",
                           head.probe, head.object, reader->objects.count, reader->probes.count);
  entry.content.number = head.content;
  entry.content.size = (uint64_t)head.points * sizeof(rawhal_probe_point_t);
  entry.probe.kernel = (rawhal_string_t){0};
  if (head.content &&
      (status = index_add_content(reader, frame, head.content, entry.content.size, error)))
    return status;
  return list_add(&reader->probes, &entry, sizeof(entry)) ? RAWHAL_OK : index_no_memory(error);
}

rawhal_status_t index_take_probed(record_reader_t *reader, const frame_t *frame,
                                  rawhal_error_t *error)
{
  index_probed_t entry = {.frame = frame->offset};
  format_probed_t *head = &entry.head;
  rawhal_status_t status = index_take_head(frame, head, sizeof(*head), false, error);
  if (status != RAWHAL_OK)
    return status;
  if (!head->dispatch || head->dispatch > reader->dispatches.count || !head->probe ||
      head->probe > reader->probes.count)
    return index_malformed(frame, error,
                           "records of dispatch %" PRIu64 " and probe %" PRIu64
                           ", which do not stand before them",
                           head->dispatch, head->probe);
  const record_probe_t *probe = &INDEX_AT(reader->probes, index_probe_t, head->probe)->probe;
  if (!probe_layout(head, probe->counters, probe->event_bytes, &entry.layout) ||
      head->size != entry.layout.size || head->flags & ~(uint32_t)RECORD_PROBED_FLAGS ||
      head->allocations > RECORD_MOST_ALLOCATIONS || head->zero ||
      (head->events && !probe->event_bytes))
    return index_malformed(
        frame, error,
        "%u allocations with %u bytes of names, %u waves and %u events in %" PRIu64
        " bytes, flags 0x%x",
        head->allocations, head->names_size, head->waves, head->events, head->size, head->flags);
  if ((status = index_add_content(reader, frame, head->content, head->size, error)))
    return status;
  return list_add(&reader->probed, &entry, sizeof(entry)) ? RAWHAL_OK : index_no_memory(error);
}
