// Opening by path: mapped or read, and what cannot be opened.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "hsaco_test.h"

namespace {

class File : public testing::Test {
protected:
  void SetUp() override
  {
    char name[] = "/tmp/rawhal-file-XXXXXX";
    int file = mkstemp(name);
    ASSERT_GE(file, 0);
    close(file);
    path = name;
  }
  void TearDown() override
  {
    rawhal_hsaco_close(hsaco);
    unlink(path.c_str());
  }
  void write(const std::string &bytes) { std::ofstream(path, std::ios::binary) << bytes; }
  rawhal_status_t open(const char *name, uint32_t flags = 0)
  {
    rawhal_hsaco_options_t options = {};
    options.flags = flags;
    hsaco = reinterpret_cast<rawhal_hsaco_t *>(1); // outputs are cleared
    error = {};
    rawhal_status_t status = rawhal_hsaco_open_file(name, &options, &hsaco, &error);
    EXPECT_EQ(status == RAWHAL_OK, hsaco != nullptr);
    EXPECT_EQ(status, error.status);
    return status;
  }
  void expect_kernel()
  {
    ASSERT_NE(nullptr, hsaco);
    const rawhal_kernel_t *kernel = rawhal_hsaco_kernel(hsaco, 0);
    ASSERT_NE(nullptr, kernel);
    EXPECT_EQ("kernel0", text_of(kernel->name));
    EXPECT_EQ(kernel, rawhal_hsaco_find_kernel(hsaco, {"kernel0.kd", 10}));
  }

  std::string path;
  rawhal_hsaco_t *hsaco = nullptr;
  rawhal_error_t error = {};
};

TEST_F(File, MappedOrRead)
{
  write(build::plain_object().bytes);
  for (uint32_t flags : {0u, static_cast<uint32_t>(RAWHAL_HSACO_COPY)}) {
    ASSERT_EQ(RAWHAL_OK, open(path.c_str(), flags)) << error.message;
    expect_kernel();
    rawhal_hsaco_close(hsaco);
  }
  ASSERT_EQ(RAWHAL_OK, rawhal_hsaco_open_file(path.c_str(), nullptr, &hsaco, nullptr));
  expect_kernel();
}

TEST_F(File, ACopyOutlivesTheFilesBytes)
{
  std::string bytes = build::plain_object().bytes;
  write(bytes);
  ASSERT_EQ(RAWHAL_OK, open(path.c_str(), RAWHAL_HSACO_COPY)) << error.message;
  ASSERT_EQ(0, truncate(path.c_str(), 0));
  expect_kernel();
  rawhal_bytes_t kept = rawhal_hsaco_info(hsaco)->bytes;
  EXPECT_EQ(bytes, std::string(static_cast<const char *>(static_cast<const void *>(kept.data)),
                               kept.size));
}

TEST_F(File, AMappingOutlivesTheName)
{
  write(build::plain_object().bytes);
  ASSERT_EQ(RAWHAL_OK, open(path.c_str())) << error.message;
  unlink(path.c_str());
  expect_kernel();
}

TEST_F(File, RefusalsSayWhy)
{
  EXPECT_EQ(RAWHAL_NOT_FOUND, open("/nonexistent/file"));
  EXPECT_STREQ("cannot open /nonexistent/file: No such file or directory", error.message);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, open("/tmp"));
  EXPECT_STREQ("/tmp is not a regular file", error.message);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, open(nullptr));
  write(build::plain_object().bytes);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, open(path.c_str(), 1u << 31)) << "an unknown flag";
  unlink(path.c_str());
  ASSERT_EQ(0, mkfifo(path.c_str(), 0600)); // must not wait for a writer
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, open(path.c_str()));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_hsaco_open_file(path.c_str(), nullptr, nullptr, &error));
}

TEST_F(File, DamageIsReportedAsFromBytes)
{
  EXPECT_EQ(RAWHAL_MALFORMED, open(path.c_str())) << "an empty file";
  write(build::plain_object().bytes.substr(0, 100));
  for (uint32_t flags : {0u, static_cast<uint32_t>(RAWHAL_HSACO_COPY)})
    EXPECT_EQ(RAWHAL_MALFORMED, open(path.c_str(), flags));
}

int next_descriptor()
{
  int file = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(file);
  return file;
}

TEST_F(File, LeavesNoDescriptorBehind)
{
  write(build::plain_object().bytes);
  int before = next_descriptor();
  for (uint32_t flags : {0u, static_cast<uint32_t>(RAWHAL_HSACO_COPY)}) {
    ASSERT_EQ(RAWHAL_OK, open(path.c_str(), flags));
    rawhal_hsaco_close(hsaco);
  }
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, open("/tmp"));
  EXPECT_EQ(before, next_descriptor());
}

} // namespace
