/* Packets as programs write them. Internal. */
#ifndef RAWHAL_FRONT_PACKET_H
#define RAWHAL_FRONT_PACKET_H

#include <hsa/hsa_ext_amd.h>
#include <stdbool.h>
#include <stdint.h>

enum { PROXY_PACKET_BYTES = 64 };

typedef union proxy_packet {
  struct {
    uint16_t header, setup;
  };
  uint32_t first; /* both */
  hsa_kernel_dispatch_packet_t dispatch;
  hsa_barrier_and_packet_t barrier;
  uint32_t halves[PROXY_PACKET_BYTES / sizeof(uint32_t)];
  uint64_t words[PROXY_PACKET_BYTES / sizeof(uint64_t)];
} proxy_packet_t;

static const uint32_t packet_type_mask = ((1u << HSA_PACKET_HEADER_WIDTH_TYPE) - 1)
                                         << HSA_PACKET_HEADER_TYPE;

static inline unsigned packet_type_in(uint32_t first)
{
  return (first & packet_type_mask) >> HSA_PACKET_HEADER_TYPE;
}

static inline unsigned packet_type(const proxy_packet_t *packet)
{
  return packet_type_in(packet->first);
}

static inline bool packet_is_barrier(unsigned type)
{
  return type == HSA_PACKET_TYPE_BARRIER_AND || type == HSA_PACKET_TYPE_BARRIER_OR;
}

/* Of a vendor's packets those that wait for a value do no more than that. Others may have the
 * device do anything: PM4 may be dispatches, and so are some of gfx1250's. */
enum { FORMAT_SHIFT = 16, FORMAT_MASK = 0xff };

static inline bool packet_is_vendors(unsigned type)
{
  return type == HSA_PACKET_TYPE_VENDOR_SPECIFIC;
}

static inline bool packet_is_commands(uint32_t first)
{
  return packet_is_vendors(packet_type_in(first)) &&
         (first >> FORMAT_SHIFT & FORMAT_MASK) != HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
}

/* Of a barrier: has all of it, or any, happened? */
bool packet_is_open(const proxy_packet_t *packet, unsigned type);

#endif
