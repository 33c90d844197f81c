// The loadability verdict: sound objects must pass, and what the loader does not look at may be
// anything. Its rules one by one: loadable_rules_test.cc.
#include "change.h"

extern "C" {
#include "hsaco/relabel.h"
}

using namespace change;

TEST(Loadable, SoundObjectsPass)
{
  EXPECT_EQ("", verdict(plain_object(1).bytes));
  EXPECT_EQ("", verdict(plain_object(7).bytes));
}

TEST(Loadable, SymbolsDefinedTwice)
{
  Object object = plain_object(2);
  Elf64_Sym first = object.get<Elf64_Sym>(object.symbols + 2 * sizeof(Elf64_Sym));
  object.set(object.symbols + 4 * sizeof(Elf64_Sym), first);
  EXPECT_EQ("a symbol is defined twice: symbol 4 like symbol 2", verdict(object.bytes));
}

TEST(Loadable, Relocations)
{
  auto with = [](uint32_t type, uint32_t symbol, uint64_t offset, int64_t addend = 0) {
    Object object = relocated_object();
    set_relocation(object, symbol, type, offset, addend);
    return verdict(object.bytes);
  };
  const uint64_t text = plain_object().text;
  for (uint32_t type : {1u, 2u, 3u, 6u, 13u})
    EXPECT_EQ("", with(type, 1, text)) << type;
  for (uint32_t type : {0u, 4u, 5u, 7u, 10u, 12u, 14u, 255u})
    EXPECT_TRUE(contains(with(type, 1, text), "does not apply")) << type;
  EXPECT_TRUE(contains(with(13, 1000000, text), "not in the symbol table"));
  EXPECT_TRUE(contains(with(3, 1, uint64_t{1} << 40), "writes outside"));
  EXPECT_EQ("", with(3, 1, text + 504)); // the last eight bytes of the segment
  EXPECT_TRUE(contains(with(3, 1, text + 505), "writes outside"));
  EXPECT_EQ("", with(1, 1, text + 508));
  EXPECT_TRUE(contains(with(1, 1, text + 509), "writes outside"));
  EXPECT_EQ("", with(3, 1, relocated_object().rodata - 8)); // up to a descriptor, not into it
  EXPECT_EQ("", with(3, 0, text, 8));                       // an absolute address
  EXPECT_EQ("", with(13, 0, text));
}

// --emit-relocs: the linker has applied them. Whatever they say, no loader is given them.
TEST(Loadable, RelocationsKeptForALinkerAreLeftOut)
{
  for (uint32_t type : {SHT_RELA, SHT_REL}) {
    Object object = relocated_object();
    set_relocation(object, 1000000, 5, uint64_t{1} << 40, 0);
    set_section(object, Object::kRela, [&](auto &s) {
      s.sh_type = type;
      s.sh_flags = 0;
      s.sh_info = Object::kText;
      s.sh_entsize = 1;
    });
    EXPECT_EQ("", verdict(object.bytes)) << type;
    Opened opened(object.bytes);
    ASSERT_EQ(RAWHAL_OK, opened.status);
    EXPECT_EQ(0u, opened.info().relocation_count);
    EXPECT_TRUE(hsaco_has_static_relocations(opened.hsaco));
    unsigned char *copy = nullptr;
    ASSERT_EQ(RAWHAL_OK,
              hsaco_relabel(opened.hsaco, nullptr, RELABEL_ABI_V5, nullptr, &copy, nullptr));
    std::string expected = object.bytes;
    set_section(object, Object::kRela, [&](auto &s) {
      s.sh_type = SHT_PROGBITS;
      s.sh_link = s.sh_info = 0;
    });
    EXPECT_EQ(object.bytes, std::string(reinterpret_cast<char *>(copy), object.bytes.size()));
    free(copy);
  }
  Object loaded = relocated_object();
  EXPECT_FALSE(hsaco_has_static_relocations(Opened(loaded.bytes).hsaco));
}

// Somebody's linker script may leave some.
TEST(Loadable, SegmentsMayBeEmpty)
{
  Object object = plain_object();
  Elf64_Phdr empty = object.segment(1);
  empty.p_filesz = empty.p_memsz = 0;
  empty.p_vaddr = empty.p_paddr = object.text + 512;
  object.set_segment(2, empty); // in the place of PT_NOTE
  EXPECT_EQ("", verdict(object.bytes));
}

