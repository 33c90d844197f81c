// Each thing that ROCr's loader does not check, refuses or takes for another thing must be refused
// here, with the place and both numbers.
#include <set>

#include "change.h"

extern "C" {
#include "hsaco/loadable.h"
}

using namespace change;

struct Broken {
  uint64_t offset, found, bound; // what the verdict must name
};

static size_t section_at(const Object &object, unsigned index)
{
  return object.headers + index * sizeof(Elf64_Shdr);
}

static constexpr size_t segment_at(unsigned index)
{
  return sizeof(Elf64_Ehdr) + index * sizeof(Elf64_Phdr);
}

static size_t symbol_at(const Object &object, unsigned index)
{
  return object.symbols + index * sizeof(Elf64_Sym);
}

struct Rule {
  loadable_rule rule;
  std::function<Broken(Object &)> damage;
};

static std::string text_of_rule(loadable_rule rule, const Broken &broken)
{
  char text[256];
  snprintf(text, sizeof(text), loadable_text(rule), static_cast<unsigned long long>(broken.found),
           static_cast<unsigned long long>(broken.bound));
  return text;
}

// Every rule that is broken here says so, with the place and both numbers; none stays untried.
static void expect_broken(const std::vector<Rule> &rules, const std::function<Object()> &sound,
                          std::set<loadable_rule> &tried)
{
  EXPECT_EQ("", verdict(sound().bytes));
  for (const Rule &rule : rules) {
    Object object = sound();
    const Broken broken = rule.damage(object);
    Opened opened(object.bytes);
    ASSERT_EQ(RAWHAL_OK, opened.status) << loadable_text(rule.rule) << opened.error.message;
    EXPECT_EQ(text_of_rule(rule.rule, broken), opened.reason());
    uint64_t offset = 0;
    for (size_t i = 0; i < opened.info().diagnostic_count; ++i) {
      const rawhal_diagnostic_t *one = rawhal_hsaco_diagnostic(opened.hsaco, i);
      if (contains(text_of(one->message), "not loadable: "))
        offset = one->offset;
    }
    EXPECT_EQ(broken.offset, offset) << opened.reason();
    tried.insert(rule.rule);
  }
}

static Broken with_flags(Object &object, uint32_t flags, uint8_t abi, uint64_t found,
                         uint64_t bound)
{
  set_header(object, [&](auto &h) {
    h.e_flags = flags;
    h.e_ident[EI_ABIVERSION] = abi;
  });
  return {offsetof(Elf64_Ehdr, e_flags), found, bound};
}

static const std::vector<Rule> kObjectRules = {
    {LOADABLE_LINKED,
     [](Object &o) {
       set_header(o, [](auto &h) { h.e_type = ET_REL; });
       return Broken{offsetof(Elf64_Ehdr, e_type), 1, 3};
     }},
    {LOADABLE_PROCESSOR, [](Object &o) { return with_flags(o, 0x5fe, 3, 0xfe, 0x5fe); }},
    {LOADABLE_XNACK, [](Object &o) { return with_flags(o, 0x341, 3, 0x341, 0x41); }},
    {LOADABLE_SRAMECC, [](Object &o) { return with_flags(o, 0xd2c, 3, 0xd2c, 0x2c); }},
    {LOADABLE_GENERIC_LACKS_VERSION, [](Object &o) { return with_flags(o, 0x53, 4, 0x53, 0x53); }},
    {LOADABLE_VERSION_LACKS_GENERIC,
     [](Object &o) { return with_flags(o, 0x01000041, 4, 1, 0x41); }},
};

