/* Checksums, by xxHash. Internal.
 *
 * Its header is compiled into sum.c alone, so that nothing links to its library. */
#ifndef RAWHAL_RECORD_SUM_H
#define RAWHAL_RECORD_SUM_H

#include <sys/uio.h>

#include "record/record.h"

/* Of bytes that lie in several parts, as if they were in one. */
uint64_t sum_parts(const struct iovec *parts, size_t count, uint64_t seed);
uint64_t sum_bytes(const void *bytes, size_t size, uint64_t seed);

#endif
