/* Packet processors: one thread per queue that takes packets off a ring, one after the other, each
 * to its end before the next. */
#ifndef SOFTGPU_CP_PROCESSOR_H
#define SOFTGPU_CP_PROCESSOR_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "softgpu/execute.h"
#include "softgpu/isa/memory/gws.h"
#include "softgpu/softgpu.h"

typedef struct softgpu_queue softgpu_queue_t;

/* What one look at the ring came to. */
typedef enum softgpu_step {
  SOFTGPU_STEP_DONE,    /* a packet was processed: look again at once */
  SOFTGPU_STEP_IDLE,    /* nothing published: sleep until the doorbell */
  SOFTGPU_STEP_WAITING, /* a packet waits for something no doorbell announces: look again soon */
  SOFTGPU_STEP_STOPPED, /* the queue is in error or suspended */
} softgpu_step_t;

typedef struct softgpu_queue_setup {
  softgpu_step_t (*step)(softgpu_queue_t *queue);
  const char *thread_name;
  softgpu_chip_t chip, listed; /* whose code it executes; as what the runtime knows it */
  bool sram_ecc;               /* as in softgpu_dispatch_t */
  uint32_t node;
  uint32_t compute_units; /* of the device */
  /* Upper halves of its LDS and scratch apertures. What the runtime writes of them into its queue
   * is for kernels, which may store into it. */
  uint32_t shared_aperture_hi, private_aperture_hi;
  uint8_t *ring;
  uint64_t ring_bytes;
  /* Packets for AQL queues, bytes for SDMA queues. NULL makes the processor bring its own. */
  _Atomic uint64_t *read_index, *write_index;
  /* How long a packet that no doorbell covers must have been unchanged. AQL queues only. */
  uint64_t settle_ns;
} softgpu_queue_setup_t;

/* What an AQL queue's processor waits for the runtime to do. */
typedef enum softgpu_request {
  SOFTGPU_REQUEST_NONE,
  SOFTGPU_REQUEST_SCRATCH,         /* more scratch memory for the packet at hand */
  SOFTGPU_REQUEST_SCRATCH_GRANTED, /* the runtime says the packet has it now */
  SOFTGPU_REQUEST_RECLAIM,         /* take back scratch that was for one dispatch only */
} softgpu_request_t;

/* Addresses in the host's memory; NULL after the last. */
typedef struct softgpu_words {
  const void *at[5];
} softgpu_words_t;

struct softgpu_queue {
  softgpu_queue_setup_t setup;
  uint64_t id;       /* as the runtime knows it; never 0 */
  uint32_t doorbell; /* index */
  _Atomic uint64_t own_indices[2];

  /* The processor's thread only. */
  uint64_t next;    /* index of the packet at hand; the device's copy of the read index */
  uint64_t packets; /* AQL: of the ring, a power of two; 0 until the first */
  softgpu_request_t request;
  /* Wave-instructions of all its dispatches, and of those before the packet at hand. */
  uint64_t executed, counted;
  uint64_t announced; /* packets that doorbells covered so far, or that stayed unchanged */
  /* Since when the packet at hand, which no doorbell covers, has not changed, or 0; its words. */
  uint64_t unannounced_since, unannounced[8];
  /* Of inject.c, up to stall_until: packets it has looked at, the doorbell it makes the queue miss,
   * and until when it stalls the queue. */
  uint64_t inspected;
  uint64_t heard;     /* packets that the last doorbell it took notice of covers */
  bool doorbell_lost; /* by injection: the doorbell is as if never stored to */
  uint64_t stall_until;
  /* Of a step that came to SOFTGPU_STEP_WAITING: for which words in memory; NULL: for anything. */
  softgpu_words_t awaits;

