/* The device side of rocRAND 5.3.3 (Debian 12) as its code object shows it: kernel names, engine
 * states, and the kernarg segment of each kernel as a C struct, which is what a prepacked blob is.
 * The offsets are those of the kernels' metadata, and a test compares them. Those of 5.7.1 (Ubuntu
 * 24.04) are the same; a distribution's name has one type more. */
#ifndef TOOLS_DEMO_ROCRAND_H
#define TOOLS_DEMO_ROCRAND_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/demo/xorwow.h"

/* rocrand_host::detail:: in front of each; `static`, hence the L in the mangled names. */

/* generate_kernel<unsigned, uniform_distribution<unsigned>>(philox4x32_10_device_engine ...) */
#define ROCRAND_PHILOX_UINT                                                                        \
  "_ZN12rocrand_host6detailL15generate_kernelIj20uniform_distributionIjEEEvNS0_"                   \
  "27philox4x32_10_device_engineEPT_mT0_"
#define ROCRAND_5_7_PHILOX_UINT                                                                    \
  "_ZN12rocrand_host6detailL15generate_kernelIj20uniform_distributionIjjEEEvNS0_"                  \
  "27philox4x32_10_device_engineEPT_mT0_"
/* init_engines_kernel(xorwow_engine *, ...) */
#define ROCRAND_XORWOW_INIT                                                                        \
  "_ZN12rocrand_host6detailL19init_engines_kernelEPN14rocrand_device13xorwow_engineEjyy"
/* generate_kernel<float, uniform_distribution<float>>(xorwow_engine *, ...) */
#define ROCRAND_XORWOW_FLOAT                                                                       \
  "_ZN12rocrand_host6detailL15generate_kernelIf20uniform_distributionIfEEEvPN14rocrand_"           \
  "device13xorwow_engineEjPT_mT0_"
#define ROCRAND_5_7_XORWOW_FLOAT                                                                   \
  "_ZN12rocrand_host6detailL15generate_kernelIf20uniform_distributionIfjEEEvPN14rocrand_"          \
  "device13xorwow_engineEjPT_mT0_"

/* Work-groups the library launches, whatever the count. */
enum { ROCRAND_PHILOX_BLOCKS = 1024, ROCRAND_XORWOW_BLOCKS = 512 };

/* The whole generator travels in the kernarg segment. */
typedef struct rocrand_philox_engine {
  uint32_t counter[4]; /* of the next number, least significant word first */
  uint32_t result[4];  /* Philox of counter and key */
  uint32_t key[2];
  uint32_t substate; /* which word of `result` is next */
  uint32_t padding;
} rocrand_philox_engine_t;

typedef struct rocrand_philox_kernarg {
  rocrand_philox_engine_t engine;
  uint64_t numbers; /* device address */
  uint64_t count;
  uint8_t distribution; /* an empty class still occupies a byte */
} rocrand_philox_kernarg_t;
static_assert(sizeof(rocrand_philox_engine_t) == 48, "argument 0");
static_assert(offsetof(rocrand_philox_engine_t, key) == 32, "as the kernel loads it");
static_assert(offsetof(rocrand_philox_engine_t, substate) == 40, "as the kernel loads it");
static_assert(offsetof(rocrand_philox_kernarg_t, numbers) == 48, "argument 1");
static_assert(offsetof(rocrand_philox_kernarg_t, count) == 56, "argument 2");
static_assert(offsetof(rocrand_philox_kernarg_t, distribution) == 64, "argument 3");

static_assert(sizeof(xorwow_t) == 24 && offsetof(xorwow_t, x) == 4, "rocRAND's xorwow_engine");

typedef struct rocrand_xorwow_init_kernarg {
  uint64_t engines; /* device address */
  uint32_t start;   /* the engine that gives the first number; those before it are one ahead */
  uint32_t padding;
  uint64_t seed;
  uint64_t offset; /* numbers every engine has given already */
} rocrand_xorwow_init_kernarg_t;
static_assert(offsetof(rocrand_xorwow_init_kernarg_t, start) == 8, "argument 1");
static_assert(offsetof(rocrand_xorwow_init_kernarg_t, seed) == 16, "argument 2");
static_assert(offsetof(rocrand_xorwow_init_kernarg_t, offset) == 24, "argument 3");
static_assert(sizeof(rocrand_xorwow_init_kernarg_t) == 32, "the segment");

typedef struct rocrand_xorwow_kernarg {
  uint64_t engines; /* device address */
  uint32_t start;
  uint32_t padding;
  uint64_t numbers; /* device address */
  uint64_t count;
  uint8_t distribution;
} rocrand_xorwow_kernarg_t;
static_assert(offsetof(rocrand_xorwow_kernarg_t, start) == 8, "argument 1");
static_assert(offsetof(rocrand_xorwow_kernarg_t, numbers) == 16, "argument 2");
static_assert(offsetof(rocrand_xorwow_kernarg_t, count) == 24, "argument 3");
static_assert(offsetof(rocrand_xorwow_kernarg_t, distribution) == 32, "argument 4");

/* uniform_distribution<float>: (0, 1], never 0. The product is exact, so it does not matter whether
 * the compiler fuses it with the sum; the device does. */
static inline float rocrand_uniform_float(uint32_t number)
{
  return (float)number * 0x1p-32f + 0x1p-32f;
}

#endif
