/* Which packets of an AQL queue may be running. Internal. */
#ifndef RAWHAL_DEBUG_PACKETS_H
#define RAWHAL_DEBUG_PACKETS_H

#include "base/own_memory.h"

#include <hsa/hsa.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { PACKET_BYTES = 64, PACKET_TYPE_BITS = 0xff }; /* of a packet's header: its type */

/* Copies bytes of the queue's process, which may not be there: false, then. */
typedef bool debug_copy_fn(const void *context, void *to, uint64_t from, size_t size);
/* By that function; NULL: of this process. */
static inline bool debug_copy(debug_copy_fn *copy, const void *context, void *to, uint64_t from,
                              size_t size)
{
  return copy ? copy(context, to, from, size) : own_memory_copy(to, from, size);
}

typedef struct debug_packets {
  const hsa_queue_t *queue; /* base_address, size */
  uint64_t read, write;     /* its indices */
  const uint64_t *failed;   /* of the packet that failed; NULL: not known */
  debug_copy_fn *copy;      /* as debug_copy() takes it */
  const void *context;      /* for it */
  const uint64_t *oldest;   /* that may not have ended; NULL: signals tell */
} debug_packets_t;

/* What lies at a packet's place in the ring, whose size is not 0: it may be another by now. False:
 * it cannot be read. */
bool packets_copy(const debug_packets_t *packets, uint64_t index,
                  hsa_kernel_dispatch_packet_t *packet);
/* The next one from `*index` on, which is where the next search begins: a dispatch, or whatever
 * failed, and, where a packet has been taken, one of any kind whose header is gone: only its
 * kernel_object tells. False: there are no more. At first `*index` is what packets_first() says. */
bool packets_next(const debug_packets_t *packets, uint64_t *index,
                  hsa_kernel_dispatch_packet_t *packet);
/* Of what the ring holds: the one that failed, or `oldest`; else the oldest that has been taken and
 * of which no signal says that it has ended, of a few; else the first that has not been taken. */
uint64_t packets_first(const debug_packets_t *packets);

#ifdef __cplusplus
}
#endif

#endif
