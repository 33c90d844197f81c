/* Device memory: reserved before it is allocated, given back after it was freed. Internal.
 *
 * A tenant's total is one word, moved by compare-and-swap, so that of two processes racing for the
 * last bytes exactly one gets them. The word also says whose change was the last and which of that
 * member's changes it was; whoever replaces it first notes that in the member's `acknowledged`.
 * Thus, after a process was killed at any instruction, it can be told whether its last change had
 * reached the total: it had if the total still names it, or if it was acknowledged. What the change
 * was to be stands in the member's `intent`. So a total always equals the sum of its live members.
 *
 * Sizes are counted in units of 4096 bytes, HSA's allocation granule. */
#ifndef RAWHAL_QUEUE_LIMIT_LEDGER_H
#define RAWHAL_QUEUE_LIMIT_LEDGER_H

#include "queue/limit/region.h"

typedef enum ledger_class {
  LEDGER_BUFFERS,
  LEDGER_CODE,     /* loaded segments of code objects */
  LEDGER_QUEUES,   /* the driver's buffers; kernargs and rings, where they are in device memory */
  LEDGER_SCRATCH,  /* for each queue, as the runtime allocates it */
  LEDGER_IMPORTED, /* this process's, allocated past us; another process's is counted there */
  LEDGER_CLASSES
} ledger_class_t;

extern const char *const ledger_class_names[LEDGER_CLASSES];

/* Units of a size, rounded up. */
static inline uint64_t ledger_units(uint64_t bytes)
{
  return bytes / REGION_UNIT_BYTES + (bytes % REGION_UNIT_BYTES != 0);
}

/* A tenant's total, in units. */
uint64_t ledger_total(const region_tenant_t *tenant);

/* What one member holds, in units. */
uint64_t ledger_used(const region_ledger_t *ledger);

typedef enum ledger_answer { LEDGER_DONE, LEDGER_OVER_TENANT, LEDGER_OVER_PROCESS } ledger_answer_t;

/* Changes of one member exclude each other: the caller's business. */
ledger_answer_t ledger_reserve(region_data_t *data, uint32_t slot, ledger_class_t class,
                               uint64_t units);
/* At most what was reserved. */
void ledger_release(region_data_t *data, uint32_t slot, ledger_class_t class, uint64_t units);

/* Takes everything a member holds off its tenant's total. The member is the caller, or dead and the
 * caller holds the structure lock; may be interrupted anywhere and repeated. */
void ledger_drain(region_data_t *data, uint32_t slot);

/* Called between any two steps, for tests that kill there; NULL otherwise. */
extern void (*ledger_step)(int step);

#endif
