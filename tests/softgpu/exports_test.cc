// The library is a drop-in: what the original exports is here under the same version.
#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

namespace {

struct Library {
  std::string soname;
  std::map<std::string, std::string> exports; // name -> version
  bool nodelete = false;
};

const Elf64_Shdr *section(const std::string &bytes, uint32_t type)
{
  auto *header = (const Elf64_Ehdr *)bytes.data();
  auto *sections = (const Elf64_Shdr *)(bytes.data() + header->e_shoff);
  for (int i = 0; i < header->e_shnum; ++i) {
    if (sections[i].sh_type == type)
      return &sections[i];
  }
  return nullptr;
}

Library read_library(const char *path)
{
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  Library library;
  if (bytes.size() < sizeof(Elf64_Ehdr))
    return library;
  const Elf64_Shdr *symbols = section(bytes, SHT_DYNSYM);
  const Elf64_Shdr *versions = section(bytes, SHT_GNU_versym);
  const Elf64_Shdr *definitions = section(bytes, SHT_GNU_verdef);
  const Elf64_Shdr *dynamic = section(bytes, SHT_DYNAMIC);
  auto *header = (const Elf64_Ehdr *)bytes.data();
  auto *sections = (const Elf64_Shdr *)(bytes.data() + header->e_shoff);
  const char *strings = bytes.data() + sections[symbols->sh_link].sh_offset;

  std::map<uint16_t, std::string> names;
  const char *at = bytes.data() + definitions->sh_offset;
  for (uint32_t i = 0; i < definitions->sh_info; ++i) {
    auto *definition = (const Elf64_Verdef *)at;
    auto *name = (const Elf64_Verdaux *)(at + definition->vd_aux);
    names[definition->vd_ndx] = strings + name->vda_name;
    at += definition->vd_next;
  }
  for (uint64_t i = 1; i < symbols->sh_size / sizeof(Elf64_Sym); ++i) {
    auto *symbol = (const Elf64_Sym *)(bytes.data() + symbols->sh_offset) + i;
    uint16_t version = ((const uint16_t *)(bytes.data() + versions->sh_offset))[i] & 0x7fff;
    if (symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC)
      library.exports[strings + symbol->st_name] = names[version];
  }
  for (auto *entry = (const Elf64_Dyn *)(bytes.data() + dynamic->sh_offset);
       entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_SONAME)
      library.soname = strings + entry->d_un.d_val;
    if (entry->d_tag == DT_FLAGS_1)
      library.nodelete = (entry->d_un.d_val & DF_1_NODELETE) != 0;
  }
  return library;
}

TEST(exports, everything_the_original_exports)
{
  Library original = read_library("/usr/lib/x86_64-linux-gnu/libhsakmt.so.1");
  if (original.exports.empty())
    GTEST_SKIP() << "no libhsakmt1 here to compare with";
  Library ours = read_library(SOFTGPU_LIBRARY);
  EXPECT_EQ(ours.soname, original.soname);
  for (auto &[name, version] : original.exports)
    EXPECT_EQ(ours.exports[name], version) << name;
}

TEST(exports, nothing_but_the_thunk_and_the_control_interface)
{
  Library ours = read_library(SOFTGPU_LIBRARY);
  EXPECT_EQ(ours.soname, "libhsakmt.so.1");
  EXPECT_TRUE(ours.nodelete);
  EXPECT_EQ(ours.exports.count("softgpu_pause"), 1u);
  for (auto &[name, version] : ours.exports) {
    // libdrm's are what runtimes from 5.3 on begin with.
    bool thunk =
        name.rfind("hsaKmt", 0) == 0 || name.rfind("amdgpu_", 0) == 0 || name.rfind("drm", 0) == 0;
    EXPECT_EQ(version, thunk ? "HSAKMT_1" : "SOFTGPU_1") << name;
  }
}

TEST(exports, the_library_of_later_runtimes)
{
  Library dynamic = read_library(SOFTGPU_LIBRARY), ours = read_library(DTIF_LIBRARY);
  EXPECT_EQ(ours.soname, "libdtif.so"); // by which the runtime finds it when it is loaded
  EXPECT_TRUE(ours.nodelete);
  dynamic.exports.erase("drmOpenRender"); // 5.3 to 5.7 alone open render nodes
  dynamic.exports.erase("drmClose");
  for (auto &[name, version] : dynamic.exports)
    EXPECT_EQ(ours.exports[name], version) << name;
}

} // namespace
