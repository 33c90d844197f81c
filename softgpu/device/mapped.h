/* What the program has mapped at its own addresses, which it may change without a word. Internal to softgpu. */
#ifndef SOFTGPU_DEVICE_MAPPED_H
#define SOFTGPU_DEVICE_MAPPED_H

#include <stdbool.h>
#include <stdint.h>

/* Whether all of the host's [first, last), first < last, may be read and, with `write`, written now: neither unmapped nor
 * protected. Touches no page and opens a file for the time of the call. Before Linux 6.11, or without /proc, a protected
 * page is only seen where it is the first or the last one. Thread-safe. */
bool softgpu_mapped(uint64_t first, uint64_t last, bool write);

#endif
