/* The inside of a queue. Internal.
 *
 * A submission's slot, chosen by its ticket, holds an HSA signal that is never reset: packets that
 * signal decrement it, so its value falls for ever, and a submission has finished when the value
 * has reached the slot's `target`. A waiter can therefore never miss a completion or mistake a
 * later generation for its own. */
#ifndef RAWHAL_QUEUE_INTERNAL_H
#define RAWHAL_QUEUE_INTERNAL_H

#include "base/allocate.h"
#include "debug/cause.h"
#include "debug/door/tell.h"
#include "debug/dump.h"
#include "debug/hang.h"
#include "queue/callbacks.h"
#include "queue/cu_mask.h"
#include "queue/gate/ending.h"
#include "queue/hsa_table.h"
#include "queue/kernel.h"
#include "queue/occupancy.h"
#include "queue/parts.h"
#include "queue/ring.h"
#include "queue/timeline/state.h"

#include <hsa/amd_hsa_signal.h>
#include <pthread.h>

/* A signal's value after its queue has died: lower than packets can ever count it down to. */
#define QUEUE_POISON (INT64_MIN / 2)

static inline bool queue_value_poisoned(int64_t value)
{
  return value <= INT64_MIN / 4;
}

/* What is asked for the causes of a queue's death, by a thread that has locks of the queue. */
typedef struct queue_witness {
  /* What the device itself knows; NULL: nothing. False: nothing was added. */
  bool (*device)(const void *hsa_queue, rawhal_fault_t *fault);
  /* Adds to `device_text` where the waves are of what runs, from the fault's entry on; NULL: that
   * is not known. */
  void (*waves)(const void *hsa_queue, rawhal_fault_t *fault);
  /* Where waves wait for others of their work-group, as they were noted last. False: none do. */
  bool (*stand)(const void *hsa_queue, const rawhal_fault_t *fault, debug_stand_t *stand);
  /* Keeps code loaded until code_let(); false: not now, and there is nothing to let go. It comes
   * before the queue's locks, and waits for none. */
  bool (*code_hold)(void);
  void (*code_let)(void);
  bool (*code_has)(const rawhal_device_kernel_t *kernel); /* it is loaded; between these two */
  /* Keeps what allocation() and read() tell, for as long as it takes to ask. */
  void (*memory_hold)(void);
  void (*memory_let)(void);
  /* Of cause.h; the context is the device. */
  bool (*allocation)(void *context, debug_cursor_t *cursor, debug_allocation_t *allocation);
  bool (*read)(void *context, uint64_t address, void *to, size_t size);
  /* Core files of what dies; NULL: there are none. gather() hands all that is known to the dump,
   * which is kept as above; code only where `code` says so. */
  const dump_settings_t *cores;
  void (*gather)(const struct queue_device *device, const void *hsa_queue,
                 const rawhal_fault_t *fault, const debug_scene_t *around, bool code, dump_t *dump);
  /* Then another queue, which lives (`fault` NULL) or has died, and what runs on it. */
  void (*gather_other)(const struct queue_device *device, const void *hsa_queue,
                       const rawhal_fault_t *fault, const debug_dispatch_t *dispatches,
                       size_t count, dump_t *dump);
} queue_witness_t;

struct queue_device;
struct queue_transfer;

/* Buffers, which queues know nothing of: what graphs ask hal/ for. */
typedef struct queue_buffers {
  /* From here to there one that is freed stays as it is. */
  void (*keep)(void *buffer);
  void (*let)(void *buffer);
  size_t transfer_bytes; /* of a rawhal_transfer_t */
  /* Checks one, and says what is to be done, and with which buffers. */
  rawhal_status_t (*transfer)(const struct queue_device *device, const void *given,
                              struct queue_transfer *made, void *buffers[2], rawhal_error_t *error);
} queue_buffers_t;

