// Symbols, descriptors, and kernels that only have those.
#include "hsaco_test.h"

extern "C" {
#include "hsaco/name_table.h"
}

using build::Kernel;
using build::Object;
using build::Pack;
using build::plain_kernel;
using build::plain_object;

static Elf64_Sym symbol(const Object &object, size_t index)
{
  return object.get<Elf64_Sym>(object.symbols + index * sizeof(Elf64_Sym));
}
static void set_symbol(Object &object, size_t index, const Elf64_Sym &value)
{
  object.set(object.symbols + index * sizeof(Elf64_Sym), value);
}

TEST(Symbols, DescriptorsAreJoinedByName)
{
  Object object = plain_object(3);
  Elf64_Sym one = symbol(object, 2), three = symbol(object, 6); // order need not match
  set_symbol(object, 2, three);
  set_symbol(object, 6, one);
  Opened opened(object.bytes);
  ASSERT_EQ(RAWHAL_OK, opened.status);
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_NE(nullptr, opened.kernel(i).descriptor);
    EXPECT_EQ(object.rodata + 64 * i, opened.kernel(i).descriptor->address);
    EXPECT_EQ(object.text + 256 * i, opened.kernel(i).descriptor->entry);
    EXPECT_EQ(24u, opened.kernel(i).descriptor->kernarg_size);
  }
  ASSERT_EQ(6u, opened.info().symbol_count);
  EXPECT_EQ(RAWHAL_SYMBOL_FUNCTION, rawhal_hsaco_symbol(opened.hsaco, 0)->kind);
  EXPECT_EQ(RAWHAL_SYMBOL_KERNEL, rawhal_hsaco_symbol(opened.hsaco, 1)->kind);
  EXPECT_EQ(nullptr, rawhal_hsaco_symbol(opened.hsaco, 6));
}

TEST(Symbols, KernelsAreFoundByNameAndBySymbol)
{
  Kernel differs = plain_kernel("plain");
  differs.symbol = "mangled.kd";
  Object object;
  object.kernels = {differs, plain_kernel("other")};
  Opened opened(object.build());
  ASSERT_EQ(RAWHAL_OK, opened.status);
  const rawhal_kernel_t *kernel = &opened.kernel(0);
  EXPECT_TRUE(kernel->usable) << text_of(kernel->unusable_reason);
  EXPECT_EQ(kernel, opened.find("plain"));
  EXPECT_EQ(kernel, opened.find("mangled.kd"));
  EXPECT_EQ(kernel, opened.find("mangled"));
  EXPECT_EQ(nullptr, opened.find("plain.kd"));
  EXPECT_EQ(&opened.kernel(1), opened.find("other.kd"));
  for (const char *name : {"", ".kd", "nothing", "othe", "other.k"})
    EXPECT_EQ(nullptr, opened.find(name)) << name;
  EXPECT_EQ(nullptr, rawhal_hsaco_find_kernel(opened.hsaco, {nullptr, 0}));
}

TEST(Symbols, EqualNamesFindTheFirst)
{
  Kernel a = plain_kernel("same"), b = plain_kernel("same");
  a.symbol = "a.kd";
  b.symbol = "b.kd";
  Object object;
  object.kernels = {a, b};
  Opened opened(object.build());
  ASSERT_EQ(RAWHAL_OK, opened.status);
  EXPECT_EQ(&opened.kernel(0), opened.find("same"));
  EXPECT_EQ(&opened.kernel(1), opened.find("b.kd"));
}

