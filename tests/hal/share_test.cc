// Device memory that two processes have, by a handle; dma-bufs, as far as there are any.
#include "device_test.h"
#include "tests/child.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <numeric>

namespace {

std::vector<uint32_t> from(uint32_t value, size_t count)
{
  std::vector<uint32_t> values(count);
  std::iota(values.begin(), values.end(), value);
  return values;
}

class Share : public DeviceTest {
protected:
  const char *softgpu_options() override { return "gpus=2,vram_mib=64,timeout_ms=8000"; }

  // Has a kernel write value, value + 1, .. to `count` words of a buffer.
  rawhal_status_t write_ids(const rawhal_buffer_t *to, uint32_t count, uint32_t value)
  {
    Blob blob;
    blob.add(rawhal_buffer_address(to)).add(count).add(1u).add(value);
    const rawhal_device_kernel_t *ids = kernel("write_ids-gfx90a-v5.co", "write_ids");
    return run(queue(), dispatch_of(ids, count, 64, blob));
  }

  rawhal_buffer_t *import(rawhal_device_t *on, const rawhal_ipc_handle_t &handle, size_t size)
  {
    rawhal_buffer_t *made = nullptr;
    EXPECT_OK(rawhal_buffer_import_ipc(on, &handle, size, &made, &error));
    buffers.push_back(made);
    return made;
  }

  rawhal_status_t try_import(const rawhal_ipc_handle_t &handle, size_t size)
  {
    rawhal_buffer_t *made = nullptr;
    rawhal_status_t status = rawhal_buffer_import_ipc(device, &handle, size, &made, &error);
    EXPECT_EQ(made != nullptr, status == RAWHAL_OK);
    rawhal_buffer_free(made);
    return status;
  }
};

// One of them is a child that was made before there was an instance.
class TwoProcesses : public Share {
protected:
  void SetUp() override
  {
    ASSERT_EQ(pipe(down), 0);
    ASSERT_EQ(pipe(up), 0);
  }

  void run_both(const std::function<void()> &parent, const std::function<void()> &other)
  {
    pid_t child = fork_child();
    if (child == 0) {
      alarm(60);
      close(down[1]);
      Share::SetUp();
      if (!HasFailure())
        other();
      _exit(HasFailure() ? 1 : 0);
    }
    close(up[1]);
    Share::SetUp();
    if (!HasFatalFailure())
      parent();
    close(down[1]);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }

  template <typename T> static void tell(int (&pipe)[2], const T &what)
  {
    EXPECT_EQ(write(pipe[1], &what, sizeof(what)), static_cast<ssize_t>(sizeof(what)));
  }

  template <typename T> static T hear(int (&pipe)[2])
  {
    T what = {};
    EXPECT_EQ(read(pipe[0], &what, sizeof(what)), static_cast<ssize_t>(sizeof(what)));
    return what;
  }

