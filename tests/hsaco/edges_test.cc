// Bounds at the last value that is allowed and at the first that is not, where nothing crashes when
// one is off by one: what is read then is a neighbour's.
#include "container_test.h"

extern "C" {
#include "hsaco/arena.h"
}

using build::Object;
using build::plain_kernel;
using build::plain_object;

namespace {

template <typename Change> Object with_header(Change change)
{
  Object object = plain_object();
  Elf64_Ehdr header = object.header();
  change(header);
  object.set_header(header);
  return object;
}

template <typename Change> void set_segment(Object &object, unsigned index, Change change)
{
  Elf64_Phdr segment = object.segment(index);
  change(segment);
  object.set_segment(index, segment);
}

template <typename Change> void set_section(Object &object, unsigned index, Change change)
{
  Elf64_Shdr section = object.section(index);
  change(section);
  object.set_section(index, section);
}

void expect_refused(const std::string &bytes, rawhal_status_t status, const std::string &message)
{
  Opened opened(bytes);
  EXPECT_EQ(status, opened.status);
  EXPECT_TRUE(contains(opened.error.message, message)) << opened.error.message;
}

std::string reason_of(const std::string &bytes, size_t kernel = 0)
{
  Opened opened(bytes);
  EXPECT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
  return opened.status ? "" : text_of(opened.kernel(kernel).unusable_reason);
}

// What is wrong, without where: the numbers follow a colon.
std::string rule(const std::string &reason)
{
  return reason.substr(0, reason.find(": "));
}

std::string refusal(const std::string &bytes)
{
  Opened opened(bytes);
  EXPECT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
  return opened.status ? "" : rule(opened.reason());
}

} // namespace

// ---- The ELF view ----

// Another reader would find the second header somewhere else.
TEST(Edges, HeadersAreAsLongAsTheyAre)
{
  for (uint16_t size : {55, 57, 64, 112})
    expect_refused(with_header([&](auto &h) { h.e_phentsize = size; }).bytes, RAWHAL_MALFORMED,
                   "program headers of");
  for (uint16_t size : {63, 65, 128})
    expect_refused(with_header([&](auto &h) { h.e_shentsize = size; }).bytes, RAWHAL_MALFORMED,
                   "section headers of");
}

TEST(Edges, SectionHeader0OfExtendedNumberingIsWhole)
{
  for (uint64_t left : {63, 1, 0}) {
    Object object = plain_object();
    Elf64_Ehdr header = object.header();
    header.e_shoff = object.bytes.size() - left;
    header.e_phnum = PN_XNUM;
    object.set_header(header);
    expect_refused(object.bytes, RAWHAL_MALFORMED, "without a readable section header 0");
  }
}

// As many as make their table 64 bytes modulo 2^64.
TEST(Edges, ManySectionHeadersDoNotWrap)
{
  Object object = plain_object();
  set_section(object, Object::kNull, [](auto &s) { s.sh_size = (uint64_t{1} << 58) + 1; });
  Elf64_Ehdr header = object.header();
  header.e_shnum = 0;
  object.set_header(header);
  expect_refused(object.bytes, RAWHAL_MALFORMED, "section headers at offset");
}

