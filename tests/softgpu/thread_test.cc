#include <gtest/gtest.h>

#include <cfenv>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

extern "C" {
#include "softgpu/device/thread.h"
}

namespace {

struct Arithmetic {
  int rounding;
  float half_of_least; // of the least normal number
};

void *compute(void *argument)
{
  volatile float least = 0x1p-126f;
  *static_cast<Arithmetic *>(argument) = {std::fegetround(), least * 0.5f};
  return nullptr;
}

// Programs that are compiled with -ffast-math flush denormals, some round otherwise; a device does neither.
TEST(Thread, ComputesTheSameWhateverTheProgramSet)
{
  std::fenv_t before;
  ASSERT_EQ(0, std::fegetenv(&before));
  ASSERT_EQ(0, std::fesetround(FE_UPWARD));
#ifdef __SSE__
  _mm_setcsr(_mm_getcsr() | 0x8040); // denormals are zero, as sources and as results
#endif
  Arithmetic of_device = {}, of_program = {};
  pthread_t thread;
  const bool started = softgpu_thread_start(&thread, "test", compute, &of_device);
  if (started)
    pthread_join(thread, nullptr);
  compute(&of_program);
  ASSERT_EQ(0, std::fesetenv(&before));
  ASSERT_TRUE(started);
  EXPECT_EQ(FE_TONEAREST, of_device.rounding);
  EXPECT_EQ(0x1p-127f, of_device.half_of_least);
  EXPECT_EQ(FE_UPWARD, of_program.rounding); // it keeps its own
#ifdef __SSE__
  EXPECT_EQ(0, of_program.half_of_least);
#endif
}

} // namespace
