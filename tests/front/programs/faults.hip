// Kernels that fail, one by name, in a program that knows nothing of rawhal.
//
//     faults NAME OBJECT [busy]     of library_kernels.hip; beside others, which are in order
#include <cassert>
#include <cstdint>
#include <cstring>

#include "../../hip/programs/check.h"

__global__ void fill(unsigned *out, unsigned value)
{
  out[blockIdx.x * blockDim.x + threadIdx.x] = value;
}

__global__ void fill_some(unsigned *out, size_t count)
{
  if (threadIdx.x < count)
    out[threadIdx.x] = 7;
}

__global__ void widen(unsigned long *wide, const unsigned *narrow)
{
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  wide[i] = narrow[i];
}

__global__ void store_at(unsigned *data, long index, unsigned value)
{
  data[index] = value;
}

struct Box {
  unsigned count, step;
  unsigned *data;
};

__global__ void fill_box(Box box, unsigned value)
{
  if (threadIdx.x < box.count)
    box.data[threadIdx.x * box.step] = value;
}

__global__ void fill_table(unsigned *const *table, unsigned index, unsigned value)
{
  table[index][threadIdx.x] = value;
}

__global__ void atomic_at(unsigned *out, unsigned long byte_offset)
{
  char *address = (char *)out + byte_offset;
  unsigned one = 1;
  asm volatile("global_atomic_add %0, %1, off\n\ts_waitcnt vmcnt(0)"
               :
               : "v"(address), "v"(one)
               : "memory");
}

__global__ void scratch_at(unsigned *out, long index)
{
  volatile unsigned table[16];
#pragma unroll 1
  for (unsigned k = 0; k < 16; ++k)
    table[k] = k;
  table[index] = 5;
  out[0] = table[index];
}

__global__ void lds_at(unsigned *out, unsigned byte_offset)
{
  __shared__ volatile unsigned words[16];
  unsigned value = 7;
  words[0] = 1;
  asm volatile("ds_write_b32 %0, %1\n\ts_waitcnt lgkmcnt(0)"
               :
               : "v"(byte_offset), "v"(value)
               : "memory");
  out[0] = words[0];
}

__global__ void give_up()
{
  __builtin_trap();
}

__global__ void give_up_by_number(unsigned *out)
{
  out[0] = 1;
  asm volatile("s_waitcnt vmcnt(0)\n\ts_trap 5" ::: "memory");
}

__global__ void assert_that(const unsigned *data)
{
  assert(data[0] == 1);
}

__global__ void not_code(unsigned *out)
{
  out[0] = 1;
  asm volatile(".long 0xfffffffe\n\t.long 0xfffffffe");
}

__global__ void wait_for(volatile unsigned *flag)
{
  while (!flag[0])
    ;
}

// All but the first wave wait at a barrier for it.
__global__ void half_barrier(volatile unsigned *flag)
{
  if (threadIdx.x < 64)
    while (!flag[0])
      ;
  __syncthreads();
}

static unsigned *memory(size_t bytes)
{
  unsigned *made = nullptr;
  HIP(hipMalloc((void **)&made, bytes));
  HIP(hipMemset(made, 0, bytes));
  HIP(hipStreamSynchronize(nullptr));
  return made;
}

static unsigned *gone; // freed before anything runs, as hipFree() waits for that

static unsigned *neighbours()
{
  HIP(hipSetDevice(1));
  unsigned *made = memory(4096);
  HIP(hipSetDevice(0));
  return made;
}

static unsigned *of_table(unsigned *gone)
{
  unsigned *rows[] = {memory(4096), gone}, *table = memory(sizeof(rows));
  HIP(hipMemcpy(table, rows, sizeof(rows), hipMemcpyHostToDevice));
  return table;
}

static char *object;

static hipFunction_t function(hipModule_t module, const char *name)
{
  hipFunction_t found;
  HIP(hipModuleGetFunction(&found, module, name));
  return found;
}

static hipModule_t module()
{
  hipModule_t loaded;
  HIP(hipModuleLoad(&loaded, object));
  return loaded;
}

template <class Blob> static void launch(hipFunction_t kernel, Blob blob)
{
  size_t size = sizeof(blob);
  void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &blob, HIP_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   HIP_LAUNCH_PARAM_END};
  HIP(hipModuleLaunchKernel(kernel, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra));
}

// All that is launched waits until it is let go.
static unsigned *flag;
static void hold()
{
  HIP(hipHostMalloc((void **)&flag, 4096));
  *flag = 0;
  wait_for<<<dim3(1), dim3(1)>>>(flag);
}
static void let_go()
{
  __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
}

// Those of two kernels of library_kernels.hip.
struct Uniform {
  void *engines;
  unsigned first;
  float *data;
  size_t n;
  char distribution;
  unsigned long long *made;
};
struct Axpyi {
  int nonzeros;
  float alpha;
  const float *values;
  const int *places;
  float *y;
  int base;
  unsigned long long *made;
};

