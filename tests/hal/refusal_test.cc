// Copies that the runtime refuses to start (refusing_runtime.c): the call fails and leaves nothing behind, and the queue
// goes on.
#include "held_test.h"

#include <dlfcn.h>

namespace {

class Refusal : public HeldTest {
protected:
  void SetUp() override
  {
    setenv("RAWHAL_RUNTIME_LIBRARY", RAWHAL_REFUSING_RUNTIME, 1);
    DeviceTest::SetUp();
  }

  // The next of them after `passed`.
  static void refuse(const char *what, int passed = 0)
  {
    set((std::string("passed_") + what).c_str(), passed);
    set((std::string("refused_") + what).c_str(), 1);
  }

  static void set(const char *name, int value)
  {
    void *there = dlsym(RTLD_DEFAULT, name);
    ASSERT_NE(there, nullptr);
    *static_cast<int *>(there) = value;
  }
};

TEST_F(Refusal, AReadIsNotDeliveredLater)
{
  rawhal_queue_t *on = queue();
  rawhal_buffer_t *from = upload(std::vector<uint32_t>(16, 7));
  for (const char *what : {"copies", "signals"}) {
    SCOPED_TRACE(what);
    std::vector<uint32_t> got(16, 1);
    submit(on, held()); // nothing finishes before the call has returned
    rawhal_ticket_t ticket = 99;
    refuse(what);
    EXPECT_EQ(rawhal_queue_read(on, from, 0, got.data(), 64, RAWHAL_FOREVER, &ticket, &error), RAWHAL_OUT_OF_MEMORY)
        << error.message;
    EXPECT_EQ(ticket, 0u);
    let_go();
    EXPECT_OK(wait(on, submit(on, empty())));
    EXPECT_EQ(got, std::vector<uint32_t>(16, 1));
    EXPECT_OK(rawhal_queue_read(on, from, 0, got.data(), 64, RAWHAL_FOREVER, &ticket, &error));
    EXPECT_OK(wait(on, ticket));
    EXPECT_EQ(got, std::vector<uint32_t>(16, 7));
  }
}

TEST_F(Refusal, AFillStopsWhereItIs)
{
  rawhal_queue_t *on = queue();
  const size_t size = 2 << 20; // more than a piece
  rawhal_buffer_t *to = buffer(size);
  ASSERT_OK(rawhal_buffer_fill(to, 0, 1, size, &error));
  rawhal_ticket_t ticket = 99;
  refuse("copies", 1);
  EXPECT_EQ(rawhal_queue_fill(on, to, 0, 2, size, RAWHAL_FOREVER, &ticket, &error), RAWHAL_OUT_OF_MEMORY);
  EXPECT_EQ(ticket, 0u);
  EXPECT_OK(wait(on, submit(on, empty())));
  EXPECT_EQ(download<uint32_t>(to, size / 4).back(), 1u);
  EXPECT_OK(rawhal_queue_fill(on, to, 0, 3, size, RAWHAL_FOREVER, &ticket, &error));
  EXPECT_OK(wait(on, ticket));
  EXPECT_EQ(download<uint32_t>(to, size / 4), std::vector<uint32_t>(size / 4, 3));
}

TEST_F(Refusal, EverySlotCanBeUsedAgain)
{
  rawhal_queue_options_t options = {};
  options.submissions = 4;
  rawhal_queue_t *on = queue(options);
  rawhal_buffer_t *from = upload(std::vector<uint32_t>(16, 7)), *to = buffer(64);
  for (int i = 0; i < 20; ++i) {
    const rawhal_copy_t copy = {0, to, 0, from, 0, 64};
    rawhal_ticket_t ticket = 0;
    refuse(i % 2 ? "copies" : "signals");
    rawhal_status_t status = copy_in(on, copy, RAWHAL_FOREVER, nullptr, &error);
    EXPECT_TRUE(status == RAWHAL_OUT_OF_MEMORY || (status == RAWHAL_OK && i % 2 == 0)) << i; // the slot has its signals
    set("refused_signals", 0);
    EXPECT_OK(copy_in(on, copy, RAWHAL_FOREVER, &ticket, &error));
    EXPECT_OK(wait(on, ticket));
  }
  EXPECT_EQ(download<uint32_t>(to, 16), std::vector<uint32_t>(16, 7));
}

TEST_F(Refusal, BlockingCopiesGoOnAfterwards)
{
  rawhal_buffer_t *to = buffer(64);
  const std::vector<uint32_t> values(16, 7);
  for (const char *what : {"signals", "copies"}) {
    refuse(what);
    EXPECT_EQ(rawhal_buffer_write(to, 0, values.data(), 64, &error), RAWHAL_OUT_OF_MEMORY) << error.message;
    EXPECT_OK(rawhal_buffer_write(to, 0, values.data(), 64, &error));
    EXPECT_EQ(download<uint32_t>(to, 16), values);
  }
}

} // namespace
