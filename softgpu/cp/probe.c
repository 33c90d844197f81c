/* Who asks for records of a dispatch. */
#include "softgpu/isa/run/probe.h"
#include "softgpu/device/opened.h"
#include "softgpu/exports.h"

SOFTGPU_EXPORT bool softgpu_probe(uint64_t address, const rawhal_probe_argument_t *argument,
                                  uint32_t kinds, uint32_t event_bytes, uint32_t counters,
                                  const rawhal_probe_point_t *points, size_t count)
{
  if (softgpu_forked() || !address || (count && !points))
    return false;
  if (argument)
    return isa_probe_ask(address, argument, kinds, event_bytes, counters, points, count);
  isa_probe_withdraw(address);
  return true;
}
