/* The bytes processes share: their layout, and how they are opened. Internal.
 *
 * Fixed tables that never move: devices, tenants, members. A member is one process on one device
 * and has one writer, the process that holds the lock byte of its slot: a lock on the file that the
 * kernel drops when its holder dies, however it dies and in whatever PID namespace it lived.
 * Members are added, and rules for shared limits applied, under another such lock, the structure
 * lock: it cannot be left locked by a dead process, and, unlike a mutex in the region, it cannot be
 * corrupted. A dead member's slot is reclaimed by any process that finds it, under a third lock,
 * one for each slot; that needs no structure lock, whose holder may be stopped.
 *
 * Everything else is words of 64 bits that are valid at any instant: a process may be killed or
 * stopped between any two stores. No value read from the region is trusted: indices are checked,
 * sums saturate, times are clamped. A process that may write the file can lift its limits, but no
 * bytes crash its readers; cutting the file short does, as it does to any process that has a file
 * mapped.
 *
 * All times are CLOCK_MONOTONIC in ns, which processes of a machine share, but for those in a time
 * namespace, which are refused; a region of an earlier boot is started afresh. */
#ifndef RAWHAL_QUEUE_LIMIT_REGION_H
#define RAWHAL_QUEUE_LIMIT_REGION_H

#include "queue/limit/config.h"
#include "queue/limit/identity.h"

#include <stdalign.h>
#include <stdatomic.h>

enum {
  REGION_MAJOR = 1,
  REGION_MINOR = 0,
  REGION_DEVICES = 16,
  REGION_TENANTS = 64,
  REGION_MEMBERS = 512,
  REGION_KEPT = 4, /* members of a tenant for which there is room whatever others do */
  REGION_DEVICE_NAME = 64,
  REGION_TENANT_NAME = 64,
  REGION_BUCKETS = 128,
  REGION_INTERVALS = 128,
  REGION_MERGED = 128,
  REGION_WAIT_BUCKETS = 32,
};

#define REGION_BUCKET_NS  500000000ull
#define REGION_NO_SHARE   UINT64_MAX
#define REGION_NO_INDEX   UINT32_MAX
#define REGION_SHARE_ONE  (1ull << 32)
#define REGION_NO_MEMORY  UINT64_MAX
#define REGION_UNIT_BYTES 4096u
#define REGION_SUSPENDED  0x70757367u /* other values are damage */

/* The clock of one level. */
typedef struct region_node {
  alignas(64) _Atomic uint64_t tat; /* theoretical arrival time: paid up to then */
  _Atomic uint64_t share;           /* of 2^32; REGION_NO_SHARE: unlimited */
  _Atomic uint64_t burst;           /* ns `tat` may be ahead of now */
  _Atomic uint64_t rate_tat;        /* the same for dispatches, which are prepaid */
  _Atomic uint64_t rate;            /* a second; RAWHAL_UNLIMITED */
  _Atomic uint32_t event;     /* grows when a waiting process's chances may have changed; a futex */
  _Atomic uint32_t waiting;   /* a thread sleeps on `event` */
  _Atomic uint64_t tat_share; /* the share that `tat` was reckoned with: rules.h */
  _Atomic uint64_t stopped_at; /* since when the share is 0; else 0 */
} region_node_t;

/* Device time by half seconds, for reports: the half second in the upper 24 bits, ns below. */
typedef struct region_usage {
  alignas(64) _Atomic uint64_t buckets[REGION_BUCKETS];
} region_usage_t;

typedef enum region_state {
  REGION_FREE,
  REGION_JOINING, /* being filled in, under the structure lock */
  REGION_LIVE,
  REGION_LEAVING, /* its holder is gone; its bytes are being given back, under the lock */
} region_state_t;

