// What a launch costs the program's thread.
#include "tests/front/proxy_test.h"
#include "tests/instructions.h"

#include "front/lately.h"
#include "front/ranges.h"

#include <algorithm>
#include <memory>
#include <thread>

namespace {

// Of a kernel that is known, one by one: the limiter has nothing to be asked, but for now and then. How many instructions
// that takes is held where compilers and options are known, by bench/counted.py, which reads it here.
class FrontLaunch : public FrontProxy {
protected:
  void LaunchAndCount(const char *what, void *kernargs)
  {
    constexpr uint64_t first = 600, count = 9; // after all of a queue's signals are made
    hsa_kernel_dispatch_packet_t packet = Kernel(7, 100);
    packet.kernarg_address = kernargs;
    for (uint64_t i = 0; i < first; ++i)
      Submit(packet);
    EXPECT_EQ(first, Ran(first).size());
    std::vector<size_t> each;
    for (uint64_t i = first; i < first + count; ++i) {
      const uint64_t index = Reserve();
      Write(index, packet);
      toy_hold(true); // the device runs on the thread that goes on
#ifdef RAWHAL_COUNTS_INSTRUCTIONS
      each.push_back(instructions::count([&] { Ring(index); }));
#else
      Ring(index);
#endif
      toy_hold(false);
      const auto ran = Ran(1);
      ASSERT_EQ(1u, ran.size());
      EXPECT_EQ(7u << 8, ran[0].kernel_object);
    }
    if (each.empty())
      return;
    // Where others use the machine, more of them ask the limiter: so much time has passed.
    printf("instructions of a launch%s: %zu\n", what, *std::min_element(each.begin(), each.end()));
  }
};

TEST_F(FrontLaunch, KnownKernelsGoByWhatTheLeaseHas)
{
  Start("100%", 64);
  LaunchAndCount("", nullptr);
}

TEST_F(FrontLaunch, KeepingKernargsForFaultsCostsLittle)
{
  void *kernargs = nullptr;
  Set("RAWHAL_FAULTS", "text");
  Start("100%", 64);
  ASSERT_EQ(HSA_STATUS_SUCCESS,
            Amd<decltype(hsa_amd_memory_pool_allocate)>(120)(toy_host_pool(), 4096, 0, &kernargs));
  LaunchAndCount(" whose kernargs are kept", kernargs);
  ASSERT_EQ(HSA_STATUS_SUCCESS, Amd<decltype(hsa_amd_memory_pool_free)>(128)(kernargs));
}

// A thread that frees them waits until they have been read, or they are not read: sanitizers see it.
TEST_F(FrontLaunch, KernargsAreNotReadOnceTheyAreFreed)
{
  auto allocate = Amd<decltype(hsa_amd_memory_pool_allocate)>;
  Set("RAWHAL_FAULTS", "text");
  Start("100%", 64);
  std::atomic<void *> published{nullptr};
  std::atomic<bool> over{false};
  std::thread frees([&] {
    for (int i = 0; i < 300; ++i) {
      void *kernargs = nullptr;
      EXPECT_EQ(HSA_STATUS_SUCCESS, allocate(120)(toy_host_pool(), 256, 0, &kernargs));
      published = kernargs;
      while (published == kernargs && !over) // has one been launched with them?
        sched_yield();
      EXPECT_EQ(HSA_STATUS_SUCCESS, Amd<decltype(hsa_amd_memory_pool_free)>(128)(kernargs));
    }
    over = true;
  });
  hsa_kernel_dispatch_packet_t packet = Kernel(7, 0);
  while (!over) {
    void *kernargs = published;
    packet.kernarg_address = kernargs;
    published.compare_exchange_strong(kernargs, nullptr); // it is freed meanwhile
    Submit(packet);
  }
  frees.join();
}

// What is kept of memory, by whose it is and how far it goes.
class FrontLately : public FrontTest {
protected:
  void SetUp() override
  {
    FrontTest::SetUp();
    for (size_t i = 0; i < sizeof(memory_) / sizeof(*memory_); ++i)
      memory_[i] = i;
  }
  void TearDown() override
  {
    ranges_forget();
    FrontTest::TearDown();
  }
  uint64_t Address(size_t word) { return reinterpret_cast<uint64_t>(&memory_[word]); }
  // Of a dispatch with kernargs from that word on; how many bytes are kept.
  uint64_t Kept(size_t word)
  {
    lately_keep(lately_.get(), ticket_, 7, Address(word));
    const lately_entry_t *entry = lately_entry(lately_.get(), ticket_++);
    EXPECT_EQ(7u, entry->packet);
    EXPECT_EQ(0, memcmp(entry->words, &memory_[word], entry->size));
    return entry->size;
  }

  uint64_t memory_[512], ticket_ = 0;
  std::unique_ptr<lately_t> lately_{new lately_t()};
};

TEST_F(FrontLately, OfTheHostsMemoryAsFarAsItGoes)
{
  ASSERT_TRUE(ranges_add(Address(0), 2048, 0));
  ASSERT_TRUE(ranges_add(Address(256), 1024, 7));
  ASSERT_TRUE(ranges_add_mapped(Address(384), 1024, Address(384), 1));
  EXPECT_EQ(256u, Kept(0));
  EXPECT_EQ(256u, Kept(224));
  EXPECT_EQ(8u, Kept(255));
  EXPECT_EQ(0u, Kept(256)); // a device's
  EXPECT_EQ(0u, Kept(384)); // the program's own, which it may unmap
  EXPECT_EQ(256u, Kept(1));
  ranges_remove(Address(0));
  lately_forget();
  EXPECT_EQ(0u, Kept(1));
  for (int i = 0; i < LATELY_DISPATCHES; ++i)
    EXPECT_EQ(0u, Kept(1));
  ASSERT_TRUE(ranges_add(Address(0), 2048, 0));
  EXPECT_EQ(0u, Kept(1)); // it has given up
  lately_forget();
  EXPECT_EQ(256u, Kept(1));
  EXPECT_EQ(nullptr, lately_entry(lately_.get(), ticket_));
  EXPECT_NE(nullptr, lately_entry(lately_.get(), ticket_ - LATELY_DISPATCHES));
}

} // namespace
