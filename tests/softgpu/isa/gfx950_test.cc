// gfx950 from its bytes on: prefixes of scales, reads of LDS that transpose, wide loads into LDS, 160 KiB of it.
// The words are LLVM 21's.
#include <gtest/gtest.h>

#include "softgpu/softgpu.h"
#include "tests/softgpu/isa/device.h"
#include "tests/softgpu/isa/split_mix.h"

extern "C" {
#include "softgpu/isa/base/wave.h"
#include "softgpu/isa/run/program.h"
#include "softgpu/isa/run/width.h"
}

namespace {

std::string text_of(const std::vector<uint32_t> &words, unsigned *dwords)
{
  isa_inst_t inst;
  char text[200] = "";
  if (isa_decode(SOFTGPU_GFX950, words.data(), (uint32_t)words.size(), &inst) != ISA_DECODED)
    return "none";
  isa_text(&inst, text, sizeof text);
  *dwords = inst.dwords;
  return text;
}

TEST(Gfx950, ScalesAreAPrefixOfTheirMatrixInstruction)
{
  unsigned dwords = 0;
  const std::vector<uint32_t> scaled = {0xd3ac0800, 0x10024320, 0xd3ad8b00, 0x84122108};
  EXPECT_EQ(text_of(scaled, &dwords),
            "v_mfma_scale_f32_16x16x128_f8f6f4 a[0:3], v[8:13], v[16:19], "
            "a[4:7], v32, v33 op_sel:[1,0,0] op_sel_hi:[0,1,0] cbsz:3 blgp:4");
  EXPECT_EQ(dwords, 4u);
  EXPECT_EQ(text_of({0xd3ad0200, 0x84122108}, &dwords),
            "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[8:13], v[16:19], v[4:7] cbsz:2 blgp:4");
  EXPECT_EQ(dwords, 2u);
  EXPECT_EQ(text_of({0xd3ad0a00, 0x84122108}, &dwords), "none") << "says that there is a prefix";
  for (uint32_t other : {0xbf800000u, 0xffffffffu}) { // s_nop, and what is no instruction
    EXPECT_EQ(text_of({0xd3ac0800, 0x10024320, other, other}, &dwords),
              "v_mfma_ld_scale_b32 v32, v33 op_sel:[1,0] op_sel_hi:[0,1]");
    EXPECT_EQ(dwords, 2u) << "alone it has a name, and is illegal";
  }
  EXPECT_EQ(text_of({0xd3ad0500, 0x04122108}, &dwords), "none") << "there is no format 5";
  EXPECT_EQ(text_of({0xd2340400, 0xe40e0501}, &dwords), "v_bitop3_b32 v0, v1, v2, v3 bitop3:0x27");
  EXPECT_EQ(text_of({0xd3be0000, 0x04020501}, &dwords), "none") << "gfx942's xf32";
  isa_inst_t inst;
  for (uint32_t available = 1; available < 4; ++available)
    EXPECT_NE(isa_decode(SOFTGPU_GFX950, scaled.data(), available, &inst), ISA_DECODED);
}

TEST(Gfx950, CoverageKnowsIt)
{
  const std::vector<uint32_t> code = {
      0xd3ac0800, 0x10024320, 0xd3ad8b00, 0x84122108, // one instruction
      0xd9c60000, 0x00000001, 0xe05d1000, 0x80020004, 0xbf810000};
  std::string missing;
  auto note = [](void *to, uint64_t, const char *mnemonic, const char *, const uint32_t *) {
    *static_cast<std::string *>(to) += mnemonic ? mnemonic : "?";
  };
  EXPECT_EQ(softgpu_coverage(0x950, code.data(), code.size() * 4, note, &missing), 4u);
  EXPECT_EQ(missing, "");
}

struct Wave {
  isa_row_t v[16] = {};
  isa_wave_t wave = {};
  isa_thread_t thread = {};
  softgpu_dispatch_t dispatch = {};
  std::vector<uint8_t> lds;
  Wave() : lds(8192)
  {
    SplitMix random = {1};
    for (uint8_t &byte : lds)
      byte = (uint8_t)random();
    wave.v = v;
    wave.thread = &thread;
    wave.lanes = ISA_LANES, wave.vgprs = 16, wave.sgprs = 102;
    wave.lds = lds.data();
    wave.lds_bytes = (uint32_t)lds.size();
    wave.dispatch = &dispatch;
    isa_write_s64(&wave, ISA_EXEC, UINT64_MAX);
  }
};

// Bits [first, first + count) of memory.
uint32_t bits_at(const uint8_t *memory, unsigned first, unsigned count)
{
  uint32_t out = 0;
  for (unsigned i = 0; i < count; ++i)
    out |= (uint32_t)(memory[(first + i) / 8] >> (first + i) % 8 & 1) << i;
  return out;
}

TEST(Gfx950, TransposingReadsGiveColumns)
{
  // Rows of 16 elements lie in the memory of 16 lanes one after the other; lane i gets column i.
  const struct {
    uint32_t number;
    unsigned bits, bytes;
  } table[] = {{0xe0, 4, 8}, {0xe1, 6, 12}, {0xe2, 8, 8}, {0xe3, 16, 8}};
  for (const auto &row : table) {
    Wave w;
    const uint32_t words[] = {0xd8000000u | row.number << 17 | 64,
                              0x04000001u}; // v[4..], v1 offset:64
    isa_inst_t inst;
    isa_limits_t limits = {};
    limits.chip = SOFTGPU_GFX950, limits.lanes = ISA_LANES, limits.vgprs = 16, limits.sgprs = 102;
    ASSERT_EQ(isa_decode(SOFTGPU_GFX950, words, 2, &inst), ISA_DECODED);
    ASSERT_TRUE(isa_prepare(&inst, &limits));
    for (unsigned lane = 0; lane < 64; ++lane)
      w.v[1][lane] = lane * row.bytes + lane / 16 * 256; // each sixteen has a matrix of its own
    ASSERT_TRUE(inst.run(&w.wave, &inst));
    const unsigned count = row.bytes * 8 / row.bits;
    for (unsigned lane = 0; lane < 64; ++lane) {
      const uint8_t *matrix = w.lds.data() + 64 + w.v[1][lane / 16 * 16];
      for (unsigned k = 0; k < count; ++k) {
        const unsigned bit = k * row.bits;
        uint64_t two = w.v[4 + bit / 32][lane] | (uint64_t)w.v[5 + bit / 32][lane] << 32;
        EXPECT_EQ(two >> bit % 32 & ((1u << row.bits) - 1),
                  bits_at(matrix, (k * 16 + lane % 16) * row.bits, row.bits))
            << row.bits << " bits, lane " << lane << ", row " << k;
      }
    }
  }
}

TEST(Gfx950, AWorkGroupCanHave160KiBOfLds)
{
  device::Kernel kernel({0xbf810000});
  device::Memory kernarg(64);
  auto dispatch = device::dispatch(kernel.object(), kernarg.as<void>(), 1, 64, SOFTGPU_GFX950);
  dispatch.group_bytes = 160 << 10;
  EXPECT_TRUE(device::run(dispatch).ok);
  ++dispatch.group_bytes;
  EXPECT_FALSE(device::run(dispatch).ok);
  dispatch.group_bytes = 160 << 10;
  dispatch.chip = SOFTGPU_GFX942;
  EXPECT_FALSE(device::run(dispatch).ok);
}

TEST(Gfx950, BuffersAddTwoBf16)
{
  const device::Kernel kernel({
      0xc0060100, 0x00000000, // s_load_dwordx2 s[4:5], s[0:1], 0x0
      0xbe8600c0,             // s_mov_b32 s6, 64
      0xbe8700ff, 0x00020000, // s_mov_b32 s7, 0x20000
      0x7e000284,             // v_mov_b32 v0, 4
      0x7e0202ff, 0x40003f80, // v_mov_b32 v1: 1.0 and 2.0
      0xbf8cc07f,             // s_waitcnt lgkmcnt(0)
      0xbefe0181,             // s_mov_b64 exec, 1
      0xe1485000, 0x80010100, // buffer_atomic_pk_add_bf16 v1, v0, s[4:7], 0 offen sc0
      0xbf8c0f70,             // s_waitcnt vmcnt(0)
      0xe0700000, 0x80010100, // buffer_store_dword v1, off, s[4:7], 0
      0xbf810000,             // s_endpgm
  });
  device::Memory data(64), kernarg(64);
  kernarg.as<uint64_t>()[0] = data.address();
  for (bool reference : {false, true}) {
    data.as<uint32_t>()[1] = 0x3f800000; // 0.0 and 1.0
    softgpu_engine_reference(reference);
    const device::Result result =
        device::run(device::dispatch(kernel.object(), kernarg.as<void>(), 1, 64, SOFTGPU_GFX950));
    softgpu_engine_reference(false);
    EXPECT_TRUE(result.ok) << result.fault.text;
    EXPECT_EQ(data.as<uint32_t>()[0], 0x3f800000u) << "what was there";
    EXPECT_EQ(data.as<uint32_t>()[1], 0x40403f80u) << "1.0 and 3.0";
  }
}

} // namespace