// Looking up an address is a binary search, whatever the order in the file.
TEST(Edges, SegmentsComeInAnyOrder)
{
  Object object = plain_object(3);
  Elf64_Phdr data = object.segment(build::kLoadData), code = object.segment(build::kLoadCode);
  object.set_segment(build::kLoadData, code);
  object.set_segment(build::kLoadCode, data);
  Opened opened(object.bytes);
  ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
  for (size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(opened.kernel(i).usable) << text_of(opened.kernel(i).unusable_reason);
}

TEST(Edges, TheByteBehindASegmentIsNotLoaded)
{
  for (uint64_t beyond : {0, 1}) {
    Object object;
    object.kernels = {plain_kernel("k")};
    object.relocations = {{plain_object().text, ELF64_R_INFO(uint64_t{1}, 3), 0}};
    object.build();
    Elf64_Sym symbol = object.get<Elf64_Sym>(object.symbols + sizeof(Elf64_Sym));
    symbol.st_value = object.text + object.segment(build::kLoadCode).p_memsz - 1 + beyond;
    object.set(object.symbols + sizeof(Elf64_Sym), symbol);
    EXPECT_EQ(beyond ? "a relocation's symbol lies outside of what is loaded" : "",
              refusal(object.bytes));
  }
}

// What a segment has in memory only is zero there and nowhere in the file.
TEST(Edges, ADescriptorIsInTheFileToItsLastByte)
{
  Object object = plain_object();
  set_segment(object, build::kLoadData, [&](auto &s) { s.p_filesz = object.rodata + 64; });
  EXPECT_EQ("", reason_of(object.bytes));
  for (size_t bytes : {63, 1, 0}) {
    set_segment(object, build::kLoadData, [&](auto &s) { s.p_filesz = object.rodata + bytes; });
    EXPECT_TRUE(contains(reason_of(object.bytes), "is not in the file")) << bytes;
  }
}

// An object whose end is not known takes the rest of its range; it has not ended before it began.
TEST(Edges, AnExtentThatIsNotKnown)
{
  for (int kind = 0; kind < 4; ++kind) {
    Object object = plain_object();
    uint64_t size = object.bytes.size();
    const std::string rest(100, 'x');
    if (kind == 0) // wraps around to 1
      set_segment(object, build::kNoteSegment, [](auto &s) { s.p_filesz = 1 - s.p_offset; });
    if (kind == 1)
      set_section(object, Object::kStrings, [](auto &s) { s.sh_size = 1 - s.sh_offset; });
    if (kind == 2) // ends one byte behind everything
      set_section(object, Object::kStrings,
                  [&](auto &s) { s.sh_size = size + rest.size() + 1 - s.sh_offset; });
    Container container(object.bytes + rest);
    if (kind == 3) { // a sound one ends where it ends
      EXPECT_EQ(RAWHAL_MALFORMED, container.status);
      EXPECT_EQ(size, container.error.offset) << container.error.message;
      continue;
    }
    ASSERT_EQ(RAWHAL_OK, container.status) << kind << ": " << container.error.message;
    ASSERT_EQ(1u, container.count());
    EXPECT_EQ(size + rest.size(), container.at(0).bytes.size) << kind;
  }
}

// ---- Notes and metadata ----

TEST(Edges, TheRestOfANoteSegmentIsNoHeader)
{
  for (uint64_t rest : {1, 4, 8, 11}) {
    Object object = plain_object();
    set_segment(object, build::kNoteSegment, [&](auto &s) { s.p_filesz += rest; });
    expect_refused(object.bytes, RAWHAL_MALFORMED, "a note header is truncated");
  }
}

TEST(Edges, TheCapOnMetadataIsOnAllNotesTogether)
{
  Object object;
  object.kernels = {plain_kernel("a"), plain_kernel("b")};
  object.notes = {build::pack_metadata({object.kernels[0]}),
                  build::pack_metadata({object.kernels[1]})};
  object.build();
  rawhal_hsaco_options_t options = {};
  options.max_metadata_bytes = object.notes[0].size() + object.notes[1].size();
  EXPECT_EQ(RAWHAL_OK, Opened(object.bytes, options).status);
  --options.max_metadata_bytes;
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, Opened(object.bytes, options).status);
}

// The list of arguments replaced by other msgpack.
static std::string with_arguments(const std::string &list)
{
  build::Kernel kernel = plain_kernel("k");
  kernel.arguments.clear();
  Object object;
  object.kernels = {kernel};
  std::string metadata = build::pack_metadata(object.kernels);
  const std::string none = build::Pack().str(".args").array(0).bytes;
  metadata.replace(metadata.find(none) + none.size() - 1, 1, list);
  object.notes = {metadata};
  return object.build();
}

