/* rawhal/hal.h: the runtime, its devices, their memory, and code objects loaded on them.
 *
 *     instance ── device ── buffer       memory a device reads and writes
 *                        ├─ executable   a code object loaded on the device, with its kernels
 *                        └─ queue        rawhal/queue.h
 *
 * The runtime is always the real one: libhsa-runtime64.so.1, opened when the first instance is
 * created and shut down with the last object. Where there is no GPU, softgpu, a GPU in software,
 * stands below it; rawhal_device_info() says so.
 *
 * Ownership: buffers, executables and queues belong to whoever created them. Each keeps the runtime
 * open, so an instance may be destroyed before them; its devices stay valid as long as any of them.
 * A process has one runtime: further instances share it and its devices.
 *
 * Thread-safety: every function may be called from any thread; destroying an object needs that no
 * other call uses it. After fork() a child must not use objects of its parent.
 *
 * Calls that fail leave their output NULL or zero; every function that destroys accepts NULL. */
#ifndef RAWHAL_HAL_H
#define RAWHAL_HAL_H

#include <rawhal/queue.h>

RAWHAL_BEGIN

/* ---- Instance ---- */

typedef struct rawhal_instance rawhal_instance_t;

typedef enum rawhal_device_kind {
  RAWHAL_DEVICE_DEFAULT =
      0,                 /* what RAWHAL_DEVICE in the environment says ("softgpu" or "hsa"; empty
                                or unset: hardware if /dev/kfd exists, else softgpu) */
  RAWHAL_DEVICE_SOFTGPU, /* the GPU in software */
  RAWHAL_DEVICE_HSA,     /* hardware */
} rawhal_device_kind_t;

/* An option of softgpu by its name (softgpu/softgpu.h): "gpus" "2", "vram_mib" "512",
 * "timeout_ms" "1000" (time limit of one kernel), "chip" "gfx90a". */
typedef struct rawhal_softgpu_option {
  const char *name, *value;
} rawhal_softgpu_option_t;

/* Zero-initialise; 0 and NULL mean the default. */
typedef struct rawhal_instance_options {
  rawhal_device_kind_t device_kind;
  const char *softgpu_library; /* path of softgpu's libhsakmt.so.1. Default: RAWHAL_SOFTGPU_LIBRARY
                                  in the environment, else beside librawhal, else where it was built
                                  or installed */
  const char *runtime_library; /* default "libhsa-runtime64.so.1" */
  const rawhal_softgpu_option_t *softgpu_options;
  size_t softgpu_option_count;
} rawhal_instance_options_t;

/* Opens the runtime, or joins the one this process has open. `options` may be NULL.
 *
 * NOT_FOUND: the runtime or softgpu is not installed (the message names the package), or hardware
 * was asked for and there is none. INVALID_ARGUMENT: a value of RAWHAL_DEVICE or an option that
 * makes no sense, or contradicts what the process has open already (it can have one kind of device
 * in its life, because libraries cannot be exchanged under the runtime). RUNTIME: the runtime
 * refused to start. OUT_OF_MEMORY. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_instance_create(
    const rawhal_instance_options_t *options, rawhal_instance_t **instance, rawhal_error_t *error);

RAWHAL_API void rawhal_instance_destroy(rawhal_instance_t *instance);

/* ---- Devices ---- */

typedef struct rawhal_device rawhal_device_t;

typedef struct rawhal_device_info {
  char name[64];          /* product name, or the agent's ("gfx90a") when there is none */
  rawhal_target_t target; /* what code objects are matched against */
  bool is_software;
  char description[128]; /* one plain sentence: what this device is */
  uint64_t memory_bytes; /* of device memory */
  uint64_t max_allocation_bytes;
  uint64_t timestamp_frequency; /* of the runtime's clock, ticks a second */
  uint32_t compute_units;
  uint32_t wavefront_size;
  uint32_t lds_bytes; /* the most LDS a work-group may have */
  uint32_t max_workgroup_size;
  uint16_t max_workgroup_dim[3];
  uint32_t max_grid_dim[3];
  uint64_t max_grid_size; /* work-items in all dimensions together */
  uint32_t max_queue_packets;
} rawhal_device_info_t;

/* Possibly 0. The order is the runtime's and stays as it is. */
RAWHAL_API size_t rawhal_instance_device_count(const rawhal_instance_t *instance);

/* NULL when index >= count. Owned by the instance. */
RAWHAL_API rawhal_device_t *rawhal_instance_device(const rawhal_instance_t *instance, size_t index);

RAWHAL_API const rawhal_device_info_t *rawhal_device_info(const rawhal_device_t *device);

/* ---- Memory ---- */

typedef struct rawhal_buffer rawhal_buffer_t;

typedef enum rawhal_memory_kind {
  RAWHAL_MEMORY_DEVICE,       /* device memory; the host reaches it through the calls below */
  RAWHAL_MEMORY_HOST_VISIBLE, /* host memory that the device reads and writes coherently */
} rawhal_memory_kind_t;

