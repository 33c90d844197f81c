/* A driver in the shape of IREE's HAL, upon rawhal: memory in queue order, executables, command
 * buffers, timeline semaphores, and queues that execute command buffers between two lists of these.
 * Names and code are its own.
 *
 *     here                            of rawhal
 *     drv_queue_alloca, _dealloca     rawhal_pool_allocate(), _free(): pool.h
 *     drv_executable_t                a kernel of a code object, or an entry of Triton's cache
 *     drv_command_buffer_t            graphs: graph.h. All of the mapping is in command_buffer.c
 *     slot of a binding table         bindings of a graph's launch
 *     drv_fence_t                     rawhal_timepoint_t: semaphore.h
 *     drv_queue_execute               waits, a launch, signals
 *
 * What fails ends the program and says why: this is an example. A device and what belongs to it
 * are for one thread at a time. */
#ifndef EXAMPLE_HAL_DRIVER_H
#define EXAMPLE_HAL_DRIVER_H

#include <rawhal/rawhal.h>

extern rawhal_error_t drv_error; /* what calls fill in */
_Noreturn void drv_die(const char *call);
#define DRV_CHECK(call)                                                                            \
  do {                                                                                             \
    if ((call) != RAWHAL_OK)                                                                       \
      drv_die(#call);                                                                              \
  } while (0)
void *drv_allocate(size_t count, size_t size); /* zeroed host memory */

enum { DRV_COMPUTE, DRV_TRANSFER, DRV_QUEUES }; /* affinities: each is a queue */

typedef struct drv_device {
  rawhal_instance_t *instance;
  rawhal_device_t *device;
  rawhal_queue_t *queues[DRV_QUEUES];
  rawhal_pool_t *pools[2]; /* by rawhal_memory_kind_t */
} drv_device_t;

void drv_device_open(drv_device_t *device);
void drv_device_close(drv_device_t *device);

/* ---- Semaphores: what a queue waits for before, or signals after ---- */

typedef struct drv_fence {
  size_t count;
  const rawhal_timepoint_t *points;
} drv_fence_t;

/* ---- Buffers, in queue order ---- */

typedef struct drv_buffer {
  rawhal_memory_kind_t kind;
  rawhal_pool_allocation_t memory; /* .host, of RAWHAL_MEMORY_HOST, is where the program has it */
} drv_buffer_t;

/* The buffer may be used by what comes after `signal`, and until `wait` of drv_queue_dealloca(). */
void drv_queue_alloca(drv_device_t *device, uint32_t queue, drv_fence_t wait, drv_fence_t signal,
                      rawhal_memory_kind_t kind, uint64_t bytes, const char *label,
                      drv_buffer_t *buffer);
void drv_queue_dealloca(drv_device_t *device, uint32_t queue, drv_fence_t wait, drv_fence_t signal,
                        drv_buffer_t *buffer);

/* A part of a buffer; with `buffer` NULL, of that in a slot of the binding table. */
typedef struct drv_buffer_ref {
  const drv_buffer_t *buffer;
  uint32_t slot;
  uint64_t offset, bytes;
} drv_buffer_ref_t;

/* A binding table. */
typedef struct drv_table {
  size_t count;
  const drv_buffer_t *const *buffers;
} drv_table_t;

/* What it is a part of. */
const rawhal_pool_allocation_t *drv_memory(const drv_buffer_ref_t *ref, drv_table_t table);

/* ---- Executables ---- */

typedef struct drv_executable {
  rawhal_triton_t *triton; /* NULL: of a code object */
  rawhal_executable_t *executable;
  rawhal_bindings_t *layout;
  rawhal_dispatch_t dispatch; /* kernel, work-group and LDS of each dispatch */
} drv_executable_t;

/* The kernel of that name in a code object whose kernels require a size of work-groups, or in an
 * entry of Triton's cache ("NAME.json"). */
void drv_executable_open(drv_device_t *device, const char *path, const char *name,
                         drv_executable_t *executable);
void drv_executable_close(drv_executable_t *executable);

/* ---- Command buffers ---- */

typedef struct drv_command_buffer drv_command_buffer_t;

typedef enum drv_mode {
  DRV_ONE_SHOT = 1, /* is executed once, which destroys it */
  DRV_REUSABLE = 2, /* any number of times, several at once, each with a binding table */
} drv_mode_t;

drv_command_buffer_t *drv_command_buffer_begin(drv_device_t *device, drv_mode_t mode);
void drv_command_buffer_end(drv_command_buffer_t *commands); /* no more commands, and ready */
void drv_command_buffer_destroy(drv_command_buffer_t *commands);

/* What a dispatch runs. */
typedef struct drv_work {
  const drv_executable_t *executable;
  uint32_t groups[3];
  /* Or the three numbers in a host-visible buffer, read when the commands are executed. */
  const drv_buffer_ref_t *groups_in;
  const uint32_t *constants;
  size_t constant_count;
  const drv_buffer_ref_t *buffers;
  size_t buffer_count;
} drv_work_t;

enum { DRV_MOST_BUFFERS = 16, DRV_MOST_BYTES = 256 };
/* Its arguments, with 0 for buffers of slots and for scratch of Triton's kernels; how long they
 * are. */
size_t drv_pack(const drv_work_t *work, unsigned char *blob);

/* Commands between two barriers may overlap; all before a barrier come before all behind it. */
void drv_barrier(drv_command_buffer_t *commands);
void drv_dispatch(drv_command_buffer_t *commands, const drv_work_t *work);
void drv_copy(drv_command_buffer_t *commands, const drv_buffer_ref_t *to,
              const drv_buffer_ref_t *from);
void drv_fill(drv_command_buffer_t *commands, const drv_buffer_ref_t *to, uint32_t pattern);
/* `data` is read during the call. */
void drv_update(drv_command_buffer_t *commands, const drv_buffer_ref_t *to, const void *data);

/* ---- Queues ---- */

/* Of command_buffer.c: launches its graph with the slots' buffers. */
void drv_command_buffer_launch(rawhal_queue_t *queue, drv_command_buffer_t *commands,
                               drv_table_t table);

/* Executes it on a queue when all of `wait` has been reached; then `signal` is. Queues are in
 * order, so `wait` must not need what is submitted to the same queue later. */
void drv_queue_execute(drv_device_t *device, uint32_t queue, drv_fence_t wait, drv_fence_t signal,
                       drv_command_buffer_t *commands, drv_table_t table);

#endif
