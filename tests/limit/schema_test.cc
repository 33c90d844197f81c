// What the command prints as JSON is what the schemas in docs/ describe.
#include "tests/limit/schema.h"

#include "tests/tools/command.h"

#include <rawhal/limit.h>

extern "C" {
#include "tests/limit/shim.h"
}

namespace {

Json SchemaOf(const std::string &command)
{
  return parse(slurp(RAWHAL_SOURCE_DIR "/docs/" + command + ".schema.json"));
}

void ExpectDescribed(const std::string &command, const Outcome &got)
{
  SCOPED_TRACE(command);
  Json schema = SchemaOf(command), document = parse(got.out);
  ASSERT_TRUE(schema);
  ASSERT_TRUE(document) << got.out << got.err;
  EXPECT_EQ("", Violation(schema.get(), document.get()));
}

class Region {
public:
  Region() : path_(scratch_ / "region") {}
  ~Region()
  {
    for (rawhal_limiter_t *limiter : limiters_)
      rawhal_limiter_close(limiter);
  }
  void Join(const char *tenant, const std::vector<std::pair<rawhal_limit_t, uint64_t>> &limits)
  {
    rawhal_limit_config_t config = {};
    rawhal_error_t error = {};
    rawhal_limiter_t *limiter = nullptr;
    snprintf(config.region.text, sizeof(config.region.text), "%s", path_.c_str());
    snprintf(config.tenant.text, sizeof(config.tenant.text), "%s", tenant);
    for (const auto &limit : limits)
      ASSERT_EQ(RAWHAL_OK, rawhal_limit_config_set(&config, limit.first, limit.second, &error));
    ASSERT_EQ(RAWHAL_OK, rawhal_limiter_open(&config, "GPU-7", &limiter, &error)) << error.message;
    limiters_.push_back(limiter);
  }
  const std::string &path() const { return path_; }
  rawhal_limiter_t *last() const { return limiters_.back(); }

private:
  Scratch scratch_;
  std::string path_;
  std::vector<rawhal_limiter_t *> limiters_;
};

TEST(Schema, DescribesTop)
{
  Region region;
  region.Join("free", {});
  region.Join("bound", {{RAWHAL_LIMIT_GPU_SHARE, 300000},
                        {RAWHAL_LIMIT_MEMORY, 1 << 30},
                        {RAWHAL_LIMIT_DISPATCH_RATE, 1000},
                        {RAWHAL_LIMIT_CHARGING, RAWHAL_CHARGING_WALL},
                        {RAWHAL_LIMIT_PRIORITY, RAWHAL_PRIORITY_HIGH}});
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, shim_reserve(region.last(), 0, 2ull << 30, nullptr));
  ASSERT_EQ(0, run({tool, "limits", "set", region.path(), "bound", "share=20%"}).status);
  ASSERT_EQ(0, run({tool, "limits", "suspend", region.path(), "bound"}).status);
  Outcome got = run({tool, "top", "--json", region.path()});
  ExpectDescribed("top", got);
  Json document = parse(got.out);
  const json_t *rows = json_object_get(document.get(), "rows");
  ASSERT_EQ(5u, json_array_size(rows));
  EXPECT_EQ(2, number_of(json_array_get(rows, 0), "processes"));
  EXPECT_EQ("high", text_of(json_array_get(rows, 4), "priority"));
  EXPECT_EQ("memory", text_of(json_object_get(json_array_get(rows, 4), "denial"), "limit"));
  EXPECT_TRUE(json_is_null(json_object_get(json_array_get(rows, 2), "denial")));
}

