// Queues from descriptors, as runtimes make them from the step 0x10 of AMD's table on.
#include "tests/front/front_test.h"
#include "tests/front/toy_later.h"

#include <vector>

namespace {

using Describe = hsa_status_t(hsa_agent_t, toy_description_t *, uint32_t);
using Acquire = hsa_status_t(hsa_agent_t, hsa_queue_type32_t, uint32_t,
                             void (*)(hsa_status_t, hsa_queue_t *, void *), void *, uint64_t,
                             hsa_queue_t **);
using Info = hsa_status_t(hsa_queue_t *, int, void *);
using Semaphore = hsa_status_t(hsa_queue_t *, uint64_t, uint64_t);

static_assert(sizeof(toy_description_t) == 96 && offsetof(toy_description_t, queue) == 32 &&
                  offsetof(toy_description_t, engine.compute.type) == 48 &&
                  offsetof(toy_description_t, traffic_class) == 72,
              "as the header has it");

class FrontDescribed : public FrontTest {
protected:
  void Start(uint32_t step = 0x12)
  {
    Set("RAWHAL_GPU_SHARE", "90%");
    Load(2, step);
  }

  void TearDown() override
  {
    EXPECT_EQ(0u, toy_live_queues());
    EXPECT_EQ(0u, toy_live_signals());
    FrontTest::TearDown();
  }

  static toy_description_t Compute(uint32_t bytes = 64 * 64)
  {
    toy_description_t queue = {};
    queue.version = 1;
    queue.queue_size_bytes = bytes;
    queue.priority = HSA_AMD_QUEUE_PRIORITY_NORMAL;
    queue.engine.compute.private_segment_size = UINT32_MAX;
    queue.queue = reinterpret_cast<hsa_queue_t *>(8); // what the caller left there
    return queue;
  }

  static toy_description_t Of(uint8_t engine)
  {
    toy_description_t queue = Compute();
    memset(&queue.engine, 0, sizeof(queue.engine));
    queue.engine_type = engine;
    return queue;
  }

  hsa_status_t Create(toy_description_t *queues, uint32_t count)
  {
    return Amd<Describe>(TOY_DESCRIBED)(toy_agent(), queues, count);
  }
  hsa_status_t Create(std::vector<toy_description_t> &queues)
  {
    return Create(queues.data(), static_cast<uint32_t>(queues.size()));
  }
  void Destroy(hsa_queue_t *queue)
  {
    EXPECT_EQ(HSA_STATUS_SUCCESS, Core<decltype(hsa_queue_destroy)>(88)(queue));
  }

  // A dispatch with no signal of its own: behind a proxy it gets ours.
  bool IsLimited(hsa_queue_t *queue)
  {
    uint64_t index = Core<decltype(hsa_queue_add_write_index_relaxed)>(200)(queue, 1);
    auto *slot = static_cast<hsa_kernel_dispatch_packet_t *>(queue->base_address) + index;
    slot->workgroup_size_x = slot->workgroup_size_y = slot->workgroup_size_z = 1;
    slot->grid_size_x = slot->grid_size_y = slot->grid_size_z = 1;
    __atomic_store_n(&slot->header, uint16_t{HSA_PACKET_TYPE_KERNEL_DISPATCH}, __ATOMIC_RELEASE);
    Core<decltype(hsa_signal_store_screlease)>(352)(queue->doorbell_signal,
                                                    static_cast<hsa_signal_value_t>(index));
    toy_packet_t ran = {};
    return toy_ran(&ran, 1) == 1 && ran.completion_signal != 0;
  }
};

} // namespace

TEST_F(FrontDescribed, AComputeQueueIsLimited)
{
  for (uint32_t step : {0x10u, 0x11u, 0x12u}) {
    Start(step);
    std::vector<toy_description_t> queues = {Compute()};
    ASSERT_EQ(HSA_STATUS_SUCCESS, Create(queues));
    EXPECT_EQ(64u, queues[0].queue->size);
    EXPECT_TRUE(IsLimited(queues[0].queue));
    EXPECT_EQ(0u, toy_later.engines[0]);
    EXPECT_EQ(-1, toy_later.priority);
    Destroy(queues[0].queue);
    Unload();
    EXPECT_EQ(0u, toy_replaced());
  }
}

TEST_F(FrontDescribed, ErrorsAreTheProgramsQueues)
{
  Start();
  static hsa_queue_t *failed;
  toy_description_t queue = Compute();
  queue.callback = [](hsa_status_t, hsa_queue_t *source, void *data) {
    failed = data == &failed ? source : nullptr;
  };
  queue.callback_data = &failed;
  ASSERT_EQ(HSA_STATUS_SUCCESS, Create(&queue, 1));
  toy_fail(HSA_STATUS_ERROR_EXCEPTION);
  EXPECT_EQ(queue.queue, failed);
  Destroy(queue.queue);
}

