/* The options of softgpu.h, for the code that obeys them. */
#ifndef SOFTGPU_DEVICE_OPTION_H
#define SOFTGPU_DEVICE_OPTION_H

#include <stdint.h>

typedef enum softgpu_option {
  SOFTGPU_OPTION_CHIPS, /* before what must not contradict it */
  SOFTGPU_OPTION_CHIP,
  SOFTGPU_OPTION_LISTED,
  SOFTGPU_OPTION_SRAMECC,
  SOFTGPU_OPTION_GPUS,
  SOFTGPU_OPTION_VRAM_MIB,
  SOFTGPU_OPTION_TIMEOUT_MS,
  SOFTGPU_OPTION_SPIN,
  SOFTGPU_OPTION_USERFAULTFD,
  SOFTGPU_OPTION_THREADS,
  SOFTGPU_OPTION_GUARD_KIB,
  SOFTGPU_OPTION_SLOWDOWN,
  SOFTGPU_OPTION_CHECK_LDS,
  SOFTGPU_OPTION_CHECK_RACES,
  SOFTGPU_OPTION_CHECK_KERNARG,
  SOFTGPU_OPTION_CHECK_STORES,
  SOFTGPU_OPTION_CHECK_MEMORY,
  SOFTGPU_OPTION_REFERENCE,
  SOFTGPU_OPTION_HARDWARE_FAULTS,
  SOFTGPU_OPTION_SAME_ADDRESS,
  SOFTGPU_OPTION_COUNT,
} softgpu_option_t;

uint64_t softgpu_option(softgpu_option_t option);
/* Checks nothing: its caller, thunk/option.c, knows names and ranges. */
void softgpu_option_store(softgpu_option_t option, uint64_t value);

#endif