TEST(Symbols, KernelsWithoutMetadataAreListedAndOptIn)
{
  Object object;
  object.kernels = {plain_kernel("known"), plain_kernel("bare")};
  object.notes = {build::pack_metadata({plain_kernel("known")})};
  std::string bytes = object.build();
  Opened opened(bytes);
  ASSERT_EQ(RAWHAL_OK, opened.status);
  ASSERT_EQ(2u, opened.info().kernel_count);
  const rawhal_kernel_t &bare = opened.kernel(1);
  EXPECT_EQ("bare", text_of(bare.name));
  EXPECT_FALSE(bare.has_metadata || bare.usable || bare.has_arguments);
  EXPECT_TRUE(contains(text_of(bare.unusable_reason), "RAWHAL_HSACO_DESCRIPTOR_KERNELS"));
  ASSERT_NE(nullptr, bare.descriptor);
  EXPECT_EQ(object.text + 256, bare.descriptor->entry);
  EXPECT_EQ(0u, bare.kernarg_segment_size); // no neighbour's facts
  EXPECT_EQ(&bare, opened.find("bare"));
  rawhal_hsaco_options_t options = {};
  options.flags = RAWHAL_HSACO_DESCRIPTOR_KERNELS;
  Opened allowed(bytes, options);
  EXPECT_TRUE(allowed.kernel(1).usable);
  EXPECT_EQ("", text_of(allowed.kernel(1).unusable_reason));
}

TEST(Symbols, WhatIsNoDescriptorIsNoKernel)
{
  struct {
    unsigned char info;
    uint16_t section;
    uint64_t size;
  } const cases[] = {
      {ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), Object::kRodata, 64},   // wrong type
      {ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), SHN_UNDEF, 64},       // undefined
      {ELF64_ST_INFO(STB_LOCAL, STT_OBJECT), Object::kRodata, 64},  // local
      {ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT), Object::kRodata, 32}, // wrong size
  };
  for (const auto &one : cases) {
    Object object;
    object.kernels = {plain_kernel("known"), plain_kernel("bare")};
    object.notes = {build::pack_metadata({plain_kernel("known")})};
    object.build();
    Elf64_Sym bare = symbol(object, 4);
    bare.st_info = one.info;
    bare.st_shndx = one.section;
    bare.st_size = one.size;
    set_symbol(object, 4, bare);
    Opened opened(object.bytes);
    ASSERT_EQ(RAWHAL_OK, opened.status);
    EXPECT_EQ(1u, opened.info().kernel_count);

    Elf64_Sym known = symbol(object, 2); // the same for a kernel that has metadata
    known.st_info = one.info;
    known.st_shndx = one.section;
    known.st_size = one.size;
    set_symbol(object, 2, known);
    Opened second(object.bytes);
    ASSERT_EQ(RAWHAL_OK, second.status);
    EXPECT_EQ(nullptr, second.kernel(0).descriptor);
    EXPECT_FALSE(second.kernel(0).usable);
    EXPECT_NE("", text_of(second.kernel(0).unusable_reason));
  }
}

TEST(Symbols, DescriptorsOutsideTheFileCondemnTheirKernel)
{
  for (uint64_t address : {uint64_t{0xfffffffffffffff0}, uint64_t{1} << 40}) {
    Object object = plain_object(2);
    Elf64_Sym one = symbol(object, 2);
    one.st_value = address;
    set_symbol(object, 2, one);
    Opened opened(object.bytes);
    ASSERT_EQ(RAWHAL_OK, opened.status);
    EXPECT_FALSE(opened.kernel(0).usable);
    EXPECT_TRUE(opened.kernel(1).usable);
    EXPECT_FALSE(opened.info().loadable);
  }
}

TEST(Symbols, EntriesMustBeCode)
{
  const int64_t wrong[] = {0, 64, int64_t{1} << 40, INT64_MIN};
  for (int64_t distance : wrong) {
    Object object = plain_object(2);
    object.set<int64_t>(object.rodata + 16, distance);
    Opened opened(object.bytes);
    ASSERT_EQ(RAWHAL_OK, opened.status);
    EXPECT_FALSE(opened.kernel(0).usable) << distance;
    EXPECT_TRUE(contains(text_of(opened.kernel(0).unusable_reason), "entry address"));
    EXPECT_TRUE(opened.kernel(1).usable);
    EXPECT_TRUE(opened.info().loadable) << opened.reason(); // the loader never looks there
  }
}

