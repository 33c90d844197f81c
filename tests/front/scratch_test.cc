// Scratch that the runtime keeps for queues, and for those that come after them: the toy's device has one
// compute unit, which runs 32 waves.
#include "tests/front/proxy_test.h"

#include <hsa/amd_hsa_queue.h>

namespace {

constexpr uint32_t lane = mi / 32 / 64; // for which a queue's scratch is 1 MiB

class QuotaOfScratch : public FrontProxy {
protected:
  void Begin(const char *quota = "64M")
  {
    Set("RAWHAL_MEMORY_LIMIT", quota);
    Start();
  }

  void Another(uint32_t private_bytes = 0)
  {
    failed_ = 0;
    ASSERT_EQ(HSA_STATUS_SUCCESS,
              Core<decltype(hsa_queue_create)>(72)(toy_agent(), 64, HSA_QUEUE_TYPE_MULTI, Failed,
                                                   this, private_bytes, 0, &queue_));
  }

  bool Runs(uint32_t lane_bytes)
  {
    const hsa_signal_t done = Signal();
    hsa_kernel_dispatch_packet_t packet = Kernel(1, 1000, done);
    packet.private_segment_size = lane_bytes;
    Submit(packet);
    const auto value = Core<decltype(hsa_signal_load_scacquire)>(336);
    while (value(done) == 1 && !failed_)
      usleep(200);
    const bool ran = value(done) == 0;
    Drop(done);
    return ran;
  }

  // And what a queue has, where there is one.
  void Left(size_t size)
  {
    size -= queue_ && size ? toy_queue_bytes : 0;
    const auto allocate = Amd<decltype(hsa_amd_memory_pool_allocate)>(120);
    void *memory = nullptr;
    EXPECT_EQ(HSA_STATUS_ERROR_OUT_OF_RESOURCES, allocate(toy_pool(), size + 4096, 0, &memory));
    if (!size)
      return;
    ASSERT_EQ(HSA_STATUS_SUCCESS, allocate(toy_pool(), size, 0, &memory));
    EXPECT_EQ(HSA_STATUS_SUCCESS, Amd<decltype(hsa_amd_memory_pool_free)>(128)(memory));
  }
};

// Newer runtimes keep gigabytes by default, unless they are told for a device.
class QuotaOfReclaimed : public QuotaOfScratch {
protected:
  void Prepare() override { toy_replace_amd(552, reinterpret_cast<void *>(&Told)); }
  static hsa_status_t Told(hsa_agent_t agent, size_t most)
  {
    EXPECT_EQ(toy_agent().handle, agent.handle);
    told_ = most;
    return HSA_STATUS_SUCCESS;
  }
  static size_t told_;
};
size_t QuotaOfReclaimed::told_;

} // namespace

TEST_F(QuotaOfScratch, StaysForTheNextQueue)
{
  Begin();
  EXPECT_TRUE(Runs(32 * lane));
  Left(32 * mi);
  Destroy();
  Left(32 * mi);
  Another();
  EXPECT_TRUE(Runs(32 * lane)); // takes it over
  Left(32 * mi);
  Destroy();
  Another();
  EXPECT_TRUE(Runs(8 * lane)); // which another size does not
  EXPECT_FALSE(Runs(33 * lane));
  Left(24 * mi);
}

TEST_F(QuotaOfScratch, OfEachSizeThatAQueueHad)
{
  Begin();
  for (const uint32_t each : {8, 16, 8, 24})
    EXPECT_TRUE(Runs(each * lane));
  Left(16 * mi);
  EXPECT_FALSE(Runs(25 * lane));
  Destroy();
  Left(16 * mi);
  Another();
  EXPECT_TRUE(Runs(16 * lane));
  Left(16 * mi);
}

TEST_F(QuotaOfScratch, IsTakenWhenADispatchNeedsIt)
{
  Begin();
  Destroy();
  for (const uint32_t wished : {512u, 128 * lane, UINT32_MAX}) {
    Another(wished);
    EXPECT_EQ(0u, toy_private_asked());
    Left(64 * mi);
    Destroy();
  }
}

TEST_F(QuotaOfScratch, GoesWithTheRuntime)
{
  Begin();
  EXPECT_TRUE(Runs(32 * lane));
  Destroy();
  Left(32 * mi);
  Unload();
  Begin();
  Left(64 * mi);
  EXPECT_TRUE(Runs(32 * lane)); // which the runtime before it has not kept for it
  Left(32 * mi);
}

