/* The limiter's internal interface for tests in C++, which has no _Atomic. */
#ifndef TESTS_LIMIT_SHIM_H
#define TESTS_LIMIT_SHIM_H

#include "queue/limit/config.h"

typedef struct limit_lease limit_lease_t;

typedef struct shim_grant {
  uint64_t words[8];
} shim_grant_t;

typedef struct shim_cost {
  uint64_t kernel, workgroups, kernarg_bytes;
  uint32_t launches; /* alike */
} shim_cost_t;

/* `now` NULL: the machine's clock. With one, nothing ever sleeps. */
rawhal_status_t shim_open(const rawhal_limit_config_t *config, uint64_t (*now)(void *),
                          void *context, rawhal_limiter_t **limiter, rawhal_error_t *error);
/* With a clock that all who have `now` mapped share, and that waiting moves on; with `die_waiting`
 * who waits is killed. */
rawhal_status_t shim_open_shared(const rawhal_limit_config_t *config, uint64_t *now,
                                 bool die_waiting, rawhal_limiter_t **limiter,
                                 rawhal_error_t *error);
/* As if a kernel had taken that long whenever it was measured. */
void shim_learn(rawhal_limiter_t *limiter, uint64_t kernel, uint64_t workgroups, uint64_t ns);
rawhal_status_t shim_lease(rawhal_limiter_t *limiter, void (*reap)(void *), void *context,
                           uint64_t share, limit_lease_t **lease, rawhal_error_t *error);
void shim_lease_destroy(limit_lease_t *lease);
rawhal_status_t shim_admit(limit_lease_t *lease, const shim_cost_t *cost, uint64_t deadline,
                           shim_grant_t *grant, rawhal_error_t *error);
void shim_complete(limit_lease_t *lease, const shim_grant_t *grant, uint64_t start, uint64_t end);
typedef struct shim_completion {
  shim_grant_t grant;
  uint64_t start, end;
} shim_completion_t;
void shim_complete_all(limit_lease_t *lease, const shim_completion_t *which, size_t count);
void shim_end(limit_lease_t *lease, const shim_grant_t *grant, uint64_t at);
/* In a copy of a region, makes its processes others, which are gone: this one may have the copy
 * mapped. */
void shim_bury(void *region);
/* As if its process had joined so many times more: in slots that were never used. */
void shim_join_again(rawhal_limiter_t *limiter, uint32_t times);
/* What is left of a limiter when its process is killed: its slot, whose lock nobody holds. */
void shim_kill(rawhal_limiter_t *limiter);
/* Likewise when it has executed another program, and is the same process. */
void shim_become_another(rawhal_limiter_t *limiter);
void shim_cancel(limit_lease_t *lease, const shim_grant_t *grant);
uint64_t shim_retry_at(const limit_lease_t *lease);
bool shim_admit_ahead(limit_lease_t *lease, uint64_t kernel, shim_grant_t *result);
uint64_t shim_expects_at(const limit_lease_t *lease);
bool shim_has_flight(const limit_lease_t *lease);
/* Numbers that change when waiters may look again: the tenant's and the device's. */
void shim_events(const rawhal_limiter_t *limiter, uint32_t events[2]);
/* What an admission without the lock asks: is there room? If so it is taken. */
bool shim_attempt(limit_lease_t *lease, const shim_cost_t *asked, shim_grant_t *result);
/* The place of one dispatch in flight, below the cap; and it is free again. */
bool shim_take_place(rawhal_limiter_t *limiter);
void shim_leave_place(rawhal_limiter_t *limiter);
/* The lock of who waits or charges. */
void shim_lock(rawhal_limiter_t *limiter);
void shim_unlock(rawhal_limiter_t *limiter);
/* ns this process has open, as others see it; launches the lease could spend without asking. */
uint64_t shim_open_ns(const rawhal_limiter_t *limiter);
/* What others read of it: all that it has in flight in one word, and since when something runs. */
void shim_published(const rawhal_limiter_t *limiter, uint64_t *load, uint64_t *running_since);
/* As somebody might who writes into the region. */
void shim_set_running_since(rawhal_limiter_t *limiter, uint64_t since);
/* What a process has used, its tenant's clock, and what is left in flight or in leases. */
typedef struct shim_counted {
  uint64_t launches, submissions, gpu_ns, busy_ns, untimed;
  uint64_t paid_until;
  uint64_t in_flight, estimated_in_flight_ns;
} shim_counted_t;
void shim_counted(const rawhal_limiter_t *limiter, shim_counted_t *counted);
/* ns this process was charged, without what it got back. */
uint64_t shim_charged_ns(const rawhal_limiter_t *limiter);
uint64_t shim_credit_launches(const limit_lease_t *lease);
uint64_t shim_credit_ns(const limit_lease_t *lease);
/* The most of a kind of credit, and what is left of `have` when `asked` was spent, or refused. */
enum { SHIM_CREDIT_KINDS = 4 };
uint64_t shim_credit_most(int kind);
bool shim_credit_spend(const uint64_t *have, const uint64_t *asked, uint64_t *left);

/* ---- Memory ---- */

enum { SHIM_CLASSES = 5 };

rawhal_status_t shim_reserve(rawhal_limiter_t *limiter, int class_, uint64_t bytes,
                             rawhal_error_t *error);
void shim_release(rawhal_limiter_t *limiter, int class_, uint64_t bytes);
/* Frees what dead processes hold. */
bool shim_reclaim(rawhal_limiter_t *limiter);
/* The tenant's total, and the sum of its live members, in bytes. */
void shim_totals(const rawhal_limiter_t *limiter, uint64_t *total, uint64_t *sum);
unsigned shim_live_members(const rawhal_limiter_t *limiter);
uint32_t shim_slot(const rawhal_limiter_t *limiter);
/* From now on, in this process, `hook` is called between the steps of a ledger's change. */
void shim_on_step(void (*hook)(int step));
/* The size of a region's file, and of its part before the slot of that number. */
size_t shim_region_bytes(void);
size_t shim_region_bytes_before(uint32_t slot);

/* ---- Damage ---- */

/* Where the region has a thing, and how large that is. */
typedef enum shim_part { SHIM_HEADER, SHIM_DEVICE, SHIM_TENANT, SHIM_MEMBER } shim_part_t;
void shim_region_part(shim_part_t part, uint32_t index, size_t *from, size_t *size);
/* Where a slot has what it asks for as the tenant's burst. */
size_t shim_region_burst_asked(uint32_t slot);
/* Has it left the region, because that is damaged? */
bool shim_has_left(const rawhal_limiter_t *limiter);
void shim_watch_damage(rawhal_limiter_t *limiter, void (*told)(void *context, const char *text),
                       void *context);

#endif