TEST(Schema, DescribesLimits)
{
  ExpectDescribed("limits", run({tool, "limits", "--json"}));
  ExpectDescribed("limits", run({tool, "limits", "--json", "--memory", "64G"},
                                {"RAWHAL_MEMORY_LIMIT=12345",
                                 "RAWHAL_GPU_SHARE=12.5%",
                                 "RAWHAL_DISPATCH_RATE=7",
                                 "RAWHAL_GPU_BURST=1500us",
                                 "RAWHAL_GPU_CHARGING=wall",
                                 "RAWHAL_DEVICE_SHARE=99%",
                                 "RAWHAL_PROCESS_MEMORY_LIMIT=25%",
                                 "RAWHAL_PROCESS_SHARE=1%",
                                 "RAWHAL_DISPATCHES_IN_FLIGHT=0",
                                 "RAWHAL_WORKGROUPS_IN_FLIGHT=5000000000",
                                 "RAWHAL_KERNARG_IN_FLIGHT=1M",
                                 "RAWHAL_GRID_WORKGROUPS=unlimited",
                                 "RAWHAL_WEIGHT=1000",
                                 "RAWHAL_PRIORITY=low",
                                 "RAWHAL_CU_MASK=ff",
                                 "RAWHAL_TENANT=blue",
                                 "RAWHAL_LIMIT_REGION=/tmp/x",
                                 "RAWHAL_LIMITS_PINNED=all",
                                 "CUDA_OVERSUBSCRIBE=true",
                                 "HIP_VISIBLE_DEVICES=\xff"}));
}

TEST(Schema, DescribesTheOtherCommands)
{
  const std::string a = fixtures + "vector_add-gfx90a-v5.co",
                    b = fixtures + "vector_add-gfx90a-v4.co";
  ExpectDescribed("inspect", run({tool, "inspect", a, "--json"}));
  ExpectDescribed("diff", run({tool, "diff", a, b, "--json"}));
  ExpectDescribed("diff", run({tool, "diff", a, fixtures + "README.md", "--json"}));
}

// The judge itself: each rule can say no.
TEST(Schema, ViolationsAreFound)
{
  const struct {
    const char *schema, *document, *wrong;
  } cases[] = {
      {R"({"type": "object"})", "[]", ": no object"},
      {R"({"type": ["string", "null"]})", "[1]", ": none of"},
      {R"({"required": ["a"]})", "{}", ": has no 'a'"},
      {R"({"properties": {"a": {"type": "integer"}}})", R"({"a": 1.5})", "/a: no integer"},
      {R"({"properties": {"a": {}}})", R"({"b": 1})", ": 'b' is not described"},
      {R"({"properties": {"a": {"const": 1}}})", R"({"a": 2})", "/a: 2 is not 1"},
      {R"({"items": {"enum": ["x"]}})", R"(["x", "y"])", "/1: \"y\" is none of"},
      {R"({"items": {"minimum": 0}})", "[-1]", "/0: -1 is less than 0"},
      {R"({"items": {"maximum": 0}})", "[1]", "/0: 1 is more than 0"},
      {R"({"minItems": 2})", "[1]", ": fewer items"},
      {R"({"maxItems": 0})", "[1]", ": more items"},
      {R"({"items": {"pattern": "^[0-9]+$"}})", R"(["1x"])", "/0: \"1x\" does not match"},
      {R"({"items": {"not": {"const": "OK"}}})", R"(["OK"])", "must not be"},
      {R"({"items": {"$ref": "#/$defs/n"}, "$defs": {"n": {"type": "null"}}})", "[0]",
       "/0: no null"},
      {R"({"items": {"$ref": "#/$defs/m"}})", "[0]", "no definition"},
      {R"({"oneOf": [{"type": "array"}, {"minItems": 0}]})", "[]", "fits 2"},
      {R"({"frob": 1})", "[]", "'frob' is not known"},
  };
  for (const auto &c : cases) {
    Json schema = parse(c.schema), document = parse(c.document);
    ASSERT_TRUE(schema && document) << c.schema;
    EXPECT_TRUE(contains(Violation(schema.get(), document.get()), c.wrong))
        << c.schema << ": " << Violation(schema.get(), document.get());
  }
}

} // namespace