// The loader defines nothing from local symbols, and nothing at all from .dynsym.
TEST(Loadable, SymbolsThatTheLoaderSkipsMayBeAnything)
{
  Object object = plain_object(2);
  set_symbol(object, [](auto &s) {
    s.st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT);
    s.st_shndx = SHN_ABS;
    s.st_value = UINT64_MAX;
  });
  EXPECT_EQ("", verdict(object.bytes));

  object = relocated_object(); // whose relocations become a second table
  set_section(object, Object::kRela, [&](auto &s) {
    s = object.section(Object::kSymbols);
    s.sh_name = 0;
    s.sh_type = SHT_DYNSYM;
    s.sh_offset += 2 * sizeof(Elf64_Sym); // k.kd stands where symbol 0 must be
    s.sh_size -= 2 * sizeof(Elf64_Sym);
  });
  EXPECT_TRUE(contains(verdict(object.bytes), "symbol 0 is not empty"));
  set_section(object, Object::kRela, [&](auto &s) { s.sh_offset = object.symbols; });
  EXPECT_EQ("", verdict(object.bytes));
}

TEST(Loadable, RelocationsAreListed)
{
  Object object = build::plain_object();
  object.relocations = {{0x1000, ELF64_R_INFO(0, 13), 0x40},
                        {0x1008, ELF64_R_INFO(2, 3), -8},
                        {0x1010, ELF64_R_INFO(99, 77), 0}};
  Opened opened(object.build());
  ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
  ASSERT_EQ(3u, opened.info().relocation_count);
  const rawhal_relocation_t *relative = rawhal_hsaco_relocation(opened.hsaco, 0);
  EXPECT_EQ(0x1000u, relative->address);
  EXPECT_EQ(13u, relative->type);
  EXPECT_EQ(0x40, relative->addend);
  EXPECT_EQ("", text_of(relative->symbol));
  const rawhal_relocation_t *absolute = rawhal_hsaco_relocation(opened.hsaco, 1);
  EXPECT_EQ("kernel0.kd", text_of(absolute->symbol));
  EXPECT_EQ(-8, absolute->addend);
  const rawhal_relocation_t *unknown = rawhal_hsaco_relocation(opened.hsaco, 2);
  EXPECT_EQ(77u, unknown->type);
  EXPECT_EQ("", text_of(unknown->symbol)); // no such symbol
  EXPECT_EQ(nullptr, rawhal_hsaco_relocation(opened.hsaco, 3));
  EXPECT_EQ(nullptr, rawhal_hsaco_relocation(nullptr, 0));
}

TEST(Loadable, UndefinedExternalsMayBeSuppliedLater)
{
  Object object;
  object.kernels = {plain_kernel("k"), plain_kernel("external")};
  object.notes = {build::pack_metadata({plain_kernel("k")})};
  object.relocations = {{plain_object().text, ELF64_R_INFO(uint64_t{3}, 3), 0}};
  object.build();
  for (size_t index : {3, 4}) {
    Elf64_Sym symbol = object.get<Elf64_Sym>(object.symbols + index * sizeof(Elf64_Sym));
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE);
    symbol.st_shndx = SHN_UNDEF;
    object.set(object.symbols + index * sizeof(Elf64_Sym), symbol);
  }
  EXPECT_EQ("", verdict(object.bytes));
  Opened opened(object.bytes);
  const rawhal_symbol_t *external = rawhal_hsaco_symbol(opened.hsaco, 2);
  EXPECT_EQ("external", text_of(external->name));
  EXPECT_EQ(RAWHAL_SYMBOL_VARIABLE, external->kind);
  EXPECT_FALSE(external->defined);
}

// The loader finds notes by the section's name; it can do without, but not with another type.
TEST(Loadable, NotesAreOptionalButOfTheirType)
{
  Object object = plain_object();
  set_section(object, Object::kNote, [](auto &s) { s.sh_name = 0; });
  EXPECT_EQ("", verdict(object.bytes));
}
