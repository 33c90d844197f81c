/* The front: an HSA tools library, by which programs that were never changed come under limits.
 * Internal to this folder.
 *
 *     load     OnLoad(): tables as they were found, devices and their limits, hooks
 *     preflight  checks of the environment before there is a runtime
 *     marker   tells others that the front is there
 *     tables   where the runtime's functions are
 *     devices  which agents are limited, and what their pools are
 *     memory   hooks of allocations
 *     imports  hooks of memory that other processes and drivers have, too
 *     vmem     hooks of memory that is mapped by handles
 *     code     hooks of executables: the memory of loaded code
 *     loaded   what executables have of code, as far as the runtime can be asked
 *     sources  what code is loaded from
 *     held     what of all that the program has, in the ledger
 *     descriptors  files that keep memory
 *     copies   hooks of copies and fills, and whose they are
 *     copying  holds them back until the limiter admits them
 *     copy     from asking for one to its end, and its times
 *     queues   hooks of queues: each that is limited gets a proxy
 *     described  hooks of the newer ways to make them
 *     words    of signals and queues, where the device has them
 *     proxy    one queue: the program's ring, and the device's
 *     doorbell the program rings, and looks how far the device is
 *     forward  packets from the one to the other, as far as the limiter admits them
 *     scratch  what newer runtimes are told of it; what queues without a proxy have
 *     flight   what is on the device, and what it is charged when it has finished
 *     service  the thread that forwards what was held back
 *     ending   who does so when the process ends
 *     notices  what the program's handlers of queues are told
 *     faults   what a queue that fails was doing, and why it failed
 *     hangs    which queues do not get on, and what they wait for
 *     lately   kernargs of what has ended, for faults
 *     door     what others see of all of this, and what they may ask
 *     output   files that are made: none is written over
 *     watch    what is done with dispatches and memory besides, and hooks for it:
 *       objects  code objects and their kernels, by what packets say
 *         contents their bytes
 *         unloaded  where code was lately
 *       ranges   which memory there is
 *       host_view  what of it the host can read, and where
 *       check    is a dispatch what its kernel takes?
 *       trace    when dispatches ran, as a file
 *       recorder what was dispatched, as a file that can be replayed
 *         recorder_find  the memory that it reaches (record/capture.h has the rest)
 *       told     what was said of a kernel already
 *       kernargs what of a dispatch's may be read
 *       policy   what an operator's file says of programs and kernels
 *         policy_read  from JSON to rules
 *         contract how long a buffer must be, as an expression
 *       substitute  kernels of ours in the place of the program's
 *         substitute_rules  which, and what is appended to their arguments
 *         replacement  their files, and where they are loaded
 *         instead  a dispatch of the one that becomes one of the other
 *         remap    from the kernargs of the one to those of the other
 *         blocks   memory for those
 *         outcomes what became of those that were tried, in a folder
 *       own_code code of ours, loaded
 *       names    which kernels a rule is for
 *       rule_lines  rules as the environment has them
 *       record_file  what recordings and probes write in the same way
 *       probe/   copies of the program's kernels that record what they do
 *       engine/  copies that someone else's program makes
 *
 * What a hook does not recognise it passes on to the function that was in the table before it,
 * which may be another tool's.
 *
 * Hooks that watch call those that limit, and those the runtime. Without anything to limit, to
 * watch or to explain nothing is replaced.
 *
 * A program that uses librawhal is charged by the front alone for what is set from outside: asked
 * for LIMIT_AGENT_INFO_FRONT the hook of hsa_agent_get_info() says so, and librawhal keeps only
 * what the program itself sets. Its queues get proxies like any other's. By CODE_AGENT_INFO_COPY it
 * tells which code objects it has changed for the runtime's sake, and how they were.
 *
 * What is seen: every dispatch packet of every queue that hsa_queue_create(),
 * hsa_amd_queue_create() or hsa_amd_counted_queue_acquire() made, whoever wrote it; copies and
 * fills that are asked for by HSA's functions, whatever carries them out; device memory that is
 * allocated from pools and regions, has handles, is mapped by those or kept by a file descriptor of
 * this process, or is mapped as other processes' or drivers'; the segments of code objects, before
 * they are loaded; rings of soft queues; and the scratch that the runtime takes when a dispatch
 * asks for it: for as long as the runtime lives, which keeps it for other queues
 * (queue/gate/scratch.h). Where queues have proxies a dispatch that would exceed the quota is an
 * error of its queue; else what has been taken is charged when the program asks for memory.
 *
 * What is neither held back nor charged SECURITY.md lists. */
#ifndef RAWHAL_FRONT_FRONT_H
#define RAWHAL_FRONT_FRONT_H

#include "front/tables.h"
#include "queue/gate/ending.h"
#include "queue/occupancy.h"

#include <stdatomic.h>

enum { FRONT_DEVICES = 64, FRONT_POOLS = 8 };

typedef struct front_device {
  hsa_agent_t agent;
  rawhal_limiter_t *limiter; /* NULL: nothing is limited */
  bool timed;                /* its queues get proxies */
  bool alone;                /* its limits are in no region: queue/limit/only_copy.h */
  bool counted;              /* and it is seen when each dispatch has ended, and how long it took */
  uint32_t max_packets;
  uint64_t memory_bytes;
  uint32_t group_bytes;         /* of a work-group; 0: not known */
  char isa[64];                 /* the target id of its ISA; empty: not known */
  char executes[64];            /* that of its code: softgpu may be listed as another chip */
  const occupancy_chip_t *chip; /* what its compute units have; NULL: not known */
  uint32_t engines;             /* shader engines; 0: not known */
  char processor[32];           /* of its ISA; empty: not known */
  size_t granule;
  atomic_bool refused; /* that its quota has refused memory has been told */
  uint32_t pool_count;
  hsa_amd_memory_pool_t pools[FRONT_POOLS]; /* of its own memory */
} front_device_t;

typedef struct front {
  front_tables_t tables;
  front_calls_t hsa;     /* as it was found */
  front_calls_t inner;   /* the same, with limits */
  front_calls_t hooks;   /* all that is replaced */
  uint64_t timestamp_hz; /* of hsa_amd_profiling_get_dispatch_time() */
  hsa_agent_t host_agent;
  hsa_amd_memory_pool_t host_pool;
  uint32_t device_count;
  front_device_t devices[FRONT_DEVICES];
  bool limited, timed; /* any of them */
  bool watched;        /* dispatches and memory are looked at: see watch.h */
  bool faults;         /* why queues fail is told: see faults.h */
  bool hangs;          /* which do not get on is: see hangs.h */
  bool shown;          /* others are to see what exists and what happens: see door.h */
  bool remembered;     /* code objects and memory are, for any of these */
  bool serial;         /* each queue runs one dispatch at a time: see recorder.h */
  bool reaches_host;   /* devices reach all of the host's memory */
  bool direct;         /* no other tool hooks what direct.h accesses */
} front_t;

/* Written by OnLoad() and OnUnload() alone, while no other thread is in the runtime. */
extern front_t front;
/* This is a child of the process that has the runtime: it has the hooks and none of the threads,
 * and locks may be held for ever. What is limited is refused there, and nothing is watched. */
extern atomic_bool front_in_child;
static inline bool front_orphaned(void)
{
  return __builtin_expect(atomic_load_explicit(&front_in_child, memory_order_relaxed), 0);
}

#endif
