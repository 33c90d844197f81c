#include "debug/dispatch.h"

#include "base/error.h"
#include "debug/label.h"
#include "hsaco/preload.h"

#include <stdio.h>

debug_dispatch_t dispatch_of_packet(uint64_t queue_id, uint64_t index,
                                    const hsa_kernel_dispatch_packet_t *packet)
{
  return (debug_dispatch_t){
      .queue_id = queue_id,
      .packet = index,
      .kernarg_address = (uint64_t)(uintptr_t)packet->kernarg_address,
      .grid = {packet->grid_size_x, packet->grid_size_y, packet->grid_size_z},
      .workgroup = {packet->workgroup_size_x, packet->workgroup_size_y, packet->workgroup_size_z},
      .group_bytes = packet->group_segment_size,
      .private_bytes = packet->private_segment_size,
      .kernel_object = packet->kernel_object,
  };
}

uint64_t dispatch_entry(const debug_dispatch_t *dispatch, const rawhal_descriptor_t *descriptor)
{
  return dispatch->kernel_object + (descriptor->entry - descriptor->address) +
         preload_prologue(descriptor);
}

void dispatch_failed(const debug_dispatch_t *dispatch, const rawhal_descriptor_t *descriptor,
                     rawhal_fault_t *fault)
{
  if (dispatch->kernel.data)
    snprintf(fault->kernel, sizeof(fault->kernel), "%.*s", RAWHAL_STRING_ARGS(dispatch->kernel));
  label_copy(fault->label, dispatch->label);
  fault->kernel_object = dispatch->kernel_object;
  if (descriptor)
    fault->entry = dispatch_entry(dispatch, descriptor);
  if (!(fault->known & RAWHAL_FAULT_KNOWS_DISPATCH))
    return;
  fault->ticket = dispatch->ticket;
  fault->packet = dispatch->packet;
  fault->dispatch = dispatch->index;
  if (!(fault->known & RAWHAL_FAULT_KNOWS_PC) || !descriptor)
    return;
  fault->known |= RAWHAL_FAULT_KNOWS_OBJECT;
  fault->object_address = fault->pc - dispatch->kernel_object + descriptor->address;
}
