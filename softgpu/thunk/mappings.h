/* What the system says of the process's own memory. */
#ifndef SOFTGPU_THUNK_MAPPINGS_H
#define SOFTGPU_THUNK_MAPPINGS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the program can read all of [base, end); `*writable` is whether it can write to all of
 * it. Both are page-aligned. Reads the list of all mappings, whose number is what it costs. */
bool softgpu_mappings_readable(uint64_t base, uint64_t end, bool *writable);

#endif