TEST_F(QuotaOfReclaimed, TheRuntimeKeepsNoMoreThanIsCharged)
{
  struct {
    const char *name, *value;
    size_t told;
  } const environments[] = {{"RAWHAL_MEMORY_LIMIT", "unlimited", 0},
                            {"RAWHAL_MEMORY_LIMIT", "64M", 140 * mi},
                            {"HSA_SCRATCH_SINGLE_LIMIT", "209715200", 200 * mi},
                            {"HSA_NO_SCRATCH_RECLAIM", "1", 0}}; // charged, all of it
  for (const auto &each : environments) {
    SCOPED_TRACE(std::string(each.name) + "=" + each.value);
    told_ = 0;
    Set(each.name, each.value);
    Start("90%", 64, 2);
    EXPECT_EQ(each.told, told_);
    Destroy();
    Unload();
  }
}

// ROCr keeps 140 MiB for a queue and lends it more, unless it is told otherwise.
TEST_F(QuotaOfScratch, IsChargedAsFarAsTheRuntimeKeepsIt)
{
  struct {
    const char *name, *value;
    size_t charged;
  } const environments[] = {{nullptr, "", 140},
                            {"HSA_SCRATCH_SINGLE_LIMIT", "209715200", 200},
                            {"HSA_SCRATCH_SINGLE_LIMIT", "1048576", 140},
                            {"HSA_SCRATCH_SINGLE_LIMIT", "", 140},
                            {"HSA_NO_SCRATCH_RECLAIM", "1", 250},
                            {"HSA_NO_SCRATCH_RECLAIM", "0", 140}};
  for (const auto &each : environments) {
    SCOPED_TRACE(std::string(each.name ? each.name : "") + "=" + each.value);
    if (each.name)
      Set(each.name, each.value);
    Begin("256M");
    EXPECT_TRUE(Runs(250 * lane));
    Left((256 - each.charged) * mi);
    Destroy();
    Unload();
    if (each.name)
      unsetenv(each.name);
  }
}

// It has read its environment, which the program may change.
TEST_F(QuotaOfScratch, IsThatOfTheEnvironmentWhichTheRuntimeRead)
{
  Set("HSA_SCRATCH_SINGLE_LIMIT", "209715200");
  Begin("256M");
  Destroy();
  unsetenv("HSA_SCRATCH_SINGLE_LIMIT");
  Another();
  EXPECT_TRUE(Runs(250 * lane));
  Left(56 * mi);
}

// Then nobody sees the packets, and what the runtime has given a queue is charged when the program asks for memory.
TEST_F(QuotaOfScratch, IsFoundWhereOnlyMemoryIsLimited)
{
  Set("RAWHAL_MEMORY_LIMIT", "64M");
  Start(nullptr);
  const std::pair<uint32_t, size_t> steps[] = {{8, 56}, {16, 40}, {0, 40}, {8, 40}};
  for (const auto &[given, left] : steps) {
    reinterpret_cast<amd_queue_t *>(queue_)->scratch_wave64_lane_byte_size = given * lane;
    Left(left * mi);
  }
  Destroy();
  Left(40 * mi);
  Another(16 * lane); // with which it is made, and takes over
  Left(40 * mi);
  Destroy();
  EXPECT_EQ(HSA_STATUS_ERROR_OUT_OF_RESOURCES,
            Core<decltype(hsa_queue_create)>(72)(toy_agent(), 64, HSA_QUEUE_TYPE_MULTI, Failed,
                                                 this, 40 * lane, 0, &queue_));
  EXPECT_EQ(nullptr, queue_);
  Another(39 * lane);
  reinterpret_cast<amd_queue_t *>(queue_)->scratch_wave64_lane_byte_size = 80 * lane;
  Left(0); // more than there is
}

// The program's queue is the program's to write.
TEST_F(QuotaOfScratch, IsForTheWavesThatTheDeviceCanRun)
{
  Begin();
  auto *written = reinterpret_cast<amd_queue_t *>(queue_);
  written->max_cu_id = 99;
  EXPECT_TRUE(Runs(32 * lane));
  Left(32 * mi);
}
