// Streams and events.
#include "hip.h"

#include <atomic>

namespace {

TEST(HipStreams, asynchronous_copies_in_order)
{
  const size_t count = 100000;
  hipStream_t stream;
  HIP_OK(hipStreamCreate(&stream));
  uint32_t *host = nullptr, *device = nullptr, *back = nullptr;
  HIP_OK(hipHostMalloc((void **)&host, count * 4, 0));
  HIP_OK(hipHostMalloc((void **)&back, count * 4, 0));
  HIP_OK(hipMalloc((void **)&device, count * 4));
  std::iota(host, host + count, 1u);
  HIP_OK(hipMemcpyAsync(device, host, count * 4, hipMemcpyHostToDevice, stream));
  HIP_OK(hipMemsetAsync(device, 0, 40, stream));
  HIP_OK(hipMemcpyAsync(back, device, count * 4, hipMemcpyDeviceToHost, stream));
  HIP_OK(hipStreamSynchronize(stream));
  EXPECT_EQ(hipStreamQuery(stream), hipSuccess);
  for (uint32_t i = 0; i < count; ++i)
    ASSERT_EQ(back[i], i < 10 ? 0 : i + 1);
  HIP_OK(hipStreamDestroy(stream));
  HIP_OK(hipHostFree(host));
  HIP_OK(hipHostFree(back));
  HIP_OK(hipFree(device));
}

TEST(HipStreams, one_waits_for_an_event_of_another)
{
  const size_t bytes = 4 << 20;
  hipStream_t first, second;
  HIP_OK(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
  HIP_OK(hipStreamCreateWithPriority(&second, hipStreamNonBlocking, -1));
  hipEvent_t filled;
  HIP_OK(hipEventCreateWithFlags(&filled, hipEventDisableTiming));
  uint8_t *device = nullptr, *back = nullptr;
  HIP_OK(hipMalloc((void **)&device, bytes));
  HIP_OK(hipHostMalloc((void **)&back, bytes, 0));
  for (int round = 1; round < 6; ++round) {
    HIP_OK(hipMemsetAsync(device, round, bytes, first));
    HIP_OK(hipEventRecord(filled, first));
    HIP_OK(hipStreamWaitEvent(second, filled, 0));
    HIP_OK(hipMemcpyAsync(back, device, bytes, hipMemcpyDeviceToHost, second));
    HIP_OK(hipStreamSynchronize(second));
    EXPECT_EQ(hipEventQuery(filled), hipSuccess);
    ASSERT_EQ(back[0], round);
    ASSERT_EQ(back[bytes - 1], round);
  }
  HIP_OK(hipEventDestroy(filled));
  HIP_OK(hipStreamDestroy(first));
  HIP_OK(hipStreamDestroy(second));
  HIP_OK(hipHostFree(back));
  HIP_OK(hipFree(device));
}

TEST(HipStreams, events_measure_time)
{
  hipEvent_t begin, end;
  HIP_OK(hipEventCreate(&begin));
  HIP_OK(hipEventCreate(&end));
  void *device = nullptr;
  HIP_OK(hipMalloc(&device, 8 << 20));
  HIP_OK(hipEventRecord(begin, nullptr));
  for (int i = 0; i < 4; ++i)
    HIP_OK(hipMemsetAsync(device, i, 8 << 20, nullptr));
  HIP_OK(hipEventRecord(end, nullptr));
  HIP_OK(hipEventSynchronize(end));
  float forward = -1, backward = 1;
  HIP_OK(hipEventElapsedTime(&forward, begin, end));
  HIP_OK(hipEventElapsedTime(&backward, end, begin));
  EXPECT_GT(forward, 0.0f);
  EXPECT_LT(forward, 60000.0f);
  EXPECT_LT(backward, 0.0f);
  HIP_OK(hipFree(device));
  HIP_OK(hipEventDestroy(begin));
  HIP_OK(hipEventDestroy(end));
}

TEST(HipStreams, callbacks_come_when_the_work_is_done)
{
  hipStream_t stream;
  HIP_OK(hipStreamCreate(&stream));
  std::atomic<int> called{0};
  HIP_OK(hipStreamAddCallback(
      stream,
      [](hipStream_t, hipError_t status, void *data) {
        static_cast<std::atomic<int> *>(data)->store(status == hipSuccess ? 1 : -1);
      },
      &called, 0));
  HIP_OK(hipStreamSynchronize(stream));
  EXPECT_EQ(called.load(), 1);
  HIP_OK(hipStreamDestroy(stream));
}

} // namespace
