// rawhal header: what it writes compiles as C and as C++ and says what the metadata says.
#include "tests/hsaco/builder.h"
#include "tests/kernarg/kernel_builder.h"
#include "tests/tools/command.h"
#include "tests/tools/demo_rocrand.h"

#include <glob.h>

#include <map>
#include <set>

extern "C" {
#include "tools/header/header.h"
}

static std::string header_of(const std::string &file, const std::vector<std::string> &options = {})
{
  std::vector<std::string> words = {tool, "header", file};
  words.insert(words.end(), options.begin(), options.end());
  Outcome got = run(words);
  EXPECT_EQ(0, got.status) << got.err;
  return got.out;
}

// Compiles `source` behind the header in both languages, all warnings being errors.
static void expect_compiles(const std::string &header, const std::string &source = "")
{
  Scratch scratch;
  spit(scratch / "kernels.h", header);
  for (const char *name : {"main.c", "main.cc"}) {
    bool c = std::string(name) == "main.c";
    spit(scratch / name, "#include \"kernels.h\"\n#include \"kernels.h\"\n" + source +
                             "int main(void) { return 0; }\n");
    Outcome got = run({c ? RAWHAL_CC : RAWHAL_CXX, c ? "-std=c11" : "-std=c++11", "-fsyntax-only",
                       "-pedantic", "-Wall", "-Wextra", "-Werror", scratch / name});
    EXPECT_EQ(0, got.status) << got.err << header;
  }
}

// Every standard that a compiler here knows, each with all warnings being errors.
static void expect_compiles_everywhere(const std::string &header)
{
  static const char *const c[] = {"c11", "c17", "c23", "c2x"};
  static const char *const cpp[] = {"c++11", "c++14", "c++17", "c++20", "c++23", "c++2b"};
  Scratch scratch;
  spit(scratch / "kernels.h", header);
  for (const char *name : {"empty", "main"})
    for (const char *end : {".c", ".cc"})
      spit(scratch / (std::string(name) + end),
           *name == 'm' ? "#include \"kernels.h\"\nint main(void) { return 0; }\n"
                        : "int main(void) { return 0; }\n");
  std::vector<std::pair<std::string, std::string>> compilers = {{RAWHAL_CC, ".c"},
                                                                {RAWHAL_CXX, ".cc"}};
  for (const char *path : {"/usr/bin/clang-19", "/usr/bin/gcc-13", "/usr/bin/gcc-14"})
    compilers.push_back({path, ".c"});
  for (const char *path : {"/usr/bin/clang++-19", "/usr/bin/g++-13", "/usr/bin/g++-14"})
    compilers.push_back({path, ".cc"});
  size_t count = 0;
  for (const auto &[compiler, end] : compilers) {
    std::vector<std::string> standards(std::begin(c), std::end(c));
    if (end == ".cc")
      standards.assign(std::begin(cpp), std::end(cpp));
    bool newest = false;
    for (const std::string &standard : standards) {
      if (newest && standard.back() != '3')
        continue; /* the same by its first name */
      std::vector<std::string> words = {compiler, "-std=" + standard, "-fsyntax-only", "-pedantic",
                                        "-Wall",  "-Wextra",          "-Werror"};
      words.push_back(scratch / ("empty" + end));
      if (access(compiler.c_str(), X_OK) || run(words).status)
        continue; /* not here, or it does not know this standard */
      newest = standard.substr(standard.size() - 2) == "23";
      words.back() = scratch / ("main" + end);
      Outcome got = run(words);
      EXPECT_EQ(0, got.status) << compiler << " " << standard << "\n" << got.err.substr(0, 2000);
      ++count;
    }
  }
  EXPECT_GE(count, 6u);
}