// Fewer bytes than arguments: no memory is taken for what cannot be there.
TEST(Edges, ArgumentsThatAreAnnouncedHaveBytes)
{
  expect_refused(with_arguments(std::string("\xdd\0\0\xea\x60", 5)), RAWHAL_MALFORMED,
                 "more arguments are announced");
}

// Whoever lists arguments may look at the details of each, also of one that is none.
TEST(Edges, EveryArgumentHasDetails)
{
  Opened opened(with_arguments(build::Pack().array(3).number(7).map(0).str("x").bytes));
  ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
  EXPECT_FALSE(opened.kernel(0).usable);
  ASSERT_EQ(3u, opened.kernel(0).argument_count);
  for (size_t i = 0; i < 3; ++i) {
    const rawhal_argument_detail_t *detail = opened.kernel(0).arguments[i].detail;
    ASSERT_NE(nullptr, detail) << i;
    EXPECT_EQ("", text_of(detail->type_name));
  }
}

// A list of arguments is two levels below the kernel's, which is two below the root.
TEST(Edges, NestingCountsForUsualFilesToo)
{
  for (uint32_t levels : {4, 5}) {
    rawhal_hsaco_options_t options = {};
    options.max_nesting = levels;
    EXPECT_EQ(levels < 5 ? RAWHAL_CAP_EXCEEDED : RAWHAL_OK,
              Opened(plain_object().bytes, options).status)
        << levels;
  }
}

// ---- Symbols ----

TEST(Edges, EntriesAreAlignedAndInTheFile)
{
  for (int64_t distance : {4, 64, 128, 255}) {
    Object object = plain_object();
    object.set<int64_t>(object.rodata + 16,
                        static_cast<int64_t>(object.text - object.rodata) + distance);
    EXPECT_TRUE(contains(reason_of(object.bytes), "is not a multiple of 256")) << distance;
  }
  Object object = plain_object();
  set_segment(object, build::kLoadCode, [](auto &s) { s.p_filesz = 1; });
  EXPECT_EQ("", reason_of(object.bytes));
  set_segment(object, build::kLoadCode, [](auto &s) { s.p_filesz = 0; });
  EXPECT_TRUE(contains(reason_of(object.bytes), "is not in an executable segment"));
}

TEST(Edges, ADescriptorOfARelocatableObjectIsInItsSection)
{
  Object object = plain_object();
  Elf64_Ehdr header = object.header();
  header.e_type = ET_REL;
  header.e_phnum = 0;
  object.set_header(header);
  size_t at = object.symbols + 2 * sizeof(Elf64_Sym);
  Elf64_Sym symbol = object.get<Elf64_Sym>(at);
  for (uint64_t value : {0, 1, 64}) {
    symbol.st_value = value;
    object.set(at, symbol);
    Opened opened(object.bytes);
    ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
    EXPECT_EQ(value == 0, opened.kernel(0).descriptor != nullptr) << value;
  }
}

TEST(Edges, KernelsWithoutMetadataCountToo)
{
  Object object;
  object.kernels = {plain_kernel("a"), plain_kernel("b"), plain_kernel("c")};
  object.notes = {build::pack_metadata({object.kernels[0]})};
  object.build();
  rawhal_hsaco_options_t options = {};
  options.max_kernels = 3;
  EXPECT_EQ(RAWHAL_OK, Opened(object.bytes, options).status);
  options.max_kernels = 2;
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, Opened(object.bytes, options).status);
}

// Symbols may share a name, which is read for each: its length is bounded.
TEST(Edges, NamesOfSymbolsAreShorterThan64KiB)
{
  for (size_t length : {65535, 65536, 100000}) {
    Object object;
    object.kernels = {plain_kernel("k"), plain_kernel(std::string(length - 3, 'n'))};
    object.notes = {build::pack_metadata({object.kernels[0]})};
    Opened opened(object.build());
    ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
    EXPECT_EQ(length < 65536 ? 2u : 1u, opened.info().kernel_count) << length;
    EXPECT_EQ(length >= 65536, contains(opened.diagnostics(), "names that cannot be read"));
  }
}

