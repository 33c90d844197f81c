// Target ids and e_flags. Expected values: AMDGPUUsage and what clang-19 writes.
#include "hsaco_test.h"

extern "C" {
#include "hsaco/processor_table.h"
#include "hsaco/target.h"
}

static rawhal_target_t parse(const std::string &text)
{
  rawhal_target_t target;
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_OK, rawhal_target_parse(string_of(text), &target, &error)) << error.message;
  return target;
}

static rawhal_status_t parse_status(const std::string &text)
{
  rawhal_target_t target;
  rawhal_error_t error = {};
  rawhal_status_t status = rawhal_target_parse(string_of(text), &target, &error);
  EXPECT_EQ(0u, target.machine);
  EXPECT_NE(0, error.message[0]);
  return status;
}

static std::string format(const rawhal_target_t &target)
{
  char text[64];
  EXPECT_LT(rawhal_target_format(&target, text, sizeof(text)), sizeof(text));
  return text;
}

TEST(Target, ParsesWithAndWithoutPrefix)
{
  for (const char *prefix :
       {"", "amdgcn-amd-amdhsa--", "hipv4-amdgcn-amd-amdhsa--", "amdgcn-amd-amdhsa-unknown-"}) {
    rawhal_target_t target = parse(std::string(prefix) + "gfx90a:xnack-:sramecc+");
    EXPECT_EQ(0x3fu, target.machine);
    EXPECT_EQ(RAWHAL_FEATURE_OFF, target.xnack);
    EXPECT_EQ(RAWHAL_FEATURE_ON, target.sramecc);
    EXPECT_EQ("gfx90a:sramecc+:xnack-", format(target)); // canonical: alphabetical
  }
}

TEST(Target, AbsentFeaturesAreAnyWhereTheyExist)
{
  EXPECT_EQ(RAWHAL_FEATURE_ANY, parse("gfx90a").xnack);
  EXPECT_EQ(RAWHAL_FEATURE_ANY, parse("gfx90a").sramecc);
  EXPECT_EQ(RAWHAL_FEATURE_ANY, parse("gfx900").xnack);
  EXPECT_EQ(RAWHAL_FEATURE_UNSUPPORTED, parse("gfx900").sramecc);
  EXPECT_EQ(RAWHAL_FEATURE_UNSUPPORTED, parse("gfx1100").xnack);
  EXPECT_EQ(1u, parse("gfx9-4-generic").generic_version);
}

// LLVM since 2026-07, which also takes them for names of processors.
TEST(Target, TriplesMayNameTheProcessor)
{
  const struct {
    const char *text, *id;
  } cases[] = {
      {"amdgpu9.0a", "gfx90a"},
      {"amdgpu9.0a-amd-amdhsa", "gfx90a"},
      {"amdgpu9.0a-amd-amdhsa-llvm:xnack-", "gfx90a:xnack-"},
      {"amdgpu9.0a-amd-amdhsa--gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack-"},
      {"amdgpu-amd-amdhsa--gfx90a", "gfx90a"},
      {"amdgpu9-amd-amdhsa--gfx906", "gfx906"},
      {"amdgpu9.00", "gfx900"},
      {"amdgpu10.30-amd-amdhsa", "gfx1030"},
      {"amdgpu12.50-amd-amdhsa", "gfx1250"},
      {"amdgpu9", "gfx9-generic"},
      {"amdgpu9.4:xnack+", "gfx9-4-generic:xnack+"},
      {"amdgpu11.7-amd-amdhsa-unknown-gfx1170", "gfx1170"},
  };
  for (const auto &one : cases)
    EXPECT_EQ(one.id, format(parse(one.text))) << one.text;
  for (const char *text : {"amdgpu", "amdgpu-amd-amdhsa", "amdgpu9.", "amdgpu9.0a0", "amdgpu9.0ax",
                           "amdgpu9.42-amd-amdhsa--gfx90a", "amdgpu9-amd-amdhsa--gfx90a",
                           "amdgpu9.0a:gfx90a", "xamdgpu9.0a", "amdgpu100.30"})
    EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, parse_status(text)) << text;
  for (const char *text : {"amdgpu9.ff", "amdgpu6", "amdgpu99.99-amd-amdhsa"})
    EXPECT_EQ(RAWHAL_NOT_FOUND, parse_status(text)) << text;
}