static const std::vector<Rule> kSectionRules = {
    {LOADABLE_HAS_SECTIONS,
     [](Object &o) {
       set_header(o, [](auto &h) { h.e_shoff = h.e_shnum = 0; });
       return Broken{offsetof(Elf64_Ehdr, e_shoff), 0, 0};
     }},
    {LOADABLE_PLAIN_NUMBERING,
     [](Object &o) {
       set_header(o, [](auto &h) { h.e_shnum = 0; });
       set_section(o, 0, [](auto &s) { s.sh_size = Object::kRela; });
       return Broken{offsetof(Elf64_Ehdr, e_shoff), Object::kRela, build::kSegments};
     }},
    {LOADABLE_SIZE_BY_SECTIONS, // the loader would cut the file there
     [](Object &o) {
       set_section(o, Object::kNames, [&](auto &s) {
         s.sh_offset = o.headers + 8;
         s.sh_size = 8;
       });
       return Broken{offsetof(Elf64_Ehdr, e_shoff), o.headers + 16, section_at(o, Object::kRela)};
     }},
    {LOADABLE_SIZE_BY_SECTIONS,
     [](Object &o) {
       const uint64_t far = uint64_t{1} << 40;
       set_section(o, Object::kNames, [](auto &s) { s.sh_offset = far; });
       return Broken{offsetof(Elf64_Ehdr, e_shoff), far + o.section(Object::kNames).sh_size,
                     o.bytes.size()};
     }},
    {LOADABLE_FIRST_SECTION_EMPTY,
     [](Object &o) {
       set_section(o, 0, [](auto &s) { s.sh_type = SHT_PROGBITS; });
       return Broken{section_at(o, 0), SHT_PROGBITS, SHT_NULL};
     }},
    {LOADABLE_NO_OTHER_EMPTY,
     [](Object &o) {
       set_section(o, Object::kText, [](auto &s) { s.sh_type = SHT_NULL; });
       return Broken{section_at(o, Object::kText), Object::kText, Object::kRela};
     }},
    {LOADABLE_SECTION_INSIDE,
     [](Object &o) {
       set_section(o, Object::kStrings, [](auto &s) { s.sh_size = 1 << 20; });
       return Broken{section_at(o, Object::kStrings), o.strings + (1 << 20), o.bytes.size()};
     }},
    {LOADABLE_SIZE_BY_SECTIONS, // of a section without bytes, the place counts
     [](Object &o) {
       set_section(o, Object::kText, [&](auto &s) {
         s.sh_type = SHT_NOBITS;
         s.sh_offset = o.bytes.size() + 1;
       });
       return Broken{offsetof(Elf64_Ehdr, e_shoff), o.bytes.size() + 1, o.bytes.size()};
     }},
    {LOADABLE_NAMES_TABLE,
     [](Object &o) {
       set_header(o, [](auto &h) { h.e_shstrndx = Object::kText; });
       return Broken{offsetof(Elf64_Ehdr, e_shstrndx), Object::kText, Object::kRela};
     }},
    {LOADABLE_NAMES_TABLE,
     [](Object &o) {
       set_header(o, [](auto &h) { h.e_shstrndx = 200; });
       return Broken{offsetof(Elf64_Ehdr, e_shstrndx), 200, Object::kRela};
     }},
    {LOADABLE_NAME_INSIDE,
     [](Object &o) {
       const uint64_t size = o.section(Object::kNames).sh_size;
       set_section(o, Object::kText, [&](auto &s) { s.sh_name = static_cast<uint32_t>(size); });
       return Broken{section_at(o, Object::kText), size, size};
     }},
    {LOADABLE_NAME_FITS_TYPE,
     [](Object &o) {
       set_section(o, Object::kNote, [](auto &s) { s.sh_type = SHT_PROGBITS; });
       return Broken{section_at(o, Object::kNote), SHT_PROGBITS, Object::kNote};
     }},
};

