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
    for (int i = 0; i < header->e_phnum; ++i) {
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
    for (int i = 0; i < header->e_phnum; ++i) {
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
    ++at;
  EXPECT_LT(at, 4096u);
  EXPECT_EQ(name(at, 7), "vector");
  EXPECT_EQ(name(at + 1), "");
  EXPECT_EQ(name(size - 1), "");
  EXPECT_EQ(name(size), "");
  char text[8];
  EXPECT_FALSE(softgpu_kernel_name(0, text, sizeof(text)));
  EXPECT_FALSE(softgpu_kernel_name(UINT64_MAX, text, sizeof(text)));
}

// Reports do not wait for tables without end.
TEST_F(KernelName, is_not_looked_for_without_end)
{
  const uint64_t symbols = 8192, most = 1 << 20, room = symbols + (most + 2) * sizeof(Elf64_Sym);
  void *got = nullptr;
  ASSERT_EQ(hsaKmtAllocMemory(1, (room + 4095) & ~4095ull, HsaMemFlags{}, &got),
            HSAKMT_STATUS_SUCCESS);
  char *large = (char *)got;
  Elf64_Ehdr header{};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = 224;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  header.e_phoff = sizeof(header);
  Elf64_Phdr segment{};
  segment.p_type = PT_DYNAMIC;
  segment.p_vaddr = 256;
  segment.p_memsz = UINT64_MAX;
  memcpy(large, &header, sizeof(header));
  memcpy(large + sizeof(header), &segment, sizeof(segment));
  const Elf64_Dyn entries[] = {{DT_SYMTAB, {symbols}},
                               {DT_STRTAB, {4096}},
                               {DT_STRSZ, {8}},
                               {DT_HASH, {4104}},
                               {DT_NULL, {0}}};
  memcpy(large + 256, entries, sizeof(entries));
  memcpy(large + 4096, "\0last", 6);
  const uint32_t hash[] = {1, UINT32_MAX};
  memcpy(large + 4104, hash, sizeof(hash));
  Elf64_Sym symbol{};
  symbol.st_name = 1;
  symbol.st_shndx = 1;
  symbol.st_value = 4160;
  char text[64];
  for (uint64_t at : {most - 1, most}) {
    memcpy(large + symbols + at * sizeof(symbol), &symbol, sizeof(symbol));
    EXPECT_EQ(softgpu_kernel_name((uintptr_t)large + 4160, text, sizeof(text)), at < most) << at;
    memset(large + symbols + at * sizeof(symbol), 0, sizeof(symbol));
  }
  // The order to look further stands behind as many others.
  symbol.st_value = 4224;
  memcpy(large + symbols, &symbol, sizeof(symbol));
  EXPECT_TRUE(softgpu_kernel_name((uintptr_t)large + 4224, text, sizeof(text)));
  EXPECT_STREQ(text, "last");
}

TEST_F(KernelName, damage_is_no_name_or_another)
{
  uint64_t at = descriptor();
  while (name(at) != "vector_add")
    ++at;
  for (uint64_t byte = 0; byte < 0x3000; ++byte) {
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
