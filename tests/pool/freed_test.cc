// With softgpu's check_freed: dispatches that use what was freed before them in their queue's order.
#include "pool_fixture.h"

namespace {

class PoolFreed : public PoolTest {
protected:
  const char *softgpu_options() override
  {
    return reference ? "gpus=1,vram_mib=64,check_freed=refuse,reference=1"
                     : "gpus=1,vram_mib=64,check_freed=refuse";
  }

  Allocation labelled(rawhal_pool_t *from, rawhal_queue_t *on, uint64_t bytes)
  {
    Allocation made = {};
    EXPECT_OK(ask(from, on, bytes, 0, 0, 0, &made, &error, "keys"));
    return made;
  }

  // Stores dwords at the beginning.
  rawhal_ticket_t use(rawhal_queue_t *on, const Allocation &allocation, uint64_t offset = 0,
                      uint32_t dwords = 64)
  {
    if (!own)
      own = kernel("owner-gfx90a-v5.co", "own");
    Blob arguments;
    arguments.add(allocation.address + offset).add(1u).add(7u);
    return submit(on, dispatch_of(own, dwords, 64, arguments));
  }

  void faults(rawhal_queue_t *on, rawhal_ticket_t ticket, const char *words)
  {
    EXPECT_EQ(wait(on, ticket), RAWHAL_FAULT);
    EXPECT_NE(strstr(error.message, words), nullptr) << error.message;
    rawhal_fault_t fault = {};
    fault.size = sizeof(fault);
    EXPECT_OK(rawhal_queue_fault(on, &fault, &error));
    EXPECT_EQ(fault.kind, RAWHAL_FAULT_MEMORY);
    EXPECT_EQ(fault.ticket, ticket);
  }

  // All of a slab has been written, so that of each access it is noted; a part of it is free.
  void freed_and_written()
  {
    rawhal_pool_t *from = pool(0, mib);
    rawhal_queue_t *on = queue();
    const Allocation whole = allocate(from, on, mib);
    ASSERT_OK(rawhal_buffer_fill(whole.buffer, whole.offset, 0x5a, mib, &error));
    give(from, on, whole);
    const Allocation kept = allocate(from, on, 4096), gone = labelled(from, on, 4096);
    ASSERT_EQ(kept.address + kept.bytes, gone.address);
    give(from, on, gone);
    faults(on, use(on, kept, 0, 2048), "byte 0 of allocation 'keys' of 4096 bytes");
  }