/* What a queue needs of its device; lives as long as the queue. */
typedef struct queue_device {
  const allocator_t *allocator; /* lives longer than the queue does; NULL: malloc() */
  const hsa_table_t *hsa;
  hsa_agent_t agent;
  hsa_amd_memory_pool_t kernarg_pool; /* host memory for kernargs */
  uint64_t timestamp_hz;              /* of signal wait timeouts and of dispatch times */
  /* softgpu_signal_instructions(); NULL: the device does not count. */
  bool (*instructions)(uint64_t signal, uint64_t *start, uint64_t *end);
  rawhal_limiter_t *limiter; /* NULL: no limits */
  cu_mask_t cu_mask;         /* of every queue */
  cu_mask_device_t units;
  const occupancy_chip_t *chip; /* NULL: not known */
  scratch_chip_t scratch;
  uint32_t lds_bytes, max_workgroup_size;
  uint16_t max_workgroup_dim[3];
  uint32_t max_grid_dim[3];
  uint32_t min_packets, max_packets;
  const queue_witness_t *witness; /* NULL: there is none */
  const queue_buffers_t *buffers; /* NULL: there are none */
  /* A queue has, by itself: called without locks, before its waiters wake. NULL: not wanted. */
  void (*died)(const char *line);
  /* Keep the runtime open from the first to the last call of a queue. */
  void (*hold)(void);
  void (*release)(void);
  /* Something that may have kept kernels loaded is gone: a queue, a graph. */
  void (*unpinned)(void);
} queue_device_t;

typedef struct queue_slot {
  _Alignas(64) _Atomic uint64_t ticket; /* published by the submitter; 0 before the first */
  _Atomic int64_t target;
  _Atomic uint64_t packet; /* its first */
  _Atomic uint32_t packets;
  _Atomic uint32_t blocks;
  /* Of its packet, when it has one; see queue_kernel(). */
  _Atomic(const rawhal_device_kernel_t *) kernel;
  hsa_signal_t signal;
  int64_t final; /* the value when the queue died */
  bool slept_on; /* by a thread, in the runtime; sleep_lock */
  /* TRAIT_*, of parts.h. A thread that looks at a finished ticket may read it while the slot's next
   * submitter writes it, and then finds that the ticket is gone: queue_slot_kept(). */
  _Atomic uint32_t traits;
} queue_slot_t;

_Static_assert(sizeof(queue_slot_t) == 64, "a submission should touch one cache line of slots");

typedef enum queue_health {
  QUEUE_ALIVE,
  QUEUE_DYING, /* `cause` and the slots' `final` are being written */
  QUEUE_DEAD,
  QUEUE_FORKED, /* the parent's, seen by a child of fork(): nothing of it may be touched */
} queue_health_t;

/* The grant of the ticket a slot holds: a cache line. */
typedef struct queue_grant {
  _Alignas(64) _Atomic uint64_t ticket; /* 0: none, or settled */
  limit_grant_t grant;
} queue_grant_t;

_Static_assert(sizeof(queue_grant_t) == 64, "a submission should touch one line of grants");

/* Rows of host memory. */
typedef struct transfer_rows {
  unsigned char *at;
  uint64_t pitch, bytes, rows;
} transfer_rows_t;

/* What is read goes there in the end. */
typedef struct transfer_delivery {
  transfer_rows_t to, from;
} transfer_delivery_t;

/* What transfers use that are submitted any number of times; whoever lets it go last ends it, with
 * locks of a queue. */
typedef struct transfer_owner {
  _Atomic uint32_t uses;
  void (*end)(struct transfer_owner *owner);
} transfer_owner_t;

/* Host memory that a submission of transfers has until it has finished, when bytes of it are the
 * program's; NULL: none. Pinning the program's own memory instead would need an end at once: what
 * is pinned is known to the runtime by its address alone, which may be that of another block by
 * then. What is to be delivered is not in it: the device can write to it. */
typedef struct transfer_staging {
  void *memory;
  size_t size, deliveries;
  transfer_delivery_t one, *several; /* several: NULL, or all of them, allocated */
  transfer_owner_t *owner;           /* whose all of it is instead; NULL: nobody's */
} transfer_staging_t;

/* The transfers of a slot; transfer.c. */
typedef struct transfer {
  hsa_signal_t ready; /* 0: the copies may begin */
  hsa_signal_t done;  /* copies that have not ended; negative when one has failed */
  uint64_t copies;
  transfer_staging_t staging;
} transfer_t;

enum { TRANSFER_SPARES = 16 };

typedef struct queue_transfers {
  transfer_t *of_slot;
  _Atomic uint32_t undelivered; /* that have something to deliver, or to give back to a graph */
  pthread_mutex_t spare_lock;
  void *spares[TRANSFER_SPARES]; /* small staging memory that is free */
  uint32_t spare_count;
} queue_transfers_t;

