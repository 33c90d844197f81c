/* rawhal/status.h: how every rawhal call reports what went wrong.
 *
 * A call that can fail returns a rawhal_status_t and takes a nullable `rawhal_error_t *error` last.
 * On failure the record holds the status, the place and a sentence; on success it is left as it
 * was. Outputs are cleared before anything else happens, so a failed call leaves NULL or zeros, and
 * releasing its output is always safe.
 *
 * What a caller does next:
 *
 *   the call is wrong            INVALID_ARGUMENT, OUT_OF_RANGE, NOT_FOUND, AMBIGUOUS: the message
 *                                says what to change
 *   the file is wrong            MALFORMED, UNSUPPORTED, TARGET_MISMATCH: use another;
 *                                CAP_EXCEEDED: raise the cap for a file that is trusted
 *   it cannot be done yet        WOULD_BLOCK, TIMED_OUT: wait for something that is in flight, or
 *                                until rawhal_queue_retry_at(), and try again
 *   too little is left           OUT_OF_MEMORY, QUOTA_EXCEEDED: give something back, ask for less,
 *                                or have the limit raised
 *   the queue is dead            FAULT: destroy it and make another; the program's memory is as
 *                                earlier kernels left it
 *   the device is dead           DEVICE_LOST: destroy what uses it
 *   the HSA runtime failed       RUNTIME: see `hsa_status`
 *
 * Thread-safety: records belong to the caller; use one per thread. No call prints, exits or aborts.
 */
#ifndef RAWHAL_STATUS_H
#define RAWHAL_STATUS_H

#include <rawhal/types.h>

RAWHAL_BEGIN

/* The outcome of a call. */
typedef enum rawhal_status {
  RAWHAL_OK = 0,
  RAWHAL_INVALID_ARGUMENT = 1, /* the call itself is wrong: NULL, zero, contradictory options */
  RAWHAL_MALFORMED = 2,        /* the input's bytes contradict its format; see `offset` */
  RAWHAL_UNSUPPORTED = 3, /* well-formed, but a format, version or feature rawhal does not handle */
  RAWHAL_NOT_FOUND = 4,   /* no such file, kernel, symbol, device, runtime library */
  RAWHAL_TARGET_MISMATCH = 5, /* a code object for another processor or feature setting */
  RAWHAL_OUT_OF_RANGE = 6,    /* a size, offset, count or coordinate beyond what it indexes */
  RAWHAL_CAP_EXCEEDED = 7,    /* a documented parser cap was reached; the caps are options */
  RAWHAL_OUT_OF_MEMORY = 8,   /* host or device memory */
  RAWHAL_QUOTA_EXCEEDED = 9,  /* a configured quota refuses */
  RAWHAL_WOULD_BLOCK = 10,    /* no room yet, and the deadline was 0 */
  RAWHAL_TIMED_OUT = 11,      /* the deadline passed */
  RAWHAL_FAULT = 12,          /* a kernel or packet faulted on the device */
  RAWHAL_DEVICE_LOST = 13,    /* the device or its runtime is gone */
  RAWHAL_RUNTIME = 14,        /* the HSA runtime failed; see `hsa_status` */
  RAWHAL_AMBIGUOUS = 15,      /* several fit; the message names them */
} rawhal_status_t;

/* The `offset` of a failure that is not at a place in a file. */
#define RAWHAL_NO_OFFSET UINT64_MAX

/* What went wrong in a call that failed. Owned by the caller; needs neither initialising nor
 * freeing. */
typedef struct rawhal_error {
  rawhal_status_t status;
  int32_t hsa_status; /* hsa_status_t of the runtime call that failed, else 0 */
  uint64_t offset; /* byte offset in the file or blob the call was about, else RAWHAL_NO_OFFSET */
  char message[1024]; /* one line, NUL-terminated, never empty after a failure; a long text ends
                         in "..." */
} rawhal_error_t;

/* The enumerator's name without its prefix ("OUT_OF_RANGE"); "UNKNOWN" for other values. Never
 * NULL. */
RAWHAL_API const char *rawhal_status_name(rawhal_status_t status);

RAWHAL_END

#endif
