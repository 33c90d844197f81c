// A program that uses librawhal, by itself and behind the front: it is charged once either way, and
// what it limits itself holds.
#include "tests/environment.h"
#include "tests/hal/device_test.h"
#include "tests/tools/process.h"

#include <rawhal/limit.h>

#include <cstdlib>
#include <map>
#include <mutex>

#include <dlfcn.h>
#include <hsa/hsa_ext_amd.h>
#include <unistd.h>

extern "C" {
#include "debug/door/observe.h"
}

// What the runtime has of scratch: it asks the driver for all of it by these two, in the thread that serves a
// queue or ends the runtime. This program's functions come before the driver's.
static std::mutex held_lock;
static std::map<void *, uint64_t> held;

template <typename Function> static Function *driver(const char *name)
{
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

extern "C" __attribute__((visibility("default"))) int
hsaKmtMapMemoryToGPU(void *memory, uint64_t size, uint64_t *alternate)
{
  const int status =
      driver<int(void *, uint64_t, uint64_t *)>("hsaKmtMapMemoryToGPU")(memory, size, alternate);
  std::lock_guard<std::mutex> guard(held_lock);
  if (!status)
    held[memory] = size;
  return status;
}

extern "C" __attribute__((visibility("default"))) int hsaKmtUnmapMemoryToGPU(void *memory)
{
  const int status = driver<int(void *)>("hsaKmtUnmapMemoryToGPU")(memory);
  std::lock_guard<std::mutex> guard(held_lock);
  if (!status)
    held.erase(memory);
  return status;
}

namespace {

constexpr uint64_t mi = 1 << 20;

uint64_t HeldScratch()
{
  std::lock_guard<std::mutex> guard(held_lock);
  uint64_t bytes = 0;
  for (const auto &[memory, size] : held)
    bytes += size;
  return bytes;
}

class FrontOnce : public DeviceTest,
                  protected Environment,
                  public testing::WithParamInterface<bool> {
protected:
  const char *softgpu_options() override
  {
    return "gpus=1,vram_mib=1024,timeout_ms=8000,compute_units=0";
  }

  void SetUp() override
  {
    region_ = scratch_ / "region";
    Set("RAWHAL_LIMIT_REGION", region_);
    Set("RAWHAL_MEMORY_LIMIT", "64M");
    Set("RAWHAL_GPU_SHARE", "90%");
    if (GetParam())
      Set("HSA_TOOLS_LIB", RAWHAL_FRONT);
    ASSERT_OK(rawhal_limit_config_create(&limits_, &error));
  }

  void TearDown() override
  {
    DeviceTest::TearDown();
    rawhal_limit_config_destroy(limits_);
  }

  void Start(rawhal_status_t expected = RAWHAL_OK)
  {
    rawhal_instance_options_t options = {};
    options.backend = RAWHAL_BACKEND_SOFTGPU;
    options.softgpu_options = open_ ? nullptr : softgpu_options();
    options.limits = limits_;
    ASSERT_EQ(expected, rawhal_instance_create(&options, &instance, &error)) << error.message;
    device = instance ? rawhal_instance_device(instance, 0) : nullptr;
  }

  // What the region says of its only tenant.
  rawhal_limit_row_t Tenant() const
  {
    rawhal_error_t failure = {};
    rawhal_limit_view_t *view = nullptr;
    rawhal_limit_row_t rows[8] = {}, tenant = {};
    EXPECT_EQ(RAWHAL_OK, rawhal_limit_view_open(region_.c_str(), &view, &failure))
        << failure.message;
    size_t count = rawhal_limit_view_read(view, rows, sizeof(*rows), 8);
    EXPECT_LE(count, 8u);
    for (size_t i = 0; i < count && i < 8; ++i)
      if (rows[i].level == RAWHAL_LIMIT_LEVEL_TENANT)
        tenant = rows[i];
    rawhal_limit_view_close(view);
    return tenant;
  }

  // As much as lies at the kernel's address.
  uint64_t CodeBytes() const
  {
    auto info_of = reinterpret_cast<decltype(&hsa_amd_pointer_info)>(
        dlsym(RTLD_DEFAULT, "hsa_amd_pointer_info"));
    hsa_amd_pointer_info_t info = {};
    info.size = sizeof(info);
    void *code = reinterpret_cast<void *>(rawhal_device_kernel_info(add_)->kernel_object);
    EXPECT_EQ(HSA_STATUS_SUCCESS, info_of(code, &info, nullptr, nullptr, nullptr));
    return (info.sizeInBytes + 4095) / 4096 * 4096;
  }

  void Run(int times)
  {
    const rawhal_device_kernel_t *add = add_ = kernel("vector_add-gfx90a-v5.co", "vector_add");
    rawhal_buffer_t *memory = buffer(8 * mi);
    rawhal_queue_t *on = queue();
    uint64_t at = rawhal_buffer_address(memory);
    Blob blob;
    blob.add(at).add(at).add(at).add(64u);
    for (int i = 0; i < times; ++i)
      ASSERT_OK(run(on, dispatch_of(add, 64, 64, blob)));
    rawhal_queue_destroy(on); // whatever has finished is charged
    queues.clear();
  }

  void Stop()
  {
    DeviceTest::TearDown();
    queues.clear();
    executables.clear();
    buffers.clear();
    instance = nullptr;
  }

  // Which uses none, so that whatever its packets ask for is quick.
  void Spill() { spill_ = kernel("empty-gfx90a-v5.co", "empty"); }
  uint64_t Lanes() const { return 32 * 64 * uint64_t{rawhal_device_info(device)->compute_units}; }

  // On a queue of its own, in as many waves as the device can run.
  rawhal_status_t RunWithScratch(uint32_t lane_bytes)
  {
    const_cast<rawhal_device_kernel_info_t *>(rawhal_device_kernel_info(spill_))
        ->private_segment_size = lane_bytes;
    const rawhal_status_t status =
        run(queue(), dispatch_of(spill_, static_cast<uint32_t>(Lanes()), 64, Blob()));
    rawhal_queue_destroy(queues.back());
    queues.clear();
    return status;
  }

  Scratch scratch_;
  std::string region_;
  rawhal_limit_config_t *limits_ = nullptr;
  const rawhal_device_kernel_t *spill_ = nullptr;
  bool open_ = false; // the runtime is, by the program
  const rawhal_device_kernel_t *add_ = nullptr;
};

TEST_P(FrontOnce, WhatItUsesIsChargedOnce)
{
  Start();
  Run(50);
  rawhal_limit_row_t tenant = Tenant();
  EXPECT_EQ(1u, tenant.processes);
  EXPECT_EQ(50u, tenant.launches);
  EXPECT_EQ(900000u, tenant.share_ppm);
  EXPECT_EQ(64 * mi, tenant.memory_limit);
  EXPECT_EQ(8 * mi, tenant.memory_by_class[0]);
  EXPECT_EQ(CodeBytes(), tenant.memory_by_class[1]);
  for (rawhal_executable_t *executable : executables)
    rawhal_executable_destroy(executable);
  executables.clear();
  EXPECT_EQ(0u, Tenant().memory_by_class[1]);
}

// Others see both: what librawhal has, and what the device's own queue gets.
TEST_P(FrontOnce, EachHasADoor)
{
  Start();
  ASSERT_NE(nullptr, queue());
  std::map<door_kind_t, std::vector<uint64_t>> queues;
  observer_t *observer;
  for (size_t i = 0; observer_open(getpid(), i, &observer, &error) == RAWHAL_OK; ++i) {
    uint64_t unlisted;
    observer_list(
        observer,
        [](void *context, const rawhal_event_t *event) {
          if (event->type == RAWHAL_EVENT_QUEUE_CREATE)
            static_cast<std::vector<uint64_t> *>(context)->push_back(event->address);
          return true;
        },
        &queues[observer_kind(observer)], &unlisted);
    observer_close(observer);
  }
  EXPECT_EQ(1u, queues[DOOR_OF_LIBRARY].size());
  EXPECT_EQ(GetParam() ? 1u : 0u, queues[DOOR_OF_FRONT].size());
  EXPECT_NE(queues[DOOR_OF_LIBRARY], queues[DOOR_OF_FRONT]);
}

// A kernel with scratch needs memory for all waves that the device can run, and the runtime keeps it.
TEST_P(FrontOnce, SoIsScratch)
{
  Set("RAWHAL_MEMORY_LIMIT", "200M");
  Start();
  const rawhal_device_kernel_t *spill = kernel("scratch-gfx90a-v5.co", "scratch");
  ASSERT_NE(nullptr, spill);
  rawhal_buffer_t *out = buffer(4096);
  rawhal_queue_t *on = queue();
  Blob blob;
  blob.add(rawhal_buffer_address(out)).add(3u);
  ASSERT_OK(run(on, dispatch_of(spill, 64, 64, blob)));
  const uint64_t used = Tenant().memory_by_class[3];
  const uint64_t wave = rawhal_device_kernel_info(spill)->private_segment_size * 64;
  EXPECT_EQ((wave + 1023) / 1024 * 1024 * 32 * rawhal_device_info(device)->compute_units, used);
  ASSERT_OK(run(on, dispatch_of(spill, 64, 64, blob)));
  EXPECT_EQ(used, Tenant().memory_by_class[3]);
  rawhal_queue_destroy(on);
  queues.clear();
  EXPECT_EQ(used, Tenant().memory_by_class[3]);
}

// Queues come and go, and each asks for another size.
TEST_P(FrontOnce, SoIsScratchThatTheRuntimeKeepsOfQueuesThatAreGone)
{
  Set("RAWHAL_MEMORY_LIMIT", "400M");
  Start();
  Spill();
  EXPECT_EQ(0u, HeldScratch());
  for (const uint32_t lane : {272u, 432u, 272u, 688u, 432u}) {
    ASSERT_OK(RunWithScratch(lane));
    EXPECT_EQ(HeldScratch(), Tenant().memory_by_class[3]) << lane;
  }
  const uint64_t kept = HeldScratch();
  EXPECT_EQ((272u + 432 + 688) * Lanes(), kept);
  EXPECT_NE(RAWHAL_OK, RunWithScratch(640)); // for which there is no room
  EXPECT_EQ(kept, HeldScratch());
  rawhal_buffer_t *more = nullptr;
  EXPECT_NE(RAWHAL_OK,
            rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, 400 * mi - kept, &more, &error));
}

// By itself it sees its packets, and the front sees what the runtime says that a queue has.
TEST_P(FrontOnce, SoIsScratchWhereOnlyMemoryIsLimited)
{
  unsetenv("RAWHAL_LIMIT_REGION");
  unsetenv("RAWHAL_GPU_SHARE");
  Set("RAWHAL_MEMORY_LIMIT", "400M");
  Start();
  Spill();
  uint64_t total = 0, left = 0, before = 0;
  rawhal_device_memory(device, &total, &before);
  EXPECT_EQ(400 * mi, total);
  for (const uint32_t lane : {272u, 432u, 272u}) {
    ASSERT_OK(RunWithScratch(lane));
    rawhal_device_memory(device, &total, &left);
    EXPECT_EQ(HeldScratch(), before - left) << lane;
  }
}

// The program has the runtime open, too, so that what it keeps outlives the instance.
TEST_P(FrontOnce, SoIsScratchThatTheRuntimeKeepsOfInstancesThatAreGone)
{
  Set("RAWHAL_MEMORY_LIMIT", "400M");
  Start();
  Spill();
  auto init = reinterpret_cast<decltype(&hsa_init)>(dlsym(RTLD_DEFAULT, "hsa_init"));
  auto shut_down = reinterpret_cast<decltype(&hsa_shut_down)>(dlsym(RTLD_DEFAULT, "hsa_shut_down"));
  ASSERT_EQ(HSA_STATUS_SUCCESS, init());
  open_ = true;
  for (const uint32_t lane : {272u, 432u, 272u}) {
    ASSERT_OK(RunWithScratch(lane));
    const uint64_t kept = HeldScratch();
    EXPECT_EQ(kept, Tenant().memory_by_class[3]) << lane;
    Stop();
    EXPECT_EQ(kept, HeldScratch());
    Start();
    Spill();
    EXPECT_EQ(kept, Tenant().memory_by_class[3]) << lane;
  }
  ASSERT_EQ(HSA_STATUS_SUCCESS, shut_down());
  open_ = false;
  Stop();
  EXPECT_EQ(0u, HeldScratch());
  Start();
  EXPECT_EQ(0u, Tenant().memory_by_class[3]);
}

TEST_P(FrontOnce, SoAreCopies)
{
  Start();
  rawhal_buffer_t *here = buffer(mi), *there = buffer(mi);
  rawhal_queue_t *on = queue();
  std::vector<uint32_t> values(mi / 4, 7), got(mi / 4);
  const uint64_t soon = rawhal_deadline_after(20000 * millisecond);
  rawhal_ticket_t ticket = 0;
  rawhal_copy_t copy = {};
  copy.from = here;
  copy.to = there;
  copy.bytes = mi;
  ASSERT_OK(rawhal_buffer_write(here, 0, values.data(), mi, &error));
  ASSERT_OK(rawhal_queue_copy(on, &copy, soon, nullptr, &error));
  ASSERT_OK(rawhal_queue_fill(on, here, 0, 9, mi, soon, nullptr, &error)); // of two pieces
  ASSERT_OK(rawhal_queue_read(on, there, 0, got.data(), mi, soon, &ticket, &error));
  ASSERT_OK(rawhal_queue_wait(on, ticket, soon, &error));
  EXPECT_EQ(values, got);
  rawhal_queue_destroy(on);
  queues.clear();
  const uint64_t launches = GetParam() ? 5 : 4; // a fill is one of ours, and two of the runtime's
  rawhal_limit_row_t tenant = Tenant();
  for (int i = 0; i < 1000 && tenant.launches < launches; ++i) {
    usleep(20000); // the front looks at what has finished when it gets to it
    tenant = Tenant();
  }
  EXPECT_EQ(launches, tenant.launches);
  EXPECT_EQ(0u, tenant.no_timestamps);
  EXPECT_GT(tenant.gpu_ns, 0u);
}

TEST_P(FrontOnce, ScratchBeyondTheQuotaIsAnErrorBeforeTheDeviceSeesIt)
{
  Set("RAWHAL_MEMORY_LIMIT", "4M");
  Start();
  const rawhal_device_kernel_t *spill = kernel("scratch-gfx90a-v5.co", "scratch");
  ASSERT_NE(nullptr, spill);
  Blob blob;
  blob.add(rawhal_buffer_address(buffer(4096))).add(3u);
  EXPECT_NE(RAWHAL_OK, run(queue(), dispatch_of(spill, 64, 64, blob)));
  EXPECT_EQ(0u, Tenant().memory_by_class[3]);
  EXPECT_EQ(0u, Tenant().launches);
}

// Copies that the program waits for in the call.
TEST_P(FrontOnce, SoAreThoseThatHaveEndedWhenTheCallDoes)
{
  if (!GetParam())
    GTEST_SKIP() << "librawhal makes no such calls";
  Start();
  rawhal_buffer_t *here = buffer(mi), *there = buffer(mi);
  auto fill =
      reinterpret_cast<decltype(&hsa_amd_memory_fill)>(dlsym(RTLD_DEFAULT, "hsa_amd_memory_fill"));
  auto copy = reinterpret_cast<decltype(&hsa_memory_copy)>(dlsym(RTLD_DEFAULT, "hsa_memory_copy"));
  ASSERT_TRUE(fill && copy);
  void *from = reinterpret_cast<void *>(rawhal_buffer_address(here));
  void *to = reinterpret_cast<void *>(rawhal_buffer_address(there));
  ASSERT_EQ(HSA_STATUS_SUCCESS, fill(from, 5, mi / 4));
  EXPECT_EQ(1u, Tenant().launches);
  ASSERT_EQ(HSA_STATUS_SUCCESS, copy(to, from, mi));
  EXPECT_EQ(2u, Tenant().launches);
  EXPECT_GT(Tenant().gpu_ns, 0u);
  EXPECT_EQ(std::vector<uint32_t>(mi / 4, 5), download<uint32_t>(there, mi / 4));
}

TEST_P(FrontOnce, TheQuotaIsTheWholeOfIt)
{
  Start();
  uint64_t total = 0, left = 0;
  rawhal_buffer_t *more = nullptr;
  buffer(40 * mi);
  rawhal_device_memory(device, &total, &left);
  EXPECT_EQ(64 * mi, total);
  EXPECT_EQ(24 * mi, left);
  EXPECT_NE(RAWHAL_OK,
            rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, 25 * mi, &more, &error));
  buffer(24 * mi);
}

