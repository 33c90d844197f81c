#include "softgpu/device/option.h"

#include <stdatomic.h>

static _Atomic uint64_t values[SOFTGPU_OPTION_COUNT] = {
    [SOFTGPU_OPTION_CHIP] = 0x90a,
    [SOFTGPU_OPTION_SRAMECC] = 1,
    [SOFTGPU_OPTION_GPUS] = 1,
    [SOFTGPU_OPTION_VRAM_MIB] = 8192,
    [SOFTGPU_OPTION_TIMEOUT_MS] = 120000,
    [SOFTGPU_OPTION_SPIN] = 2000,
    [SOFTGPU_OPTION_USERFAULTFD] = 1,
    [SOFTGPU_OPTION_GUARD_KIB] = 1024,
    [SOFTGPU_OPTION_SLOWDOWN] = 1,
};

uint64_t softgpu_option(softgpu_option_t option)
{
  return atomic_load_explicit(&values[option], memory_order_relaxed);
}

void softgpu_option_store(softgpu_option_t option, uint64_t value)
{
  atomic_store_explicit(&values[option], value, memory_order_relaxed);
}