static const std::vector<Rule> kNoteRules = {
    {LOADABLE_NOTE_WHOLE,
     [](Object &o) {
       set_section(o, Object::kNote, [](auto &s) { s.sh_size -= 4; });
       return Broken{o.note, 0, o.section(Object::kNote).sh_size};
     }},
    {LOADABLE_NOTES_PADDED,
     [](Object &o) {
       for (std::string name = "k"; o.get<Elf64_Nhdr>(o.note).n_descsz % 4 == 0; name += "k") {
         o.kernels[0].name = name;
         o.build();
       }
       const uint64_t padded = o.section(Object::kNote).sh_size;
       const uint64_t size = 20 + o.get<Elf64_Nhdr>(o.note).n_descsz;
       set_section(o, Object::kNote, [&](auto &s) { s.sh_size = size; });
       return Broken{section_at(o, Object::kNote), size, padded};
     }},
    {LOADABLE_NOTE_NOT_HSAIL, // its profile would be asked for
     [](Object &o) {
       Elf64_Nhdr header = o.get<Elf64_Nhdr>(o.note);
       header.n_namesz = 4;
       header.n_descsz += 4;
       header.n_type = 2;
       o.set(o.note, header);
       o.set(o.note + sizeof(header), uint32_t{0x00444d41}); // "AMD"
       return Broken{o.note, 2, 5};
     }},
};

static const std::vector<Rule> kSegmentRules = {
    {LOADABLE_SEGMENT_SIZES,
     [](Object &o) {
       set_segment(o, 1, [](auto &s) { s.p_memsz = s.p_filesz - 1; });
       return Broken{segment_at(1), 512, 511};
     }},
    {LOADABLE_SEGMENT_INSIDE,
     [](Object &o) {
       set_segment(o, 1, [](auto &s) {
         s.p_filesz = 0;
         s.p_offset = uint64_t{1} << 40;
       });
       return Broken{segment_at(1), uint64_t{1} << 40, o.bytes.size()};
     }},
    {LOADABLE_SEGMENT_ALIGNMENT,
     [](Object &o) {
       set_segment(o, 1, [](auto &s) { s.p_align = 3; });
       return Broken{segment_at(1), 3, 1};
     }},
    {LOADABLE_SEGMENT_ORDER,
     [](Object &o) {
       set_segment(o, 0, [](auto &s) { s.p_memsz += 1 << 20; });
       return Broken{segment_at(1), o.text, o.segment(0).p_memsz};
     }},
    {LOADABLE_SEGMENT_WRAP,
     [](Object &o) {
       set_segment(o, 1, [](auto &s) { s.p_memsz = UINT64_MAX - s.p_vaddr + 1; });
       return Broken{segment_at(1), UINT64_MAX - o.text + 1, o.text};
     }},
    {LOADABLE_HAS_SEGMENTS,
     [](Object &o) {
       for (unsigned i : {0u, 1u})
         set_segment(o, i, [](auto &s) { s.p_type = PT_NULL; });
       return Broken{segment_at(0), 0, 0};
     }},
    {LOADABLE_HAS_SEGMENTS,
     [](Object &o) {
       set_segment(o, 0, [](auto &s) { s.p_memsz = s.p_filesz = 0; });
       set_segment(o, 1, [](auto &s) { s.p_type = PT_NULL; });
       return Broken{segment_at(0), 1, 0};
     }},
    {LOADABLE_STARTS_AT_ZERO, // whose address the loader asks for
     [](Object &o) {
       set_segment(o, 0, [](auto &s) { s.p_vaddr = 0x200; });
       return Broken{segment_at(0), 0x200, 0};
     }},
    {LOADABLE_SPAN,
     [](Object &o) {
       set_segment(o, 1, [](auto &s) { s.p_memsz = uint64_t{1} << 33; });
       return Broken{segment_at(0), o.text + (uint64_t{1} << 33), uint64_t{1} << 30};
     }},
};

