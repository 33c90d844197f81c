// Recordings that tests make: by the writer, and frame by frame with whatever in them.
#ifndef TESTS_RECORD_RECORDING_H
#define TESTS_RECORD_RECORDING_H

#include <cstring>
#include <string>
#include <vector>

extern "C" {
#include "record/format.h"
#include "record/sum.h"
}

namespace forge {

inline uint64_t sum_of(const std::string &bytes, uint64_t seed)
{
  return sum_bytes(bytes.data(), bytes.size(), seed);
}

template <typename T> std::string bytes_of(const T &value)
{
  return std::string(reinterpret_cast<const char *>(&value), sizeof(value));
}

constexpr uint64_t kSalt = 0x1234567890abcdef;

// A file whose checks are right, whatever its frames say.
class File {
public:
  explicit File(uint32_t version = FORMAT_VERSION)
  {
    format_header_t header = {};
    memcpy(header.magic, FORMAT_MAGIC, sizeof(header.magic));
    header.byte_order = FORMAT_BYTE_ORDER;
    header.version = version;
    header.bound = 1 << 20;
    header.salt = kSalt;
    header.process = 42;
    bytes = bytes_of(header);
    bytes.resize(offsetof(format_header_t, check));
    bytes += bytes_of(sum_of(bytes, 0));
  }

  File &frame(uint32_t type, const std::string &payload)
  {
    const format_frame_t frame = {type, static_cast<uint32_t>(payload.size()),
                                  sum_of(payload, kSalt), 0};
    std::string head = bytes_of(frame).substr(0, offsetof(format_frame_t, check));
    head += bytes_of(sum_of(head, kSalt + bytes.size()));
    frames.push_back(bytes.size());
    bytes += head + payload;
    return *this;
  }

  File &object(uint64_t number, uint64_t content, const std::string &code,
               rawhal_content_hash_t hash = {})
  {
    return frame(FORMAT_OBJECT,
                 bytes_of(format_object_t{number, content, hash.high, hash.low, code.size()}))
        .piece(content, 0, code);
  }

  File &piece(uint64_t content, uint64_t offset, const std::string &bytes_there)
  {
    return frame(FORMAT_PIECE, bytes_of(format_piece_t{content, offset}) + bytes_there);
  }

  File &dispatch(uint64_t number, uint64_t of_object, const std::string &kernel,
                 const std::string &kernargs)
  {
    const std::string device = "amdgcn-amd-amdhsa--gfx90a";
    format_dispatch_t head = {};
    head.dispatch = number;
    head.object = of_object;
    head.queue = 1;
    head.work_items[0] = 64;
    head.work_items[1] = head.work_items[2] = 1;
    head.workgroup[0] = 64;
    head.workgroup[1] = head.workgroup[2] = 1;
    head.device_size = static_cast<uint32_t>(device.size());
    head.kernel_size = static_cast<uint32_t>(kernel.size());
    head.kernargs_size = static_cast<uint32_t>(kernargs.size());
    return frame(FORMAT_DISPATCH, bytes_of(head) + device + kernel + kernargs);
  }

  File &buffer(uint64_t content, uint64_t of_dispatch, uint64_t address, uint64_t size,
               uint32_t when = 0, uint32_t flags = 0)
  {
    return frame(FORMAT_BUFFER,
                 bytes_of(format_buffer_t{content, of_dispatch, address, size, when, flags}));
  }

  File &again(uint64_t content, uint64_t offset, uint64_t of_piece)
  {
    return frame(FORMAT_AGAIN, bytes_of(format_again_t{content, offset, of_piece}));
  }

  File &place(uint64_t of_dispatch, uint64_t base, uint64_t size, uint64_t delta)
  {
    return frame(FORMAT_PLACE, bytes_of(format_place_t{of_dispatch, base, size, delta}));
  }

  File &note(uint64_t of_dispatch, uint32_t kind, uint32_t zero = 0)
  {
    return frame(FORMAT_NOTE, bytes_of(format_note_t{of_dispatch, kind, zero, 1, 2, 3}));
  }

  // A probed kernel with those points.
  File &probe(format_probe_t head, const std::string &kernel,
              const std::vector<rawhal_probe_point_t> &points)
  {
    head.points = static_cast<uint32_t>(points.size());
    head.name_size = static_cast<uint32_t>(kernel.size());
    frame(FORMAT_PROBE, bytes_of(head) + kernel);
    std::string all;
    for (const rawhal_probe_point_t &point : points)
      all += bytes_of(point);
    return all.empty() ? *this : piece(head.content, 0, all);
  }

  File &probed(format_probed_t head, const std::string &content)
  {
    head.size = content.size();
    return frame(FORMAT_PROBED, bytes_of(head)).piece(head.content, 0, content);
  }

