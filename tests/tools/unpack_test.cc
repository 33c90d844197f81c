// rawhal unpack: what is written is what was put in.
#include "tests/tools/command.h"

#include "tests/hsaco/builder.h"
#include "tests/hsaco/carriers.h"
#include "tests/hsaco/compressed.h"

#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

namespace {

class Unpack : public testing::Test {
protected:
  void SetUp() override
  {
    a = slurp(fixtures + "vector_add-gfx90a-v5.co");
    b = slurp(fixtures + "vector_add-gfx942-v6.co");
    spit(scratch / "all.a",
         build::ar_archive(
             {{"a.co", a},
              {"text", "text"},
              {"b.hipfb", build::ccob(2, 1, build::bundle({{"hip-amdgcn-amd-amdhsa--gfx942", b}}))},
              {"c.bc", "BC\xc0\xde"}}));
    mkdir((scratch / "out").c_str(), 0755);
  }
  Outcome unpack(std::vector<std::string> more = {})
  {
    std::vector<std::string> words = {tool, "unpack", scratch / "all.a", "--output",
                                      scratch / "out"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }
  std::string a, b;
  Scratch scratch;
};

// What files may not grow to is an error; its signal would end the command.
TEST_F(Unpack, WhereFilesMayNotGrow)
{
  const Outcome got = run({"/bin/sh", "-c", "ulimit -f 1; exec \"$@\"", "sh", tool, "unpack",
                           scratch / "all.a", "--output", scratch / "out"});
  expect_refusal(got, 3, "File too large");
}

TEST_F(Unpack, BytesAreTheSame)
{
  Outcome got = unpack();
  EXPECT_EQ(0, got.status) << got.err;
  const std::string first = scratch / "out/all.a-0-gfx90a.co",
                    second = scratch / "out/all.a-1-gfx942.co";
  EXPECT_EQ(first + "\n" + second + "\n", got.out);
  EXPECT_EQ(a, slurp(first));
  EXPECT_EQ(b, slurp(second));
}

TEST_F(Unpack, NamesHaveTheWholeTarget)
{
  std::string on = a, off = a;
  on[49] = 0x0f; // e_flags: SRAM-ECC on, XNACK on
  off[49] = 0x06;
  spit(scratch / "all.a", build::ar_archive({{"a.co", on}, {"b.co", off}}));
  EXPECT_EQ(scratch / "out/all.a-0-gfx90a-sramecc+-xnack+.co" + "\n" +
                (scratch / "out/all.a-1-gfx90a-xnack-.co") + "\n",
            unpack().out);
}

TEST_F(Unpack, OnlyWhatIsAskedFor)
{
  Outcome one = unpack({"--object", "1"});
  EXPECT_EQ(scratch / "out/all.a-1-gfx942.co" + "\n", one.out) << one.err;
  Outcome target = unpack({"--target", "gfx90a"});
  EXPECT_EQ(scratch / "out/all.a-0-gfx90a.co" + "\n", target.out) << target.err;
  expect_refusal(unpack({"--target", "gfx1030"}), 3,
                 "none of the file's 3 objects is selected (1 cannot be read)");
  expect_refusal(unpack({"--object", "2"}), 3, "is selected");
}

// What is there stays, also behind a link; and nothing is half written.
TEST_F(Unpack, FilesAreNotOverwritten)
{
  const std::string first = scratch / "out/all.a-0-gfx90a.co", precious = scratch / "precious";
  spit(precious, "mine");
  ASSERT_EQ(0, symlink(precious.c_str(), first.c_str()));
  expect_refusal(unpack(), 3, "File exists (--force replaces it)");
  EXPECT_EQ("mine", slurp(precious));
  EXPECT_EQ(0, unpack({"--force"}).status);
  EXPECT_EQ("mine", slurp(precious));
  EXPECT_EQ(a, slurp(first));
  expect_refusal(run({tool, "unpack", scratch / "all.a", "--output", scratch / "nowhere"}), 3,
                 "No such file or directory");
  ASSERT_EQ(0, unlink(first.c_str()));
  ASSERT_EQ(0, mkfifo(first.c_str(), 0600));
  expect_refusal(unpack({"--force"}), 3, "there is something other than a file");
  EXPECT_TRUE(std::filesystem::is_fifo(first));
}

TEST_F(Unpack, RefusesInOneLine)
{
  spit(scratch / "text", "some text");
  expect_refusal(run({tool, "unpack", scratch / "text"}), 3,
                 "neither a code object nor a known container");
  expect_refusal(run({tool, "unpack"}), 2, "expected at least one FILE");
  expect_refusal(unpack({"--object", "x"}), 2, "'x' is not a number");
  expect_refusal(unpack({"--object", "-1"}), 2, "'-1' is not a number");
  expect_refusal(unpack({"--nope"}), 2, "unknown option '--nope'");
}

} // namespace
