// Builders fed with what the command says of kernels: `rawhal header`'s structs, member by member,
// and `rawhal inspect --json`.
#include "tests/kernarg/builder_test.h"
#include "tests/tools/command.h"

#include <regex>
#include <sstream>

using namespace kernarg_test;

namespace {

const char *const objects[] = {"vector_add-gfx90a-v5.co", "many_args-gfx90a-v5.co",
                               "layouts-gfx90a-v5.co",    "gemm-gfx90a-v5.co",
                               "grouped-gfx90a-v5.co",    "bare-gfx90a-v5.co"};

// append_KERNEL() for each struct of a header: its members as objects, or those with a type by it.
std::string functions(const std::string &header, bool by_type, std::vector<std::string> *kernels)
{
  static const std::regex member(R"(^  ([\w ]+) (\w+)(\[\d+\])?;.*)"), end(R"(^\} kernarg_(\w+);)");
  static const std::regex scalar("u?int(8|16|32|64)_t|float|double");
  std::istringstream lines(header.substr(header.find("#pragma pack(push, 1)")));
  std::string all, body;
  std::smatch match;
  for (std::string line; std::getline(lines, line);)
    if (line.rfind("typedef struct", 0) == 0) {
      body.clear();
    } else if (std::regex_match(line, match, end)) {
      std::string name = match[1];
      kernels->push_back(name);
      all += "static void append_" + name + "(rawhal_builder_t *b, kernarg_" + name + " *s)\n{\n" +
             body + "}\n";
    } else if (std::regex_match(line, match, member)) {
      std::string type = match[1], name = match[2];
      if (name.rfind("padding_", 0) == 0)
        body += "  memset(s->" + name + ", 0, sizeof(s->" + name +
                "));\n  rawhal_builder_skip(b, sizeof(s->" + name + "));\n";
      else if (by_type && !match[3].matched && std::regex_match(type, scalar))
        body += "  RAWHAL_APPEND(b, s->" + name + ");\n";
      else
        body += "  RAWHAL_APPEND_OBJECT(b, s->" + name + ");\n";
    }
  return all;
}

const char *const support =
    "#include <rawhal/builder.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
    "static int compare(const char *path, rawhal_string_t name, uint32_t flags, void *s, size_t "
    "size,\n"
    "                   void (*append)(rawhal_builder_t *, void *))\n{\n"
    "  rawhal_error_t error = {0};\n  rawhal_hsaco_t *hsaco;\n  rawhal_kernarg_layout_t *layout;\n"
    "  rawhal_hsaco_options_t options = {.flags = RAWHAL_HSACO_DESCRIPTOR_KERNELS};\n"
    "  rawhal_builder_options_t how = {.flags = flags};\n  rawhal_builder_t *b;\n  rawhal_bytes_t "
    "bytes;\n"
    "  for (size_t i = 0; i < size; ++i)\n    ((unsigned char *)s)[i] = (unsigned char)(i + 1);\n"
    "  if (rawhal_hsaco_open_file(path, &options, &hsaco, &error) ||\n"
    "      rawhal_kernarg_layout_create(rawhal_hsaco_find_kernel(hsaco, name), 0, &layout, "
    "&error))\n"
    "    return puts(error.message);\n"
    "  if (rawhal_kernarg_layout_info(layout)->knowledge == RAWHAL_KERNARG_SIZE)\n    how.flags = "
    "0;\n"
    "  if (rawhal_builder_create(layout, &how, &b, &error))\n    return puts(error.message);\n"
    "  append(b, s);\n"
    "  if (rawhal_builder_finish(b, &bytes, &error) || bytes.size != size || memcmp(bytes.data, s, "
    "size))\n"
    "    return printf(\"%.*s: %s\\n\", (int)name.size, name.data, error.message);\n"
    "  rawhal_builder_destroy(b);\n  rawhal_kernarg_layout_destroy(layout);\n  "
    "rawhal_hsaco_close(hsaco);\n"
    "  return 0;\n}\n";

} // namespace