TEST(Target, RefusesWhatIsNoTargetId)
{
  for (const char *text : {"", "x86_64", "gfx90a:", "gfx90a:xnack", "gfx90a:xnack*",
                           "gfx90a:xnack+:xnack-", "gfx90a:sramecc+:sramecc+", "gfx1030:xnack+",
                           "gfx900:sramecc-", "gfx90a:wavefront+", "agfx90a", ":gfx90a"})
    EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, parse_status(text)) << text;
  for (const char *text : {"gfx", "gfx9999", "gfx90", "gfx90ab", "GFX-gfx90A"})
    EXPECT_EQ(RAWHAL_NOT_FOUND, parse_status(text)) << text;
}

TEST(Target, NamesThoseThatAreNear)
{
  rawhal_target_t target;
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_NOT_FOUND, rawhal_target_parse(RAWHAL_STRING("gfx9-4-genric"), &target, &error));
  EXPECT_STREQ("no processor is called 'gfx9-4-genric'; nearest: 'gfx9-4-generic', "
               "'gfx9-generic', 'gfx10-1-generic'",
               error.message);
}

TEST(Target, EveryProcessorSurvivesARoundTrip)
{
  size_t count = 0;
  for (uint32_t machine = 0; machine < 300; ++machine) {
    const processor *one = processor_by_machine(machine);
    if (!one)
      continue;
    ++count;
    EXPECT_EQ(machine, one->machine);
    EXPECT_EQ(one, processor_by_name({one->name, strlen(one->name)}));
    rawhal_target_t target = parse(one->name);
    EXPECT_EQ(one->machine, target.machine) << one->name;
    EXPECT_EQ(one->name, format(target));
    if (one->generic) {
      ASSERT_NE(nullptr, processor_by_machine(one->generic)) << one->name;
      EXPECT_TRUE(processor_by_machine(one->generic)->flags & PROCESSOR_GENERIC) << one->name;
    }
  }
  EXPECT_EQ(64u, count);
}

TEST(Target, FlagsOfEachCodeObjectVersion)
{
  struct {
    uint32_t flags, abi;
    const char *id;
  } const cases[] = {
      {0x12c, 1, "gfx900:xnack+"}, // V3: a set bit
      {0x02c, 1, "gfx900:xnack-"}, // V3: a clear bit means off
      {0x036, 1, "gfx1030"},       // no such feature
      {0x32c, 2, "gfx900:xnack+"}, // V4: two bits each
      {0x22c, 2, "gfx900:xnack-"},
      {0x12c, 2, "gfx900"},
      {0x53f, 3, "gfx90a"},
      {0xe3f, 3, "gfx90a:sramecc+:xnack-"},
      {0xb3f, 3, "gfx90a:sramecc-:xnack+"},
      {0x549, 4, "gfx1250"}, // any, not selectable
      {0x749, 4, "gfx1250"}, // on: it cannot be otherwise
      {0x449, 4, "gfx1250"},
      {0x649, 4, "gfx1250:xnack-"}, // which no such processor is
      {0x0100075b, 4, "gfx12-5-generic"},
      {0x7eb, 4, "gfx1250-strict"},
      {0x5fe, 3, "mach-0xfe"},
  };
  for (const auto &one : cases) {
    rawhal_target_t target;
    rawhal_target_from_flags(one.flags, one.abi, &target);
    EXPECT_EQ(one.id, format(target));
  }
  rawhal_target_t target;
  rawhal_target_from_flags(0x01000151, 4, &target);
  EXPECT_STREQ("gfx9-generic", target.processor);
  EXPECT_EQ(1u, target.generic_version);
  rawhal_target_from_flags(0x01000151, 3, &target); // only V6 has the version
  EXPECT_EQ(0u, target.generic_version);
}

