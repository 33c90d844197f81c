/* AQL packets, in order. Every packet runs to its end before the next is looked at, which is more
 * than the barrier bit asks for. */
#include "softgpu/cp/aql.h"

#include <assert.h>
#include <hsa/hsa_ext_amd.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "softgpu/cp/doorbell.h"
#include "softgpu/cp/inject.h"
#include "softgpu/cp/report.h"
#include "softgpu/cp/signal.h"
#include "softgpu/device/clock.h"
#include "softgpu/device/retire.h"

enum {
  PACKET_BYTES = 64,
  AMD_PM4_IB = 1, /* vendor formats */
  AMD_BARRIER_VALUE = 2,
  AMD_EXT_KERNEL_DISPATCH = 3,
};

static_assert(sizeof(hsa_kernel_dispatch_packet_t) == PACKET_BYTES, "AQL packets have 64 bytes");
static_assert(offsetof(amd_queue_t, read_dispatch_id) == 128, "fixed by the runtime");
static_assert(offsetof(amd_queue_t, queue_inactive_signal) == 192, "fixed by the runtime");

amd_queue_t *softgpu_aql_queue(const softgpu_queue_t *queue)
{
  return (amd_queue_t *)(void *)((char *)queue->setup.read_index -
                                 offsetof(amd_queue_t, read_dispatch_id));
}

const void *softgpu_aql_queue_of(const softgpu_queue_t *queue)
{
  return queue->setup.step == softgpu_aql_step ? softgpu_aql_queue(queue) : NULL;
}

uint64_t softgpu_aql_own_signal(const softgpu_queue_t *queue)
{
  return __atomic_load_n(&softgpu_aql_queue(queue)->queue_inactive_signal.handle, __ATOMIC_RELAXED);
}

bool softgpu_aql_id(const void *hsa_queue, uint64_t *id)
{
  const struct iovec to = {id, sizeof(*id)};
  const struct iovec from = {(char *)(uintptr_t)hsa_queue + offsetof(hsa_queue_t, id), sizeof(*id)};
  return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)sizeof(*id);
}

/* The runtime fills in hsa_queue only after the queue was created, and rounds the ring's bytes up:
 * the size in packets is the one that counts. It is read once: kernels can store into it later. */
static void *slot_at(softgpu_queue_t *queue, uint64_t index)
{
  uint64_t packets = queue->packets ? queue->packets : softgpu_aql_queue(queue)->hsa_queue.size;
  uint64_t room = queue->setup.ring_bytes / PACKET_BYTES;
  if (packets == 0 || packets > room || (packets & (packets - 1)) != 0)
    packets = room;
  queue->packets = packets;
  return queue->setup.ring + (index & (packets - 1)) * PACKET_BYTES;
}

static softgpu_step_t signal_refuse(softgpu_queue_t *queue, const char *what, uint64_t signal)
{
  char text[96];
  snprintf(text, sizeof(text), "the %s 0x%llx is not a signal in live memory", what,
           (unsigned long long)signal);
  return softgpu_report(queue, SOFTGPU_QUEUE_BAD_PACKET, 0, NULL, text);
}

softgpu_step_t softgpu_aql_retire(softgpu_queue_t *queue, uint64_t signal, uint64_t start)
{
  uint16_t *header = slot_at(queue, queue->next);
  __atomic_store_n(header, HSA_PACKET_TYPE_INVALID, __ATOMIC_RELAXED);
  /* Releases the slot: a thread that sees the index may write the packet. */
  atomic_store_explicit(queue->setup.read_index, ++queue->next, memory_order_release);
  const softgpu_completion_t completion = {start, softgpu_clock_ticks(), queue->counted,
                                           queue->executed};
  queue->counted = queue->executed;
  if (signal != 0 && !softgpu_signal_complete(queue->setup.node, signal, &completion))
    return signal_refuse(queue, "completion signal", signal);
  return SOFTGPU_STEP_DONE;
}

static softgpu_step_t barrier_retire(softgpu_queue_t *queue, uint64_t signal)
{
  softgpu_total_add(&softgpu_totals.barriers, 1);
  return softgpu_aql_retire(queue, signal, softgpu_clock_ticks());
}

