// What a recording has, in values that can be compared.
#ifndef TESTS_RECORD_READING_H
#define TESTS_RECORD_READING_H

#include <memory>

#include "tests/assert_ok.h"
#include "tests/record/recording.h"
#include "tests/tools/process.h"

extern "C" {
#include "record/reader.h"
#include "record/writer.h"
}

struct ReaderDeleter {
  void operator()(record_reader_t *reader) const { record_reader_close(reader); }
};
using Reader = std::unique_ptr<record_reader_t, ReaderDeleter>;

inline Reader open_reader(const std::string &path, rawhal_status_t *status, rawhal_error_t *error)
{
  record_reader_t *reader = nullptr;
  *status = record_reader_open(path.c_str(), &reader, error);
  return Reader(reader);
}

inline std::string text(const void *bytes, size_t size)
{
  return size ? std::string(static_cast<const char *>(bytes), size) : std::string();
}

inline rawhal_status_t append_to(void *to, uint64_t offset, const void *bytes, size_t size,
                                 rawhal_error_t *)
{
  std::string *string = static_cast<std::string *>(to);
  EXPECT_EQ(string->size(), offset);
  EXPECT_LE(size, size_t{RECORD_PIECE});
  string->append(static_cast<const char *>(bytes), size);
  return RAWHAL_OK;
}

inline std::string line_of(const record_place_t &place)
{
  return "place " + std::to_string(place.base) + "+" + std::to_string(place.size) + " " +
         std::to_string(place.delta);
}

inline std::string line_of(const record_note_t &note)
{
  return "note " + std::to_string(note.kind) + " " + std::to_string(note.count) + " " +
         std::to_string(note.at) + " " + std::to_string(note.value);
}

inline rawhal_status_t take_allocation(void *lines, uint32_t number,
                                       const record_allocation_t *allocation, rawhal_error_t *)
{
  static_cast<std::vector<std::string> *>(lines)->push_back(
      "allocation " + std::to_string(number) + " " + std::to_string(allocation->address) + "+" +
      std::to_string(allocation->size) + " " + std::to_string(allocation->argument) + " " +
      text(allocation->name.data, allocation->name.size));
  return RAWHAL_OK;
}

inline rawhal_status_t take_header(void *lines, const rawhal_probe_header_t *header,
                                   rawhal_error_t *)
{
  static_cast<std::vector<std::string> *>(lines)->push_back(
      "header " + std::to_string(header->waves) + "/" + std::to_string(header->wave_capacity) +
      " " + std::to_string(header->events) + "/" + std::to_string(header->event_capacity));
  return RAWHAL_OK;
}

inline rawhal_status_t take_counter(void *lines, uint32_t number, uint64_t value, rawhal_error_t *)
{
  static_cast<std::vector<std::string> *>(lines)->push_back("counter " + std::to_string(number) +
                                                            " " + std::to_string(value));
  return RAWHAL_OK;
}

inline rawhal_status_t take_wave(void *lines, uint32_t number, const rawhal_probe_wave_t *wave,
                                 rawhal_error_t *)
{
  static_cast<std::vector<std::string> *>(lines)->push_back("wave " + std::to_string(number) + " " +
                                                            forge::bytes_of(*wave));
  return RAWHAL_OK;
}

inline rawhal_status_t take_event(void *lines, uint32_t number, const rawhal_probe_event_t *event,
                                  const uint64_t *lanes, rawhal_error_t *)
{
  static_cast<std::vector<std::string> *>(lines)->push_back(
      "event " + std::to_string(number) + " " + forge::bytes_of(*event) +
      (lanes ? text(lanes, RAWHAL_PROBE_LANES_BYTES) : ""));
  return RAWHAL_OK;
}

// All that the records of a number have, in order.
inline rawhal_status_t take_lines(record_reader_t *reader, uint64_t number,
                                  std::vector<std::string> *lines, rawhal_error_t *error)
{
  const record_take_records_t take = {take_allocation, take_header, take_counter,
                                      take_wave,       take_event,  lines};
  return record_reader_take(reader, number, &take, error);
}

