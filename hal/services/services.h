/* rawhal/services.h: printf() and malloc() in kernels, without HIP or OpenCL's runtime.
 *
 * Kernels ask for what only a host can do through buffers whose addresses they get as hidden
 * arguments. This optional part makes the buffers and serves them:
 *
 *     rawhal_services_create(device, &options, &services, &error);
 *     queue_options.services = rawhal_services_queue(services);    then rawhal_queue_create()
 *     ... submit and wait ...
 *     rawhal_services_flush(services, executable, &error);         buffered printf() only
 *     rawhal_queue_destroy(queue); rawhal_services_destroy(services);
 *
 * There are two kinds of printf(), which the compiler chooses:
 *  - Buffered (OpenCL C; HIP with -mprintf-kind=buffered; hidden_printf_buffer): a kernel leaves
 *    records in a buffer, whose formats are in the code object's metadata. They are printed by
 *    rawhal_services_flush(), after the dispatches have finished.
 *  - By hostcall (HIP's default; hidden_hostcall_buffer): the kernel waits while a thread of the
 *    services prints.
 * malloc() and free() in HIP kernels (hidden_hostcall_buffer and, in objects of version 5,
 * hidden_heap_v1) take their memory by hostcall, from a piece of device memory that is set aside
 * when the services are made.
 *
 * Each queue needs services of its own: a kernel takes a packet of the hostcall buffer for every
 * wave that asks, and there must be as many as there can be waves under way. Services must be made
 * before their queue and destroyed after it. When the queue has died of a fault, make both anew:
 * unfinished requests stay in the buffers.
 *
 * What kernels write is not trusted: offsets, counts and formats are checked, formats are read
 * directive by directive, and a function of the host that a kernel asks to be called is not called.
 * Kernels of one queue can disturb each other's buffers, as they can each other's memory.
 *
 * Facts: AMDGPUUsage, "Kernel Argument Metadata" and amdhsa.printf; the device library's hostcall,
 * message and allocator sources of ROCm 5.2 to 7, and what HIP's runtime answers them. */
#ifndef RAWHAL_SERVICES_H
#define RAWHAL_SERVICES_H

#include <rawhal/hal.h>

RAWHAL_BEGIN

/* The buffers of one queue, and the thread that serves them. */
typedef struct rawhal_services rawhal_services_t;

/* Where a kernel prints to. */
typedef enum rawhal_services_stream {
  RAWHAL_SERVICES_STDOUT = 0,
  RAWHAL_SERVICES_STDERR = 1, /* HIP's fprintf(stderr, ...) */
} rawhal_services_stream_t;

/* Gets what one printf() of one work-item printed: `size` bytes at `text`, not NUL-terminated,
 * valid during the call. Text longer than 65,535 bytes is truncated. Calls come one at a time, from
 * inside rawhal_services_flush() or from the thread that serves hostcalls, which has all signals of
 * the program masked; the work-item waits meanwhile. Must not call functions of the same services.
 */
typedef void rawhal_services_output_fn(void *context, rawhal_services_stream_t stream,
                                       const char *text, size_t size);

/* The parts of services. */
typedef enum rawhal_services_parts {
  RAWHAL_SERVICES_PRINTF = 1u << 0,   /* the buffer of buffered printf() */
  RAWHAL_SERVICES_HOSTCALL = 1u << 1, /* hostcalls, and the thread that serves them */
  RAWHAL_SERVICES_HEAP = 1u << 2,     /* malloc(), which needs hostcalls */
} rawhal_services_parts_t;

/* Zero-initialise; 0 = default. */
typedef struct rawhal_services_options {
  size_t size;               /* sizeof(rawhal_services_options_t), or 0: see types.h */
  uint32_t parts;            /* RAWHAL_SERVICES_*; default: all. Without a part its address is 0 */
  uint32_t hostcall_packets; /* default: the waves that the device can have under way; at most
                                1,048,576. Rounded up to a power of two; 4,120 bytes of host memory
                                each */
  uint64_t printf_bytes;     /* host memory; default 1 MiB, 64 bytes to 1 GiB. What does not fit
                                before the next flush is lost: printf() returns -1 there */
  uint64_t heap_bytes;       /* what malloc() can take in all; default 64 MiB, a multiple of 2 MiB.
                                Device memory, within the quota, plus 2 MiB and 128 KiB.
                                The device library takes 2 MiB at a time for one of its 16 sizes of
                                blocks, in each wave that finds none after 200 us */
  rawhal_services_output_fn *output; /* NULL: text is dropped */
  void *context;
} rawhal_services_options_t;

/* Makes the buffers and starts the thread. `options` may be NULL. INVALID_ARGUMENT: unknown parts,
 * or a heap without hostcalls; OUT_OF_RANGE: a size; OUT_OF_MEMORY, QUOTA_EXCEEDED; RUNTIME. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_services_create(rawhal_device_t *device, const rawhal_services_options_t *options,
                       rawhal_services_t **services, rawhal_error_t *error);

/* For rawhal_queue_options_t::services. Owned by `services`; NULL for NULL. */
RAWHAL_API const rawhal_queue_services_t *rawhal_services_queue(const rawhal_services_t *services);

/* Prints what kernels of `executable` have left in the printf buffer, and empties it. No kernel
 * that prints may run meanwhile: wait for it. Records name their format by a number that each code
 * object counts from 0, so flush before kernels of another one that print run on the queue. Cheap
 * when nothing was printed.
 *
 * MALFORMED: a record makes no sense, at this offset in the buffer; those before it were printed,
 * those after it are lost. INVALID_ARGUMENT: NULL, or an executable of another device;
 * OUT_OF_MEMORY. Thread-safe. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_services_flush(
    rawhal_services_t *services, const rawhal_executable_t *executable, rawhal_error_t *error);

/* What was served so far. */
typedef struct rawhal_services_info {
  size_t size;        /* set it to sizeof(rawhal_services_info_t), or 0: see types.h */
  uint64_t packets;   /* of hostcalls, answered */
  uint64_t refused;   /* requests of work-items that make no sense, or are not served here */
  uint64_t heap_used; /* bytes that kernels hold, in pages of 4 KiB */
  uint64_t heap_full; /* requests that heap_bytes had no room for: malloc() returned NULL */
} rawhal_services_info_t;

/* Fills in `*info`. Zeros for NULL. */
RAWHAL_API void rawhal_services_info(const rawhal_services_t *services,
                                     rawhal_services_info_t *info);

/* Its queue must have been destroyed. Waits for a call of the output function that is under way.
 * NULL is allowed. */
RAWHAL_API void rawhal_services_destroy(rawhal_services_t *services);

RAWHAL_END

#endif
