/* An engine of softgpu's as a shared object of its own, so that one process has that of today and
 * one from history side by side. engine.c is built into each. */
#ifndef RAWHAL_BENCH_ENGINE_H
#define RAWHAL_BENCH_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct engine_dispatch {
  uint64_t kernel_object, kernarg, packet;
  uint32_t grid[3]; /* work-items */
  uint16_t workgroup[3];
  uint32_t group_bytes;
} engine_dispatch_t;

/* Which of its builds for kinds of hosts an engine uses. */
typedef enum engine_host { ENGINE_PORTABLE, ENGINE_AVX2, ENGINE_AVX512 } engine_host_t;

typedef struct engine {
  bool (*use)(engine_host_t host); /* false: it has none, or this processor does not run it */
  bool (*add)(void *memory, size_t bytes, bool is_code);
  bool (*remove)(void *memory);
  void (*threads)(unsigned count);
  bool (*run)(const engine_dispatch_t *dispatch, char *why, size_t size);
  uint64_t (*instructions)(void); /* of waves, so far */
} engine_t;

/* The one function that is exported. */
#define ENGINE_OPEN "bench_engine"
typedef const engine_t *engine_open_t(void);

#endif
