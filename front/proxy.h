/* One queue of the program's that is limited: its face, with a ring and a doorbell of ours, and the
 * device's queue that it stands for, which only the front knows. Internal.
 *
 * Packets go from the one ring to the other in order, each once, when the program's doorbell has
 * announced them and the limiter admits them; what it holds back stays in the program's ring, whose
 * read index follows the device's. A barrier that is not open yet stays there, too, while others
 * are held back: nothing must be admitted that waits for what is not, or both would wait. A
 * dispatch gets a completion signal of ours, or, when it has the program's, is followed by a
 * barrier that has ours: at most two packets for one. What comes after a barrier that is not open
 * yet waits on the device, which is no time of its: a barrier with a signal of ours before it tells
 * when that was over. The device's ring has twice the size of the program's, where there are rings
 * that large, and may be full all the same, as when a program takes its slots for free as soon as
 * what was in them has finished: then packets wait, too.
 *
 * Locks, in the order in which they may be taken: a proxy's `lock`, that of scratch, those of the
 * limiter, a proxy's `harvest`. No thread that rings a doorbell waits for the limiter or for the
 * device. */
#ifndef RAWHAL_FRONT_PROXY_H
#define RAWHAL_FRONT_PROXY_H

#include "front/held.h"
#include "front/lately.h"
#include "front/notices.h"
#include "front/packet.h"
#include "front/watch.h"

#include "debug/door/tell.h"
#include "debug/hang.h"

#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <pthread.h>

enum {
  PROXY_PER_PACKET = 2,              /* packets for one, at most */
  PROXY_SIGNALS = LATELY_DISPATCHES, /* dispatches on the device, at most */
  PROXY_BATCH = 64,    /* dispatches that are admitted as one, at most, without a share */
  PROXY_QUEUES = 1024, /* of a process */
};

/* Dispatches that were admitted together, and whose signals follow each other. */
typedef struct flight_batch {
  limit_grant_t grant;
  uint64_t first; /* the ticket of its first dispatch; a ticket's signal is at ticket % SIGNALS */
  uint32_t count;
  uint64_t ours; /* a bit for each whose own signal is ours: its start is known */
  bool commands; /* they are no dispatches, but a vendor's packet: nothing is known of it */
  bool marked;   /* the ticket before is of a barrier, before which none of them can have begun */
} flight_batch_t;

