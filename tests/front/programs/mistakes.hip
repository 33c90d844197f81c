// Dispatches that are mistaken, one by name, in programs that know nothing of rawhal. usage: mistakes NAME
// Nothing is read or written by them: no work-item is below n, or n is small and x and y are the program's.
#include <cstring>

#include "../../hip/programs/check.h"

__global__ void add(float *y, const float *x, unsigned n)
{
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] += x[i];
}

__device__ float known[64];

struct Buffers {
  float *x, *y;
  Buffers()
  {
    HIP(hipMalloc(&x, 4096));
    HIP(hipMalloc(&y, 8192));
  }
};

static void launch(float *y, const float *x, unsigned n = 0)
{
  add<<<2, 64>>>(y, x, n);
  HIP(hipGetLastError());
  HIP(hipDeviceSynchronize());
}

static void clean(Buffers &b)
{
  void *address = nullptr, *mapped = nullptr, *managed = nullptr;
  static float registered[2048];
  launch(b.y, b.x);
  launch(b.y + 2047, b.x + 1023); // the last of each
  launch(nullptr, b.x);
  HIP(hipGetSymbolAddress(&address, HIP_SYMBOL(known)));
  launch((float *)address, b.x);
  HIP(hipHostMalloc(&mapped, 4096));
  launch(b.y, (float *)mapped);
  HIP(hipMallocManaged(&managed, 4096));
  launch(b.y, (float *)managed);
  HIP(hipHostRegister(registered, sizeof(registered), hipHostRegisterMapped));
  HIP(hipHostGetDevicePointer(&mapped, registered, 0));
  launch(b.y, (float *)mapped);
  HIP(hipHostUnregister(registered));
}

static void freed(Buffers &b)
{
  HIP(hipFree(b.x));
  launch(b.y, b.x);
}

static void freed_inside(Buffers &b)
{
  HIP(hipFree(b.y));
  launch(b.y + 100, b.x);
}

static void freed_host(Buffers &b)
{
  float *mapped = nullptr;
  HIP(hipHostMalloc(&mapped, 4096));
  HIP(hipHostFree(mapped));
  launch(b.y, mapped);
}

static void heap(Buffers &b)
{
  float *host = (float *)malloc(4096);
  launch(b.y, host);
  free(host);
}

static void stack(Buffers &b)
{
  float host[16];
  launch(host, b.x);
}

static void unregistered(Buffers &b)
{
  static float host[4096];
  void *mapped = nullptr;
  HIP(hipHostRegister(host, sizeof(host), hipHostRegisterMapped));
  HIP(hipHostGetDevicePointer(&mapped, host, 0));
  launch(b.y, (float *)mapped);
  HIP(hipHostUnregister(host));
  launch(b.y, (float *)mapped);
}

static void past_the_end(Buffers &b)
{
  launch(b.y, b.x + 1024);
}

static void nowhere(Buffers &b)
{
  launch(b.y, (float *)0x10000);
}

static void neighbours_device(Buffers &b)
{
  float *other = nullptr;
  HIP(hipSetDevice(1));
  HIP(hipMalloc(&other, 4096));
  HIP(hipSetDevice(0));
  launch(b.y, other);
}

static void launch_with(void **arguments)
{
  HIP(hipLaunchKernel((const void *)add, dim3(2), dim3(64), arguments, 0, nullptr));
  HIP(hipDeviceSynchronize());
}

// Arguments in the order of another kernel.
static void other_order(Buffers &b)
{
  uint64_t n = 7; // y is 7, and n is 0
  void *arguments[] = {&n, &b.y, &b.x};
  b.x = nullptr;
  launch_with(arguments);
}

// The address of a pointer for the pointer.
static void one_too_many(Buffers &b)
{
  unsigned n = 0;
  float **y = &b.y;
  void *arguments[] = {&y, &b.x, &n};
  launch_with(arguments);
}

// Not all of a pointer.
static void cut_pointer(Buffers &b)
{
  unsigned n = 0;
  uint64_t low = (uint32_t)(uintptr_t)b.x;
  void *arguments[] = {&b.y, &low, &n};
  launch_with(arguments);
}

// By a policy that says: y has 8 bytes for each of n, and x has 4.
static void sized(Buffers &b)
{
  launch(b.y, b.x, 1000);
}

static void too_short(Buffers &b)
{
  launch(b.y, b.x + 30, 1000);
}

static void swapped(Buffers &b)
{
  launch(b.x, b.y, 1000);
}

// By a policy that says: there is an element for each work-item.
static void wrong_grid(Buffers &b)
{
  add<<<64, 64>>>(b.y, b.x, 0);
  HIP(hipGetLastError());
  HIP(hipDeviceSynchronize());
}

static const struct {
  const char *name;
  void (*run)(Buffers &);
} all[] = {
#define X(name) {#name, name}
    X(clean),        X(freed),        X(freed_inside),      X(freed_host), X(heap),
    X(stack),        X(unregistered), X(past_the_end),      X(nowhere),    X(neighbours_device),
    X(other_order),  X(one_too_many), X(cut_pointer),       X(sized),      X(too_short),
    X(swapped),      X(wrong_grid),
#undef X
};

int main(int argc, char **argv)
{
  Buffers buffers;
  for (const auto &each : all)
    if (argc == 2 && strcmp(argv[1], each.name) == 0) {
      each.run(buffers);
      std::puts("done");
      return 0;
    }
  return 2;
}