/* Those who wait for room in the rings, in the order in which they came; room.c. */
typedef struct queue_room {
  _Atomic uint32_t waiting;
  pthread_mutex_t lock;
  pthread_cond_t moved; /* a thread has left */
  struct room_waiter *first, *last;
} queue_room_t;

struct rawhal_queue {
  ring_t ring;
  const queue_device_t *device;
  hsa_queue_t *hsa_queue;
  uint64_t id; /* its hsa_queue_t.id, also when that is gone */
  tell_entry_t told;
  bool shared; /* the program made it: shared.h */
  /* Copies from *hsa_queue, whose first cache line has the write index as well: producers on
   * several processors would wait for that line more than once per submission. */
  void *packets;
  hsa_signal_t doorbell;
  unsigned char *kernargs; /* twice ring.blocks: an image may run over the ring's end */
  queue_slot_t *slots;     /* ring.tickets */
  hsa_signal_t *begins;    /* of each slot: for the time at which a batch began */
  hsa_signal_t *times;     /* of each packet, for its dispatch's time; NULL: not asked for */
  _Atomic(const rawhal_device_kernel_t *) *kernels; /* of each packet of several; queue_kernel() */
  rawhal_launch_t launch; /* what all launches have in common, for hidden arguments */
  uint64_t launch_number; /* whose it is: no two queues of the process have the same, nor 0 */
  gate_t gate;
  queue_grant_t *grants;  /* of the slots' tickets; with limits */
  uint64_t parts_ticks;   /* of the launch whose first parts were charged last; drain_lock */
  uint64_t own_bytes;     /* of the device's memory, where that has a quota */
  uint32_t compute_units; /* that it may use */
  queue_room_t room;
  queue_transfers_t transfers;

  _Atomic int health;       /* queue_health_t */
  _Atomic bool in_death;    /* a thread uses it to make it die */
  _Atomic uint64_t died_at; /* CLOCK_MONOTONIC ns */
  rawhal_error_t cause;
  rawhal_fault_t fault;                    /* of it */
  bool closing;                            /* being destroyed; the list's lock */
  _Atomic(struct rawhal_graph *) captured; /* capture.h */
  char label[RAWHAL_LABEL_BYTES];          /* drain_lock */
  struct queue_label *labels;              /* of each packet's dispatch: label.h */
  _Atomic bool labelled;                   /* any of them ever */
  hang_progress_t hang;                    /* of hang.c */
  pthread_mutex_t drain_lock;
  pthread_mutex_t sleep_lock;
  pthread_cond_t woken; /* a thread that slept on a slot does so no more */
  queue_callbacks_t callbacks;
  queue_timeline_t timeline;
  _Atomic(struct queue_follower *) followers; /* follow.h */
  struct rawhal_queue *next;                  /* in the list of all queues */
  struct rawhal_queue *next_doomed;
};

static inline uint32_t queue_traits(const queue_slot_t *slot)
{
  return atomic_load_explicit(&slot->traits, memory_order_relaxed);
}

static inline queue_slot_t *queue_slot(const rawhal_queue_t *queue, uint64_t ticket)
{
  return &queue->slots[ticket & (queue->ring.tickets - 1)];
}

/* Whether the slot of a finished ticket has not been taken: what was read of it before is the
 * ticket's own. Reservations come before anything of a slot is written. */
static inline bool queue_slot_kept(rawhal_queue_t *queue, uint64_t ticket)
{
  return ring_last_ticket(&queue->ring) - ticket < queue->ring.tickets;
}

/* Acquire: the device has finished with everything it counted. The value is read where the runtime
 * documents it (amd_hsa_signal.h) instead of through a call. */
static inline int64_t queue_slot_value(const queue_slot_t *slot)
{
  const amd_signal_t *signal = (const amd_signal_t *)(uintptr_t)slot->signal.handle;
  return __atomic_load_n(&signal->value, __ATOMIC_ACQUIRE);
}

/* The kernel a packet of the slot's submission runs; NULL: none. Most submissions have one packet,
 * and their slot names its kernel; neighbours in the table would share a cache line. */
static inline const rawhal_device_kernel_t *queue_kernel(const rawhal_queue_t *queue,
                                                         const queue_slot_t *slot, uint64_t packet)
{
  if (slot->packets == 1)
    return atomic_load_explicit(&slot->kernel, memory_order_relaxed);
  return atomic_load_explicit(&queue->kernels[packet & (queue->ring.packets - 1)],
                              memory_order_relaxed);
}

#endif
