// CU masks and priorities of queues.
#include "kernels.h"

#include <dirent.h>

#include <algorithm>

namespace {

class Units : public Kernels {
protected:
  void configure() override { option("compute_units", 0); }

  // Threads of this process; the engine makes its own when it first needs them.
  static size_t threads()
  {
    size_t count = 0;
    DIR *tasks = opendir("/proc/self/task");
    while (tasks && readdir(tasks))
      ++count;
    if (tasks)
      closedir(tasks);
    return count;
  }

  // Enough work-groups for every thread.
  void run(hsa_queue_t *q)
  {
    const uint32_t n = 64 * 1024;
    auto *a = (float *)host_memory(n * 4);
    std::fill(a, a + n, 1.0f);
    hsa_signal_t done =
        start(q, kernel, kernargs({(uint64_t)a, (uint64_t)a, (uint64_t)a, n}), n, 64);
    ASSERT_TRUE(reaches(done, 0)) << fault_text(q);
    EXPECT_EQ(std::count(a, a + n, 2.0f), n);
  }

  Kernel kernel;
};

TEST_F(Units, cu_mask_is_a_budget_of_threads)
{
  kernel = load("vector_add-gfx90a-v4.co", "vector_add");
  hsa_queue_t *q = queue();
  run(q); // whatever the machine's own number of threads is
  option("threads", 26);
  const uint32_t quarter[] = {0x03ffffff, 0, 0, 0}; // 26 of 104
  ASSERT_EQ(hsa->hsa_amd_queue_cu_set_mask(q, 128, quarter), HSA_STATUS_SUCCESS);
  size_t before = threads();
  run(q);
  size_t seven = threads(); // 26 / 4, rounded up: the queue's own and 6 others
  EXPECT_LE(seven, std::max(before, before + 6));
  const uint32_t one[] = {0, 1, 0, 0};
  ASSERT_EQ(hsa->hsa_amd_queue_cu_set_mask(q, 128, one), HSA_STATUS_SUCCESS);
  run(q);
  EXPECT_EQ(threads(), seven);
  const uint32_t all[] = {~0u, ~0u, ~0u, ~0u};
  ASSERT_EQ(hsa->hsa_amd_queue_cu_set_mask(q, 128, all), HSA_STATUS_SUCCESS);
  run(q);
  EXPECT_GT(threads(), seven);
}

class UnitsOfFew : public Units {
  void configure() override { option("compute_units", 8); }
};

TEST_F(UnitsOfFew, cu_mask_is_of_those)
{
  kernel = load("vector_add-gfx90a-v4.co", "vector_add");
  hsa_queue_t *q = queue();
  run(q);
  const size_t before = threads(); // which stay, whoever made them
  option("threads", std::min<size_t>(2 * (before + 16), 256));
  const uint32_t seven_eighths = 0x7f;
  ASSERT_EQ(hsa->hsa_amd_queue_cu_set_mask(q, 32, &seven_eighths), HSA_STATUS_SUCCESS);
  run(q);
  EXPECT_GT(threads(), before);
}

TEST_F(Units, priorities_are_taken)
{
  kernel = load("vector_add-gfx90a-v4.co", "vector_add");
  for (auto priority :
       {HSA_AMD_QUEUE_PRIORITY_LOW, HSA_AMD_QUEUE_PRIORITY_NORMAL, HSA_AMD_QUEUE_PRIORITY_HIGH}) {
    hsa_queue_t *q = queue();
    EXPECT_EQ(hsa->hsa_amd_queue_set_priority(q, priority), HSA_STATUS_SUCCESS);
    run(q);
  }
}

} // namespace
