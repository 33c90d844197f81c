/* What wrapping HIP's functions sees: how many kernels a program launches by their names. For
 * LD_PRELOAD; says so when the process ends. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

typedef struct size3 {
  unsigned x, y, z;
} size3_t;

static atomic_ulong launches;

static void *below(const char *name)
{
  atomic_fetch_add(&launches, 1);
  return dlsym(RTLD_NEXT, name);
}

/* Those that launch one kernel each. */
#define LAUNCH(name, parameters, arguments)                                                        \
  int name parameters;                                                                             \
  int name parameters                                                                              \
  {                                                                                                \
    int(*real) parameters = (int(*) parameters)below(#name);                                       \
    return real arguments;                                                                         \
  }

LAUNCH(hipLaunchKernel,
       (const void *kernel, size3_t grid, size3_t group, void **with, size_t shared, void *stream),
       (kernel, grid, group, with, shared, stream))
LAUNCH(hipLaunchCooperativeKernel,
       (const void *kernel, size3_t grid, size3_t group, void **with, unsigned shared,
        void *stream),
       (kernel, grid, group, with, shared, stream))
LAUNCH(hipExtLaunchKernel,
       (const void *kernel, size3_t grid, size3_t group, void **with, size_t shared, void *stream,
        void *start, void *stop, int flags),
       (kernel, grid, group, with, shared, stream, start, stop, flags))
LAUNCH(hipModuleLaunchKernel,
       (void *kernel, unsigned gx, unsigned gy, unsigned gz, unsigned x, unsigned y, unsigned z,
        unsigned shared, void *stream, void **with, void **extra),
       (kernel, gx, gy, gz, x, y, z, shared, stream, with, extra))

__attribute__((destructor)) static void tell(void)
{
  printf("%lu launches were seen\n", atomic_load(&launches));
}
