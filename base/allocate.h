/* Host memory: the only way to it. Internal.
 *
 * Every function takes the allocator of whatever the memory is for; NULL, or one that is all zero,
 * is malloc(). */
#ifndef RAWHAL_BASE_ALLOCATE_H
#define RAWHAL_BASE_ALLOCATE_H

#include "base/allocator.h"
#include "base/status.h"

typedef rawhal_allocator_t allocator_t;

/* Copies what a caller gave; NULL: malloc(). INVALID_ARGUMENT: one function without the other. */
RAWHAL_CHECKED rawhal_status_t allocator_take(const rawhal_allocator_t *given, allocator_t *taken,
                                              rawhal_error_t *error);

/* As an option of something else. */
static inline const rawhal_allocator_t *allocator_option(const allocator_t *allocator)
{
  return allocator && allocator->allocate ? allocator : NULL;
}

bool allocator_equal(const allocator_t *a, const allocator_t *b);

/* All return NULL when there is no memory. Aligned for everything, or to `alignment`, a larger
 * power of two. */
void *allocate(const allocator_t *allocator, size_t size);
void *allocate_aligned(const allocator_t *allocator, size_t size, size_t alignment);
void *allocate_zeroed(const allocator_t *allocator, size_t count, size_t size);

/* Moves `old_size` bytes, of memory that may be NULL, to `size` that are at least as many. NULL:
 * the old memory stays. */
void *allocate_more(const allocator_t *allocator, void *memory, size_t old_size, size_t size);

/* With the allocator that the memory is from, and may lie in; NULL is allowed. */
void allocate_free(const allocator_t *allocator, void *memory);

#endif
