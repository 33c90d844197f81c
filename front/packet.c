#include "front/packet.h"

#include "front/host_view.h"

#include <hsa/amd_hsa_signal.h>

/* What is no signal the device says: it may be any number that the program or a kernel wrote, and
 * neither we nor the runtime may follow it. */
static bool has_happened(hsa_signal_t signal)
{
  amd_signal_t there;
  return !host_read(signal.handle, &there, sizeof(there)) || there.kind != AMD_SIGNAL_KIND_USER ||
         there.value == 0;
}

bool packet_is_open(const proxy_packet_t *packet, unsigned type)
{
  const hsa_signal_t *wait_for = packet->barrier.dep_signal;
  bool all = type == HSA_PACKET_TYPE_BARRIER_AND, any = false, open = true;
  for (int i = 0; i < 5; ++i)
    if (wait_for[i].handle) {
      bool happened = has_happened(wait_for[i]);
      open &= happened;
      any |= happened;
    }
  return open || (!all && any);
}
