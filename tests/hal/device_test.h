// A device of softgpu with the fixtures' kernels at hand.
#ifndef RAWHAL_TESTS_HAL_DEVICE_TEST_H
#define RAWHAL_TESTS_HAL_DEVICE_TEST_H

#include <rawhal/rawhal.h>

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/assert_ok.h"
#include "tests/values.h"

constexpr uint64_t millisecond = 1000000;

// The runtime turns the device's clock into its own anew for each question, so that answers to two
// differ by a few nanoseconds.
constexpr uint64_t clock_slack = 2000;

inline bool has_hardware()
{
  return access("/dev/kfd", F_OK) == 0;
}

inline std::vector<char> fixture_bytes(const std::string &name)
{
  std::ifstream file(RAWHAL_SOURCE_DIR "/tests/fixtures/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A function of softgpu's own, such as softgpu_pause.
inline void softgpu_call(const char *name)
{
  auto function = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, name));
  ASSERT_NE(function, nullptr);
  function();
}

// softgpu_inject(), of `on` or, if it is NULL, of all. False: there is none, or it refuses.
inline bool softgpu_order(const char *name, rawhal_queue_t *on, uint64_t nth, uint64_t value)
{
  auto order = reinterpret_cast<bool (*)(const char *, const void *, uint64_t, uint64_t)>(
      dlsym(RTLD_DEFAULT, "softgpu_inject"));
  return order && order(name, on ? queue_info(on).hsa_queue : nullptr, nth, value);
}

// A function of the runtime, which nothing here is linked with.
template <typename Function> Function *hsa(const char *name)
{
  return reinterpret_cast<Function *>(dlsym(RTLD_DEFAULT, name));
}
#define HSA(name) hsa<decltype(name)>(#name)

class DeviceTest : public testing::Test {
protected:
  virtual const char *softgpu_options() { return "gpus=1,vram_mib=256,timeout_ms=8000"; }

  virtual uint64_t copy_timeout_ns() { return 0; } // the default

  void SetUp() override
  {
    rawhal_instance_options_t options = {};
    options.backend = RAWHAL_BACKEND_SOFTGPU;
    options.softgpu_options = softgpu_options();
    options.copy_timeout_ns = copy_timeout_ns();
    ASSERT_OK(rawhal_instance_create(&options, &instance, &error));
    device = rawhal_instance_device(instance, 0);
    ASSERT_NE(device, nullptr);
  }

  void TearDown() override
  {
    for (rawhal_queue_t *queue : queues)
      rawhal_queue_destroy(queue);
    for (rawhal_executable_t *executable : executables)
      rawhal_executable_destroy(executable);
    for (rawhal_buffer_t *buffer : buffers)
      rawhal_buffer_free(buffer);
    rawhal_instance_destroy(instance);
  }

  rawhal_executable_t *load(const std::string &fixture, uint32_t flags = 0)
  {
    return load(fixture_bytes(fixture), flags);
  }

  rawhal_executable_t *load(const std::vector<char> &bytes, uint32_t flags = 0)
  {
    rawhal_hsaco_options_t options = {};
    options.flags = flags;
    rawhal_hsaco_t *hsaco = nullptr;
    rawhal_executable_t *executable = nullptr;
    EXPECT_OK(rawhal_hsaco_open(bytes.data(), bytes.size(), &options, &hsaco, &error));
    if (hsaco)
      EXPECT_OK(rawhal_executable_load(device, hsaco, &executable, &error));
    rawhal_hsaco_close(hsaco);
    executables.push_back(executable);
    return executable;
  }

  const rawhal_device_kernel_t *kernel(const std::string &fixture, const char *name)
  {
    const rawhal_device_kernel_t *found = nullptr;
    rawhal_executable_t *executable = load(fixture);
    if (executable)
      EXPECT_OK(rawhal_executable_kernel(executable, {name, strlen(name)}, 0, &found, &error));
    return found;
  }

