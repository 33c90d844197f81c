// Ends of all kinds while the device works.
#include "held_test.h"
#include "tests/values.h"

#include <cstdlib>

namespace {

class Shutdown : public HeldTest {
protected:
  // Something of everything, all of it busy.
  void make_busy()
  {
    on = own_queue();
    first = submit(on, held());
    submit(on, empty());
    ASSERT_OK(rawhal_queue_on_complete(
        on, first,
        [](void *count, rawhal_ticket_t, const rawhal_error_t *result) {
          *static_cast<int *>(count) += result->status == RAWHAL_DEVICE_LOST;
        },
        &lost, &error));
  }

  rawhal_queue_t *on = nullptr;
  rawhal_ticket_t first = 0;
  int lost = 0;
};

TEST_F(Shutdown, TheQueueLast)
{
  make_busy();
  for (rawhal_executable_t *executable : executables)
    rawhal_executable_destroy(executable);
  executables.clear();
  rawhal_instance_destroy(instance);
  instance = nullptr;
  EXPECT_EQ(rawhal_queue_wait(on, first, 0, &error), RAWHAL_WOULD_BLOCK);
  rawhal_queue_destroy(on);
  EXPECT_EQ(lost, 1);
  for (rawhal_buffer_t *one : buffers)
    rawhal_buffer_free(one);
  buffers.clear();
  flag = nullptr;
  SetUp(); // the runtime starts again
  ASSERT_OK(run(queue(), dispatch_of(kernel("empty-gfx90a-v5.co", "empty"), 1, 1, none)));
}

TEST_F(Shutdown, TheQueueFirst)
{
  make_busy();
  rawhal_queue_destroy(on);
  EXPECT_EQ(lost, 1);
}

// Other queues of the device do not notice.
TEST_F(Shutdown, BesideAQueueThatGoesOn)
{
  rawhal_queue_t *other = queue();
  make_busy();
  ASSERT_OK(run(other, empty()));
  rawhal_queue_destroy(on);
  for (int i = 0; i < 10; ++i)
    ASSERT_OK(run(other, empty()));
}

TEST_F(Shutdown, AQueueThatDiedIsReplaced)
{
  const rawhal_device_kernel_t *wild = kernel("fault-gfx90a-v5.co", "fault_store");
  Blob blob;
  blob.add(uint64_t{64}).add(int64_t{0}).add(1u);
  for (int i = 0; i < 5; ++i) {
    rawhal_queue_t *dying = own_queue();
    rawhal_ticket_t good = submit(dying, empty());
    EXPECT_EQ(wait(dying, submit(dying, dispatch_of(wild, 1, 1, blob))), RAWHAL_FAULT);
    EXPECT_OK(wait(dying, good));
    EXPECT_EQ(queue_info(dying).finished, good);
    rawhal_queue_destroy(dying);
    ASSERT_OK(run(queue(), empty()));
  }
}

#ifndef __SANITIZE_THREAD__ // does not live through exit() of a process with threads
class ShutdownDeathTest : public Shutdown {};

TEST_F(ShutdownDeathTest, AProcessMayEndInTheMiddle)
{
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  setenv("ASAN_OPTIONS", "detect_leaks=0", 1); // of the process that is started: all of it leaks
  EXPECT_EXIT(
      {
        make_busy();
        exit(HasFailure() ? 1 : 7);
      },
      testing::ExitedWithCode(7), "");
}
#endif

} // namespace
