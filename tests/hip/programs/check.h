// What the programs share: they say what went wrong and end.
#pragma once

#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

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

template <typename T> T *to_device(const std::vector<T> &values)
{
  T *device = nullptr;
  HIP(hipMalloc(&device, values.size() * sizeof(T)));
  HIP(hipMemcpy(device, values.data(), values.size() * sizeof(T), hipMemcpyHostToDevice));
  return device;
}

template <typename T> std::vector<T> to_host(const T *device, size_t count)
{
  std::vector<T> values(count);
  HIP(hipMemcpy(values.data(), device, count * sizeof(T), hipMemcpyDeviceToHost));
  return values;
}