  int down[2], up[2];
};

TEST_F(TwoProcesses, HaveTheSameMemory)
{
  const size_t words = 75000, bytes = words * 4; // no whole number of pages
  run_both(
      [&] {
        rawhal_buffer_t *mine = buffer(bytes);
        ASSERT_OK(write_ids(mine, words, 5));
        rawhal_ipc_handle_t handle;
        ASSERT_OK(rawhal_buffer_export_ipc(mine, &handle, &error));
        EXPECT_EQ(download<uint32_t>(mine, words), from(5, words)); // it stays what it was
        tell(down, handle);
        EXPECT_EQ(hear<char>(up), 'w');
        std::vector<uint32_t> expected = from(5, words);
        std::iota(expected.begin(), expected.begin() + 64, 1000);
        EXPECT_EQ(download<uint32_t>(mine, words), expected);
        ASSERT_OK(write_ids(mine, 128, 2000));
        buffers.clear();
        rawhal_buffer_free(mine);
        tell(down, 'f');
        EXPECT_EQ(hear<char>(up), 'e');
      },
      [&] {
        rawhal_ipc_handle_t handle = hear<rawhal_ipc_handle_t>(down);
        rawhal_buffer_t *theirs = import(device, handle, bytes);
        EXPECT_EQ(rawhal_buffer_size(theirs), bytes);
        EXPECT_EQ(rawhal_buffer_host(theirs), nullptr);
        EXPECT_EQ(download<uint32_t>(theirs, words), from(5, words));
        EXPECT_OK(write_ids(theirs, 64, 1000));
        EXPECT_EQ(rawhal_buffer_allow(theirs, &device, 1, &error), RAWHAL_INVALID_ARGUMENT);
        rawhal_ipc_handle_t again;
        EXPECT_EQ(rawhal_buffer_export_ipc(theirs, &again, &error), RAWHAL_INVALID_ARGUMENT);
        EXPECT_EQ(try_import(handle, bytes + 4097), RAWHAL_OUT_OF_RANGE);
        EXPECT_EQ(try_import(handle, SIZE_MAX), RAWHAL_OUT_OF_RANGE);
        tell(up, 'w');
        EXPECT_EQ(hear<char>(down), 'f');
        EXPECT_EQ(download<uint32_t>(theirs, 128), from(2000, 128)); // who has it keeps it
        EXPECT_EQ(try_import(handle, bytes), RAWHAL_RUNTIME);        // nobody else gets it
        buffers.clear();
        uint64_t address = rawhal_buffer_address(theirs);
        rawhal_buffer_free(theirs);
        rawhal_buffer_free(theirs);
        Blob blob;
        blob.add(address).add(1u).add(1u).add(1u);
        EXPECT_EQ(
            run(queue(), dispatch_of(kernel("write_ids-gfx90a-v5.co", "write_ids"), 1, 1, blob)),
            RAWHAL_FAULT);
        tell(up, 'e');
      });
}

// It is there until the last of them lets go; whoever has it can be that one.
TEST_F(TwoProcesses, EachOfThemPays)
{
  const size_t bytes = 4u << 20;
  unsetenv("RAWHAL_MEMORY_LIMIT");
  run_both(
      [&] {
        rawhal_ipc_handle_t handle;
        ASSERT_OK(rawhal_buffer_export_ipc(buffer(bytes), &handle, &error));
        tell(down, handle);
        EXPECT_EQ(hear<char>(up), 'i');
        rawhal_buffer_free(buffers.back());
        buffers.clear();
        tell(down, 'f');
        EXPECT_EQ(hear<char>(up), 'e');
      },
      [&] {
        Share::TearDown(); // and once more, with a quota
        setenv("RAWHAL_MEMORY_LIMIT", "7Mi", 1);
        Share::SetUp();
        uint64_t total = 0, before = 0, with = 0;
        rawhal_device_memory(device, &total, &before);
        EXPECT_EQ(total, 7u << 20);
        rawhal_ipc_handle_t handle = hear<rawhal_ipc_handle_t>(down);
        rawhal_buffer_t *theirs = import(device, handle, 4096), *own = nullptr;
        rawhal_device_memory(device, &total, &with);
        EXPECT_EQ(with + bytes, before);
        EXPECT_EQ(try_import(handle, 4096), RAWHAL_QUOTA_EXCEEDED);
        tell(up, 'i');
        EXPECT_EQ(hear<char>(down), 'f');
        EXPECT_EQ(rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, bytes, &own, &error),
                  RAWHAL_QUOTA_EXCEEDED);
        buffers.clear();
        rawhal_buffer_free(theirs);
        rawhal_device_memory(device, &total, &with);
        EXPECT_EQ(with, before);
        tell(up, 'e');
      });
}

