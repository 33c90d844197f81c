// Every kind of argument and attribute that OpenCL C can express, for comparing metadata. Nothing
// here is meant to run: what the compiler calls in its library is answered with zeros.
#pragma OPENCL EXTENSION cl_khr_fp16 : enable

typedef struct {
  long a;
  int b[5];
  char c;
} record;

__global char *__printf_alloc(uint size)
{
  return 0;
}
ndrange_t __attribute__((overloadable)) ndrange_1D(ulong count)
{
  ndrange_t range;
  return range;
}
int __enqueue_kernel_basic(queue_t queue, uint flags, ndrange_t range,
                           __generic void *kernel_of_block, __generic void *block)
{
  return 0;
}
int __read_pipe_2(read_only pipe int source, __generic void *to, uint size, uint align)
{
  return 0;
}

__kernel __attribute__((reqd_work_group_size(64, 2, 1))) void by_value(__global float *restrict out,
                                                                       const __global int *in,
                                                                       record r, char3 v, half h,
                                                                       uint8 wide)
{
  out[r.b[2]] = in[r.b[1]] + v.x + (float)wide.s7 + h;
}

__kernel __attribute__((work_group_size_hint(8, 4, 2))) __attribute__((vec_type_hint(float4))) void
images(read_only image2d_t source, write_only image3d_t volume, read_write image1d_buffer_t both,
       sampler_t s, __global volatile uint *counter, ulong last)
{
  counter[0] = last;
}

__kernel void nothing(void) {}

__kernel void address_spaces(__local float *lds, __global float *global_one,
                             __constant short *table, __local long16 *aligned)
{
  global_one[0] = lds[3] + table[1] + aligned[0].s3;
}

__kernel void prints(int x)
{
  printf("value %d of %s: 100%%\n", x, "text");
  printf("other: %f\t%v4d\n", 1.5, (int4)(x));
}

__kernel void enqueues(queue_t queue, __global int *p)
{
  enqueue_kernel(queue, CLK_ENQUEUE_FLAGS_NO_WAIT, ndrange_1D(1), ^{
    p[0] = 1;
  });
}

__kernel void reads_a_pipe(read_only pipe int source, write_only pipe record target,
                           __global int *out)
{
  read_pipe(source, out);
}

__kernel void has_a_stack(__global int *out, int n)
{
  int a[100];
  for (int i = 0; i < n; ++i)
    a[i & 63] = i;
  out[0] = a[n & 63];
}

__attribute__((noinline)) int factorial(int n)
{
  return n < 2 ? 1 : factorial(n - 1) * n;
}
__kernel void recurses(__global int *out, int n)
{
  out[0] = factorial(n);
}
