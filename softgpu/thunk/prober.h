/* The library that records what SOFTGPU_PROBE says: softgpu/prober.h. */
#ifndef SOFTGPU_THUNK_PROBER_H
#define SOFTGPU_THUNK_PROBER_H

/* Loads it, and has it read the rules. NULL; or why not: it is not there, or they make no sense. */
const char *softgpu_prober_load(const char *rules);
/* The device is opened. Reports what went wrong here or there. */
void softgpu_prober_open(void);

#endif
