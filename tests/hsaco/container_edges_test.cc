// Bounds of containers at the last value that is allowed and at the first that is not.
#include "archive.h"
#include "container_test.h"

namespace {

void expect_not_read(const std::string &bytes, rawhal_status_t status, const std::string &message,
                     rawhal_container_options_t options = {})
{
  Container container(bytes, options);
  EXPECT_EQ(status, container.status) << container.error.message;
  EXPECT_TRUE(contains(container.error.message, message)) << container.error.message;
}

const std::string object = build::plain_object().bytes;

std::string bundle_head(uint64_t count)
{
  return "__CLANG_OFFLOAD_BUNDLE__" + build::little(count, 8);
}

std::string entry_head(uint64_t offset, uint64_t size, uint64_t id)
{
  return build::little(offset, 8) + build::little(size, 8) + build::little(id, 8);
}

} // namespace

TEST(ContainerEdges, EntriesOfABundleAreInTheBundle)
{
  const std::string id = "hip-amdgcn-amd-amdhsa--gfx90a";
  for (size_t left : {0, 1, 3, 23})
    expect_not_read(bundle_head(1) + std::string(left, '\0'), RAWHAL_MALFORMED,
                    "entry table is truncated");
  for (uint64_t size : {uint64_t{30}, uint64_t{4097}, UINT64_MAX - 8})
    expect_not_read(bundle_head(1) + entry_head(0, 0, size) + id, RAWHAL_MALFORMED,
                    "bytes is truncated");
  const std::string longest(4097, 'x');
  expect_not_read(bundle_head(1) + entry_head(0, 0, longest.size()) + longest, RAWHAL_MALFORMED,
                  "id of 4097 bytes is too long");
  const std::pair<uint64_t, uint64_t> wrong[] = {
      {UINT64_MAX - 63, 128}, {0, UINT64_MAX}, {85, 1}, {86, UINT64_MAX - 84}};
  for (const auto &[offset, size] : wrong)
    expect_not_read(bundle_head(1) + entry_head(offset, size, id.size()) + id, RAWHAL_MALFORMED,
                    "ends after the bundle's");
}

TEST(ContainerEdges, TheCapOnEntriesOfABundle)
{
  std::string bytes =
      build::bundle({{"a-gfx90a", object}, {"b-gfx90a", object}, {"c-gfx90a", object}});
  rawhal_container_options_t options = {};
  options.max_bundle_entries = 3;
  EXPECT_EQ(RAWHAL_OK, Container(bytes, options).status);
  options.max_bundle_entries = 2;
  expect_not_read(bytes, RAWHAL_CAP_EXCEEDED, "max_bundle_entries", options);
}

TEST(ContainerEdges, ACompressedBundleEndsWhereItSays)
{
  const std::string plain = build::bundle({{"hip-gfx90a", object}});
  for (unsigned version : {2, 3})
    for (unsigned method : {0, 1}) {
      std::string bytes = build::ccob(version, method, plain);
      EXPECT_EQ(2u, Container(bytes + bytes).count()) << "the second is not in the first's bytes";
      const size_t width = version == 3 ? 8 : 4;
      const uint64_t header = version == 3 ? 32 : 24;
      for (uint64_t total : {uint64_t{bytes.size() + 1}, uint64_t{3}, header - 1}) {
        std::string damaged = bytes;
        damaged.replace(8, width, build::little(total, width));
        expect_not_read(damaged, RAWHAL_MALFORMED, "a compressed bundle (CCOB) of");
      }
    }
  for (unsigned version : {0, 4, 5, 65535}) {
    std::string later = build::ccob(3, 1, plain);
    later.replace(4, 2, build::little(version, 2));
    expect_not_read(later, RAWHAL_UNSUPPORTED, "version or method not known");
  }
}

// Less than was claimed would leave bytes that nobody wrote.
TEST(ContainerEdges, WhatUnpacksIsWhatWasClaimed)
{
  const std::string plain = build::bundle({{"hip-gfx90a", object}});
  for (int more : {-1, 1, 100000}) {
    uint64_t size = plain.size() + more;
    expect_not_read(build::ccob_of(2, 0, build::zlib_packed(plain), size), RAWHAL_MALFORMED,
                    "does not unpack to");
    expect_not_read(build::ccob_of(2, 1, build::zstd_packed(plain), size), RAWHAL_MALFORMED,
                    "does not unpack to");
  }
}

TEST(ContainerEdges, SectionsOfAHostFileAreInTheFile)
{
  const std::string sound = host_file(build::bundle({{"hip-gfx90a", object}}));
  Elf64_Ehdr header;
  memcpy(&header, sound.data(), sizeof(header));
  auto with_section = [&](size_t index, auto change) {
    std::string bytes = sound;
    char *at = &bytes[header.e_shoff + index * sizeof(Elf64_Shdr)];
    Elf64_Shdr section;
    memcpy(&section, at, sizeof(section));
    change(section);
    memcpy(at, &section, sizeof(section));
    return bytes;
  };
  EXPECT_EQ(RAWHAL_OK, Container(sound).status);
  const uint64_t wrong[][2] = {{UINT64_MAX - 4095, 8192},
                               {4096, UINT64_MAX - 4094},
                               {sound.size(), 1},
                               {4096, sound.size()}};
  for (const auto &range : wrong)
    expect_not_read(with_section(1,
                                 [&](auto &s) {
                                   s.sh_offset = range[0];
                                   s.sh_size = range[1];
                                 }),
                    RAWHAL_MALFORMED, "ends after the file");
  // As many sections as make their table 64 bytes modulo 2^64: reading them would take years.
  std::string many = with_section(0, [](auto &s) { s.sh_size = (uint64_t{1} << 58) + 1; });
  header.e_shnum = 0;
  header.e_shstrndx = 0;
  memcpy(&many[0], &header, sizeof(header));
  expect_not_read(many, RAWHAL_MALFORMED, "section table");
  // A table of names that ends with the file, in the middle of one. What stands in a section without a name
  // is found all the same, by its own headers.
  EXPECT_EQ(1u, Container(with_section(2, [&](auto &s) {
                  s.sh_offset = sound.size() - 4;
                  s.sh_size = 4;
                })).count());
}

TEST(ContainerEdges, SegmentsThatOverlapAreReadOnce)
{
  std::string bytes = host_file(build::bundle({{"hip-gfx90a", object}}), false);
  Elf64_Ehdr header;
  memcpy(&header, bytes.data(), sizeof(header));
  header.e_phnum = 5;
  memcpy(&bytes[0], &header, sizeof(header));
  std::string first = bytes.substr(sizeof(header), sizeof(Elf64_Phdr));
  for (size_t i = 1; i < 5; ++i)
    bytes.replace(sizeof(header) + i * first.size(), first.size(), first);
  EXPECT_EQ(1u, Container(bytes).count());
}

// The table of contents may be the last thing in a file, and what it begins with the last in it.
TEST(ContainerEdges, ACountIsInTheFile)
{
  for (const char *head : {"\xde", "\xdf", "\xdc", "\xdd"})
    for (size_t bytes = 0; bytes < (head[0] & 1 ? 4u : 2u); ++bytes)
      expect_not_read(
          build::archive_of(
              "", build::Pack().map(1).str("toc").raw(head + std::string(bytes, '\1')).bytes),
          RAWHAL_MALFORMED, "it is truncated where toc starts");
}
