// Streams of both kinds, their order with the null stream, events between them, and many submissions.
#include "show.h"

__global__ void slow_set(int *value, int to, int rounds)
{
  int x = to;
  for (int i = 0; i < rounds; ++i)
    x = x * 1103515245 + 12345;
  *value = x == 42 && rounds ? -1 : to;
}

__global__ void copy_add(int *to, const int *from, int add)
{
  *to = *from + add;
}

int main()
{
  const int rounds = 20000;
  int *values = to_device(std::vector<int>(8));
  hipStream_t a, b, free_one;
  HIP(hipStreamCreate(&a));
  HIP(hipStreamCreateWithPriority(&b, hipStreamDefault, -1));
  HIP(hipStreamCreateWithFlags(&free_one, hipStreamNonBlocking));
  slow_set<<<1, 1, 0, a>>>(values, 1, rounds);
  copy_add<<<1, 1>>>(values + 1, values, 10); // the null stream comes after a
  copy_add<<<1, 1, 0, b>>>(values + 2, values + 1, 100); // and b after that
  HIP(hipStreamSynchronize(b));
  show("order", to_host(values, 3));

  hipEvent_t event, start, stop;
  HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  HIP(hipEventCreate(&start));
  HIP(hipEventCreate(&stop));
  std::printf("%d\n", (int)hipEventQuery(event)); // never recorded
  HIP(hipEventRecord(start, a));
  slow_set<<<1, 1, 0, a>>>(values + 3, 7, rounds);
  HIP(hipEventRecord(event, a));
  HIP(hipStreamWaitEvent(free_one, event, 0));
  copy_add<<<1, 1, 0, free_one>>>(values + 4, values + 3, 1000);
  for (int i = 0; i < 300; ++i)
    copy_add<<<1, 1, 0, a>>>(values + 5, values + 5, 1);
  HIP(hipEventRecord(stop, a));
  for (int i = 0; i < 300; ++i)
    copy_add<<<1, 1, 0, a>>>(values + 5, values + 5, 1);
  HIP(hipEventSynchronize(stop));
  float forward = -1, backward = 1;
  HIP(hipEventElapsedTime(&forward, start, stop));
  HIP(hipEventElapsedTime(&backward, stop, start));
  std::printf("%d %d\n", forward > 0, backward == -forward);
  HIP(hipStreamSynchronize(free_one));
  HIP(hipDeviceSynchronize());
  std::printf("%d\n", (int)hipStreamQuery(a));
  show("events", to_host(values, 6));
  for (int i = 0; i < 40; ++i) { // more than queues at once
    hipStream_t stream;
    HIP(hipStreamCreate(&stream));
    copy_add<<<1, 1, 0, stream>>>(values + 6, values + 6, i);
    HIP(hipStreamDestroy(stream));
  }
  HIP(hipDeviceSynchronize());
  std::printf("%d\n", to_host(values + 6, 1)[0]);
  for (hipStream_t stream : {a, b, free_one})
    HIP(hipStreamDestroy(stream));
  for (hipEvent_t one : {event, start, stop})
    HIP(hipEventDestroy(one));
  HIP(hipFree(values));
}
