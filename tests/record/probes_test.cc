// What probes saw, written and read: all records, those that there is no room for, and files and memory that lie.
#include <functional>
#include <thread>
#include <tuple>

#include "tests/record/reading.h"

namespace {

using forge::bytes_of;

// What a dispatch left in a device's memory.
struct Left {
  std::string buffer, events;
  uint32_t wave_capacity = 0, event_capacity = 0;
  uint64_t asked[2] = {}; // how far was read
  bool fails = false;

  static rawhal_status_t read(void *left, record_probe_part_t part, uint64_t offset, void *to,
                              size_t size, rawhal_error_t *)
  {
    Left *self = static_cast<Left *>(left);
    const std::string &from = part == RECORD_PROBE_BUFFER ? self->buffer : self->events;
    EXPECT_LE(offset + size, from.size());
    EXPECT_LE(size, size_t{RECORD_PIECE});
    if (self->fails && offset)
      return RAWHAL_FAULT;
    from.copy(static_cast<char *>(to), size, offset);
    self->asked[part] = offset + size;
    return RAWHAL_OK;
  }

  record_probe_memory_t memory() { return {wave_capacity, event_capacity, read, this}; }
};

// `waves` and `events` that there were, in memory for as many as the capacities say.
Left left_of(uint32_t waves, uint32_t wave_capacity, uint32_t events, uint32_t event_capacity,
             uint32_t counters, bool lanes)
{
  Left left;
  left.wave_capacity = wave_capacity;
  left.event_capacity = event_capacity;
  left.buffer = bytes_of(rawhal_probe_header_t{waves, events, 77, 88, {1, 2, 3}});
  for (uint64_t i = 0; i < counters; ++i)
    left.buffer += bytes_of(i * i);
  left.buffer.resize((left.buffer.size() + 63) / 64 * 64);
  for (uint32_t i = 0; i < wave_capacity; ++i) {
    rawhal_probe_wave_t wave = {};
    wave.start = i;
    wave.first_item = 64 * i;
    wave.end = 2 * i + 1;
    left.buffer += bytes_of(wave);
  }
  for (uint32_t i = 0; i < event_capacity; ++i) {
    rawhal_probe_event_t event = {};
    event.exec = UINT64_MAX >> i % 64;
    event.wave = i;
    left.events += bytes_of(event);
    for (uint64_t lane = 0; lanes && lane < RAWHAL_PROBE_LANES; ++lane)
      left.events += bytes_of(lane + 64 * i);
  }
  return left;
}

class Probes : public testing::Test {
protected:
  ~Probes() override { std::ignore = record_writer_close(writer, nullptr); }

  // A file with an object, a dispatch and a probed kernel.
  void create(uint64_t bound = 0, uint32_t counters = 1, uint32_t event_bytes = 32)
  {
    const record_options_t options = {bound, 0};
    ASSERT_OK(record_writer_create(path.c_str(), &options, &writer, &error));
    uint64_t object;
    ASSERT_OK(record_writer_object(writer, {"code", 4}, &object, &error));
    probe.object = object;
    probe.kernel = {"kernel", 6};
    probe.kinds = RAWHAL_PROBE_BLOCKS;
    probe.maker = RECORD_MADE_BY_DEVICE;
    probe.code_bytes = 64;
    probe.counters = counters;
    probe.event_bytes = event_bytes;
    probe.points = points.data();
    probe.point_count = static_cast<uint32_t>(points.size());
    ASSERT_OK(record_writer_probe(writer, &probe, &probed.probe, &error));
    record_dispatch_t dispatch = {};
    dispatch.object = object;
    dispatch.kernel = probe.kernel;
    ASSERT_OK(record_writer_dispatch(writer, &dispatch, &probed.dispatch, &error));
  }

  rawhal_status_t write(Left &left)
  {
    const record_probe_memory_t memory = left.memory();
    return record_writer_probed(writer, &probed, &memory, &written, &error);
  }

