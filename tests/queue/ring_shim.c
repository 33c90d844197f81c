#include "ring_shim.h"

#include "queue/packet.h"
#include "queue/ring.h"

#include <stdlib.h>

shim_ring_t *shim_ring_create(uint32_t tickets, uint32_t packets, uint32_t blocks)
{
  ring_t *ring = aligned_alloc(_Alignof(ring_t), sizeof(*ring));
  if (ring)
    ring_init(ring, tickets, packets, blocks);
  return ring;
}

void shim_ring_destroy(shim_ring_t *ring)
{
  free(ring);
}

bool shim_ring_reserve(shim_ring_t *ring, uint32_t packets, uint32_t blocks,
                       shim_reservation_t *reservation)
{
  ring_reservation_t reserved = {0};
  bool room = ring_reserve(ring, packets, blocks, &reserved);
  *reservation = (shim_reservation_t){reserved.ticket, reserved.packet, reserved.block};
  return room;
}

void shim_ring_release(shim_ring_t *ring, uint32_t packets, uint32_t blocks)
{
  ring_release(ring, packets, blocks);
}

uint64_t shim_ring_last_ticket(shim_ring_t *ring)
{
  return ring_last_ticket(ring);
}

uint64_t shim_ring_finished(shim_ring_t *ring)
{
  return ring_finished(ring);
}

void shim_packet_dispatch(void *slot, const rawhal_dispatch_t *dispatch,
                          const rawhal_device_kernel_info_t *info, uint64_t kernarg,
                          uint64_t completion)
{
  rawhal_device_kernel_t kernel = {.info = *info};
  rawhal_dispatch_t whole = *dispatch;
  whole.kernel = &kernel;
  packet_write_dispatch(slot, &whole, (void *)(uintptr_t)kernarg, (hsa_signal_t){completion});
}

void shim_packet_barrier(void *slot, uint64_t completion)
{
  packet_write_barrier(slot, (hsa_signal_t){completion});
}

void shim_packet_barrier_value(void *slot, uint64_t signal, int64_t target)
{
  packet_write_barrier_value(slot, (hsa_signal_t){signal}, target, (hsa_signal_t){0});
}

uint32_t shim_packet_header_barrier_value(void)
{
  return packet_header_barrier_value();
}

uint32_t shim_packet_header(uint32_t type, uint32_t flags)
{
  return packet_header((hsa_packet_type_t)type, flags);
}

void shim_packet_publish(void *slot, uint32_t header)
{
  packet_publish(slot, header);
}