inline void probe_lines_of(record_reader_t *reader, std::vector<std::string> *lines)
{
  rawhal_error_t error;
  for (uint64_t i = 1; i <= record_reader_info(reader)->probes; ++i) {
    record_probe_t probe;
    EXPECT_OK(record_reader_probe(reader, i, &probe, &error));
    lines->push_back("probe of " + std::to_string(probe.object) + " " +
                     text(probe.kernel.data, probe.kernel.size) + " by " +
                     std::to_string(probe.maker) + " " + std::to_string(probe.kinds) + " at " +
                     std::to_string(probe.entry) + "+" + std::to_string(probe.code_bytes) + " " +
                     std::to_string(probe.counters) + " " + std::to_string(probe.event_bytes));
    std::vector<rawhal_probe_point_t> points(probe.point_count);
    const rawhal_status_t status = record_reader_points(reader, i, points.data(), &error);
    EXPECT_TRUE(status == RAWHAL_OK || status == RAWHAL_NOT_FOUND) << error.message;
    for (const rawhal_probe_point_t &point : points)
      if (status == RAWHAL_OK)
        lines->push_back("point " + forge::bytes_of(point));
  }
  for (uint64_t i = 1; i <= record_reader_info(reader)->probed; ++i) {
    record_records_t records;
    EXPECT_TRUE(record_reader_records(reader, i, &records));
    lines->push_back("probed " + std::to_string(records.dispatch) + " by " +
                     std::to_string(records.probe) + " " + std::to_string(records.flags) + " " +
                     std::to_string(records.frequency));
    if (records.content.whole)
      EXPECT_OK(take_lines(reader, i, lines, &error));
  }
}

// All of a file as lines of text, each of one thing: two files say the same if their lines are equal.
inline std::vector<std::string> lines_of(record_reader_t *reader)
{
  rawhal_error_t error;
  std::vector<std::string> lines;
  const record_reader_info_t *info = record_reader_info(reader);
  for (uint64_t i = 1; i <= info->objects; ++i) {
    const record_object_t *object = record_reader_object(reader, i);
    std::string code;
    if (object->content.whole)
      EXPECT_OK(record_reader_content(reader, &object->content, append_to, &code, &error));
    lines.push_back("object " + code);
  }
  for (uint64_t i = 1; i <= info->dispatches; ++i) {
    record_dispatch_t d;
    EXPECT_OK(record_reader_dispatch(reader, i, &d, &error));
    std::string line =
        "dispatch of " + std::to_string(d.object) + " on " + text(d.device.data, d.device.size) +
        ", " + text(d.kernel.data, d.kernel.size) + ", queue " + std::to_string(d.queue) + ", ";
    for (int at = 0; at < 3; ++at)
      line += std::to_string(d.work_items[at]) + "/" + std::to_string(d.workgroup[at]) + " ";
    line += std::to_string(d.dynamic_group_bytes) + " " + std::to_string(d.private_bytes) + " ";
    lines.push_back(line + text(d.kernargs.data, d.kernargs.size));
    record_place_t place;
    if (record_reader_place(reader, i, &place))
      lines.push_back(line_of(place));
    const record_notes_t notes = record_reader_notes(reader, i);
    for (size_t n = 0; n < notes.count; ++n)
      lines.push_back(line_of(notes.notes[n]));
    for (record_when_t when : {RECORD_BEFORE, RECORD_AFTER}) {
      record_buffers_t buffers = record_reader_buffers(reader, i, when);
      for (size_t b = 0; b < buffers.count; ++b) {
        const record_buffer_t &buffer = buffers.buffers[b];
        std::string content;
        if (buffer.content.whole)
          EXPECT_OK(record_reader_content(reader, &buffer.content, append_to, &content, &error));
        lines.push_back((when == RECORD_BEFORE ? "before " : "after ") +
                        std::to_string(buffer.address) + "+" + std::to_string(buffer.content.size) +
                        (buffer.left_out ? " left out " : " ") +
                        (buffer.segment ? "segment " : "") + content);
      }
      if (buffers.all)
        lines.push_back("all");
    }
  }
  probe_lines_of(reader, &lines);
  return lines;
}

#endif
