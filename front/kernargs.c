#include "front/kernargs.h"

#include "front/host_view.h"

#include <stdlib.h>
#include <string.h>

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

static size_t bytes_of(const front_kernel_t *kernel)
{
  return kernel->layout ? rawhal_kernarg_layout_info(kernel->layout)->segment_size : 0;
}

void kernargs_take(kernargs_t *kernargs, const front_kernel_t *kernel,
                   const hsa_kernel_dispatch_packet_t *packet)
{
  kernargs_copy(kernargs, packet, bytes_of(kernel));
}

void kernargs_keep(kernargs_t *kernargs, const front_kernel_t *kernel, rawhal_bytes_t kept)
{
  const size_t size = bytes_of(kernel);
  kernargs->bytes = (rawhal_bytes_t){0};
  kernargs->heap = NULL;
  kernargs->unread = size > kept.size || size > sizeof(kernargs->room);
  if (kernargs->unread || !size)
    return;
  memcpy(kernargs->room, kept.data, size);
  kernargs->bytes = (rawhal_bytes_t){kernargs->room, size};
}

void kernargs_give_back(kernargs_t *kernargs)
{
  free(kernargs->heap);
  kernargs->heap = NULL;
}