// rocPRIM's kernels for other targets are __builtin_unreachable(): the last of .text starts at its end.
TEST(Symbols, KernelsWithoutInstructionsAreUnusableAlone)
{
  for (bool data_follows : {false, true}) {
    Object object = plain_object(2);
    Elf64_Phdr code = object.segment(build::kLoadCode), data = code;
    const uint64_t end = code.p_vaddr + 512;
    object.set<int64_t>(object.rodata + 16 + 64, static_cast<int64_t>(end - object.rodata) - 64);
    code.p_filesz = code.p_memsz = 512;
    object.set_segment(build::kLoadCode, code);
    data.p_flags = PF_R | PF_W;
    data.p_offset = data.p_vaddr = data.p_paddr = end;
    data.p_filesz = data.p_memsz = 64;
    if (data_follows)
      object.set_segment(build::kNoteSegment, data);
    Opened opened(object.bytes);
    ASSERT_EQ(RAWHAL_OK, opened.status);
    EXPECT_TRUE(opened.kernel(0).usable);
    EXPECT_FALSE(opened.kernel(1).usable);
    EXPECT_TRUE(contains(text_of(opened.kernel(1).unusable_reason), "has no instructions"))
        << text_of(opened.kernel(1).unusable_reason);
    EXPECT_TRUE(opened.info().loadable) << opened.reason();
  }
}

TEST(Symbols, RelocatableObjectsAreInspectable)
{
  Object object = plain_object();
  Elf64_Ehdr header = object.header();
  header.e_type = ET_REL;
  header.e_phnum = 0;
  object.set_header(header);
  Elf64_Sym one = symbol(object, 2);
  one.st_value = 0; // in its section
  set_symbol(object, 2, one);
  Opened opened(object.bytes);
  ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
  ASSERT_NE(nullptr, opened.kernel(0).descriptor);
  EXPECT_EQ(24u, opened.kernel(0).descriptor->kernarg_size);
  EXPECT_FALSE(opened.kernel(0).usable);
  EXPECT_TRUE(contains(opened.reason(), "ET_REL"));
}

// A linked fixture without its section headers still has PT_DYNAMIC, DT_HASH and DT_GNU_HASH.
TEST(Symbols, DynamicTableServesWithoutSectionHeaders)
{
  std::string bytes = read_file(RAWHAL_SOURCE_DIR "/tests/fixtures/layouts-gfx90a-v5.co");
  if (bytes.empty())
    GTEST_SKIP() << "no fixture";
  Opened whole(bytes);
  Object object;
  object.bytes = bytes;
  Elf64_Ehdr header = object.header();
  header.e_shoff = 0;
  header.e_shnum = header.e_shstrndx = 0;
  object.set_header(header);
  for (bool gnu_hash : {false, true}) {
    Opened opened(object.bytes);
    ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
    ASSERT_EQ(whole.info().kernel_count, opened.info().kernel_count);
    for (size_t i = 0; i < opened.info().kernel_count; ++i) {
      ASSERT_NE(nullptr, opened.kernel(i).descriptor) << gnu_hash;
      EXPECT_EQ(whole.kernel(i).descriptor->entry, opened.kernel(i).descriptor->entry);
      EXPECT_TRUE(opened.kernel(i).usable);
    }
    EXPECT_EQ("there are no section headers: e_shnum 0, e_shoff 0", opened.reason());
    // Once more with DT_HASH out of the way.
    for (unsigned s = 0; s < header.e_phnum; ++s) {
      Elf64_Phdr segment = object.segment(s);
      for (size_t at = 0; segment.p_type == PT_DYNAMIC && at < segment.p_filesz;
           at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry = object.get<Elf64_Dyn>(segment.p_offset + at);
        if (entry.d_tag == DT_HASH) {
          entry.d_tag = DT_DEBUG;
          object.set(segment.p_offset + at, entry);
        }
      }
    }
  }
}

