#include "fuzz/budget.h"

#include <stdio.h>

#include "tests/harness/steps.h"

/* ---- Memory ---- */

__attribute__((weak)) int
__sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                          void (*on_free)(const volatile void *));
__attribute__((weak)) size_t __sanitizer_get_allocated_size(const volatile void *pointer);

static int64_t live, peak;

static void grow(const volatile void *pointer, size_t size)
{
  (void)pointer;
  live += (int64_t)size;
  peak = live > peak ? live : peak;
}

static void shrink(const volatile void *pointer)
{
  if (pointer)
    live -= (int64_t)__sanitizer_get_allocated_size(pointer);
}

static void count_memory(void)
{
  static int installed;
  if (!installed && __sanitizer_install_malloc_and_free_hooks && __sanitizer_get_allocated_size)
    installed = __sanitizer_install_malloc_and_free_hooks(grow, shrink);
  live = peak = 0;
}

/* ---- Budgets ---- */

budget_t budget_begin(uint64_t steps, uint64_t memory)
{
  count_memory();
  return (budget_t){
      .start = steps_counted(), .unpacked = steps_unpacked(), .steps = steps, .memory = memory};
}

void budget_end(const budget_t *budget)
{
  uint64_t used = steps_counted() - budget->start;
  uint64_t allowed = budget->steps + budget->a_byte * (steps_unpacked() - budget->unpacked);
  if (used > allowed) {
    fprintf(stderr, "%llu steps, of %llu allowed\n", (unsigned long long)used,
            (unsigned long long)allowed);
    __builtin_trap();
  }
  if (peak > (int64_t)budget->memory) {
    fprintf(stderr, "%lld bytes of memory, of %llu allowed\n", (long long)peak,
            (unsigned long long)budget->memory);
    __builtin_trap();
  }
}

enum { MIB = 1 << 20 };

budget_t budget_of_object(size_t size, unsigned times)
{
  enum { STEPS_A_BYTE = 64, LEAST = MIB / 4 };
  return budget_begin(times * (LEAST + STEPS_A_BYTE * (uint64_t)size),
                      64 * MIB + 8 * (uint64_t)size);
}

budget_t budget_of_container(size_t size, uint64_t most_unpacked)
{
  enum { STEPS_A_BYTE = 10, LEAST = 2 * MIB }; /* a second for 100 MB */
  budget_t budget = budget_begin(LEAST + STEPS_A_BYTE * (uint64_t)size,
                                 128 * MIB + 8 * (uint64_t)size + most_unpacked);
  budget.a_byte = STEPS_A_BYTE;
  return budget;
}
