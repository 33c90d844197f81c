// Images and samplers by values worked out by hand, on both engines: what the documents say, and what
// docs/softgpu-instructions.md says is decided.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "tests/softgpu/isa/device.h"

extern "C" {
#include "softgpu/isa/describe/opcodes.h"
#include "softgpu/isa/exec/memory/sample.h"
#include "softgpu/isa/reference/reference.h"
#include "softgpu/isa/run/program.h"
#include "softgpu/isa/run/width.h"
}

namespace {

enum { UNORM, SNORM, USCALED, SSCALED, UINT, SINT, RESERVED, FLOAT, SRGB = 9 };
enum { X = 4, Y, Z, W };
enum { A8 = 1, A16 = 2, A32 = 4, RGBA8 = 10, RG32 = 11, RGBA32 = 14, RGB565 = 16, RGBA5551 = 17 };

// Numbers of the opcodes.
enum {
  LOAD = 0,
  LOAD_MIP,
  LOAD_PCK,
  LOAD_PCK_SGN,
  STORE = 8,
  STORE_PCK = 10,
  RESINFO = 14,
  ATOMIC_CMPSWAP = 17,
  ATOMIC_ADD,
  SAMPLE = 32
};
enum { UNNORMALIZED = 1 << 12, GLC = 1 << 13, DA = 1 << 14, SHORT = 1 << 15, LWE = 1 << 17 };

uint32_t f(float value)
{
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return bits;
}

const uint32_t BEFORE = 0xdddddddd;

// One lane with an image at s[0:7], a sampler at s[8:11], an address from v0 and data from v8 on.
class Images : public testing::TestWithParam<bool> {
protected:
  device::Memory memory{65536};
  uint32_t t[8] = {}, s[4] = {};
  softgpu_fault_t fault;
  bool sram_ecc = true, has_d16 = false;

  void describe(unsigned type, unsigned data, unsigned number, std::vector<uint32_t> sizes,
                std::vector<unsigned> select = {X, Y, Z, W})
  {
    sizes.resize(3, 1);
    const uint64_t base = memory.address() >> 8;
    t[0] = uint32_t(base);
    t[1] = uint32_t(base >> 32) | data << 20 | number << 26;
    t[2] = (sizes[0] - 1) | (sizes[1] - 1) << 14;
    t[3] = type << 28;
    for (unsigned i = 0; i < 4; ++i)
      t[3] |= select[i] << 3 * i;
    t[4] = (sizes[2] - 1) | (sizes[0] - 1) << 13;
    t[5] = t[6] = t[7] = 0;
  }

  // Registers v8 to v11 afterwards; empty for a fault.
  std::vector<uint32_t> run(unsigned number, unsigned dmask, std::vector<uint32_t> address,
                            std::vector<uint32_t> data = std::vector<uint32_t>(4, BEFORE),
                            uint32_t flags = UNNORMALIZED)
  {
    const uint32_t sampler = number == SAMPLE ? 2u << 21 : 0;
    const uint32_t words[2] = {0xf0000000 | number << 18 | dmask << 8 | flags,
                               8u << 8 | sampler | uint32_t(has_d16) << 31};
    isa_inst_t decoded, prepared;
    isa_limits_t limits = {};
    limits.sgprs = 102;
    limits.lanes = ISA_LANES;
    limits.vgprs = 16;
    EXPECT_EQ(isa_decode(SOFTGPU_GFX90A, words, 2, &decoded), ISA_DECODED);
    prepared = decoded;
    EXPECT_TRUE(isa_prepare(&prepared, &limits));
    static isa_row_t rows[16];
    isa_thread_t thread = {};
    isa_wave_t wave = {};
    softgpu_dispatch_t dispatch = {};
    memset(rows, 0, sizeof rows);
    for (size_t i = 0; i < address.size(); ++i)
      rows[i][0] = address[i];
    for (size_t i = 0; i < data.size(); ++i)
      rows[8 + i][0] = data[i];
    memcpy(wave.s, t, sizeof t);
    memcpy(wave.s + 8, s, sizeof s);
    isa_write_s64(&wave, ISA_EXEC, 1);
    fault = {};
    dispatch.sram_ecc = sram_ecc;
    wave.v = rows;
    wave.sgprs = 102;
    wave.lanes = ISA_LANES;
    wave.vgprs = 16;
    wave.thread = &thread;
    wave.fault = &fault;
    wave.dispatch = &dispatch;
    if (!(GetParam() ? isa_reference_run(&wave, &decoded) : prepared.run(&wave, &prepared)))
      return {};
    return {rows[8][0], rows[9][0], rows[10][0], rows[11][0]};
  }

