// dma-bufs where the runtime has them, which is one that only says so (dmabuf_runtime.c): what
// rawhal makes of its answers.
#include "device_test.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

namespace {

class DmaBuf : public DeviceTest {
protected:
  void SetUp() override
  {
    setenv("RAWHAL_RUNTIME_LIBRARY", RAWHAL_DMABUF_RUNTIME, 1);
    // What is left of it is what was paid for, whatever the runtime says is free.
    setenv("RAWHAL_MEMORY_LIMIT", "64M", 1);
    DeviceTest::SetUp();
  }

  static int number(const char *name)
  {
    void *there = dlsym(RTLD_DEFAULT, name);
    EXPECT_NE(there, nullptr);
    return there ? *static_cast<int *>(there) : -1;
  }
};

TEST_F(DmaBuf, TheCallerClosesWhatItGets)
{
  rawhal_buffer_t *mine = buffer(8192);
  int fd = -1;
  uint64_t offset = 0;
  ASSERT_OK(rawhal_buffer_export_dmabuf(mine, &fd, &offset, &error));
  EXPECT_EQ(offset, 4096u);
  EXPECT_NE(fd, number("dmabuf_last_made"));
  EXPECT_EQ(fcntl(number("dmabuf_last_made"), F_GETFD), -1); // the runtime has closed its own
  EXPECT_EQ(fcntl(fd, F_GETFD), FD_CLOEXEC);
  EXPECT_EQ(close(fd), 0);
  rawhal_buffer_t *host = buffer(64, RAWHAL_MEMORY_HOST);
  EXPECT_EQ(rawhal_buffer_export_dmabuf(host, &fd, &offset, &error), RAWHAL_UNSUPPORTED);
  EXPECT_EQ(rawhal_buffer_export_dmabuf(nullptr, &fd, &offset, &error), RAWHAL_INVALID_ARGUMENT);
}

TEST_F(DmaBuf, ImportsAreMemoryOfTheDevice)
{
  rawhal_buffer_t *mine = buffer(8192), *theirs = nullptr;
  int fd = -1;
  const uint64_t block = 2 << 20; // the least that is shared
  uint64_t offset = 0, total = 0, before = 0, after = 0;
  ASSERT_OK(rawhal_buffer_export_dmabuf(mine, &fd, &offset, &error));
  rawhal_device_memory(device, &total, &before);
  ASSERT_OK(rawhal_buffer_import_dmabuf(device, fd, offset + 4, 100, &theirs, &error));
  rawhal_device_memory(device, &total, &after);
  EXPECT_EQ(before, after + block); // it counts as long as it is mapped
  EXPECT_EQ(number("dmabuf_maps"), 1);
  EXPECT_EQ(close(fd), 0);
  EXPECT_EQ(rawhal_buffer_address(theirs) % 4096, 4u); // 4096 and 4 behind where it is mapped
  EXPECT_EQ(rawhal_buffer_size(theirs), 100u);
  EXPECT_EQ(rawhal_buffer_host(theirs), nullptr);
  Blob blob;
  blob.add(rawhal_buffer_address(theirs)).add(25u).add(1u).add(9u);
  ASSERT_OK(run(queue(), dispatch_of(kernel("write_ids-gfx90a-v5.co", "write_ids"), 25, 64, blob)));
  EXPECT_EQ(download<uint32_t>(theirs, 25)[24], 33u);
  ASSERT_OK(rawhal_buffer_copy(mine, 0, theirs, 0, 100, &error));
  EXPECT_EQ(download<uint32_t>(mine, 25)[24], 33u);
  rawhal_device_memory(device, &total, &before); // a queue has its memory, too
  rawhal_buffer_free(theirs);
  rawhal_buffer_free(theirs);
  rawhal_device_memory(device, &total, &after);
  EXPECT_EQ(before + block, after);
  EXPECT_EQ(number("dmabuf_maps"), 0);
}

TEST_F(DmaBuf, BeyondTheEndIsRefusedAndGivenBack)
{
  rawhal_buffer_t *mine = buffer(8192), *theirs = nullptr;
  int fd = -1;
  uint64_t offset = 0;
  ASSERT_OK(rawhal_buffer_export_dmabuf(mine, &fd, &offset, &error));
  const uint64_t size = offset + 8192;
  for (uint64_t at : {offset + 1, size, size + 1, UINT64_MAX}) {
    EXPECT_EQ(rawhal_buffer_import_dmabuf(device, fd, at, 8192, &theirs, &error),
              RAWHAL_OUT_OF_RANGE);
    EXPECT_NE(std::string(error.message).find("of 12288 bytes"), std::string::npos)
        << error.message;
    EXPECT_EQ(theirs, nullptr);
    EXPECT_EQ(number("dmabuf_maps"), 0);
  }
  EXPECT_EQ(rawhal_buffer_import_dmabuf(device, fd, 0, SIZE_MAX, &theirs, &error),
            RAWHAL_OUT_OF_RANGE);
  ASSERT_OK(rawhal_buffer_import_dmabuf(device, fd, 0, size, &theirs, &error));
  rawhal_buffer_free(theirs);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(rawhal_buffer_import_dmabuf(device, ends[0], 0, 4, &theirs, &error), RAWHAL_RUNTIME);
  close(ends[0]);
  close(ends[1]);
  close(fd);
}

} // namespace