TEST_F(FrontDescribed, PriorityAndMaskAreTheDevices)
{
  Start();
  const uint32_t mask = 0x0f0f;
  toy_description_t queue = Compute();
  queue.priority = HSA_AMD_QUEUE_PRIORITY_HIGH;
  queue.engine.compute.cu_mask = &mask;
  queue.engine.compute.cu_mask_count = 32;
  toy_later.mask_result = static_cast<hsa_status_t>(44); // reduced, and done
  ASSERT_EQ(HSA_STATUS_SUCCESS, Create(&queue, 1));
  EXPECT_EQ(HSA_AMD_QUEUE_PRIORITY_HIGH, toy_later.priority);
  EXPECT_EQ(32u, toy_later.cus);
  EXPECT_EQ(mask, toy_later.mask);
  EXPECT_NE(queue.queue, toy_later.masked);
  Destroy(queue.queue);
  toy_later.mask_result = HSA_STATUS_ERROR_INVALID_ARGUMENT;
  EXPECT_EQ(HSA_STATUS_ERROR_INVALID_ARGUMENT, Create(&queue, 1));
  EXPECT_EQ(nullptr, queue.queue);
}

// What the program itself has a copy engine do would be nobody's to hold back; other devices are the
// runtime's.
TEST_F(FrontDescribed, ACopyEnginesQueueIsRefused)
{
  Start();
  std::vector<toy_description_t> queues = {Of(1), Compute(), Of(2)};
  EXPECT_EQ(HSA_STATUS_ERROR_INVALID_QUEUE_CREATION,
            Create(queues)); // and the runtime's word on AIE
  EXPECT_NE(std::string::npos, Report().find("copy engine"));
  EXPECT_EQ(0u, toy_later.engines[1]);
  EXPECT_EQ(1u, toy_later.engines[2]);
  EXPECT_EQ(0u, toy_later.engines[0]);
  EXPECT_EQ(nullptr, queues[0].queue);
  EXPECT_EQ(nullptr, queues[2].queue);
  ASSERT_NE(nullptr, queues[1].queue);
  EXPECT_TRUE(IsLimited(queues[1].queue));
  Destroy(queues[1].queue);
}

TEST_F(FrontDescribed, WhatCanBeMadeIsMade)
{
  Start();
  std::vector<toy_description_t> queues = {Compute(65537 * 64), Compute(), Of(2),
                                           Compute(128 * 64)};
  EXPECT_EQ(HSA_STATUS_ERROR_INVALID_ARGUMENT, Create(queues)); // the first
  EXPECT_EQ(nullptr, queues[0].queue);
  EXPECT_EQ(nullptr, queues[2].queue);
  ASSERT_NE(nullptr, queues[1].queue);
  ASSERT_NE(nullptr, queues[3].queue);
  EXPECT_EQ(128u, queues[3].queue->size);
  EXPECT_TRUE(IsLimited(queues[3].queue));
  Destroy(queues[3].queue);
  Destroy(queues[1].queue);
}

// None of it may become a queue without limits.
TEST_F(FrontDescribed, WhatIsNotUnderstoodIsNotMade)
{
  Start();
  std::vector<toy_description_t> wrong(14, Compute());
  wrong[0].version = 2;
  wrong[1].engine_type = 3;
  wrong[2].flags = 4;
  wrong[3].reserved_header[2] = 1;
  wrong[4].queue_size_bytes = 65537;
  wrong[5].queue_size_bytes = 0;
  wrong[6].queue_size_bytes = 32;
  wrong[7].priority = static_cast<hsa_amd_queue_priority_t>(3);
  wrong[8].engine.compute.type = 3;
  wrong[9].engine.compute.cu_mask_count = 32; // and no mask
  wrong[10].engine.compute.reserved[1] = 1;
  wrong[11].traffic_class = 1;
  wrong[12].reserved[19] = 1;
  wrong[13].engine.compute.cu_mask_count = 31;
  for (size_t i = 0; i < wrong.size(); ++i) {
    EXPECT_EQ(HSA_STATUS_ERROR_INVALID_ARGUMENT, Create(&wrong[i], 1)) << i;
    EXPECT_EQ(i == 0, wrong[i].queue != nullptr) << i; // of another version nothing is known
  }
  EXPECT_EQ(HSA_STATUS_ERROR_INVALID_ARGUMENT, Create(nullptr, 1));
  EXPECT_EQ(HSA_STATUS_ERROR_INVALID_ARGUMENT, Create(wrong.data(), 0));
  EXPECT_EQ(0u, toy_later.engines[0]);
}

