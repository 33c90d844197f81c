// What the programs share: they say what went wrong and end.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

#define HIP(call)                                                                                  \
  do {                                                                                             \
    hipError_t hip_status = (call);                                                                \
    if (hip_status != hipSuccess) {                                                                \
      std::printf("%s:%d: %s\n", __FILE__, __LINE__, hipGetErrorString(hip_status));               \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (0)

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                          \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (0)

#include "copies.h"