TEST(Edges, ASymbolTableIsOfItsEntrySizeAndHasNames)
{
  for (int kind = 0; kind < 3; ++kind) {
    Object object = plain_object();
    set_section(object, Object::kSymbols, [&](auto &s) {
      if (kind == 0)
        s.sh_entsize = 48;
      if (kind == 1)
        s.sh_entsize = 0;
      if (kind == 2)
        s.sh_link = object.header().e_shnum;
    });
    Opened opened(object.bytes);
    ASSERT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
    EXPECT_EQ(nullptr, opened.kernel(0).descriptor) << kind;
    EXPECT_EQ(0u, opened.info().symbol_count);
    EXPECT_EQ("a symbol table is malformed", rule(opened.reason()));
  }
}

namespace {

// An object without sections and notes: two kernels that only PT_DYNAMIC leads to.
Object dynamic_object(uint32_t buckets, const std::vector<uint32_t> &chain, uint32_t sysv_count = 0)
{
  Object object;
  object.kernels = {plain_kernel("a"), plain_kernel("b")};
  object.sections = false;
  object.build();
  object.bytes.resize((object.bytes.size() + 7) / 8 * 8);
  const uint64_t sysv = object.bytes.size(), start = sysv + 8;
  const uint64_t gnu = start + 5 * sizeof(Elf64_Dyn); // last: a chain may run on to the file's end
  object.append(uint32_t{1});
  object.append(sysv_count);
  const Elf64_Dyn entries[5] = {
      {DT_SYMTAB, {object.symbols}},
      {DT_STRTAB, {object.strings}},
      {DT_STRSZ, {sysv - object.strings}},
      {sysv_count ? DT_HASH : DT_GNU_HASH, {sysv_count ? sysv : gnu}},
      {DT_NULL, {0}},
  };
  for (const Elf64_Dyn &entry : entries)
    object.append(entry);
  for (uint32_t word : {buckets, 1u, 0u, 0u}) // no bloom filter
    object.append(word);
  object.append(uint32_t{1}); // the one bucket there is
  for (uint32_t word : chain)
    object.append(word);
  set_segment(object, build::kLoadCode,
              [&](auto &s) { s.p_filesz = s.p_memsz = object.bytes.size() - s.p_offset; });
  object.set_segment(build::kNoteSegment,
                     {PT_DYNAMIC, PF_R, start, start, start, sizeof(entries), sizeof(entries), 8});
  return object;
}

size_t kernels_of(const std::string &bytes)
{
  Opened opened(bytes);
  EXPECT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
  return opened.status ? 99 : opened.info().kernel_count;
}

} // namespace

TEST(Edges, HashTablesAreNotTrusted)
{
  const std::vector<uint32_t> sound = {2, 4, 6, 9}; // symbols 1 to 4; the last is odd
  EXPECT_EQ(2u, kernels_of(dynamic_object(1, sound).bytes));
  EXPECT_EQ(2u, kernels_of(dynamic_object(1, sound, 5).bytes));
  EXPECT_EQ(0u, kernels_of(dynamic_object(1u << 30, sound).bytes)) << "0 bytes, modulo 2^32";
  EXPECT_EQ(0u, kernels_of(dynamic_object(UINT32_MAX, sound).bytes));
  EXPECT_EQ(0u, kernels_of(dynamic_object(1, std::vector<uint32_t>(4000, 2)).bytes)) << "no end";
  EXPECT_EQ(0u, kernels_of(dynamic_object(1, sound, 178956971).bytes)) << "8 bytes, modulo 2^32";
  EXPECT_EQ(0u, kernels_of(dynamic_object(1, sound, UINT32_MAX).bytes));
}

// ---- Relocations, and what may be loaded ----