  // Closes the file; what the records of that number have.
  std::vector<std::string> read(uint64_t number = 1)
  {
    std::vector<std::string> lines;
    rawhal_status_t status = record_writer_close(writer, nullptr);
    writer = nullptr;
    reader = open_reader(path, &status, &error);
    EXPECT_OK(status);
    if (reader)
      EXPECT_OK(take_lines(reader.get(), number, &lines, &error));
    return lines;
  }

  Scratch scratch;
  std::string path = scratch / "recording";
  std::vector<rawhal_probe_point_t> points = forge::two_points();
  rawhal_error_t error;
  record_writer_t *writer = nullptr;
  record_probe_t probe = {};
  record_probed_t probed = {};
  record_probe_written_t written;
  Reader reader;
};

TEST_F(Probes, AllOfThem)
{
  // Larger than a piece, of events that no piece's end is a multiple of.
  create(0, 1001, RECORD_EVENT_LANES_BYTES);
  Left left = left_of(700, 1000, 1200, 2000, 1001, true);
  const record_allocation_t allocations[] = {{0x7f0000000000, 4096, 8, {"in", 2}},
                                             {0x7f0000100000, 8192, RECORD_NO_ARGUMENT, {}},
                                             {0x7f0000200000, 1, 16, {"out", 3}}};
  probed.flags = RECORD_PROBED_HOST_TIME;
  probed.frequency = 100000000;
  probed.allocations = allocations;
  probed.allocation_count = 3;
  ASSERT_OK(write(left));
  EXPECT_EQ(700u, written.waves);
  EXPECT_EQ(1200u, written.events);
  EXPECT_EQ(0u, written.lost_waves + written.lost_events);
  EXPECT_EQ(left.buffer.size() - 300 * 64, left.asked[RECORD_PROBE_BUFFER]) << "what is used";
  EXPECT_EQ(uint64_t{1200} * 544, left.asked[RECORD_PROBE_EVENTS]);
  const std::vector<std::string> lines = read();
  ASSERT_EQ(size_t{3 + 1 + 1001 + 700 + 1200}, lines.size());
  EXPECT_EQ("allocation 0 139637976727552+4096 8 in", lines[0]);
  EXPECT_EQ("allocation 1 139637977776128+8192 4294967295 ", lines[1]);
  EXPECT_EQ("allocation 2 139637978824704+1 16 out", lines[2]);
  EXPECT_EQ("header 700/1000 1200/2000", lines[3]) << "the capacities are those of its maker";
  EXPECT_EQ("counter 1000 1000000", lines[4 + 1000]);
  const size_t waves = 64 + (8 * 1001 + 63) / 64 * 64;
  for (size_t i = 0; i < 700; ++i)
    ASSERT_EQ("wave " + std::to_string(i) + " " + left.buffer.substr(waves + 64 * i, 64),
              lines[1005 + i]);
  for (size_t i = 0; i < 1200; ++i)
    ASSERT_EQ("event " + std::to_string(i) + " " + left.events.substr(544 * i, 544),
              lines[1705 + i]);
  record_records_t records;
  ASSERT_TRUE(record_reader_records(reader.get(), 1, &records));
  EXPECT_EQ(uint32_t{RECORD_PROBED_HOST_TIME}, records.flags);
  EXPECT_EQ(uint64_t{100000000}, records.frequency);
  record_probe_t read_back;
  ASSERT_OK(record_reader_probe(reader.get(), 1, &read_back, &error));
  EXPECT_EQ("kernel", text(read_back.kernel.data, read_back.kernel.size));
  EXPECT_EQ(RECORD_MADE_BY_DEVICE, read_back.maker);
  std::vector<rawhal_probe_point_t> read_points(read_back.point_count);
  ASSERT_OK(record_reader_points(reader.get(), 1, read_points.data(), &error));
  ASSERT_EQ(points.size(), read_points.size());
  EXPECT_EQ(0, memcmp(points.data(), read_points.data(), sizeof(points[0]) * points.size()));
}

TEST_F(Probes, WhatMemoryHadNoRoomForIsCounted)
{
  create();
  Left left = left_of(1u << 31, 3, UINT32_MAX, 5, 1, false);
  ASSERT_OK(write(left));
  EXPECT_EQ(3u, written.waves);
  EXPECT_EQ(5u, written.events);
  EXPECT_EQ((1u << 31) - 3, written.lost_waves);
  EXPECT_EQ(UINT32_MAX - 5, written.lost_events);
  const std::vector<std::string> lines = read();
  EXPECT_EQ("header 2147483648/3 4294967295/5", lines[0]);
  EXPECT_EQ(size_t{1 + 1 + 3 + 5}, lines.size());
}

TEST_F(Probes, WithoutEventsAndPoints)
{
  points.clear();
  create(0, 0, 0);
  Left left = left_of(2, 2, 9, 9, 0, false); // the count of events is somebody's accident
  ASSERT_OK(write(left));
  EXPECT_EQ(uint64_t{0}, left.asked[RECORD_PROBE_EVENTS]);
  EXPECT_EQ(size_t{1 + 2}, read().size());
  rawhal_probe_point_t none;
  EXPECT_OK(record_reader_points(reader.get(), 1, &none, &error));
  EXPECT_EQ(RAWHAL_NOT_FOUND, record_reader_points(reader.get(), 2, &none, &error));
}

// The file's bound takes events and then waves; the file goes on.
TEST_F(Probes, WhatTheFileHasNoRoomForIsLostAndCounted)
{
  for (uint64_t bound : {1500, 2500, 3000, 300000, 900000}) {
    SCOPED_TRACE(bound);
    create(bound);
    Left left = left_of(20, 20, 50000, 50000, 1, false);
    ASSERT_OK(write(left));
    EXPECT_GT(50000u, written.events);
    EXPECT_EQ(50000u, written.events + written.lost_events);
    EXPECT_EQ(20u, written.waves + written.lost_waves);
    EXPECT_TRUE(!written.lost_waves || !written.events);
    record_writer_info_t info;
    record_writer_info(writer, &info);
    EXPECT_EQ(RECORD_UNFINISHED, info.end);
    EXPECT_LE(info.bytes, bound);
    EXPECT_LE(bound - info.bytes, 300u) << "and it is used";
    EXPECT_EQ(size_t{2} + written.waves + written.events, read().size());
    ASSERT_EQ(0, unlink(path.c_str()));
  }
}

TEST_F(Probes, NamesAreCut)
{
  create();
  Left left = left_of(0, 0, 0, 0, 1, false);
  std::string name(RECORD_MOST_ARGUMENT_NAME - 1, 'n');
  name += "\u20ac"; // it is not cut in two
  const record_allocation_t allocation = {0x1000, 8, 0, {name.data(), name.size()}};
  probed.allocations = &allocation;
  probed.allocation_count = 1;
  ASSERT_OK(write(left));
  EXPECT_EQ("allocation 0 4096+8 0 " + std::string(RECORD_MOST_ARGUMENT_NAME - 1, 'n'), read()[0]);
}

TEST_F(Probes, WrongCalls)
{
  create();
  uint64_t number;
  auto refused = [&](record_probe_t wrong) {
    return record_writer_probe(writer, &wrong, &number, &error);
  };
  record_probe_t wrong = probe;
  wrong.object = 2;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, refused(wrong));
  wrong = probe;
  wrong.event_bytes = 33;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, refused(wrong));
  wrong = probe;
  wrong.counters = 0; // one counts
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, refused(wrong));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, error.status);
  wrong = probe;
  wrong.code_bytes = 32;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, refused(wrong));
  std::swap(points[0], points[1]);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, refused(probe));
  wrong = probe;
  wrong.kernel.size = RECORD_MOST_NAME + 1;
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, refused(wrong));

  Left left = left_of(1, 1, 0, 0, 1, false);
  const record_probed_t good = probed;
  probed.dispatch = 2;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, write(left));
  probed = good;
  probed.probe = 2;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, write(left));
  probed = good;
  probed.flags = 4;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, write(left));
  probed = good;
  const record_allocation_t nowhere = {UINT64_MAX, 2, 0, {}};
  probed.allocations = &nowhere;
  probed.allocation_count = 1;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, write(left));
  probed.allocation_count = RECORD_MOST_ALLOCATIONS + 1;
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, write(left));
  probed = good;
  left.fails = true;
  EXPECT_EQ(RAWHAL_FAULT, write(left));
  left.fails = false;
  ASSERT_OK(write(left));
  EXPECT_EQ(size_t{3}, read(2).size()) << "the first does not count";
  std::vector<std::string> lines;
  EXPECT_EQ(RAWHAL_NOT_FOUND, take_lines(reader.get(), 1, &lines, &error));
  EXPECT_EQ(RAWHAL_NOT_FOUND, take_lines(reader.get(), 3, &lines, &error));
  EXPECT_EQ(size_t{0}, lines.size());
}

