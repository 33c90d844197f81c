/* What one input may cost: steps, as tests/harness/steps.h counts them, and memory, counted where a
 * sanitizer's allocator is there to ask. Not time: an input that is too dear is so on every machine,
 * and those of a busy one are not. */
#ifndef RAWHAL_FUZZ_BUDGET_H
#define RAWHAL_FUZZ_BUDGET_H

#include <stddef.h>
#include <stdint.h>

#if defined(__cplusplus)
extern "C" {
#endif

typedef struct budget {
  uint64_t start;         /* steps */
  uint64_t unpacked;      /* bytes */
  uint64_t steps, a_byte; /* allowed at all, and more for each byte that is unpacked */
  uint64_t memory;
} budget_t;

/* At most one is under way. */
budget_t budget_begin(uint64_t steps, uint64_t memory);

/* Ends the process when more was used. */
void budget_end(const budget_t *budget);

/* What opening an object of `size` bytes and reading all of it may cost, `times` times; and finding
 * those in a container of that size, or unpacked from it. */
budget_t budget_of_object(size_t size, unsigned times);
budget_t budget_of_container(size_t size, uint64_t most_unpacked);

#if defined(__cplusplus)
}

/* Ends with its scope. */
class Budget {
public:
  explicit Budget(const budget_t &budget) : budget_(budget) {}
  ~Budget() { budget_end(&budget_); }
  Budget(const Budget &) = delete;
  Budget &operator=(const Budget &) = delete;

private:
  budget_t budget_;
};
#endif

#endif
