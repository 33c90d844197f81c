// What the programs share. They print what they see, failures too: two runtimes have to print the same.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>

// Says what went wrong and goes on.
#define HIP(call)                                                                                  \
  do {                                                                                             \
    hipError_t hip_status = (call);                                                                \
    if (hip_status != hipSuccess)                                                                  \
      std::printf("%s: %s\n", #call, hipGetErrorName(hip_status));                                 \
  } while (0)

#include "../../hip/programs/copies.h"

template <typename T> void show(const char *what, const std::vector<T> &values)
{
  uint64_t hash = 1469598103934665603u;
  const unsigned char *bytes = reinterpret_cast<const unsigned char *>(values.data());
  for (size_t i = 0; i < values.size() * sizeof(T); ++i)
    hash = (hash ^ bytes[i]) * 1099511628211u;
  std::printf("%s: %zu values, %016llx, first %g, last %g\n", what, values.size(),
              (unsigned long long)hash, (double)values.front(), (double)values.back());
}