// Of the symbol table as a whole.
static const std::vector<Rule> kTableRules = {
    {LOADABLE_TABLE_SOUND,
     [](Object &o) {
       set_section(o, Object::kSymbols, [](auto &s) { s.sh_link = 0; });
       return Broken{section_at(o, Object::kSymbols), 72, 0};
     }},
    {LOADABLE_TABLE_SOUND,
     [](Object &o) {
       set_section(o, Object::kSymbols, [](auto &s) { s.sh_size -= 1; });
       return Broken{section_at(o, Object::kSymbols), 71, Object::kStrings};
     }},
    {LOADABLE_TABLE_SOUND, // names that do not end
     [](Object &o) {
       o.bytes[o.strings + o.section(Object::kStrings).sh_size - 1] = 'x';
       return Broken{section_at(o, Object::kSymbols), 72, Object::kStrings};
     }},
    {LOADABLE_SYMBOL_NAME_INSIDE,
     [](Object &o) {
       const uint64_t size = o.section(Object::kStrings).sh_size;
       set_symbol(o, [&](auto &s) { s.st_name = static_cast<uint32_t>(size); });
       return Broken{symbol_at(o, 2), size, size};
     }},
    {LOADABLE_SYMBOL_0_EMPTY,
     [](Object &o) {
       o.bytes[o.symbols + offsetof(Elf64_Sym, st_info)] = STT_OBJECT;
       return Broken{symbol_at(o, 0), 0, STT_OBJECT};
     }},
    {LOADABLE_SYMBOL_0_EMPTY,
     [](Object &o) {
       o.bytes[o.symbols] = 1;
       return Broken{symbol_at(o, 0), 1, 0};
     }},
    {LOADABLE_HAS_SYMTAB,
     [](Object &o) {
       set_section(o, Object::kSymbols, [](auto &s) { s.sh_type = SHT_DYNSYM; });
       return Broken{offsetof(Elf64_Ehdr, e_shoff), 1, Object::kRela};
     }},
    {LOADABLE_SYMTAB_BY_NAME, // the loader would find no kernels
     [](Object &o) {
       set_section(o, Object::kSymbols, [](auto &s) { s.sh_name = 0; });
       return Broken{section_at(o, Object::kSymbols), 0, Object::kSymbols};
     }},
};

static const std::vector<Rule> kSymbolRules = {
    {LOADABLE_SYMBOL_TYPE, // the loader would copy 256 bytes from there
     [](Object &o) {
       set_symbol(o, [](auto &s) { s.st_info = ELF64_ST_INFO(STB_GLOBAL, 10); });
       return Broken{symbol_at(o, 2), 10, 2};
     }},
    {LOADABLE_SYMBOL_TYPE,
     [](Object &o) {
       set_symbol(o, [](auto &s) { s.st_info = ELF64_ST_INFO(STB_LOCAL, 10); });
       return Broken{symbol_at(o, 2), 10, 2};
     }},
    {LOADABLE_SYMBOL_PLACED, // the loader would ask for it to be supplied
     [](Object &o) {
       set_symbol(o, [](auto &s) { s.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_COMMON); });
       return Broken{symbol_at(o, 2), STT_COMMON, 2};
     }},
    {LOADABLE_OBJECT_BINDING,
     [](Object &o) {
       set_symbol(o, [](auto &s) { s.st_info = ELF64_ST_INFO(3, STT_OBJECT); });
       return Broken{symbol_at(o, 2), 3, 2};
     }},
    {LOADABLE_OBJECT_NAMED,
     [](Object &o) {
       set_symbol(o, [](auto &s) { s.st_name = 0; });
       return Broken{symbol_at(o, 2), 0, 2};
     }},
    {LOADABLE_OBJECT_HAS_SECTION,
     [](Object &o) {
       set_symbol(o, [](auto &s) { s.st_shndx = SHN_UNDEF; });
       return Broken{symbol_at(o, 2), SHN_UNDEF, Object::kRela};
     }},
    {LOADABLE_OBJECT_HAS_SECTION,
     [](Object &o) {
       set_symbol(o, [](auto &s) { s.st_shndx = SHN_ABS; });
       return Broken{symbol_at(o, 2), SHN_ABS, Object::kRela};
     }},
    {LOADABLE_OBJECT_IN_SECTION,
     [](Object &o) {
       set_symbol(o, [](auto &s) { s.st_value += 64; });
       return Broken{symbol_at(o, 2), o.rodata + 64, o.rodata};
     }},
    {LOADABLE_OBJECT_IN_SECTION,
     [](Object &o) {
       set_symbol(o, [](auto &s) { s.st_size = UINT64_MAX; });
       return Broken{symbol_at(o, 2), o.rodata, o.rodata};
     }},
    {LOADABLE_OBJECT_LOADED,
     [](Object &o) {
       set_section(o, Object::kRodata, [](auto &s) { s.sh_addr = 1 << 20; });
       set_symbol(o, [](auto &s) { s.st_value = 1 << 20; });
       return Broken{symbol_at(o, 2), 1 << 20, 64};
     }},
    {LOADABLE_OBJECT_ALIGNMENT,
     [](Object &o) {
       set_section(o, Object::kRodata, [](auto &s) { s.sh_addralign = UINT32_MAX; });
       set_symbol(o, [](auto &s) { s.st_name += 8; }); // "kd", no descriptor
       return Broken{symbol_at(o, 2), UINT32_MAX, UINT32_MAX - 1};
     }},
    {LOADABLE_DESCRIPTOR_NAMED, // ".kd": a kernel for the loader
     [](Object &o) {
       set_symbol(o, [](auto &s) { s.st_name += 7; });
       return Broken{symbol_at(o, 2), o.get<Elf64_Sym>(symbol_at(o, 2)).st_name, 2};
     }},
    {LOADABLE_DESCRIPTOR_SIZE,
     [](Object &o) {
       set_symbol(o, [](auto &s) { s.st_size = 32; });
       return Broken{symbol_at(o, 2), 32, 64};
     }},
    {LOADABLE_DESCRIPTOR_IN_FILE,
     [](Object &o) {
       set_section(o, Object::kRodata, [](auto &s) { s.sh_type = SHT_NOBITS; });
       return Broken{symbol_at(o, 2), o.rodata, SHT_NOBITS};
     }},
    {LOADABLE_DESCRIPTOR_IN_FILE,
     [](Object &o) {
       set_segment(o, 0, [](auto &s) { --s.p_filesz; });
       return Broken{symbol_at(o, 2), o.rodata, SHT_PROGBITS};
     }},
    {LOADABLE_DESCRIPTOR_SAME_BYTES, // the loader would take sizes from other bytes
     [](Object &o) {
       set_section(o, Object::kRodata, [](auto &s) { s.sh_offset -= 8; });
       return Broken{symbol_at(o, 2), o.rodata - 8, o.rodata};
     }},
};

