/* A trace of what the device was asked for, in the JSON that chrome://tracing and Perfetto read.
 *
 * It is written as it happens, one event per line, and can be read even if the process was killed:
 * that format's list need not be closed. Times are the device's, in microseconds since the trace
 * began.
 *
 *     process     this one; a thread each of a queue, of what it was held back, and of each
 *                 way that copies go
 *     dispatch    from its start to its end by the device's clock, named after its kernel
 *     held back   from when the limiter refused to when it admitted
 *     memory      a counter of bytes for each device
 *     object      each code object when it is loaded: content, size, and where it came from
 *     copy        by an engine: from its start to its end by the device's clock; a copy or fill
 *                 that the program waits for: from the call to its return
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
/* Each way has its own engine, and so its copies come one after the other. */
typedef enum trace_way {
  TRACE_TO_DEVICE,
  TRACE_FROM_DEVICE,
  TRACE_BESIDE,
  TRACE_CALLED
} trace_way_t;
typedef struct trace_copy {
  const char *what;
  trace_way_t way;
  uint64_t bytes, asked, start, end; /* ns of the runtime's clock; start 0: not known */
} trace_copy_t;
void trace_copy(const trace_copy_t *copy);
/* One is loaded. `uri`: where from; NULL: not known. */
void trace_object(rawhal_content_hash_t hash, uint64_t size, const char *uri);

#endif
