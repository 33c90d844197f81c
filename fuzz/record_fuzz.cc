// Any bytes as a recording, as they are and with checks that are right, as who makes one on purpose can have them: it
// is read at a cost that the bytes account for, and what is found in it holds together.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "budget.h"

extern "C" {
#include "record/format.h"
#include "record/reader.h"
#include "record/sum.h"
}

namespace {

volatile uint8_t sum; // what reads them stays

void check(bool right)
{
  if (!right)
    __builtin_trap();
}

void touch(const void *data, size_t size)
{
  for (size_t i = 0; i < size; ++i)
    sum = sum + static_cast<const uint8_t *>(data)[i];
}

rawhal_status_t take(void *next, uint64_t offset, const void *bytes, size_t size, rawhal_error_t *)
{
  uint64_t *expected = static_cast<uint64_t *>(next);
  check(offset == *expected && size && size <= RECORD_PIECE);
  *expected += size;
  touch(bytes, size);
  return RAWHAL_OK;
}

void read_content(record_reader_t *reader, const record_content_t &content)
{
  uint64_t next = 0;
  const rawhal_status_t status = record_reader_content(reader, &content, take, &next, nullptr);
  check(content.whole ? status == RAWHAL_OK && next == content.size
                      : status == RAWHAL_NOT_FOUND && !next);
}

// Buffers that do not overlap, as a replay takes them, have no more bytes than the file; many dispatches may each have
// the same ones, so that `left` says how many are read.
void read_buffers(record_reader_t *reader, uint64_t dispatch, record_when_t when, size_t size,
                  size_t *left)
{
  std::map<uint64_t, uint64_t> whole;
  const record_buffers_t buffers = record_reader_buffers(reader, dispatch, when);
  for (size_t i = 0; i < buffers.count; ++i) {
    const record_buffer_t &buffer = buffers.buffers[i];
    check(buffer.content.size && buffer.address + buffer.content.size > buffer.address);
    check(!buffers.all || buffer.content.whole != buffer.left_out);
    if (buffer.content.whole)
      whole[buffer.address] = buffer.content.size;
    if (buffer.content.size > *left)
      continue;
    *left -= buffer.content.whole ? static_cast<size_t>(buffer.content.size) : 0;
    read_content(reader, buffer.content);
  }
  uint64_t end = 0, sum_of_all = 0;
  bool overlap = false;
  for (const auto &range : whole) {
    overlap |= range.first < end;
    end = range.first + range.second;
    sum_of_all += overlap ? 0 : range.second;
  }
  check(overlap || sum_of_all <= size);
}

void read_notes(const record_reader_t *reader, uint64_t dispatch)
{
  char text[240];
  record_place_t place;
  const record_notes_t notes = record_reader_notes(reader, dispatch);
  for (size_t i = 0; i < notes.count; ++i) {
    record_note_text(&notes.notes[i], text, sizeof(text));
    check(notes.notes[i].kind && strlen(text) && strlen(record_note_name(notes.notes[i].kind)));
  }
  if (record_reader_place(reader, dispatch, &place))
    check(place.size && place.base + place.size > place.base);
}

// What of a dispatch's records is expected next.
struct Records {
  record_records_t records;
  uint32_t allocations, headers, counters, waves, events;
};

rawhal_status_t take_allocation(void *records, uint32_t number,
                                const record_allocation_t *allocation, rawhal_error_t *)
{
  Records *self = static_cast<Records *>(records);
  check(number == self->allocations++ && allocation->size &&
        allocation->address + allocation->size > allocation->address);
  touch(allocation->name.data, allocation->name.size);
  return RAWHAL_OK;
}

rawhal_status_t take_header(void *records, const rawhal_probe_header_t *header, rawhal_error_t *)
{
  Records *self = static_cast<Records *>(records);
  check(!self->headers++ && self->allocations == self->records.allocations &&
        header->waves >= self->records.waves && header->events >= self->records.events);
  return RAWHAL_OK;
}

rawhal_status_t take_counter(void *records, uint32_t number, uint64_t, rawhal_error_t *)
{
  Records *self = static_cast<Records *>(records);
  check(self->headers && number == self->counters++);
  return RAWHAL_OK;
}

rawhal_status_t take_wave(void *records, uint32_t number, const rawhal_probe_wave_t *wave,
                          rawhal_error_t *)
{
  Records *self = static_cast<Records *>(records);
  check(self->counters == self->records.counters && number == self->waves++);
  touch(wave, sizeof(*wave));
  return RAWHAL_OK;
}

rawhal_status_t take_event(void *records, uint32_t number, const rawhal_probe_event_t *event,
                           const uint64_t *lanes, rawhal_error_t *)
{
  Records *self = static_cast<Records *>(records);
  check(self->waves == self->records.waves && number == self->events++);
  touch(event, sizeof(*event));
  if (lanes)
    touch(lanes, RAWHAL_PROBE_LANES_BYTES);
  return RAWHAL_OK;
}

void read_records(record_reader_t *reader, uint64_t number)
{
  Records all = {};
  check(record_reader_records(reader, number, &all.records));
  const record_take_records_t take = {take_allocation, take_header, take_counter,
                                      take_wave,       take_event,  &all};
  const rawhal_status_t status = record_reader_take(reader, number, &take, nullptr);
  check(status == RAWHAL_OK || status == RAWHAL_MALFORMED ||
        (status == RAWHAL_NOT_FOUND && !all.records.content.whole));
  if (status == RAWHAL_OK)
    check(all.headers == 1 && all.allocations == all.records.allocations &&
          all.counters == all.records.counters && all.waves == all.records.waves &&
          all.events == all.records.events);
}

void read_probes(record_reader_t *reader, size_t size)
{
  const record_reader_info_t *info = record_reader_info(reader);
  check(!(info->probes + info->probed) || info->version >= 3);
  for (uint64_t i = 1; i <= info->probes; ++i) {
    record_probe_t probe;
    check(record_reader_probe(reader, i, &probe, nullptr) == RAWHAL_OK);
    touch(probe.kernel.data, probe.kernel.size);
    if (probe.point_count * sizeof(rawhal_probe_point_t) > size)
      continue;
    std::vector<rawhal_probe_point_t> points(probe.point_count);
    const rawhal_status_t status = record_reader_points(reader, i, points.data(), nullptr);
    check(status == RAWHAL_OK || status == RAWHAL_MALFORMED || status == RAWHAL_NOT_FOUND);
  }
  for (uint64_t i = 1; i <= info->probed; ++i)
    read_records(reader, i);
}

void read_all(record_reader_t *reader, size_t size)
{
  size_t left = 2 * size;
  const record_reader_info_t *info = record_reader_info(reader);
  check(info->bytes + info->torn == size && (info->end == RECORD_TORN) == (info->torn || !size));
  for (uint64_t i = 1; i <= info->objects; ++i) {
    const record_object_t *object = record_reader_object(reader, i);
    if (object->content.whole) {
      check(object->content.size <= size);
      std::vector<char> bytes(object->content.size);
      const rawhal_status_t status = record_reader_object_bytes(reader, i, bytes.data(), nullptr);
      check(status == RAWHAL_OK || status == RAWHAL_MALFORMED);
    }
  }
  for (uint64_t i = 1; i <= info->dispatches; ++i) {
    record_dispatch_t dispatch;
    check(record_reader_dispatch(reader, i, &dispatch, nullptr) == RAWHAL_OK);
    touch(dispatch.device.data, dispatch.device.size);
    touch(dispatch.kernel.data, dispatch.kernel.size);
    touch(dispatch.kernargs.data, dispatch.kernargs.size);
    check(record_reader_object(reader, dispatch.object)->content.whole);
    read_buffers(reader, i, RECORD_BEFORE, size, &left);
    read_buffers(reader, i, RECORD_AFTER, size, &left);
    read_notes(reader, i);
  }
  read_probes(reader, size);
}

void read_file(int file, const std::string &bytes)
{
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) ||
      pwrite(file, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    abort();
  record_reader_t *reader = nullptr;
  rawhal_error_t error = {};
  const rawhal_status_t status = record_reader_open(path.c_str(), &reader, &error);
  check((status == RAWHAL_OK) == (reader != nullptr));
  if (reader)
    read_all(reader, bytes.size());
  else
    check(status == RAWHAL_MALFORMED || status == RAWHAL_UNSUPPORTED);
  check(status == RAWHAL_OK || error.offset <= bytes.size());
  record_reader_close(reader);
}

// The checks of the header, and of the frames as far as there are any.
void seal(std::string &bytes)
{
  format_header_t header;
  if (bytes.size() < sizeof(header))
    return;
  memcpy(&header, bytes.data(), sizeof(header));
  memcpy(header.magic, FORMAT_MAGIC, sizeof(header.magic));
  header.byte_order = FORMAT_BYTE_ORDER;
  header.version =
      header.version && header.version < FORMAT_VERSION ? header.version : FORMAT_VERSION;
  header.check = sum_bytes(&header, offsetof(format_header_t, check), 0);
  memcpy(&bytes[0], &header, sizeof(header));
  format_frame_t frame;
  for (size_t at = sizeof(header); bytes.size() - at >= sizeof(frame);) {
    memcpy(&frame, &bytes[at], sizeof(frame));
    const size_t behind = bytes.size() - at - sizeof(frame);
    if (frame.size <= behind)
      frame.payload_check = sum_bytes(&bytes[at] + sizeof(frame), frame.size, header.salt);
    frame.check = sum_bytes(&frame, offsetof(format_frame_t, check), header.salt + at);
    memcpy(&bytes[at], &frame, sizeof(frame));
    if (frame.size > behind)
      break;
    at += sizeof(frame) + frame.size;
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const int file = memfd_create("recording", MFD_CLOEXEC);
  std::string bytes(reinterpret_cast<const char *>(data), size), sealed = bytes;
  seal(sealed);
  Budget budget(budget_begin(100000 + 400 * size, 65536 + 16 * size));
  read_file(file, bytes);
  read_file(file, sealed);
  return 0;
}