/* AND waits for all of up to five signals to be 0, OR for any; absent ones count as absent. */
static softgpu_step_t barrier_step(softgpu_queue_t *queue, const hsa_barrier_and_packet_t *packet,
                                   bool all)
{
  uint64_t completion = packet->completion_signal.handle;
  if (completion != 0 && !softgpu_signal_valid(queue->setup.node, completion))
    return signal_refuse(queue, "completion signal", completion);
  unsigned present = 0, satisfied = 0;
  for (size_t i = 0; i < sizeof(packet->dep_signal) / sizeof(packet->dep_signal[0]); ++i) {
    uint64_t dependency = packet->dep_signal[i].handle;
    if (dependency == 0)
      continue;
    int64_t value;
    if (!softgpu_signal_load(queue->setup.node, dependency, &value))
      return signal_refuse(queue, "dependency", dependency);
    queue->awaits.at[present++] = softgpu_signal_word(dependency);
    satisfied += value == 0;
  }
  if (all ? satisfied < present : present > 0 && satisfied == 0)
    return SOFTGPU_STEP_WAITING;
  return barrier_retire(queue, completion);
}

static bool condition_holds(int64_t value, uint32_t condition, int64_t reference)
{
  switch (condition) {
  case HSA_SIGNAL_CONDITION_EQ:
    return value == reference;
  case HSA_SIGNAL_CONDITION_NE:
    return value != reference;
  case HSA_SIGNAL_CONDITION_LT:
    return value < reference;
  default:
    return value >= reference;
  }
}

static softgpu_step_t barrier_value_step(softgpu_queue_t *queue,
                                         const hsa_amd_barrier_value_packet_t *packet)
{
  uint64_t completion = packet->completion_signal.handle;
  uint64_t dependency = packet->signal.handle;
  if (completion != 0 && !softgpu_signal_valid(queue->setup.node, completion))
    return signal_refuse(queue, "completion signal", completion);
  if (packet->cond > HSA_SIGNAL_CONDITION_GTE)
    return softgpu_report(queue, SOFTGPU_QUEUE_BAD_VENDOR_PACKET, 0, NULL,
                          "the condition of a barrier-value packet is unknown");
  if (dependency != 0) {
    int64_t value;
    if (!softgpu_signal_load(queue->setup.node, dependency, &value))
      return signal_refuse(queue, "dependency", dependency);
    queue->awaits.at[0] = softgpu_signal_word(dependency);
    if (!condition_holds(value & packet->mask, packet->cond, packet->value))
      return SOFTGPU_STEP_WAITING;
  }
  return barrier_retire(queue, completion);
}

static softgpu_step_t vendor_step(softgpu_queue_t *queue, const void *packet)
{
  hsa_amd_vendor_packet_header_t header;
  memcpy(&header, packet, sizeof(header));
  uint64_t completion = ((const hsa_barrier_and_packet_t *)packet)->completion_signal.handle;
  switch (header.AmdFormat) {
  case AMD_BARRIER_VALUE:
    return barrier_value_step(queue, packet);
  case AMD_PM4_IB:
    /* The runtime sends these to invalidate caches after it wrote code. */
    if (completion != 0 && !softgpu_signal_valid(queue->setup.node, completion))
      return signal_refuse(queue, "completion signal", completion);
    softgpu_invalidate_code();
    return softgpu_aql_retire(queue, completion, softgpu_clock_ticks());
  case AMD_EXT_KERNEL_DISPATCH:
    return softgpu_report(
        queue, SOFTGPU_QUEUE_BAD_VENDOR_PACKET, 0, NULL,
        "an extended kernel dispatch (vendor format 3, clusters of work-groups) is for "
        "gfx1250; no chip here takes it");
  default:
    return softgpu_report(queue, SOFTGPU_QUEUE_BAD_VENDOR_PACKET, 0, NULL,
                          "the format of a vendor packet is unknown");
  }
}

