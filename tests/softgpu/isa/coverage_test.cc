// What is decoded and cannot run is told by its name.
#include <gtest/gtest.h>

#include "softgpu/softgpu.h"
#include "tests/softgpu/isa/device.h"

namespace {

struct Missing {
  uint64_t offset;
  std::string mnemonic, text;
};

std::vector<Missing> missing_of(uint32_t chip, const std::vector<uint32_t> &code, uint64_t count)
{
  std::vector<Missing> out;
  auto note = [](void *context, uint64_t offset, const char *mnemonic, const char *text,
                 const uint32_t *) {
    static_cast<std::vector<Missing> *>(context)->push_back(
        {offset, mnemonic ? mnemonic : "none", text});
  };
  EXPECT_EQ(softgpu_coverage(chip, code.data(), code.size() * 4, note, &out), count);
  return out;
}

const std::vector<uint32_t> IMAGES = {
    0xbf800000,             // s_nop
    0xf0001f00, 0x00020804, // image_load
    0xf0801700, 0x00620804, // image_sample
    0xf0480100, 0x00020705, // image_atomic_add
    0xf0000f01, 0x00000000, // bit 0 is no part of a gfx90a instruction
    0xbf810000,             // s_endpgm
};

TEST(Coverage, NamesImageInstructions)
{
  const std::vector<Missing> missing = missing_of(0x90a, IMAGES, 7);
  ASSERT_EQ(missing.size(), 4u);
  EXPECT_EQ(missing[0].offset, 4u);
  EXPECT_EQ(missing[0].mnemonic, "image_load");
  EXPECT_EQ(missing[0].text, "image_load v[8:11], v4, s[8:15] dmask:0xf unorm");
  EXPECT_EQ(missing[1].text, "image_sample v[8:10], v4, s[8:15], s[12:15] dmask:0x7 unorm");
  EXPECT_EQ(missing[2].text, "image_atomic_add v7, v5, s[8:15] dmask:0x1");
  EXPECT_EQ(missing[3].mnemonic, "none");
  // gfx942 has none of them: each dword is unknown, or something else.
  for (const Missing &entry : missing_of(0x942, {IMAGES[1], 0xbf800000}, 2))
    EXPECT_EQ(entry.mnemonic, "none");
}

TEST(Coverage, SoDoFaults)
{
  device::Kernel kernel({IMAGES[1], IMAGES[2], 0xbf810000});
  device::Memory kernarg(64);
  auto result = device::run(device::dispatch(kernel.object(), kernarg.as<void>()));
  EXPECT_EQ(result.fault.kind, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION);
  EXPECT_NE(std::string(result.fault.text).find("image_load v[8:11], v4, s[8:15] dmask:0xf unorm"),
            std::string::npos)
      << result.fault.text;
}

} // namespace
