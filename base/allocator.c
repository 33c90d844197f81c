#include "base/allocate.h"

#include "base/error.h"

#include <stdalign.h>
#include <stdlib.h>

enum { ALIGNMENT = alignof(max_align_t) }; /* malloc()'s */

rawhal_status_t allocator_take(const rawhal_allocator_t *given, allocator_t *taken,
                               rawhal_error_t *error)
{
  *taken = (allocator_t){0};
  if (!given)
    return RAWHAL_OK;
  if (!given->allocate || !given->free)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "an allocator without %s()",
                       given->allocate ? "free" : "allocate");
  *taken = *given;
  return RAWHAL_OK;
}

bool allocator_equal(const allocator_t *a, const allocator_t *b)
{
  return a->allocate == b->allocate && a->free == b->free && a->context == b->context;
}

static bool is_given(const allocator_t *allocator)
{
  return allocator && allocator->allocate;
}

void *allocate(const allocator_t *allocator, size_t size)
{
  size += !size; /* so that NULL means one thing */
  return is_given(allocator) ? allocator->allocate(allocator->context, size, ALIGNMENT)
                             : malloc(size);
}

void *allocate_aligned(const allocator_t *allocator, size_t size, size_t alignment)
{
  if (alignment <= ALIGNMENT)
    return allocate(allocator, size);
  size += !size;
  if (is_given(allocator))
    return allocator->allocate(allocator->context, size, alignment);
  if (size > SIZE_MAX - (alignment - 1))
    return NULL;
  return aligned_alloc(alignment, (size + alignment - 1) & ~(alignment - 1));
}

void *allocate_zeroed(const allocator_t *allocator, size_t count, size_t size)
{
  size_t total;
  if (__builtin_mul_overflow(count, size, &total))
    return NULL;
  if (!is_given(allocator))
    return calloc(1, total + !total); /* fresh pages are zero: they need not be touched */
  void *memory = allocate(allocator, total);
  return memory ? memset(memory, 0, total) : NULL;
}

void *allocate_more(const allocator_t *allocator, void *memory, size_t old_size, size_t size)
{
  if (!is_given(allocator))
    return realloc(memory, size + !size);
  void *moved = allocate(allocator, size);
  if (moved && memory) {
    memcpy(moved, memory, old_size);
    allocate_free(allocator, memory);
  }
  return moved;
}

void allocate_free(const allocator_t *allocator, void *memory)
{
  if (!memory)
    return;
  if (is_given(allocator))
    allocator->free(allocator->context, memory);
  else
    free(memory);
}
