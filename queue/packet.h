/* AQL packets, byte by byte. Internal; header only.
 *
 * A packet is written in two steps: its body first, then its first dword, header and setup, with
 * one release store. Until then the slot's header stays INVALID, as the device left it.
 *
 * Facts: HSA Platform System Architecture Specification 1.2, sections 2.9.6 and 2.9.8. */
#ifndef RAWHAL_QUEUE_PACKET_H
#define RAWHAL_QUEUE_PACKET_H

#include "debug/packets.h"
#include "queue/kernel.h"

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <string.h>

enum { PACKET_DIMENSIONS = 3 };

_Static_assert(sizeof(hsa_kernel_dispatch_packet_t) == PACKET_BYTES, "AQL packets have 64 bytes");
_Static_assert(sizeof(hsa_barrier_and_packet_t) == PACKET_BYTES, "AQL packets have 64 bytes");

/* Everything but the first dword. Field by field into the ring: a packet put together elsewhere
 * and copied in wider pieces would wait for its own stores. `completion` 0: none. */
static inline void packet_write_dispatch(void *slot, const rawhal_dispatch_t *dispatch,
                                         void *kernargs, hsa_signal_t completion)
{
  const rawhal_device_kernel_info_t *kernel = &dispatch->kernel->info;
  hsa_kernel_dispatch_packet_t *packet = slot;
  packet->workgroup_size_x = dispatch->workgroup[0];
  packet->workgroup_size_y = dispatch->workgroup[1];
  packet->workgroup_size_z = dispatch->workgroup[2];
  packet->reserved0 = 0;
  packet->grid_size_x = dispatch->work_items[0];
  packet->grid_size_y = dispatch->work_items[1];
  packet->grid_size_z = dispatch->work_items[2];
  packet->private_segment_size = kernel->private_segment_size;
  packet->group_segment_size = kernel->group_segment_size + dispatch->dynamic_lds;
  packet->kernel_object = kernel->kernel_object;
  packet->kernarg_address = kernargs;
  packet->reserved2 = 0;
  packet->completion_signal = completion;
}

/* A barrier that waits for nothing. */
static inline void packet_write_barrier(void *slot, hsa_signal_t completion)
{
  hsa_barrier_and_packet_t packet = {.completion_signal = completion};
  memcpy((char *)slot + 4, (const char *)&packet + 4, PACKET_BYTES - 4);
}

/* A barrier that waits until a signal is at most `target`, below INT64_MAX. AMD's own packet
 * format, facts: hsa_ext_amd.h. */
static inline void packet_write_barrier_value(void *slot, hsa_signal_t signal, int64_t target,
                                              hsa_signal_t completion)
{
  hsa_amd_barrier_value_packet_t packet = {.signal = signal,
                                           .value = target + 1,
                                           .mask = -1,
                                           .cond = HSA_SIGNAL_CONDITION_LT,
                                           .completion_signal = completion};
  memcpy((char *)slot + 4, (const char *)&packet + 4, PACKET_BYTES - 4);
}

/* Header and setup of a packet with `flags` (RAWHAL_DISPATCH_*). */
static inline uint32_t packet_header(hsa_packet_type_t type, uint32_t flags)
{
  uint32_t scope =
      flags & RAWHAL_DISPATCH_AGENT_SCOPE ? HSA_FENCE_SCOPE_AGENT : HSA_FENCE_SCOPE_SYSTEM;
  uint32_t header = (uint32_t)type << HSA_PACKET_HEADER_TYPE |
                    scope << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                    scope << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
  if (!(flags & RAWHAL_DISPATCH_OVERLAP))
    header |= 1u << HSA_PACKET_HEADER_BARRIER;
  uint32_t setup = type == HSA_PACKET_TYPE_KERNEL_DISPATCH
                       ? (uint32_t)PACKET_DIMENSIONS << HSA_KERNEL_DISPATCH_PACKET_SETUP_DIMENSIONS
                       : 0;
  return header | setup << 16;
}

/* The first dword of a barrier-value packet: a header, then AMD's format byte. */
static inline uint32_t packet_header_barrier_value(void)
{
  return packet_header(HSA_PACKET_TYPE_VENDOR_SPECIFIC, 0) |
         (uint32_t)HSA_AMD_PACKET_TYPE_BARRIER_VALUE << 16;
}

/* Hands the packet to the device, with everything written before. */
static inline void packet_publish(void *slot, uint32_t header)
{
  __atomic_store_n((uint32_t *)slot, header, __ATOMIC_RELEASE);
}

/* Both steps. */
static inline void packet_put_dispatch(void *slot, const rawhal_dispatch_t *dispatch,
                                       void *kernargs, hsa_signal_t completion)
{
  packet_write_dispatch(slot, dispatch, kernargs, completion);
  packet_publish(slot, packet_header(HSA_PACKET_TYPE_KERNEL_DISPATCH, dispatch->flags));
}

static inline void packet_put_barrier(void *slot, hsa_signal_t completion)
{
  packet_write_barrier(slot, completion);
  packet_publish(slot, packet_header(HSA_PACKET_TYPE_BARRIER_AND, 0));
}

#endif
