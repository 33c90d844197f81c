#include "front/kernargs.h"

#include "front/host_view.h"

#include <stdlib.h>

void kernargs_copy(kernargs_t *kernargs, const hsa_kernel_dispatch_packet_t *packet, size_t size)
{
  const uint64_t address = (uint64_t)(uintptr_t)packet->kernarg_address;
  kernargs->bytes = (rawhal_bytes_t){0};
  kernargs->heap = size > sizeof(kernargs->room) ? malloc(size) : NULL;
  void *to = size > sizeof(kernargs->room) ? kernargs->heap : kernargs->room;
  kernargs->unread = size && !(to && address && host_read(address, to, size));
  if (!kernargs->unread)
    kernargs->bytes = (rawhal_bytes_t){to, size};
}

void kernargs_take(kernargs_t *kernargs, const front_kernel_t *kernel,
                   const hsa_kernel_dispatch_packet_t *packet)
{
  const rawhal_kernarg_info_t *info =
      kernel->layout ? rawhal_kernarg_layout_info(kernel->layout) : NULL;
  kernargs_copy(kernargs, packet, info ? info->segment_size : 0);
}

void kernargs_give_back(kernargs_t *kernargs)
{
  free(kernargs->heap);
  kernargs->heap = NULL;
}