/* Allocates `size` bytes (at least 1), aligned to 4,096, contents undefined. OUT_OF_RANGE: more
 * than the device can ever have. OUT_OF_MEMORY: it has no room now. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_buffer_allocate(rawhal_device_t *device,
                                                                 rawhal_memory_kind_t kind,
                                                                 uint64_t size,
                                                                 rawhal_buffer_t **buffer,
                                                                 rawhal_error_t *error);

/* No kernel or copy in flight may use the buffer. Freeing what is no live buffer (freed already) is
 * INVALID_ARGUMENT and changes nothing. */
RAWHAL_API rawhal_status_t rawhal_buffer_free(rawhal_buffer_t *buffer, rawhal_error_t *error);

/* 0 for what is no live buffer. */
RAWHAL_API uint64_t rawhal_buffer_address(const rawhal_buffer_t *buffer); /* as kernels see it */
RAWHAL_API uint64_t rawhal_buffer_size(const rawhal_buffer_t *buffer);    /* bytes, as asked for */

/* Where the host can read and write; NULL for device memory. Kernels see host writes made before
 * their submit, the host sees theirs after waiting. */
RAWHAL_API void *rawhal_buffer_map(const rawhal_buffer_t *buffer);

/* Copies. They return when the copy is done, and are not ordered with queues: wait for the kernels
 * concerned first. Host memory needs no preparation. Ranges are bytes and are checked against the
 * buffer (OUT_OF_RANGE); a freed buffer is INVALID_ARGUMENT; size 0 does nothing.
 * TIMED_OUT, WOULD_BLOCK (deadline 0, unless it can be done without waiting): what has been copied
 * is undefined, and a part may still arrive later. DEVICE_LOST, RUNTIME. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_buffer_write(rawhal_buffer_t *buffer,
                                                              uint64_t offset, const void *source,
                                                              uint64_t size,
                                                              rawhal_deadline_t deadline,
                                                              rawhal_error_t *error);

RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_buffer_read(rawhal_buffer_t *buffer,
                                                             uint64_t offset, void *destination,
                                                             uint64_t size,
                                                             rawhal_deadline_t deadline,
                                                             rawhal_error_t *error);

/* One side of a copy between buffers. */
typedef struct rawhal_buffer_range {
  rawhal_buffer_t *buffer;
  uint64_t offset; /* bytes */
} rawhal_buffer_range_t;

/* Both buffers belong to one device. INVALID_ARGUMENT also when the ranges overlap. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_buffer_copy(rawhal_buffer_range_t destination,
                                                             rawhal_buffer_range_t source,
                                                             uint64_t size,
                                                             rawhal_deadline_t deadline,
                                                             rawhal_error_t *error);

/* Sets every byte of a range to `value`. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_buffer_fill(rawhal_buffer_range_t destination,
                                                             uint8_t value, uint64_t size,
                                                             rawhal_deadline_t deadline,
                                                             rawhal_error_t *error);

/* ---- Executables ---- */

typedef struct rawhal_executable rawhal_executable_t;

/* Loads a code object on a device. `hsaco` (and the bytes it was opened on) must stay open until
 * the executable is destroyed.
 *
 * TARGET_MISMATCH: built for another processor or feature setting, with the reason. UNSUPPORTED:
 * the object may not be loaded; rawhal_hsaco_info_t.not_loadable_reason. RUNTIME: the runtime's
 * loader refused it. OUT_OF_MEMORY. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_executable_load(rawhal_device_t *device,
                                                                 const rawhal_hsaco_t *hsaco,
                                                                 rawhal_executable_t **executable,
                                                                 rawhal_error_t *error);

/* No dispatch of its kernels may be in flight. */
RAWHAL_API void rawhal_executable_destroy(rawhal_executable_t *executable);

/* What the caller knows about a kernel that its code object does not tell. Zero-initialise. */
typedef struct rawhal_kernel_options {
  uint32_t kernarg_size; /* bytes; for kernels whose facts leave it unspecified */
} rawhal_kernel_options_t;

/* A kernel by `.name` or symbol; O(1), the same handle every time. It belongs to the executable.
 * `options` may be NULL and counts the first time a kernel is asked for.
 *
 * NOT_FOUND: no such kernel. UNSUPPORTED: it is listed as unusable, with the reason.
 * INVALID_ARGUMENT: the kernarg size is unknown and was not stated. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_executable_kernel(
    rawhal_executable_t *executable, rawhal_string_t name, const rawhal_kernel_options_t *options,
    const rawhal_device_kernel_t **kernel, rawhal_error_t *error);

/* ---- Queues ---- */

/* Creates a queue (rawhal/queue.h). `options` may be NULL. INVALID_ARGUMENT, OUT_OF_RANGE: an
 * option; OUT_OF_MEMORY, RUNTIME. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_queue_create(rawhal_device_t *device,
                                                              const rawhal_queue_options_t *options,
                                                              rawhal_queue_t **queue,
                                                              rawhal_error_t *error);

RAWHAL_END

#endif
