// A runtime of our own that opens a thunk by dlopen(), as those of ROCm 7 do, and calls it with
// the structures of either kind of header.
#pragma once

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsakmt.h>

#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "softgpu/softgpu.h"

// By which of softgpu's two libraries a test comes.
struct Door {
  const char *path;
  bool dtif;
};

class Fake : public ::testing::TestWithParam<Door> {
protected:
  void SetUp() override;
  void TearDown() override;

  // A function by its name, called with whatever is given: HSAKMT_STATUS_SUCCESS is 0.
  template <typename Return = int, typename... Arguments>
  Return call(const char *name, Arguments... arguments)
  {
    auto *function = (Return(*)(Arguments...))dlsym(library, name);
    EXPECT_NE(function, nullptr) << name;
    return function ? function(arguments...) : Return{};
  }

  // Memory of a node that the GPU may use; freed with the device.
  void *memory(uint32_t node, size_t size);
  amd_signal_t *signal(int64_t value);

  // An AQL queue as a runtime makes it, with its ring on the GPU and in `own` the rest.
  struct Queue {
    amd_queue_t *own = nullptr;
    hsa_kernel_dispatch_packet_t *ring = nullptr;
    HsaQueueResource resource{};
    static constexpr uint64_t packets = 64;
  };
  enum Maker { kPlain, kExt, kV2 };
  Queue queue(Maker maker = kPlain);
  // A queue of a copy engine with one packet, begun.
  HsaQueueResource copying(const std::vector<uint32_t> &packet);
  hsa_barrier_and_packet_t barrier(amd_signal_t *completion);
  void put(Queue &queue, uint64_t index, const void *packet); // the header last
  void announce(Queue &queue, uint64_t index);                // as the door has it
  bool reaches(amd_signal_t *signal, int64_t value);          // within ten seconds
  std::string fault(const Queue &queue);

  void *library = nullptr;
};

constexpr uint16_t kBarrierHeader = HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE;
