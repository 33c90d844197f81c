// What people see, at three widths, with colours and without: files of tests/tools/golden, which
// RAWHAL_GOLDEN=write makes anew. And that no help and no table is wider than a terminal.
#include "tests/hsaco/builder.h"
#include "tests/tools/command.h"
#include "tests/tools/terminal.h"

extern "C" {
#include "queue/limit/config.h"
}

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
    build::Kernel add = build::plain_kernel("_Z10vector_addPfS_S_j"),
                  odd = build::plain_kernel("odd");
    add.arguments.push_back(
        {"a_name_that_is_as_long_as_names_of_generated_code_often_are_indeed", 24, 8, "by_value"});
    add.kernarg_size = 32;
    odd.arguments[0].kind = "nobody_knows_what";
    odd.max_flat = 0;
    object.kernels = {add, odd, build::plain_kernel("gone")};
    spit(scratch / "a.co", object.build());
    object.kernels[0].arguments[1].size = 2;
    object.kernels[2].name = "new\x1b[2J";
    object.kernels[1].group_size = 64;
    spit(scratch / "b.co", object.build());
    object.kernels.resize(1);
    object.kernels[0].arguments[0].name = std::string(8, '\x1b') + "[2J";
    object.kernels[0].arguments[1].kind = std::string(300, '\x1b');
    object.kernels[0].arguments[1].offset = 4000000000u;
    spit(scratch / "hostile.co", object.build());
    spit(scratch / "blob", std::string(32, '\1'));
    spit(scratch / "code.co", slurp(fixtures + "illegal-gfx90a-v5.co"));
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
} views[] = {{"inspect", "inspect a.co"},
             {"inspect-brief", "inspect --brief a.co"},
             {"find", "find '*' a.co b.co"},
             {"diff", "diff a.co b.co"}};

// Those without colours.
const struct {
  const char *name, *words, *environment;
  bool fits; // in columns; else a row is a sentence with names that are looked up
} tables[] = {
    {"devices", "devices",
     "RAWHAL_DEVICE=softgpu SOFTGPU_GPUS=2 SOFTGPU_VRAM_MIB=512 SOFTGPU_COMPUTE_UNITS=0", true},
    {"coverage", "coverage code.co", "", true},
    {"limits", "limits",
     "RAWHAL_GPU_SHARE=30% RAWHAL_LIMIT_REGION=/a/path/that/no/column/of/any/table/has/room/for/a "
     "RAWHAL_TENANT='r\\d'"
     " HIP_OVERSUBSCRIBE='\x1b'",
     true},
    {"top", "top --once region", "", true},
    {"check", "check a.co --kernel _Z10vector_addPfS_S_j --blob blob", "", true},
    {"list", "inspect --list a.co b.co", "", false},
    {"unpack", "unpack --force a.co b.co", "", false},
};

bool fits(const std::string &text, size_t columns)
{
  for (size_t at = 0, end; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    if (end - at > columns)
      return false;
  }
  return true;
}

// Processes that share limits, one of whose tenants has a name that a terminal would obey.
class Sharers {
public:
  explicit Sharers(const std::string &region)
  {
    for (const char *tenant : {"blue", "a-tenant-with-a-name-that-is-long\x1b[2J", "\x1b[2J"}) {
      rawhal_limit_config_t config = {};
      rawhal_error_t error = {};
      rawhal_limiter_t *limiter = nullptr;
      snprintf(config.region.text, sizeof(config.region.text), "%s", region.c_str());
      snprintf(config.tenant.text, sizeof(config.tenant.text), "%s", tenant);
      EXPECT_EQ(RAWHAL_OK,
                rawhal_limit_config_set(&config, RAWHAL_LIMIT_GPU_SHARE, 300000, &error));
      EXPECT_EQ(RAWHAL_OK,
                rawhal_limit_config_set(&config, RAWHAL_LIMIT_MEMORY, 1ull << 32, &error));
      EXPECT_EQ(RAWHAL_OK, rawhal_limiter_open(&config, "GPU-736f667467707501", &limiter, &error))
          << error.message;
      limiters_.push_back(limiter);
    }
  }
  ~Sharers()
  {
    for (rawhal_limiter_t *limiter : limiters_)
      rawhal_limiter_close(limiter);
  }

private:
  std::vector<rawhal_limiter_t *> limiters_;
};

// The number of this process is another each time; blanks behind it fill the column.
std::string without_process(std::string text)
{
  const std::string number = std::to_string(getpid());
  const size_t width = 10;
  const std::string blanks(width - number.size(), ' ');
  for (size_t at = 0; (at = text.find("    " + number + blanks, at)) != std::string::npos;)
    text.replace(at += 4, width, "PROCESS   ");
  return text;
}

std::string without_colours(std::string text)
{
  for (size_t at; (at = text.find("\x1b[")) != std::string::npos;)
    text.erase(at, text.find('m', at) - at + 1);
  return text;
}

} // namespace

