/* Hostcalls: the buffer through which waves ask the host for something and wait. Internal.
 *
 * A wave takes a packet from the stack of free ones, fills in what each of its lanes asks for,
 * pushes it on the stack of ready ones, adds to the doorbell and waits until the packet's control
 * word says that it was answered. Each lane has eight words for its request, of which the first two
 * are the answer. Pointers into the stacks are indices with a tag above. */
#ifndef RAWHAL_HAL_SERVICES_HOSTCALL_H
#define RAWHAL_HAL_SERVICES_HOSTCALL_H

#include "hal/services/heap.h"
#include "hal/services/text.h"

enum { HOSTCALL_LANES = 64, HOSTCALL_WORDS = 8 };

/* A printf() that is being said, by one work-item. */
typedef struct hostcall_message {
  uint64_t *words;
  size_t capacity;
  uint32_t count;
  uint32_t next_free; /* index + 1, of those that are not being said */
  bool live, lost;    /* lost: too long, or no memory */
} hostcall_message_t;

typedef struct hostcall {
  unsigned char *memory;        /* the host's view of the buffer */
  uint32_t packets;             /* a power of two */
  const allocator_t *allocator; /* of the messages; NULL: malloc() */
  services_output_t *output;
  services_heap_t *heap; /* NULL: malloc() gets nothing */
  hostcall_message_t *messages;
  size_t message_capacity;
  uint32_t message_count, free_message; /* the last: index + 1 */
  uint64_t message_bytes;               /* of all words */
  uint64_t served, refused;             /* atomic */
} hostcall_t;

/* Bytes of a buffer. */
uint64_t hostcall_bytes(uint32_t packets);

/* Lays out `hostcall->memory`, which the device has at `address`; `doorbell` is a signal's
 * handle. */
void hostcall_layout(const hostcall_t *hostcall, uint64_t address, uint64_t doorbell);

/* Answers all packets that are ready. One thread at a time. */
void hostcall_serve(hostcall_t *hostcall);

void hostcall_close(hostcall_t *hostcall);

/* hal/services/message.c: a lane's part of a printf(). False: it makes no sense. */
bool hostcall_message(hostcall_t *hostcall, uint64_t words[HOSTCALL_WORDS]);

#endif
