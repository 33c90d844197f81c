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