TEST_F(Golden, Tables)
{
  NEEDS_TERMINAL();
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

TEST_F(Golden, TablesWithoutColours)
{
  NEEDS_TERMINAL();
  const Sharers sharers(scratch / "region");
  for (const auto &table : tables)
    for (unsigned short columns : {60, 80, 200}) {
      const std::string dumb =
          seen(table.words, columns, std::string(table.environment) + " TERM=dumb");
      expect_golden(std::string(table.name) + "-" + std::to_string(columns) + ".txt",
                    without_process(dumb));
      EXPECT_EQ(dumb, seen(table.words, columns, std::string(table.environment) + " TERM=xterm"))
          << table.name;
      EXPECT_TRUE(!table.fits || fits(dumb, columns)) << dumb;
    }
}

// Rows of arguments are cut where the terminal ends, and nowhere else.
TEST_F(Golden, RowsFit)
{
  NEEDS_TERMINAL();
  const std::string full = run({tool, "inspect", "--demangle", scratch / "a.co"}).out;
  const std::string wide = seen("inspect a.co", 200, "TERM=dumb"),
                    narrow = seen("inspect a.co", 60, "TERM=dumb");
  EXPECT_EQ(full, wide);
  EXPECT_EQ(lines(full), lines(narrow));
  EXPECT_TRUE(contains(narrow, "by_value                 a_name_t...\n")) << narrow;
  EXPECT_FALSE(contains(narrow, "generated"));
  EXPECT_TRUE(
      contains(seen("check a.co --kernel _Z10vector_addPfS_S_j --blob blob", 30, "TERM=dumb"),
               "0 'out' (global_buffer) 0..8 = 0x"));
  for (unsigned short columns = 60; columns < 76; ++columns) { // an escape has four
    const std::string hostile = seen("inspect hostile.co", columns, "TERM=dumb");
    const size_t index = hostile.find("    index");
    ASSERT_NE(std::string::npos, index);
    EXPECT_TRUE(contains(hostile, "\\x1b\\x1b...\n")) << hostile;
    EXPECT_TRUE(fits(hostile.substr(index, hostile.find("hidden_block") - index), columns))
        << hostile;
  }
}

TEST_F(Golden, WhoGetsColours)
{
  NEEDS_TERMINAL();
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
      EXPECT_EQ(row.pipe,
                contains(seen(std::string(view.words) + " | cat", 80, row.environment), "\x1b["));
    }
  for (const std::string &words :
       {std::string("inspect --json a.co"), std::string("diff --json a.co b.co"),
        std::string("find --json '*' a.co")})
    EXPECT_FALSE(contains(seen(words, 80, "CLICOLOR_FORCE=1"), "\x1b"));
}

namespace {

std::vector<std::string> verbs()
{
  std::vector<std::string> found;
  const std::string help = run({tool, "--help"}).out;
  const size_t from = help.find("commands:\n"), to = help.find("\n\n", from);
  EXPECT_TRUE(from != std::string::npos && to != std::string::npos && fits(help, 80)) << help;
  for (size_t at = from; to != std::string::npos && (at = help.find("\n  ", at)) < to; at += 3)
    found.push_back(help.substr(at + 3, help.find(' ', at + 3) - at - 3));
  EXPECT_GE(found.size(), 16u);
  return found;
}

} // namespace

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
                 {"run", "- --kernel vector_add --grid 1 --block 1 --device softgpu ptr:zero:64 "
                         "ptr:zero:64 ptr:zero:64 u32:1"},
                 {"check", "- --kernel vector_add --blob blob"},
                 {"coverage", "-"}};
  Scratch scratch;
  spit(scratch / "vector_add.co", slurp(object));
  spit(scratch / "blob", std::string(28, '\1'));
  for (const auto &reader : readers) {
    const std::string verb = reader.verb;
    for (std::string text : {run({tool, verb, "--help"}).out,
                             slurp(RAWHAL_SOURCE_DIR "/docs/man/rawhal-" + verb + ".1")}) {
      std::replace(text.begin(), text.end(), '\n', ' ');
      EXPECT_TRUE(contains(text, "standard input")) << verb;
    }
    const Outcome got =
        run({"/bin/sh", "-c",
             "unset RAWHAL_GOLDEN; cd " + scratch.root + " && cat vector_add.co | " + tool + " " +
                 verb + " " + reader.words});
    EXPECT_EQ(0, got.status) << verb << ": " << got.err;
  }
}

TEST(GoldenHelp, OfEveryCommand)
{
  expect_golden("help.txt", run({tool, "--help"}).out);
  for (const std::string &verb : verbs()) {
    const std::string help = run({tool, verb, "--help"}).out;
    expect_golden("help-" + verb + ".txt", help);
    EXPECT_EQ(help, run({tool, "help", verb}).out);
    EXPECT_TRUE(fits(help, 80)) << verb; // a terminal has 80 columns
  }
}
