/* The clocks of the device. */
#ifndef SOFTGPU_DEVICE_CLOCK_H
#define SOFTGPU_DEVICE_CLOCK_H

#include <stdint.h>

/* Nanoseconds since boot, as the runtime's own system clock. */
uint64_t softgpu_clock_ns(void);
/* The GPU's counter of SOFTGPU_TIMESTAMP_MHZ: timestamps in a kernel lie between its signal's. */
uint64_t softgpu_clock_ticks(void);
/* The same time in cycles of the engine's clock. */
uint64_t softgpu_clock_cycles(void);

/* What waves are told of the two: those, unless they are to have a time of their own. */
typedef uint64_t softgpu_clock_fn(void);
extern softgpu_clock_fn *softgpu_wave_ticks, *softgpu_wave_cycles;

/* Nanoseconds that do not count while the machine sleeps: for limits of time. */
uint64_t softgpu_clock_awake_ns(void);

#endif
