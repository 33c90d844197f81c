/* Kernargs of a dispatch. Internal. */
#ifndef RAWHAL_FRONT_KERNARGS_H
#define RAWHAL_FRONT_KERNARGS_H

#include "front/objects.h"

enum { KERNARGS_ROOM = 1024 };

/* A copy, for what a program has there it may change or unmap at any time. */
typedef struct kernargs {
  rawhal_bytes_t bytes; /* empty: the kernel takes none, or they cannot be had */
  bool unread;          /* it takes some, and the host cannot read them */
  void *heap;
  _Alignas(16) unsigned char room[KERNARGS_ROOM];
} kernargs_t;

/* So many bytes of the packet's kernargs, wherever they are. To be given back. */
void kernargs_copy(kernargs_t *kernargs, const hsa_kernel_dispatch_packet_t *packet, size_t size);
/* All that the kernel takes; empty also where that is not known. */
void kernargs_take(kernargs_t *kernargs, const front_kernel_t *kernel,
                   const hsa_kernel_dispatch_packet_t *packet);
/* The same from bytes that were kept. */
void kernargs_keep(kernargs_t *kernargs, const front_kernel_t *kernel, rawhal_bytes_t kept);
void kernargs_give_back(kernargs_t *kernargs);

#endif
