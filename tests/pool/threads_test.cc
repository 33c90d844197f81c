// Threads that each allocate, use and free in the order of a queue of their own, of one pool whose budget is too small for
// all they want. Kernels mark the memory and look whether the marks are still there: nobody else had it.
#include "pool_fixture.h"

#include "tests/extended.h"

#include <atomic>
#include <random>
#include <thread>

namespace {

class PoolThreads : public PoolTest {
protected:
  static constexpr uint32_t thread_count = 16;

  const char *softgpu_options() override { return "gpus=1,vram_mib=256,timeout_ms=0"; }

  struct Kernels {
    const rawhal_device_kernel_t *own, *still;
  };

  // One thread's: allocations, each with two dispatches and the wait of none.
  void work(rawhal_pool_t *from, rawhal_queue_t *on, const Kernels &kernels, uint32_t number,
            uint32_t rounds, uint64_t lost)
  {
    std::mt19937 random(number);
    rawhal_error_t mine = {};
    std::vector<Allocation> held;
    for (uint32_t i = 0; i < rounds && !failed; ++i) {
      const uint32_t words = 64u << random() % 6, id = number << 24 | i << 8;
      Allocation got = {};
      const rawhal_status_t status =
          ask(from, on, words * 4, 0, random() % 16 ? 0u : uint32_t{RAWHAL_POOL_UNORDERED},
              rawhal_deadline_after(60000 * millisecond), &got, &mine);
      if (status != RAWHAL_OK) {
        failed = true;
        ADD_FAILURE() << mine.message;
        break;
      }
      Blob marks, looks;
      marks.add(got.address).add(words / 64).add(id);
      looks.add(got.address).add(words / 64).add(id).add(lost);
      const rawhal_dispatch_t both[] = {dispatch_of(kernels.own, 64, 64, marks),
                                        dispatch_of(kernels.still, 64, 64, looks)};
      if (rawhal_queue_submit(on, both, 2, RAWHAL_FOREVER, nullptr, &mine) != RAWHAL_OK)
        failed = true;
      held.push_back(got);
      while (held.size() > random() % 3) { // some live while others are used
        std::swap(held[random() % held.size()], held.back());
        if (rawhal_pool_free(from, on, &held.back(), &mine) != RAWHAL_OK)
          failed = true;
        held.pop_back();
      }
    }
    for (const Allocation &each : held)
      if (rawhal_pool_free(from, on, &each, &mine) != RAWHAL_OK)
        failed = true;
  }

  void run_all(uint32_t each)
  {
    rawhal_pool_t *from = pool(256 << 10, 64 << 10);
    rawhal_executable_t *code = load("owner-gfx90a-v5.co");
    Kernels kernels = {};
    ASSERT_OK(rawhal_executable_kernel(code, {"own", 3}, 0, &kernels.own, &error));
    ASSERT_OK(rawhal_executable_kernel(code, {"still", 5}, 0, &kernels.still, &error));
    rawhal_buffer_t *lost = buffer(4, RAWHAL_MEMORY_HOST);
    ASSERT_OK(rawhal_buffer_fill(lost, 0, 0, 4, &error));
    rawhal_queue_options_t options = {};
    options.packets = options.submissions = 64;
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < thread_count; ++i) {
      rawhal_queue_t *on = queue(options);
      threads.emplace_back([=] { work(from, on, kernels, i, each, rawhal_buffer_address(lost)); });
    }
    for (std::thread &thread : threads)
      thread.join();
    EXPECT_FALSE(failed);
    for (rawhal_queue_t *on : queues) {
      const rawhal_queue_info_t now = queue_info(on);
      EXPECT_OK(rawhal_queue_wait(on, now.last_ticket, RAWHAL_FOREVER, &error));
    }
    EXPECT_EQ(*static_cast<uint32_t *>(rawhal_buffer_host(lost)), 0u);
    const rawhal_pool_info_t end = info(from);
    EXPECT_EQ(end.allocations, 0u);
    EXPECT_EQ(end.used_bytes, 0u);
    EXPECT_EQ(end.total_allocations, static_cast<uint64_t>(each) * thread_count);
    EXPECT_LE(end.peak_reserved_bytes, 256u << 10);
    EXPECT_LE(end.peak_used_bytes, end.peak_reserved_bytes);
    EXPECT_EQ(rawhal_pool_trim(from, 0), end.reserved_bytes);
  }

  std::atomic<bool> failed{false};
};

TEST_F(PoolThreads, NobodysMemoryIsAnothers)
{
  run_all(by_length<uint32_t>(is_sanitized ? 60 : 200, 1000, 62500));
}

} // namespace
