// Robustness: truncation, bit flips, random documents, counts that lie. The asan-ubsan run is the
// oracle for memory; here nothing may crash, hang, or be accepted that cannot be.
#include <random>

#include "hsaco_test.h"

using build::Object;
using build::Pack;
using build::plain_kernel;
using build::plain_object;

// Touches everything reachable, so that a sanitizer sees pointers that are wrong.
static size_t read_all(const Opened &opened)
{
  size_t sum = opened.json().size() + opened.diagnostics().size() + opened.reason().size();
  auto add = [&](rawhal_string_t text) {
    for (size_t i = 0; i < text.size; ++i)
      sum += static_cast<unsigned char>(text.data[i]);
  };
  for (size_t i = 0; i < opened.info().kernel_count; ++i) {
    const rawhal_kernel_t &kernel = opened.kernel(i);
    add(kernel.name);
    add(kernel.symbol);
    add(kernel.unusable_reason);
    add(kernel.language);
    add(kernel.kind);
    sum += kernel.descriptor ? kernel.descriptor->kernarg_size : 0;
    for (uint32_t a = 0; a < kernel.argument_count; ++a) {
      add(kernel.arguments[a].name);
      add(kernel.arguments[a].detail->value_kind_text);
      sum += kernel.arguments[a].offset;
    }
    EXPECT_EQ(kernel.usable, kernel.unusable_reason.size == 0);
    bool found = rawhal_hsaco_find_kernel(opened.hsaco, kernel.name);
    EXPECT_EQ(found, kernel.name.size != 0);
  }
  for (size_t i = 0; i < opened.info().symbol_count; ++i)
    add(rawhal_hsaco_symbol(opened.hsaco, i)->name);
  return sum;
}

TEST(Damage, NoPrefixOpens)
{
  std::string bytes = plain_object().bytes;
  for (size_t size = 0; size < bytes.size(); ++size) {
    Opened opened(bytes.substr(0, size));
    ASSERT_EQ(RAWHAL_MALFORMED, opened.status) << size;
    ASSERT_EQ(nullptr, opened.hsaco);
  }
}

TEST(Damage, NoPrefixOpensWithoutSectionHeadersEither)
{
  Object object;
  object.kernels = {plain_kernel("k")};
  object.sections = false;
  object.build();
  object.bytes.resize(object.segment(build::kLoadCode).p_offset +
                      object.segment(build::kLoadCode).p_filesz);
  ASSERT_EQ(RAWHAL_OK, Opened(object.bytes).status);
  for (size_t size = 0; size < object.bytes.size(); ++size)
    ASSERT_EQ(RAWHAL_MALFORMED, Opened(object.bytes.substr(0, size)).status) << size;
}

TEST(Damage, EveryByteOfTheHeadersMayBeAnything)
{
  const Object object = plain_object(2);
  std::vector<size_t> places;
  for (size_t i = 0; i < object.note + 200; ++i)
    places.push_back(i);
  for (size_t i = object.symbols; i < object.bytes.size(); ++i)
    places.push_back(i);
  for (size_t place : places)
    for (unsigned char value : {0x00, 0x7f, 0x80, 0xff}) {
      std::string bytes = object.bytes;
      bytes[place] = static_cast<char>(value);
      Opened opened(bytes);
      if (!opened.status)
        read_all(opened);
      else
        ASSERT_EQ(nullptr, opened.hsaco);
    }
}

TEST(Damage, BitFlips)
{
  std::mt19937 random(20240607);
  std::vector<std::string> seeds = {plain_object(3).bytes};
  for (const char *name : {"layouts-gfx90a-v5.co", "vector_add-gfx942-v6.co"})
    seeds.push_back(read_file(std::string(RAWHAL_SOURCE_DIR "/tests/fixtures/") + name));
  for (const std::string &seed : seeds) {
    if (seed.empty())
      continue;
    for (int round = 0; round < 1500; ++round) {
      std::string bytes = seed;
      for (unsigned flips = 1 + random() % 8; flips; --flips)
        bytes[random() % bytes.size()] ^= static_cast<char>(1u << random() % 8);
      Opened opened(bytes);
      if (!opened.status)
        read_all(opened);
    }
  }
}

// Documents made of real tokens in random order: deeper than flipped bits get.
TEST(Damage, RandomDocuments)
{
  std::mt19937 random(7);
  const std::string words[] = {"amdhsa.kernels",
                               "amdhsa.version",
                               "amdhsa.printf",
                               "amdhsa.target",
                               ".args",
                               ".name",
                               ".symbol",
                               ".size",
                               ".offset",
                               ".value_kind",
                               "by_value",
                               ".reqd_workgroup_size",
                               "",
                               "k.kd",
                               ".kernarg_segment_size"};
  for (int round = 0; round < 4000; ++round) {
    Pack pack;
    pack.map(1 + random() % 3).str(words[random() % 4]);
    for (unsigned tokens = random() % 40; tokens; --tokens)
      switch (random() % 9) {
      case 0:
        pack.map(random() % 5);
        break;
      case 1:
        pack.array(random() % 5);
        break;
      case 2:
        pack.number(random());
        break;
      case 3:
        pack.nil();
        break;
      case 4:
        pack.real(1.5);
        break;
      case 5:
        pack.raw("\xc4\x01x");
        break;
      default:
        pack.str(words[random() % std::size(words)]);
      }
    Object object;
    object.kernels = {plain_kernel("k")};
    object.notes = {pack.bytes};
    Opened opened(object.build());
    if (!opened.status) {
      std::string ignored;
      auto append = [](void *, const char *, size_t) { return true; };
      (void)!rawhal_hsaco_metadata_json(opened.hsaco, append, nullptr, nullptr);
    }
  }
}

