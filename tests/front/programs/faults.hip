// Kernels that fail, one by name, in a program that knows nothing of rawhal. usage: faults NAME
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
  HIP(hipDeviceSynchronize());
  return made;
}

static unsigned *freed(size_t bytes)
{
  unsigned *gone = memory(bytes);
  HIP(hipFree(gone));
  return gone;
}

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

#define ONE dim3(1), dim3(1), 0, nullptr
static const struct {
  const char *name;
  void (*run)();
} all[] = {
    {"right", [] { fill<<<16, 64>>>(memory(4096), 7); }},
    {"past_the_end", [] { store_at<<<ONE>>>(memory(4096), 1024, 7); }},
    {"before_the_start", [] { store_at<<<ONE>>>(memory(4096), -1, 7); }},
    {"freed", [] { fill<<<16, 64>>>(freed(1 << 20), 7); }},
    {"null", [] { fill<<<1, 64>>>(nullptr, 7); }},
    {"null_and_offset", [] { store_at<<<ONE>>>(nullptr, 6, 7); }},
    {"nowhere", [] { fill<<<1, 64>>>((unsigned *)0x123456789000, 7); }},
    {"neighbour", [] { fill<<<1, 64>>>(neighbours(), 7); }},
    {"in_structure",
     [] {
       fill_box<<<1, 64>>>(Box{64, 1, freed(1 << 20)}, 7);
     }},
    {"in_memory", [] { fill_table<<<1, 64>>>((unsigned **)of_table(freed(1 << 20)), 1, 7); }},
    {"swapped", [] { fill_some<<<1, 64>>>((unsigned *)1024, (size_t)memory(4096)); }},
    {"swapped_buffers", [] { widen<<<64, 64>>>((unsigned long *)memory(64), memory(32768)); }},
    {"grid", [] { fill<<<16, 256>>>(memory(4096), 7); }},
    {"misaligned", [] { atomic_at<<<ONE>>>(memory(4096), 2); }},
    {"scratch", [] { scratch_at<<<ONE>>>(memory(4096), 1 << 20); }},
    {"lds", [] { lds_at<<<ONE>>>(memory(4096), 65536); }},
    {"trap", [] { give_up<<<ONE>>>(); }},
    {"instruction", [] { not_code<<<ONE>>>(memory(4096)); }},
    {"endless", [] { wait_for<<<ONE>>>(memory(4096)); }},
    {"barrier", [] { half_barrier<<<1, 256>>>(memory(4096)); }},
};

int main(int argc, char **argv)
{
  for (const auto &each : all)
    if (argc == 2 && strcmp(argv[1], each.name) == 0) {
      each.run();
      HIP(hipGetLastError());
      HIP(hipDeviceSynchronize());
      std::puts("done");
      return 0;
    }
  return 2;
}