  File &captured(uint64_t of_dispatch, uint32_t when, uint32_t buffers)
  {
    return frame(FORMAT_CAPTURED, bytes_of(format_captured_t{of_dispatch, when, buffers}));
  }

  File &end(uint64_t objects, uint64_t dispatches, uint32_t reason = RECORD_CLOSED,
            uint32_t code = 0)
  {
    return frame(FORMAT_END, bytes_of(format_end_t{reason, code, objects, dispatches}));
  }

  std::string bytes;
  std::vector<uint64_t> frames; // where they begin
};

// One of everything that the first version has.
inline File whole_of_version_1()
{
  File file(1);
  return file.object(1, 1, "code of an object")
      .dispatch(1, 1, "kernel", std::string(24, 'k'))
      .buffer(2, 1, 0x7f0000001000, 10)
      .buffer(3, 1, 0x7f0000002000, uint64_t{1} << 40, 0, FORMAT_LEFT_OUT)
      .piece(2, 0, "before")
      .piece(2, 6, "hand")
      .captured(1, RECORD_BEFORE, 2)
      .dispatch(2, 1, "other", "")
      .buffer(4, 1, 0x7f0000001000, 10, RECORD_AFTER)
      .piece(4, 0, "afterwards")
      .captured(1, RECORD_AFTER, 1)
      .end(1, 2);
}

// One of everything that the second version has, but for the end.
inline File most(uint32_t version)
{
  File file(version);
  return file.object(1, 1, "code of an object")
      .dispatch(1, 1, "kernel", std::string(24, 'k'))
      .place(1, 0x7f0000100000, 0x3000, 0x7f0000100000)
      .buffer(2, 1, 0x7f0000001000, 10)
      .buffer(3, 1, 0x7f0000002000, uint64_t{1} << 40, 0, FORMAT_LEFT_OUT)
      .piece(2, 0, "before")
      .piece(2, 6, "hand")
      .buffer(4, 1, 0x7f0000102000, 4, 0, FORMAT_SEGMENT)
      .piece(4, 0, "data")
      .captured(1, RECORD_BEFORE, 3)
      .note(1, 5)
      .dispatch(2, 1, "other", "")
      .buffer(5, 1, 0x7f0000001000, 10, RECORD_AFTER)
      .again(5, 0, 2)
      .piece(5, 6, "made")
      .captured(1, RECORD_AFTER, 1)
      .note(2, 77);
}

inline File whole_of_version_2()
{
  return most(2).end(1, 2);
}

// A kernel with a counter and events without lanes, which two points make.
inline format_probe_t one_probe(uint64_t content)
{
  format_probe_t head = {};
  head.probe = head.object = 1;
  head.content = content;
  head.entry = 0x1000;
  head.code_bytes = 64;
  head.kinds = RAWHAL_PROBE_BLOCKS | RAWHAL_PROBE_BARRIERS | RAWHAL_PROBE_WAVES;
  head.counters = 1;
  head.event_bytes = RECORD_EVENT_BYTES;
  return head;
}

inline std::vector<rawhal_probe_point_t> two_points()
{
  rawhal_probe_point_t block = {}, barrier = {};
  block.action = RAWHAL_PROBE_COUNT;
  block.block_bytes = 64;
  block.instructions = 16;
  barrier.offset = 32;
  barrier.action = RAWHAL_PROBE_ARRIVE;
  return {block, barrier};
}

// What a dispatch of it left: an allocation, the counter, a wave of two and an event of three.
inline format_probed_t one_probed(uint64_t content)
{
  format_probed_t head = {};
  head.dispatch = head.probe = 1;
  head.content = content;
  head.frequency = 100000000;
  head.waves = head.events = head.allocations = 1;
  head.names_size = 3;
  return head;
}

inline std::string one_content(rawhal_probe_header_t header = {2, 3, 1, 1, {}},
                               format_allocation_t allocation = {0x1000, 8, 16, 3})
{
  rawhal_probe_wave_t wave = {};
  rawhal_probe_event_t event = {};
  wave.start = 5;
  wave.end = 7;
  event.exec = 1;
  event.offset = 32;
  std::string all = bytes_of(allocation) + "out";
  all.resize(64);
  all += bytes_of(header) + bytes_of(uint64_t{9});
  all.resize(192);
  return all + bytes_of(wave) + bytes_of(event);
}

// One of everything.
inline File whole()
{
  return most(FORMAT_VERSION)
      .probe(one_probe(6), "kernel", two_points())
      .probed(one_probed(7), one_content())
      .end(1, 2);
}

} // namespace forge

#endif
