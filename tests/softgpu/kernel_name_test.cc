// Names of kernels out of device memory, which may hold anything.
#include <elf.h>
#include <gtest/gtest.h>
#include <hsakmt.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

extern "C" {
#include "softgpu/cp/kernel_name.h"
}

namespace {

// A code object as a loader leaves it.
class KernelName : public ::testing::Test {
protected:
  static constexpr uint64_t size = 4 * 4096;

  void SetUp() override
  {
    std::ifstream stream(RAWHAL_SOURCE_DIR "/tests/fixtures/vector_add-gfx90a-v4.co",
                         std::ios::binary);
    file.assign(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
    ASSERT_GT(file.size(), sizeof(Elf64_Ehdr));
    ASSERT_EQ(hsaKmtOpenKFD(), HSAKMT_STATUS_SUCCESS);
    void *got = nullptr;
    ASSERT_EQ(hsaKmtAllocMemory(1, size, HsaMemFlags{}, &got), HSAKMT_STATUS_SUCCESS);
    memory = (char *)got;
    load();
  }
  void TearDown() override { EXPECT_EQ(hsaKmtCloseKFD(), HSAKMT_STATUS_SUCCESS); }

  void load()
  {
    memset(memory, 0, size);
    const auto *header = (const Elf64_Ehdr *)file.data();
    const auto *segments = (const Elf64_Phdr *)(file.data() + header->e_phoff);
    for (int i = 0; i < header->e_phnum; i++) {
      if (segments[i].p_type == PT_LOAD)
        memcpy(memory + segments[i].p_vaddr, file.data() + segments[i].p_offset,
               segments[i].p_filesz);
    }
  }

  std::string name(uint64_t offset, size_t room = 64)
  {
    char text[64] = "unset";
    bool found = softgpu_kernel_name((uintptr_t)memory + offset, text, room);
    EXPECT_EQ(found, text[0] != '\0');
    EXPECT_LT(strlen(text), room);
    return text;
  }

  // The descriptor is at the start of .rodata, the last of the first segment.
  uint64_t descriptor()
  {
    const auto *header = (const Elf64_Ehdr *)file.data();
    const auto *segments = (const Elf64_Phdr *)(file.data() + header->e_phoff);
    for (int i = 0; i < header->e_phnum; i++) {
      if (segments[i].p_type == PT_LOAD)
        return (segments[i].p_filesz - 64) & ~63ull;
    }
    return 0;
  }

  std::string file;
  char *memory = nullptr;
};

TEST_F(KernelName, is_the_symbol_s)
{
  uint64_t at = descriptor();
  while (at < size && name(at) != "vector_add")
    at++;
  EXPECT_LT(at, 4096u);
  EXPECT_EQ(name(at, 7), "vector");
  EXPECT_EQ(name(at + 1), "");
  EXPECT_EQ(name(size - 1), "");
  EXPECT_EQ(name(size), "");
  char text[8];
  EXPECT_FALSE(softgpu_kernel_name(0, text, sizeof(text)));
  EXPECT_FALSE(softgpu_kernel_name(UINT64_MAX, text, sizeof(text)));
}

TEST_F(KernelName, damage_is_no_name_or_another)
{
  uint64_t at = descriptor();
  while (name(at) != "vector_add")
    at++;
  for (uint64_t byte = 0; byte < 0x3000; byte++) {
    for (int value : {0, 0x7f, 0xff}) {
      char before = memory[byte];
      memory[byte] = (char)value;
      for (char c : name(at))
        ASSERT_TRUE(c > ' ' && c < 0x7f) << byte;
      memory[byte] = before;
    }
  }
  EXPECT_EQ(name(at), "vector_add");
}

} // namespace
