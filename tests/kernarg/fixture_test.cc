// The committed fixtures: rebuilt from their sources, and their layouts as read by hand from
// llvm-readelf-19 --notes.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "kernel_builder.h"

using namespace kernarg_test;
namespace fs = std::filesystem;

namespace {

const fs::path kFixtures = fs::path(RAWHAL_SOURCE_DIR) / "tests" / "fixtures";

std::string Slurp(const fs::path &path)
{
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string Output(const std::string &command)
{
  std::string text;
  FILE *pipe = popen((command + " 2>/dev/null").c_str(), "r");
  if (!pipe)
    return text;
  char buffer[256];
  while (size_t size = fread(buffer, 1, sizeof(buffer), pipe))
    text.append(buffer, size);
  pclose(pipe);
  return text;
}

} // namespace

TEST(Fixtures, RebuildToTheSameBytes)
{
  if (Output("clang-19 --version").find("version 19.1.") == std::string::npos)
    GTEST_SKIP() << "clang 19.1 is not installed";
  for (const char *tool : {"ld.lld-19", "llvm-objcopy-19", "python3"})
    if (Output(std::string("command -v ") + tool).empty())
      GTEST_SKIP() << tool << " is not installed";
  char folder[] = "/tmp/rawhal-fixtures-XXXXXX";
  ASSERT_NE(nullptr, mkdtemp(folder));
  std::string command = "python3 '" + (kFixtures / "build.py").string() + "' " + folder;
  EXPECT_EQ(0, system(command.c_str()));
  int compared = 0;
  for (const auto &entry : fs::directory_iterator(kFixtures)) {
    std::string extension = entry.path().extension();
    if (extension != ".co" && extension != ".bundle")
      continue;
    ++compared;
    EXPECT_TRUE(Slurp(entry.path()) == Slurp(fs::path(folder) / entry.path().filename()))
        << entry.path().filename() << " differs from what its source builds";
  }
  EXPECT_GE(compared, 25);
  fs::remove_all(folder);
}
