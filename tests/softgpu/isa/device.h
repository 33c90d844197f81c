// A device for interpreter tests: registered memory, kernels from instruction words, dispatches.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

extern "C" {
#include "softgpu/device/memory.h"
#include "softgpu/execute.h"
#include "softgpu/isa/run/engine.h"
}

namespace device {

// Page-aligned memory that kernels can reach while it lives.
class Memory {
public:
  explicit Memory(size_t bytes, uint32_t flags = SOFTGPU_MEMORY_WRITE);
  ~Memory();
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;

  template <typename T> T *as() { return static_cast<T *>(data); }
  uint64_t address() const { return reinterpret_cast<uint64_t>(data); }
  size_t size() const { return bytes; }

private:
  void *data;
  size_t bytes;
};

// What a kernel descriptor says; the defaults suit small kernels: kernarg pointer in s[0:1], x id of the work-group in
// s2, 32 VGPRs (16 of them accumulation registers).
struct Descriptor {
  uint32_t kernarg_size = 0;
  unsigned user_sgprs = 2;
  uint16_t properties = 1 << 3;
  bool group_id[3] = {true, false, false};
  bool private_segment = false;
  unsigned item_ids = 0;
  unsigned vgprs = 32, accum_offset = 16, sgprs = 112;
  uint32_t float_mode = 0xf0; // keep denormals, round to nearest even
  uint16_t preload = 0;
};

class Kernel {
public:
  Kernel(const std::vector<uint32_t> &words, const Descriptor &descriptor = {});
  uint64_t object() const { return code.address(); }
  uint64_t entry() const { return code.address() + 256; }
  uint64_t end() const { return entry() + bytes; }
  uint32_t *text() { return code.as<uint32_t>() + 64; }

private:
  Memory code;
  size_t bytes;
};

// A code object of tests/fixtures, its segments in place.
class CodeObject {
public:
  explicit CodeObject(const std::string &file);
  uint64_t symbol(const std::string &name) const; // 0 when there is none

private:
  std::vector<uint8_t> file;
  Memory image;
};

softgpu_dispatch_t dispatch(uint64_t kernel_object, const void *kernarg, uint32_t groups = 1,
                            uint16_t items = 64, softgpu_chip_t chip = SOFTGPU_GFX90A);

struct Result {
  bool ok;
  softgpu_fault_t fault;
};

// With a time limit, so that a broken engine fails instead of hanging.
Result run(const softgpu_dispatch_t &dispatch, uint64_t timeout_ms = 120000);

} // namespace device
