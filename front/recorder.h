/* Writes what the program dispatches to a recording (record/), for `rawhal replay`.
 *
 *     RAWHAL_RECORD          the file, which must not be there yet; where it is, as when a second
 *                            process of the program begins, the process's number is added
 *     RAWHAL_RECORD_BUFFERS  "1": with what the pointers of the kernargs lead to, before and after.
 *                            Then each queue runs one dispatch at a time, and the program learns of
 *                            its end when its buffers have been read
 *     RAWHAL_RECORD_BYTES    what the file may grow to, as "64M"; 1 GiB without
 *
 * What other queues or copies do to these buffers at the same time is not held up.
 *
 * Thread-safety: everything may be called from any thread. */
#ifndef RAWHAL_FRONT_RECORDER_H
#define RAWHAL_FRONT_RECORDER_H

#include "front/objects.h"

/* A dispatch whose buffers are wanted once more. */
typedef struct recorder_capture recorder_capture_t;

/* What RAWHAL_RECORD_BYTES says; 0: nothing. INVALID_ARGUMENT. */
RAWHAL_CHECKED rawhal_status_t recorder_bound(uint64_t *bound, rawhal_error_t *error);
RAWHAL_CHECKED rawhal_status_t recorder_open(const char *path, bool buffers, rawhal_error_t *error);
/* What the process ends with: how many dispatches are in the file, once, while it is open. */
void recorder_summary(void);
void recorder_close(void);
void recorder_abandon(void);

/* Before it goes. NULL: nothing is wanted when it has ended. */
recorder_capture_t *recorder_dispatch(const front_device_t *device, uint64_t queue_id,
                                      const front_kernel_t *kernel,
                                      const hsa_kernel_dispatch_packet_t *packet);
/* When it has ended; `ran`: the device says so. Frees it, and NULL is allowed. */
void recorder_ended(recorder_capture_t *capture, bool ran);

#endif
