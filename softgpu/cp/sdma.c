/* SDMA packets as GFX9 and later lay them out: the copy engine of the GPU, with every address
 * checked against the live memory that its GPU may use. */
#include <stdio.h>
#include <string.h>

#include "softgpu/cp/processor.h"
#include "softgpu/cp/report.h"
#include "softgpu/device/clock.h"
#include "softgpu/device/event.h"
#include "softgpu/device/memory.h"
#include "softgpu/device/retire.h"

enum {
  MAX_DWORDS = 13,
  COPY_BYTES = 0x3fffffff, /* less one; runtimes before ROCm 6 use 22 bits, the rest are 0 */
  POLL_EQUAL = 3, /* functions of POLL_REGMEM: 0 always, 1 <, 2 <=, 3 ==, 4 !=, 5 >=, 6 > */
  ATOMIC_ADD64 = 47,
};

/* A packet out of the ring, and what it did wrong. */
typedef struct packet {
  uint32_t dw[MAX_DWORDS];
  uint32_t node; /* of the GPU */
  uint64_t bad_address;
  bool read_only;
  const void *awaits; /* the word, where it came to WAIT */
  const bool *stop;   /* set when the queue ends; what takes long looks at it */
} packet_t;

typedef enum { DONE, WAIT, FAULT } outcome_t;

static uint64_t address_at(const packet_t *packet, unsigned dw)
{
  return packet->dw[dw] | (uint64_t)packet->dw[dw + 1] << 32;
}

/* Where the host has it; NULL when the GPU may not do that there. */
static void *reach(packet_t *packet, uint64_t address, uint64_t size, bool write)
{
  void *at = softgpu_memory_reach(packet->node, address, size, write);
  if (!at) {
    packet->bad_address = address;
    packet->read_only = write && softgpu_memory_reach(packet->node, address, size, false);
  }
  return at;
}

/* For a word that other agents use at the same time. */
static void *reach_word(packet_t *packet, uint64_t address, uint64_t size, bool write)
{
  packet->bad_address = address;
  return address % size == 0 ? reach(packet, address, size, write) : NULL;
}

static void copied(uint64_t bytes)
{
  softgpu_total_add(&softgpu_totals.copies, 1);
  softgpu_total_add(&softgpu_totals.copied_bytes, bytes);
}

#ifdef __SANITIZE_THREAD__
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
#endif

/* Whose turn it is with those bytes is told through the runtime's queues. ThreadSanitizer does not
 * see into the runtime, so it is not to look here: a race that is only suppressed costs it far more
 * than the copy. */
static void move(void *to, const void *from, uint64_t bytes)
{
#ifdef __SANITIZE_THREAD__
  AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
  AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
#endif
  memmove(to, from, bytes);
#ifdef __SANITIZE_THREAD__
  AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
  AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
#endif
}

static outcome_t copy_linear(packet_t *packet)
{
  uint64_t bytes = (packet->dw[1] & COPY_BYTES) + 1ull;
  const uint64_t source = address_at(packet, 3), target = address_at(packet, 5);
  const void *from = reach(packet, source, bytes, false);
  void *to = from ? reach(packet, target, bytes, true) : NULL;
  if (!to)
    return FAULT;
  move(to, from, bytes);
  softgpu_memory_copied(target, source, bytes);
  copied(bytes);
  return DONE;
}

/* One side of a rectangle copy; everything in elements. */
typedef struct surface {
  uint64_t base;
  uint64_t x, y, z, pitch, slice;
} surface_t;

static surface_t surface_at(const packet_t *packet, unsigned dw)
{
  return (surface_t){
      .base = address_at(packet, dw),
      .x = packet->dw[dw + 2] & 0x3fff,
      .y = (packet->dw[dw + 2] >> 16) & 0x3fff,
      .z = packet->dw[dw + 3] & 0x7ff,
      .pitch = (packet->dw[dw + 3] >> 13) + 1,
      .slice = (uint64_t)(packet->dw[dw + 4] & 0xfffffff) + 1,
  };
}

