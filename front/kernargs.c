#include "front/kernargs.h"

#include "front/ranges.h"

rawhal_bytes_t kernargs_of(const front_kernel_t *kernel, const hsa_kernel_dispatch_packet_t *packet)
{
  const rawhal_kernarg_info_t *info =
      kernel->layout ? rawhal_kernarg_layout_info(kernel->layout) : NULL;
  uint64_t address = (uint64_t)(uintptr_t)packet->kernarg_address;
  range_t range;
  if (!info || !info->segment_size || !packet->kernarg_address ||
      ranges_find(address, &range) != RANGE_LIVE || range.owner ||
      range.size - (address - range.base) < info->segment_size)
    return (rawhal_bytes_t){0};
  return (rawhal_bytes_t){packet->kernarg_address, info->segment_size};
}
