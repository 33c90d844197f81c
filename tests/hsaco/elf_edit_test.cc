// The fuzzers' edits of ELF files do what they say: what is added is there when the file is opened,
// what is removed is not, and the rest stays as sound as it was.
#include "fuzz/elf_edit.h"
#include "host.h"
#include "hsaco_test.h"

using build::Object;
using build::plain_kernel;

namespace {

// Two kernels, a note for each, and a relocation.
std::string sound()
{
  Object object;
  object.kernels = {plain_kernel("a"), plain_kernel("b")};
  object.notes = {build::pack_metadata({object.kernels[0]}),
                  build::pack_metadata({object.kernels[1]})};
  object.relocations = {{build::plain_object().text, ELF64_R_INFO(uint64_t{1}, 3), 0}};
  return object.build();
}

void expect_sound(const std::string &bytes, size_t kernels, size_t symbols, size_t relocations)
{
  const Opened opened(bytes);
  ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
  EXPECT_EQ(kernels, opened.info().kernel_count);
  EXPECT_EQ(symbols, opened.info().symbol_count);
  EXPECT_EQ(relocations, opened.info().relocation_count);
}

// Damaged files are edited, too: with the table of symbols over the header, an edit of the one is one of the other.
TEST(ElfEdit, ASectionOverTheHeader)
{
  std::string bytes = sound();
  std::vector<Elf64_Shdr> sections;
  ASSERT_TRUE(edit::read_sections(bytes, &sections));
  const size_t symbols = edit::find_section(bytes, SHT_SYMTAB);
  sections[symbols].sh_offset = 0;
  sections[symbols].sh_size = 4 * sizeof(Elf64_Sym);
  edit::write_sections(bytes, sections);
  edit::set(bytes, offsetof(Elf64_Ehdr, e_shnum) + sizeof(Elf64_Sym),
            uint16_t{1000}); // which moves there
  const size_t size = bytes.size();
  ASSERT_TRUE(edit::remove_entry<Elf64_Sym>(bytes, symbols, 1));
  EXPECT_GE(bytes.size(), size);
}

TEST(ElfEdit, Sections)
{
  std::string bytes = sound();
  const Elf64_Shdr odd = {0, 0x7000000, 0, 0, 64, 8, 0, 0, 1, 0};
  for (int i = 0; i < 20; ++i)
    ASSERT_TRUE(edit::add_section(bytes, odd));
  std::vector<Elf64_Shdr> sections;
  ASSERT_TRUE(edit::read_sections(bytes, &sections));
  EXPECT_EQ(Object::kSections + 20u, sections.size());
  expect_sound(bytes, 2, 4, 1);
  EXPECT_EQ("", Opened(bytes).reason());
  while (edit::find_section(bytes, odd.sh_type))
    ASSERT_TRUE(edit::remove_section(bytes, edit::find_section(bytes, odd.sh_type)));
  EXPECT_EQ("", Opened(bytes).reason());
  // One before those that are named by number: links and symbols follow.
  ASSERT_TRUE(edit::remove_section(bytes, Object::kNote));
  expect_sound(bytes, 2, 4, 1);
  EXPECT_EQ("", Opened(bytes).reason());
  ASSERT_TRUE(edit::remove_section(bytes, edit::find_section(bytes, SHT_SYMTAB)));
  expect_sound(bytes, 2, 0, 1);
  EXPECT_FALSE(edit::remove_section(bytes, 0));
  EXPECT_FALSE(edit::remove_section(bytes, 100));
}

TEST(ElfEdit, SymbolsAndRelocations)
{
  std::string bytes = sound();
  const size_t symbols = edit::find_section(bytes, SHT_SYMTAB);
  std::string table;
  ASSERT_TRUE(edit::read_section(bytes, symbols, &table));
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(edit::add_entry(bytes, symbols, edit::get<Elf64_Sym>(table, sizeof(Elf64_Sym))));
  ASSERT_TRUE(edit::add_relocation(bytes, {build::plain_object().text, ELF64_R_INFO(0, 13), 8}));
  expect_sound(bytes, 2, 7, 2);
  EXPECT_EQ("", Opened(bytes).reason());
  ASSERT_TRUE(edit::remove_entry<Elf64_Sym>(bytes, symbols, 4)); // b.kd
  ASSERT_TRUE(edit::remove_entry<Elf64_Rela>(bytes, edit::find_section(bytes, SHT_RELA), 0));
  expect_sound(bytes, 2, 6, 1);
  EXPECT_FALSE(Opened(bytes).find("b")->usable);
  EXPECT_FALSE(edit::remove_entry<Elf64_Sym>(bytes, symbols, 8));
}

TEST(ElfEdit, RelocationsComeWithASection)
{
  std::string bytes = build::plain_object().bytes;
  ASSERT_TRUE(edit::add_relocation(bytes, {build::plain_object().text, ELF64_R_INFO(1, 3), 0}));
  expect_sound(bytes, 1, 2, 1);
  EXPECT_EQ("", Opened(bytes).reason());
}

TEST(ElfEdit, Notes)
{
  std::string bytes = sound();
  ASSERT_TRUE(edit::add_note(bytes, build::pack_note("GNU", 3, "some")));
  expect_sound(bytes, 2, 4, 1);
  ASSERT_TRUE(edit::remove_note(bytes, 0)); // of kernel a
  expect_sound(bytes, 2, 4, 1);
  EXPECT_FALSE(Opened(bytes).find("a")->has_metadata);
  EXPECT_TRUE(Opened(bytes).find("b")->has_metadata);
  ASSERT_TRUE(edit::remove_note(bytes, 1));
  EXPECT_FALSE(edit::remove_note(bytes, 1));
  EXPECT_TRUE(Opened(bytes).find("b")->has_metadata);
}

TEST(ElfEdit, HostFilesHaveSections)
{
  std::string bytes = host_file(build::bundle({{"hip-amdgcn-amd-amdhsa--gfx90a", sound()}}));
  std::vector<Elf64_Shdr> sections;
  ASSERT_TRUE(edit::read_sections(bytes, &sections));
  ASSERT_TRUE(edit::add_section(bytes, sections[1])); // .hip_fatbin once more
  rawhal_container_t *container = nullptr;
  rawhal_error_t error = {};
  ASSERT_EQ(RAWHAL_OK,
            rawhal_container_open(bytes.data(), bytes.size(), nullptr, &container, &error))
      << error.message;
  EXPECT_EQ(2u, rawhal_container_count(container));
  rawhal_container_close(container);
}

TEST(ElfEdit, DamagedFilesAreLeftAlone)
{
  for (size_t size : {0, 10, 64, 500}) {
    const std::string cut = sound().substr(0, size);
    std::string bytes = cut;
    EXPECT_FALSE(edit::add_section(bytes, {}));
    EXPECT_FALSE(edit::remove_section(bytes, 1));
    EXPECT_FALSE(edit::add_relocation(bytes, {}));
    EXPECT_FALSE(edit::add_note(bytes, "x"));
    EXPECT_FALSE(edit::remove_note(bytes, 0));
    EXPECT_EQ(cut, bytes);
  }
}

} // namespace
