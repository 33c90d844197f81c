// C++ cannot read C11 atomics: these functions stand between the tests and queue/ring.h and
// queue/packet.h.
#ifndef RAWHAL_TESTS_QUEUE_RING_SHIM_H
#define RAWHAL_TESTS_QUEUE_RING_SHIM_H

#include <rawhal/queue.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct ring shim_ring_t;

typedef struct shim_reservation {
  uint64_t ticket, packet;
  uint32_t block;
} shim_reservation_t;

shim_ring_t *shim_ring_create(uint32_t tickets, uint32_t packets, uint32_t blocks);
void shim_ring_destroy(shim_ring_t *ring);
bool shim_ring_reserve(shim_ring_t *ring, uint32_t packets, uint32_t blocks,
                       shim_reservation_t *reservation);
void shim_ring_release(shim_ring_t *ring, uint32_t packets, uint32_t blocks);
uint64_t shim_ring_last_ticket(shim_ring_t *ring);
uint64_t shim_ring_finished(shim_ring_t *ring);

// The two steps of writing a dispatch packet, and the header of any packet type.
void shim_packet_dispatch(void *slot, const rawhal_dispatch_t *dispatch,
                          const rawhal_device_kernel_info_t *info, uint64_t kernarg,
                          uint64_t completion);
void shim_packet_barrier(void *slot, uint64_t completion);
void shim_packet_barrier_value(void *slot, uint64_t signal, int64_t target);
uint32_t shim_packet_header_barrier_value(void);
uint32_t shim_packet_header(uint32_t type, uint32_t flags);
void shim_packet_publish(void *slot, uint32_t header);

#ifdef __cplusplus
}
#endif

#endif
