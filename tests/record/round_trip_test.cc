// What is written is read: random recordings, by one thread and by several, against what was asked for.
#include <mutex>
#include <random>
#include <thread>

#include "library/library.h"
#include "tests/record/reading.h"

namespace {

using Random = std::mt19937;

size_t below(Random &random, size_t most)
{
  return std::uniform_int_distribution<size_t>(0, most - 1)(random);
}

std::string some_bytes(Random &random, size_t size)
{
  std::string bytes(size, 0);
  for (char &byte : bytes)
    byte = static_cast<char>(random());
  return bytes;
}

// Memory that is recorded: its ranges' contents.
struct Memory {
  std::vector<record_range_t> ranges;
  std::vector<std::string> contents;

  static rawhal_status_t read(void *memory, const record_range_t *range, uint64_t offset, void *to,
                              size_t size, rawhal_error_t *)
  {
    Memory *self = static_cast<Memory *>(memory);
    const size_t index = static_cast<size_t>(range - self->ranges.data());
    memcpy(to, self->contents[index].data() + offset, size);
    return RAWHAL_OK;
  }
};

Memory some_memory(Random &random)
{
  static const size_t sizes[] = {1,     7, 4096, RECORD_PIECE - 1, RECORD_PIECE, RECORD_PIECE + 1,
                                 600000};
  Memory memory;
  for (size_t i = below(random, 4); i--;) {
    memory.contents.push_back(some_bytes(random, sizes[below(random, 7)]));
    memory.ranges.push_back(
        {0x7f0000000000 + random(), memory.contents.back().size(), !below(random, 4), false});
  }
  return memory;
}

class RoundTrip : public testing::Test {
protected:
  record_writer_t *create(const record_options_t *options = nullptr)
  {
    record_writer_t *writer = nullptr;
    EXPECT_OK(record_writer_create(path.c_str(), options, &writer, &error));
    return writer;
  }

  Reader read()
  {
    rawhal_status_t status;
    Reader reader = open_reader(path, &status, &error);
    EXPECT_OK(status);
    return reader;
  }