  rawhal_buffer_t *buffer(size_t size, rawhal_memory_kind_t kind = RAWHAL_MEMORY_DEVICE)
  {
    rawhal_buffer_t *made = nullptr;
    EXPECT_OK(rawhal_buffer_allocate(device, kind, size, &made, &error));
    buffers.push_back(made);
    return made;
  }

  // Frees it. Nothing gets its addresses any more, as else whatever is allocated next may; where the runtime keeps them
  // for itself they cannot be mapped, and need not be.
  void retire(rawhal_buffer_t *gone)
  {
    void *const at = reinterpret_cast<void *>(rawhal_buffer_address(gone));
    const size_t size = rawhal_buffer_size(gone);
    rawhal_buffer_free(gone);
    buffers.erase(std::find(buffers.begin(), buffers.end(), gone));
    (void)mmap(at, size, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  }

  rawhal_queue_t *queue(rawhal_queue_options_t options = {})
  {
    rawhal_queue_t *made = nullptr;
    EXPECT_OK(rawhal_queue_create(device, &options, &made, &error));
    queues.push_back(made);
    return made;
  }

  template <typename T> rawhal_buffer_t *upload(const std::vector<T> &values)
  {
    rawhal_buffer_t *made = buffer(values.size() * sizeof(T));
    EXPECT_OK(rawhal_buffer_write(made, 0, values.data(), values.size() * sizeof(T), &error));
    return made;
  }

  template <typename T> std::vector<T> download(const rawhal_buffer_t *from, size_t count)
  {
    std::vector<T> values(count);
    EXPECT_OK(rawhal_buffer_read(from, 0, values.data(), count * sizeof(T), &error));
    return values;
  }

  rawhal_status_t copy_in(rawhal_queue_t *on, const rawhal_copy_t &copy, uint64_t deadline,
                          rawhal_ticket_t *ticket, rawhal_error_t *failure)
  {
    return rawhal_queue_copy(on, &copy, deadline, ticket, failure);
  }

  rawhal_status_t run(rawhal_queue_t *on, const rawhal_dispatch_t &dispatch)
  {
    return run(on, dispatch, rawhal_deadline_after(20000 * millisecond));
  }
  rawhal_status_t run(rawhal_queue_t *on, const rawhal_dispatch_t &dispatch, uint64_t deadline)
  {
    rawhal_ticket_t ticket = 0;
    rawhal_status_t status = rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error);
    if (status != RAWHAL_OK)
      return status;
    return rawhal_queue_wait(on, ticket, deadline, &error);
  }
  // On the last queue, or a new one where that has failed; timeout_ms ends it.
  rawhal_status_t run_to_the_end(const rawhal_dispatch_t &dispatch)
  {
    if (queues.empty() || queue_info(queues.back()).status != RAWHAL_OK)
      queue();
    return run(queues.back(), dispatch, RAWHAL_FOREVER);
  }

  rawhal_error_t error = {};
  rawhal_instance_t *instance = nullptr;
  rawhal_device_t *device = nullptr;
  std::vector<rawhal_queue_t *> queues;
  std::vector<rawhal_executable_t *> executables;
  std::vector<rawhal_buffer_t *> buffers;
};

// A blob as the caller would write it: values at their natural alignment, one after the other.
class Blob {
public:
  template <typename T> Blob &add(T value)
  {
    while (bytes.size() % alignof(T))
      bytes.push_back(0);
    const char *at = reinterpret_cast<const char *>(&value);
    bytes.insert(bytes.end(), at, at + sizeof(T));
    return *this;
  }
  std::vector<char> bytes;
};

inline rawhal_dispatch_t dispatch_of(const rawhal_device_kernel_t *kernel, uint32_t grid,
                                     uint16_t workgroup, const Blob &blob)
{
  rawhal_dispatch_t dispatch = {};
  dispatch.kernel = kernel;
  dispatch.work_items[0] = grid;
  dispatch.work_items[1] = dispatch.work_items[2] = 1;
  dispatch.workgroup[0] = workgroup;
  dispatch.workgroup[1] = dispatch.workgroup[2] = 1;
  dispatch.blob = blob.bytes.data();
  dispatch.blob_size = blob.bytes.size();
  return dispatch;
}

#endif
