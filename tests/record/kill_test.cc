// A process that is killed while it writes leaves a file of whole frames, and perhaps a torn one.
#include <csignal>
#include <random>
#include <sys/mman.h>
#include <thread>

#include "tests/child.h"
#include "tests/record/reading.h"

namespace {

constexpr size_t kSize = 300000;

// Every byte of what dispatch `number` had: the reader can tell.
rawhal_status_t fill(void *number, const record_range_t *, uint64_t, void *to, size_t size,
                     rawhal_error_t *)
{
  memset(to, static_cast<int>(*static_cast<uint64_t *>(number) & 0xff), size);
  return RAWHAL_OK;
}

// Writes for ever from three threads; counts in `done` what it was told is written.
[[noreturn]] void write_for_ever(const std::string &path, std::atomic<uint64_t> *done)
{
  record_writer_t *writer = nullptr;
  if (record_writer_create(path.c_str(), nullptr, &writer, nullptr))
    _exit(1);
  auto write = [&] {
    for (uint64_t i = 0;; ++i) {
      uint64_t object = 0, number = 0;
      const std::string code = "code " + std::to_string(i % 7);
      record_dispatch_t dispatch = {};
      record_range_t range = {0x1000, kSize, false, false};
      const record_ranges_t ranges = {&range, 1};
      if (record_writer_object(writer, {code.data(), code.size()}, &object, nullptr))
        _exit(1);
      dispatch.object = object;
      dispatch.kernargs = {code.data(), code.size()};
      if (record_writer_dispatch(writer, &dispatch, &number, nullptr) ||
          record_writer_buffers(writer, number, RECORD_BEFORE, &ranges, fill, &number, nullptr))
        _exit(1);
      ++*done;
    }
  };
  std::thread second(write), third(write);
  write();
  _exit(1);
}

rawhal_status_t expect_byte(void *number, uint64_t, const void *bytes, size_t size,
                            rawhal_error_t *)
{
  const std::string expected(size, static_cast<char>(*static_cast<uint64_t *>(number) & 0xff));
  EXPECT_EQ(0, memcmp(expected.data(), bytes, size));
  return RAWHAL_OK;
}

TEST(Killed, AtAnyMoment)
{
  std::mt19937 random(1);
  size_t torn = 0, dispatches = 0;
  void *shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto *done = static_cast<std::atomic<uint64_t> *>(shared);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    Scratch scratch;
    const std::string path = scratch / "recording";
    *done = 0;
    pid_t child = fork_child();
    if (child == 0)
      write_for_ever(path, done);
    int status = 0;
    while (round % 2 && !*done &&
           !waitpid(child, &status, WNOHANG)) // every other one has written something
      usleep(100);
    usleep(static_cast<useconds_t>(random() % 30000));
    signal_child(child, SIGKILL);
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    if (access(path.c_str(), F_OK))
      continue; // killed before it had made the file
    rawhal_error_t error;
    rawhal_status_t opened;
    Reader reader = open_reader(path, &opened, &error);
    ASSERT_OK(opened);
    const record_reader_info_t *info = record_reader_info(reader.get());
    EXPECT_TRUE(info->end == RECORD_TORN || info->end == RECORD_UNFINISHED) << info->end;
    torn += info->end == RECORD_TORN;
    dispatches += info->dispatches;
    uint64_t whole = 0;
    for (uint64_t i = 1; i <= info->dispatches; ++i) {
      record_buffers_t buffers = record_reader_buffers(reader.get(), i, RECORD_BEFORE);
      if (!buffers.all)
        continue;
      ++whole;
      EXPECT_OK(record_reader_content(reader.get(), &buffers.buffers[0].content, expect_byte, &i,
                                      &error));
    }
    EXPECT_GE(whole, *done);
  }
  munmap(shared, 4096);
  RecordProperty("torn", static_cast<int>(torn));
  EXPECT_GT(dispatches, size_t{0});
}

// Where a killed process stopped for certain: every length of a frame that a partly done write can leave.
TEST(Killed, InTheMiddleOfAFrame)
{
  Scratch scratch;
  const std::string path = scratch / "recording";
  record_writer_t *writer = nullptr;
  rawhal_error_t error;
  uint64_t object, number;
  record_dispatch_t dispatch = {};
  dispatch.object = 1;
  ASSERT_OK(record_writer_create(path.c_str(), nullptr, &writer, &error));
  ASSERT_OK(record_writer_object(writer, {"code", 4}, &object, &error));
  record_writer_info_t before, after;
  record_writer_info(writer, &before);
  ASSERT_OK(record_writer_dispatch(writer, &dispatch, &number, &error));
  record_writer_info(writer, &after);
  ASSERT_OK(record_writer_close(writer, &error));
  const std::string bytes = slurp(path);
  for (uint64_t size = before.bytes; size <= after.bytes; ++size) {
    spit(path, bytes.data(), size);
    rawhal_status_t opened;
    Reader reader = open_reader(path, &opened, &error);
    ASSERT_OK(opened);
    const record_reader_info_t *info = record_reader_info(reader.get());
    EXPECT_EQ(size == after.bytes ? 1u : 0u, info->dispatches);
    EXPECT_EQ(size == before.bytes || size == after.bytes ? RECORD_UNFINISHED : RECORD_TORN,
              info->end);
  }
}

} // namespace
