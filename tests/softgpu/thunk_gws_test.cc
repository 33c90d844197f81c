// Global wave sync as the driver hands it out: all of it, to one queue of a device at a time.
#include <gtest/gtest.h>
#include <hsa/amd_hsa_queue.h>
#include <hsakmt.h>

#include <cstdlib>
#include <vector>

namespace {

class ThunkGws : public ::testing::Test {
protected:
  void SetUp() override { ASSERT_EQ(hsaKmtOpenKFD(), HSAKMT_STATUS_SUCCESS); }
  void TearDown() override
  {
    for (HSA_QUEUEID id : queues)
      hsaKmtDestroyQueue(id);
    EXPECT_EQ(hsaKmtCloseKFD(), HSAKMT_STATUS_SUCCESS);
  }

  // A queue that is never looked at: its share of the device is 0 percent.
  HSA_QUEUEID queue(HSA_QUEUE_TYPE type = HSA_QUEUE_COMPUTE_AQL)
  {
    HsaQueueResource resource = {};
    resource.Queue_read_ptr_aql = (HSAuint64 *)&aql.read_dispatch_id;
    resource.Queue_write_ptr_aql = (HSAuint64 *)&aql.write_dispatch_id;
    EXPECT_EQ(hsaKmtCreateQueue(1, type, 0, HSA_QUEUE_PRIORITY_NORMAL, ring, sizeof(ring), nullptr,
                                &resource),
              HSAKMT_STATUS_SUCCESS);
    queues.push_back(resource.QueueId);
    return resource.QueueId;
  }

  amd_queue_t aql = {};
  alignas(4096) uint8_t ring[4096] = {};
  std::vector<HSA_QUEUEID> queues;
};

TEST_F(ThunkGws, is_listed)
{
  HsaNodeProperties node;
  ASSERT_EQ(hsaKmtGetNodeProperties(1, &node), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(node.NumGws, 64);
  ASSERT_EQ(hsaKmtGetNodeProperties(0, &node), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(node.NumGws, 0);
}

TEST_F(ThunkGws, belongs_to_one_queue_at_a_time)
{
  const HSA_QUEUEID first = queue(), second = queue();
  HSAuint32 begin = 7;
  EXPECT_EQ(hsaKmtAllocQueueGWS(first, 1, &begin), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(begin, 0u);
  begin = 7;
  EXPECT_EQ(hsaKmtAllocQueueGWS(second, 1, &begin), HSAKMT_STATUS_OUT_OF_RESOURCES);
  EXPECT_EQ(begin, 7u) << "a call that failed says nothing";
  EXPECT_EQ(hsaKmtAllocQueueGWS(first, 0, nullptr), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtAllocQueueGWS(second, 64, nullptr), HSAKMT_STATUS_SUCCESS);
  EXPECT_EQ(hsaKmtDestroyQueue(second), HSAKMT_STATUS_SUCCESS);
  queues.pop_back();
  EXPECT_EQ(hsaKmtAllocQueueGWS(first, 1, &begin), HSAKMT_STATUS_SUCCESS)
      << "it went with its queue";
}

TEST_F(ThunkGws, is_for_kernels_and_no_more_than_there_is)
{
  EXPECT_EQ(hsaKmtAllocQueueGWS(queue(HSA_QUEUE_SDMA), 1, nullptr),
            HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(hsaKmtAllocQueueGWS(12345, 1, nullptr), HSAKMT_STATUS_INVALID_PARAMETER);
  EXPECT_EQ(hsaKmtAllocQueueGWS(queue(), 65, nullptr), HSAKMT_STATUS_OUT_OF_RESOURCES);
}

} // namespace
