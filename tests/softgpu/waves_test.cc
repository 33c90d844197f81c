// What the error callback of a queue, and others, see of the waves.
#include "kernels.h"

#include <future>

namespace {

struct Seen {
  const Functions *hsa = nullptr;
  size_t count = 0, faulted = 0;
  uint64_t pc = 0, kernel = 0;
  uint32_t states = 0; // a bit each
};

bool note(void *context, const softgpu_wave_t *wave, size_t)
{
  auto *seen = static_cast<Seen *>(context);
  ++seen->count;
  seen->states |= 1u << wave->state;
  seen->kernel = wave->kernel_object;
  if (wave->state == SOFTGPU_WAVE_FAULTED) {
    ++seen->faulted;
    seen->pc = wave->pc;
  }
  return true;
}

class Waves : public Kernels, public ::testing::WithParamInterface<bool> {
protected:
  void configure() override { option("reference", GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Engines, Waves, ::testing::Bool(), [](const auto &engine) {
  return std::string(engine.param ? "reference" : "fast");
});

TEST_P(Waves, of_a_fault_are_there_when_the_callback_comes)
{
  struct Context {
    Seen seen;
    std::promise<void> called;
  } context;
  context.seen.hsa = hsa;
  hsa_queue_t *q = nullptr;
  auto look = [](hsa_status_t, hsa_queue_t *failed, void *data) {
    auto *of = static_cast<Context *>(data);
    const size_t count = of->seen.hsa->waves(failed, note, &of->seen);
    EXPECT_EQ(count, of->seen.count);
    of->called.set_value();
  };
  ASSERT_EQ(hsa->hsa_queue_create(gpu, 64, HSA_QUEUE_TYPE_MULTI, look, &context, UINT32_MAX,
                                  UINT32_MAX, &q),
            HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa->waves(q, nullptr, nullptr), 0u);
  Kernel kernel = load("fault-gfx90a-v5.co", "fault_store");
  start(q, kernel, kernargs({16, 0, 7}), 128, 128);
  ASSERT_EQ(context.called.get_future().wait_for(std::chrono::seconds(10)),
            std::future_status::ready);
  softgpu_fault_info_t info{};
  ASSERT_TRUE(hsa->queue_fault_info(q, &info, sizeof(info)));
  EXPECT_EQ(info.access, (uint32_t)SOFTGPU_ACCESS_WRITE);
  EXPECT_EQ(info.lanes_known, 1u);
  EXPECT_EQ(info.lanes, ~0ull);
  EXPECT_EQ(context.seen.count, 2u);
  EXPECT_EQ(context.seen.faulted, 1u);
  EXPECT_EQ(context.seen.pc, info.pc);
  EXPECT_EQ(context.seen.kernel, kernel.object);
  EXPECT_FALSE(hsa->waves_take(q, 1000)) << "it has stopped";
  EXPECT_EQ(hsa->waves(q, nullptr, nullptr), 2u);
  EXPECT_EQ(hsa->hsa_queue_destroy(q), HSA_STATUS_SUCCESS);
  EXPECT_EQ(hsa->waves(q, nullptr, nullptr), 0u);
  EXPECT_FALSE(hsa->waves_take(q, 1000));
}

TEST_P(Waves, of_what_runs_are_taken_and_it_goes_on)
{
  Kernel kernel = load("spin-gfx90a-v5.co", "spin");
  auto *flag = (uint32_t *)host_memory(64);
  *flag = 0;
  hsa_queue_t *q = queue();
  EXPECT_FALSE(hsa->waves_take(q, 1000)) << "nothing runs";
  hsa_signal_t done = start(q, kernel, kernargs({(uint64_t)flag}), 128, 64);
  Seen seen;
  for (int n = 0; n < 10000000 && seen.count != 2; ++n) { // until both groups have begun
    seen = {};
    if (hsa->waves_take(q, 10000))
      hsa->waves(q, note, &seen);
    else
      std::this_thread::yield();
  }
  EXPECT_EQ(seen.count, 2u);
  EXPECT_EQ(seen.states, 1u << SOFTGPU_WAVE_RUNNING);
  EXPECT_EQ(seen.kernel, kernel.object);
  EXPECT_TRUE(pending(done));
  __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
  EXPECT_TRUE(reaches(done, 0));
  softgpu_fault_info_t info{};
  EXPECT_FALSE(hsa->queue_fault_info(q, &info, sizeof(info)));
}

// Who waits for the waves of a queue that goes away waits no longer.
TEST_P(Waves, are_asked_for_while_the_queue_goes)
{
  Kernel kernel = load("spin-gfx90a-v5.co", "spin");
  auto *flag = (uint32_t *)host_memory(64);
  *flag = 0;
  for (int n = 0; n < 5; ++n) {
    hsa_queue_t *q = queue();
    start(q, kernel, kernargs({(uint64_t)flag}));
    std::atomic<bool> is_over{false};
    std::atomic<uint64_t> taken{0};
    std::thread asking([&] {
      while (!is_over)
        taken += hsa->waves_take(q, 10000);
    });
    while (taken < 3)
      std::this_thread::yield();
    queue_destroy(q);
    is_over = true;
    asking.join();
  }
}

} // namespace
