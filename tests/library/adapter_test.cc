// examples/solution_adapter.cpp on a folder of 600 objects: the right solution is found among 2,400, launched, and exact.
#include "library_test.h"

#include <regex>

namespace {

class LibraryAdapter : public LibraryTest {
protected:
  void TearDown() override
  {
    if (!folder.empty())
      LibraryTest::TearDown();
  }

  void SetUp() override
  {
#ifdef __SANITIZE_THREAD__
    GTEST_SKIP() << "the program does not know what ThreadSanitizer cannot see";
#endif
    LibraryTest::SetUp();
    const std::vector<char> bytes = fixture_bytes("solutions-gfx90a-v5.co");
    for (size_t i = 0; i < 600; ++i)
      write_file(folder / ("TensileLibrary_" + digits(i) + "_gfx90a.co"),
                 renamed(bytes, "_00000", "_" + digits(i)));
  }

  static std::string digits(size_t number)
  {
    return numbered(number).substr(5);
  }

  // What it prints, and its status at the end.
  std::string run(const std::string &arguments)
  {
    const std::string command = "RAWHAL_CACHE=" + cache.string() +
                                " RAWHAL_DEVICE=softgpu " RAWHAL_ADAPTER " " + arguments + " 2>&1";
    std::string text;
    FILE *pipe = popen(command.c_str(), "r");
    char line[1024];
    while (pipe && fgets(line, sizeof(line), pipe))
      text += line;
    return text + "status " + std::to_string(pipe ? WEXITSTATUS(pclose(pipe)) : -1);
  }
};

TEST_F(LibraryAdapter, EachTypeIsExact)
{
  for (size_t number : {0, 7, 599}) {
    const std::string text = run(folder.string() + " " + std::to_string(number));
    EXPECT_NE(text.find("status 0"), std::string::npos) << text;
    const std::regex line(
        "(Cijk_Alik_Bljk_(SB|HSS_BH|BSS_BH|I8II_BH)_MT\\w*_" + digits(number) +
        "): 3150 of 3150 elements are exact, ([0-9.]+) ms, the kernel ([0-9.]+)\n");
    EXPECT_EQ(
        std::distance(std::sregex_iterator(text.begin(), text.end(), line), std::sregex_iterator()),
        4)
        << text;
    // Between the events is the kernel, to the last digit and what clocks differ by.
    for (std::sregex_iterator one(text.begin(), text.end(), line), none; one != none; ++one) {
      const double elapsed = std::stod((*one)[3]), alone = std::stod((*one)[4]);
      EXPECT_GT(alone, 0) << one->str();
      EXPECT_GE(elapsed, alone - 0.003) << one->str();
      EXPECT_LT(elapsed, 60000) << one->str();
    }
  }
}

TEST_F(LibraryAdapter, WhatIsNotThereIsNamed)
{
  const std::string text = run(folder.string() + " 600");
  EXPECT_NE(text.find("NOT_FOUND: no kernel 'Cijk_Alik_Bljk_SB_"), std::string::npos) << text;
  EXPECT_NE(text.find("among 2400 of 600 code objects"), std::string::npos) << text;
  EXPECT_NE(text.find("status 1"), std::string::npos) << text;
  EXPECT_NE(run("/nonexistent").find("NOT_FOUND"), std::string::npos);
  EXPECT_NE(run("").find("usage: "), std::string::npos);
}

} // namespace
