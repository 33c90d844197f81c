// Kernels of the fixtures on the device, through the runtime's loader.
#pragma once

#include "runtime.h"

struct Kernel {
  uint64_t object = 0;
  uint32_t group = 0, scratch = 0;
};

class Kernels : public Runtime {
protected:
  void TearDown() override;

  Kernel load(const char *file, const char *name);

  hsa_kernel_dispatch_packet_t packet(const Kernel &kernel, void *kernarg, uint32_t grid,
                                      uint16_t workgroup, hsa_signal_t done);

  // Its signal, 1 until it is done.
  hsa_signal_t start(hsa_queue_t *queue, const Kernel &kernel, void *kernarg, uint32_t grid = 1,
                     uint16_t workgroup = 1);

  // A zeroed kernarg segment that starts with the given words.
  void *kernargs(std::vector<uint64_t> words);

  // hsa_memory_copy() with a look at the counters, which makes visible to ThreadSanitizer what the
  // runtime waited for.
  softgpu_counters_t copy(void *to, const void *from, size_t size);

private:
  std::vector<std::string> images_;
  std::vector<hsa_code_object_reader_t> readers_;
  std::vector<hsa_executable_t> executables_;
};
