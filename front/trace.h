/* A trace of what the device was asked for, in the JSON that chrome://tracing and Perfetto read.
 *
 * It is written as it happens, an event a line, and can be read though the process was killed: that
 * format's list need not be closed. Times are the device's, in microseconds since the trace began.
 *
 *     process     this one; a thread each of a queue, of what it was held back, of copies
 *     dispatch    from its start to its end by the device's clock, named after its kernel
 *     held back   from when the limiter refused to when it admitted
 *     memory      a counter of bytes for each device
 *     copy        when it was asked for, and of how many bytes; the engines' times are not seen
 *
 * Thread-safety: everything may be called from any thread. */
#ifndef RAWHAL_FRONT_TRACE_H
#define RAWHAL_FRONT_TRACE_H

#include "front/objects.h"

/* Where there are other processes of the same command, the second and later ones add their number
 * to the name. INVALID_ARGUMENT: it cannot be written. */
RAWHAL_CHECKED rawhal_status_t trace_open(const char *path, rawhal_error_t *error);
void trace_close(void);
void trace_abandon(void);

typedef struct trace_dispatch {
  const front_kernel_t *kernel; /* NULL: not known */
  uint64_t kernel_object;
  uint32_t work_items[3];
  uint16_t workgroup[3];
  uint32_t group_bytes;
  uint32_t queue;
  uint64_t submitted, start, end; /* ns of the runtime's clock */
  bool measured;                  /* start and end are the kernel's own; else at most that */
} trace_dispatch_t;
void trace_dispatch(const trace_dispatch_t *dispatch);
void trace_held(uint32_t queue, uint64_t from, uint64_t to);
void trace_memory(uint32_t device, uint64_t bytes);
void trace_copy(const char *what, uint64_t bytes);

#endif