static bool is_identifier(const std::string &name)
{
  static const char words[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
  return !name.empty() && name.find_first_not_of(words) == std::string::npos;
}

// Assertions made from what rawhal inspect says: every named argument of every kernel stands where
// it should and has its size, and the constants are those of the layout.
static std::string assertions(const std::string &file)
{
  Json document = parse(run({tool, "inspect", "--json", file}).out);
  std::string text;
  size_t index, which, at;
  json_t *object, *kernel, *argument;
  json_array_foreach(json_object_get(document.get(), "objects"), index, object)
  {
    json_array_foreach(json_object_get(object, "kernels"), which, kernel)
    {
      std::string name = text_of(kernel, "name");
      json_t *kernarg = json_object_get(kernel, "kernarg");
      json_t *arguments = json_object_get(kernarg, "arguments");
      if (!is_identifier(name) || !arguments)
        continue;
      std::map<std::string, int> uses;
      long long end = 0;
      json_array_foreach(arguments, at, argument)
      {
        if (json_is_true(json_object_get(argument, "hidden")))
          continue;
        ++uses[text_of(argument, "name")];
        end = std::max(end, number_of(argument, "offset") + number_of(argument, "size"));
      }
      json_array_foreach(arguments, at, argument)
      {
        std::string field = text_of(argument, "name"), type = "kernarg_" + name;
        if (json_is_true(json_object_get(argument, "hidden")) || uses[field] > 1 || field.empty() ||
            field[0] == '_')
          continue;
        text += "static_assert(offsetof(" + type + ", " + field +
                ") == " + std::to_string(number_of(argument, "offset")) + ", \"\");\n";
        text += "static_assert(sizeof(((" + type + " *)0)->" + field +
                ") == " + std::to_string(number_of(argument, "size")) + ", \"\");\n";
      }
      if (text_of(kernarg, "knowledge") == "arguments")
        text += "static_assert(KERNARG_SIZE_" + name + " == " + std::to_string(end) + ", \"\");\n";
      text += "static_assert(KERNARG_SIGNATURE_" + name + " == 0x" + text_of(kernarg, "signature") +
              ", \"\");\n";
    }
  }
  return text;
}

TEST(Header, EveryFixtureCompilesAndAgreesWithInspect)
{
  glob_t found;
  ASSERT_EQ(0, glob((fixtures + "*.co").c_str(), 0, nullptr, &found));
  size_t asserted = 0;
  for (size_t i = 0; i < found.gl_pathc; ++i) {
    SCOPED_TRACE(found.gl_pathv[i]);
    std::string source = assertions(found.gl_pathv[i]);
    asserted += lines(source);
    expect_compiles(header_of(found.gl_pathv[i]), source);
  }
  globfree(&found);
  EXPECT_GT(asserted, 200u);
}

TEST(Header, TypesComeFromTheMetadata)
{
  std::string header = header_of(fixtures + "many_args-gfx90a-v5.co");
  EXPECT_TRUE(contains(header, "  uint8_t flag; /* 0..1 by_value, uchar */"));
  EXPECT_TRUE(contains(header, "  int8_t rgb[4]; /* 4..8 by_value, char3 */"));
  EXPECT_TRUE(contains(header, "  uint64_t out; /* 8..16 global_buffer, uint* */"));
  EXPECT_TRUE(contains(header, "  unsigned char record[24]; /* 16..40 by_value, record_t */"));
  EXPECT_TRUE(contains(header, "  uint32_t scratchpad; /* 44..48 dynamic_shared_pointer"));
  EXPECT_TRUE(contains(header_of(fixtures + "saxpy_partial-gfx90a-v5.co"), "  float a; /* 16..20"));
  expect_compiles(header_of(fixtures + "layouts-gfx90a-v5.co"),
                  "extern void use(kernarg_pointer_at_12 *k);\n"
                  "void use(kernarg_pointer_at_12 *k) { k->count.f32 = 2.5f; k->in = 0x1000; }\n");
}

TEST(Header, OneKernelAndRefusals)
{
  std::string layouts = fixtures + "layouts-gfx90a-v5.co", bare = fixtures + "bare-gfx90a-v5.co";
  std::string one = header_of(layouts, {"--kernel", "past_segment"});
  EXPECT_TRUE(contains(one, "kernarg_past_segment"));
  EXPECT_TRUE(contains(one, "pad_12;"));
  EXPECT_TRUE(contains(one, "pad_16;"));
  EXPECT_FALSE(contains(one, "no_args"));
  expect_refusal(run({tool, "header", layouts, "--kernel", "past"}), 3, "no kernel 'past'");
  expect_refusal(run({tool, "header", bare, "--kernel", "bare_unsized"}), 3, "state the size");
  EXPECT_TRUE(contains(header_of(bare), "bare_unsized: no layout"));
  expect_refusal(run({tool, "header"}), 2, "expected at least one FILE");
  expect_refusal(run({tool, "header", bare, "--object", "x"}), 2, "--object");
  for (std::vector<std::string> none :
       {std::vector<std::string>{"--object", "7"}, {"--target", "gfx1030"}}) {
    Outcome got = run({tool, "header", bare, none[0], none[1]});
    expect_refusal(got, 3, "no such object");
    EXPECT_EQ("", got.out);
  }
  Outcome missing = run({tool, "header", bare + "x"});
  expect_refusal(missing, 3, "bare");
  EXPECT_EQ("", missing.out); // no half of a header
}

TEST(Header, NothingInItDependsOnTheFile)
{
  Scratch scratch;
  std::string whole = slurp(fixtures + "vector_add-gfx942-v5.co");
  spit(scratch / "other-name.co", whole);
  EXPECT_EQ(header_of(fixtures + "vector_add-gfx942-v5.co"), header_of(scratch / "other-name.co"));
  EXPECT_EQ(header_of(fixtures + "vector_add-gfx942-v5.co"),
            header_of(fixtures + "vector_add.bundle")); // two objects, one layout
}

TEST(Header, ObjectsOfOneFileMustAgree)
{
  Scratch scratch;
  std::string v4 = slurp(fixtures + "vector_add-gfx90a-v4.co");
  std::string v5 = slurp(fixtures + "vector_add-gfx942-v5.co");
  spit(scratch / "hidden.co", v4 + v5);
  std::string header = header_of(scratch / "hidden.co"); // only hidden arguments differ
  EXPECT_TRUE(contains(header, "KERNARG_BLOB_SIGNATURE_vector_add"));
  EXPECT_FALSE(contains(header, "KERNARG_SIGNATURE_vector_add"));
  EXPECT_TRUE(contains(header, "there is no one signature"));

  std::string other = altered(v5, ".name\xa1n", ".size\x04", ".size\x03");
  spit(scratch / "visible.co", v4 + other);
  expect_refusal(run({tool, "header", scratch / "visible.co"}), 3,
                 "one layout in object 0 (gfx90a) and another in object 1 (gfx942)");
  EXPECT_TRUE(contains(header_of(scratch / "visible.co", {"--target", "gfx942"}), "n[3];"));
  EXPECT_TRUE(contains(header_of(scratch / "visible.co", {"--object", "0"}), "uint32_t n;"));
}

// Names from hostile or hand-written metadata, all written over those of a fixture.
TEST(Header, OddNamesBecomeIdentifiers)
{
  std::string whole = slurp(fixtures + "vector_add-gfx90a-v5.co");
  const std::string kernel_name = ".name\xaavector_add";
  for (const char *name : {"vector-add", "*/ #error ", "\\\n\"?\?/x*/{", "1vector_ad",
                           "\xff\x80\t\r "
                           "\x7f\x01\x02zz"}) {
    SCOPED_TRACE(name);
    Scratch scratch;
    std::string odd = name;
    spit(scratch / "odd.co", altered(whole, kernel_name, "vector_add", odd.substr(0, 10)));
    std::string header = header_of(scratch / "odd.co");
    expect_compiles(header, "");
    if (odd == "1vector_ad") { // made of an identifier's letters, and it stands behind a prefix
      EXPECT_TRUE(contains(header, "kernarg_1vector_ad;"));
    }
  }
  // The name itself survives as a string.
  Scratch scratch;
  spit(scratch / "odd.co", altered(whole, kernel_name, "vector_add", "a\\\"?\001*/  z"));
  std::string header = header_of(scratch / "odd.co");
  size_t at = header.find("#define KERNARG_NAME_");
  ASSERT_NE(std::string::npos, at);
  std::string macro = header.substr(at + 8, header.find(' ', at + 8) - at - 8);
  expect_compiles(header, "static_assert(sizeof(" + macro + ") == 11, \"\");\n");
  EXPECT_TRUE(contains(header, "\"a\\\\\\\"\\?\\001*/  z\""));
}

TEST(Header, OddArgumentsBecomeMembers)
{
  std::string whole = slurp(fixtures + "layouts-gfx90a-v5.co");
  for (const char *name :
       {"class", "union", "linux", "a.b c", "12345", "__x_y", "*/ \" ", "arg_1"}) {
    SCOPED_TRACE(name);
    Scratch scratch;
    spit(scratch / "odd.co", altered(whole,
                                     ".name\xa5"
                                     "count",
                                     "count", name));
    expect_compiles(header_of(scratch / "odd.co"));
  }
  // Several of one name.
  Scratch scratch;
  std::string add = slurp(fixtures + "vector_add-gfx90a-v5.co");
  add = altered(add,
                ".name\xa1"
                "a",
                ".name\xa1"
                "a",
                ".name\xa1"
                "b");
  spit(scratch / "same.co", add);
  std::string header = header_of(scratch / "same.co");
  EXPECT_TRUE(contains(header, "uint64_t b_8;"));
  EXPECT_TRUE(contains(header, "uint64_t b_16;"));
  EXPECT_TRUE(contains(header, "uint64_t c;"));
  expect_compiles(header);
}

// All the names that mean something to a compiler, in one struct: words of every standard, what the
// header defines itself, and what compilers define for every program that includes what it does.
static std::set<std::string> names_with_a_meaning()
{
  std::set<std::string> names;
  const char *const words[] = {
      "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t "
      "char16_t",
      "char32_t class compl concept const consteval constexpr constinit const_cast continue "
      "co_await",
      "co_return co_yield decltype default delete do double dynamic_cast else enum explicit export",
      "extern false final float for friend goto if import inline int long module mutable namespace",
      "new noexcept not not_eq nullptr operator or or_eq override private protected public "
      "register",
      "reinterpret_cast requires restrict return short signed sizeof static static_assert "
      "static_cast",
      "struct switch template this thread_local throw true try typedef typeid typename typeof",
      "typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq",
      "_Alignas _Alignof _Atomic _BitInt _Bool _Complex _Decimal128 _Decimal32 _Decimal64 _Generic",
      "_Imaginary _Noreturn _Static_assert _Thread_local _Pragma __func__ __FILE__ __asm__ fortran",
      "rawhal_value16 rawhal_value32 rawhal_value64 RAWHAL_VALUE_TYPES KERNARG_NAME_k "
      "KERNARG_SIZE_k",
      "KERNARG_SIGNATURE_k KERNARG_BLOB_SIGNATURE_k kernarg_k kernarg_other KERNARG_SIZE_other",
      "offsetof assert size NULL UINT64_C uint8_t uint16_t uint32_t uint64_t int8_t int16_t "
      "int32_t",
      "int64_t size_t max_align_t nullptr_t unreachable u8 L R arg0 arg_ padding padding_0 bytes "
      "pack",
      "INT8_MAX UINT64_MAX SIZE_MAX WCHAR_MIN INT_FAST8_WIDTH",
  };
  for (const std::string line : words) {
    for (size_t from = 0; from < line.size();) {
      size_t to = std::min(line.find(' ', from), line.size());
      names.insert(line.substr(from, to - from));
      from = to + 1;
    }
  }
  // The same with bytes that an identifier has not, so that they meet after cleaning.
  std::set<std::string> odd;
  for (const std::string &name : names)
    if (name.size() < 12)
      odd.insert(name + "-"), odd.insert(name + "."), odd.insert("-" + name),
          odd.insert(name + "_");
  names.insert(odd.begin(), odd.end());
  Scratch scratch;
  spit(scratch / "in.c", "#include <assert.h>\n#include <stddef.h>\n#include <stdint.h>\n");
  for (const char *command :
       {RAWHAL_CC " -dM -E", RAWHAL_CXX " -x c++ -dM -E", "clang-19 -dM -E"}) {
    Outcome got = run({"/bin/sh", "-c", command + (" " + (scratch / "in.c"))});
    for (size_t at = 0; (at = got.out.find("#define ", at)) != std::string::npos;) {
      at += strlen("#define ");
      names.insert(got.out.substr(at, got.out.find_first_of(" (\n", at) - at));
    }
  }
  return names;
}

TEST(Header, AnyArgumentsNameCompilesInEveryStandard)
{
  const uint32_t sizes[] = {8, 4, 2, 8, 24, 1};
  build::Kernel kernel, other;
  kernel.name = "k";
  other.name = "other";
  uint32_t offset = 0, count = 0;
  for (const std::string &name : names_with_a_meaning()) {
    uint32_t size = sizes[count++ % 6];
    kernel.arguments.push_back({name, offset, size, "by_value"});
    offset += 24;
  }
  EXPECT_GT(count, 300u);
  kernel.kernarg_size = other.kernarg_size = offset;
  other.arguments = kernel.arguments;
  std::reverse(other.arguments.begin(), other.arguments.end());
  for (size_t i = 0; i < other.arguments.size(); ++i)
    other.arguments[i].offset = static_cast<uint32_t>(24 * i);
  build::Object object;
  object.kernels = {kernel, other};
  Scratch scratch;
  spit(scratch / "names.co", object.build());
  expect_compiles_everywhere(header_of(scratch / "names.co"));
}

TEST(Header, EveryFixtureCompilesInEveryStandard)
{
  expect_compiles_everywhere(header_of(fixtures + "layouts-gfx90a-v5.co") +
                             header_of(fixtures + "many_args-gfx90a-v5.co"));
}

TEST(Header, MadeUpNamesNeverMeetGivenOnes)
{
  kernarg_test::Kernel kernel(64);
  kernel.Arg("pad", 0, 4).Arg("pad", 4, 4).Arg("pad_4", 8, 4).Arg("pad_4_", 12, 4);
  kernel.Arg("", 16, 4).Arg("arg4", 20, 4).Arg("new", 24, 4).Arg("new_", 28, 4);
  kernel.Arg("padding_32", 40, 4).Arg("empty", 44, 0).Hidden(RAWHAL_VALUE_HIDDEN_NONE, 48, 8);
  kernarg_test::Layout layout = kernarg_test::Compile(kernel);
  ASSERT_NE(nullptr, layout);
  header_names_t names;
  ASSERT_TRUE(header_names_make(layout.get(), &names));
  const char *const expected[] = {"pad_0",      "pad_4__", "pad_4",   "pad_4_",
                                  "arg4_16",    "arg4_20", "new__24", "new__28",
                                  "padding_32", nullptr,   nullptr};
  for (size_t i = 0; i < names.count; ++i)
    EXPECT_STREQ(expected[i], names.arguments[i]) << i;
  char *padding = header_names_padding(&names, 32);
  EXPECT_STREQ("padding_32_", padding);
  free(padding);
  header_names_release(&names);

  uint64_t size = 0;
  char *text = header_struct(kernel.facts(), layout.get(), &size);
  ASSERT_NE(nullptr, text);
  EXPECT_EQ(44u, size);
  std::string body = text;
  free(text);
  std::replace(body.begin(), body.end(), static_cast<char>(HEADER_TYPE), 'T');
  expect_compiles("#ifndef T_H\n#define T_H\n#include <assert.h>\n#include <stddef.h>\n"
                  "#include <stdint.h>\ntypedef union { uint32_t u32; } rawhal_value32;\n" +
                  body + "#endif\n");
}

TEST(Header, TypesMustAgreeWithTheirSize)
{
  const struct {
    const char *type_name, *value_type;
    uint32_t size;
    const char *member;
  } rows[] = {
      {"float", "", 4, "float x;"},
      {"float3", "", 16, "float x[4];"},
      {"double16", "", 128, "double x[16];"},
      {"int8", "", 32, "int32_t x[8];"}, // OpenCL's vector, not C's int8_t
      {"half", "", 2, "uint16_t x;"},
      {"unsigned long long", "", 8, "uint64_t x;"},
      {"", "fp32", 4, "float x;"},
      {"", "i32", 8, "rawhal_value64 x;"}, // hand-written metadata
      {"my_int", "u32", 4, "uint32_t x;"},
      {"float5", "", 20, "unsigned char x[20];"},
      {"float", "", 8, "rawhal_value64 x;"},
      {"", "struct", 3, "unsigned char x[3];"},
      {"", "", 1, "uint8_t x;"},
  };
  for (const auto &row : rows) {
    SCOPED_TRACE(std::string(row.type_name) + "/" + row.value_type);
    kernarg_test::Kernel kernel(row.size);
    kernel.Arg("x", 0, row.size);
    kernel.detail(0).type_name = {row.type_name, strlen(row.type_name)};
    kernel.detail(0).value_type = {row.value_type, strlen(row.value_type)};
    kernarg_test::Layout layout = kernarg_test::Compile(kernel);
    ASSERT_NE(nullptr, layout);
    uint64_t size;
    char *text = header_struct(kernel.facts(), layout.get(), &size);
    EXPECT_TRUE(contains(text, std::string("  ") + row.member)) << text;
    EXPECT_EQ(row.size, size);
    free(text);
  }
}

TEST(Header, SeveralHeadersGoTogether)
{
  expect_compiles(header_of(fixtures + "layouts-gfx90a-v5.co") +
                  header_of(fixtures + "many_args-gfx90a-v5.co"));
}

TEST(Header, IdentifiersOfKernelsDependOnTheirNamesAlone)
{
  std::set<std::string> seen;
  for (const char *name : {"a_b", "a.b", "a-b", "a b", "", "a_b_"}) {
    bool exact;
    char *identifier = header_kernel_identifier({name, strlen(name)}, &exact);
    EXPECT_EQ(is_identifier(name), exact) << name;
    EXPECT_TRUE(is_identifier(identifier)) << identifier;
    EXPECT_TRUE(seen.insert(identifier).second) << identifier;
    free(identifier);
  }
}

TEST(Header, KernelsWithEqualStructsShareOne)
{
  std::string path = demo_rocrand();
  if (path.empty())
    GTEST_SKIP() << "librocrand1 is not here";
  std::string header = header_of(path);
  expect_compiles(header);
  std::set<std::string> bodies;
  size_t count = 0;
  for (size_t at = 0; (at = header.find("typedef struct", at)) != std::string::npos; ++count) {
    size_t open = header.find('{', at), close = header.find('}', at);
    bodies.insert(header.substr(open, close - open));
    at = close;
  }
  EXPECT_EQ(count, bodies.size());
  EXPECT_GT(count, 10u);
  // Every kernel has a type nevertheless.
  size_t names = 0, types = 0;
  for (size_t at = 0; (at = header.find("#define KERNARG_NAME_", at + 1)) != std::string::npos;)
    ++names;
  for (size_t at = 0; (at = header.find("\ntypedef kernarg_", at + 1)) != std::string::npos;)
    ++types;
  EXPECT_EQ(names, count + types);
}
