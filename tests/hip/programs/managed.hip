// Managed memory: one address for host and kernels, advice and prefetches, and plain memory of the
// program that a device was given.
#include <sys/mman.h>

#include "check.h"

static const int n = 100000;
static const size_t bytes = n * sizeof(int);

__global__ void add(int *values, int count, int what)
{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    values[i] += what;
}

static void add_everywhere(int *values, int what)
{
  add<<<(n + 255) / 256, 256>>>(values, n, what);
  HIP(hipGetLastError());
  HIP(hipDeviceSynchronize());
}

static int attribute(const int *at, size_t size, hipMemRangeAttribute which)
{
  int value = 0x7777;
  HIP(hipMemRangeGetAttribute(&value, sizeof(value), which, at, size));
  return value;
}

static void advice(int *values)
{
  const size_t half = 40960;
  CHECK(attribute(values, bytes, hipMemRangeAttributePreferredLocation) == hipInvalidDeviceId);
  CHECK(attribute(values, bytes, hipMemRangeAttributeReadMostly) == 0);
  HIP(hipMemAdvise(values, bytes, hipMemAdviseSetReadMostly, 0));
  CHECK(attribute(values, bytes, hipMemRangeAttributeReadMostly) == 1);
  HIP(hipMemAdvise(values, half, hipMemAdviseUnsetReadMostly, 0));
  CHECK(attribute(values, bytes, hipMemRangeAttributeReadMostly) == 0);
  CHECK(attribute(values + half / 4, 4096, hipMemRangeAttributeReadMostly) == 1);
  HIP(hipMemAdvise(values, bytes, hipMemAdviseSetPreferredLocation, 0));
  CHECK(attribute(values, bytes, hipMemRangeAttributePreferredLocation) == 0);
  HIP(hipMemAdvise(values, half, hipMemAdviseSetPreferredLocation, hipCpuDeviceId));
  CHECK(attribute(values, half, hipMemRangeAttributePreferredLocation) == hipCpuDeviceId);
  CHECK(attribute(values, bytes, hipMemRangeAttributePreferredLocation) == hipInvalidDeviceId);
  HIP(hipMemAdvise(values, bytes, hipMemAdviseSetAccessedBy, 0));
  add_everywhere(values, 1); // advice takes no right away
  HIP(hipMemPrefetchAsync(values, bytes, 0, nullptr));
  HIP(hipDeviceSynchronize());
  CHECK(attribute(values, bytes, hipMemRangeAttributeLastPrefetchLocation) == 0);
  HIP(hipMemPrefetchAsync(values, bytes, hipCpuDeviceId, nullptr));
  HIP(hipDeviceSynchronize());
  CHECK(attribute(values, bytes, hipMemRangeAttributeLastPrefetchLocation) == hipCpuDeviceId);
}

int main()
{
  hipDeviceProp_t facts;
  HIP(hipGetDeviceProperties(&facts, 0));
  CHECK(facts.managedMemory == 1 && facts.concurrentManagedAccess == 1);
  CHECK(facts.pageableMemoryAccess == 0);
  for (int round = 0; round < 3; round++) {
    int *values = nullptr, *second = nullptr;
    HIP(hipMallocManaged((void **)&values, bytes, hipMemAttachGlobal));
    HIP(hipMallocManaged((void **)&second, bytes, hipMemAttachHost));
    for (int i = 0; i < n; i++)
      values[i] = second[i] = i;
    add_everywhere(values, 5);
    add_everywhere(second, 6);
    for (int i = 0; i < n; i++)
      CHECK(values[i] == i + 5 && second[i] == i + 6);
    if (round == 0)
      advice(values);
    HIP(hipMemset(second, 0, bytes));
    HIP(hipMemcpy(second, values, bytes / 2, hipMemcpyDefault));
    CHECK(second[7] == values[7] && second[n - 1] == 0);
    HIP(hipFree(values));
    HIP(hipFree(second));
    // What takes its place is the device's own.
    int *own = to_device(std::vector<int>(n, 3));
    add_everywhere(own, 1);
    CHECK(to_host(own, n)[n - 1] == 4);
    HIP(hipFree(own));
  }
  // Memory that HIP knows nothing of.
  int *mine = (int *)mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                          0);
  CHECK(mine != MAP_FAILED);
  HIP(hipMemAdvise(mine, 1 << 20, hipMemAdviseSetAccessedBy, 0));
  add_everywhere(mine, 9);
  CHECK(mine[0] == 9 && mine[n - 1] == 9);
  // The device's own memory is not the program's to advise on.
  int *own = to_device(std::vector<int>(n));
  CHECK(hipMemAdvise(own, bytes, hipMemAdviseSetReadMostly, 0) != hipSuccess);
  add_everywhere(own, 1);
  std::puts("ok");
}