/* Limits that several ask for; the strictest holds: rules.h. */
typedef enum region_ask {
  ASK_MEMORY,       /* tenant: units */
  ASK_SHARE,        /* tenant: of 2^32 */
  ASK_RATE,         /* tenant */
  ASK_CHARGING,     /* tenant */
  ASK_BURST,        /* tenant and device */
  ASK_DEVICE_SHARE, /* device: of 2^32 */
  REGION_ASKS
} region_ask_t;

/* Each the value plus one; 0: nothing is asked for. */
typedef struct region_asks {
  _Atomic uint64_t of[8];
  _Atomic uint64_t check; /* of an operator's, if there is any: rules_asks_check() */
} region_asks_t;

typedef struct region_device {
  _Atomic uint64_t state; /* FREE or LIVE */
  char name[REGION_DEVICE_NAME];
  region_node_t node;
  _Atomic uint64_t interval_sequence;
  _Atomic uint64_t charged,
      returned; /* ns, of all processes that ever were there; they only grow */
  region_usage_t usage;
  region_asks_t asks; /* an operator's: ASK_BURST, ASK_DEVICE_SHARE */
} region_device_t;

/* A tenant's memory: changed as a whole, read by halves; ledger.h. */
typedef union region_total {
  struct {
    uint64_t change; /* the last one: its number << 9 | the slot that made it */
    uint64_t units;
  };
  unsigned __int128 bits;
} region_total_t;

typedef struct region_tenant {
  _Atomic uint64_t state; /* FREE or LIVE */
  _Atomic uint32_t device;
  _Atomic uint32_t suspended; /* by an operator: REGION_SUSPENDED; 0: not */
  _Atomic uint64_t charging;  /* rawhal_limit_charging_t */
  char name[REGION_TENANT_NAME];
  region_node_t node;
  alignas(64) region_total_t memory; /* ledger.h */
  _Atomic uint64_t memory_limit;     /* units; REGION_NO_MEMORY */
  _Atomic uint64_t memory_peak;      /* units */
  region_usage_t usage;
  alignas(64) _Atomic uint64_t served; /* ns charged, for turns at the device */
  _Atomic uint64_t refund;             /* to be taken off `served` */
  region_asks_t asks;                  /* an operator's */
  _Atomic uint64_t charged, returned;  /* as of a device */
  _Atomic uint64_t prepaid;            /* dispatches, of a rate; it only grows */
} region_tenant_t;

typedef enum region_level {
  LEVEL_NONE,
  LEVEL_QUEUE,
  LEVEL_PROCESS,
  LEVEL_TENANT,
  LEVEL_DEVICE
} region_level_t;

/* region_hot_t.waits: a time with its lowest bits replaced. */
#define WAITS_PRIORITY  3ull /* mask: rawhal_limit_priority_t */
#define WAITS_AT_DEVICE 4ull /* for the device's clock; else for the tenant's */
#define WAITS_ALONE     8ull /* for limits of its own: none need let it go first */
#define WAITS_SINCE     (~15ull)

/* region_hot_t.load: what is admitted and not yet charged, submissions above ns. One word, so that
 * no reader sees one without the other. */
#define LOAD_NS_BITS 48
#define LOAD_NS      ((1ull << LOAD_NS_BITS) - 1)

/* What other processes look at when they admit. */
typedef struct region_hot {
  alignas(64) _Atomic uint64_t state; /* generation << 8 | region_state_t */
  _Atomic uint64_t load;
  _Atomic uint64_t running_since; /* what of it has run and is not charged ran from then until now;
                                     0: nothing is in flight */
  _Atomic uint64_t served;        /* ns charged, times 100 / weight */
  _Atomic uint64_t refund;        /* to be taken off `served`; others add */
  _Atomic uint64_t wait_until;    /* waits, and others may have to let it go first, until then */
  _Atomic uint64_t waits;         /* since when, for what: WAITS_* */
  _Atomic uint64_t active_until;  /* has work until then, though nothing of it is in flight */
} region_hot_t;

