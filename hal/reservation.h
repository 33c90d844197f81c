/* rawhal/reservation.h: device addresses that are reserved before there is memory at them.
 *
 *     rawhal_reservation_create -> rawhal_reservation_map -> dispatches, transfers
 *                                  rawhal_buffer_free     -> rawhal_reservation_map ..
 *
 * What grows, such as a cache of unknown length, keeps its address: all of it is reserved at first,
 * and memory is mapped to the part that is needed. Kernels use it by the reservation's address, as
 * one range; a buffer (hal.h) stands for each part that was mapped, and unmaps it when it is freed.
 *
 * By the runtime's hsa_amd_vmem_*(), which are in ROCr 6.0 and later, on drivers that have them:
 * UNSUPPORTED otherwise, with the reason. Of the runtimes that were tried Debian 12's, 5.2.3, has
 * none, and Debian 13's, 6.1.2, has them, but softgpu has no memory without an address, which they
 * need. So none of this has met memory that a driver mapped: the tests have a stand-in for a
 * runtime that does.
 *
 * Quota: an address costs nothing. What is mapped counts as buffers do, once, until it is freed.
 *
 * Ownership: a reservation keeps the runtime open, and its addresses until it has been destroyed
 * and the last buffer of it has been freed, in whatever order that is.
 *
 * Thread-safety: all functions may be called by any number of threads at once; destroying must come
 * last. pthread_cancel() and fork(): as in hal.h. */
#ifndef RAWHAL_RESERVATION_H
#define RAWHAL_RESERVATION_H

#include <rawhal/hal.h>

RAWHAL_BEGIN

/* A range of a device's addresses. */
typedef struct rawhal_reservation rawhal_reservation_t;

/* Reserves `bytes` > 0, rounded up to the granule (see rawhal_reservation_info_t), at an address
 * that the runtime chooses. An access where nothing is mapped is a fault. INVALID_ARGUMENT;
 * OUT_OF_RANGE: rounded up it is no size; UNSUPPORTED: the runtime or the driver has no virtual
 * memory; OUT_OF_MEMORY: also of addresses; RUNTIME; DEVICE_LOST: after fork(). */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t
rawhal_reservation_create(rawhal_device_t *device, uint64_t bytes,
                          rawhal_reservation_t **reservation, rawhal_error_t *error);

/* Nothing can be mapped any more; what is mapped stays until its buffers are freed. NULL is
 * allowed. */
RAWHAL_API void rawhal_reservation_destroy(rawhal_reservation_t *reservation);

/* What it is; does not change. */
typedef struct rawhal_reservation_info {
  size_t size;      /* set it to sizeof(rawhal_reservation_info_t), or 0: see types.h */
  uint64_t address; /* of the device: what goes into kernel arguments */
  uint64_t bytes;   /* as it was rounded up */
  uint64_t granule; /* in bytes: offsets and sizes of what is mapped are multiples of it */
} rawhal_reservation_info_t;

/* Fills in `*info`; zeros for NULL and after fork(). */
RAWHAL_API void rawhal_reservation_info(const rawhal_reservation_t *reservation,
                                        rawhal_reservation_info_t *info);

/* Takes `bytes` > 0 of device memory, and maps it at `offset`, where nothing is mapped: a buffer of
 * RAWHAL_MEMORY_DEVICE, whose contents are undefined, and which the reservation's device can use.
 * rawhal_buffer_free() unmaps it and gives the memory back: what uses it must have finished, as
 * always. It cannot be shared with other processes or devices (rawhal_buffer_allow(): as imported
 * memory). INVALID_ARGUMENT: not multiples of the granule, or something is mapped there (the
 * message says what); OUT_OF_RANGE: beyond the reservation; OUT_OF_MEMORY; QUOTA_EXCEEDED; RUNTIME;
 * DEVICE_LOST: after fork(). Then nothing is mapped, and nothing counts. */
RAWHAL_API RAWHAL_CHECKED rawhal_status_t rawhal_reservation_map(rawhal_reservation_t *reservation,
                                                                 uint64_t offset, uint64_t bytes,
                                                                 rawhal_buffer_t **buffer,
                                                                 rawhal_error_t *error);

RAWHAL_END

#endif
