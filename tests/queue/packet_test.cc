// Golden packets, derived by hand from the AQL packet tables of the HSA specification, written into
// poisoned memory: every byte is accounted for, and none outside of the slot is touched.
#include "ring_shim.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace {

constexpr uint8_t poison = 0xFD;

struct alignas(64) Slots { // one slot with poison on both sides
  Slots() { bytes.fill(poison); }
  void *slot() { return bytes.data() + 64; }
  std::array<uint8_t, 192> bytes;
};

// Bytes 0..63 of the slot are `expected`, everything around is poison.
void expect_slot(const Slots &slots, const std::array<uint8_t, 64> &expected)
{
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(slots.bytes[i], poison) << "before the slot";
    EXPECT_EQ(slots.bytes[64 + i], expected[i]) << "byte " << i;
    EXPECT_EQ(slots.bytes[128 + i], poison) << "after the slot";
  }
}

TEST(Packet, DispatchByteByByte)
{
  rawhal_device_kernel_info_t kernel = {};
  kernel.private_segment_size = 0x41424344;
  kernel.group_segment_size = 0x51525350;
  kernel.kernel_object = 0x6162636465666768;
  rawhal_dispatch_t dispatch = {};
  dispatch.work_items[0] = 0x01020304;
  dispatch.work_items[1] = 0x11121314;
  dispatch.work_items[2] = 0x21222324;
  dispatch.workgroup[0] = 0x0102;
  dispatch.workgroup[1] = 0x0304;
  dispatch.workgroup[2] = 0x0506;
  dispatch.dynamic_lds = 4;
  Slots slots;
  shim_packet_dispatch(slots.slot(), &dispatch, &kernel, 0x7172737475767778, 0x8182838485868788);
  std::array<uint8_t, 64> expected = {
      poison, poison, poison, poison,                         // 0  header, setup: not yet
      0x02,   0x01,   0x04,   0x03,   0x06, 0x05,             // 4  workgroup_size_x, y, z
      0,      0,                                              // 10 reserved0
      0x04,   0x03,   0x02,   0x01,                           // 12 grid_size_x
      0x14,   0x13,   0x12,   0x11,                           // 16 grid_size_y
      0x24,   0x23,   0x22,   0x21,                           // 20 grid_size_z
      0x44,   0x43,   0x42,   0x41,                           // 24 private_segment_size
      0x54,   0x53,   0x52,   0x51,                           // 28 group_segment_size
      0x68,   0x67,   0x66,   0x65,   0x64, 0x63, 0x62, 0x61, // 32 kernel_object
      0x78,   0x77,   0x76,   0x75,   0x74, 0x73, 0x72, 0x71, // 40 kernarg_address
      0,      0,      0,      0,      0,    0,    0,    0,    // 48 reserved2
      0x88,   0x87,   0x86,   0x85,   0x84, 0x83, 0x82, 0x81, // 56 completion_signal
  };
  expect_slot(slots, expected);
  // type 2 (bits 7:0), barrier (bit 8), acquire 2 (bits 10:9), release 2 (bits 12:11) = 0x1502;
  // setup: 3 dimensions.
  shim_packet_publish(slots.slot(), shim_packet_header(2, 0));
  expected[0] = 0x02;
  expected[1] = 0x15;
  expected[2] = 0x03;
  expected[3] = 0x00;
  expect_slot(slots, expected);
}

TEST(Packet, BarrierByteByByte)
{
  Slots slots;
  shim_packet_barrier(slots.slot(), 0x8182838485868788);
  std::array<uint8_t, 64> expected = {};
  for (size_t i = 0; i < 4; ++i)
    expected[i] = poison;
  for (size_t i = 0; i < 8; ++i)
    expected[56 + i] = static_cast<uint8_t>(0x88 - i);
  expect_slot(slots, expected);
  shim_packet_publish(slots.slot(), shim_packet_header(3, 0)); // BARRIER_AND has no setup
  expected[0] = 0x03;
  expected[1] = 0x15;
  expected[2] = expected[3] = 0;
  expect_slot(slots, expected);
}

// hsa_ext_amd.h, hsa_amd_barrier_value_packet_t: signal at 8, value at 16, mask at 24, condition at
// 32 (2 is LT), completion at 56; the format byte (2) at 2 of the first dword.
TEST(Packet, BarrierValueByteByByte)
{
  Slots slots;
  shim_packet_barrier_value(slots.slot(), 0x8182838485868788, -0x10);
  std::array<uint8_t, 64> expected = {};
  for (size_t i = 0; i < 4; ++i)
    expected[i] = poison;
  for (size_t i = 0; i < 8; ++i) {
    expected[8 + i] = static_cast<uint8_t>(0x88 - i);
    expected[16 + i] = i == 0 ? 0xF1 : 0xFF; // less than -15
    expected[24 + i] = 0xFF;
  }
  expected[32] = 2;
  expect_slot(slots, expected);
  shim_packet_publish(slots.slot(), shim_packet_header_barrier_value());
  expected[0] = 0x00; // type 0, vendor specific
  expected[1] = 0x15; // barrier bit, both scopes the system's
  expected[2] = 0x02;
  expected[3] = 0x00;
  expect_slot(slots, expected);
}

TEST(Packet, FlagsInTheHeader)
{
  // OVERLAP drops bit 8; AGENT_SCOPE makes both scopes 1.
  EXPECT_EQ(shim_packet_header(2, RAWHAL_DISPATCH_OVERLAP), 0x00031402u);
  EXPECT_EQ(shim_packet_header(2, RAWHAL_DISPATCH_AGENT_SCOPE), 0x00030B02u);
  EXPECT_EQ(shim_packet_header(2, RAWHAL_DISPATCH_AGENT_SCOPE | RAWHAL_DISPATCH_OVERLAP),
            0x00030A02u);
  EXPECT_EQ(shim_packet_header(2, RAWHAL_DISPATCH_CLAMP | RAWHAL_DISPATCH_KEEP_HIDDEN),
            0x00031502u);
}

} // namespace