void softgpu_aql_suspending(softgpu_queue_t *queue, bool suspended)
{
  /* The runtime suspends a queue whose scratch request it cannot fulfil. */
  if (suspended && atomic_load(&queue->wants_scratch) && !atomic_load(&queue->failed))
    softgpu_report_note(queue, SOFTGPU_QUEUE_WANTS_SCRATCH, 0, NULL,
                        "not enough memory for the scratch of this dispatch");
}

static softgpu_step_t packet_step(softgpu_queue_t *queue, uint32_t type, const void *packet)
{
  softgpu_step_t instead;
  if (!softgpu_inject_packet(queue, &instead))
    return instead;
  switch (type) {
  case HSA_PACKET_TYPE_VENDOR_SPECIFIC:
    return vendor_step(queue, packet);
  case HSA_PACKET_TYPE_KERNEL_DISPATCH:
    return softgpu_dispatch_step(queue, packet);
  case HSA_PACKET_TYPE_BARRIER_AND:
    return barrier_step(queue, packet, true);
  case HSA_PACKET_TYPE_BARRIER_OR:
    return barrier_step(queue, packet, false);
  default:
    return softgpu_report(queue, SOFTGPU_QUEUE_BAD_PACKET, 0, NULL, "the packet's type is unknown");
  }
}

/* Whether the packet at hand was written to since the last look at it. That may happen at this
 * moment, as when a device reads it, and is not a race that ThreadSanitizer should report. */
__attribute__((no_sanitize("thread"))) static bool packet_changed(softgpu_queue_t *queue,
                                                                  const void *packet)
{
  const uint64_t *words = packet;
  bool changed = false;
  for (size_t i = 0; i < sizeof(queue->unannounced) / sizeof(queue->unannounced[0]); ++i) {
    uint64_t now = __atomic_load_n(&words[i], __ATOMIC_RELAXED);
    changed |= now != queue->unannounced[i];
    queue->unannounced[i] = now;
  }
  return changed;
}

/* Whether the program has told the device about the packet at hand. A header alone says nothing:
 * there are runtimes that write it before the body, or both by stores that other processors see in
 * any order until the doorbell's fence.
 *
 * A doorbell is memory here, and of two stores by two producers only the last may be seen, which
 * may be the lower one. So a packet that looks complete and stays so is taken in the end. */
static bool is_announced(softgpu_queue_t *queue, const void *packet)
{
  if (queue->next < queue->announced)
    return true;
  uint64_t covers =
      atomic_load_explicit(softgpu_doorbell(queue->doorbell), memory_order_acquire) + 1;
  if (covers > queue->announced)
    queue->announced = covers;
  if (queue->next < queue->announced) {
    queue->unannounced_since = 0;
    return true;
  }
  uint64_t now = softgpu_clock_ns();
  if (packet_changed(queue, packet) || queue->unannounced_since == 0)
    queue->unannounced_since = now;
  if (now - queue->unannounced_since < queue->setup.settle_ns)
    return false;
  queue->unannounced_since = 0;
  queue->announced = queue->next + 1;
  return true;
}

softgpu_step_t softgpu_aql_step(softgpu_queue_t *queue)
{
  if (queue->request != SOFTGPU_REQUEST_NONE && queue->request != SOFTGPU_REQUEST_SCRATCH_GRANTED)
    return softgpu_dispatch_request(queue);
  if (queue->next >= atomic_load_explicit(queue->setup.write_index, memory_order_acquire))
    return SOFTGPU_STEP_IDLE;
  const void *packet = slot_at(queue, queue->next);
  /* Acquires the packet's body; also what another agent wrote before it published the packet. */
  uint16_t header = __atomic_load_n((const uint16_t *)packet, __ATOMIC_ACQUIRE);
  uint32_t type =
      ((uint32_t)header >> HSA_PACKET_HEADER_TYPE) & ((1u << HSA_PACKET_HEADER_WIDTH_TYPE) - 1);
  if (type == HSA_PACKET_TYPE_INVALID) /* reserved by its producer, not published yet */
    return SOFTGPU_STEP_IDLE;
  if (!is_announced(queue, packet))
    return SOFTGPU_STEP_WAITING;
  unsigned token = softgpu_retire_enter();
  softgpu_step_t step = packet_step(queue, type, packet);
  softgpu_retire_leave(token);
  return step;
}