TEST_P(FrontOnce, WhatTheProgramLimitsHolds)
{
  ASSERT_OK(rawhal_limit_config_set(limits_, RAWHAL_LIMIT_PROCESS_MEMORY, 16 * mi, &error));
  ASSERT_OK(rawhal_limit_config_set(limits_, RAWHAL_LIMIT_GRID_WORKGROUPS, 1, &error));
  Start();
  rawhal_buffer_t *more = nullptr;
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED,
            rawhal_buffer_allocate(device, RAWHAL_MEMORY_DEVICE, 17 * mi, &more, &error));
  Run(3);
  const rawhal_device_kernel_t *add = kernel("vector_add-gfx90a-v5.co", "vector_add");
  Blob blob;
  blob.add<uint64_t>(0).add<uint64_t>(0).add<uint64_t>(0).add(0u);
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, run(queue(), dispatch_of(add, 128, 64, blob)));
  EXPECT_EQ(1u, Tenant().processes);
  EXPECT_EQ(3u, Tenant().launches);
}

// Naming what the environment names makes nobody a second member.
TEST_P(FrontOnce, ARegionThatBothNameIsJoinedOnce)
{
  ASSERT_OK(
      rawhal_limit_config_set_name(limits_, RAWHAL_LIMIT_NAME_REGION, region_.c_str(), &error));
  ASSERT_OK(rawhal_limit_config_set(limits_, RAWHAL_LIMIT_GPU_SHARE, 800000, &error));
  Start();
  Run(5);
  EXPECT_EQ(1u, Tenant().processes);
  EXPECT_EQ(5u, Tenant().launches);
}

TEST_P(FrontOnce, WhatContradictsIsRefusedAllTheSame)
{
  ASSERT_OK(rawhal_limit_config_set_name(limits_, RAWHAL_LIMIT_NAME_TENANT, "mine", &error));
  Set("RAWHAL_TENANT", "theirs");
  Start(RAWHAL_INVALID_ARGUMENT);
}

INSTANTIATE_TEST_SUITE_P(Ways, FrontOnce, testing::Bool(),
                         [](const testing::TestParamInfo<bool> &way) {
                           return way.param ? "BehindTheFront" : "Bare";
                         });

} // namespace
