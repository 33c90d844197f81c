/* Damage to a region: those who are in it write to it, and one of them may write anything. Internal
 * to this folder.
 *
 * Whoever charges or waits looks now and then at the words that decide what it gets. Every word has
 * one writer or a bound: what a process alone writes it knows in memory of its own; clocks move by
 * no more than what was charged; totals are sums; what is in force follows from what is asked for.
 * What is in doubt twice in a row, unchanged, is damage: between the two stores of a change a look
 * finds what the next does not. Rules that do not follow from what is asked for are put right.
 *
 * A process that finds damage, or that another has found some, leaves: memory of its own takes the
 * region's place, at the same address, with the limits that were in force when nothing was wrong:
 * its part of its tenant's share and of what memory the tenant had left, by the number and the
 * weights of those that were there then. So all together get no more than what was theirs before;
 * none borrows, and none waits for another. The region stays damaged, and none may join it. */
#ifndef RAWHAL_QUEUE_LIMIT_DAMAGE_H
#define RAWHAL_QUEUE_LIMIT_DAMAGE_H

#include "queue/limit/ledger.h"
#include "queue/limit/opening.h"

#define DAMAGE_LOOK_NS  50000000u /* between looks */
#define DAMAGE_AGAIN_NS 10000000u /* when in doubt */
#define DAMAGE_SLACK_NS 1000000u  /* of times that are compared */

typedef enum damage_kind {
  DAMAGE_NONE,
  DAMAGE_HEADER,
  DAMAGE_COUNTS,
  DAMAGE_DEVICE,
  DAMAGE_TENANT,
  DAMAGE_SLOT,
  DAMAGE_CLOCK,
  DAMAGE_TURNS,
  DAMAGE_MEMORY,
  DAMAGE_RULES,
  DAMAGE_OTHERS,
  DAMAGE_KINDS
} damage_kind_t;

typedef struct damage_finding {
  damage_kind_t kind; /* DAMAGE_NONE: nothing is wrong */
  uint32_t index;     /* of what there are several */
  uint64_t value;     /* what is wrong; another the next time: it was being changed */
} damage_finding_t;

/* A level's clock, which owes no more than was charged since. */
typedef struct damage_clock {
  uint64_t debt, charged;
} damage_clock_t;

enum { DAMAGE_DEVICE_CLOCK, DAMAGE_TENANT_CLOCK, DAMAGE_PROCESS_CLOCK, DAMAGE_CLOCKS };

enum { DAMAGE_NAMED = 6 };

/* Another that was there. */
typedef struct damage_other {
  uint64_t pid;
  char tenant[REGION_TENANT_NAME];
} damage_other_t;

/* What was so when nothing was wrong. */
typedef struct damage_seen {
  damage_clock_t clocks[DAMAGE_CLOCKS];
  uint64_t epoch, prepaid, rate_tat;
  uint64_t served, served_back, most_served, device_charged; /* of tenants, for turns */
  uint64_t members, weights, tenants; /* there: of the tenant, and tenants of the device */
  /* What is kept. */
  uint64_t share[DAMAGE_CLOCKS], burst[DAMAGE_CLOCKS], tat[DAMAGE_CLOCKS];
  uint64_t rate, charging, suspended, memory_limit, units;
  uint64_t own[REGION_ASKS];
  uint64_t own_memory, own_weight;
  damage_other_t others[DAMAGE_NAMED];
  uint32_t other_count;
} damage_seen_t;

typedef struct damage_watch {
  _Atomic uint64_t next_at; /* UINT64_MAX: there is nothing to look at */
  bool left;
  region_data_t *own; /* memory to take the region's place */
  damage_finding_t doubt;
  uint32_t unrepaired; /* looks in which rules could not be put right */
  uint32_t repaired;   /* and in which they were */
  damage_seen_t seen;
  uint64_t words;          /* damage_words() of this process's slot, as it wrote them */
  uint64_t state;          /* of it, too */
  _Atomic uint64_t served; /* in all, by its own charges */
  uint64_t used[LEDGER_CLASSES], number; /* of the ledger; under memory_lock */
  limit_damage_fn *told;
  void *context;
} damage_watch_t;

/* Of what only the slot's process writes, and seldom. */
uint64_t damage_words(const region_member_t *member);
/* The check of hot.load. */
uint64_t damage_load_check(uint64_t load);

/* When it has joined. OUT_OF_MEMORY. */
RAWHAL_CHECKED rawhal_status_t damage_begin(rawhal_limiter_t *limiter, rawhal_error_t *error);
void damage_end(rawhal_limiter_t *limiter);
/* After it has changed limits of its own, or what it asks for. */
void damage_own_changed(rawhal_limiter_t *limiter);

/* Of a region that is joined. MALFORMED: damage was found in it. */
RAWHAL_CHECKED rawhal_status_t damage_refuse(const region_data_t *data, rawhal_error_t *error);

/* The caller holds the limiter's lock. True: it has left just now. */
bool damage_look(rawhal_limiter_t *limiter, uint64_t now);

/* Where the region says that something is refused for good: looks at once, and again if in doubt.
 * True: something was wrong, so ask once more. The caller does not hold the lock. */
bool damage_doubt(rawhal_limiter_t *limiter);

/* In a few words: what is wrong. */
const char *damage_text(damage_kind_t kind);

#endif