static inline uint64_t hot_load(const region_hot_t *hot)
{
  return atomic_load_explicit(&hot->load, memory_order_seq_cst);
}

static inline uint64_t load_ns(uint64_t load)
{
  return load & LOAD_NS;
}

static inline uint64_t load_submissions(uint64_t load)
{
  return load >> LOAD_NS_BITS;
}

/* A time in which the device was busy for a process, in the device's ns; or a time in which it was
 * so for `busy` ns of it, when what is older has been merged. */
typedef struct region_interval {
  _Atomic uint64_t sequence; /* 0 while it is being written */
  _Atomic uint64_t start, end, busy;
} region_interval_t;

typedef enum region_counter {
  COUNTER_LAUNCHES,
  COUNTER_BATCHES,
  COUNTER_GPU_NS,  /* charged, refunds included */
  COUNTER_BUSY_NS, /* of the device, before fair division */
  COUNTER_WAITS,   /* admissions that slept */
  COUNTER_WAIT_NS,
  COUNTER_WOULD_BLOCK,
  COUNTER_QUOTA_DENIALS, /* memory and caps */
  COUNTER_ESTIMATED_NS,
  COUNTER_ESTIMATE_ERROR_NS, /* sum of |estimated - measured| */
  COUNTER_NO_TIMESTAMPS,
  COUNTER_REFILLS,
  COUNTER_PROBES,
  COUNTER_REFUND_NS, /* of what was charged; others add */
  COUNTER_REPAIRS,   /* impossible values met */
  REGION_COUNTERS
} region_counter_t;

/* Memory of one member; ledger.h. */
typedef struct region_ledger {
  alignas(64) _Atomic uint64_t intent;
  _Atomic uint64_t base;
  _Atomic uint64_t number;              /* of the last change; grows over all the slot's holders */
  _Atomic uint64_t limit;               /* units; REGION_NO_MEMORY */
  _Atomic uint64_t peak;                /* units */
  alignas(64) _Atomic uint64_t used[8]; /* units, by class */
  alignas(64) _Atomic uint64_t acknowledged; /* written by others */
} region_ledger_t;

/* The last refusal of a member, which its slot's next holder leaves until it has one of its own;
 * its process may be gone when it is read. Written by one thread at a time; a reader finds by
 * `check` that it has read parts of two. */
typedef struct region_denial {
  alignas(64) _Atomic uint64_t number; /* 0: none yet */
  _Atomic uint64_t limit;              /* rawhal_limit_t */
  _Atomic uint64_t asked, used, allowed;
  _Atomic uint64_t at;
  _Atomic uint64_t pid, pid_namespace, tenant;
  _Atomic uint64_t check; /* of all above */
} region_denial_t;

typedef struct region_member {
  region_hot_t hot;
  alignas(64) _Atomic uint32_t device, tenant; /* indices */
  _Atomic uint64_t weight, priority;
  _Atomic uint64_t pid, pid_namespace, start_time, joined_at;
  region_node_t node;
  region_ledger_t ledger;
  alignas(64) _Atomic uint64_t counters[REGION_COUNTERS];
  _Atomic uint64_t waits[REGION_WAIT_BUCKETS]; /* by log2 of us */
  region_denial_t denial;
  region_usage_t usage;
  alignas(64) _Atomic uint64_t interval_count, merged_count;
  region_interval_t intervals[REGION_INTERVALS];
  region_interval_t merged[REGION_MERGED]; /* those no longer above */
  region_asks_t asks;                      /* this process's */
  _Atomic uint64_t overruled;      /* bits of region_ask_t: an operator has set another since */
  _Atomic uint64_t time_namespace; /* part of the identity_t, with `pid` and those next to it */
  _Atomic uint64_t weight_most;    /* that `weight` has been */
  _Atomic uint64_t load_check;     /* of hot.load: damage_load_check() */
} region_member_t;