typedef struct proxy {
  amd_queue_t *face;
  hsa_queue_t *real;
  front_device_t *device;
  uint32_t index;    /* among the faces */
  uint32_t visitors; /* with proxies.c's places_lock; so is: */
  bool leaving;      /* it is not visited any more, and its place not given away yet */
  uint32_t others;   /* that have been given it, too: cooperative queues of a device are one */
  void (*callback)(hsa_status_t status, hsa_queue_t *source, void *data);
  void *data;
  _Atomic uint64_t died_at; /* CLOCK_MONOTONIC ns; 0: it has not */

  pthread_mutex_t lock;
  pthread_cond_t wake; /* of the service thread */
  pthread_t thread;
  bool serving, stop;   /* there is that thread; it is to end */
  bool telling;         /* it calls a handler */
  bool idle;            /* it sleeps until it is woken */
  bool planned;         /* it knows that something is held back */
  atomic_bool held;     /* something waits for the limiter: the service thread's to forward */
  bool behind;          /* what comes next may wait on the device for what has not happened */
  bool holding;         /* becomes `held` when all is forwarded that may go */
  atomic_bool blind;    /* what it waits for, others know first */
  uint64_t retry_at;    /* of what is held; 0: when something has finished */
  uint32_t mask;        /* size of the program's ring - 1 */
  proxy_packet_t *ring; /* the program's */
  uint64_t announced;   /* packets that a doorbell has announced */
  uint64_t looked_at;   /* packets that were watched; with front.watched */
  bool refused;         /* the next one must not go */
  char refusal[CHECK_TEXT];
  hsa_status_t failure;        /* that the program is to be told of: see proxy_unlock() */
  watch_note_t *waiting;       /* of each in that ring, with front.watched */
  watch_note_t *flying;        /* by ticket % SIGNALS, likewise */
  uint64_t held_since;         /* of the trace; 0: it is not */
  uint64_t held_at;            /* likewise, of CLOCK_MONOTONIC, for observers */
  hsa_signal_t owed;           /* the program's, of what has been put; with front.serial */
  volatile uint64_t *doorbell; /* the device's; NULL: see direct.h */
  uint64_t real_write;         /* packets in the device's ring, ever */
  uint64_t real_taken;         /* of which the device has taken at least so many */
  _Atomic uint64_t forwarded;  /* packets taken out of the program's ring */
  gate_t gate;
  held_t *own;            /* what the device's queue has of its memory */
  _Atomic uint64_t *ends; /* of each in that ring: the device's ring's index after it */

  pthread_mutex_t harvest;
  hsa_signal_t signals[PROXY_SIGNALS]; /* made when they are first needed */
  flight_batch_t batches[PROXY_SIGNALS];
  uint64_t tickets;                 /* dispatches forwarded */
  uint64_t harvested_at;            /* of which there were so many when a launch last looked */
  _Atomic uint64_t begun, finished; /* batches */
  _Atomic uint64_t free_tickets;    /* those below are of finished batches */
  hang_progress_t hang;             /* of hangs.c's thread */
  bool loses;       /* there were dispatches that had not ended when it died: from */
  uint64_t lost;    /* on; with `harvest` */
  lately_t *lately; /* NULL: nobody asks for it, or there was no memory */
  tell_entry_t told;
} proxy_t;

static inline proxy_packet_t *proxy_packet_at(const proxy_t *proxy, uint64_t index)
{
  return &proxy->ring[index & proxy->mask];
}

static inline bool proxy_has_failed(const proxy_t *proxy)
{
  return __builtin_expect(proxy->failure != HSA_STATUS_SUCCESS, 0);
}

/* Begins to tell the program of an error of its queue, which is there until then. */
static inline void proxy_notice(const proxy_t *proxy, hsa_status_t status, notice_t *notice)
{
  *notice = (notice_t){.callback = proxy->callback,
                       .status = status,
                       .source = &proxy->face->hsa_queue,
                       .data = proxy->data,
                       .of = proxy};
  notice_begin(notice);
}

/* Releases the lock, and begins to tell what has stopped the queue, if anything has. */
static inline void proxy_release(proxy_t *proxy, notice_t *notice)
{
  if (proxy_has_failed(proxy))
    proxy_notice(proxy, proxy->failure, notice);
  proxy->failure = HSA_STATUS_SUCCESS;
  pthread_mutex_unlock(&proxy->lock);
}

/* Releases it and tells: of a queue that has failed nothing may be left then. */
static inline void proxy_unlock(proxy_t *proxy)
{
  if (!proxy_has_failed(proxy)) {
    pthread_mutex_unlock(&proxy->lock);
    return;
  }
  notice_t notice;
  proxy_release(proxy, &notice);
  (void)notice_tell(&notice);
}

/* Does the index that the program sees say that all that was forwarded is taken? */
static inline bool proxy_is_read(const proxy_t *proxy)
{
  return __atomic_load_n(&proxy->face->read_dispatch_id, __ATOMIC_RELAXED) ==
         atomic_load_explicit(&proxy->forwarded, memory_order_relaxed);
}

/* Prefetches a line that will be written. In assembly, because compilers emit the instruction only
 * for processors that they are told of; other processors ignore it. */
static inline void proxy_expect(const void *line)
{
#ifdef __x86_64__
  __asm__ volatile("prefetchw %0" : : "m"(*(const char *)line));
#else
  __builtin_prefetch(line, 1);
#endif
}

#endif
