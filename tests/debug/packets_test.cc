// Which packets of a queue may be running, by the indices, their headers and their signals.
#include "debug/packets.h"

extern "C" {
#include "debug/dispatch.h"
}

#include <gtest/gtest.h>
#include <hsa/amd_hsa_signal.h>

#include <cstring>
#include <vector>

namespace {

uint64_t gone; // the host has nothing there

bool Copy(const void * /*unused*/, void *to, uint64_t from, size_t size)
{
  if (from <= gone && gone - from < size)
    return false;
  memcpy(to, reinterpret_cast<const void *>(from), size);
  return true;
}

class Packets : public testing::Test {
protected:
  static constexpr uint32_t size = 16;

  void SetUp() override
  {
    gone = 1;
    queue_.base_address = ring_;
    queue_.size = size;
    for (uint64_t i = 0; i < size; ++i)
      Put(i, HSA_PACKET_TYPE_INVALID, &ended_);
  }

  void Put(uint64_t index, uint16_t type, amd_signal_t *signal = nullptr)
  {
    hsa_kernel_dispatch_packet_t &packet = ring_[index % size];
    packet = {};
    packet.header = type;
    packet.kernel_object = index;
    packet.completion_signal.handle = reinterpret_cast<uint64_t>(signal);
  }

  std::vector<uint64_t> Found(uint64_t read, uint64_t write, const uint64_t *failed = nullptr,
                              const uint64_t *oldest = nullptr)
  {
    const debug_packets_t packets = {&queue_, read, write, failed, Copy, nullptr, oldest};
    std::vector<uint64_t> found;
    hsa_kernel_dispatch_packet_t packet;
    uint64_t next = packets_first(&packets);
    while (packets_next(&packets, &next, &packet)) {
      EXPECT_EQ(packet.kernel_object, next - 1);
      found.push_back(next - 1);
    }
    return found;
  }
  using List = std::vector<uint64_t>;

  amd_signal_t ended_ = {};
  hsa_kernel_dispatch_packet_t ring_[size] = {};
  hsa_queue_t queue_ = {};
};

TEST_F(Packets, OfAnEmptyQueueThereAreNone)
{
  EXPECT_EQ(Found(0, 0), List());
  Put(0, HSA_PACKET_TYPE_KERNEL_DISPATCH);
  EXPECT_EQ(Found(0, 0), List());
}

TEST_F(Packets, FromTheOneThatFailedOn)
{
  for (uint64_t i = 20; i < 26; ++i)
    Put(i, i == 24 ? HSA_PACKET_TYPE_BARRIER_AND : HSA_PACKET_TYPE_KERNEL_DISPATCH);
  const uint64_t failed = 22;
  EXPECT_EQ(Found(23, 26, &failed), (List{22, 23, 25}));
  Put(22, HSA_PACKET_TYPE_INVALID); // which it became when it was taken
  EXPECT_EQ(Found(22, 26, &failed), (List{22, 23, 25}));
}

TEST_F(Packets, WhatIsReservedAndNotWrittenIsNotThere)
{
  Put(3, HSA_PACKET_TYPE_KERNEL_DISPATCH);
  EXPECT_EQ(Found(3, 5), List{3});
  Put(4, HSA_PACKET_TYPE_INVALID);
  EXPECT_EQ(Found(3, 5), List{3});
}

// Without anybody who says which failed: what was taken is running until a signal says that it has ended.
TEST_F(Packets, BackToOneThatHasEnded)
{
  amd_signal_t ended = {}, runs = {};
  runs.value = 1;
  Put(10, HSA_PACKET_TYPE_INVALID, &runs);
  Put(11, HSA_PACKET_TYPE_INVALID, &ended);
  Put(12, HSA_PACKET_TYPE_INVALID); // no signal
  Put(13, HSA_PACKET_TYPE_INVALID, &runs);
  Put(14, HSA_PACKET_TYPE_KERNEL_DISPATCH, &ended);
  EXPECT_EQ(Found(14, 15), (List{12, 13, 14}));
  ended.value = -1;
  EXPECT_EQ(Found(14, 15), (List{12, 13, 14}));
  gone = reinterpret_cast<uint64_t>(&ended.value); // whether it has is not known
  EXPECT_EQ(Found(14, 15), (List{10, 11, 12, 13, 14}));
}

TEST_F(Packets, NotBeyondWhatTheRingHolds)
{
  for (uint64_t i = 0; i < size; ++i)
    Put(100 + i, HSA_PACKET_TYPE_KERNEL_DISPATCH);
  EXPECT_EQ(Found(100, 100 + size).size(), size); // 99 is written over
  EXPECT_EQ(Found(100, 100 + size).front(), 100u);
  const uint64_t failed = 98;
  EXPECT_EQ(Found(100, 100 + size, &failed).front(), 100u);
  EXPECT_EQ(Found(110, 100 + size).front(), 102u); // and a few at most
}

TEST_F(Packets, NoMoreThanThereAreWhateverTheProgramWrites)
{
  for (uint64_t i = 0; i < size; ++i)
    ring_[i].header = HSA_PACKET_TYPE_KERNEL_DISPATCH;
  const uint64_t failed = 1;
  for (const uint64_t *known : {static_cast<const uint64_t *>(nullptr), &failed})
    for (const uint64_t read : {uint64_t{0}, uint64_t{5}, UINT64_MAX}) {
      const debug_packets_t packets = {&queue_, read,    UINT64_MAX - 7, known,
                                       Copy,    nullptr, nullptr};
      hsa_kernel_dispatch_packet_t packet;
      uint64_t next = packets_first(&packets), count = 0;
      while (count <= size && packets_next(&packets, &next, &packet))
        ++count;
      EXPECT_LE(count, size) << read;
    }
}

TEST_F(Packets, OfARingThatIsGoneThereAreNone)
{
  Put(0, HSA_PACKET_TYPE_KERNEL_DISPATCH);
  Put(1, HSA_PACKET_TYPE_KERNEL_DISPATCH);
  gone = reinterpret_cast<uint64_t>(&ring_[0]);
  EXPECT_EQ(Found(0, 2), List{1});
}

// A kernel whose arguments are preloaded begins behind what loads them for older firmware: offsets are from there, and an
// address in the object is the instruction's own.
TEST(DebugDispatch, AnAddressInTheObjectIsTheInstructions)
{
  for (uint8_t preload : {0, 4}) {
    const uint64_t first = 0x1600u + (preload ? 256 : 0), loaded = 0x7f0000000000;
    rawhal_descriptor_t descriptor = {};
    descriptor.address = 0x5c0;
    descriptor.entry = 0x1600;
    descriptor.preload_length = preload;
    debug_dispatch_t dispatch = {};
    dispatch.kernel_object = loaded + descriptor.address;
    rawhal_fault_t fault = {};
    fault.known = RAWHAL_FAULT_KNOWS_DISPATCH | RAWHAL_FAULT_KNOWS_PC;
    fault.pc = loaded + first + 92;
    fault.pc_offset = 92;
    dispatch_failed(&dispatch, &descriptor, &fault);
    EXPECT_EQ(fault.object_address, first + 92);
    EXPECT_EQ(fault.entry, loaded + first);
    EXPECT_TRUE(fault.known & RAWHAL_FAULT_KNOWS_OBJECT);
  }
}

} // namespace