typedef struct region_header {
  char magic[8];
  uint32_t major, minor;
  uint32_t endianness; /* 0x01020304 */
  uint32_t layout;     /* region_layout() */
  uint64_t bytes;
  char boot_id[40];
  uint64_t check;                     /* of all above */
  alignas(64) _Atomic uint64_t epoch; /* grows when a limit is changed */
  _Atomic uint32_t members;           /* slots at and above this one were never used */
  _Atomic uint32_t rules_due;         /* a process has left; rules have not been applied since */
  _Atomic uint64_t swept_at;          /* when a process last looked for dead ones */
  _Atomic uint64_t damaged_at;        /* since when it is known to be damaged; 0: it is not */
  _Atomic uint64_t damage;            /* damage_kind_t << 32 | slot of who found it */
} region_header_t;

typedef struct region_data {
  region_header_t header;
  region_device_t devices[REGION_DEVICES];
  region_tenant_t tenants[REGION_TENANTS];
  region_member_t members[REGION_MEMBERS];
} region_data_t;

typedef struct region {
  region_data_t *data;
  int fd;           /* an open file description of our own; -1: memory of this process only */
  uint32_t process; /* which of this process and its ancestors has opened it */
} region_t;

static inline region_state_t region_state(uint64_t word)
{
  return (region_state_t)(word & 0xff);
}

/* Is a member alive, and on that device? */
static inline bool region_is_live_on(const region_member_t *member, uint32_t device)
{
  return region_state(atomic_load_explicit(&member->hot.state, memory_order_acquire)) ==
             REGION_LIVE &&
         atomic_load_explicit(&member->device, memory_order_relaxed) == device;
}

/* The number of slots to look at. */
static inline uint32_t region_member_count(const region_data_t *data)
{
  uint32_t count = atomic_load_explicit(&data->header.members, memory_order_acquire);
  return count < REGION_MEMBERS ? count : REGION_MEMBERS;
}

static inline void region_clear(_Atomic uint64_t *words, size_t count)
{
  for (size_t i = 0; i < count; ++i)
    atomic_store(&words[i], 0);
}

/* NULL when the index is out of bounds. */
static inline region_tenant_t *region_tenant(region_data_t *data, uint32_t index)
{
  return index < REGION_TENANTS ? &data->tenants[index] : NULL;
}

/* Opens or makes the region `config` names; without one, memory of this process. Of several that
 * were inherited the one with the device (NULL: the first). UNSUPPORTED: the file is not a region,
 * or of another version. NOT_FOUND: none that was inherited has the device. RUNTIME: the system
 * refuses, with its reason. */
RAWHAL_CHECKED rawhal_status_t region_open(const rawhal_limit_config_t *config, const char *device,
                                           region_t *region, rawhal_error_t *error);
/* See limit_watch_forks(). */
void region_watch_forks(void);
/* Opens the region of that path, which must be there and in use since the machine started: for an
 * operator, which is not a member. NOT_FOUND; else as region_open(). */
RAWHAL_CHECKED rawhal_status_t region_open_existing(const char *path, region_t *region,
                                                    rawhal_error_t *error);
/* Maps a region's file for reading only. No lock is taken; who is alive can be told. */
RAWHAL_CHECKED rawhal_status_t region_view(const char *path, region_t *region,
                                           rawhal_error_t *error);
void region_view_close(region_t *region);
/* Does a file begin as regions do? */
bool region_is_begun(int fd);
void region_close(region_t *region);

/* For memory that takes a region's place: as it is made. */
void region_begin(region_data_t *data);
/* Is it of this version, and as it was written? */
bool region_header_is_whole(const region_header_t *header);

/* A name as it stands in the region, as one line of text. */
void region_copy_name(char to[64], const char from[64]);

/* True in a child of the process that opened the region, however it was made. */
bool region_forked(const region_t *region);
/* INVALID_ARGUMENT in a child of the process that opened it. */
RAWHAL_CHECKED rawhal_status_t region_check(const region_t *region, rawhal_error_t *error);

#endif
