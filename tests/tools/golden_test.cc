// What people see, at three widths, with colours and without: files of tests/tools/golden, which
// RAWHAL_GOLDEN=write makes anew. And that no help is wider than a terminal.
#include "tests/hsaco/builder.h"
#include "tests/tools/command.h"
#include "tests/tools/terminal.h"

namespace {

const std::string golden = RAWHAL_SOURCE_DIR "/tests/tools/golden/";

void expect_golden(const std::string &name, const std::string &text)
{
  std::string shown; // escapes as a reader of the file sees them
  for (char c : text)
    shown += c == '\x1b' ? "^[" : std::string(1, c);
  const char *mode = getenv("RAWHAL_GOLDEN");
  if (mode && mode == std::string("write"))
    spit(golden + name, shown);
  EXPECT_EQ(slurp(golden + name), shown) << name;
}

class Golden : public testing::Test {
protected:
  void SetUp() override
  {
    build::Object object;
    build::Kernel add = build::plain_kernel("_Z10vector_addPfS_S_j"), odd = build::plain_kernel("odd");
    add.arguments.push_back({"a_name_that_is_as_long_as_names_of_generated_code_often_are_indeed", 24, 8, "by_value"});
    add.kernarg_size = 32;
    odd.arguments[0].kind = "nobody_knows_what";
    odd.max_flat = 0;
    object.kernels = {add, odd, build::plain_kernel("gone")};
    spit(scratch / "a.co", object.build());
    object.kernels[0].arguments[1].size = 2;
    object.kernels[2].name = "new\x1b[2J";
    object.kernels[1].group_size = 64;
    spit(scratch / "b.co", object.build());
  }

  // Of the words as a person types them in that folder.
  std::string seen(const std::string &words, unsigned short columns, const std::string &environment)
  {
    return run_on_terminal({"/usr/bin/env", "-i", "/bin/sh", "-c",
                            "cd " + scratch.root + " && " + environment + " " + tool + " " + words},
                           columns)
        .out;
  }

  Scratch scratch;
};

const struct {
  const char *name, *words;
} views[] = {
    {"inspect", "inspect a.co"}, {"inspect-brief", "inspect --brief a.co"}, {"find", "find '*' a.co b.co"}, {"diff", "diff a.co b.co"}};

std::string without_colours(std::string text)
{
  for (size_t at; (at = text.find("\x1b[")) != std::string::npos;)
    text.erase(at, text.find('m', at) - at + 1);
  return text;
}

} // namespace

TEST_F(Golden, Tables)
{
  for (const auto &view : views)
    for (unsigned short columns : {60, 80, 200}) {
      const std::string name = std::string(view.name) + "-" + std::to_string(columns);
      const std::string dumb = seen(view.words, columns, "TERM=dumb");
      const std::string colour = seen(view.words, columns, "TERM=xterm");
      expect_golden(name + "-dumb.txt", dumb);
      expect_golden(name + "-colour.txt", colour);
      EXPECT_EQ(dumb, without_colours(colour)) << name; // colours say nothing that words do not
    }
}

// Rows of arguments are cut where the terminal ends, and nowhere else.
TEST_F(Golden, RowsFit)
{
  const std::string full = run({tool, "inspect", "--demangle", scratch / "a.co"}).out;
  const std::string wide = seen("inspect a.co", 200, "TERM=dumb"), narrow = seen("inspect a.co", 60, "TERM=dumb");
  EXPECT_EQ(full, wide);
  EXPECT_EQ(lines(full), lines(narrow));
  EXPECT_TRUE(contains(narrow, "by_value                 a_name_t...\n")) << narrow;
  EXPECT_FALSE(contains(narrow, "generated"));
}