  Scratch scratch;
  std::string path = scratch / "recording";
  rawhal_error_t error;
};

// One dispatch of anything with its buffers; returns the lines that a reader has to say of it.
std::vector<std::string> write_one(record_writer_t *writer, Random &random, uint64_t object,
                                   uint64_t *number)
{
  rawhal_error_t error;
  record_dispatch_t d = {};
  const std::string device = "gfx" + std::to_string(random()),
                    kernel = some_bytes(random, below(random, 100)),
                    kernargs = some_bytes(random, below(random, 3) ? below(random, 300) : 0);
  d.device = {device.data(), device.size()};
  d.kernel = {kernel.data(), kernel.size()};
  d.kernargs = {kernargs.data(), kernargs.size()};
  d.object = object;
  d.queue = random();
  d.dynamic_group_bytes = static_cast<uint32_t>(random());
  d.private_bytes = static_cast<uint32_t>(random());
  std::string line = "dispatch of " + std::to_string(object) + " on " + device + ", " + kernel +
                     ", queue " + std::to_string(d.queue) + ", ";
  for (int at = 0; at < 3; ++at) {
    d.work_items[at] = static_cast<uint32_t>(random());
    d.workgroup[at] = static_cast<uint16_t>(random());
    line += std::to_string(d.work_items[at]) + "/" + std::to_string(d.workgroup[at]) + " ";
  }
  line += std::to_string(d.dynamic_group_bytes) + " " + std::to_string(d.private_bytes) + " ";
  std::vector<std::string> lines = {line + kernargs};
  EXPECT_OK(record_writer_dispatch(writer, &d, number, &error));
  if (below(random, 2)) {
    const record_place_t place = {random(), 1 + random(), random()};
    EXPECT_OK(record_writer_place(writer, *number, &place, &error));
    lines.push_back(line_of(place));
  }
  for (size_t i = below(random, 3); i--;) {
    const record_note_t note = {1 + static_cast<uint32_t>(random() >> 1), random(), random(),
                                random()};
    EXPECT_OK(record_writer_note(writer, *number, &note, &error));
    lines.push_back(line_of(note));
  }
  for (record_when_t when : {RECORD_BEFORE, RECORD_AFTER}) {
    if (!below(random, 3))
      continue;
    Memory memory = some_memory(random);
    const record_ranges_t ranges = {memory.ranges.data(), memory.ranges.size()};
    EXPECT_OK(record_writer_buffers(writer, *number, when, &ranges, Memory::read, &memory, &error));
    for (size_t i = 0; i < memory.ranges.size(); ++i)
      lines.push_back((when == RECORD_BEFORE ? "before " : "after ") +
                      std::to_string(memory.ranges[i].address) + "+" +
                      std::to_string(memory.ranges[i].size) +
                      (memory.ranges[i].segment ? " segment " : " ") + memory.contents[i]);
    lines.push_back("all");
  }
  return lines;
}

TEST_F(RoundTrip, RandomRecordings)
{
  for (unsigned seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    std::vector<std::string> objects, expected, dispatches;
    record_writer_t *writer = create();
    ASSERT_TRUE(writer);
    const size_t steps = below(random, 12);
    for (size_t i = 0; i < steps; ++i) {
      const bool again = !objects.empty() && below(random, 2);
      std::string code = again ? objects[below(random, objects.size())]
                               : some_bytes(random, 1 + below(random, 700000));
      uint64_t object = 0, number = 0;
      ASSERT_OK(record_writer_object(writer, {code.data(), code.size()}, &object, &error));
      if (!again)
        objects.push_back(code);
      EXPECT_EQ(code, objects.at(object - 1));
      for (const std::string &line : write_one(writer, random, object, &number))
        dispatches.push_back(line);
      EXPECT_EQ(i + 1, number);
    }
    EXPECT_OK(record_writer_close(writer, &error));
    for (const std::string &code : objects)
      expected.push_back("object " + code);
    expected.insert(expected.end(), dispatches.begin(), dispatches.end());
    Reader reader = read();
    ASSERT_TRUE(reader);
    EXPECT_TRUE(expected == lines_of(reader.get()));
    const record_reader_info_t *info = record_reader_info(reader.get());
    EXPECT_EQ(RECORD_CLOSED, info->end);
    EXPECT_EQ(uint64_t{0}, info->torn);
    EXPECT_EQ(slurp(path).size(), info->bytes);
    EXPECT_EQ(static_cast<uint64_t>(getpid()), info->process);
    EXPECT_EQ(RECORD_DEFAULT_BOUND, info->bound);
    for (uint64_t i = 1; i <= objects.size(); ++i) {
      std::string code(record_reader_object(reader.get(), i)->content.size, 0);
      EXPECT_OK(record_reader_object_bytes(reader.get(), i, &code[0], &error));
      EXPECT_TRUE(code == objects[i - 1]);
      rawhal_content_hash_t hash = rawhal_content_hash(code.data(), code.size());
      EXPECT_EQ(hash.high, record_reader_object(reader.get(), i)->hash.high);
      EXPECT_EQ(hash.low, record_reader_object(reader.get(), i)->hash.low);
    }
    reader.reset();
    unlink(path.c_str());
  }
}

TEST_F(RoundTrip, SeveralThreads)
{
  const size_t threads = 6, each = 20;
  record_writer_t *writer = create();
  std::mutex lock;
  std::vector<std::vector<std::string>> expected(threads * each);
  std::vector<std::thread> running;
  for (unsigned t = 0; t < threads; ++t)
    running.emplace_back([&, t] {
      Random random(t);
      rawhal_error_t error;
      for (size_t i = 0; i < each; ++i) {
        const std::string code(300000 + i, 'x'); /* all threads have the same ones */
        uint64_t object = 0, number = 0;
        EXPECT_OK(record_writer_object(writer, {code.data(), code.size()}, &object, &error));
        std::vector<std::string> lines = write_one(writer, random, object, &number);
        const std::lock_guard<std::mutex> held(lock);
        expected.at(number - 1) = lines;
      }
    });
  for (std::thread &thread : running)
    thread.join();
  EXPECT_OK(record_writer_close(writer, &error));
  Reader reader = read();
  ASSERT_TRUE(reader);
  ASSERT_EQ(each, record_reader_info(reader.get())->objects);
  std::vector<std::string> lines = lines_of(reader.get()), all;
  for (const auto &some : expected)
    all.insert(all.end(), some.begin(), some.end());
  EXPECT_TRUE(all == std::vector<std::string>(lines.begin() + each, lines.end()));
}

TEST_F(RoundTrip, ObjectsOnce)
{
  record_writer_t *writer = create();
  uint64_t object = 0;
  for (int round = 0; round < 2; ++round)
    for (uint64_t i = 0; i < 1000; ++i) {
      ASSERT_OK(record_writer_object(writer, {&i, sizeof(i)}, &object, &error));
      ASSERT_EQ(i + 1, object);
    }
  EXPECT_OK(record_writer_close(writer, &error));
  EXPECT_EQ(size_t{1000}, record_reader_info(read().get())->objects);
}

TEST_F(RoundTrip, LargeBuffersAreLeftOut)
{
  const record_options_t options = {0, 100};
  record_writer_t *writer = create(&options);
  Memory memory = {
      {{0x1000, 100, false, false}, {0x2000, 101, false, false}, {0x3000, 5, false, true}},
      {std::string(100, 'a'), std::string(101, 'b'), "never"}};
  const record_ranges_t ranges = {memory.ranges.data(), 3};
  uint64_t object, number;
  ASSERT_OK(record_writer_object(writer, {"x", 1}, &object, &error));
  record_dispatch_t dispatch = {};
  dispatch.object = object;
  ASSERT_OK(record_writer_dispatch(writer, &dispatch, &number, &error));
  ASSERT_OK(
      record_writer_buffers(writer, number, RECORD_BEFORE, &ranges, Memory::read, &memory, &error));
  EXPECT_OK(record_writer_close(writer, &error));
  Reader reader = read();
  record_buffers_t buffers = record_reader_buffers(reader.get(), number, RECORD_BEFORE);
  ASSERT_EQ(size_t{3}, buffers.count);
  EXPECT_TRUE(buffers.buffers[2].left_out);
  EXPECT_TRUE(buffers.all);
  EXPECT_TRUE(!buffers.buffers[0].left_out && buffers.buffers[0].content.whole);
  EXPECT_TRUE(buffers.buffers[1].left_out && !buffers.buffers[1].content.whole);
  EXPECT_EQ(uint64_t{101}, buffers.buffers[1].content.size);
  std::string none;
  EXPECT_EQ(RAWHAL_NOT_FOUND, record_reader_content(reader.get(), &buffers.buffers[1].content,
                                                    append_to, &none, &error));
}

// A buffer is written once, and then what has changed of it: the same bytes are read.
TEST_F(RoundTrip, WhatHasNotChangedIsWrittenOnce)
{
  Random random(1);
  record_writer_t *writer = create();
  Memory memory = {{{0x10000, 3 * RECORD_PIECE + 5, false, false}, {0x9000000, 100, true, false}},
                   {some_bytes(random, 3 * RECORD_PIECE + 5), some_bytes(random, 100)}};
  const record_ranges_t ranges = {memory.ranges.data(), 2};
  std::vector<std::vector<std::string>> were;
  std::vector<uint64_t> sizes;
  uint64_t object = 0, number = 0;
  ASSERT_OK(record_writer_object(writer, {"x", 1}, &object, &error));
  record_dispatch_t dispatch = {};
  dispatch.object = object;
  for (int i = 0; i < 4; ++i) {
    record_writer_info_t before, after;
    record_writer_info(writer, &before);
    memory.contents[0][RECORD_PIECE + 7] = static_cast<char>(i / 2); // every other time
    ASSERT_OK(record_writer_dispatch(writer, &dispatch, &number, &error));
    ASSERT_OK(record_writer_buffers(writer, number, RECORD_BEFORE, &ranges, Memory::read, &memory,
                                    &error));
    were.push_back(memory.contents);
    record_writer_info(writer, &after);
    sizes.push_back(after.bytes - before.bytes);
  }
  EXPECT_OK(record_writer_close(writer, &error));
  EXPECT_GT(sizes[0], uint64_t{3} * RECORD_PIECE);
  EXPECT_LT(sizes[1], 1000u);
  EXPECT_TRUE(sizes[2] > RECORD_PIECE && sizes[2] < RECORD_PIECE + 1000) << sizes[2];
  EXPECT_LT(sizes[3], 1000u);
  Reader reader = read();
  ASSERT_TRUE(reader);
  for (uint64_t i = 1; i <= 4; ++i) {
    const record_buffers_t buffers = record_reader_buffers(reader.get(), i, RECORD_BEFORE);
    ASSERT_TRUE(buffers.all && buffers.count == 2);
    for (size_t b = 0; b < 2; ++b) {
      std::string content;
      EXPECT_OK(record_reader_content(reader.get(), &buffers.buffers[b].content, append_to,
                                      &content, &error));
      EXPECT_TRUE(content == were[i - 1][b]) << i;
    }
  }
}

// More buffers than are remembered: all are written, and none is taken for another.
TEST_F(RoundTrip, MoreThanIsRemembered)
{
  record_writer_t *writer = create();
  uint64_t object = 0, number = 0;
  ASSERT_OK(record_writer_object(writer, {"x", 1}, &object, &error));
  record_dispatch_t dispatch = {};
  dispatch.object = object;
  const auto read_address = [](void *, const record_range_t *range, uint64_t, void *to, size_t size,
                               rawhal_error_t *) {
    memcpy(to, &range->address, size);
    return RAWHAL_OK;
  };
  const uint64_t count = 70000; // KEPT_PIECES and some
  std::vector<record_range_t> all;
  for (uint64_t i = 0; i < count; ++i)
    all.push_back({0x1000 * (i + 1), 8, false, false});
  const record_ranges_t ranges = {all.data(), all.size()};
  ASSERT_OK(record_writer_dispatch(writer, &dispatch, &number, &error));
  for (record_when_t when : {RECORD_BEFORE, RECORD_AFTER})
    ASSERT_OK(record_writer_buffers(writer, number, when, &ranges, read_address, nullptr, &error));
  EXPECT_OK(record_writer_close(writer, &error));
  Reader reader = read();
  ASSERT_TRUE(reader);
  const record_buffers_t buffers = record_reader_buffers(reader.get(), number, RECORD_AFTER);
  ASSERT_EQ(count, buffers.count);
  for (size_t i = 0; i < count; i += 777) {
    std::string content;
    EXPECT_OK(record_reader_content(reader.get(), &buffers.buffers[i].content, append_to, &content,
                                    &error));
    EXPECT_EQ(0, memcmp(content.data(), &buffers.buffers[i].address, 8));
  }
}

} // namespace