TEST_F(Share, OnceMoreInTheSameProcessAndOnAnotherDevice)
{
  rawhal_buffer_t *mine = buffer(4096);
  rawhal_ipc_handle_t handle;
  ASSERT_OK(write_ids(mine, 1024, 7));
  ASSERT_OK(rawhal_buffer_export_ipc(mine, &handle, &error));
  rawhal_device_t *second = rawhal_instance_device(instance, 1);
  rawhal_buffer_t *again = import(device, handle, 4096), *there = import(second, handle, 4096);
  EXPECT_NE(rawhal_buffer_address(again), rawhal_buffer_address(mine));
  EXPECT_EQ(download<uint32_t>(again, 1024), from(7, 1024));
  device = second;
  EXPECT_OK(write_ids(there, 1024, 50));
  EXPECT_EQ(write_ids(again, 1024, 60), RAWHAL_FAULT); // the first device's only
  EXPECT_EQ(download<uint32_t>(mine, 1024), from(50, 1024));
  rawhal_buffer_t *other = buffer(4096);
  EXPECT_OK(rawhal_buffer_copy(other, 0, again, 0, 4096, &error)); // through the host
  EXPECT_EQ(download<uint32_t>(other, 1024), from(50, 1024));
  device = rawhal_instance_device(instance, 0);
}

TEST_F(Share, NonsenseIsRefused)
{
  rawhal_ipc_handle_t handle;
  memset(&handle, 1, sizeof(handle));
  rawhal_buffer_t *mine = buffer(4096), *host = buffer(4096, RAWHAL_MEMORY_HOST), *made = nullptr;
  EXPECT_EQ(rawhal_buffer_export_ipc(host, &handle, &error), RAWHAL_UNSUPPORTED);
  EXPECT_EQ(handle.bytes[0], 0);
  EXPECT_EQ(rawhal_buffer_export_ipc(nullptr, &handle, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_buffer_export_ipc(mine, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(try_import(handle, 4096), RAWHAL_RUNTIME);
  EXPECT_NE(std::string(error.message).find("another process"), std::string::npos) << error.message;
  EXPECT_EQ(try_import(handle, 0), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_buffer_import_ipc(nullptr, &handle, 1, &made, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_buffer_import_ipc(device, nullptr, 1, &made, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_buffer_import_ipc(device, &handle, 1, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  buffers.clear();
  rawhal_buffer_free(mine);
  EXPECT_EQ(rawhal_buffer_export_ipc(mine, &handle, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_NE(std::string(error.message).find("freed"), std::string::npos) << error.message;
  rawhal_buffer_free(host);
}

// softgpu has none, and runtimes before 5.5 cannot make any.
TEST_F(Share, DmaBufsAreRefusedInWords)
{
  bool able = dlsym(RTLD_DEFAULT, "hsa_amd_portable_export_dmabuf") != nullptr;
  rawhal_buffer_t *mine = buffer(4096), *made = nullptr;
  int fd = 7;
  uint64_t offset = 7;
  EXPECT_EQ(rawhal_buffer_export_dmabuf(mine, &fd, &offset, &error),
            able ? RAWHAL_RUNTIME : RAWHAL_UNSUPPORTED);
  EXPECT_NE(std::string(error.message).find(able ? "dma-buf" : "too old"), std::string::npos)
      << error.message;
  EXPECT_EQ(fd, -1);
  EXPECT_EQ(offset, 0u);
  int file = memfd_create("no dma-buf", MFD_CLOEXEC);
  EXPECT_EQ(rawhal_buffer_import_dmabuf(device, file, 0, 4096, &made, &error), RAWHAL_RUNTIME);
  EXPECT_NE(std::string(error.message).find("importing a dma-buf"), std::string::npos)
      << error.message;
  EXPECT_EQ(made, nullptr);
  close(file);
  EXPECT_EQ(rawhal_buffer_import_dmabuf(device, -1, 0, 4096, &made, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_buffer_import_dmabuf(device, 0, 0, 0, &made, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_buffer_export_dmabuf(mine, nullptr, &offset, &error), RAWHAL_INVALID_ARGUMENT);
}

} // namespace
