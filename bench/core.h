// Whether this thread has a core to itself. A virtual processor is often half of one, and the other half a stranger's:
// what runs there makes code of many instructions take up to twice as long, and code that waits for memory or for locked
// instructions hardly longer, so that the ratio of two such says more of the stranger than of them.
#ifndef RAWHAL_BENCH_CORE_H
#define RAWHAL_BENCH_CORE_H

#include <chrono>

// Times additions that wait for each other, and four times as many that need not: as long, where all of the core's units
// are ours.
inline bool core_is_ours()
{
  using clock = std::chrono::steady_clock;
  constexpr int rounds = 500; // of 16 cycles: 2 us each
  const auto start = clock::now();
  for (int i = 0; i < rounds; ++i)
    asm volatile(".rept 16\n add $1, %%rax\n .endr" ::: "rax", "cc");
  const auto middle = clock::now();
  for (int i = 0; i < rounds; ++i)
    asm volatile(
        ".rept 16\n add $1, %%rax\n add $1, %%rcx\n add $1, %%rdx\n add $1, %%rsi\n .endr" ::
            : "rax", "rcx", "rdx", "rsi", "cc");
  const auto end = clock::now();
  return (end - middle) * 8 < (middle - start) * 9;
}

#endif