TEST(Edges, ARelocationsSymbolIsInTheTable)
{
  Object object;
  object.kernels = {plain_kernel("a"), plain_kernel("b")};
  const uint64_t text = plain_object(2).text;
  object.relocations = {{text, ELF64_R_INFO(uint64_t{2}, 3), 0},
                        {text, ELF64_R_INFO(uint64_t{3}, 3), 0}};
  object.build();
  set_section(object, Object::kSymbols, [](auto &s) { s.sh_size = 3 * sizeof(Elf64_Sym); });
  Opened opened(object.bytes);
  ASSERT_EQ(2u, opened.info().relocation_count);
  EXPECT_EQ("a.kd", text_of(rawhal_hsaco_relocation(opened.hsaco, 0)->symbol));
  EXPECT_EQ("", text_of(rawhal_hsaco_relocation(opened.hsaco, 1)->symbol)) << "behind the table";
  EXPECT_EQ("a relocation's symbol is not in the symbol table", rule(opened.reason()));
}

TEST(Edges, SegmentsMayTouchAndNotOverlap)
{
  for (uint64_t over : {0, 1, 4096}) {
    Object object = plain_object();
    set_segment(object, build::kLoadData, [&](auto &s) { s.p_memsz = object.text + over; });
    EXPECT_EQ(over ? "segments overlap or are not in order of address" : "", refusal(object.bytes));
  }
}

TEST(Edges, TheSizeOfANoteSectionIsAMultipleOf4)
{
  int short_of_it = 0;
  for (const char *name : {"k", "kk", "kkk", "kkkk"}) {
    Object object;
    object.kernels = {plain_kernel(name)};
    object.notes = {build::pack_metadata(object.kernels)};
    object.build();
    EXPECT_EQ("", refusal(object.bytes));
    size_t padding = (4 - object.notes[0].size() % 4) % 4;
    set_section(object, Object::kNote, [&](auto &s) { s.sh_size -= padding; });
    EXPECT_EQ(padding ? "a note section's size is not a multiple of 4" : "", refusal(object.bytes));
    short_of_it += padding != 0;
  }
  EXPECT_GT(short_of_it, 0);
}

TEST(Edges, ThereIsOneSymbolTable)
{
  Object object;
  object.kernels = {plain_kernel("k")};
  object.relocations = {{plain_object().text, ELF64_R_INFO(uint64_t{1}, 3), 0}};
  object.build();
  Elf64_Shdr second = object.section(Object::kSymbols);
  second.sh_name = object.section(Object::kRela).sh_name;
  object.set_section(Object::kRela, second);
  EXPECT_EQ("there is more than one .symtab", refusal(object.bytes));
}

TEST(Edges, ADescriptorIsBytesOfTheFile)
{
  Object object = plain_object();
  set_section(object, Object::kRodata, [](auto &s) { s.sh_type = SHT_NOBITS; });
  EXPECT_EQ("a kernel descriptor is not in the file", refusal(object.bytes));
}

TEST(Edges, ASymbolsNameBeginsInTheStringTable)
{
  for (uint32_t beyond : {0, 1}) {
    Object object = plain_object();
    size_t at = object.symbols + sizeof(Elf64_Sym);
    Elf64_Sym symbol = object.get<Elf64_Sym>(at);
    symbol.st_name = static_cast<uint32_t>(object.section(Object::kStrings).sh_size - 1 + beyond);
    object.set(at, symbol);
    EXPECT_EQ(beyond ? "a symbol's name lies outside of the string table" : "",
              refusal(object.bytes));
  }
}

// ---- Memory ----

TEST(Edges, ACountTimesASizeDoesNotWrap)
{
  arena memory;
  arena_init(&memory, 1 << 20, nullptr);
  void *items = nullptr;
  size_t capacity = 0;
  for (size_t size : {8, 24, 4096}) { // a small product, modulo 2^64
    EXPECT_EQ(nullptr, arena_calloc(&memory, SIZE_MAX / size + 2, size)) << size;
    EXPECT_EQ(RAWHAL_CAP_EXCEEDED, memory.status);
    EXPECT_FALSE(arena_reserve(&memory, &items, &capacity, 0, size, SIZE_MAX / size + 2)) << size;
  }
  arena_free(&memory);
}