static uint64_t surface_row(const surface_t *surface, uint64_t row, uint64_t layer, unsigned shift)
{
  uint64_t element =
      surface->x + (surface->y + row) * surface->pitch + (surface->z + layer) * surface->slice;
  return surface->base + (element << shift);
}

static outcome_t copy_rect(packet_t *packet)
{
  unsigned shift = packet->dw[0] >> 29; /* log2 of the element's bytes */
  surface_t from = surface_at(packet, 1), to = surface_at(packet, 6);
  uint64_t width = ((packet->dw[11] & 0x3fff) + 1ull) << shift;
  uint64_t rows = ((packet->dw[11] >> 16) & 0x3fff) + 1;
  uint64_t layers = (packet->dw[12] & 0x7ff) + 1;
  for (uint64_t layer = 0; layer < layers; ++layer) {
    for (uint64_t row = 0; row < rows; ++row) {
      const uint64_t first = surface_row(&from, row, layer, shift),
                     there = surface_row(&to, row, layer, shift);
      const void *source = reach(packet, first, width, false);
      void *target = source ? reach(packet, there, width, true) : NULL;
      if (!target)
        return FAULT;
      move(target, source, width);
      softgpu_memory_copied(there, first, width);
      if (__atomic_load_n(packet->stop, __ATOMIC_RELAXED)) /* of 64 TiB there may be more to come */
        return WAIT;
    }
  }
  copied(width * rows * layers);
  return DONE;
}

static outcome_t copy(packet_t *packet)
{
  return ((packet->dw[0] >> 8) & 0xff) == 4 ? copy_rect(packet) : copy_linear(packet);
}

static outcome_t constant_fill(packet_t *packet)
{
  uint64_t bytes = (packet->dw[4] & 0x3ffffc) + 4ull; /* counted in bytes, filled in dwords */
  char *to = reach(packet, address_at(packet, 1), bytes, true);
  if (!to)
    return FAULT;
  for (uint64_t at = 0; at < bytes; at += sizeof(uint32_t))
    memcpy(to + at, &packet->dw[3], sizeof(uint32_t));
  copied(bytes);
  return DONE;
}

static outcome_t fence(packet_t *packet)
{
  uint32_t *word = reach_word(packet, address_at(packet, 1), sizeof(uint32_t), true);
  if (!word)
    return FAULT;
  __atomic_store_n(word, packet->dw[3], __ATOMIC_SEQ_CST);
  softgpu_queues_kick(word);
  return DONE;
}

static outcome_t trap(packet_t *packet)
{
  softgpu_event_raise(packet->dw[1] & 0xfffffff);
  return DONE;
}

static bool poll_holds(unsigned function, uint32_t value, uint32_t reference)
{
  switch (function) {
  case 0:
    return true;
  case 1:
    return value < reference;
  case 2:
    return value <= reference;
  case POLL_EQUAL:
    return value == reference;
  case 4:
    return value != reference;
  case 5:
    return value >= reference;
  default:
    return value > reference;
  }
}

static outcome_t poll_memory(packet_t *packet)
{
  if (packet->dw[0] >> 31 == 0)
    return DONE; /* polls a register, which flushes the HDP cache: there is none */
  const uint32_t *word = reach_word(packet, address_at(packet, 1), sizeof(uint32_t), false);
  if (!word)
    return FAULT;
  uint32_t value = __atomic_load_n(word, __ATOMIC_ACQUIRE);
  unsigned function = (packet->dw[0] >> 28) & 7;
  packet->awaits = word;
  return poll_holds(function, value & packet->dw[4], packet->dw[3]) ? DONE : WAIT;
}

static outcome_t atomic(packet_t *packet)
{
  uint64_t *word = reach_word(packet, address_at(packet, 1), sizeof(uint64_t), true);
  if (packet->dw[0] >> 25 != ATOMIC_ADD64 || !word)
    return FAULT;
  __atomic_fetch_add(word, address_at(packet, 3), __ATOMIC_SEQ_CST);
  softgpu_queues_kick(word);
  return DONE;
}

