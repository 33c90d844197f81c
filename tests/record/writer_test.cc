// Bounds, full disks, forks and wrong calls.
#include <sys/resource.h>
#include <sys/uio.h>

#include <algorithm>
#include <tuple>

#include "tests/child.h"
#include "tests/record/reading.h"

// What the disk takes, at most; short writes and interrupted ones come as they do from slow disks.
static uint64_t disk_bytes = UINT64_MAX;

extern "C" ssize_t __real_pwritev(int file, const struct iovec *parts, int count, off_t offset);
extern "C" ssize_t __wrap_pwritev(int file, const struct iovec *parts, int count, off_t offset)
{
  static unsigned calls;
  if (disk_bytes == UINT64_MAX)
    return __real_pwritev(file, parts, count, offset);
  const uint64_t at = static_cast<uint64_t>(offset);
  if (++calls % 3 == 0) {
    errno = EINTR;
    return -1;
  }
  if (at >= disk_bytes) {
    errno = ENOSPC;
    return -1;
  }
  struct iovec part = parts[0];
  part.iov_len = std::min<uint64_t>({part.iov_len, disk_bytes - at, 20});
  return __real_pwritev(file, &part, 1, offset);
}

namespace {

rawhal_status_t fill(void *, const record_range_t *range, uint64_t offset, void *to, size_t size,
                     rawhal_error_t *)
{
  EXPECT_TRUE(offset + size <= range->size);
  memset(to, 'm', size);
  return RAWHAL_OK;
}

rawhal_status_t refuse(void *, const record_range_t *, uint64_t, void *, size_t, rawhal_error_t *)
{
  return RAWHAL_FAULT;
}

class Writer : public testing::Test {
protected:
  void SetUp() override
  {
    ASSERT_OK(record_writer_create(path.c_str(), &options, &writer, &error));
  }

  void reopen(uint64_t bound)
  {
    std::ignore = record_writer_close(writer, nullptr);
    unlink(path.c_str());
    options.bound = bound;
    SetUp();
  }

  void TearDown() override
  {
    if (writer)
      std::ignore = record_writer_close(writer, nullptr);
  }

  rawhal_status_t close()
  {
    record_writer_t *closing = writer;
    writer = nullptr;
    return record_writer_close(closing, &error);
  }

  Reader read()
  {
    rawhal_status_t status;
    Reader reader = open_reader(path, &status, &error);
    EXPECT_OK(status);
    return reader;
  }

  rawhal_status_t object(const std::string &code)
  {
    uint64_t number;
    return record_writer_object(writer, {code.data(), code.size()}, &number, &error);
  }

  rawhal_status_t dispatch()
  {
    record_dispatch_t one = {};
    one.object = 1;
    one.kernel = RAWHAL_STRING("kernel");
    one.kernargs = {"kernargs", 8};
    return record_writer_dispatch(writer, &one, &number, &error);
  }

  rawhal_status_t buffer(uint64_t size, record_read_fn *read = fill)
  {
    record_range_t range = {0x1000, size, false, false};
    const record_ranges_t ranges = {&range, 1};
    return record_writer_buffers(writer, number, RECORD_BEFORE, &ranges, read, nullptr, &error);
  }

  // Writes until it ends, and how: every file is one that has all that was answered with OK, and no byte too many.
  void expect_end(rawhal_status_t status, record_end_t end, uint64_t most, int code)
  {
    uint64_t dispatches = 0, captured = 0;
    ASSERT_OK(object("code"));
    rawhal_status_t got = RAWHAL_OK;
    while (got == RAWHAL_OK && dispatches < 100000) {
      got = dispatch();
      dispatches += got == RAWHAL_OK;
      if (got == RAWHAL_OK)
        got = buffer(100);
      captured += got == RAWHAL_OK;
    }
    ASSERT_EQ(status, got) << error.message;
    EXPECT_NE(nullptr, strstr(error.message, path.c_str())) << error.message;
    EXPECT_EQ(status, dispatch());
    EXPECT_EQ(status, buffer(1));
    EXPECT_EQ(status, object("code"));
    EXPECT_EQ(status, object("other"));
    record_writer_info_t info;
    record_writer_info(writer, &info);
    EXPECT_EQ(end, info.end);
    EXPECT_EQ(dispatches, info.dispatches);
    EXPECT_EQ(uint64_t{1}, info.objects);
    EXPECT_EQ(status, close());
    Reader reader = read();
    ASSERT_TRUE(reader);
    const record_reader_info_t *there = record_reader_info(reader.get());
    EXPECT_EQ(info.bytes, there->bytes);
    EXPECT_LE(there->bytes, most);
    EXPECT_EQ(uint64_t{0}, there->torn);
    EXPECT_EQ(dispatches, there->dispatches);
    for (uint64_t i = 1; i <= dispatches; ++i)
      EXPECT_EQ(i <= captured, record_reader_buffers(reader.get(), i, RECORD_BEFORE).all) << i;
    if (there->end != RECORD_UNFINISHED) { // there was room for the last word
      EXPECT_EQ(end, there->end);
      EXPECT_EQ(code, there->code);
    }
  }

