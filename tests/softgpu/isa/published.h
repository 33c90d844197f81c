// A kernel of tests/fixtures/src/emulator.cl with its arguments in their order, and the buffers behind their addresses.
#pragma once

#include <memory>

#include "tests/softgpu/isa/device.h"

struct PublishedCase {
  device::CodeObject object{"emulator-gfx90a-v5.co"};
  std::vector<std::unique_ptr<device::Memory>> buffers;
  device::Memory kernarg{4096};
  softgpu_dispatch_t dispatch = {};
  size_t passed = 0;

  PublishedCase(const char *kernel, uint64_t groups, uint16_t items)
  {
    dispatch = device::dispatch(object.symbol(std::string(kernel) + ".kd"), kernarg.as<void>(),
                                static_cast<uint32_t>(groups), items);
    if (dispatch.kernel_object)
      memcpy(&dispatch.group_bytes, reinterpret_cast<void *>(dispatch.kernel_object), 4);
  }
  template <typename T, typename Value> T *fill(size_t count, Value &&value)
  {
    buffers.push_back(std::make_unique<device::Memory>(count * sizeof(T)));
    T *at = buffers.back()->as<T>();
    for (size_t i = 0; i < count; ++i)
      at[i] = value(i);
    pass(buffers.back()->address());
    return at;
  }
  template <typename T> void pass(T value)
  {
    passed = (passed + sizeof value - 1) / sizeof value * sizeof value;
    memcpy(kernarg.as<char>() + passed, &value, sizeof value);
    passed += sizeof value;
  }
};
