// Only the header and the target's name change.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

extern "C" {
#include "hsaco/relabel.h"
}

namespace {

std::vector<unsigned char> Read(const char *name)
{
  std::ifstream file(std::string(RAWHAL_SOURCE_DIR "/tests/fixtures/") + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// As an object of version 5 for gfx90a.
std::vector<unsigned char> Relabelled(const std::vector<unsigned char> &bytes)
{
  rawhal_error_t error = {};
  rawhal_hsaco_t *hsaco = nullptr;
  rawhal_target_t target = {};
  unsigned char *copy = nullptr;
  EXPECT_EQ(RAWHAL_OK, rawhal_hsaco_open(bytes.data(), bytes.size(), nullptr, &hsaco, &error));
  EXPECT_EQ(RAWHAL_OK, rawhal_target_parse({"gfx90a", 6}, &target, &error));
  if (!hsaco)
    return {};
  EXPECT_EQ(RAWHAL_OK, hsaco_relabel(hsaco, &target, RELABEL_ABI_V5, nullptr, &copy, &error));
  std::vector<unsigned char> made(copy, copy ? copy + bytes.size() : copy);
  free(copy);
  rawhal_hsaco_close(hsaco);
  return made;
}

TEST(Relabel, ChangesTheHeaderAndTheName)
{
  const char text[] = "amdgcn-amd-amdhsa--gfx942";
  for (const char *name : {"vector_add-gfx942-v5.co", "vector_add-gfx942-v6.co"}) {
    std::vector<unsigned char> expected = Read(name), copy = Relabelled(expected);
    expected[8] = 3;     // EI_ABIVERSION
    expected[48] = 0x3f; // e_flags: EF_AMDGPU_MACH_AMDGCN_GFX90A
    void *at = memmem(expected.data(), expected.size(), text, strlen(text));
    ASSERT_NE(nullptr, at);
    memcpy(static_cast<char *>(at) + strlen(text) - 6, "gfx90a", 6);
    EXPECT_EQ(expected, copy);
    rawhal_error_t error = {};
    rawhal_hsaco_t *again = nullptr;
    ASSERT_EQ(RAWHAL_OK, rawhal_hsaco_open(copy.data(), copy.size(), nullptr, &again, &error))
        << error.message;
    const rawhal_hsaco_info_t *info = rawhal_hsaco_info(again);
    EXPECT_STREQ("gfx90a", info->target.processor);
    EXPECT_EQ(5u, info->code_object_version);
    EXPECT_EQ(0u, info->diagnostic_count);
    EXPECT_TRUE(info->loadable);
    rawhal_hsaco_close(again);
  }
}

// A name of another length stays; the runtime goes by the header.
TEST(Relabel, LeavesNamesThatDoNotFit)
{
  std::vector<unsigned char> expected = Read("vector_add-gfx1030-v5.co"),
                             copy = Relabelled(expected);
  expected[48] = 0x3f;
  EXPECT_EQ(expected, copy);
}

} // namespace
