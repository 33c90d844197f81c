/* Whether the device is open, and what a forked child sees of it. */
#ifndef SOFTGPU_DEVICE_OPENED_H
#define SOFTGPU_DEVICE_OPENED_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the caller may use the device: opened, and not in a forked child, which has none of the
 * threads. */
bool softgpu_opened(void);

/* Whether this is a forked child of a process that had the device open: locks here may be held by
 * threads that do not exist. */
bool softgpu_forked(void);

/* How often it is open. Only one thread at a time changes that. */
uint32_t softgpu_open_count(void);
void softgpu_open_count_set(uint32_t count);

#endif
