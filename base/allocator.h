/* rawhal/allocator.h: where the library's own host memory comes from, when not from malloc().
 *
 * The `allocator` in a call's options serves what the call makes and everything made from that: the
 * layouts of a code object's kernels; everything that belongs to the devices of an instance.
 *
 * It covers what the library allocates itself, including zlib's memory. It does not cover
 *   what other libraries allocate: libelf, msgpack-c, jansson, zstd (none of whose stable functions
 *     takes an allocator), the C library (threads, sorting, opening libraries) and the HSA runtime;
 *   what devices see: rings, kernargs and staging memory are the runtime's;
 *   files that are mapped;
 *   what belongs to no instance, for which malloc() is called: limit configurations, views and
 *     controls, limiters that a program opens itself, subscriptions to events, and notes of what
 *     the HSA runtime keeps. */
#ifndef RAWHAL_ALLOCATOR_H
#define RAWHAL_ALLOCATOR_H

#include <rawhal/types.h>

RAWHAL_BEGIN

/* Both functions are called by any thread, including the runtime's own, at any time, several at
 * once, and with locks of the library held: they must neither call rawhal nor fork(). Setting only
 * one of them is INVALID_ARGUMENT. The call that takes the structure copies it; `context` must live
 * until everything made with it has been destroyed, and the calls that destroy it have returned. A
 * child of fork() may free what its parent made: locks in the allocator must allow for that. */
typedef struct rawhal_allocator {
  /* Returns `size` bytes (never 0) at a multiple of `alignment`, which is a power of two and at
   * least that of max_align_t. NULL: there is no memory, which the call that needs it reports as
   * OUT_OF_MEMORY. The contents do not matter. */
  void *(*allocate)(void *context, size_t size, size_t alignment);
  /* Takes back what allocate() returned; never NULL. */
  void (*free)(void *context, void *memory);
  void *context; /* passed to both */
} rawhal_allocator_t;

RAWHAL_END

#endif
