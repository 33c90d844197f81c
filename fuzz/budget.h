// What opening may cost: a second of this thread's time, and 64 MiB + 8 times the input. Memory is
// counted where a sanitizer's allocator is there to ask.
#ifndef RAWHAL_FUZZ_BUDGET_H
#define RAWHAL_FUZZ_BUDGET_H

#include <time.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>

extern "C" {
__attribute__((weak)) int
__sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void *, size_t),
                                          void (*on_free)(const volatile void *));
__attribute__((weak)) size_t __sanitizer_get_allocated_size(const volatile void *pointer);
}

class Budget {
public:
  explicit Budget(size_t input_size) : most_((64 << 20) + 8 * input_size), start_(now())
  {
    static bool installed = install();
    (void)installed;
    live() = peak() = 0;
  }
  // Ends the process when more was used.
  ~Budget()
  {
    if (peak() > static_cast<long long>(most_)) {
      fprintf(stderr, "%lld bytes of memory, of %zu allowed\n", peak(), most_);
      __builtin_trap();
    }
    if (now() - start_ > 1) {
      fprintf(stderr, "%.2f seconds, of one allowed\n", now() - start_);
      __builtin_trap();
    }
  }
  Budget(const Budget &) = delete;
  Budget &operator=(const Budget &) = delete;

private:
  static bool install()
  {
    if (!__sanitizer_install_malloc_and_free_hooks || !__sanitizer_get_allocated_size)
      return false;
    auto grow = [](const volatile void *, size_t size) {
      live() += static_cast<long long>(size);
      peak() = live() > peak() ? live() : peak();
    };
    auto shrink = [](const volatile void *pointer) {
      if (pointer)
        live() -= static_cast<long long>(__sanitizer_get_allocated_size(pointer));
    };
    return __sanitizer_install_malloc_and_free_hooks(grow, shrink) != 0;
  }
  static double now()
  {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  static long long &live()
  {
    static long long bytes;
    return bytes;
  }
  static long long &peak()
  {
    static long long bytes;
    return bytes;
  }

  size_t most_;
  double start_;
};

#endif