TEST(Damage, ClaimsCostNothing)
{
  // A megabyte of one-byte arguments and one of one-byte kernels ask for hundreds of megabytes.
  Pack arguments;
  arguments.map(1).str("amdhsa.kernels").array(200);
  for (int k = 0; k < 200; ++k)
    arguments.map(1).str(".args").array(60000).raw(std::string(60000, '\x80'));
  Pack kernels;
  kernels.map(1).str("amdhsa.kernels").array(900000).raw(std::string(900000, '\x80'));
  for (const std::string &document : {arguments.bytes, kernels.bytes}) {
    Object object;
    object.notes = {document};
    Opened opened(object.build());
    EXPECT_EQ(RAWHAL_CAP_EXCEEDED, opened.status);
    EXPECT_TRUE(contains(opened.error.message, "memory")) << opened.error.message;
  }
}

// A section header takes 64 bytes and may point to all of the file: read each time, a few megabytes
// would keep a reader busy for minutes.
static std::string with_sections(build::Object object, size_t which, uint32_t type, size_t copies)
{
  Elf64_Ehdr header = object.get<Elf64_Ehdr>(0);
  Elf64_Shdr copied = object.section(static_cast<build::Object::Section>(which));
  copied.sh_type = type;
  header.e_shnum = static_cast<uint16_t>(header.e_shnum + copies); // the table is last in the file
  object.set_header(header);
  for (size_t i = 0; i < copies; ++i)
    object.append(copied);
  return object.bytes;
}

TEST(Damage, TablesThatOverlapAreNotReadAgainAndAgain)
{
  enum { COPIES = 2000 };
  build::Object object = build::plain_object(20);
  object.relocations.assign(20, {0, ELF64_R_INFO(0, 13), 0});
  object.build();
  const struct {
    size_t section;
    uint32_t type;
    const char *why;
  } cases[] = {
      {build::Object::kNote, SHT_NOTE, "note sections overlap"},
      {build::Object::kSymbols, SHT_DYNSYM, "symbol tables overlap"},
      {build::Object::kRela, SHT_RELA, "relocation sections overlap"},
  };
  for (const auto &one : cases) {
    Opened opened(with_sections(object, one.section, one.type, COPIES));
    ASSERT_EQ(RAWHAL_OK, opened.status) << one.why << ": " << opened.error.message;
    EXPECT_EQ(0u, opened.reason().find(one.why)) << opened.reason();
    EXPECT_TRUE(contains(opened.reason(), " bytes in a file with ")) << opened.reason();
  }
}

TEST(Damage, NotesThatOverlapAreRefused)
{
  enum { COPIES = 2000 };
  build::Object object = build::plain_object();
  std::string notes;
  for (int i = 0; i < 10000; ++i)
    notes += build::pack_note("none", 1, "");
  Elf64_Phdr segment = object.segment(build::kNoteSegment);
  segment.p_offset = object.bytes.size();
  segment.p_filesz = notes.size();
  object.bytes += notes;
  Elf64_Ehdr header = object.get<Elf64_Ehdr>(0);
  header.e_phoff = object.bytes.size();
  header.e_phnum = COPIES;
  object.set_header(header);
  for (int i = 0; i < COPIES; ++i)
    object.append(segment);
  Opened by_segments(object.bytes);
  EXPECT_EQ(RAWHAL_MALFORMED, by_segments.status);
  EXPECT_TRUE(contains(by_segments.error.message, "overlap")) << by_segments.error.message;
}

TEST(Damage, SharedEndlessNamesStayLinear)
{
  // Every symbol names the same megabyte without a terminator.
  Object object = plain_object(1000);
  Elf64_Shdr strings = object.section(Object::kStrings);
  strings.sh_offset = object.bytes.size();
  strings.sh_size = 1 << 20;
  object.set_section(Object::kStrings, strings);
  object.bytes += std::string(1 << 20, 'n');
  for (size_t i = 0; i < 2001; ++i)
    object.set<uint32_t>(object.symbols + i * sizeof(Elf64_Sym), static_cast<uint32_t>(i));
  Opened opened(object.bytes);
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, opened.status);
  EXPECT_TRUE(contains(opened.error.message, "long names share bytes")) << opened.error.message;
  // From one place, all of them are read at once.
  for (size_t i = 0; i < 2001; ++i)
    object.set<uint32_t>(object.symbols + i * sizeof(Elf64_Sym), 7);
  Opened shared(object.bytes);
  ASSERT_EQ(RAWHAL_OK, shared.status) << shared.error.message;
  EXPECT_EQ(0u, shared.info().symbol_count);
  EXPECT_TRUE(contains(shared.diagnostics(), "2000 symbols have names that cannot be read"));
}
