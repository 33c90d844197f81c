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

const std::vector<uint32_t> CODE = {
    0xbf800000,             // s_nop
    0xd1e70004, 0x04220302, // v_mqsad_u32_u8
    0xbe801f02,             // s_rfe_b64
    0xf0001f00, 0x00020804, // image_load
    0xf0000f01, 0x00000000, // bit 0 is no part of a gfx90a instruction
    0xbf810000,             // s_endpgm
};

TEST(Coverage, NamesWhatIsDecodedOnly)
{
  const std::vector<Missing> missing = missing_of(0x90a, CODE, 7);
  ASSERT_EQ(missing.size(), 3u);
  EXPECT_EQ(missing[0].offset, 4u);
  EXPECT_EQ(missing[0].mnemonic, "v_mqsad_u32_u8");
  EXPECT_EQ(missing[0].text, "v_mqsad_u32_u8 v[4:7], v[2:3], v1, v[8:11]");
  EXPECT_EQ(missing[1].offset, 12u);
  EXPECT_EQ(missing[1].text, "s_rfe_b64 s[2:3]");
  EXPECT_EQ(missing[2].mnemonic, "none");
  // gfx942 has no images: each dword is unknown, or something else.
  for (const Missing &entry : missing_of(0x942, {CODE[4], 0xbf800000}, 2))
    EXPECT_EQ(entry.mnemonic, "none");
}

TEST(Coverage, SoDoFaults)
{
  device::Kernel kernel({CODE[3], 0xbf810000});
  device::Memory kernarg(64);
  auto result = device::run(device::dispatch(kernel.object(), kernarg.as<void>()));
  EXPECT_EQ(result.fault.kind, SOFTGPU_FAULT_ILLEGAL_INSTRUCTION);
  EXPECT_NE(std::string(result.fault.text).find("s_rfe_b64 s[2:3]"), std::string::npos)
      << result.fault.text;
}

} // namespace