  template <typename T> void fill(const std::vector<T> &values, size_t at = 0)
  {
    memcpy(memory.as<uint8_t>() + at, values.data(), values.size() * sizeof(T));
  }

  std::vector<uint32_t> sample(std::vector<float> at, uint32_t flags = 0)
  {
    std::vector<uint32_t> address;
    for (float each : at)
      address.push_back(f(each));
    return run(SAMPLE, 15, address, std::vector<uint32_t>(4, BEFORE), flags);
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, Images, testing::Bool(),
                         [](const auto &engine) { return engine.param ? "reference" : "fast"; });

using Values = std::vector<uint32_t>;

TEST_P(Images, TexelsAreConverted)
{
  fill<uint32_t>({0x8001ff00, 0xf801, 0});
  describe(ISA_IMAGE_2D, RGBA8, UNORM, {1, 1});
  EXPECT_EQ(run(LOAD, 15, {0, 0}), Values({0, f(1), f(1 / 255.0f), f(128 / 255.0f)}));
  EXPECT_EQ(run(LOAD, 10, {0, 0}), Values({f(1), f(128 / 255.0f), BEFORE, BEFORE}));
  describe(ISA_IMAGE_2D, RGBA8, SRGB, {1, 1});
  const Values linear = run(LOAD, 15, {0, 0});
  ASSERT_EQ(linear.size(), 4u);
  EXPECT_EQ(linear[1], f(1));
  EXPECT_EQ(linear[2], f(float(1 / 255.0 / 12.92)));
  EXPECT_EQ(linear[3], f(128 / 255.0f)) << "the fourth is linear already";
  describe(ISA_IMAGE_2D, RGBA8, SINT, {1, 1}, {Z, Y, X, 1});
  EXPECT_EQ(run(LOAD, 15, {0, 0}), Values({1, 0xffffffff, 0, 1}));
  describe(ISA_IMAGE_1D, RGB565, UNORM, {8}, {Z, Y, X, 1}); // red is in the highest bits
  EXPECT_EQ(run(LOAD, 15, {2}), Values({f(1), 0, f(1 / 31.0f), f(1)}));
  describe(ISA_IMAGE_1D, RGBA5551, UNORM, {8});
  EXPECT_EQ(run(LOAD, 15, {2}), Values({f(1 / 31.0f), 0, f(30 / 31.0f), f(1)}));
}

TEST_P(Images, StoresWriteWholeTexels)
{
  fill<uint32_t>({BEFORE, BEFORE});
  describe(ISA_IMAGE_2D, RGBA8, UNORM, {2, 1});
  EXPECT_FALSE(run(STORE, 5, {1, 0}, {f(1), f(0.2f)}).empty());
  EXPECT_EQ(memory.as<uint32_t>()[1], 0x003300ffu) << "components without a register become 0";
  EXPECT_EQ(memory.as<uint32_t>()[0], BEFORE);
  describe(ISA_IMAGE_2D, RGBA8, UNORM, {2, 1}, {Z, Y, X, W});
  run(STORE, 15, {0, 0}, {f(1), f(0.2f), 0, f(1)});
  EXPECT_EQ(memory.as<uint32_t>()[0], 0xffff3300u) << "where a load would find them";
  run(STORE, 0, {0, 0}, {0});
  EXPECT_EQ(memory.as<uint32_t>()[0], 0xffff3300u);
  describe(ISA_IMAGE_1D, A8, UINT, {64}, {0, 0, 0, X}); // the order A
  run(STORE, 15, {9}, {1, 2, 3, 400});
  EXPECT_EQ(memory.as<uint8_t>()[9], 255);
}

TEST_P(Images, BeyondThereIsNothing)
{
  fill<uint32_t>({1, 2, 3, 4, 5, 6});
  describe(ISA_IMAGE_2D, A32, UINT, {2, 3}, {X, 0, 0, 1});
  const std::vector<Values> outside = {{2, 0}, {0, 3}, {0xffffffff, 0}, {0, 0x80000000}};
  for (const Values &at : outside) {
    EXPECT_EQ(run(LOAD, 15, at), Values({0, 0, 0, 1}));
    EXPECT_FALSE(run(STORE, 1, at, {77}).empty());
    EXPECT_EQ(run(ATOMIC_ADD, 1, at, {77}, UNNORMALIZED | GLC)[0], 0u);
  }
  for (uint32_t i = 0; i < 6; ++i)
    EXPECT_EQ(memory.as<uint32_t>()[i], i + 1);
  EXPECT_EQ(run(LOAD_MIP, 1, {1, 2, 0})[0], 6u);
  EXPECT_EQ(run(LOAD_MIP, 1, {1, 2, 1})[0], 0u) << "there is one level";
}

TEST_P(Images, LayersBeginWithTheViewsFirst)
{
  std::vector<uint32_t> numbers(2 * 2 * 4);
  for (uint32_t i = 0; i < numbers.size(); ++i)
    numbers[i] = i;
  fill(numbers);
  describe(ISA_IMAGE_2D_ARRAY, A32, UINT, {2, 2, 4});
  EXPECT_EQ(run(LOAD, 1, {1, 1, 3}, {0}, DA)[0], 15u);
  t[5] = 1;
  EXPECT_EQ(run(LOAD, 1, {1, 1, 2}, {0}, DA)[0], 15u);
  EXPECT_EQ(run(LOAD, 1, {1, 1, 3}, {0}, DA)[0], 0u);
  EXPECT_EQ(run(LOAD, 1, {1, 1, 2}, {0}, 0)[0], 7u) << "not declared an array: its first layer";
  describe(ISA_IMAGE_1D_ARRAY, A32, UINT, {4, 1, 4});
  t[2] |= 0x3fffu << 14; // what ROCr has there for a height of 0
  EXPECT_EQ(run(LOAD, 1, {2, 3}, {0}, DA)[0], 14u);
  describe(ISA_IMAGE_3D, A32, UINT, {2, 2, 4});
  EXPECT_EQ(run(LOAD, 1, {1, 0, 3})[0], 13u);
  EXPECT_EQ(run(LOAD, 1, {1, 0, 4})[0], 0u);
}

TEST_P(Images, ShortAddressesAndShortData)
{
  fill<uint32_t>({0, 0, 0, 0, 0x44332211});
  describe(ISA_IMAGE_2D, RGBA8, UINT, {2, 3});
  EXPECT_EQ(run(LOAD, 15, {0x00020000}, Values(4, BEFORE), SHORT),
            Values({0x11, 0x22, 0x33, 0x44}));
  has_d16 = true;
  EXPECT_EQ(run(LOAD, 7, {0, 2}), Values({0x00220011, 0x00000033, BEFORE, BEFORE}));
  sram_ecc = false;
  EXPECT_EQ(run(LOAD, 7, {0, 2}), Values({0x00220011, 0xdddd0033, BEFORE, BEFORE}));
  run(STORE, 10, {1, 2}, {0x00770066});
  EXPECT_EQ(memory.as<uint32_t>()[5], 0x77006600u);
}

TEST_P(Images, PackedTexelsAreNotConverted)
{
  fill<uint32_t>({0x8000ff80, 1, 2, 3});
  describe(ISA_IMAGE_1D, RGBA8, UNORM, {2});
  EXPECT_EQ(run(LOAD_PCK, 1, {0})[0], 0x8000ff80u);
  describe(ISA_IMAGE_1D, RGBA32, FLOAT, {1}, {0, 0, 0, 0});
  EXPECT_EQ(run(LOAD_PCK, 15, {0}), Values({0x8000ff80, 1, 2, 3}));
  describe(ISA_IMAGE_1D, A8, UNORM, {8});
  EXPECT_EQ(run(LOAD_PCK, 1, {0})[0], 0x80u);
  EXPECT_EQ(run(LOAD_PCK_SGN, 1, {0})[0], 0xffffff80u);
  run(STORE_PCK, 1, {1}, {0x12345678});
  EXPECT_EQ(memory.as<uint32_t>()[0], 0x80007880u);
}

TEST_P(Images, Atomics)
{
  fill<uint64_t>({5, 0x100000002});
  describe(ISA_IMAGE_1D, A32, UINT, {4});
  EXPECT_EQ(run(ATOMIC_ADD, 1, {0}, {2})[0], 2u);
  EXPECT_EQ(run(ATOMIC_ADD, 1, {0}, {2}, GLC)[0], 7u);
  EXPECT_EQ(run(ATOMIC_CMPSWAP, 3, {0}, {50, 9}, GLC)[0], 9u);
  EXPECT_EQ(memory.as<uint32_t>()[0], 50u);
  describe(ISA_IMAGE_1D, RG32, UINT, {2});
  const Values old = run(ATOMIC_ADD, 3, {1}, {0xffffffff, 0}, GLC);
  EXPECT_EQ(Values({old[0], old[1]}), Values({2, 1}));
  EXPECT_EQ(memory.as<uint64_t>()[1], 0x200000001u);
}

TEST_P(Images, AnImageTellsItsSizes)
{
  describe(ISA_IMAGE_2D, 0, 0, {300, 200}); // of whatever format
  EXPECT_EQ(run(RESINFO, 15, {0}), Values({300, 200, 0, 1}));
  EXPECT_EQ(run(RESINFO, 15, {1}), Values({0, 0, 0, 1}));
  EXPECT_EQ(run(RESINFO, 8, {0}), Values({1, BEFORE, BEFORE, BEFORE}));
  t[3] |= 3 << 16;
  EXPECT_EQ(run(RESINFO, 15, {2}), Values({75, 50, 0, 4}));
  describe(ISA_IMAGE_3D, 0, 0, {3, 2, 5});
  EXPECT_EQ(run(RESINFO, 15, {0}), Values({3, 2, 5, 1}));
  describe(ISA_IMAGE_1D_ARRAY, 0, 0, {3, 1, 5});
  EXPECT_EQ(run(RESINFO, 15, {0}), Values({3, 5, 0, 1}));
}

// --- sampling ---

TEST_P(Images, PointsAreNearestTexels)
{
  fill<float>({10, 20, 30, 40});
  describe(ISA_IMAGE_1D, A32, FLOAT, {4}, {X, 0, 0, 1});
  s[0] = ISA_CLAMP_EDGE;
  EXPECT_EQ(sample({0.3f}), Values({f(20), 0, 0, f(1)}));
  EXPECT_EQ(sample({1.9f}, UNNORMALIZED)[0], f(20));
  EXPECT_EQ(sample({-5})[0], f(10));
  EXPECT_EQ(sample({INFINITY})[0], f(40));
  EXPECT_EQ(sample({NAN})[0], f(10));
  EXPECT_EQ(sample({1 - 1 / 1024.0f}, UNNORMALIZED)[0], f(20)) << "to the nearest 256th";
  s[0] |= 1 << 27;
  EXPECT_EQ(sample({1 - 1 / 1024.0f}, UNNORMALIZED)[0], f(10)) << "or cut off";
}

TEST_P(Images, BetweenTexelsThereAre256Steps)
{
  fill<float>({0, 256, 1024, 0});
  describe(ISA_IMAGE_1D, A32, FLOAT, {4}, {X, 0, 0, 1});
  s[0] = ISA_CLAMP_EDGE;
  s[2] = 5 << 20;
  EXPECT_EQ(sample({1.5f}, UNNORMALIZED)[0], f(256));
  EXPECT_EQ(sample({1}, UNNORMALIZED)[0], f(128));
  EXPECT_EQ(sample({0.5f + 3 / 256.0f}, UNNORMALIZED)[0], f(3));
  EXPECT_EQ(sample({0.5f + 3 / 256.0f + 1 / 4096.0f}, UNNORMALIZED)[0], f(3));
  EXPECT_EQ(sample({0.1f}, UNNORMALIZED)[0], f(0));
  fill<float>({0, 4, 8, 16}); // two rows
  describe(ISA_IMAGE_2D, A32, FLOAT, {2, 2});
  EXPECT_EQ(sample({1, 1}, UNNORMALIZED)[0], f(7));
  fill<uint32_t>({0, 4, 8, 16});
  describe(ISA_IMAGE_1D, A32, UINT, {4});
  EXPECT_EQ(sample({1.9f}, UNNORMALIZED)[0], 4u) << "integers are not blended";
}

TEST_P(Images, BeyondTheEdge)
{
  struct {
    unsigned clamp;
    float at[6];
  } rows[] = {{ISA_CLAMP_WRAP, {40, 10, 30, 20, 40, 10}},
              {ISA_CLAMP_MIRROR, {10, 40, 20, 30, 10, 40}},
              {ISA_CLAMP_EDGE, {10, 40, 10, 40, 10, 40}},
              {ISA_CLAMP_MIRROR_ONCE_EDGE, {10, 40, 20, 40, 40, 40}},
              {ISA_CLAMP_BORDER, {1, 1, 1, 1, 1, 1}},
              {ISA_CLAMP_MIRROR_ONCE_BORDER, {10, 1, 20, 1, 1, 1}}};
  const float xs[6] = {-0.5f, 4.5f, -1.5f, 5.5f, -8.5f, 12.5f};
  fill<float>({10, 20, 30, 40});
  describe(ISA_IMAGE_1D, A32, FLOAT, {4}, {X, 0, 0, 1});
  s[3] = 2u << 30; // opaque white
  for (const auto &row : rows)
    for (unsigned i = 0; i < 6; ++i) {
      s[0] = row.clamp;
      EXPECT_EQ(sample({xs[i]}, UNNORMALIZED)[0], f(row.at[i]))
          << "clamp " << row.clamp << " at " << xs[i];
    }
}

TEST_P(Images, BorderColours)
{
  describe(ISA_IMAGE_1D, RGBA8, UNORM, {4});
  s[0] = ISA_CLAMP_BORDER;
  EXPECT_EQ(sample({9}, UNNORMALIZED), Values({0, 0, 0, 0}));
  s[3] = 1u << 30;
  EXPECT_EQ(sample({9}, UNNORMALIZED), Values({0, 0, 0, f(1)}));
  describe(ISA_IMAGE_1D, RGBA8, UNORM, {4}, {Y, Z, W, X}); // alpha in the lowest bits
  t[4] |= 3u << 29;
  EXPECT_EQ(sample({9}, UNNORMALIZED), Values({0, 0, 0, f(1)}));
}

TEST_P(Images, LayersAreTheNearest)
{
  fill<float>({0, 1, 2, 3});
  describe(ISA_IMAGE_1D_ARRAY, A32, FLOAT, {1, 1, 4});
  EXPECT_EQ(sample({0, 1.6f}, DA)[0], f(2));
  EXPECT_EQ(sample({0, 2.5f}, DA)[0], f(2)) << "to even";
  EXPECT_EQ(sample({0, 99}, DA)[0], f(3));
  EXPECT_EQ(sample({0, -2}, DA)[0], f(0));
}

// --- what cannot be ---

TEST_P(Images, WhatCannotBeUsedIsRefusedWithWords)
{
  struct {
    unsigned number;
    uint32_t word, bits, flags; // changed in the descriptors, the sampler behind the image
    const char *why;
  } rows[] = {
      {LOAD, 3, 2u << 28, 0, "not that of an image"}, // a cube
      {LOAD, 1, 63u << 20, 0, "format"},
      {LOAD, 1, 1u << 26, 0, "format"}, // a number format that there is not
      {LOAD, 3, 13u << 20, 0, "layout"},
      {LOAD, 3, 1u << 16, 0, "levels"},
      {LOAD, 5, 1u << 28, 0, "levels"},
      {LOAD, 6, 1u << 21, 0, "compressed"},
      {ATOMIC_ADD, 1, 14u << 20 ^ 4u << 20, 0, "atomic"},
      {SAMPLE, 10, 1u << 20, 0, "filter"}, // magnifies otherwise than it minifies
      {SAMPLE, 8, 1u << 29, 0, "filter"},
      {SAMPLE, 11, 3u << 30, 0, "border"},
      {SAMPLE, 8, 4, 0, "clamp"},
      {SAMPLE, 0, 0, LWE, "lwe"},
  };
  for (const auto &row : rows) {
    describe(ISA_IMAGE_2D, A32, row.number == ATOMIC_ADD ? UINT : FLOAT, {4, 4});
    memset(s, 0, sizeof s);
    uint32_t *word = row.word < 8 ? &t[row.word] : &s[row.word - 8];
    *word ^= row.bits;
    EXPECT_TRUE(run(row.number, 1, {0, 0}, {0}, row.flags).empty()) << row.why;
    EXPECT_EQ(fault.kind, SOFTGPU_FAULT_IMAGE) << row.why;
    EXPECT_NE(std::string(isa_image_reason(fault.address)).find(row.why), std::string::npos)
        << isa_image_reason(fault.address);
  }
  describe(ISA_IMAGE_3D, A32, FLOAT, {4, 4, 4});
  s[2] = 5 << 20;
  EXPECT_TRUE(run(SAMPLE, 1, {0, 0, 0}).empty());
  EXPECT_NE(std::string(isa_image_reason(fault.address))
                .find("linear filter for images of three dimensions"),
            std::string::npos);
  describe(ISA_IMAGE_1D, RGBA8, SRGB, {4});
  EXPECT_TRUE(run(STORE, 15, {0}, Values(4)).empty());
  EXPECT_NE(std::string(isa_image_reason(fault.address)).find("sRGB"), std::string::npos);
}

TEST_P(Images, MemoryThatIsNotThereIsAFault)
{
  describe(ISA_IMAGE_1D, A32, UINT, {8192});
  t[4] |= 0xffffu << 13;
  t[0] += 128; // 32 KiB of the image are left
  EXPECT_FALSE(run(LOAD, 1, {8191}).empty());
  EXPECT_TRUE(run(STORE, 1, {0}, {1}, UNNORMALIZED).size());
  t[0] += 127;
  EXPECT_TRUE(run(LOAD, 1, {64}).empty());
  EXPECT_EQ(fault.kind, SOFTGPU_FAULT_MEMORY);
  EXPECT_EQ(fault.address, memory.address() + memory.size());
}

TEST(ImageFaults, TheReportSaysWhy)
{
  // s_mov_b32 s7, 0; image_load v0, v[0:1], s[4:11] dmask:0x1 unorm; s_endpgm
  device::Kernel kernel({0xbe870080, 0xf0001100, 0x00010000, 0xbf810000});
  device::Memory kernarg(64);
  auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>());
  dispatch.checks = SOFTGPU_CHECK_LDS | SOFTGPU_CHECK_KERNARG; // which have nothing to say of it
  const device::Result result = device::run(dispatch);
  const std::string text = result.fault.text;
  EXPECT_EQ(result.fault.kind, SOFTGPU_FAULT_IMAGE);
  EXPECT_NE(text.find("unusable image at pc"), std::string::npos) << text;
  EXPECT_NE(text.find("image_load v0, v0, s[4:11] dmask:0x1 unorm"), std::string::npos) << text;
  EXPECT_NE(text.find(": the descriptor is not that of an image of one to three dimensions"),
            std::string::npos)
      << text;
}

} // namespace
