// Scalar loads that are longer than what the program has: compilers have no loads of 3 dwords, nor of
// 5 to 7 or 9 to 15.
#include <gtest/gtest.h>

#include "tests/softgpu/isa/device.h"

namespace {

class Scalar : public testing::TestWithParam<bool> {
protected:
  void SetUp() override { softgpu_engine_reference(GetParam()); }
  void TearDown() override { softgpu_engine_reference(false); }

  // Loads so many dwords and stores the last.
  static device::Kernel kernel(unsigned dwords)
  {
    const uint32_t loads[] = {0xc00a0401, 0xc00e0401,
                              0xc0120401}; // s_load_dwordx4 s[16:19], s[2:3]
    return device::Kernel({
        0xc0060080, 0,                  // s_load_dwordx2 s[2:3], s[0:1], 0x0
        0xc0060100, 8,                  // s_load_dwordx2 s[4:5], s[0:1], 0x8
        0xbf8c0000,                     // s_waitcnt 0
        loads[dwords / 8], 0,           // 0, 1 and 2
        0xbf8c0000,                     // s_waitcnt 0
        0x7e000204, 0x7e020205,         // v_mov_b32 v0, s4; v_mov_b32 v1, s5
        0x7e040200 | (16 + dwords - 1), // v_mov_b32 v2, the last
        0xdc708000, 0x007f0200,         // global_store_dword v[0:1], v2, off
        0xbf810000,                     // s_endpgm
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, Scalar, testing::Bool(),
                         [](const auto &engine) { return engine.param ? "reference" : "fast"; });

TEST_P(Scalar, LoadsMayEndInPadding)
{
  static const struct {
    unsigned dwords, from, size; // of memory that begins at a page
    bool good;
  } rows[] = {
      {4, 48, 64, true},   {4, 48, 60, true},  // 3 dwords at 16
      {4, 48, 58, true},                       // and the third has 2 bytes
      {4, 40, 52, true},                       // 3 at 8
      {4, 52, 64, false},                      // 3 at 4, of which a load of 2 and one of 1 are made
      {4, 48, 56, false},  {4, 48, 52, false}, // 2 are a load of their own
      {4, 64, 64, false},  {8, 32, 52, true},  // 5 at 32
      {8, 8, 36, true},                        // 7 at 8
      {8, 8, 32, false},                       // 6 at 8
      {8, 32, 48, false},  {16, 64, 100, true}, // 9 at 64
      {16, 16, 52, false},                      // 9 at 16
      {16, 0, 32, false},  {16, 4, 64, false},
  };
  device::Memory out(4096);
  for (const auto &row : rows) {
    SCOPED_TRACE(testing::Message() << row.dwords << " from " << row.from << " of " << row.size);
    device::Memory in(row.size);
    memset(in.as<char>(), 1, row.size);
    uint32_t *last = out.as<uint32_t>();
    *last = 5;
    const device::Kernel load = kernel(row.dwords);
    const uint64_t arguments[] = {in.address() + row.from, out.address()};
    device::Memory kernarg(sizeof(arguments));
    memcpy(kernarg.as<char>(), arguments, sizeof(arguments));
    for (int again = 0; again < 2; ++again) {
      const device::Result got =
          device::run(device::dispatch(load.object(), kernarg.as<char>(), 1, 1));
      EXPECT_EQ(got.ok, row.good) << got.fault.text;
      if (!got.ok) {
        EXPECT_EQ(got.fault.access_bytes, 4 * row.dwords) << "all of the load";
      }
      const bool is_padding = row.from + 4 * row.dwords > row.size;
      EXPECT_EQ(*last, !row.good ? 5 : is_padding ? 0 : 0x01010101u);
    }
  }
}

} // namespace
