// rawhal inspect of objects whose text would be far larger than they are: memory and output stay
// proportional to the file, and --kernel reaches all of it.
#include "tests/hsaco/builder.h"
#include "tests/tools/command.h"

#include <sys/stat.h>

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
const bool sanitized = true;
#else
const bool sanitized = false;
#endif

// An object with `count` symbols more, all with one name of `length` bytes.
std::string with_symbols(size_t count, size_t length)
{
  build::Object object = build::plain_object(2);
  Elf64_Shdr symbols = object.section(build::Object::kSymbols);
  Elf64_Shdr strings = object.section(build::Object::kStrings);
  std::string table = object.bytes.substr(symbols.sh_offset, symbols.sh_size);
  std::string names = object.bytes.substr(strings.sh_offset, strings.sh_size);
  auto name = static_cast<uint32_t>(names.size());
  names += std::string(length, 'n') + '\0';
  Elf64_Sym symbol = {name,
                      ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                      STV_PROTECTED,
                      build::Object::kText,
                      object.text + 8,
                      4};
  for (size_t i = 0; i < count; ++i)
    table.append(reinterpret_cast<const char *>(&symbol), sizeof(symbol));
  object.bytes.resize((object.bytes.size() + 7) / 8 * 8);
  symbols.sh_offset = object.bytes.size();
  symbols.sh_size = table.size();
  object.bytes += table;
  strings.sh_offset = object.bytes.size();
  strings.sh_size = names.size();
  object.bytes += names;
  object.set_section(build::Object::kSymbols, symbols);
  object.set_section(build::Object::kStrings, strings);
  return object.bytes;
}

// Runs with no more memory than is promised for `file`.
Outcome run_bounded(const std::string &file, const std::string &options)
{
  struct stat facts;
  EXPECT_EQ(0, stat(file.c_str(), &facts));
  size_t kib = 64 * 1024 + 8 * static_cast<size_t>(facts.st_size) / 1024;
  std::string limit = sanitized ? "" : "ulimit -v " + std::to_string(kib) + "; ";
  return run(
      {"/bin/sh", "-c", limit + "exec '" + tool + "' inspect " + options + " '" + file + "'"});
}

json_t *object_of(const Json &document, size_t index = 0)
{
  return json_array_get(json_object_get(document.get(), "objects"), index);
}

json_t *list(const json_t *object, const char *key)
{
  return json_object_get(object, key);
}

} // namespace

TEST(Stream, MemoryAndOutputAreProportionalToTheFile)
{
  Scratch scratch;
  std::string bytes = with_symbols(43690, 65535), path = scratch / "names.co";
  spit(path, bytes);
  ASSERT_LT(bytes.size(), 1300000u);
  Outcome got = run_bounded(path, "--json");
  ASSERT_EQ(0, got.status) << got.err;
  EXPECT_LT(got.out.size(), 32 * bytes.size());
  Json document = parse(got.out);
  ASSERT_TRUE(document);
  json_t *symbols = list(object_of(document), "symbols");
  ASSERT_EQ(43690u + 4, json_array_size(symbols));
  json_t *first = json_array_get(symbols, 4), *last = json_array_get(symbols, 43693);
  EXPECT_EQ(65535u, text_of(first, "name").size());
  EXPECT_EQ(nullptr, json_object_get(first, "name_size"));
  EXPECT_EQ(std::string(200, 'n') + "...", text_of(last, "name"));
  EXPECT_EQ(65535, number_of(last, "name_size"));
  auto offset = static_cast<size_t>(number_of(last, "name_offset"));
  EXPECT_EQ(std::string(65535, 'n'), bytes.substr(offset, 65535));
}

// What no real object exceeds is written in full.
TEST(Stream, NamesThatAreLongButFewAreWhole)
{
  Scratch scratch;
  std::string path = scratch / "names.co";
  spit(path, with_symbols(16, 65535));
  Outcome got = run_bounded(path, "--json");
  ASSERT_EQ(0, got.status) << got.err;
  EXPECT_FALSE(contains(got.out, "name_size"));
  EXPECT_FALSE(contains(got.out, "..."));
}

