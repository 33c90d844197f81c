/* Kernels that are probed, and dispatches of them. Internal to this folder.
 *
 * A kernel is planned, and its probed copy loaded, by the worker, while the original runs. The copy
 * uses the original's variables, so it is given up when the original's executable goes; dispatches
 * that are on their way keep it until they have ended. */
#ifndef RAWHAL_FRONT_PROBE_PROBED_H
#define RAWHAL_FRONT_PROBE_PROBED_H

#include "front/engine/engine.h"
#include "front/outcomes.h"
#include "front/probe/probes.h"
#include "front/probe/rules.h"
#include "record/probes.h"

#include "base/hash_table.h"
#include "debug/softgpu.h"
#include "probe/buffer_room.h"

typedef enum probed_state {
  PROBED_PENDING = 0,
  PROBED_READY = 1,
  PROBED_REFUSED = 2,
} probed_state_t;

struct probed {
  uint64_t kernel_object, executable;
  atomic_size_t users; /* the table, the worker, and dispatches on their way */
  probe_rule_t *rule;  /* NULL: none is for it, and nothing of the rest is set */
  const front_device_t *device;
  front_kernel_t *kernel;
  record_place_t place;                 /* of its object: where that is loaded */
  uint32_t kernarg_bytes, kernarg_most; /* that it takes; with optional ones behind them */
  atomic_ullong seen, taken;
  atomic_int state;   /* probed_state_t; the worker writes what follows before it */
  char *refusal;      /* NULL: there was no memory for it */
  bool uncertified;   /* that is why */
  outcome_key_t *key; /* NULL: no outcome is kept */
  rawhal_probe_plan_t *plan;
  rawhal_bytes_t bytes; /* of the copy */
  hsa_executable_t own; /* where that is loaded, */
  object_loaded_t loaded;
  uint64_t probed_object;
  softgpu_probe_fn *ask;             /* by it, and there is no copy */
  engine_t *engine;                  /* someone else's copy, and there is no plan */
  uint64_t number;                   /* in the file; 0: it is not there; the worker's alone */
  atomic_bool told, tried, accepted; /* told: of that it is refused */
  struct probed *next;               /* the worker's */
  UT_hash_handle hh;
};

void probed_hold(probed_t *entry);
void probed_accept(probed_t *entry); /* a dispatch of it has ended */
/* prepare.c: plans it, and loads the copy; fails where it stays what it is. */
RAWHAL_CHECKED rawhal_status_t probed_prepare(probed_t *entry, rawhal_error_t *error);
void probed_unprepare(probed_t *entry);
/* certified.c: has its copy, which is planned, the certificate that its rule asks for, for this
 * device? Fails where it has not, and says why. */
RAWHAL_CHECKED rawhal_status_t probed_certified(const probed_t *entry, rawhal_error_t *error);

struct probe_run {
  probed_t *of;
  hsa_kernel_dispatch_packet_t packet; /* the program's */
  uint64_t queue;
  uint64_t start, end;               /* ns of the runtime's clock; 0, 0: unknown how it ended */
  char *block;                       /* kernargs */
  size_t block_bytes, kernarg_bytes; /* of which are the program's */
  probe_memory_t *memory;
  bool flies;
  probe_room_t room;                /* in that */
  engine_places_t places;           /* of an engine's maps */
  record_allocation_t *allocations; /* that there were, those of its pointers first */
  uint32_t allocation_count;
  struct probe_run *next; /* the worker's */
};

/* run.c: changes the packet, or says why not; PROBE_KEPTS: it did. */
probe_kept_t probe_run_begin(probed_t *entry, uint64_t queue_id,
                             hsa_kernel_dispatch_packet_t *packet, probe_run_t **run);
/* Gives back all that it has, and frees it. The memory is zeros. */
void probe_run_free(probe_run_t *run);
void probe_run_abandon(void);

#endif
