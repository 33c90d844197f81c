// HIP on the softgpu that was just built: the program is linked with its libhsakmt.so.1.
#pragma once

#include <gtest/gtest.h>
#include <hip/hip_runtime_api.h>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#define HIP_OK(call)                                                                               \
  do {                                                                                             \
    hipError_t hip_ok = (call);                                                                    \
    ASSERT_EQ(hip_ok, hipSuccess) << hipGetErrorString(hip_ok);                                    \
  } while (0)

inline std::vector<uint32_t> ramp(size_t count, uint32_t first = 1)
{
  std::vector<uint32_t> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}
