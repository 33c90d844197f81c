#include "queue/hang.h"

#include "queue/list.h"
#include "queue/packet.h"
#include "queue/scene.h"
#include "queue/submit.h"
#include "queue/wait.h"

#include "base/error.h"
#include "base/print.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct search {
  uint64_t now, limit;
  queue_hang_fn *hangs;
  void *context;
} search_t;

/* ---- What a barrier waits for ---- */

typedef struct awaited {
  hsa_signal_t signal;
  const rawhal_queue_t *queue; /* whose completion signal it is; NULL: none of ours */
  uint64_t ticket;             /* that has the slot now */
} awaited_t;

/* The caller holds the list. */
static bool has_signal(rawhal_queue_t *queue, void *data)
{
  awaited_t *awaited = data;
  for (uint32_t i = 0; i < queue->ring.tickets; ++i)
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
  const amd_signal_t *amd = (const amd_signal_t *)(uintptr_t)signal.handle;
  (void)queue_list_visit(has_signal, &awaited);
  if (awaited.queue && awaited.queue->hsa_queue)
    print(to, "ticket %" PRIu64 " of queue %" PRIu64 "%s", awaited.ticket,
          awaited.queue->hsa_queue->id,
          atomic_load(&awaited.queue->health) == QUEUE_ALIVE ? "" : ", which is dead");
  else
    print(to, "signal 0x%" PRIx64 ", which is %" PRId64, signal.handle,
          __atomic_load_n(&amd->value, __ATOMIC_RELAXED));
}

/* What the packet that the device stands at waits for; nothing: it is no barrier, or an open one.
 */
static void say_barrier(const rawhal_queue_t *queue, uint64_t packet, print_t *to)
{
  hsa_barrier_and_packet_t barrier;
  if (!scene_packet(queue, packet, &barrier))
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

static void explain(rawhal_queue_t *queue, const search_t *search, uint64_t ticket)
{
  const queue_witness_t *witness = queue->device->witness;
  const uint64_t read = queue->device->hsa->hsa_queue_load_read_index_scacquire(queue->hsa_queue);
  rawhal_fault_t fault = {
      .size = sizeof(fault), .kind = RAWHAL_FAULT_TIME_LIMIT, .queue_id = queue->hsa_queue->id};
  char message[2048], barrier[512];
  print_t said = print_into(barrier, sizeof(barrier));
  const bool code = witness && witness->code_hold();
  pthread_mutex_lock(&queue->drain_lock);
  const queue_slot_t *slot = queue_slot(queue, ticket);
  const uint64_t first = atomic_load(&slot->packet), packets = atomic_load(&slot->packets);
  const bool within = read >= first && read - first < packets;
  say_barrier(queue, within ? read : first, &said);
  if (!said.length) {
    scene_explain(queue, &fault, true, code);
    if (witness && witness->waves && fault.kernel_object)
      witness->waves(queue->hsa_queue, &fault);
  }
  pthread_mutex_unlock(&queue->drain_lock);
  if (code)
    witness->code_let();
  const double seconds = (double)(search->now - queue->hang_since) / CLOCK_SECOND;
  snprintf(message, sizeof(message),
           "queue %" PRIu64 " has not got on for %.3g s: ticket %" PRIu64 ", %s%s%s%s",
           fault.queue_id, seconds, ticket,
           *barrier        ? barrier
           : *fault.kernel ? "kernel "
                           : "a packet that is no kernel's",
           *barrier ? "" : fault.kernel, *fault.device_text ? "; " : "", fault.device_text);
  if (search->hangs(search->context, queue, &fault, message))
    queue_error_callback(HSA_STATUS_ERROR_EXCEPTION, queue->hsa_queue, queue);
}

static bool look(rawhal_queue_t *queue, void *data)
{
  const search_t *search = data;
  if (queue->closing || atomic_load(&queue->health) != QUEUE_ALIVE)
    return false;
  queue_drain(queue);
  const uint64_t oldest = ring_finished(&queue->ring) + 1;
  if (oldest > ring_last_ticket(&queue->ring) || queue->hang_ticket != oldest) {
    queue->hang_ticket = oldest <= ring_last_ticket(&queue->ring) ? oldest : 0;
    queue->hang_since = search->now;
    queue->hang_told = false;
  } else if (!queue->hang_told && search->now - queue->hang_since >= search->limit &&
             atomic_load(&queue_slot(queue, oldest)->ticket) == oldest) {
    queue->hang_told = true;
    explain(queue, search, oldest);
  }
  return false;
}

void queues_find_hangs(uint64_t now, uint64_t limit, queue_hang_fn *hangs, void *context)
{
  search_t search = {now, limit, hangs, context};
  (void)queue_list_find(look, &search);
}