// The program writes its own ring, wherever the device's is.
TEST_F(FrontDescribed, PlacesOfMemoryAreHints)
{
  Start();
  toy_description_t queue = Compute();
  queue.flags = 3;
  ASSERT_EQ(HSA_STATUS_SUCCESS, Create(&queue, 1));
  EXPECT_TRUE(IsLimited(queue.queue));
  Destroy(queue.queue);
}

TEST_F(FrontDescribed, CountedQueuesAreLimited)
{
  Start();
  hsa_queue_t *queue = nullptr;
  ASSERT_EQ(HSA_STATUS_SUCCESS,
            Amd<Acquire>(TOY_COUNTED)(toy_agent(), HSA_QUEUE_TYPE_MULTI, HSA_AMD_QUEUE_PRIORITY_LOW,
                                      nullptr, nullptr, 0, &queue));
  EXPECT_EQ(0u, toy_later.acquired);
  EXPECT_EQ(HSA_AMD_QUEUE_PRIORITY_LOW, toy_later.priority);
  EXPECT_TRUE(IsLimited(queue));
  EXPECT_EQ(HSA_STATUS_SUCCESS, Amd<decltype(hsa_queue_destroy)>(TOY_RELEASE)(queue));
}

// The driver's page and the ring, which the toy has on the device.
TEST_F(FrontDescribed, WhatTheirProxiesHaveOfMemoryIsCharged)
{
  Set("RAWHAL_MEMORY_LIMIT", "64M");
  Start();
  const auto left = [] {
    uint64_t bytes = 0;
    EXPECT_EQ(HSA_STATUS_SUCCESS, Core<decltype(hsa_agent_get_info)>(64)(
                                      toy_agent(), static_cast<hsa_agent_info_t>(0xA015), &bytes));
    return bytes;
  };
  toy_description_t queue = Compute();
  hsa_queue_t *counted = nullptr;
  constexpr uint64_t each = 4096 + 8192;
  ASSERT_EQ(HSA_STATUS_SUCCESS, Create(&queue, 1));
  EXPECT_EQ(64 * mi - each, left());
  ASSERT_EQ(HSA_STATUS_SUCCESS, Amd<Acquire>(TOY_COUNTED)(toy_agent(), HSA_QUEUE_TYPE_MULTI,
                                                          HSA_AMD_QUEUE_PRIORITY_NORMAL, nullptr,
                                                          nullptr, 0, &counted));
  EXPECT_EQ(64 * mi - 2 * each, left());
  EXPECT_EQ(HSA_STATUS_SUCCESS, Amd<decltype(hsa_queue_destroy)>(TOY_RELEASE)(counted));
  Destroy(queue.queue);
  EXPECT_EQ(64 * mi, left());
}

TEST_F(FrontDescribed, NoWayLeadsPastTheProgramsRing)
{
  Start();
  toy_description_t queue = Compute();
  ASSERT_EQ(HSA_STATUS_SUCCESS, Create(&queue, 1));
  uint64_t value = 0;
  for (int pointer : {15, 16})
    EXPECT_EQ(HSA_STATUS_ERROR_INVALID_ARGUMENT, Amd<Info>(560)(queue.queue, pointer, &value));
  value = 7;
  EXPECT_EQ(HSA_STATUS_SUCCESS, Amd<Info>(560)(queue.queue, 8, &value)); // metadata
  EXPECT_EQ(0u, value);
  EXPECT_EQ(HSA_STATUS_SUCCESS, Amd<Info>(560)(queue.queue, 4, &value));
  EXPECT_EQ(0xffu, value);
  EXPECT_EQ(HSA_STATUS_SUCCESS, Amd<Info>(560)(queue.queue, 0, &value));
  EXPECT_NE(reinterpret_cast<uint64_t>(queue.queue), value);
  EXPECT_EQ(HSA_STATUS_ERROR_INVALID_QUEUE, Amd<Semaphore>(TOY_SIGNAL)(queue.queue, 1, 1));
  EXPECT_EQ(0u, toy_later.semaphores);
  Destroy(queue.queue);
}

TEST_F(FrontDescribed, WithoutALimitOnTimeQueuesAreLeftAlone)
{
  Set("RAWHAL_MEMORY_LIMIT", "64M");
  Load(2, 0x12);
  std::vector<toy_description_t> queues = {Of(1), Compute()};
  (void)Create(queues);
  EXPECT_EQ(1u, toy_later.engines[0]);
  EXPECT_EQ(1u, toy_later.engines[1]);
}