  bool stop;              /* accessed with atomic builtins; softgpu_execute() polls it */
  _Atomic bool suspended; /* by hsaKmtUpdateQueue() */
  _Atomic bool failed;
  _Atomic bool wants_scratch; /* SOFTGPU_REQUEST_SCRATCH, for other threads to see */
  _Atomic bool listening;     /* for softgpu_queues_kick() */
  _Atomic uint32_t units;     /* compute units its kernels may use; 0 is all */
  _Atomic bool has_gws;
  softgpu_gws_t gws;      /* the processor's thread only */
  softgpu_notes_t *notes; /* of the waves of what it runs */

  pthread_mutex_t lock; /* over what follows */
  pthread_cond_t wake;
  bool woken;
  bool armed;                 /* the doorbell calls queue_rung() */
  softgpu_words_t kicked_for; /* `awaits`, as softgpu_queues_kick() may know it */
  softgpu_fault_info_t fault;
  char fault_text[768];

  pthread_t thread;
};

/* NULL when out of memory, threads or doorbells. */
softgpu_queue_t *softgpu_queue_start(const softgpu_queue_setup_t *setup);
/* Stops what runs, joins the thread. False when there is no such queue. */
bool softgpu_queue_destroy(uint64_t id);
bool softgpu_queue_suspend(uint64_t id, bool suspended);
bool softgpu_queue_limit(uint64_t id, uint32_t units);
uint32_t softgpu_queue_node(uint64_t id); /* 0 when there is no such queue */
/* Gives an AQL queue its device's resources of global wave sync, or takes them away. */
typedef enum softgpu_gws_answer {
  SOFTGPU_GWS_DONE,
  SOFTGPU_GWS_NO_QUEUE,
  SOFTGPU_GWS_TAKEN, /* by another queue; the driver gives them to one at a time */
} softgpu_gws_answer_t;
softgpu_gws_answer_t softgpu_queue_gws(uint64_t id, bool is_wanted);
/* Stores to the doorbell for the runtime, as of the write index now. */
bool softgpu_queue_ring(uint64_t id);
void softgpu_queues_close(void);

/* Lets a processor sleep, though not beyond the end of its queue. */
void softgpu_queue_doze(softgpu_queue_t *queue, uint64_t ns);

/* Makes processors that wait for this word in memory look again now; NULL: for any. */
void softgpu_queues_kick(const void *word);

/* Makes every processor look up from its sleep, which ends where a pause begins. */
void softgpu_queues_wake(void);

/* The AQL queue of the runtime's hsa_queue_t, or of one with the same id that a tool handed out,
 * locked until softgpu_queue_unlock(). */
softgpu_queue_t *softgpu_queue_lock(const void *hsa_queue);
void softgpu_queue_unlock(softgpu_queue_t *queue);

/* Totals for softgpu_counters(). */
typedef struct softgpu_totals {
  _Atomic uint64_t dispatches, barriers, copies, copied_bytes, queue_errors, doorbell_wakeups,
      injected;
} softgpu_totals_t;
extern softgpu_totals_t softgpu_totals;

/* Releases: a thread that reads a total sees the work it counts. */
static inline void softgpu_total_add(_Atomic uint64_t *total, uint64_t amount)
{
  atomic_fetch_add_explicit(total, amount, memory_order_release);
}

/* What an AQL queue takes off its ring, and a SDMA queue. */
softgpu_step_t softgpu_aql_step(softgpu_queue_t *queue);
softgpu_step_t softgpu_sdma_step(softgpu_queue_t *queue);

/* The runtime's queue structure around an AQL queue's read index; NULL for other queues. */
const void *softgpu_aql_queue_of(const softgpu_queue_t *queue);
/* Of an AQL queue, the handle of the signal by which it tells the runtime. Kernels may store into
 * it. */
uint64_t softgpu_aql_own_signal(const softgpu_queue_t *queue);
/* The id of what may be an hsa_queue_t. False: nothing that can be read is there. */
bool softgpu_aql_id(const void *hsa_queue, uint64_t *id);
/* Called before the runtime's wish takes effect. */
void softgpu_aql_suspending(softgpu_queue_t *queue, bool suspended);

#endif
