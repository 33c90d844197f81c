#include "softgpu/device/clock.h"

#include <time.h>

#include "softgpu/execute.h"

static uint64_t nanoseconds(clockid_t clock)
{
  struct timespec now;
  clock_gettime(clock, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t softgpu_clock_ns(void)
{
  return nanoseconds(CLOCK_BOOTTIME);
}

uint64_t softgpu_clock_ticks(void)
{
  return softgpu_clock_ns() / (1000 / SOFTGPU_TIMESTAMP_MHZ);
}

uint64_t softgpu_clock_cycles(void)
{
  return softgpu_clock_ns() * (SOFTGPU_ENGINE_MHZ / 100) / 10;
}

softgpu_clock_fn *softgpu_wave_ticks = softgpu_clock_ticks;
softgpu_clock_fn *softgpu_wave_cycles = softgpu_clock_cycles;

uint64_t softgpu_clock_awake_ns(void)
{
  return nanoseconds(CLOCK_MONOTONIC);
}
