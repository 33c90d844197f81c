// There and back. Included where HIP() is defined.
#pragma once

#include <hip/hip_runtime.h>

#include <vector>

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
