/* The trace of maps, a file for each process: docs/probe-engine.md has its form. Internal.
 *
 * Thread-safety: one thread at a time, but for engine_trace_has_ended(). */
#ifndef RAWHAL_FRONT_ENGINE_TRACE_H
#define RAWHAL_FRONT_ENGINE_TRACE_H

#include "front/engine/engine.h"

/* Makes it in engine_folder(). `callback`: NULL for none; a program that gets it when it is
 * finished, and may take that long, in ns. Fails as file_failure(), OUT_OF_MEMORY. */
RAWHAL_CHECKED rawhal_status_t engine_trace_open(const char *callback, uint64_t limit,
                                                 uint64_t bound, rawhal_error_t *error);
/* It takes nothing any more: it has reached its bound, or could not be written. */
bool engine_trace_has_ended(void);
/* Finishes it, if there is one. */
void engine_trace_close(void);
void engine_trace_abandon(void);

/* A dispatch that has ended. */
typedef struct engine_record {
  const front_kernel_t *kernel;
  const hsa_kernel_dispatch_packet_t *packet;
  uint64_t queue, start, end; /* ns of the runtime's clock; 0, 0: it is not known how it ended */
  const engine_maps_t *maps;
  const engine_places_t *places;
  const char *memory;
} engine_record_t;

/* False: it is not in the trace. */
bool engine_trace_write(const engine_record_t *record);

#endif