TEST(HeaderBuilder, MembersOneByOneAreTheStruct)
{
  if (*RAWHAL_SANITIZER)
    GTEST_SKIP() << "the program would need the sanitizer, too";
  Scratch scratch;
  size_t compared = 0;
  for (const char *object : objects)
    for (bool by_type : {false, true}) {
      SCOPED_TRACE(object);
      const std::string header = run({tool, "header", fixtures + object}).out;
      std::vector<std::string> kernels;
      std::string body = functions(header, by_type, &kernels), calls;
      for (const std::string &name : kernels) {
        body += "static void call_" + name + "(rawhal_builder_t *b, void *s)\n{\n  append_" + name +
                "(b, s);\n}\n";
        calls += "  { kernarg_" + name + " s; bad += compare(argv[1], RAWHAL_STRING(KERNARG_NAME_" +
                 name + "), " + (by_type ? "RAWHAL_BUILDER_PLACE" : "0") +
                 ", &s, sizeof(s), call_" + name + "); }\n";
      }
      spit(scratch / "kernels.h", header);
      spit(scratch / "main.c", "#include \"kernels.h\"\n" + std::string(support) + body +
                                   "int main(int argc, char **argv)\n{\n  int bad = argc != 2;\n" +
                                   calls + "  return bad != 0;\n}\n");
      Outcome built =
          run({RAWHAL_CC, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
               "-I" RAWHAL_INCLUDE_DIR, scratch / "main.c", "-o", scratch / "main", RAWHAL_SHARED,
               "-Wl,-rpath," + std::string(RAWHAL_SHARED, std::string(RAWHAL_SHARED).rfind('/'))});
      ASSERT_EQ(0, built.status) << built.err;
      Outcome got = run({scratch / "main", fixtures + object});
      EXPECT_EQ(0, got.status);
      EXPECT_EQ("", got.out);
      compared += kernels.size();
    }
  EXPECT_GE(compared, 24u);
}

// Names, kinds and sizes as text say them.
TEST(JsonBuilder, ArgumentsOneByOneAreTheBlob)
{
  size_t compared = 0;
  for (const char *object : objects) {
    SCOPED_TRACE(object);
    Json document = parse(run({tool, "inspect", "--json", fixtures + object}).out);
    rawhal_hsaco_t *hsaco = nullptr;
    rawhal_error_t error = {};
    ASSERT_EQ(RAWHAL_OK,
              rawhal_hsaco_open_file((fixtures + object).c_str(), nullptr, &hsaco, &error));
    size_t i, k, a;
    json_t *described, *kernel, *argument;
    json_array_foreach(json_object_get(document.get(), "objects"), i, described)
        json_array_foreach(json_object_get(described, "kernels"), k, kernel)
    {
      std::string name = text_of(kernel, "name");
      json_t *arguments = json_object_get(json_object_get(kernel, "kernarg"), "arguments");
      const rawhal_kernel_t *found = rawhal_hsaco_find_kernel(hsaco, Text(name));
      rawhal_kernarg_layout_t *layout = nullptr;
      if (!arguments || !found || rawhal_kernarg_layout_create(found, 0, &layout, &error) ||
          rawhal_kernarg_layout_info(layout)->knowledge == RAWHAL_KERNARG_SIZE) {
        rawhal_kernarg_layout_destroy(layout);
        continue;
      }
      rawhal_builder_options_t options = {};
      options.flags = RAWHAL_BUILDER_PLACE;
      Builder builder = Build(layout, &options);
      std::string blob;
      json_array_foreach(arguments, a, argument)
      {
        if (json_is_true(json_object_get(argument, "hidden")))
          continue;
        std::string called = text_of(argument, "name");
        std::string value(static_cast<size_t>(number_of(argument, "size")),
                          static_cast<char>(a + 1));
        blob.resize(static_cast<size_t>(number_of(argument, "offset")));
        blob += value;
        rawhal_builder_append(builder.get(), Text(called), value.data(), value.size(), 1,
                              RAWHAL_BUILDER_ANY);
      }
      EXPECT_EQ(blob, Finish(builder)) << name;
      rawhal_kernarg_layout_destroy(layout);
      ++compared;
    }
    rawhal_hsaco_close(hsaco);
  }
  EXPECT_GE(compared, 10u);
}
