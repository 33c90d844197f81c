/* The memory that this process has, as a recording sees it. Internal to the recorder. */
#ifndef RAWHAL_HAL_RECORDER_WORLD_H
#define RAWHAL_HAL_RECORDER_WORLD_H

#include "hal/internal.h"
#include "record/capture.h"

typedef struct world_buffer {
  uint64_t base, size, number;
  const rawhal_buffer_t *buffer; /* which may be gone: functions that are given it say so */
  bool shared;                   /* with another process or driver */
} world_buffer_t;

typedef struct world_object {
  record_place_t place;
  variables_t variables;
} world_object_t;

/* As it was at one moment; zeros: nothing. */
typedef struct world {
  rawhal_device_t *device;
  world_buffer_t *buffers; /* by their addresses */
  world_object_t *objects;
  size_t buffer_count, object_count;
} world_t;

extern const record_world_t world_functions; /* the context is a world_t */

/* False: no memory. */
bool world_take(world_t *world, rawhal_device_t *device);
void world_free(world_t *world);
/* From the first byte of all that there is to its end; both 0: nothing is. */
void world_bounds(const world_t *world, uint64_t *least, uint64_t *end);
/* Of a kernel's executable, where it is loaded and what of it may be written. */
world_object_t world_object_of(const rawhal_executable_t *executable,
                               const rawhal_device_kernel_info_t *kernel);

#endif
