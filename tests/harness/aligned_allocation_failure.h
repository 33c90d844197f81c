// The same, of programs that are also linked with -Wl,--wrap=aligned_alloc.
#ifndef TESTS_HARNESS_ALIGNED_ALLOCATION_FAILURE_H
#define TESTS_HARNESS_ALIGNED_ALLOCATION_FAILURE_H

#include "tests/harness/allocation_failure.h"

extern "C" {
void *__real_aligned_alloc(size_t alignment, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size)
{
  return refuse_allocation() ? nullptr : __real_aligned_alloc(alignment, size);
}
}

#endif
