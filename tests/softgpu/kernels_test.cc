// Kernels that run on the device: the runtime's own copy shaders and the fixtures.
#include "kernels.h"

#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>

namespace {

TEST_F(Kernels, the_runtimes_own_copy_shader)
{
  const size_t count = 100003;
  std::vector<uint32_t> values(count), back(count);
  std::iota(values.begin(), values.end(), 5u);
  void *device = device_memory(count * 4);
  softgpu_counters_t before = copy(device, values.data(), count * 4);
  softgpu_counters_t after = copy(back.data(), device, count * 4);
  EXPECT_EQ(values, back);
  EXPECT_EQ(after.dispatches - before.dispatches, 1u);
  // Executed, not recognised: every work-item moves its part by instructions of its own.
  EXPECT_GT(after.wave_instructions - before.wave_instructions, 1000u);
}

TEST_F(Kernels, the_runtimes_own_copy_shader_misaligned)
{
  std::vector<uint8_t> values(10000), back(10000);
  std::iota(values.begin(), values.end(), (uint8_t)0);
  auto *device = (char *)device_memory(16384);
  for (size_t offset = 1; offset < 4; ++offset) {
    copy(device + offset, values.data(), 9997);
    copy(back.data(), device + offset, 9997);
    EXPECT_EQ(memcmp(back.data(), values.data(), 9997), 0) << offset;
  }
}

TEST_F(Kernels, the_runtimes_own_fill_shader)
{
  auto *device = (uint32_t *)device_memory(4096 * 4);
  ASSERT_EQ(hsa->hsa_amd_memory_fill(device + 1, 0xabcd1234, 4000), HSA_STATUS_SUCCESS);
  std::vector<uint32_t> back(4096);
  copy(back.data(), device, 4096 * 4);
  EXPECT_EQ(back[0], 0u);
  for (size_t i = 1; i <= 4000; ++i)
    ASSERT_EQ(back[i], 0xabcd1234) << i;
  EXPECT_EQ(back[4001], 0u);
}

TEST_F(Kernels, vector_add)
{
  const uint32_t n = 100000;
  Kernel kernel = load("vector_add-gfx90a-v4.co", "vector_add");
  auto *a = (float *)host_memory(n * 4), *b = (float *)host_memory(n * 4);
  auto *c = (float *)host_memory(n * 4);
  for (uint32_t i = 0; i < n; ++i) {
    a[i] = (float)i * 0.5f;
    b[i] = 1.0f / (float)(i + 1);
    c[i] = -1;
  }
  hsa_queue_t *q = queue();
  hsa_signal_t done = signal(1);
  auto dispatch =
      packet(kernel, kernargs({(uint64_t)c, (uint64_t)a, (uint64_t)b, n}), n, 256, done);
  hsa->hsa_amd_profiling_set_profiler_enabled(q, 1);
  submit(q, &dispatch, dispatch_header());
  ASSERT_TRUE(reaches(done, 0)) << fault_text(q);
  for (uint32_t i = 0; i < n; ++i)
    ASSERT_EQ(c[i], a[i] + b[i]) << i;
  hsa_amd_profiling_dispatch_time_t time{};
  hsa->hsa_amd_profiling_get_dispatch_time(gpu, done, &time);
  EXPECT_LT(time.start, time.end);
}

TEST_F(Kernels, scratch_comes_when_asked_for)
{
  Kernel kernel = load("scratch-gfx90a-v5.co", "scratch");
  ASSERT_GT(kernel.scratch, 0u);
  const uint32_t n = 256;
  auto *out = (uint32_t *)host_memory(n * 4);
  hsa_queue_t *q = queue();
  for (uint32_t shift : {3u, 60u}) { // the second finds it there
    hsa_signal_t done = signal(1);
    // Behind the arguments the hidden block: 4 x 1 x 1 work-groups of 64 x 1 x 1.
    void *arguments =
        kernargs({(uint64_t)out, shift, 4 | 1ull << 32, 1 | 64ull << 32 | 1ull << 48, 1});
    auto dispatch = packet(kernel, arguments, n, 64, done);
    submit(q, &dispatch, dispatch_header());
    ASSERT_TRUE(reaches(done, 0)) << fault_text(q);
    for (uint32_t i = 0; i < n; ++i) {
      uint32_t k = (i * 7 + shift) % 64;
      ASSERT_EQ(out[i], k * k + i) << i;
    }
  }
}

class ManyUnits : public Kernels {
  void configure() override { option("compute_units", 0); }
};

class FewUnits : public Kernels {
  void configure() override { option("compute_units", 8); }
};

// The runtime's kernel has four work-groups for each, of which most only end: with the chip's 104 units it executes 19,979
// instructions.
TEST_F(FewUnits, copies_of_the_runtime_have_few_waves)
{
  uint64_t value = 7;
  void *device = device_memory(8);
  const softgpu_counters_t before = copy(device, &value, 8), after = copy(&value, device, 8);
  EXPECT_EQ(value, 7u);
  EXPECT_LT(after.wave_instructions - before.wave_instructions, 2000u);
}

TEST_F(ManyUnits, scratch_too_large_to_keep_is_given_back)
{
  Kernel kernel = load("scratch-gfx90a-v5.co", "scratch");
  kernel.scratch = 4096; // the runtime marks this much for one dispatch only
  auto *out = (uint32_t *)host_memory(256);
  hsa_queue_t *q = queue();
  for (int i = 0; i < 3; ++i) {
    hsa_signal_t done = start(q, kernel, kernargs({(uint64_t)out, 3}), 64, 64);
    ASSERT_TRUE(reaches(done, 0)) << fault_text(q);
  }
  ASSERT_TRUE(reaches(submit_barrier(q), 0));
  EXPECT_EQ(((amd_queue_t *)q)->scratch_backing_memory_byte_size, 0u);
}

TEST_F(Kernels, illegal_instruction)
{
  Kernel kernel = load("illegal-gfx90a-v5.co", "illegal");
  auto *out = (uint32_t *)host_memory(64);
  hsa_queue_t *q = queue();
  hsa_signal_t done = start(q, kernel, kernargs({(uint64_t)out}));
  EXPECT_EQ(queue_error(), HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION);
  EXPECT_EQ(hsa->hsa_signal_load_scacquire(done), 1);
  softgpu_fault_info_t info{};
  ASSERT_TRUE(hsa->queue_fault_info(q, &info, sizeof(info)));
  EXPECT_EQ(info.kernel_object, kernel.object);
  EXPECT_EQ(info.instruction[0], 0xffffffffu);
  EXPECT_NE(info.pc, 0u);
  EXPECT_NE(fault_text(q).find("ffffffff"), std::string::npos) << fault_text(q);
}

TEST_F(Kernels, an_abort_is_an_exception)
{
  Kernel kernel = load("fault-gfx90a-v5.co", "fault_trap");
  hsa_queue_t *q = queue();
  hsa_signal_t done = start(q, kernel, kernargs({1}));
  EXPECT_EQ(queue_error(), HSA_STATUS_ERROR_EXCEPTION);
  EXPECT_EQ(hsa->hsa_signal_load_scacquire(done), 1);
  EXPECT_NE(fault_text(q).find("s_trap 0x2"), std::string::npos) << fault_text(q);
}

TEST_F(Kernels, store_past_the_end_names_the_allocation)
{
  Kernel kernel = load("fault-gfx90a-v5.co", "fault_store");
  auto *out = (uint32_t *)device_memory(4096);
  hsa_queue_t *q = queue();
  hsa_signal_t done = signal(1);
  // Far enough to be in no neighbour either.
  auto dispatch = packet(kernel, kernargs({(uint64_t)out, 1ull << 40, 7}), 1, 1, done);
  submit(q, &dispatch, dispatch_header());
  EXPECT_EQ(queue_error(), HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION);
  softgpu_fault_info_t info{};
  ASSERT_TRUE(hsa->queue_fault_info(q, &info, sizeof(info)));
  EXPECT_EQ(info.address, (uint64_t)out + (4ull << 40));
  EXPECT_EQ(info.access_bytes, 4u);
  EXPECT_NE(info.nearest_size, 0u);
  EXPECT_NE(fault_text(q).find("past the end of [0x"), std::string::npos) << fault_text(q);
}

TEST_F(Kernels, freed_memory_faults)
{
  Kernel kernel = load("fault-gfx90a-v5.co", "fault_store");
  auto *out = (uint32_t *)device_memory(8192);
  hsa_queue_t *q = queue();
  hsa_signal_t done = signal(1);
  auto dispatch = packet(kernel, kernargs({(uint64_t)out, 0, 7}), 1, 1, done);
  release(out); // last, or its addresses would be somebody else's again
  submit(q, &dispatch, dispatch_header());
  EXPECT_EQ(queue_error(), HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION);
}

TEST_F(Kernels, runaway_is_stopped_by_the_limit)
{
  Kernel kernel = load("spin-gfx90a-v5.co", "spin");
  auto *flag = (uint32_t *)host_memory(64);
  *flag = 0;
  hsa_queue_t *q = queue();
  option("timeout_ms", 100);
  start(q, kernel, kernargs({(uint64_t)flag}));
  EXPECT_EQ(queue_error(), HSA_STATUS_ERROR_EXCEPTION);
  EXPECT_NE(fault_text(q), "");
}

TEST_F(Kernels, a_queue_goes_away_while_its_kernel_runs)
{
  Kernel kernel = load("spin-gfx90a-v5.co", "spin");
  auto *flag = (uint32_t *)host_memory(64);
  *flag = 0;
  hsa_queue_t *q = queue(), *other = queue();
  hsa_signal_t done = start(q, kernel, kernargs({(uint64_t)flag}));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  // Another queue works meanwhile.
  EXPECT_TRUE(reaches(submit_barrier(other), 0));
  queue_destroy(q);
  EXPECT_EQ(hsa->hsa_signal_load_scacquire(done), 1);
}

TEST_F(Kernels, a_kernel_sees_what_the_host_stores_while_it_runs)
{
  Kernel kernel = load("spin-gfx90a-v5.co", "spin");
  auto *flag = (uint32_t *)host_memory(64);
  *flag = 0;
  hsa_queue_t *q = queue();
  hsa_signal_t done = start(q, kernel, kernargs({(uint64_t)flag}));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(hsa->hsa_signal_load_scacquire(done), 1);
  __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
  EXPECT_TRUE(reaches(done, 0));
}

TEST_F(Kernels, memory_is_freed_under_a_running_kernel)
{
  Kernel kernel = load("spin-gfx90a-v5.co", "spin");
  auto *flag = (uint32_t *)device_memory(4096);
  *flag = 0;
  hsa_queue_t *q = queue();
  start(q, kernel, kernargs({(uint64_t)flag}));
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  release(flag);
  EXPECT_EQ(queue_error(), HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION);
}

TEST_F(Kernels, chips_without_an_interpreter_refuse)
{
  TearDown();
  gpus.clear();
  option("chip", 0x906);
  SetUp();
  char name[64] = "";
  hsa->hsa_agent_get_info(gpu, HSA_AGENT_INFO_NAME, name);
  EXPECT_STREQ(name, "gfx906"); // listed
  // Through the device's own check: a descriptor of zeros is no kernel either way.
  void *code = device_memory(4096);
  memset(code, 0, 4096);
  hsa_queue_t *q = queue();
  auto dispatch = dispatch_packet((uint64_t)code, nullptr, 64, 64, signal(1));
  submit(q, &dispatch, dispatch_header());
  EXPECT_EQ(queue_error(), HSA_STATUS_ERROR_INVALID_CODE_OBJECT) << name;
  EXPECT_NE(fault_text(q).find("does not execute this chip's instructions"), std::string::npos)
      << fault_text(q);
}

} // namespace
