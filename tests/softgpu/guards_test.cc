// What lies beside an allocation: nothing, for guard_kib to both sides.
#include "kernels.h"

#include <sys/mman.h>

namespace {

class Guards : public Kernels, public ::testing::WithParamInterface<int64_t> {
protected:
  // Many allocations of the same kind, which the system would put side by side.
  char *crowded(bool device)
  {
    std::vector<char *> all;
    for (int i = 0; i < 9; ++i)
      all.push_back((char *)(device ? device_memory(4096) : host_memory(4096)));
    return all[4];
  }

  // One work-item stores four bytes at `out` + `distance`.
  void store(const char *out, int64_t distance)
  {
    Kernel kernel = load("fault-gfx90a-v5.co", "fault_store");
    q = queue();
    auto dispatch =
        packet(kernel, kernargs({(uint64_t)out, (uint64_t)(distance / 4), 7}), 1, 1, signal(1));
    submit(q, &dispatch, dispatch_header());
  }

  void expect_fault(bool device)
  {
    const int64_t distance = GetParam();
    const char *out = crowded(device);
    // The allocation has 4096 bytes; a positive distance is from its end.
    const int64_t offset = distance > 0 ? 4096 + distance : distance;
    store(out, offset);
    EXPECT_EQ(queue_error(), HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION);
    softgpu_fault_info_t info{};
    ASSERT_TRUE(hsa->queue_fault_info(q, &info, sizeof(info)));
    EXPECT_EQ(info.address, (uint64_t)(out + offset));
    EXPECT_EQ(info.nearest_base, (uint64_t)out);
    EXPECT_EQ(info.nearest_size, 4096u);
    EXPECT_EQ(info.nearest_node, device ? 1u : 0u);
    char where[128];
    snprintf(where, sizeof(where), "%lld bytes %s [0x%llx, +4096)", (long long)std::abs(distance),
             distance > 0 ? "past the end of" : "before", (unsigned long long)(uintptr_t)out);
    EXPECT_NE(fault_text(q).find(where), std::string::npos) << fault_text(q) << "\n" << where;
  }

  hsa_queue_t *q = nullptr;
};

TEST_P(Guards, of_device_memory)
{
  expect_fault(true);
}

TEST_P(Guards, of_host_memory)
{
  expect_fault(false);
}

INSTANTIATE_TEST_SUITE_P(distance, Guards,
                         ::testing::Values(4096, 65536, 524288, -4, -4096, -65536, -524288),
                         [](const auto &info) {
                           return (info.param < 0 ? "before_" : "behind_") +
                                  std::to_string(std::abs(info.param));
                         });

TEST_F(Guards, cost_no_device_memory)
{
  // All of 8 GiB in a few pieces, and nothing left.
  void *most = device_memory(8000ull << 20);
  ASSERT_NE(most, nullptr);
  EXPECT_EQ((uintptr_t)most % (2 << 20), 0u);
  EXPECT_EQ(device_memory(256ull << 20), nullptr);
  EXPECT_NE(device_memory(128ull << 20), nullptr);
}

TEST_F(Guards, go_with_their_allocation)
{
  char *memory = (char *)device_memory(4096);
  EXPECT_EQ(msync(memory + 4096, 4096, MS_ASYNC), 0); // there, though inaccessible
  EXPECT_EQ(msync(memory - 4096, 4096, MS_ASYNC), 0);
  release(memory);
  EXPECT_NE(msync(memory, 4096, MS_ASYNC), 0);
  EXPECT_NE(msync(memory + 4096, 4096, MS_ASYNC), 0);
}

TEST_F(Guards, never_keep_memory_from_being_allocated)
{
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "that many take a minute or more under a sanitizer";
#endif
  // More allocations than the system has mappings for with guards between them.
  std::vector<void *> many;
  for (int i = 0; i < 40000; ++i) {
    void *memory = nullptr;
    ASSERT_EQ(hsa->hsa_amd_memory_pool_allocate(device_pool, 4096, 0, &memory), HSA_STATUS_SUCCESS)
        << i;
    many.push_back(memory);
  }
  for (void *memory : many)
    EXPECT_EQ(hsa->hsa_amd_memory_pool_free(memory), HSA_STATUS_SUCCESS);
}

} // namespace
