// The loadability verdict: each thing ROCr's loader does not check must be refused here, and sound
// objects must pass.
#include <functional>

#include "hsaco_test.h"

using build::Object;
using build::plain_kernel;
using build::plain_object;

static std::string verdict(const std::string &bytes)
{
  Opened opened(bytes);
  EXPECT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
  if (opened.status)
    return "refused";
  EXPECT_EQ(opened.info().loadable, opened.reason().empty());
  EXPECT_EQ(opened.info().loadable, !contains(opened.diagnostics(), "not loadable: "));
  return opened.reason();
}

static void set_symbol(Object &object, const std::function<void(Elf64_Sym &)> &change)
{
  size_t at = object.symbols + 2 * sizeof(Elf64_Sym); // kernel0.kd
  Elf64_Sym symbol = object.get<Elf64_Sym>(at);
  change(symbol);
  object.set(at, symbol);
}

static void set_section(Object &object, unsigned index,
                        const std::function<void(Elf64_Shdr &)> &change)
{
  Elf64_Shdr section = object.section(index);
  change(section);
  object.set_section(index, section);
}

static void set_segment(Object &object, unsigned index,
                        const std::function<void(Elf64_Phdr &)> &change)
{
  Elf64_Phdr segment = object.segment(index);
  change(segment);
  object.set_segment(index, segment);
}

static void set_header(Object &object, const std::function<void(Elf64_Ehdr &)> &change)
{
  Elf64_Ehdr header = object.header();
  change(header);
  object.set_header(header);
}

TEST(Loadable, SoundObjectsPass)
{
  EXPECT_EQ("", verdict(plain_object(1).bytes));
  EXPECT_EQ("", verdict(plain_object(7).bytes));
}

TEST(Loadable, EveryUncheckedUseOfTheLoader)
{
  struct {
    const char *reason;
    std::function<void(Object &)> damage;
  } const cases[] = {
      {"processor is unknown",
       [](Object &o) { set_header(o, [](auto &h) { h.e_flags = 0x5fe; }); }},
      {"xnack, which", [](Object &o) { set_header(o, [](auto &h) { h.e_flags = 0x341; }); }},
      {"sramecc, which", [](Object &o) { set_header(o, [](auto &h) { h.e_flags = 0xd2c; }); }},
      {"generic version",
       [](Object &o) {
         set_header(o, [](auto &h) {
           h.e_flags = 0x01000541 - 0x500;
           h.e_ident[EI_ABIVERSION] = 4;
         });
       }},
      {"no section headers",
       [](Object &o) { set_header(o, [](auto &h) { h.e_shoff = h.e_shnum = 0; }); }},
      {"another size", // the loader would cut the file there
       [](Object &o) {
         set_section(o, Object::kNames, [&](auto &s) {
           s.sh_offset = o.headers + 8;
           s.sh_size = 8;
         });
       }},
      {"lies outside of the file",
       [](Object &o) { set_section(o, Object::kStrings, [](auto &s) { s.sh_size = 1 << 20; }); }},
      {"another size",
       [](Object &o) {
         set_section(o, Object::kNames, [](auto &s) { s.sh_offset = uint64_t{1} << 40; });
       }},
      {"an empty section header",
       [](Object &o) { set_section(o, Object::kText, [](auto &s) { s.sh_type = SHT_NULL; }); }},
      {"e_shstrndx",
       [](Object &o) { set_header(o, [](auto &h) { h.e_shstrndx = Object::kText; }); }},
      {"e_shstrndx", [](Object &o) { set_header(o, [](auto &h) { h.e_shstrndx = 200; }); }},
      {"section's name",
       [](Object &o) { set_section(o, Object::kText, [](auto &s) { s.sh_name = 1 << 30; }); }},
      {"of another type",
       [](Object &o) { set_section(o, Object::kNote, [](auto &s) { s.sh_type = SHT_PROGBITS; }); }},
      {"note", [](Object &o) { set_section(o, Object::kNote, [](auto &s) { s.sh_size -= 4; }); }},
      {"a segment is empty",
       [](Object &o) { set_segment(o, 1, [](auto &s) { s.p_memsz = s.p_filesz - 1; }); }},
      {"alignment", [](Object &o) { set_segment(o, 1, [](auto &s) { s.p_align = 3; }); }},
      {"overlap", [](Object &o) { set_segment(o, 0, [](auto &s) { s.p_memsz += 1 << 20; }); }},
      {"wraps",
       [](Object &o) {
         set_segment(o, 1, [](auto &s) { s.p_memsz = UINT64_MAX - s.p_vaddr + 1; });
       }},
      {"1 GiB",
       [](Object &o) { set_segment(o, 1, [](auto &s) { s.p_memsz = uint64_t{1} << 33; }); }},
      {"first segment is not at address 0", // whose address the loader asks for
       [](Object &o) { set_segment(o, 0, [](auto &s) { s.p_vaddr = 0x200; }); }},
      {"alignment that does not fit",
       [](Object &o) {
         set_section(o, Object::kRodata, [](auto &s) { s.sh_addralign = UINT32_MAX; });
       }},
      {"no segments to load",
       [](Object &o) {
         set_segment(o, 0, [](auto &s) { s.p_type = PT_NULL; });
         set_segment(o, 1, [](auto &s) { s.p_type = PT_NULL; });
       }},
      {"symbol table is not sound",
       [](Object &o) { set_section(o, Object::kSymbols, [](auto &s) { s.sh_link = 0; }); }},
      {"symbol table is not sound",
       [](Object &o) { set_section(o, Object::kSymbols, [](auto &s) { s.sh_size -= 1; }); }},
      {"symbol table is not sound",
       [](Object &o) {
         o.bytes[o.section(Object::kNames).sh_offset - 1] = 'x';
         o.bytes[o.section(Object::kStrings).sh_offset + o.section(Object::kStrings).sh_size - 1] =
             'x';
       }},
      {"symbol's name", [](Object &o) { set_symbol(o, [](auto &s) { s.st_name = 1 << 30; }); }},
      {"in no section", [](Object &o) { set_symbol(o, [](auto &s) { s.st_shndx = 0; }); }},
      {"in no section", [](Object &o) { set_symbol(o, [](auto &s) { s.st_shndx = SHN_ABS; }); }},
      {"in no section", [](Object &o) { set_symbol(o, [](auto &s) { s.st_shndx = 0xff00; }); }},
      {"V1 and V2", // the loader would copy 256 bytes from there
       [](Object &o) {
         set_symbol(o, [](auto &s) { s.st_info = ELF64_ST_INFO(STB_GLOBAL, 10); });
       }},
      {"outside of its section",
       [](Object &o) { set_symbol(o, [](auto &s) { s.st_value += 64; }); }},
      {"outside of its section",
       [](Object &o) { set_symbol(o, [](auto &s) { s.st_size = UINT64_MAX; }); }},
      {"not 64 bytes of the file",
       [](Object &o) { set_symbol(o, [](auto &s) { s.st_size = 32; }); }},
      {"entry is not in code", [](Object &o) { o.set<int64_t>(o.rodata + 16, 0); }},
      {"(REL, RELR)",
       [](Object &o) { set_section(o, Object::kText, [](auto &s) { s.sh_type = SHT_REL; }); }},
  };
  for (const auto &one : cases) {
    Object object = plain_object();
    one.damage(object);
    EXPECT_TRUE(contains(verdict(object.bytes), one.reason))
        << "expected '" << one.reason << "', got '" << verdict(object.bytes) << "'";
  }
}

