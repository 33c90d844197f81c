#include "queue/hang.h"

#include "queue/fault.h"
#include "queue/list.h"
#include "queue/packet.h"
#include "queue/scene.h"
#include "queue/submit.h"
#include "queue/wait.h"

#include "base/own_memory.h"
#include "base/print.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct search {
  uint64_t now, limit;
  bool fails;
  char message[2048];
} search_t;

/* ---- What a barrier waits for ---- */

typedef struct awaited {
  hsa_signal_t signal;
  const rawhal_queue_t *queue; /* whose completion signal it is; NULL: none of ours */
  uint64_t ticket;             /* that has the slot now */
} awaited_t;

/* The caller holds the list. Of a queue that is being destroyed only that and the signals stand. */
static bool has_signal(rawhal_queue_t *queue, void *data)
{
  awaited_t *awaited = data;
  for (uint32_t i = 0; i < queue->ring.tickets && !queue->closing; ++i)
    if (queue->slots[i].signal.handle == awaited->signal.handle) {
      awaited->queue = queue;
      awaited->ticket = atomic_load(&queue->slots[i].ticket);
      return true;
    }
  return false;
}

static void say_signal(hsa_signal_t signal, print_t *to)
{
  awaited_t awaited = {.signal = signal};
  int64_t value;
  (void)queue_list_visit(has_signal, &awaited);
  if (awaited.queue && awaited.queue->hsa_queue)
    print(to, "ticket %" PRIu64 " of queue %" PRIu64 "%s", awaited.ticket,
          awaited.queue->hsa_queue->id,
          atomic_load(&awaited.queue->health) == QUEUE_ALIVE ? "" : ", which is dead");
  else if (own_memory_copy(&value, signal.handle + offsetof(amd_signal_t, value), sizeof(value)))
    print(to, "signal 0x%" PRIx64 ", which is %" PRId64, signal.handle, value);
  else
    print(to, "signal 0x%" PRIx64 ", which cannot be read", signal.handle);
}

/* What the packet that the device stands at waits for; nothing: it is no barrier, or an open one.
 */
static void say_barrier(const rawhal_queue_t *queue, uint64_t packet, print_t *to)
{
  hsa_barrier_and_packet_t barrier;
  if (!scene_packet(queue, packet, false, &barrier))
    return;
  const uint16_t type = barrier.header & 0xff;
  hsa_signal_t signals[5];
  size_t count = 0;
  if (type == HSA_PACKET_TYPE_BARRIER_AND || type == HSA_PACKET_TYPE_BARRIER_OR) {
    memcpy(signals, barrier.dep_signal, sizeof(signals));
    count = 5;
  } else if (type == HSA_PACKET_TYPE_VENDOR_SPECIFIC) {
    hsa_amd_barrier_value_packet_t value;
    memcpy(&value, &barrier, sizeof(value));
    signals[0] = value.signal;
    count = value.header.AmdFormat == HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
  }
  for (size_t i = 0; i < count; ++i) {
    if (!signals[i].handle)
      continue;
    print(to, "%s",
          !to->length                          ? "the barrier waits for "
          : type == HSA_PACKET_TYPE_BARRIER_OR ? " or "
                                               : " and ");
    say_signal(signals[i], to);
  }
}

/* ---- Looking ---- */

/* Which of the ticket's packets the device has come to. */
static uint64_t stands_at(const rawhal_queue_t *queue, uint64_t ticket)
{
  const queue_slot_t *slot = queue_slot(queue, ticket);
  const uint64_t first = atomic_load(&slot->packet), end = first + atomic_load(&slot->packets);
  return clock_clamp(queue->device->hsa->hsa_queue_load_read_index_scacquire(queue->hsa_queue),
                     first, end);
}

/* False: the queue has died meanwhile, and says more than can be said here. With drain_lock it
 * cannot: what it has begun keeps its counts and kernels. */
static bool say_why(rawhal_queue_t *queue, uint64_t ticket, rawhal_fault_t *fault, print_t *barrier)
{
  const queue_witness_t *witness = queue->device->witness;
  const bool code = witness && witness->code_hold();
  pthread_mutex_lock(&queue->drain_lock);
  const bool lives = atomic_load(&queue->health) == QUEUE_ALIVE;
  if (lives) {
    const queue_slot_t *slot = queue_slot(queue, ticket);
    const uint64_t first = atomic_load(&slot->packet), at = stands_at(queue, ticket);
    say_barrier(queue, at - first < atomic_load(&slot->packets) ? at : first, barrier);
  }
  if (lives && !barrier->length) {
    scene_explain(queue, fault, true, code, NULL);
    if (witness && witness->waves && fault->kernel_object)
      witness->waves(queue->hsa_queue, fault);
  }
  pthread_mutex_unlock(&queue->drain_lock);
  if (code)
    witness->code_let();
  return lives;
}

static bool explain(rawhal_queue_t *queue, search_t *search, uint64_t ticket)
{
  rawhal_fault_t fault = {.size = sizeof(fault), .kind = RAWHAL_FAULT_TIME_LIMIT};
  char barrier[512];
  print_t said = print_into(barrier, sizeof(barrier));
  if (!say_why(queue, ticket, &fault, &said))
    return false;
  const double seconds = (double)(search->now - queue->hang_since) / CLOCK_SECOND;
  snprintf(search->message, sizeof(search->message),
           "queue %" PRIu64 " has not got on for %.3g s: ticket %" PRIu64 ", %s%s%s%s",
           queue->hsa_queue->id, seconds, ticket,
           *barrier        ? barrier
           : *fault.kernel ? "kernel "
                           : "a packet that is no kernel's",
           *barrier ? "" : fault.kernel, *fault.device_text ? "; " : "", fault.device_text);
  if (search->fails)
    queue_fail_hang(queue, !*barrier, search->message);
  return !search->fails;
}

/* True: there is something to tell. */
static bool look(rawhal_queue_t *queue, void *data)
{
  search_t *search = data;
  if (queue->closing || atomic_load(&queue->health) != QUEUE_ALIVE)
    return false;
  queue_drain(queue);
  const uint64_t oldest = ring_finished(&queue->ring) + 1;
  const bool runs = oldest <= ring_last_ticket(&queue->ring) &&
                    atomic_load(&queue_slot(queue, oldest)->ticket) == oldest;
  const uint64_t packet = runs ? stands_at(queue, oldest) : 0;
  if (!runs || queue->hang_ticket != oldest || queue->hang_packet != packet) {
    queue->hang_ticket = runs ? oldest : 0;
    queue->hang_packet = packet;
    queue->hang_since = search->now;
    queue->hang_told = false;
  } else if (!queue->hang_told && search->now - queue->hang_since >= search->limit) {
    queue->hang_told = true;
    return explain(queue, search, oldest);
  }
  return false;
}

void queues_find_hangs(uint64_t now, uint64_t limit, queue_hang_fn *hangs, void *context)
{
  search_t search = {.now = now, .limit = limit, .fails = !hangs};
  while (queue_list_find(look, &search))
    hangs(context, search.message);
}
