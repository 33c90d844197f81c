// What is recorded of a dispatch that came by a packet.
#include "kernels.h"
#include "probe/probe_records.h"

namespace {

class Probe : public Kernels, public ::testing::WithParamInterface<bool> {
protected:
  void configure() override { option("reference", GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Engines, Probe, ::testing::Bool(), [](const auto &engine) {
  return std::string(engine.param ? "reference" : "fast");
});

TEST_P(Probe, records_the_dispatch_with_its_kernargs)
{
  Kernel kernel = load("vector_add-gfx90a-v5.co", "vector_add");
  const uint32_t n = 256;
  auto *data = static_cast<float *>(host_memory(3 * n * 4));
  auto *memory = static_cast<uint64_t *>(host_memory(4096));
  memset(memory, 0, 4096);
  for (uint32_t i = 0; i < 3 * n; ++i)
    data[i] = static_cast<float>(i);
  void *arguments = kernargs({(uint64_t)data, (uint64_t)(data + n), (uint64_t)(data + 2 * n), n});
  const rawhal_probe_argument_t argument = {(uint64_t)memory, 0, 8, 0, 0};
  rawhal_probe_point_t point{};
  point.action = RAWHAL_PROBE_COUNT;
  auto ask = [&](const rawhal_probe_argument_t *what) {
    return hsa->probe((uint64_t)arguments, what, RAWHAL_PROBE_WAVES | RAWHAL_PROBE_BLOCKS, 0, 1,
                      &point, 1);
  };
  EXPECT_FALSE(hsa->probe((uint64_t)arguments, &argument, 0, 0, 1, &point, 1));
  EXPECT_FALSE(hsa->probe((uint64_t)arguments, &argument, RAWHAL_PROBE_BLOCKS, 0, 1, nullptr, 1));
  EXPECT_FALSE(hsa->probe(0, &argument, RAWHAL_PROBE_BLOCKS, 0, 1, &point, 1));
  ASSERT_TRUE(ask(&argument));
  ASSERT_TRUE(ask(nullptr)); // takes it back
  hsa_queue_t *q = queue();
  ASSERT_TRUE(reaches(start(q, kernel, arguments, n, 64), 0));
  EXPECT_EQ(memory[0], 0u);
  ASSERT_TRUE(ask(&argument));
  ASSERT_TRUE(reaches(start(q, kernel, kernargs({(uint64_t)data, 0, 0, 0}), n, 64), 0));
  EXPECT_EQ(memory[0], 0u) << "other arguments";
  ASSERT_TRUE(reaches(start(q, kernel, arguments, n, 64), 0));
  ASSERT_TRUE(reaches(start(q, kernel, arguments, n, 64), 0));
  const auto *header = reinterpret_cast<const rawhal_probe_header_t *>(memory);
  EXPECT_EQ(header->waves, n / 64);
  EXPECT_EQ(header->events, 0u);
  EXPECT_EQ(memory[8], n / 64);
  const auto *waves = reinterpret_cast<const rawhal_probe_wave_t *>(memory + 16);
  for (uint32_t i = 0; i < n / 64; ++i)
    EXPECT_GE(waves[i].end, waves[i].start);
  EXPECT_GT(waves[n / 64 - 1].start, 0u);
  EXPECT_EQ(waves[n / 64].start, 0u);
}

TEST_P(Probe, records_the_next_dispatch_of_a_kernel)
{
  Kernel kernel = load("vector_add-gfx90a-v5.co", "vector_add");
  const uint32_t n = 256;
  auto *data = static_cast<float *>(host_memory(3 * n * 4));
  auto *memory = static_cast<uint64_t *>(host_memory(4096));
  memset(data, 0, 3 * n * 4);
  memset(memory, 0, 4096);
  const rawhal_probe_argument_t argument = {(uint64_t)memory, 0, 8, 0, 0};
  const auto *header = reinterpret_cast<const rawhal_probe_header_t *>(memory);
  auto ask = [&](const rawhal_probe_argument_t *what) {
    return hsa->probe(kernel.object, what, RAWHAL_PROBE_WAVES, 0, 0, nullptr, 0);
  };
  auto run = [&] {
    void *arguments = kernargs({(uint64_t)data, (uint64_t)(data + n), (uint64_t)(data + 2 * n), n});
    ASSERT_TRUE(reaches(start(queue(), kernel, arguments, n, 64), 0));
  };
  ASSERT_TRUE(ask(&argument));
  ASSERT_TRUE(ask(nullptr));
  run();
  EXPECT_EQ(header->waves, 0u);
  ASSERT_TRUE(ask(&argument));
  run();
  run();
  EXPECT_EQ(header->waves, n / 64);
}

} // namespace
