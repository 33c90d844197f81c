// A program that has one queue on the toy runtime, behind the front.
#ifndef RAWHAL_TESTS_FRONT_PROXY_TEST_H
#define RAWHAL_TESTS_FRONT_PROXY_TEST_H

#include "tests/front/front_test.h"

#include <unistd.h>

#include <atomic>
#include <functional>
#include <vector>

class FrontProxy : public FrontTest {
protected:
  void Start(const char *share = "90%", uint32_t size = 64, uint32_t major = 1, uint32_t step = 0)
  {
    if (share)
      Set("RAWHAL_GPU_SHARE", share);
    Load(major, step);
    ASSERT_EQ(HSA_STATUS_SUCCESS,
              Core<decltype(hsa_queue_create)>(72)(toy_agent(), size, HSA_QUEUE_TYPE_MULTI, Failed,
                                                   this, 0, 0, &queue_));
  }

  void TearDown() override
  {
    if (queue_)
      Destroy();
    EXPECT_EQ(0u, toy_live_signals());
    EXPECT_EQ(0u, toy_live_queues());
    FrontTest::TearDown();
  }

  void Destroy()
  {
    EXPECT_EQ(HSA_STATUS_SUCCESS, Core<decltype(hsa_queue_destroy)>(88)(queue_));
    queue_ = nullptr;
  }

  static void Failed(hsa_status_t status, hsa_queue_t *source, void *data)
  {
    auto *self = static_cast<FrontProxy *>(data);
    self->source_ = source;
    if (self->handler_)
      self->handler_();
    self->failed_ = status;
  }

  uint64_t Reserve() { return Core<decltype(hsa_queue_add_write_index_relaxed)>(200)(queue_, 1); }
  uint64_t Taken() { return Core<decltype(hsa_queue_load_read_index_scacquire)>(104)(queue_); }
  void Ring(uint64_t index)
  {
    Core<decltype(hsa_signal_store_screlease)>(352)(queue_->doorbell_signal,
                                                    static_cast<hsa_signal_value_t>(index));
  }

  static hsa_kernel_dispatch_packet_t Kernel(uint64_t object, uint64_t ns = 0,
                                             hsa_signal_t signal = {0})
  {
    hsa_kernel_dispatch_packet_t packet = {};
    packet.workgroup_size_x = packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_x = packet.grid_size_y = packet.grid_size_z = 1;
    packet.kernel_object = object << 8;
    packet.reserved2 = ns;
    packet.completion_signal = signal;
    packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH;
    return packet;
  }

  // As programs do it: the body, then the header.
  template <typename Packet> void Write(uint64_t index, const Packet &packet)
  {
    char *slot = static_cast<char *>(queue_->base_address) + index % queue_->size * 64;
    memcpy(slot + 4, reinterpret_cast<const char *>(&packet) + 4, 60);
    uint32_t first;
    memcpy(&first, &packet, 4);
    __atomic_store_n(reinterpret_cast<uint32_t *>(slot), first, __ATOMIC_RELEASE);
  }

  template <typename Packet> void Submit(const Packet &packet)
  {
    uint64_t index = Reserve();
    while (index - Taken() >= queue_->size)
      usleep(100);
    Write(index, packet);
    Ring(index);
  }

  // What the device has run since, when there are so many.
  std::vector<toy_packet_t> Ran(size_t least)
  {
    std::vector<toy_packet_t> all;
    while (all.size() < least) {
      std::vector<toy_packet_t> some(65536);
      some.resize(toy_ran(some.data(), some.size()));
      all.insert(all.end(), some.begin(), some.end());
      if (all.size() < least)
        usleep(200);
    }
    return all;
  }

  hsa_signal_t Signal()
  {
    hsa_signal_t signal = {0};
    Core<decltype(hsa_signal_create)>(312)(1, 0, nullptr, &signal);
    return signal;
  }
  void Drop(hsa_signal_t signal) { Core<decltype(hsa_signal_destroy)>(320)(signal); }

  hsa_queue_t *queue_ = nullptr;
  std::atomic<int> failed_{0};
  hsa_queue_t *source_ = nullptr;
  std::function<void()> handler_; // of the program's, when its queue has failed
};

#endif
