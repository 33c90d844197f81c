// Makes allocations fail, one after the other. Include it in one source of a program linked with
// -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc: what shared libraries allocate is out of reach.
#ifndef TESTS_HARNESS_ALLOCATION_FAILURE_H
#define TESTS_HARNESS_ALLOCATION_FAILURE_H

#include <cstddef>

namespace {
thread_local long allocations_left = -1; // -1: no limit
thread_local long allocations_refused;
bool refuse_allocation()
{
  const bool refused = allocations_left == 0;
  allocations_refused += refused;
  allocations_left -= allocations_left > 0;
  return refused;
}
} // namespace

extern "C" {
void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size)
{
  return refuse_allocation() ? nullptr : __real_malloc(size);
}
void *__wrap_calloc(size_t count, size_t size)
{
  return refuse_allocation() ? nullptr : __real_calloc(count, size);
}
void *__wrap_realloc(void *memory, size_t size)
{
  return refuse_allocation() ? nullptr : __real_realloc(memory, size);
}
}

#endif