  bool reference = false;
  const rawhal_device_kernel_t *own = nullptr;
};

class PoolFreedReference : public PoolFreed {
protected:
  PoolFreedReference() { reference = true; }
};

// By one thread, which remembers what it has found for the work-groups that come next.
class PoolFreedAndWritten : public PoolFreed {
protected:
  const char *softgpu_options() override
  {
    return reference ? "gpus=1,vram_mib=64,threads=1,check_memory=refuse,check_freed=refuse,"
                       "reference=1"
                     : "gpus=1,vram_mib=64,threads=1,check_memory=refuse,check_freed=refuse";
  }
};

class PoolFreedAndWrittenReference : public PoolFreedAndWritten {
protected:
  PoolFreedAndWrittenReference() { reference = true; }
};

TEST_F(PoolFreedAndWritten, ItIsStillFree)
{
  freed_and_written();
}

TEST_F(PoolFreedAndWrittenReference, ItIsStillFree)
{
  freed_and_written();
}

TEST_F(PoolFreed, ADispatchAfterTheEndIsNamed)
{
  rawhal_pool_t *from = pool(0, mib);
  rawhal_queue_t *on = queue();
  const Allocation kept = allocate(from, on, 1024), gone = labelled(from, on, 3000);
  ASSERT_OK(wait(on, use(on, gone)));
  give(from, on, gone);
  ASSERT_OK(wait(on, use(on, kept)));
  faults(
      on, use(on, gone, 256),
      "byte 256 of allocation 'keys' of 3000 bytes of the pool 'weights', freed behind ticket 1");
}

TEST_F(PoolFreedReference, ADispatchAfterTheEndIsNamed)
{
  rawhal_pool_t *from = pool(0, mib);
  rawhal_queue_t *on = queue();
  const Allocation gone = allocate(from, on, 3000);
  ASSERT_OK(wait(on, use(on, gone)));
  give(from, on, gone);
  faults(on, use(on, gone), "byte 0 of allocation of 3000 bytes of the pool 'weights', freed");
}

// What was submitted before may go on, and is not looked at when it runs after the host's call.
TEST_F(PoolFreed, PacketsCountAndNotTheTime)
{
  rawhal_pool_t *from = pool(0, mib);
  rawhal_queue_t *on = queue();
  const Allocation gone = labelled(from, on, 4096);
  (void)submit(on, held());
  const rawhal_ticket_t before = use(on, gone);
  give(from, on, gone);
  const rawhal_ticket_t after = use(on, gone);
  const Allocation again = allocate(from, on, 4096);
  EXPECT_EQ(again.address, gone.address);
  const rawhal_ticket_t last = use(on, again);
  release();
  EXPECT_OK(wait(on, before));
  faults(on, after, "freed behind ticket 2");
  EXPECT_EQ(wait(on, last), RAWHAL_FAULT);
}

TEST_F(PoolFreed, WhoAllocatesItAgainMayUseIt)
{
  rawhal_pool_t *from = pool(mib, mib);
  rawhal_queue_t *on = queue(), *other = queue();
  for (int i = 0; i < 20; ++i) {
    const Allocation first = allocate(from, on, mib / 2), second = allocate(from, on, mib / 4);
    (void)use(on, first);
    (void)use(on, second);
    give(from, on, first);
    give(from, on, second);
    const Allocation whole = allocate(from, on, 3 * mib / 4); // of both, joined
    (void)use(on, whole);
    ASSERT_OK(wait(on, use(on, whole, mib / 2 + 4096)));
    give(from, on, whole);
    const Allocation theirs = allocate(from, other, mib);
    ASSERT_OK(wait(other, use(other, theirs)));
    give(from, other, theirs);
  }
  // A part of what is free: the rest still is.
  const Allocation whole = labelled(from, on, mib);
  give(from, on, whole);
  const Allocation part = allocate(from, on, 4096);
  ASSERT_OK(wait(on, use(on, part)));
  const rawhal_ticket_t wrong = use(on, whole, part.offset ? 0 : mib / 2);
  faults(on, wrong, "of 1048576 bytes of the pool 'weights', freed behind");
}

TEST_F(PoolFreed, QueuesAndPoolsThatGoAreForgotten)
{
  rawhal_pool_t *from = pool(0, mib);
  rawhal_queue_t *first = own_queue();
  const Allocation mine = allocate(from, first, 4096);
  (void)use(first, mine);
  give(from, first, mine);
  rawhal_queue_destroy(first);
  rawhal_queue_t *on = queue();
  const Allocation again = allocate(from, on, 4096);
  ASSERT_OK(wait(on, use(on, again)));
  give(from, on, again);
  rawhal_pool_destroy(from);
  pools.clear();
  rawhal_buffer_t *plain = buffer(mib); // may be where the slab was
  Allocation as = {};
  as.address = rawhal_buffer_address(plain);
  ASSERT_OK(wait(on, use(on, as)));
}

// Whoever does not ask for it pays nothing, and is told nothing.
TEST_F(PoolTest, WithoutTheCheckNobodyLooks)
{
  rawhal_pool_t *from = pool(0, mib);
  rawhal_queue_t *on = queue();
  const Allocation gone = allocate(from, on, 4096);
  give(from, on, gone);
  Blob arguments;
  arguments.add(gone.address).add(1u).add(7u);
  EXPECT_OK(
      wait(on, submit(on, dispatch_of(kernel("owner-gfx90a-v5.co", "own"), 64, 64, arguments))));
}

} // namespace