TEST(Symbols, StrippedObjectsFallBackToDynsym)
{
  Object object = plain_object();
  Elf64_Shdr table = object.section(Object::kSymbols);
  table.sh_type = SHT_DYNSYM;
  object.set_section(Object::kSymbols, table);
  Opened opened(object.bytes);
  ASSERT_EQ(RAWHAL_OK, opened.status);
  EXPECT_TRUE(opened.kernel(0).usable);
  EXPECT_TRUE(contains(opened.reason(), "there is no .symtab (stripped)"));
}

// What only .dynsym knows is listed with its descriptor, but the loader does not find it.
TEST(Symbols, KernelsOfDynsymAloneAreNotUsable)
{
  std::string bytes = read_file(RAWHAL_SOURCE_DIR "/tests/fixtures/vector_add-gfx90a-v5.co");
  if (bytes.empty())
    GTEST_SKIP() << "no fixture";
  Object object;
  object.bytes = bytes;
  object.headers = object.header().e_shoff;
  for (unsigned i = 0; i < object.header().e_shnum; ++i) {
    Elf64_Shdr section = object.section(i);
    for (size_t at = 0; section.sh_type == SHT_SYMTAB && at < section.sh_size;
         at += sizeof(Elf64_Sym)) {
      Elf64_Sym one = object.get<Elf64_Sym>(section.sh_offset + at);
      one.st_info = ELF64_ST_INFO(STB_LOCAL, ELF64_ST_TYPE(one.st_info));
      object.set(section.sh_offset + at, one);
    }
  }
  Opened opened(object.bytes);
  ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
  EXPECT_EQ("", opened.reason());
  ASSERT_EQ(1u, opened.info().kernel_count);
  EXPECT_NE(nullptr, opened.kernel(0).descriptor);
  EXPECT_FALSE(opened.kernel(0).usable);
  EXPECT_TRUE(contains(text_of(opened.kernel(0).unusable_reason), "only in .dynsym"));
}

TEST(Symbols, ManyKernelsStayLinear)
{ // a quadratic join would take minutes
  Opened opened(plain_object(20000).bytes);
  ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
  EXPECT_TRUE(opened.info().loadable) << opened.reason();
  for (size_t i = 0; i < 20000; i += 777)
    EXPECT_EQ(&opened.kernel(i), opened.find("kernel" + std::to_string(i)));
}

TEST(NameTable, HoldsManyNamesOfEveryLength)
{
  arena memory;
  arena_init(&memory, 64 << 20, nullptr);
  name_table table;
  name_table_init(&table, &memory, 0);
  std::vector<std::string> names;
  for (size_t i = 1; i < 3000; ++i)
    names.push_back(std::string(i % 100, 'x') + std::to_string(i));
  for (size_t i = 0; i < names.size(); ++i) {
    name_slots *slots = name_table_at(&table, string_of(names[i]));
    ASSERT_NE(nullptr, slots);
    EXPECT_EQ(uint32_t{NAME_NONE}, slots->by_name);
    slots->by_name = static_cast<uint32_t>(i);
  }
  for (size_t i = 0; i < names.size(); ++i) {
    ASSERT_NE(nullptr, name_table_find(&table, string_of(names[i])));
    EXPECT_EQ(i, name_table_find(&table, string_of(names[i]))->by_name);
    EXPECT_EQ(nullptr, name_table_find(&table, string_of(names[i] + "x")));
  }
  arena_free(&memory);
}

TEST(Arena, BudgetAndOverflowFailWithLimit)
{
  arena memory;
  arena_init(&memory, 10000, nullptr);
  EXPECT_NE(nullptr, arena_alloc(&memory, 0));
  EXPECT_NE(nullptr, arena_alloc(&memory, 5000));
  EXPECT_EQ(nullptr, arena_alloc(&memory, 8000));
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, memory.status);
  EXPECT_EQ(nullptr, arena_alloc(&memory, SIZE_MAX));
  EXPECT_EQ(nullptr, arena_calloc(&memory, SIZE_MAX / 2, 3));
  arena_free(&memory);
}
