/* How calls fail: the number for HIP, the sentence for people. Internal. */
#ifndef RAWHAL_HIPLAUNCH_REPORT_H
#define RAWHAL_HIPLAUNCH_REPORT_H

#include <rawhal/hal.h>

#include "hiplaunch/hip/hip_calls.h"

/* Remembers both for the calling thread, writes the sentence to stderr as far as RAWHAL_LOG says,
 * and returns the number. */
hipError_t fail(hipError_t error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for a call of rawhal's; `what` it was for, may be NULL. */
hipError_t fail_rawhal(const rawhal_error_t *error, const char *what, ...)
    __attribute__((format(printf, 2, 3)));

/* A line of that weight for stderr, as far as RAWHAL_LOG says; no failure. */
void note(rawhal_severity_t severity, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
