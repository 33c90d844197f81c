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
  return lines;
}

#endif
