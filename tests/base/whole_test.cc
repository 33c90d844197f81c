// All bytes are read and written, whatever signals and pipes make of single calls.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>

extern "C" {
#include "base/whole.h"
}

// While `steps` counts, every second call is interrupted and the others do at most three bytes; the call number
// `fails` has an error.
static bool counts;
static int steps, fails;

static bool interrupted(size_t *size)
{
  if (!counts)
    return false;
  *size = std::min<size_t>(*size, 3);
  ++steps;
  errno = steps == fails ? EIO : EINTR;
  return steps == fails || steps % 2;
}

extern "C" {
ssize_t __real_read(int file, void *bytes, size_t size);
ssize_t __real_pread(int file, void *bytes, size_t size, off_t offset);
ssize_t __real_write(int file, const void *bytes, size_t size);
ssize_t __wrap_read(int file, void *bytes, size_t size)
{
  return interrupted(&size) ? -1 : __real_read(file, bytes, size);
}
ssize_t __wrap_pread(int file, void *bytes, size_t size, off_t offset)
{
  return interrupted(&size) ? -1 : __real_pread(file, bytes, size, offset);
}
ssize_t __wrap_write(int file, const void *bytes, size_t size)
{
  return interrupted(&size) ? -1 : __real_write(file, bytes, size);
}
}

class Whole : public testing::Test {
protected:
  void SetUp() override
  {
    file = memfd_create("whole", 0);
    ASSERT_GE(file, 0);
    counts = true;
    steps = fails = 0;
    ASSERT_TRUE(write_whole(file, text.data(), text.size()));
    EXPECT_EQ(2 * 9, steps);
    steps = 0;
  }
  void TearDown() override
  {
    counts = false;
    close(file);
  }

  const std::string text = "abcdefghijklmnopqrstuvwxyz";
  char bytes[64] = {};
  int file = -1;
};

TEST_F(Whole, ReadsUpToTheEnd)
{
  ASSERT_EQ(0, lseek(file, 0, SEEK_SET));
  EXPECT_EQ(10, read_whole(file, bytes, 10));
  EXPECT_EQ(text.substr(0, 10), bytes);
  EXPECT_EQ(16, read_whole(file, bytes, sizeof(bytes)));
  EXPECT_EQ(text.substr(10), std::string(bytes, 16));
  EXPECT_EQ(0, read_whole(file, bytes, sizeof(bytes)));
}

TEST_F(Whole, ReadsAtAnOffset)
{
  EXPECT_EQ(20, pread_whole(file, bytes, 20, 3));
  EXPECT_EQ(text.substr(3, 20), bytes);
  EXPECT_EQ(6, pread_whole(file, bytes, 20, 20));
  EXPECT_EQ(0, pread_whole(file, bytes, 20, 26));
}

TEST_F(Whole, SaysWhyItStopped)
{
  fails = 4;
  EXPECT_EQ(-1, pread_whole(file, bytes, 20, 0));
  EXPECT_EQ(EIO, errno);
  steps = 0;
  ASSERT_EQ(0, lseek(file, 0, SEEK_SET));
  EXPECT_EQ(-1, read_whole(file, bytes, 20));
  EXPECT_EQ(EIO, errno);
  steps = 0;
  EXPECT_FALSE(write_whole(file, bytes, 20));
  EXPECT_EQ(EIO, errno);
}
