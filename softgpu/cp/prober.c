#include "softgpu/cp/prober.h"

#include "softgpu/cp/aql.h"
#include "softgpu/isa/run/probe.h"

const softgpu_prober_t *softgpu_prober_loaded;

void *softgpu_prober_begin(const softgpu_queue_t *queue, const hsa_kernel_dispatch_packet_t *packet,
                           softgpu_dispatch_t *dispatch)
{
  const softgpu_prober_t *prober = softgpu_prober_loaded;
  const softgpu_prober_dispatch_t about = {
      .node = dispatch->node,
      .sram_ecc = dispatch->sram_ecc,
      .queue = softgpu_aql_queue(queue)->hsa_queue.id,
      .kernel_object = dispatch->kernel_object,
      .kernarg = dispatch->kernarg,
      .grid = {packet->grid_size_x, packet->grid_size_y, packet->grid_size_z},
      .group_bytes = packet->group_segment_size,
      .private_bytes = packet->private_segment_size,
      .workgroup = {packet->workgroup_size_x, packet->workgroup_size_y, packet->workgroup_size_z}};
  softgpu_prober_wish_t wish;
  if (isa_probe_is_asked() && isa_probe_waits(dispatch))
    return NULL;
  void *run = prober->begin(&about, &wish);
  if (!run)
    return NULL;
  dispatch->probe = isa_probe_make(&wish.argument, wish.kinds, wish.event_bytes, wish.counters,
                                   wish.points, wish.count);
  if (dispatch->probe)
    dispatch->probe->is_host = true;
  return run;
}
