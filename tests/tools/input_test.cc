// What the verbs read besides one file: standard input, pipes, several files.
#include "tests/hsaco/builder.h"
#include "tests/tools/page.h"

#include <sys/stat.h>

namespace {

const std::string v5 = fixtures + "vector_add-gfx90a-v5.co";
const std::string bundle = fixtures + "vector_add.bundle";

Outcome shell(const std::string &line)
{
  return run({"/bin/bash", "-c", line});
}

std::string replaced(std::string text, const std::string &from, const std::string &to)
{
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

class Input : public testing::Test {
protected:
  void SetUp() override
  {
    if (access("/bin/bash", X_OK))
      GTEST_SKIP() << "no bash, which makes the pipes";
  }

  // An object whose kernel `name` takes an argument of that size.
  std::string object(const std::string &file, const std::string &name, uint32_t size)
  {
    build::Object object;
    build::Kernel kernel = build::plain_kernel(name);
    kernel.arguments = {{"out", 0, 8, "global_buffer", "global"}, {"n", 8, size, "by_value"}};
    kernel.kernarg_size = 8 + size;
    object.kernels = {kernel};
    spit(scratch / file, object.build());
    return scratch / file;
  }

  Scratch scratch;
};

} // namespace

// The same as of the file, but for what it is called.
TEST_F(Input, AStreamIsReadAsAFileIs)
{
  for (const std::string &words :
       {std::string("inspect @"), std::string("inspect --brief @"), std::string("inspect --list @"),
        std::string("inspect --json @"), std::string("find vector_add @"),
        std::string("find --json vector_add @"), std::string("header @"),
        std::string("diff @ " + v5), std::string("diff --json " + v5 + " @")}) {
    SCOPED_TRACE(words);
    const std::string line = tool + " " + words;
    Outcome file = shell(replaced(line, "@", bundle));
    Outcome piped = shell("cat " + bundle + " | " + replaced(line, "@", "-"));
    Outcome redirected = shell(replaced(line, "@", "-") + " <" + bundle);
    EXPECT_EQ(file.status, piped.status) << piped.err;
    EXPECT_EQ(piped.out, redirected.out);
    EXPECT_EQ("", piped.err + redirected.err);
    const std::string wanted =
        replaced(replaced(replaced(file.out, "\"" + bundle + "\"", "\"-\""), bundle + ":", "-:"),
                 bundle, "-");
    if (!contains(words, "--json")) {
      EXPECT_EQ(wanted, piped.out);
      continue;
    }
    Json document = parse(piped.out); // there is no file that a debugger could open
    ASSERT_TRUE(document);
    EXPECT_FALSE(contains(piped.out, "file://"));
    EXPECT_EQ(lines(file.out), lines(piped.out));
  }
}

TEST_F(Input, ShellsWritePipesAsFiles)
{
  Outcome got =
      shell(tool + " diff <(cat " + v5 + ") <(cat " + fixtures + "vector_add-gfx90a-v4.co)");
  EXPECT_EQ(1, got.status) << got.err;
  EXPECT_TRUE(contains(got.out,
                       "\n! kernel vector_add (gfx90a): another ABI; blobs of callers fit both\n"));
  got = shell(tool + " inspect --brief <(cat " + v5 + ")");
  EXPECT_EQ(run({tool, "inspect", "--brief", v5}).out, got.out);
  got = shell(tool + " inspect <(cat " + v5 + ") <(cat " + bundle + ") " + v5);
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_EQ(4u, lines(got.out)) << got.out;
  got = shell(tool + " inspect --html <(cat " + v5 + ")");
  EXPECT_TRUE(page_of(got.out).json);
}

TEST_F(Input, IsReadOnce)
{
  expect_refusal(shell(tool + " diff - - <" + v5), 3,
                 "only one of the files can be standard input");
  Outcome got = shell(tool + " inspect - - <" + v5);
  EXPECT_EQ(3, got.status);
  EXPECT_EQ(1u, lines(got.out)) << got.out;
  EXPECT_TRUE(contains(got.err, "only one of the files can be standard input")) << got.err;
}

TEST_F(Input, NothingAndNonsenseAreRefused)
{
  for (const char *verb : {"inspect", "header", "unpack", "check --kernel k --blob /dev/null"}) {
    SCOPED_TRACE(verb);
    EXPECT_EQ(3, shell(tool + " " + verb + " - </dev/null").status);
    EXPECT_EQ(3, shell("echo nonsense | " + tool + " " + verb + " -").status);
    Outcome got = shell(tool + " " + verb + " - <&-"); // it is closed
    EXPECT_EQ(3, got.status) << got.err;
    got = shell(tool + " " + verb + " - <" + scratch.root);
    expect_refusal(got, 3, "cannot read 'standard input': Is a directory");
  }
}

// A FIFO with a name is no pipe that is open: whoever opens it would wait.
TEST_F(Input, AFifoIsStillRefused)
{
  ASSERT_EQ(0, mkfifo((scratch / "fifo").c_str(), 0600));
  expect_refusal(run({tool, "inspect", scratch / "fifo"}), 3, "");
  expect_refusal(run({tool, "inspect", "/dev/fd/99"}), 3, "");
  expect_refusal(run({tool, "inspect", "/dev/fd/x"}), 3, "");
}

TEST_F(Input, AFileCanBeCalledSo)
{
  spit(scratch / "-", slurp(v5));
  Outcome got = shell("cd " + scratch.root + " && " + tool + " inspect --json ./- </dev/null");
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_TRUE(contains(got.out, "file://"));
  got = shell("cd " + scratch.root + " && " + tool + " inspect --json - <" + v5);
  EXPECT_FALSE(contains(got.out, "file://")) << got.out;
  got = shell("cd " + scratch.root + " && " + tool + " inspect --html - -o - <-");
  EXPECT_EQ(0, got.status) << got.err;
  got = shell("cd " + scratch.root + " && " + tool + " inspect --html - -o ./- <-");
  expect_refusal(got, 3, "would be overwritten");
  EXPECT_EQ(slurp(v5), slurp(scratch / "-"));
}

/* ---- unpack ---- */

TEST_F(Input, UnpackSeveral)
{
  spit(scratch / "bad", "nonsense");
  Outcome got = shell("cd " + scratch.root + " && " + tool + " unpack " + bundle + " bad " + v5 +
                      " - --output . <" + bundle);
  EXPECT_EQ(3, got.status);
  EXPECT_EQ("./vector_add.bundle-0-gfx90a.co\n./vector_add.bundle-1-gfx942.co\n"
            "./vector_add-gfx90a-v5.co-0-gfx90a.co\n./stdin-0-gfx90a.co\n./stdin-1-gfx942.co\n",
            got.out);
  EXPECT_EQ(1u, lines(got.err)) << got.err;
  EXPECT_TRUE(contains(got.err, ": bad: ")) << got.err;
  EXPECT_EQ(slurp(v5), slurp(scratch / "vector_add-gfx90a-v5.co-0-gfx90a.co"));
  EXPECT_EQ(slurp(scratch / "vector_add.bundle-1-gfx942.co"), slurp(scratch / "stdin-1-gfx942.co"));
  // Of two with one name the second does not replace the first.
  spit(scratch / "vector_add.bundle", slurp(bundle));
  got =
      shell("cd " + scratch.root + " && " + tool + " unpack --force ./vector_add.bundle " + bundle);
  expect_refusal(got, 2, "have the same name 'vector_add.bundle'");
}

/* ---- header ---- */

// What agrees is one struct; what does not has a name of its own and says why. It compiles.
TEST_F(Input, HeaderOfSeveral)
{
  const std::string a = object("a.co", "k", 4), b = object("b.co", "k", 8),
                    c = object("c.co", "k", 4);
  const std::string d = object("d.co", "k_2", 2), e = object("e.co", "k", 8);
  Outcome got = run({tool, "header", a, b, c, d, e});
  ASSERT_EQ(0, got.status) << got.err;
  EXPECT_TRUE(contains(
      got.out, "\n/* Kernel k */\n#define KERNARG_NAME_k \"k\"\n#define KERNARG_SIZE_k 12u\n"));
  EXPECT_TRUE(contains(got.out, "\n/* Kernel k of b.co, whose arguments are others than above */\n"
                                "#define KERNARG_NAME_k_2_ \"k\"\n#define KERNARG_SIZE_k_2_ 16u\n"))
      << got.out; // k_2 is the name of another
  EXPECT_TRUE(contains(
      got.out,
      "\n/* Kernel k_2 */\n#define KERNARG_NAME_k_2 \"k_2\"\n#define KERNARG_SIZE_k_2 10u\n"));
  size_t names = 0;
  for (size_t at = 0; (at = got.out.find("#define KERNARG_NAME_", at)) != std::string::npos; ++at)
    ++names;
  EXPECT_EQ(3u, names) << got.out;
  EXPECT_FALSE(contains(got.out, scratch.root)); // nothing depends on where they are
  spit(scratch / "k.c",
       got.out + "int main(void)\n{\n  return sizeof(kernarg_k) + sizeof(kernarg_k_2_) + "
                 "sizeof(kernarg_k_2) != 12 + 16 + 10;\n}\n");
  Outcome compiled =
      run({RAWHAL_CC, "-std=c11", "-Wall", "-Werror", "-o", scratch / "k", scratch / "k.c"});
  ASSERT_EQ(0, compiled.status) << compiled.err;
  EXPECT_EQ(0, run({scratch / "k"}).status);
}

// Within one file a caller has no choice: there they must agree, whatever other files say.
TEST_F(Input, HeaderOfObjectsThatDisagree)
{
  const std::string a = object("a.co", "k", 4), b = object("b.co", "k", 8);
  for (const std::vector<std::string> &order : {std::vector<std::string>{a, b}, {b, a}}) {
    spit(scratch / "both", slurp(order[0]) + slurp(order[1]));
    const std::string words = "'k' has one layout in object 0 (gfx90a) and another in object 1";
    expect_refusal(run({tool, "header", scratch / "both"}), 3, words);
    expect_refusal(run({tool, "header", scratch / "both", a}), 3, words);
    Outcome got = run({tool, "header", a, scratch / "both"});
    EXPECT_EQ(3, got.status) << got.out;
    EXPECT_TRUE(contains(got.err, "both: 'k' has one layout in object")) << got.err;
    EXPECT_EQ("", got.out);
  }
  EXPECT_EQ(0, run({tool, "header", scratch / "both", a, "--object", "0"}).status);
  expect_refusal(run({tool, "header", a, scratch / "none"}), 3, "none: ");
}
