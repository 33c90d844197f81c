// Each public header alone, in each standard that programs are written in.
#include "tests/tools/process.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace fs = std::filesystem;

TEST(Headers, StandAloneInEveryStandard)
{
  const struct {
    const char *compiler, *language;
    std::vector<std::string> standards;
  } rows[] = {{RAWHAL_CC, "c", {"c11", "c17", "c2x"}},
              {RAWHAL_CXX, "c++", {"c++11", "c++14", "c++17", "c++20", "c++2b"}}};
  Scratch scratch;
  unsigned headers = 0;
  for (const auto &entry : fs::directory_iterator(RAWHAL_INCLUDE_DIR "/rawhal")) {
    ++headers;
    const std::string text = "#include <rawhal/" + entry.path().filename().string() + ">\n";
    spit(scratch / "alone", text.data(), text.size());
    for (const auto &row : rows)
      for (const std::string &standard : row.standards) {
        Outcome got =
            run({row.compiler, "-x", row.language, "-std=" + standard, "-fsyntax-only", "-Wall",
                 "-Wextra", "-Wpedantic", "-Werror", "-I" RAWHAL_INCLUDE_DIR, scratch / "alone"});
        EXPECT_EQ(0, got.status) << text << standard << "\n" << got.err;
      }
  }
  EXPECT_GE(headers, 10u);
}
