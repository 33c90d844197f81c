#include "hal/services/hostcall.h"

#include <stdatomic.h>
#include <stdlib.h>

typedef struct shared_buffer {
  uint64_t headers, payloads; /* device addresses */
  uint64_t doorbell;
  uint64_t free_stack;
  _Atomic uint64_t ready_stack;
  uint64_t index_mask;
} shared_buffer_t;

typedef struct shared_header {
  _Atomic uint64_t next, lanes;
  _Atomic uint32_t service, control;
} shared_header_t;

typedef struct shared_payload {
  _Atomic uint64_t words[HOSTCALL_LANES][HOSTCALL_WORDS];
} shared_payload_t;

_Static_assert(sizeof(shared_header_t) == 24 && sizeof(shared_payload_t) == 4096,
               "as the device library has them");

enum { HEADERS_OFFSET = 64, CONTROL_READY = 1 };

enum { SERVICE_FUNCTION = 1, SERVICE_PRINTF = 2, SERVICE_MEMORY = 3 };

static uint64_t payloads_offset(uint32_t packets)
{
  uint64_t end = HEADERS_OFFSET + (uint64_t)packets * sizeof(shared_header_t);
  return (end + 63) & ~(uint64_t)63;
}

uint64_t hostcall_bytes(uint32_t packets)
{
  return payloads_offset(packets) + (uint64_t)packets * sizeof(shared_payload_t);
}

static shared_header_t *header_of(const hostcall_t *hostcall, uint64_t pointer)
{
  return (shared_header_t *)(void *)(hostcall->memory + HEADERS_OFFSET) +
         (pointer & (hostcall->packets - 1));
}

static shared_payload_t *payload_of(const hostcall_t *hostcall, uint64_t pointer)
{
  return (shared_payload_t *)(void *)(hostcall->memory + payloads_offset(hostcall->packets)) +
         (pointer & (hostcall->packets - 1));
}

/* 0 ends a stack, so packet 0 has a tag of 1. */
void hostcall_layout(const hostcall_t *hostcall, uint64_t address, uint64_t doorbell)
{
  uint32_t packets = hostcall->packets;
  uint64_t next = 0;
  for (uint32_t i = 0; i < packets; ++i) {
    shared_header_t *header = header_of(hostcall, i);
    atomic_init(&header->next, next);
    atomic_init(&header->lanes, 0);
    atomic_init(&header->service, 0);
    atomic_init(&header->control, 0);
    next = i == 0 ? packets : i;
  }
  *(shared_buffer_t *)(void *)hostcall->memory = (shared_buffer_t){
      .headers = address + HEADERS_OFFSET,
      .payloads = address + payloads_offset(packets),
      .doorbell = doorbell,
      .free_stack = next,
      .index_mask = packets - 1,
  };
}

/* ---- Requests ---- */

/* One of address and size is 0. */
static bool serve_memory(hostcall_t *hostcall, uint64_t words[HOSTCALL_WORDS])
{
  uint64_t address = words[0], size = words[1];
  words[0] = 0;
  if (!hostcall->heap)
    return address == 0;
  if (address)
    return heap_give(hostcall->heap, address);
  words[0] = heap_take(hostcall->heap, size);
  return true;
}

/* A function of the host at an address that the device says: not called. */
static bool serve_lane(hostcall_t *hostcall, uint32_t service, uint64_t words[HOSTCALL_WORDS])
{
  switch (service) {
  case SERVICE_PRINTF:
    return hostcall_message(hostcall, words);
  case SERVICE_MEMORY:
    return serve_memory(hostcall, words);
  case SERVICE_FUNCTION:
  default:
    words[0] = words[1] = 0;
    return false;
  }
}

static void serve_packet(hostcall_t *hostcall, uint64_t pointer)
{
  shared_header_t *header = header_of(hostcall, pointer);
  shared_payload_t *payload = payload_of(hostcall, pointer);
  uint32_t service = atomic_load_explicit(&header->service, memory_order_relaxed);
  uint64_t lanes = atomic_load_explicit(&header->lanes, memory_order_relaxed);
  for (; lanes; lanes &= lanes - 1) {
    _Atomic uint64_t *shared = payload->words[__builtin_ctzll(lanes)];
    uint64_t words[HOSTCALL_WORDS];
    for (int i = 0; i < HOSTCALL_WORDS; ++i)
      words[i] = atomic_load_explicit(&shared[i], memory_order_relaxed);
    if (!serve_lane(hostcall, service, words))
      __atomic_fetch_add(&hostcall->refused, 1, __ATOMIC_RELAXED);
    atomic_store_explicit(&shared[0], words[0], memory_order_relaxed);
    atomic_store_explicit(&shared[1], words[1], memory_order_relaxed);
  }
  __atomic_fetch_add(&hostcall->served, 1, __ATOMIC_RELAXED);
  /* Release: the wave sees its answers when it sees this. */
  atomic_fetch_and_explicit(&header->control, ~(uint32_t)CONTROL_READY, memory_order_release);
}

/* The whole stack is taken at once. A wave has one packet at a time, so the order does not matter
 * to it, and a stack that is longer than there are packets is damaged. Acquire: what waves wrote
 * before they pushed; each push reads the one before it, so that this holds for all of them. */
void hostcall_serve(hostcall_t *hostcall)
{
  shared_buffer_t *buffer = (shared_buffer_t *)(void *)hostcall->memory;
  uint64_t pointer = atomic_exchange_explicit(&buffer->ready_stack, 0, memory_order_acquire);
  for (uint32_t i = 0; pointer && i < hostcall->packets; ++i) {
    /* Once it is answered the packet is the wave's again. */
    uint64_t next = atomic_load_explicit(&header_of(hostcall, pointer)->next, memory_order_relaxed);
    serve_packet(hostcall, pointer);
    pointer = next;
  }
}

void hostcall_close(hostcall_t *hostcall)
{
  for (uint32_t i = 0; i < hostcall->message_count; ++i)
    allocate_free(hostcall->allocator, hostcall->messages[i].words);
  allocate_free(hostcall->allocator, hostcall->messages);
}
