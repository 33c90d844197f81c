// Opening by path: mapped or read, and what cannot be opened.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "compressed.h"
#include "host.h"
#include "hsaco_test.h"
#include "tests/cancelled.h"

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

// ---- Containers ----

class ContainerFile : public File {
protected:
  void TearDown() override
  {
    rawhal_container_close(container);
    File::TearDown();
  }
  rawhal_status_t open_container(uint32_t flags)
  {
    rawhal_container_options_t options = {};
    options.flags = flags;
    rawhal_container_close(container);
    container = reinterpret_cast<rawhal_container_t *>(1); // outputs are cleared
    rawhal_status_t status = rawhal_container_open_file(path.c_str(), &options, &container, &error);
    EXPECT_EQ(status == RAWHAL_OK, container != nullptr);
    return status;
  }
  std::string content(size_t index)
  {
    const rawhal_container_object_t *object = rawhal_container_object(container, index);
    return {static_cast<const char *>(object->bytes.data), object->bytes.size};
  }

  rawhal_container_t *container = nullptr;
};

// Every carrier, each with three objects: all bytes of all of them after the file was cut.
TEST_F(ContainerFile, ACopyOutlivesTheFilesBytes)
{
  const std::string object = build::plain_object().bytes, id = "hip-amdgcn-amd-amdhsa--gfx90a";
  const std::string bundle = build::bundle({{id, object}, {id, object}, {id, object}});
  for (const std::string &bytes :
       {object + object + object, bundle, host_file(bundle), build::ccob(2, 1, bundle)}) {
    write(bytes);
    ASSERT_EQ(RAWHAL_OK, open_container(RAWHAL_CONTAINER_COPY)) << error.message;
    ASSERT_EQ(0, truncate(path.c_str(), 0));
    ASSERT_EQ(3u, rawhal_container_count(container));
    for (size_t i = 0; i < 3; ++i)
      EXPECT_EQ(object, content(i));
  }
}

TEST_F(ContainerFile, ACopyOfBytesOutlivesThem)
{
  std::string bytes = build::plain_object().bytes, kept = bytes;
  rawhal_container_options_t options = {};
  options.flags = RAWHAL_CONTAINER_COPY;
  ASSERT_EQ(RAWHAL_OK,
            rawhal_container_open(bytes.data(), bytes.size(), &options, &container, &error));
  bytes.assign(bytes.size(), 'x');
  EXPECT_EQ(kept, content(0));
  EXPECT_FALSE(rawhal_container_object(container, 0)->unpacked);
}

// What the header says of a mapping, and why there are copies.
TEST_F(ContainerFile, AMappingIsTheFile)
{
  write(build::plain_object().bytes);
  ASSERT_EQ(RAWHAL_OK, open_container(0)) << error.message;
  ASSERT_EQ(0, truncate(path.c_str(), 0));
  EXPECT_EXIT(
      {
        signal(SIGBUS, [](int) { _exit(77); });
        _exit(content(0).empty());
      },
      testing::ExitedWithCode(77), "");
}

TEST_F(ContainerFile, RefusalsOfCopies)
{
  EXPECT_EQ(RAWHAL_MALFORMED, open_container(RAWHAL_CONTAINER_COPY)) << "an empty file";
  write(build::plain_object().bytes);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, open_container(1u << 31)) << "an unknown flag";
  EXPECT_STREQ("unknown flags 0x80000000", error.message);
  rawhal_container_options_t options = {};
  options.flags = 1u << 31;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_container_open("x", 1, &options, &container, &error));
  options.flags = RAWHAL_CONTAINER_COPY;
  options.max_file_bytes = 3;
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, rawhal_container_open("four", 4, &options, &container, &error));
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
    rawhal_container_t *container = nullptr;
    rawhal_container_options_t options = {};
    options.flags = flags ? RAWHAL_CONTAINER_COPY : 0;
    ASSERT_EQ(RAWHAL_OK, rawhal_container_open_file(path.c_str(), &options, &container, nullptr));
    EXPECT_EQ(before, next_descriptor());
    rawhal_container_close(container);
  }
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, open("/tmp"));
  EXPECT_EQ(before, next_descriptor());
  EXPECT_TRUE(goes_on_though_cancelled([this] {
    (void)open(path.c_str(), RAWHAL_HSACO_COPY);
    rawhal_container_t *container = nullptr; // of memory, whose end /proc tells
    (void)!rawhal_container_open_image(path.data(), nullptr, &container, nullptr);
    rawhal_container_close(container);
  }));
  EXPECT_EQ(before, next_descriptor());
}

} // namespace
