#include "debug/packets.h"

#include <hsa/amd_hsa_signal.h>
#include <stddef.h>

enum { TAKEN = 8 };

bool packets_copy(const debug_packets_t *packets, uint64_t index,
                  hsa_kernel_dispatch_packet_t *packet)
{
  const uint64_t base = (uint64_t)(uintptr_t)packets->queue->base_address;
  return debug_copy(packets->copy, packets->context, packet,
                    base + (index & (packets->queue->size - 1)) * PACKET_BYTES, sizeof(*packet));
}

/* By its signal, which packets of all kinds have at one place. */
static bool has_ended(const debug_packets_t *packets, uint64_t index)
{
  hsa_kernel_dispatch_packet_t packet;
  int64_t value;
  if (!packets_copy(packets, index, &packet))
    return true;
  const uint64_t signal = packet.completion_signal.handle;
  return signal &&
         debug_copy(packets->copy, packets->context, &value, signal + offsetof(amd_signal_t, value),
                    sizeof(value)) &&
         value <= 0;
}

uint64_t packets_first(const debug_packets_t *packets)
{
  const uint64_t *known = packets->failed ? packets->failed : packets->oldest;
  uint64_t at = known ? *known : packets->read;
  while (!known && at && packets->read - at < TAKEN && packets->write - at < packets->queue->size &&
         !has_ended(packets, at - 1))
    --at;
  const uint64_t held =
      packets->write < packets->queue->size ? packets->write : packets->queue->size;
  return packets->write - at > held ? packets->write - held : at; /* what the program says, too */
}

bool packets_next(const debug_packets_t *packets, uint64_t *index,
                  hsa_kernel_dispatch_packet_t *packet)
{
  while (*index < packets->write) {
    const uint64_t at = (*index)++;
    if (packets_copy(packets, at, packet) &&
        ((packets->failed && at == *packets->failed) || at < packets->read ||
         (packet->header & PACKET_TYPE_BITS) == HSA_PACKET_TYPE_KERNEL_DISPATCH))
      return true;
  }
  return false;
}