TEST(Target, FormatBehavesLikeSnprintf)
{
  rawhal_target_t target = parse("gfx90a:xnack-");
  char text[8];
  memset(text, 'x', sizeof(text));
  EXPECT_EQ(13u, rawhal_target_format(&target, text, sizeof(text)));
  EXPECT_STREQ("gfx90a:", text);
  EXPECT_EQ(13u, rawhal_target_format(&target, nullptr, 0));
}

TEST(Target, MatchSaysWhichPartStandsAgainst)
{
  const rawhal_target_t device = parse("gfx90a:sramecc+:xnack-");
  EXPECT_EQ(0u, [&] {
    auto o = parse("gfx90a");
    return rawhal_target_match(&o, &device);
  }());
  struct {
    const char *object;
    const char *device;
    uint32_t mismatch;
  } const cases[] = {
      {"gfx90a:xnack-", "gfx90a:sramecc+:xnack-", 0},
      {"gfx90a:xnack+", "gfx90a:sramecc+:xnack-", RAWHAL_MISMATCH_XNACK},
      {"gfx90a:sramecc-:xnack+", "gfx90a:sramecc+:xnack-",
       RAWHAL_MISMATCH_XNACK | RAWHAL_MISMATCH_SRAMECC},
      {"gfx908", "gfx90a:sramecc+:xnack-", RAWHAL_MISMATCH_PROCESSOR},
      {"gfx9-generic", "gfx906:sramecc+:xnack-", 0},
      {"gfx9-generic", "gfx908:sramecc+:xnack-", RAWHAL_MISMATCH_GENERIC_FAMILY}, // not a member
      {"gfx9-4-generic", "gfx942:sramecc+:xnack-", 0},
      {"gfx942", "gfx950:sramecc+:xnack-", RAWHAL_MISMATCH_PROCESSOR},
      {"gfx11-generic", "gfx1151", 0},
      {"gfx10-3-generic", "gfx1010:xnack-", RAWHAL_MISMATCH_GENERIC_FAMILY},
      {"gfx12-5-generic", "gfx1250", 0},
  };
  for (const auto &one : cases) {
    rawhal_target_t object = parse(one.object), on = parse(one.device);
    EXPECT_EQ(one.mismatch, rawhal_target_match(&object, &on)) << one.object << " " << one.device;
  }
  rawhal_target_t old = parse("gfx9-4-generic"), on = parse("gfx942:sramecc+:xnack-");
  old.generic_version = 0;
  EXPECT_EQ(uint32_t{RAWHAL_MISMATCH_GENERIC_VERSION}, rawhal_target_match(&old, &on));
  rawhal_target_t unknown;
  rawhal_target_from_flags(0x5fe, 3, &unknown);
  EXPECT_EQ(uint32_t{RAWHAL_MISMATCH_PROCESSOR}, rawhal_target_match(&unknown, &unknown));
}

TEST(Target, ExplainIsOneSentence)
{
  rawhal_target_t object = parse("gfx90a:xnack+"), device = parse("gfx90a:sramecc+:xnack-");
  char text[160];
  rawhal_target_explain(rawhal_target_match(&object, &device), &object, &device, text,
                        sizeof(text));
  EXPECT_STREQ("xnack: object on, device off", text);
  object = parse("gfx908:xnack+");
  rawhal_target_explain(rawhal_target_match(&object, &device), &object, &device, text,
                        sizeof(text));
  EXPECT_STREQ("processor: object gfx908:xnack+, device gfx90a:sramecc+:xnack-; "
               "xnack: object on, device off",
               text);
  EXPECT_GT(rawhal_target_explain(0, &device, &device, text, 4), 4u);
}
