// Names of kinds of probes: one table, which the documents follow.
#include <rawhal/probe.h>

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace {

std::string text_of(const std::string &name)
{
  std::stringstream text;
  text << std::ifstream(RAWHAL_SOURCE_DIR "/docs/" + name).rdbuf();
  return text.str();
}

uint32_t parsed(const std::string &text)
{
  uint32_t kinds = 77;
  rawhal_error_t error;
  const rawhal_status_t status =
      rawhal_probe_kinds_parse({text.data(), text.size()}, &kinds, &error);
  EXPECT_EQ(status != RAWHAL_OK, kinds == 0) << text;
  return kinds;
}

TEST(ProbeKinds, EachHasANameThatLeadsBackToIt)
{
  uint32_t all = 0;
  std::string names;
  const char *name;
  for (uint32_t kind = 1; (name = rawhal_probe_kind_name(rawhal_probe_kind_t(kind))); kind <<= 1) {
    EXPECT_EQ(parsed(name), kind);
    all |= kind;
    names += (names.empty() ? "" : "+") + std::string(name);
  }
  EXPECT_EQ(all, RAWHAL_PROBE_BARRIERS * 2u - 1);
  EXPECT_EQ(parsed(names), all);
  EXPECT_EQ(parsed("waves+waves"), uint32_t(RAWHAL_PROBE_WAVES));
  EXPECT_EQ(rawhal_probe_kind_name(rawhal_probe_kind_t(0)), nullptr);
  EXPECT_EQ(rawhal_probe_kind_name(rawhal_probe_kind_t(3)), nullptr);
}

TEST(ProbeKinds, WhatIsNone)
{
  for (const char *text : {"", "+", "wave", "waves+", "+waves", "waves++blocks", "waves blocks",
                           "Waves", "wavesblocks"})
    EXPECT_EQ(parsed(text), 0u) << text;
  uint32_t kinds;
  rawhal_error_t error;
  EXPECT_EQ(rawhal_probe_kinds_parse(RAWHAL_STRING("waves+sheep"), &kinds, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_STREQ(error.message,
               "expected waves, blocks, edges, exec, memory, values or barriers, got 'sheep'");
  EXPECT_EQ(rawhal_probe_kinds_parse({}, &kinds, &error), RAWHAL_INVALID_ARGUMENT);
}

TEST(ProbeValues, AreRegistersAtOffsets)
{
  rawhal_probe_value_t value;
  rawhal_error_t error;
  const struct {
    const char *text;
    rawhal_probe_value_t value;
  } rows[] = {{"v3@0x40", {0x40, 3, true}},
              {"s101@64", {64, 101, false}},
              {"v511@0xfffffffe", {UINT32_MAX - 1, 511, true}},
              {"v3@0X4C", {0x4c, 3, true}},
              {"v3@0x4C", {0x4c, 3, true}},
              {"s0@0", {0, 0, false}}};
  for (const auto &row : rows) {
    EXPECT_EQ(rawhal_probe_value_parse(rawhal_string(row.text), &value, &error), RAWHAL_OK);
    EXPECT_EQ(value.offset, row.value.offset) << row.text;
    EXPECT_EQ(value.number, row.value.number) << row.text;
    EXPECT_EQ(value.is_vector, row.value.is_vector) << row.text;
  }
  const std::string zero("v3@4\0", 5), dle("v3@\x14", 4);
  for (const std::string &text : {std::string(),
                                  std::string("v"),
                                  std::string("v@0"),
                                  std::string("v3"),
                                  std::string("v3@"),
                                  std::string("3@0"),
                                  std::string("a3@0"),
                                  std::string("V3@0"),
                                  std::string("v512@0"),
                                  std::string("v3@0x"),
                                  std::string("v3@-4"),
                                  std::string("v3@ 4"),
                                  std::string("v3@4 "),
                                  std::string("v3@0xffffffff"),
                                  std::string("v3@4294967295"),
                                  std::string("v99999999999999999999@0"),
                                  std::string("v3@4a"),
                                  std::string("v3@4A"),
                                  std::string("v3@0X"),
                                  zero,
                                  dle}) {
    value.number = 7;
    EXPECT_EQ(rawhal_probe_value_parse({text.data(), text.size()}, &value, &error),
              RAWHAL_INVALID_ARGUMENT)
        << text;
    EXPECT_EQ(value.number, 0u) << text;
  }
  EXPECT_STREQ(error.message, "expected REGISTER@OFFSET, as v3@0x40, got 'v3@?'");
}

TEST(ProbeKinds, DocumentsHaveThem)
{
  const std::string guide = text_of("probe.md"), schema = text_of("probe.schema.json"),
                    page = text_of("man/rawhal-exec.1");
  const char *name;
  for (uint32_t kind = 1; (name = rawhal_probe_kind_name(rawhal_probe_kind_t(kind))); kind <<= 1) {
    EXPECT_NE(guide.find("`" + std::string(name) + "`"), std::string::npos) << name;
    EXPECT_NE(schema.find("\"" + std::string(name) + "\""), std::string::npos) << name;
    EXPECT_NE(page.find(".It Cm " + std::string(name) + "\n"), std::string::npos) << name;
  }
}

} // namespace