static outcome_t timestamp(packet_t *packet)
{
  uint64_t *word = reach_word(packet, address_at(packet, 1), sizeof(uint64_t), true);
  if (!word)
    return FAULT;
  __atomic_store_n(word, softgpu_clock_ticks(), __ATOMIC_RELEASE);
  return DONE;
}

static outcome_t nothing(packet_t *packet)
{
  (void)packet;
  return DONE;
}

/* By operation, dw0[7:0]. A copy of a rectangle is longer than a linear one. */
static const struct {
  uint8_t dwords;
  outcome_t (*run)(packet_t *packet);
} operations[] = {
    [0] = {1, nothing},        /* NOP */
    [1] = {7, copy},           /* COPY */
    [5] = {4, fence},          /* FENCE */
    [6] = {2, trap},           /* TRAP */
    [8] = {6, poll_memory},    /* POLL_REGMEM */
    [10] = {8, atomic},        /* ATOMIC */
    [11] = {5, constant_fill}, /* CONST_FILL */
    [13] = {3, timestamp},     /* TIMESTAMP */
    [17] = {5, nothing},       /* GCR: cache control */
};

/* The packet's length in dwords; 0 when the operation is unknown. */
static unsigned packet_dwords(uint32_t dw0)
{
  unsigned operation = dw0 & 0xff;
  if (operation >= sizeof(operations) / sizeof(operations[0]))
    return 0;
  if (operation == 1 && ((dw0 >> 8) & 0xff) == 4)
    return MAX_DWORDS;
  return operations[operation].dwords;
}

static uint32_t ring_dword(const softgpu_queue_t *queue, uint64_t offset)
{
  uint32_t dw;
  memcpy(&dw, queue->setup.ring + offset % queue->setup.ring_bytes, sizeof(dw));
  return dw;
}

static softgpu_step_t sdma_fail(softgpu_queue_t *queue, const packet_t *packet)
{
  atomic_store(&queue->failed, true);
  softgpu_total_add(&softgpu_totals.queue_errors, 1);
  softgpu_allocation_t found;
  bool foreign = softgpu_memory_find(packet->bad_address, &found) &&
                 !softgpu_memory_allows(&found, packet->node);
  char text[192];
  snprintf(text, sizeof(text), "copy engine of device %u: packet 0x%08x, access to 0x%llx%s",
           packet->node - 1, packet->dw[0], (unsigned long long)packet->bad_address,
           packet->read_only ? ", which is read-only"
           : foreign         ? ", to which the device was not given access"
                             : "");
  softgpu_report_line(text);
  /* A copy engine has no queue error; its faults are the memory faults of the whole device. */
  softgpu_event_memory_fault(queue->setup.node, packet->bad_address, packet->read_only);
  return SOFTGPU_STEP_STOPPED;
}

softgpu_step_t softgpu_sdma_step(softgpu_queue_t *queue)
{
  uint64_t end = atomic_load_explicit(queue->setup.write_index, memory_order_acquire);
  if (queue->next >= end)
    return SOFTGPU_STEP_IDLE;
  packet_t packet = {
      .dw = {ring_dword(queue, queue->next)}, .node = queue->setup.node, .stop = &queue->stop};
  unsigned dwords = packet_dwords(packet.dw[0]);
  uint64_t bytes = dwords * sizeof(uint32_t);
  if (dwords == 0 || bytes > end - queue->next)
    return sdma_fail(queue, &packet);
  for (unsigned i = 1; i < dwords; ++i)
    packet.dw[i] = ring_dword(queue, queue->next + i * sizeof(uint32_t));

  unsigned token = softgpu_retire_enter();
  outcome_t outcome = operations[packet.dw[0] & 0xff].run(&packet);
  softgpu_retire_leave(token);
  if (outcome == WAIT) {
    queue->awaits.at[0] = packet.awaits;
    return SOFTGPU_STEP_WAITING;
  }
  if (outcome == FAULT)
    return sdma_fail(queue, &packet);
  queue->next += bytes;
  atomic_store_explicit(queue->setup.read_index, queue->next, memory_order_release);
  return SOFTGPU_STEP_DONE;
}