  Scratch scratch;
  std::string path = scratch / "recording";
  record_options_t options = {};
  record_writer_t *writer = nullptr;
  uint64_t number = 0;
  rawhal_error_t error;
};

TEST_F(Writer, StopsAtItsBoundAndSaysSo)
{
  for (uint64_t bound = 300; bound < 1000; ++bound) {
    SCOPED_TRACE(bound);
    reopen(bound);
    expect_end(RAWHAL_CAP_EXCEEDED, RECORD_FULL, bound, 0);
    Reader reader = read();
    EXPECT_EQ(RECORD_FULL, record_reader_info(reader.get())->end);
    EXPECT_EQ(bound, record_reader_info(reader.get())->bound);
  }
}

TEST_F(Writer, BoundsBelowAnything)
{
  reopen(sizeof(format_header_t) + FORMAT_END_BYTES);
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, object("code"));
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, close());
  EXPECT_EQ(RECORD_FULL, record_reader_info(read().get())->end);
  options.bound = sizeof(format_header_t) + FORMAT_END_BYTES - 1;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            record_writer_create((path + "2").c_str(), &options, &writer, &error));
  EXPECT_EQ(nullptr, writer);
  EXPECT_NE(0, access((path + "2").c_str(), F_OK));
}

// The limit on sizes of files stands for a full disk; whoever writes beyond it is killed.
TEST_F(Writer, NoRoom)
{
  for (rlim_t most = 300; most < 1000; ++most) {
    SCOPED_TRACE(most);
    reopen(0);
    struct rlimit before, limit;
    getrlimit(RLIMIT_FSIZE, &before);
    limit = before;
    limit.rlim_cur = most;
    setrlimit(RLIMIT_FSIZE, &limit);
    expect_end(RAWHAL_RUNTIME, RECORD_FAILED, most, EFBIG);
    setrlimit(RLIMIT_FSIZE, &before);
  }
}

// A disk with so many bytes takes what it has room for, then nothing; and signals come in between.
TEST_F(Writer, DiskThatIsFullInTheMiddleOfAFrame)
{
  for (uint64_t most = 300; most < 1000; ++most) {
    SCOPED_TRACE(most);
    reopen(0);
    disk_bytes = most;
    expect_end(RAWHAL_RUNTIME, RECORD_FAILED, most, ENOSPC);
    disk_bytes = UINT64_MAX;
  }
}

TEST_F(Writer, FilesThatAreThere)
{
  record_writer_t *second = nullptr;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, record_writer_create(path.c_str(), nullptr, &second, &error));
  EXPECT_EQ(nullptr, second);
  EXPECT_EQ(RAWHAL_NOT_FOUND,
            record_writer_create((scratch / "no/file").c_str(), nullptr, &second, &error));
  const std::string link = scratch / "link";
  ASSERT_EQ(0, symlink((scratch / "target").c_str(), link.c_str()));
  EXPECT_NE(RAWHAL_OK, record_writer_create(link.c_str(), nullptr, &second, &error));
  EXPECT_NE(0, access((scratch / "target").c_str(), F_OK));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, record_writer_create(nullptr, nullptr, &second, &error));
}