static Uniform uniform()
{
  return {memory(4096), 0, (float *)memory(4096), 64, 0, (unsigned long long *)memory(8)};
}
static Axpyi axpyi()
{
  return {64,
          2,
          (float *)memory(4096),
          (int *)memory(4096),
          (float *)memory(4096),
          0,
          (unsigned long long *)memory(8)};
}

// Two launches, each with the arguments of the other.
static void other_blob()
{
  const hipModule_t loaded = module();
  const Uniform first = uniform();
  const Axpyi second = axpyi();
  hold();
  launch(function(loaded, "uniform"), second);
  launch(function(loaded, "axpyi"), first);
  let_go();
}

#define ONE dim3(1), dim3(1), 0, nullptr
static const struct {
  const char *name;
  void (*run)();
} all[] = {
    {"right", [] { fill<<<16, 64>>>(memory(4096), 7); }},
    {"past_the_end", [] { store_at<<<ONE>>>(memory(4096), 1024, 7); }},
    {"within_its_page", [] { fill<<<16, 64>>>(memory(4000), 7); }},
    {"far", [] { store_at<<<ONE>>>(memory(4096), 40000, 7); }},
    {"before_the_start", [] { store_at<<<ONE>>>(memory(4096), -1, 7); }},
    {"freed", [] { fill<<<16, 64>>>(gone, 7); }},
    {"null", [] { fill<<<1, 64>>>(nullptr, 7); }},
    {"null_and_offset", [] { store_at<<<ONE>>>(nullptr, 6, 7); }},
    {"heap", [] { fill<<<1, 64>>>((unsigned *)malloc(4096), 7); }},
    {"nowhere", [] { fill<<<1, 64>>>((unsigned *)0x123456789000, 7); }},
    {"neighbour", [] { fill<<<1, 64>>>(neighbours(), 7); }},
    {"in_structure",
     [] {
       fill_box<<<1, 64>>>(Box{64, 1, gone}, 7);
     }},
    {"in_memory", [] { fill_table<<<1, 64>>>((unsigned **)of_table(gone), 1, 7); }},
    {"swapped", [] { fill_some<<<1, 64>>>((unsigned *)1024, (size_t)memory(4096)); }},
    {"swapped_buffers", [] { widen<<<64, 64>>>((unsigned long *)memory(64), memory(32768)); }},
    {"grid", [] { fill<<<16, 256>>>(memory(4096), 7); }},
    {"misaligned", [] { atomic_at<<<ONE>>>(memory(4096), 2); }},
    {"scratch", [] { scratch_at<<<ONE>>>(memory(4096), 1 << 20); }},
    {"unwritten",
     [] {
       unsigned *raw, *copy = memory(4096);
       HIP(hipMalloc((void **)&raw, 4096));
       HIP(hipMemcpy(copy, raw, 4096, hipMemcpyDeviceToDevice)); // which is no mistake yet
       HIP(hipMemset(raw, 0, 4000));
       widen<<<16, 64>>>((unsigned long *)memory(8192), copy);
       widen<<<16, 64>>>((unsigned long *)memory(8192), raw);
     }},
    {"lds", [] { lds_at<<<ONE>>>(memory(4096), 65536); }},
    {"trap", [] { give_up<<<ONE>>>(); }},
    {"trap_number", [] { give_up_by_number<<<ONE>>>(memory(4096)); }},
    {"assertion", [] { assert_that<<<ONE>>>(memory(4096)); }},
    {"other_blob", other_blob},
    {"quota",
     [] {
       void *never;
       for (int i = 0; i < 4; ++i)
         HIP(hipMalloc(&never, 12 << 20));
     }},
    {"instruction", [] { not_code<<<ONE>>>(memory(4096)); }},
    {"endless", [] { wait_for<<<ONE>>>(memory(4096)); }},
    {"barrier", [] { half_barrier<<<1, 256>>>(memory(4096)); }},
};

// Two streams with kernels that wait, and others behind them.
static void be_busy()
{
  for (int i = 0; i < 2; ++i) {
    hipStream_t stream;
    unsigned *never = memory(4096), *out = memory(4096);
    unsigned long *wide = (unsigned long *)memory(32768);
    HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
    wait_for<<<dim3(1), dim3(1), 0, stream>>>(never);
    fill<<<dim3(16), dim3(64), 0, stream>>>(out, 7);
    widen<<<dim3(16), dim3(64), 0, stream>>>(wide, out);
  }
}

int main(int argc, char **argv)
{
  object = argc > 2 ? argv[2] : nullptr;
  gone = memory(1 << 20);
  HIP(hipFree(gone));
  if (argc == 4)
    be_busy();
  for (const auto &each : all)
    if (argc > 1 && strcmp(argv[1], each.name) == 0) {
      each.run();
      HIP(hipGetLastError());
      HIP(hipDeviceSynchronize());
      std::puts("done");
      return 0;
    }
  return 2;
}
