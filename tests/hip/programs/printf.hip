// printf(), malloc() and free() in kernels: what they need of a host is HIP's hostcalls. Another test
// runs the same kernels without HIP and wants the same lines.
#include <hip/hip_runtime.h>

#include <cstdio>

extern "C" __global__ void say(int from)
{
  int i = from + (int)(blockIdx.x * blockDim.x + threadIdx.x);
  printf("item %d of %s: %6.2f|%-4d|%04x|%lld|%c|%5s|%%|%p\n", i, i & 1 ? "the odd ones" : "the even",
         i * 0.75, i, (unsigned)i, -1000000000000ll * i, 'a' + i % 26, "end", (void *)(size_t)i);
  if (i % 16 == 0)
    printf("%*d|%.*f|%s, which is long enough to be said in several calls, and then a number: %d\n", 8, i,
           1, i / 3.0, "a text that is much longer than one packet of a lane", i);
}

// A list of `count` nodes for each work-item, made, summed and freed. The large ones are no part of a
// slab.
extern "C" __global__ void lists(int *sums, int count)
{
  struct node {
    node *next;
    int value;
  };
  unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
  node *first = nullptr;
  int sum = 0;
  for (int i = 0; i < count; ++i) {
    node *made = (node *)malloc(id % 32 == 31 ? 5000 : sizeof(node) + 8 * i);
    if (made) {
      *made = {first, (int)id * i};
      first = made;
    }
  }
  while (first) {
    node *next = first->next;
    sum += first->value;
    free(first);
    first = next;
  }
  sums[id] = sum;
}

int main()
{
  say<<<2, 48>>>(100);
  return hipDeviceSynchronize() != hipSuccess;
}
