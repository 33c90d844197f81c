/* What allocators ask of limits. Internal.
 *
 *     limit_memory_reserve -> allocate -> free -> limit_memory_release
 *
 * Thread-safety: everything may be called from any thread. */
#ifndef RAWHAL_QUEUE_LIMIT_MEMORY_H
#define RAWHAL_QUEUE_LIMIT_MEMORY_H

#include "queue/limit/ledger.h"

/* Bytes are rounded up to 4096. QUOTA_EXCEEDED: says what is asked for, used and allowed. */
RAWHAL_CHECKED rawhal_status_t limit_memory_reserve(rawhal_limiter_t *limiter, ledger_class_t class,
                                                    uint64_t bytes, rawhal_error_t *error);
/* What is taken already, though it does not fit: nothing else fits until it is given back. */
bool limit_memory_charge(rawhal_limiter_t *limiter, ledger_class_t class, uint64_t bytes);
void limit_memory_release(rawhal_limiter_t *limiter, ledger_class_t class, uint64_t bytes);

#endif