TEST_F(Writer, WrongCallsLeaveTheFileAsItIs)
{
  record_writer_info_t before, after;
  ASSERT_OK(object("code"));
  ASSERT_OK(dispatch());
  record_writer_info(writer, &before);
  record_dispatch_t wrong = {};
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, record_writer_dispatch(writer, &wrong, &number, &error));
  EXPECT_EQ(uint64_t{0}, number);
  wrong.object = 2;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, record_writer_dispatch(writer, &wrong, &number, &error));
  wrong.object = 1;
  const std::string name(RECORD_MOST_NAME + 1, 'n'), kernargs(RECORD_MOST_KERNARGS + 1, 'k');
  wrong.kernel = {name.data(), name.size()};
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, record_writer_dispatch(writer, &wrong, &number, &error));
  wrong.kernel = {};
  wrong.kernargs = {kernargs.data(), kernargs.size()};
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, record_writer_dispatch(writer, &wrong, &number, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, buffer(8)); // of no dispatch
  number = 1;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, buffer(0));
  record_range_t wraps = {UINT64_MAX, 2, false, false};
  const record_ranges_t ranges = {&wraps, 1};
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            record_writer_buffers(writer, 1, RECORD_BEFORE, &ranges, fill, nullptr, &error));
  const record_place_t nowhere = {0x1000, 0, 0}, beyond = {UINT64_MAX, 2, 0}, somewhere = {1, 1, 1};
  const record_note_t note = {RECORD_NOTE_DEEP, 1, 2, 3};
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, record_writer_place(writer, 1, &nowhere, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, record_writer_place(writer, 1, &beyond, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, record_writer_place(writer, 2, &somewhere, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, record_writer_note(writer, 2, &note, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, record_writer_object(writer, {nullptr, 0}, &number, &error));
  record_writer_info(writer, &after);
  EXPECT_EQ(before.bytes, after.bytes);
  ASSERT_OK(close());
  EXPECT_EQ(RECORD_CLOSED, record_reader_info(read().get())->end);
}

TEST_F(Writer, TheLargestDispatch)
{
  ASSERT_OK(object("code"));
  const std::string name(RECORD_MOST_NAME, 'n'), kernargs(RECORD_MOST_KERNARGS, 'k');
  record_dispatch_t large = {};
  large.object = 1;
  large.kernel = large.device = {name.data(), name.size()};
  large.kernargs = {kernargs.data(), kernargs.size()};
  ASSERT_OK(record_writer_dispatch(writer, &large, &number, &error));
  ASSERT_OK(close());
  Reader reader = read();
  ASSERT_OK(record_reader_dispatch(reader.get(), 1, &large, &error));
  EXPECT_EQ(kernargs, text(large.kernargs.data, large.kernargs.size));
}

TEST_F(Writer, MemoryThatCannotBeRead)
{
  ASSERT_OK(object("code"));
  ASSERT_OK(dispatch());
  EXPECT_EQ(RAWHAL_FAULT, buffer(8, refuse));
  ASSERT_OK(dispatch());
  ASSERT_OK(buffer(8));
  ASSERT_OK(close());
  Reader reader = read();
  EXPECT_FALSE(record_reader_buffers(reader.get(), 1, RECORD_BEFORE).all);
  EXPECT_FALSE(record_reader_buffers(reader.get(), 1, RECORD_BEFORE).buffers[0].content.whole);
  EXPECT_TRUE(record_reader_buffers(reader.get(), 2, RECORD_BEFORE).all);
  EXPECT_FALSE(record_reader_buffers(reader.get(), 2, RECORD_AFTER).all);
  EXPECT_EQ(size_t{0}, record_reader_buffers(reader.get(), 3, RECORD_AFTER).count);
}

// What is recorded is a program that may close any descriptor, and get its number for a file of its own.
TEST_F(Writer, ANumberThatIsAnotherFilesNow)
{
  const std::string other = path + ".other";
  ASSERT_OK(object("code"));
  ASSERT_OK(dispatch());
  int number = -1;
  for (int i = 0; i < 1024 && number < 0; ++i) {
    char name[4096];
    const ssize_t size =
        readlink(("/proc/self/fd/" + std::to_string(i)).c_str(), name, sizeof(name));
    number = size > 0 && path == std::string(name, static_cast<size_t>(size)) ? i : -1;
  }
  ASSERT_GE(number, 0);
  const int its = open(other.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  ASSERT_EQ(5, write(its, "other", 5));
  ASSERT_EQ(number, dup2(its, number));
  EXPECT_EQ(RAWHAL_RUNTIME, dispatch());
  EXPECT_NE(nullptr, strstr(error.message, "Bad file descriptor")) << error.message;
  EXPECT_EQ(RAWHAL_RUNTIME, close());
  struct stat status;
  EXPECT_EQ(0, fstat(its, &status));
  EXPECT_EQ(5, status.st_size);
  EXPECT_EQ(0, ::close(number));
  EXPECT_EQ(0, ::close(its));
  unlink(other.c_str());
  Reader reader = read();
  EXPECT_EQ(uint64_t{1}, record_reader_info(reader.get())->dispatches);
  EXPECT_EQ(RECORD_UNFINISHED, record_reader_info(reader.get())->end);
}

TEST_F(Writer, ChildrenOfForkLeaveItAlone)
{
  ASSERT_OK(object("code"));
  EXPECT_EQ(0, in_child([&] {
              record_writer_info_t info;
              bool right =
                  dispatch() == RAWHAL_INVALID_ARGUMENT && object("x") == RAWHAL_INVALID_ARGUMENT;
              record_writer_info(writer, &info);
              right = right && !info.bytes && close() == RAWHAL_OK;
              return right ? 0 : 1;
            }));
  ASSERT_OK(dispatch());
  ASSERT_OK(close());
  Reader reader = read();
  EXPECT_EQ(size_t{1}, record_reader_info(reader.get())->dispatches);
  EXPECT_EQ(RECORD_CLOSED, record_reader_info(reader.get())->end);
}

} // namespace
