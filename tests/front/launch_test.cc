// What a launch costs the program's thread.
#include "tests/front/proxy_test.h"
#include "tests/instructions.h"

#include <algorithm>

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
    std::sort(each.begin(), each.end());
    printf("instructions of a launch%s: %zu\n", what, each[each.size() / 2]);
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

} // namespace