TEST_F(Probes, SeveralThreads)
{
  create(0, 1, RECORD_EVENT_LANES_BYTES);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (uint32_t n = 0; n < 8; ++n) {
        Left left = left_of(i, i, 600 + i, 600 + i, 1, true);
        const record_probe_memory_t memory = left.memory();
        EXPECT_OK(record_writer_probed(writer, &probed, &memory, nullptr, nullptr));
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  std::vector<size_t> counts = {0, 0, 0, 0};
  std::vector<std::string> lines = read();
  for (uint64_t number = 1; number <= 32; ++number) {
    record_records_t records;
    ASSERT_TRUE(record_reader_records(reader.get(), number, &records));
    ASSERT_GT(4u, records.waves);
    ++counts[records.waves];
    lines.clear();
    ASSERT_OK(take_lines(reader.get(), number, &lines, &error));
    EXPECT_EQ(size_t{2 + 600} + 2 * records.waves, lines.size());
  }
  EXPECT_EQ((std::vector<size_t>{8, 8, 8, 8}), counts);
}

// Files whose checks are right, whatever they say.
class Forged : public testing::Test {
protected:
  rawhal_status_t open(const forge::File &file)
  {
    rawhal_status_t status;
    spit(path, file.bytes.data(), file.bytes.size());
    reader = open_reader(path, &status, &error);
    return status;
  }

  void expect_refused(const forge::File &file, const std::string &words)
  {
    EXPECT_EQ(RAWHAL_MALFORMED, open(file)) << words;
    EXPECT_NE(std::string::npos, std::string(error.message).find(words)) << error.message;
    EXPECT_EQ(file.frames.back(), error.offset);
  }

  // Its head alone.
  forge::File with(const std::function<void(format_probe_t &)> &change)
  {
    format_probe_t head = forge::one_probe(6);
    head.points = 2;
    change(head);
    return forge::File(most).frame(FORMAT_PROBE, bytes_of(head));
  }

  forge::File with_records(const std::function<void(format_probed_t &)> &change)
  {
    format_probed_t head = forge::one_probed(7);
    head.size = forge::one_content().size();
    change(head);
    return forge::File(most)
        .probe(forge::one_probe(6), "kernel", forge::two_points())
        .frame(FORMAT_PROBED, bytes_of(head));
  }

  // All that there is of a file with that content.
  rawhal_status_t take(const std::string &content)
  {
    format_probed_t head = forge::one_probed(7);
    EXPECT_EQ(RAWHAL_OK, open(forge::File(most)
                                  .probe(forge::one_probe(6), "kernel", forge::two_points())
                                  .probed(head, content)))
        << error.message;
    std::vector<std::string> lines;
    return reader ? take_lines(reader.get(), 1, &lines, &error) : RAWHAL_RUNTIME;
  }

  Scratch scratch;
  std::string path = scratch / "recording";
  const forge::File most = forge::most(FORMAT_VERSION);
  rawhal_error_t error;
  Reader reader;
};

TEST_F(Forged, Heads)
{
  EXPECT_EQ(RAWHAL_OK, open(with([](format_probe_t &) {}))) << error.message;
  expect_refused(with([](format_probe_t &head) { head.probe = 2; }), "comes after 0");
  expect_refused(with([](format_probe_t &head) { head.object = 0; }), "of code object 0");
  expect_refused(with([](format_probe_t &head) { head.object = 2; }), "of code object 2");
  expect_refused(with([](format_probe_t &head) { head.content = 7; }), "content 7");
  expect_refused(with([](format_probe_t &head) { head.content = 0; }), "2 points");
  expect_refused(with([](format_probe_t &head) { head.points = 0; }), "0 points");
  expect_refused(with([](format_probe_t &head) { head.points = UINT32_MAX; }), "4294967295 points");
  expect_refused(with([](format_probe_t &head) { head.counters = RECORD_MOST_COUNTERS + 1; }),
                 "counters");
  expect_refused(with([](format_probe_t &head) { head.event_bytes = 64; }), "events of 64 bytes");
  expect_refused(with([](format_probe_t &head) { head.maker = 2; }), "maker 2");
  expect_refused(with([](format_probe_t &head) { head.zero = 1; }), "probe 1");
  expect_refused(with([](format_probe_t &head) { head.name_size = 1; }), "1 bytes of name");

  EXPECT_EQ(RAWHAL_OK, open(with_records([](format_probed_t &) {}))) << error.message;
  expect_refused(with_records([](format_probed_t &head) { head.dispatch = 3; }), "dispatch 3");
  expect_refused(with_records([](format_probed_t &head) { head.dispatch = 0; }), "dispatch 0");
  expect_refused(with_records([](format_probed_t &head) { head.probe = 2; }), "probe 2");
  expect_refused(with_records([](format_probed_t &head) { head.content = 6; }), "content 6");
  expect_refused(with_records([](format_probed_t &head) { ++head.size; }), "in 289 bytes");
  expect_refused(with_records([](format_probed_t &head) { head.waves = UINT32_MAX; }),
                 "4294967295 waves");
  expect_refused(with_records([](format_probed_t &head) { head.names_size = 100; }), "of names");
  expect_refused(with_records([](format_probed_t &head) { head.flags = 4; }), "flags 0x4");
  expect_refused(with_records([](format_probed_t &head) { head.zero = 1; }), "1 allocations");
  expect_refused(with_records([](format_probed_t &head) {
                   head.allocations = RECORD_MOST_ALLOCATIONS + 1;
                   head.size = (RECORD_MOST_ALLOCATIONS + 4) / 8 * 8 * 24 + 64 + 64 + 64 + 64 + 32;
                 }),
                 "65537 allocations");
}

TEST_F(Forged, PointsAndRecords)
{
  std::vector<rawhal_probe_point_t> points = forge::two_points(), read(2);
  std::swap(points[0], points[1]);
  ASSERT_EQ(RAWHAL_OK, open(forge::File(most).probe(forge::one_probe(6), "k", points)));
  EXPECT_EQ(RAWHAL_MALFORMED, record_reader_points(reader.get(), 1, read.data(), &error));
  points = forge::two_points();
  points[0].counter = 1;
  ASSERT_EQ(RAWHAL_OK, open(forge::File(most).probe(forge::one_probe(6), "k", points)));
  EXPECT_EQ(RAWHAL_MALFORMED, record_reader_points(reader.get(), 1, read.data(), &error));

  EXPECT_OK(take(forge::one_content()));
  EXPECT_EQ(RAWHAL_MALFORMED, take(forge::one_content({0, 3, 1, 1, {}})));
  EXPECT_EQ(RAWHAL_MALFORMED, take(forge::one_content({2, 0, 1, 1, {}})));
  EXPECT_EQ(RAWHAL_MALFORMED, take(forge::one_content({2, 3, 0, 1, {}})));
  EXPECT_EQ(RAWHAL_MALFORMED, take(forge::one_content({2, 3, 1, 0, {}})));
  EXPECT_EQ(RAWHAL_MALFORMED, take(forge::one_content({2, 3, 1, 1, {}}, {0x1000, 8, 16, 4})));
  EXPECT_EQ(RAWHAL_MALFORMED, take(forge::one_content({2, 3, 1, 1, {}}, {0x1000, 0, 16, 3})));
  EXPECT_EQ(RAWHAL_MALFORMED, take(forge::one_content({2, 3, 1, 1, {}}, {UINT64_MAX, 2, 16, 3})));
}

} // namespace
