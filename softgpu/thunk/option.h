/* The options of softgpu.h, for the code that obeys them. */
#ifndef SOFTGPU_THUNK_OPTION_H
#define SOFTGPU_THUNK_OPTION_H

#include <stdint.h>

typedef enum softgpu_option {
  SOFTGPU_OPTION_CHIP,
  SOFTGPU_OPTION_GPUS,
  SOFTGPU_OPTION_VRAM_MIB,
  SOFTGPU_OPTION_TIMEOUT_MS,
  SOFTGPU_OPTION_SPIN,
  SOFTGPU_OPTION_USERFAULTFD,
  SOFTGPU_OPTION_THREADS,
  SOFTGPU_OPTION_GUARD_KIB,
  SOFTGPU_OPTION_SLOWDOWN,
  SOFTGPU_OPTION_COUNT,
} softgpu_option_t;

uint64_t softgpu_option(softgpu_option_t option);

#endif
