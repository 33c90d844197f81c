// rawhal inspect of a solution library of Tensile.
#include "tests/tools/command.h"

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

TEST_F(InspectTensile, DamageIsSaid)
{
  const std::string sound = slurp(path);
  spit(path, sound.substr(0, sound.size() - 1));
  expect_refusal(run({tool, "inspect", path}), 1, "MALFORMED");
  Json document = parse(inspect({"--json"}, 1));
  ASSERT_TRUE(document);
  EXPECT_EQ("MALFORMED", text_of(document.get(), "status"));
  EXPECT_GT(number_of(document.get(), "offset"), 0);
}

} // namespace
