// What scripts wrote into the tree is what they would write today, and what LLVM says of it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <unistd.h>

#include "tests/softgpu/isa/llvm.h"

namespace {

std::string contents(const std::string &path)
{
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Folder {
  Folder() { created = mkdtemp(path) != nullptr; }
  ~Folder()
  {
    if (created && system(("rm -r " + std::string(path)).c_str()) != 0)
      ADD_FAILURE() << "left behind: " << path;
  }
  char path[32] = "/tmp/rawhal-isa-XXXXXX";
  bool created;
};

bool scripts_run()
{
  return llvm::available() && system("python3 --version >/dev/null 2>&1") == 0;
}

const std::string ISA = RAWHAL_SOURCE_DIR "/softgpu/isa/describe/",
                  TESTS = RAWHAL_SOURCE_DIR "/tests/softgpu/isa/";

TEST(Tables, AreThoseOfTheDescription)
{
  if (system("python3 --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "python3 is not installed";
  EXPECT_EQ(0, system(("python3 " + ISA + "isagen.py --check").c_str()));
}

TEST(Tables, OpcodesAreThoseOfLlvm)
{
  if (!scripts_run())
    GTEST_SKIP() << "llvm-mc-19 or python3 is not installed";
  EXPECT_EQ(
      0, system(("python3 " + TESTS + "llvm_opcodes.py " + ISA + "generated/opcodes.inc").c_str()));
}

// Of LLVM 22 if it is installed: the script says which it was.
TEST(Tables, MnemonicsAreThoseOfLlvm)
{
  if (!scripts_run())
    GTEST_SKIP() << "llvm-mc-19 or python3 is not installed";
  EXPECT_EQ(0, system(("python3 " + TESTS + "llvm_mnemonics.py " + ISA + "generated").c_str()));
}

TEST(Tables, Gfx950OpcodesAreThoseOfTheAssembler)
{
  const bool is_named = getenv("RAWHAL_GFX950_ASSEMBLER") != nullptr;
  if ((!is_named && system("llvm-mc-22 --version >/dev/null 2>&1") != 0) ||
      system("python3 --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "no llvm-mc-22, RAWHAL_GFX950_ASSEMBLER names none, or no python3";
  EXPECT_EQ(
      0,
      system(("python3 " + TESTS + "gfx950_opcodes.py " + ISA + "generated/opcodes.inc").c_str()));
}

TEST(Tables, Gfx1030OpcodesAreThoseOfLlvm)
{
  if (!llvm::available("22") || system("python3 --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "llvm-mc-22 or python3 is not installed";
  EXPECT_EQ(0,
            system(("python3 " + TESTS + "gfx10_opcodes.py " + ISA + "generated/gfx10").c_str()));
}

TEST(Tables, Gfx11OpcodesAreThoseOfLlvm)
{
  if (!llvm::available("22") || system("python3 --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "llvm-mc-22 or python3 is not installed";
  const std::string command = "python3 " + TESTS + "gfx11_opcodes.py " + ISA + "generated/gfx11";
  EXPECT_EQ(0, system(command.c_str()));
}

TEST(Tables, KernelsAreAssembledFromTheirSource)
{
  if (!scripts_run())
    GTEST_SKIP() << "llvm-mc-19 or python3 is not installed";
  Folder folder;
  const std::string out = std::string(folder.path) + "/kernels.inc";
  ASSERT_EQ(0, system(("python3 " + TESTS + "kernels.py " + out).c_str()));
  EXPECT_EQ(contents(TESTS + "kernels.inc"), contents(out));
}

} // namespace
