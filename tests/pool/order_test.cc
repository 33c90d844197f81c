// What is freed in the order of a queue: who may have it, and when.
#include "pool_fixture.h"

#include <atomic>
#include <thread>

namespace {

class PoolOrder : public PoolTest {
protected:
  // A queue on which a kernel runs until release().
  rawhal_queue_t *busy()
  {
    rawhal_queue_t *on = queue();
    last = submit(on, held());
    return on;
  }

  void finish(rawhal_queue_t *on)
  {
    release();
    ASSERT_OK(wait(on, last));
  }

  rawhal_ticket_t last = 0;
};

TEST_F(PoolOrder, TheSameQueueHasItAtOnceOthersWhenItHasFinished)
{
  rawhal_pool_t *from = pool(mib, mib);
  rawhal_queue_t *on = busy(), *other = queue();
  const Allocation first = allocate(from, on, mib);
  EXPECT_EQ(first.after, 0u);
  give(from, on, first);
  EXPECT_EQ(info(from).waiting_bytes, mib);
  const Allocation again = allocate(from, on, mib);
  EXPECT_EQ(again.address, first.address);
  EXPECT_EQ(again.after, last);
  EXPECT_NE(again.id, first.id);
  give(from, on, again);
  EXPECT_EQ(refused(from, other, mib), RAWHAL_WOULD_BLOCK);
  EXPECT_NE(strstr(error.message, "of 1048576 bytes reserved 0 are allocated, and 1048576 were "
                                  "freed, and may still be in use"),
            nullptr)
      << error.message;
  EXPECT_EQ(refused(from, nullptr, mib), RAWHAL_WOULD_BLOCK);
  EXPECT_EQ(refused(from, other, mib, rawhal_deadline_after(millisecond)), RAWHAL_TIMED_OUT);
  Allocation unordered = {};
  EXPECT_EQ(ask(from, on, mib, 0, RAWHAL_POOL_UNORDERED, 0, &unordered, &error),
            RAWHAL_WOULD_BLOCK);
  EXPECT_EQ(rawhal_pool_trim(from, 0), 0u);
  finish(on);
  const Allocation theirs = allocate(from, other, mib);
  EXPECT_EQ(theirs.address, first.address);
  EXPECT_EQ(theirs.after, 0u);
  EXPECT_EQ(info(from).reused_allocations, 1u);
  EXPECT_EQ(info(from).total_allocations, 3u);
  EXPECT_EQ(info(from).peak_reserved_bytes, mib);
}

TEST_F(PoolOrder, PartsAreJoinedAndDividedInTheQueuesOrder)
{
  rawhal_pool_t *from = pool(mib, mib);
  rawhal_queue_t *on = busy();
  std::vector<Allocation> parts;
  for (int i = 0; i < 4; ++i)
    parts.push_back(allocate(from, on, mib / 4));
  for (const Allocation &part : parts)
    give(from, on, part);
  const Allocation whole = allocate(from, on, mib);
  EXPECT_EQ(whole.after, last);
  give(from, on, whole);
  const Allocation part = allocate(from, on, mib / 2), rest = allocate(from, on, mib / 2);
  EXPECT_EQ(part.after, last);
  EXPECT_EQ(rest.after, last);
  EXPECT_EQ(info(from).used_bytes, mib);
}

TEST_F(PoolOrder, WhatOneFreesLaterIsAwaitedForAsLong)
{
  rawhal_pool_t *from = pool(mib, mib);
  rawhal_queue_t *on = queue(), *other = queue();
  const Allocation half = allocate(from, on, mib / 2), rest = allocate(from, on, mib / 2);
  ASSERT_OK(wait(on, submit(on, empty())));
  give(from, on, half); // behind what has finished
  last = submit(on, held());
  give(from, on, rest);
  EXPECT_EQ(allocate(from, other, mib / 2).address, half.address);
  EXPECT_EQ(refused(from, other, mib / 2), RAWHAL_WOULD_BLOCK);
  finish(on);
  EXPECT_EQ(allocate(from, other, mib / 2).address, rest.address);
}

TEST_F(PoolOrder, WaitingEndsWhenTheQueueHasFinished)
{
  rawhal_pool_t *from = pool(mib, mib);
  rawhal_queue_t *on = busy(), *other = queue();
  give(from, on, allocate(from, on, mib));
  std::atomic<bool> asked{false};
  std::thread thread([&] {
    asked = true;
    Allocation got = {};
    rawhal_error_t mine = {};
    EXPECT_OK(rawhal_pool_allocate(from, other, mib, RAWHAL_FOREVER, &got, &mine));
    EXPECT_EQ(got.after, 0u);
  });
  while (!asked)
    std::this_thread::yield();
  release();
  thread.join();
  ASSERT_OK(wait(on, last));
}

TEST_F(PoolOrder, WaitingEndsWhenAnotherThreadFrees)
{
  rawhal_pool_t *from = pool(mib, mib);
  rawhal_queue_t *on = busy(), *other = queue();
  const Allocation mine = allocate(from, nullptr, mib / 2);
  give(from, on, allocate(from, on, mib / 2)); // is waited for, and will not do
  std::atomic<bool> asked{false}, done{false};
  std::thread thread([&] {
    asked = true;
    Allocation got = {};
    rawhal_error_t failure = {};
    EXPECT_OK(rawhal_pool_allocate(from, other, mib / 2, RAWHAL_FOREVER, &got, &failure));
    EXPECT_EQ(got.address, mine.address);
    done = true;
  });
  while (!asked)
    std::this_thread::yield();
  EXPECT_FALSE(done);
  give(from, nullptr, mine);
  thread.join();
  finish(on);
}

// Whatever does not fit when all has been waited for is refused.
TEST_F(PoolOrder, WaitingEndsWhenThereIsNothingToWaitFor)
{
  rawhal_pool_t *from = pool(mib, mib);
  rawhal_queue_t *on = busy(), *other = queue();
  const Allocation kept = allocate(from, nullptr, 256);
  give(from, on, allocate(from, on, mib / 2));
  std::thread thread([&] { release(); });
  EXPECT_EQ(refused(from, other, mib, RAWHAL_FOREVER), RAWHAL_OUT_OF_MEMORY);
  thread.join();
  ASSERT_OK(wait(on, last));
  give(from, nullptr, kept);
  EXPECT_EQ(allocate(from, other, mib).after, 0u);
}

// A dispatch may finish before one that was submitted earlier, where they overlap.
TEST_F(PoolOrder, OverlappingDispatchesAreAllWaitedFor)
{
  rawhal_pool_t *from = pool(mib, mib);
  rawhal_queue_t *on = busy();
  rawhal_dispatch_t second = empty();
  second.flags = RAWHAL_DISPATCH_OVERLAP;
  const rawhal_ticket_t ticket = submit(on, second);
  give(from, on, allocate(from, on, mib));
  EXPECT_EQ(refused(from, nullptr, mib), RAWHAL_WOULD_BLOCK);
  EXPECT_EQ(refused(from, nullptr, mib, rawhal_deadline_after(20 * millisecond)), RAWHAL_TIMED_OUT);
  std::thread thread([&] { release(); });
  Allocation got = {};
  EXPECT_OK(rawhal_pool_allocate(from, nullptr, mib, RAWHAL_FOREVER, &got, &error));
  thread.join();
  ASSERT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
}

TEST_F(PoolOrder, ACallbackMayWaitForMemoryOfItsOwnQueue)
{
  struct Asks {
    rawhal_pool_t *from;
    rawhal_status_t status = RAWHAL_OK;
    std::atomic<bool> asked{false}, done{false};
  } asks{pool(mib, mib)};
  rawhal_queue_t *on = queue();
  const Allocation whole = allocate(asks.from, on, mib);
  const rawhal_ticket_t first = submit(on, empty());
  last = submit(on, held());
  give(asks.from, on, whole);
  const auto ask = [](void *context, rawhal_ticket_t, const rawhal_error_t *) {
    Asks *of = static_cast<Asks *>(context);
    Allocation got = {};
    rawhal_error_t mine = {};
    of->asked = true;
    of->status = rawhal_pool_allocate(of->from, nullptr, mib, RAWHAL_FOREVER, &got, &mine);
    of->done = true;
  };
  ASSERT_OK(rawhal_queue_on_complete(on, first, ask, &asks, &error));
  while (!asks.asked)
    std::this_thread::yield();
  finish(on);
  while (!asks.done)
    std::this_thread::yield();
  EXPECT_EQ(asks.status, RAWHAL_OK);
}

TEST_F(PoolOrder, AQueueThatIsDestroyedGivesItBack)
{
  rawhal_pool_t *from = pool(mib, mib);
  rawhal_queue_t *on = own_queue();
  const Allocation mine = allocate(from, on, mib);
  (void)submit(on, held());
  give(from, on, mine);
  EXPECT_EQ(refused(from, nullptr, mib), RAWHAL_WOULD_BLOCK);
  rawhal_queue_destroy(on);
  EXPECT_EQ(allocate(from, nullptr, mib).after, 0u);
  EXPECT_EQ(info(from).total_allocations, 2u);
  EXPECT_EQ(info(from).allocations, 1u);
}

TEST_F(PoolOrder, ADeadQueueGivesItBackWhenItIsDestroyed)
{
  rawhal_pool_t *from = pool(2 * mib, mib);
  rawhal_queue_t *on = own_queue();
  const Allocation mine = allocate(from, on, mib);
  Blob wrong;
  wrong.add(uint64_t{64}).add(uint64_t{0}).add(0u); // store_at(NULL + 64, ..)
  last = submit(on, dispatch_of(kernel("mistakes-gfx90a-v5.co", "store_at"), 1, 1, wrong));
  EXPECT_EQ(wait(on, last), RAWHAL_FAULT);
  give(from, on, mine);
  // Nothing is ordered behind it, and nobody waits for it.
  EXPECT_NE(allocate(from, on, mib).address, mine.address);
  EXPECT_EQ(refused(from, nullptr, mib, RAWHAL_FOREVER), RAWHAL_OUT_OF_MEMORY);
  rawhal_queue_destroy(on);
  EXPECT_EQ(allocate(from, nullptr, mib).address, mine.address);
}

TEST_F(PoolOrder, PoolsAndQueuesGoInAnyOrder)
{
  rawhal_pool_t *first = nullptr, *second = nullptr;
  rawhal_queue_t *on = own_queue();
  rawhal_pool_options_t options = {};
  options.slab_bytes = mib;
  ASSERT_OK(rawhal_pool_create(device, &options, &first, &error));
  ASSERT_OK(rawhal_pool_create(device, &options, &second, &error));
  give(first, on, allocate(first, on, 100));
  give(second, on, allocate(second, on, 100));
  (void)allocate(first, on, 5000);
  rawhal_pool_destroy(first);
  ASSERT_OK(rawhal_pool_create(device, &options, &first, &error)); // may have its address
  give(first, on, allocate(first, on, 100));
  EXPECT_EQ(info(second).waiting_bytes, 256u);
  rawhal_queue_destroy(on);
  EXPECT_EQ(info(second).waiting_bytes, 0u);
  rawhal_pool_destroy(first);
  rawhal_instance_destroy(instance);
  instance = nullptr;
  rawhal_pool_destroy(second);
}

// What waits for a callback of a queue is gone before it comes.
TEST_F(PoolOrder, APoolGoesWhileACallbackIsOnItsWay)
{
  rawhal_pool_t *from = nullptr;
  rawhal_pool_options_t options = {};
  options.budget_bytes = options.slab_bytes = mib;
  ASSERT_OK(rawhal_pool_create(device, &options, &from, &error));
  rawhal_queue_t *on = busy();
  give(from, on, allocate(from, on, mib));
  EXPECT_EQ(refused(from, nullptr, mib, rawhal_deadline_after(millisecond)), RAWHAL_TIMED_OUT);
  finish(on);
  rawhal_pool_destroy(from);
}

TEST_F(PoolOrder, AShelfKeepsAlignments)
{
  rawhal_pool_t *from = pool(mib, mib);
  rawhal_queue_t *on = queue();
  std::vector<Allocation> all;
  for (int i = 0; i < 16; ++i) // 768 bytes: each lies otherwise
    all.push_back(allocate(from, on, 768));
  for (const Allocation &each : all)
    give(from, on, each);
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(allocate(from, on, 768, 1024).address % 1024, 0u);
  EXPECT_EQ(info(from).allocations, 8u);
}

TEST_F(PoolOrder, OfAnotherDevice)
{
  rawhal_instance_destroy(instance);
  rawhal_instance_options_t options = {};
  options.backend = RAWHAL_BACKEND_SOFTGPU;
  options.softgpu_options = "gpus=2,vram_mib=64";
  ASSERT_OK(rawhal_instance_create(&options, &instance, &error));
  device = rawhal_instance_device(instance, 1);
  rawhal_queue_t *on = queue();
  device = rawhal_instance_device(instance, 0);
  rawhal_pool_t *from = pool();
  EXPECT_EQ(refused(from, on, 1), RAWHAL_INVALID_ARGUMENT);
  const Allocation mine = allocate(from, nullptr, 1);
  EXPECT_EQ(rawhal_pool_free(from, on, &mine, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(info(from).allocations, 1u);
}

} // namespace