TEST_F(Golden, WhoGetsColours)
{
  const struct {
    const char *environment;
    bool terminal, pipe;
  } rows[] = {
      {"TERM=xterm", true, false},
      {"TERM=dumb", false, false},
      {"TERM=", false, false},
      {"", false, false},
      {"TERM=xterm NO_COLOR=1", false, false},
      {"TERM=xterm NO_COLOR=", true, false}, // empty is not set
      {"TERM=xterm CLICOLOR=0", false, false},
      {"TERM=xterm CLICOLOR=1", true, false},
      {"TERM=dumb CLICOLOR_FORCE=1", true, true},
      {"TERM=xterm CLICOLOR_FORCE=0", true, false},
      {"TERM=xterm CLICOLOR_FORCE=1 NO_COLOR=1", false, false},
  };
  for (const auto &row : rows)
    for (const auto &view : views) {
      SCOPED_TRACE(std::string(row.environment) + " " + view.words);
      if (std::string(view.name) == "inspect-brief")
        continue; // has none here
      EXPECT_EQ(row.terminal, contains(seen(view.words, 80, row.environment), "\x1b["));
      EXPECT_EQ(row.pipe, contains(seen(std::string(view.words) + " | cat", 80, row.environment), "\x1b["));
    }
  for (const std::string &words : {std::string("inspect --json a.co"), std::string("diff --json a.co b.co"), std::string("find --json '*' a.co")})
    EXPECT_FALSE(contains(seen(words, 80, "CLICOLOR_FORCE=1"), "\x1b"));
}

// A terminal has 80 columns.
TEST(GoldenHelp, NoneIsWiderThanATerminal)
{
  const std::string top = run({tool, "--help"}).out;
  std::vector<std::vector<std::string>> helps = {{tool, "--help"}};
  const size_t from = top.find("commands:\n"), to = top.find("\n\n", from);
  ASSERT_NE(std::string::npos, to);
  for (size_t at = from; (at = top.find("\n  ", at)) < to; at += 3)
    helps.push_back({tool, top.substr(at + 3, top.find(' ', at + 3) - at - 3), "--help"});
  EXPECT_GE(helps.size(), 17u);
  for (const std::vector<std::string> &words : helps) {
    const Outcome got = run(words);
    EXPECT_EQ(0, got.status) << words[1];
    for (size_t at = 0, end; at < got.out.size(); at = end + 1) {
      end = got.out.find('\n', at);
      EXPECT_LE(end - at, 80u) << words[1] << ": " << got.out.substr(at, end - at);
    }
  }
}

// Who reads standard input says so, on both pages, and does.
TEST(GoldenHelp, OfStandardInput)
{
  const std::string object = fixtures + "vector_add-gfx90a-v5.co";
  const struct {
    const char *verb, *words;
  } readers[] = {{"inspect", "-"},
                 {"find", "vector_add -"},
                 {"header", "-"},
                 {"diff", "- vector_add.co"},
                 {"unpack", "- --output ."},
                 {"run", "- --kernel vector_add --grid 1 --block 1 --device softgpu ptr:zero:64 ptr:zero:64 ptr:zero:64 u32:1"},
                 {"check", "- --kernel vector_add --blob blob"},
                 {"coverage", "-"}};
  Scratch scratch;
  spit(scratch / "vector_add.co", slurp(object));
  spit(scratch / "blob", std::string(28, '\1'));
  for (const auto &reader : readers) {
    const std::string verb = reader.verb;
    for (std::string text : {run({tool, verb, "--help"}).out, slurp(RAWHAL_SOURCE_DIR "/docs/man/rawhal-" + verb + ".1")}) {
      std::replace(text.begin(), text.end(), '\n', ' ');
      EXPECT_TRUE(contains(text, "standard input")) << verb;
    }
    const Outcome got =
        run({"/bin/sh", "-c", "unset RAWHAL_GOLDEN; cd " + scratch.root + " && cat vector_add.co | " + tool + " " + verb + " " + reader.words});
    EXPECT_EQ(0, got.status) << verb << ": " << got.err;
  }
}

TEST(GoldenHelp, OfTheVerbsThatReadFiles)
{
  for (const char *verb : {"inspect", "find", "header", "diff", "unpack", "run", "check", "coverage", "doctor"}) {
    const std::string help = run({tool, verb, "--help"}).out;
    expect_golden(std::string("help-") + verb + ".txt", help);
    EXPECT_EQ(help, run({tool, "help", verb}).out);
    for (size_t at = 0, end; at < help.size(); at = end + 1) {
      end = help.find('\n', at);
      EXPECT_LE(end - at, 80u) << help.substr(at, end - at);
    }
  }
}