TEST(Stream, OneKernelIsAllThatIsShown)
{
  Scratch scratch;
  std::string path = scratch / "names.co";
  spit(path, with_symbols(43690, 65535));
  Outcome got = run_bounded(path, "--json --kernel kernel1");
  ASSERT_EQ(0, got.status) << got.err;
  EXPECT_LT(got.out.size(), 16384u);
  Json document = parse(got.out);
  json_t *object = object_of(document);
  ASSERT_EQ(1u, json_array_size(list(object, "kernels")));
  ASSERT_EQ(1u, json_array_size(list(list(object, "metadata"), "kernels")));
  EXPECT_EQ("kernel1",
            text_of(json_array_get(list(list(object, "metadata"), "kernels"), 0), "name"));
  ASSERT_EQ(2u, json_array_size(list(object, "symbols"))) << got.out;
  EXPECT_EQ("kernel1", text_of(json_array_get(list(object, "symbols"), 0), "name"));
  EXPECT_EQ("kernel1.kd", text_of(json_array_get(list(object, "symbols"), 1), "name"));
}

TEST(Stream, RelocationsOfOneKernel)
{
  Scratch scratch;
  build::Object object = build::plain_object(2);
  size_t text = object.text, rodata = object.rodata;
  for (uint64_t at :
       {text, text + 248, text + 256, text + 504, text + 512, rodata + 16, rodata + 80})
    object.relocations.push_back({at, ELF64_R_INFO(0, 13), 7});
  spit(scratch / "r.co", object.build());
  Json document =
      parse(run({tool, "inspect", "--json", "--kernel", "kernel1", scratch / "r.co"}).out);
  json_t *relocations = list(object_of(document), "relocations");
  ASSERT_EQ(3u, json_array_size(relocations));
  for (size_t i = 0; i < 3; ++i) {
    auto at = static_cast<uint64_t>(number_of(json_array_get(relocations, i), "address"));
    EXPECT_EQ((std::vector<uint64_t>{text + 256, text + 504, rodata + 80})[i], at);
  }
}

TEST(Stream, NobodysNameIsAnErrorAndNoOutput)
{
  Scratch scratch;
  std::string path = scratch / "names.co";
  spit(path, with_symbols(1000, 65535));
  for (const char *options :
       {"--json --kernel nobody", "--kernel nobody", "--brief --kernel nobody"}) {
    Outcome got = run_bounded(path, options);
    expect_refusal(got, 3, "NOT_FOUND: no kernel's name contains 'nobody'");
    EXPECT_EQ("", got.out);
  }
  // Objects without it are left out, those with it are not.
  spit(scratch / "two.co",
       slurp(fixtures + "vector_add-gfx90a-v5.co") + slurp(fixtures + "fault-gfx90a-v5.co"));
  Outcome got = run({tool, "inspect", "--json", "--kernel", "fault_lds", scratch / "two.co"});
  EXPECT_EQ(0, got.status) << got.err;
  Json document = parse(got.out);
  ASSERT_EQ(1u, json_array_size(list(document.get(), "objects")));
  EXPECT_EQ(1, number_of(object_of(document), "index"));
}

// In the text form, too: kernels without metadata take their names from symbols.
TEST(Stream, TextIsProportionalToTheFile)
{
  Scratch scratch;
  std::string path = scratch / "names.co", bytes = with_symbols(43690, 65535);
  spit(path, bytes);
  for (const char *options : {"", "--brief"}) {
    Outcome got = run_bounded(path, options);
    EXPECT_EQ(0, got.status) << got.err;
    EXPECT_LT(got.out.size(), 32 * bytes.size());
  }
}

TEST(Stream, NumbersAboveTheSignedAreExact)
{
  Scratch scratch;
  build::Object object = build::plain_object(1);
  size_t symbol = object.symbols + sizeof(Elf64_Sym);
  auto function = object.get<Elf64_Sym>(symbol);
  function.st_size = UINT64_C(0xfffffffffffffff0);
  object.set(symbol, function);
  Elf64_Phdr note = object.segment(build::kNoteSegment);
  note.p_paddr = note.p_vaddr = UINT64_C(0x8000000000000000);
  object.set_segment(build::kNoteSegment, note);
  spit(scratch / "big.co", object.bytes);
  Outcome got = run({tool, "inspect", "--json", scratch / "big.co"});
  EXPECT_TRUE(contains(got.out, "18446744073709551600")) << got.out << got.err;
  EXPECT_TRUE(contains(got.out, "9223372036854775808")) << got.out;
  EXPECT_FALSE(contains(got.out, ": -")) << got.out;
}
