/* Filling in rawhal_error_t records. Internal. */
#ifndef RAWHAL_BASE_ERROR_H
#define RAWHAL_BASE_ERROR_H

#include "base/status.h"

/* Each returns `status`, so that a failing function ends in `return rawhal_fail(...)`. `error` may
 * be NULL. Arguments may point into `error->message`. */
RAWHAL_CHECKED __attribute__((format(printf, 3, 4))) rawhal_status_t
rawhal_fail(rawhal_error_t *error, rawhal_status_t status, const char *format, ...);

RAWHAL_CHECKED __attribute__((format(printf, 4, 5))) rawhal_status_t
rawhal_fail_at(rawhal_error_t *error, rawhal_status_t status, uint64_t offset, const char *format,
               ...);

/* Puts words before those of a callee, "dispatch 3: ..", whose status this is; all else that
 * `error` says stays. Does nothing with RAWHAL_OK. */
RAWHAL_CHECKED __attribute__((format(printf, 3, 4))) rawhal_status_t
rawhal_fail_of(rawhal_error_t *error, rawhal_status_t status, const char *format, ...);

/* The status of a call that could not open or create a file, by its errno. */
rawhal_status_t file_failure(int code);

/* Text from a file for printf(): `"%.*s", RAWHAL_STRING_ARGS(name)`. Long names are truncated. */
#define RAWHAL_STRING_ARGS(string)                                                                 \
  (int)((string).size < 200 ? (string).size : 200), ((string).data ? (string).data : "")

#endif
