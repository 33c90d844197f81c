/* The file of records. Internal. Thread-safety: one thread at a time. */
#ifndef SOFTGPU_PROBES_FILE_H
#define SOFTGPU_PROBES_FILE_H

#include "probe/buffer_room.h"
#include "record/writer.h"
#include "softgpu/probes/kernels.h"

enum { RUN_NAMED = 64, RUN_ALLOCATIONS = 1024 }; /* of its pointers; with others */

/* A dispatch that is being recorded. */
typedef struct run {
  kernel_t *kernel;
  softgpu_prober_dispatch_t dispatch;
  probe_room_t room;
  char *memory; /* of `room`'s bytes, zeros at first */
  void *kernargs;
  size_t kernarg_bytes;
  record_allocation_t *allocations; /* those of its pointers first; NULL: none */
  uint32_t allocation_count;
} run_t;

/* Fails as record_writer_create_new(). */
RAWHAL_CHECKED rawhal_status_t file_open(const char *path, uint64_t bound, rawhal_error_t *error);
/* What it has recorded; `*lost`: how many records there was no room for. */
RAWHAL_CHECKED rawhal_status_t file_write(const softgpu_prober_device_t *device, const run_t *run,
                                          bool completed, uint64_t *lost, rawhal_error_t *error);
/* Fails as record_writer_close(). */
RAWHAL_CHECKED rawhal_status_t file_close(rawhal_error_t *error);

#endif
