/* Device memory: reserved before it is allocated, given back after it was freed. Internal.
 *
 * A tenant's total is one word of 128 bits, moved by compare-and-swap, so that of two processes
 * racing for the last bytes exactly one gets them. A process may be killed at any instruction; the
 * next to look must then know whether its last change had reached the total. Thus:
 *
 * 1. Every change has a name: the slot that makes it, and a number that grows with each change of
 *    that slot, whichever process holds it in whatever tenant. No name is ever used twice: 2^55
 *    numbers last for 60 years of nothing but changes.
 * 2. The holder of a slot (or, when it is dead, its reclaimer) writes the number, then what is to
 *    change into `intent`, then swaps the total for one that carries the change and its name, then
 *    corrects `used`, then clears the intent. The next change begins after that.
 * 3. A process that replaces a total first raises `acknowledged` of the slot that the total names
 *    to the number it names, unless that slot is its own, whose intent is by 2 of the new change
 *    already.
 *
 * `acknowledged` only grows and only takes numbers that were read from a total: what it says was
 * applied, is for ever true, and cannot be taken for a later change, however late it is written and
 * whatever tenant the slot is in by then. So a change whose intent stands was applied if and only
 * if the total names it (it was not replaced), or `acknowledged` is no less than its number (it was
 * replaced, and 3 came before; an acknowledged number that is greater cannot be, by 2). As the dead
 * change nothing, looking at the total first and at `acknowledged` second misses neither. Hence a
 * total always equals the sum of its members, but for the one change each may be at.
 *
 * Sizes are counted in units of 4096 bytes, the granule of device memory. */
#ifndef RAWHAL_QUEUE_LIMIT_LEDGER_H
#define RAWHAL_QUEUE_LIMIT_LEDGER_H

#include "queue/limit/region.h"

typedef enum ledger_class {
  LEDGER_BUFFERS,
  LEDGER_CODE,     /* loaded segments of code objects */
  LEDGER_QUEUES,   /* the driver's buffers; kernargs and rings, where they are in device memory */
  LEDGER_SCRATCH,  /* as the runtime allocates it for queues, and keeps it: queue/gate/scratch.h */
  LEDGER_IMPORTED, /* allocated past us, or by another process, and mapped here */
  LEDGER_CLASSES
} ledger_class_t;

extern const char *const ledger_class_names[LEDGER_CLASSES];

/* Units of a size, rounded up. */
static inline uint64_t ledger_units(uint64_t bytes)
{
  return bytes / REGION_UNIT_BYTES + (bytes % REGION_UNIT_BYTES != 0);
}

/* The name of a change: its number << 9 | the slot that makes it. */
enum { LEDGER_SLOT_BITS = 9 };
#define LEDGER_SLOT_MASK ((1ull << LEDGER_SLOT_BITS) - 1)

/* What 64 bits of bytes are, less one. */
#define LEDGER_MOST_UNITS ((1ull << 52) - 1)

/* A tenant's total, in units. */
static inline uint64_t ledger_total(const region_tenant_t *tenant)
{
  uint64_t units = __atomic_load_n(&tenant->memory.units, __ATOMIC_RELAXED);
  return units <= LEDGER_MOST_UNITS ? units : LEDGER_MOST_UNITS; /* more is damage */
}

/* What one member holds, in units. */
uint64_t ledger_used(const region_ledger_t *ledger);

typedef enum ledger_answer { LEDGER_DONE, LEDGER_OVER_TENANT, LEDGER_OVER_PROCESS } ledger_answer_t;

/* The caller must make changes of one member exclude each other. */
ledger_answer_t ledger_reserve(region_data_t *data, uint32_t slot, ledger_class_t class,
                               uint64_t units);
/* Memory that is taken already, and counts however little is left: what is asked for next is
 * refused instead. False: more than there can be. */
bool ledger_charge(region_data_t *data, uint32_t slot, ledger_class_t class, uint64_t units);
/* At most what was reserved. */
void ledger_release(region_data_t *data, uint32_t slot, ledger_class_t class, uint64_t units);

/* Takes everything a member holds off its tenant's total. The member is the caller's own, or dead
 * and the caller alone reclaims it; may be interrupted anywhere and repeated. */
void ledger_drain(region_data_t *data, uint32_t slot);

/* For a tenant without members: none of them holds anything, whatever the total said. The peak of
 * one that is kept is that of all who were there. */
void ledger_start_tenant(region_tenant_t *tenant, bool keep_peak);
/* For a slot whose new holder joins; the numbers go on from the last holder's. */
void ledger_start_member(region_ledger_t *ledger);

/* Called before each access to what is shared, for tests that stop or
 * kill there; NULL otherwise. */
extern void (*ledger_step)(int step);

#endif
