// What a launch costs the program's thread.
#include "tests/front/proxy_test.h"
#include "tests/instructions.h"

#include <algorithm>

namespace {

// Of a kernel that is known, one by one: the limiter has nothing to be asked, but for now and then. How many instructions
// that takes is held where compilers and options are known, by bench/counted.py, which reads it here.
TEST_F(FrontProxy, KnownKernelsGoByWhatTheLeaseHas)
{
  constexpr uint64_t first = 600, count = 21; // after all of a queue's signals are made
  Start("100%", 64);
  for (uint64_t i = 0; i < first; ++i)
    Submit(Kernel(7, 100));
  EXPECT_EQ(first, Ran(first).size());
  std::vector<size_t> each;
  for (uint64_t i = first; i < first + count; ++i) {
    const uint64_t index = Reserve();
    Write(index, Kernel(7, 100));
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
  printf("instructions of a launch: %zu\n", each[each.size() / 2]);
}

} // namespace
