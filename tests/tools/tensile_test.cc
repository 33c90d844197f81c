// rawhal inspect of a solution library of Tensile.
#include "tests/tools/command.h"

#include "tests/hsaco/compressed.h"
#include "tests/library/tensile_build.h"

#include <sys/stat.h>

namespace {

class InspectTensile : public testing::Test {
protected:
  void SetUp() override
  {
    const std::string takes = build::record({
        {"version", build::number(2)},
        {"gsu", build::Pack().boolean(true).bytes},
        {"useUniversalArgs", build::Pack().boolean(true).bytes},
    });
    spit(path, build::tensile({build::solution("Cijk_A", 7),
                               build::solution("Cijk_B", 9, false,
                                               {{"kernelName", build::words("Cijk_kernel")},
                                                {"internalArgsSupport", takes}}),
                               build::solution("Cijk_C", 11, true)},
                              build::rows({build::placeholder("T_one")})));
  }

  std::string inspect(std::vector<std::string> words, int status = 0)
  {
    words.insert(words.begin(), {tool, "inspect", path});
    Outcome got = run(words);
    EXPECT_EQ(status, got.status) << got.err;
    return got.out;
  }

  Scratch scratch;
  const std::string path = scratch / "T_fallback.dat";
};

void hold(const json_t *object, const json_t *schema, const char *name)
{
  const json_t *described = json_object_get(json_object_get(schema, "$defs"), name);
  const json_t *properties = json_object_get(described, "properties");
  EXPECT_EQ(json_object_size(properties), json_object_size(object)) << name;
  EXPECT_EQ(json_object_size(properties), json_array_size(json_object_get(described, "required")));
  const char *key;
  json_t *value;
  json_object_foreach(const_cast<json_t *>(object), key, value)
          EXPECT_TRUE(json_object_get(properties, key))
      << key;
}

TEST_F(InspectTensile, ShowsSolutions)
{
  const std::string text = inspect({});
  for (const char *part : {"solution library of Tensile 4.33.0, 3 solutions, 1 library", "T_one",
                           "solution 7", "Cijk_B", "Cijk_kernel", "T_fallback.co", "16 x 17 x 18",
                           "4 x 5\n", "mapping -8", "version 2, universal, split\n"})
    EXPECT_TRUE(contains(text, part)) << part << " in " << text;
}

TEST_F(InspectTensile, TheSchemaHoldsEveryKey)
{
  Json schema = parse(slurp(RAWHAL_SOURCE_DIR "/docs/tensile.schema.json"));
  Json document = parse(inspect({"--json"}));
  ASSERT_TRUE(document);
  EXPECT_EQ("rawhal-tensile-1", text_of(document.get(), "schema"));
  EXPECT_EQ("OK", text_of(document.get(), "status"));
  const json_t *solutions = json_object_get(document.get(), "solutions");
  ASSERT_EQ(3u, json_array_size(solutions));
  for (size_t i = 0; i < json_array_size(solutions); ++i) {
    const json_t *solution = json_array_get(solutions, i);
    hold(solution, schema.get(), "solution");
    hold(json_object_get(solution, "sizes"), schema.get(), "sizes");
  }
  const json_t *other = json_array_get(solutions, 1);
  hold(json_object_get(other, "arguments"), schema.get(), "arguments");
  EXPECT_TRUE(json_is_null(json_object_get(json_array_get(solutions, 0), "arguments")));
  EXPECT_EQ(9, number_of(other, "index"));
  EXPECT_EQ("Cijk_kernel", text_of(other, "kernel"));
  EXPECT_EQ(-8, number_of(json_object_get(other, "sizes"), "workgroup_mapping"));
}

// Which code object a fallback's source kernel is in depends on the device.
TEST_F(InspectTensile, TakesTheTarget)
{
  const auto object = [&](const std::vector<std::string> &words) {
    Json document = parse(inspect(words));
    const json_t *solutions = json_object_get(document.get(), "solutions");
    EXPECT_EQ(1u, json_array_size(solutions));
    return text_of(json_array_get(solutions, 0), "code_object");
  };
  EXPECT_EQ("", object({"--json", "--kernel", "Cijk_C"}));
  EXPECT_EQ("T_fallback_gfx90a.hsaco",
            object({"--json", "--kernel", "Cijk_C", "--target", "gfx90a:xnack-"}));
}

TEST_F(InspectTensile, CompressedOnesAreTheSame)
{
  const std::string json = inspect({"--json"}), text = inspect({});
  spit(path, build::zlib_packed(slurp(path)));
  EXPECT_EQ(json, inspect({"--json"}));
  EXPECT_EQ(text, inspect({}));
}

TEST_F(InspectTensile, DamageIsSaid)
{
  const std::string sound = slurp(path);
  spit(path, sound.substr(0, sound.size() - 1));
  expect_refusal(run({tool, "inspect", path}), 3, "MALFORMED");
  Json document = parse(inspect({"--json"}, 3));
  ASSERT_TRUE(document);
  EXPECT_EQ("MALFORMED", text_of(document.get(), "status"));
  EXPECT_GT(number_of(document.get(), "offset"), 0);
}

// A folder of them, of what Tensile's look like, and of a code object.
class ListTensile : public testing::Test {
protected:
  void SetUp() override
  {
    const std::string more =
        build::tensile({build::solution("Cijk_A", 7), build::solution("Cijk_C", 11, true)});
    spit(scratch / "T_gfx90a.dat", more);
    spit(scratch / "T_gfx942.dat", build::tensile({build::solution("Cijk_A", 7)}));
    spit(scratch / "TensileLibrary_lazy_gfx90a.dat",
         build::tensile(
             {}, build::rows({build::placeholder("T_gfx90a"), build::placeholder("T_none")})));
    spit(scratch / "a.co", slurp(fixtures + "vector_add-gfx90a-v5.co"));
    spit(scratch / "other.bin", build::Pack().map(1).str("version").number(1).bytes);
  }