TEST(Loadable, SymbolsDefinedTwice)
{
  Object object = plain_object(2);
  Elf64_Sym first = object.get<Elf64_Sym>(object.symbols + 2 * sizeof(Elf64_Sym));
  object.set(object.symbols + 4 * sizeof(Elf64_Sym), first);
  EXPECT_EQ("a symbol is defined twice", verdict(object.bytes));
}

TEST(Loadable, Relocations)
{
  auto with = [](uint32_t type, uint32_t symbol, uint64_t offset, int64_t addend = 0) {
    Object object;
    object.kernels = {plain_kernel("k")};
    object.relocations = {{offset, ELF64_R_INFO(uint64_t{symbol}, type), addend}};
    return verdict(object.build());
  };
  const uint64_t text = plain_object().text;
  for (uint32_t type : {1u, 2u, 3u, 6u, 13u})
    EXPECT_EQ("", with(type, 1, text)) << type;
  for (uint32_t type : {0u, 4u, 5u, 7u, 10u, 12u, 14u, 255u})
    EXPECT_TRUE(contains(with(type, 1, text), "does not apply")) << type;
  EXPECT_TRUE(contains(with(3, 3, text), "not in the symbol table"));
  EXPECT_TRUE(contains(with(13, 1000000, text), "not in the symbol table"));
  EXPECT_TRUE(contains(with(3, 1, uint64_t{1} << 40), "writes outside"));
  EXPECT_EQ("", with(3, 1, text + 504)); // the last eight bytes of the segment
  EXPECT_TRUE(contains(with(3, 1, text + 505), "writes outside"));
  EXPECT_EQ("", with(1, 1, text + 508));
  EXPECT_TRUE(contains(with(1, 1, text + 509), "writes outside"));

  Object object;
  object.kernels = {plain_kernel("k")};
  object.relocations = {{text, ELF64_R_INFO(uint64_t{1}, 3), 0}};
  object.build();
  Elf64_Shdr rela = object.section(Object::kRela);
  rela.sh_info = Object::kText;
  object.set_section(Object::kRela, rela);
  EXPECT_TRUE(contains(verdict(object.bytes), "kept for a linker"));
  rela.sh_info = 0;
  rela.sh_link = 77;
  object.set_section(Object::kRela, rela);
  EXPECT_TRUE(contains(verdict(object.bytes), "not sound"));
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