// ---- Relocations ----

static void set_target(Object &object, const std::function<void(Elf64_Sym &)> &change)
{
  Elf64_Sym symbol = object.get<Elf64_Sym>(symbol_at(object, 1)); // k, a function
  change(symbol);
  object.set(symbol_at(object, 1), symbol);
}

static const std::vector<Rule> kRelocationRules = {
    {LOADABLE_ONE_SYMTAB,
     [](Object &o) {
       o.set_section(Object::kRela, o.section(Object::kSymbols));
       return Broken{offsetof(Elf64_Ehdr, e_shoff), 2, 1};
     }},
    {LOADABLE_RELOCATIONS_FORM,
     [](Object &o) {
       set_section(o, Object::kRela, [](auto &s) { s.sh_type = SHT_REL; });
       return Broken{section_at(o, Object::kRela), SHT_REL, SHT_RELA};
     }},
    {LOADABLE_RELOCATIONS_DYNAMIC,
     [](Object &o) {
       set_section(o, Object::kRela, [](auto &s) { s.sh_info = Object::kText; });
       return Broken{section_at(o, Object::kRela), Object::kText, 0};
     }},
    {LOADABLE_RELOCATIONS_SOUND,
     [](Object &o) {
       set_section(o, Object::kRela, [](auto &s) { s.sh_link = 77; });
       return Broken{section_at(o, Object::kRela), sizeof(Elf64_Rela), 77};
     }},
    {LOADABLE_RELOCATION_TYPE,
     [](Object &o) {
       set_relocation(o, 1, 10, o.text, 0);
       return Broken{relocation_at(o), 10, o.text};
     }},
    {LOADABLE_RELOCATION_SYMBOL,
     [](Object &o) {
       set_relocation(o, 3, 3, o.text, 0);
       return Broken{relocation_at(o), 3, 3};
     }},
    {LOADABLE_RELOCATION_PLACE,
     [](Object &o) {
       set_relocation(o, 1, 3, o.text + 505, 0);
       return Broken{relocation_at(o), o.text + 505, 8};
     }},
    {LOADABLE_RELOCATION_NO_DESCRIPTOR, // its entry: the device would be sent elsewhere
     [](Object &o) {
       set_relocation(o, 1, 13, o.rodata + 16, 0);
       return Broken{relocation_at(o), o.rodata + 16, o.rodata};
     }},
    {LOADABLE_RELOCATION_NO_DESCRIPTOR,
     [](Object &o) {
       set_relocation(o, 1, 3, o.rodata - 7, 0);
       return Broken{relocation_at(o), o.rodata - 7, o.rodata};
     }},
    {LOADABLE_RELOCATION_NO_DESCRIPTOR,
     [](Object &o) {
       set_relocation(o, 1, 1, o.rodata + 60, 0);
       return Broken{relocation_at(o), o.rodata + 60, o.rodata};
     }},
    {LOADABLE_RELOCATION_SYMBOL_TYPE, // of every relocation, also where no symbol is needed
     [](Object &o) {
       set_relocation(o, 1, 13, o.text, 0);
       set_target(o, [](auto &s) { s.st_info = ELF64_ST_INFO(STB_LOCAL, STT_SECTION); });
       return Broken{relocation_at(o), STT_SECTION, 1};
     }},
    {LOADABLE_RELOCATION_DEFINED,
     [](Object &o) {
       set_target(o, [](auto &s) { s.st_shndx = SHN_UNDEF; });
       return Broken{relocation_at(o), SHN_UNDEF, 1};
     }},
    {LOADABLE_RELOCATION_UNTYPED, // by name, which finds nothing
     [](Object &o) {
       set_target(o, [](auto &s) { s.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE); });
       return Broken{relocation_at(o), Object::kText, 1};
     }},
    {LOADABLE_RELOCATION_EXTERNAL, // nobody can supply it
     [](Object &o) {
       set_target(o, [](auto &s) {
         s.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE);
         s.st_shndx = SHN_UNDEF;
         s.st_name = 0;
       });
       return Broken{relocation_at(o), ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE), 1};
     }},
    {LOADABLE_RELOCATION_ADDEND, // would hide that it is not supplied
     [](Object &o) {
       set_relocation(o, 1, 3, o.text, 8);
       set_target(o, [](auto &s) {
         s.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE);
         s.st_shndx = SHN_UNDEF;
       });
       return Broken{relocation_at(o), 8, 1};
     }},
    {LOADABLE_RELOCATION_ADDEND, // no symbol and no addend: the loader takes it for undefined
     [](Object &o) {
       set_relocation(o, 0, 3, o.text, 0);
       return Broken{relocation_at(o), 0, 0};
     }},
    {LOADABLE_RELOCATION_LOADED,
     [](Object &o) {
       set_target(o, [](auto &s) { s.st_value = 1 << 20; });
       return Broken{relocation_at(o), 1 << 20, 1};
     }},
};

TEST(Loadable, EveryRuleNamesThePlaceAndBothNumbers)
{
  std::set<loadable_rule> tried = {
      LOADABLE_DEFINED_ONCE, // SymbolsDefinedTwice
      LOADABLE_NOTES_APART, LOADABLE_TABLES_APART, LOADABLE_RELOCATIONS_APART, // damage_test.cc
  };
  auto plain = [] { return plain_object(); };
  for (const std::vector<Rule> *rules :
       {&kObjectRules, &kSectionRules, &kNoteRules, &kSegmentRules, &kTableRules, &kSymbolRules})
    expect_broken(*rules, plain, tried);
  expect_broken(kRelocationRules, relocated_object, tried);
  for (int rule = 0; rule < LOADABLE_RULES; ++rule)
    EXPECT_TRUE(tried.count(static_cast<loadable_rule>(rule)))
        << loadable_text(static_cast<loadable_rule>(rule));
}