  Json list(std::vector<std::string> words, int status = 0)
  {
    words.insert(words.begin(), {tool, "inspect", "--json"});
    got = run(words);
    EXPECT_EQ(status, got.status) << got.err;
    return parse(got.out);
  }

  static json_t *libraries(const Json &document)
  {
    return json_object_get(document.get(), "solution_libraries");
  }

  Scratch scratch;
  Outcome got;
};

TEST_F(ListTensile, ALineEach)
{
  Outcome text = run({tool, "inspect", scratch / ""});
  EXPECT_EQ(0, text.status) << text.err;
  EXPECT_EQ("", text.err);
  EXPECT_EQ(4u, lines(text.out)) << text.out;
  for (const char *line : {"T_gfx90a.dat: a solution library of Tensile 4.33.0, 2 solutions, 0 "
                           "libraries, kernels in T_gfx90a.co, T_gfx90a.hsaco\n",
                           "T_gfx942.dat: a solution library of Tensile 4.33.0, 1 solution, 0 "
                           "libraries, kernels in T_gfx942.co\n",
                           "TensileLibrary_lazy_gfx90a.dat: a solution library of Tensile 4.33.0, "
                           "0 solutions, 2 libraries\n"})
    EXPECT_TRUE(contains(text.out, line)) << text.out;
}

TEST_F(ListTensile, CompressedOnesBesideOthers)
{
  const std::string path = scratch / "U_gfx90a.dat.zlib",
                    packed = build::zlib_packed(slurp(scratch / "T_gfx90a.dat"));
  spit(path, packed);
  Outcome text = run({tool, "inspect", scratch / "", "--target", "gfx90a"});
  EXPECT_EQ(0, text.status) << text.err;
  EXPECT_TRUE(
      contains(text.out,
               "U_gfx90a.dat.zlib: a solution library of Tensile 4.33.0, 2 solutions, 0 libraries, "
               "kernels in U_gfx90a.co, U_gfx90a.hsaco\n"))
      << text.out;
  text = run({tool, "inspect", scratch / "", "--target", "gfx942"});
  EXPECT_FALSE(contains(text.out, "U_gfx90a")) << text.out;
  spit(path, packed.substr(0, packed.size() - 1));
  text = run({tool, "inspect", scratch / ""});
  EXPECT_EQ(3, text.status);
  EXPECT_TRUE(contains(text.err, "U_gfx90a.dat.zlib")) << text.err;
}

TEST_F(ListTensile, TheSchemaHoldsEveryKey)
{
  Json schema = parse(slurp(RAWHAL_SOURCE_DIR "/docs/list.schema.json"));
  Json document = list({scratch / ""});
  ASSERT_TRUE(document);
  expect_described(document.get(), schema.get());
  ASSERT_EQ(3u, json_array_size(libraries(document)));
  const json_t *one = json_array_get(libraries(document), 0);
  expect_described(one,
                   json_object_get(json_object_get(schema.get(), "$defs"), "solution_library"));
  EXPECT_EQ(scratch / "T_gfx90a.dat", text_of(one, "file"));
  EXPECT_EQ("4.33.0", text_of(one, "version"));
  EXPECT_EQ(2, number_of(one, "solutions"));
  const json_t *objects = json_object_get(one, "code_objects");
  ASSERT_EQ(2u, json_array_size(objects));
  EXPECT_STREQ("T_gfx90a.co", json_string_value(json_array_get(objects, 0)));
  EXPECT_STREQ("T_gfx90a.hsaco", json_string_value(json_array_get(objects, 1)));
  const json_t *master = json_array_get(libraries(document), 2);
  EXPECT_EQ(2, number_of(master, "libraries"));
  EXPECT_EQ(0u, json_array_size(json_object_get(master, "code_objects")));
  EXPECT_EQ(1, number_of(document.get(), "files"));
  EXPECT_EQ(0, number_of(document.get(), "refused"));
}

TEST_F(ListTensile, WhatIsAskedFor)
{
  EXPECT_EQ(2u, json_array_size(libraries(list({scratch / "", "--kernel", "Cijk_A"}))));
  Json compiled = list({scratch / "", "--kernel", "Cijk_C"});
  ASSERT_EQ(1u, json_array_size(libraries(compiled)));
  EXPECT_EQ(
      1u, json_array_size(json_object_get(json_array_get(libraries(compiled), 0), "code_objects")));
  EXPECT_EQ(0u, json_array_size(libraries(list({scratch / "", "--kernel", "nobody"}, 3))));
  EXPECT_EQ(2u, json_array_size(libraries(list({scratch / "", "--target", "gfx90a:xnack-"}))));
  EXPECT_EQ(1u, json_array_size(libraries(list({scratch / "", "--target", "gfx942"}))));
  EXPECT_EQ(2u,
            json_array_size(libraries(list({scratch / "T_gfx90a.dat", scratch / "T_gfx942.dat"}))));
  EXPECT_EQ(1u, json_array_size(libraries(list({"--list", scratch / "T_gfx90a.dat"}))));
}

// Tensile's by its name, or one that was asked for, is refused; what only starts likewise is not.
TEST_F(ListTensile, DamageIsSaid)
{
  const std::string sound = slurp(scratch / "T_gfx942.dat");
  spit(scratch / "T_gfx942.dat", sound.substr(0, sound.size() - 1));
  Json document = list({scratch / ""}, 3);
  EXPECT_EQ(2u, json_array_size(libraries(document)));
  EXPECT_EQ(1, number_of(document.get(), "refused"));
  EXPECT_EQ(1u, lines(got.err)) << got.err;
  EXPECT_TRUE(contains(got.err, "T_gfx942.dat")) << got.err;
  list({"--list", scratch / "other.bin"}, 3);
  EXPECT_TRUE(contains(got.err, "other.bin")) << got.err;
}

} // namespace
