// The line that says how far long work is: on terminals only, not at once, in their width, and gone at the end.
#include "tests/hsaco/carriers.h"
#include "tests/tools/command.h"
#include "tests/tools/terminal.h"

#include <sys/ioctl.h>

extern "C" {
#include "tools/shared/progress.h"
}

namespace {

class Progress : public testing::Test {
protected:
  void SetUp() override
  {
    NEEDS_TERMINAL();
    const std::string object = slurp(fixtures + "vector_add-gfx90a-v5.co");
    spit(scratch / "a.co", object);
    spit(scratch / "b-with-a-name-that-no-narrow-window-has-room-for-\x1b[2J.co", object);
    spit(scratch / "all.a", build::ar_archive({{"a.co", object}, {"b.co", object}}));
  }

  // The words behind "rawhal", with standard error on a terminal and standard output in a file; standard input, which is
  // the second file that is looked at, takes its time.
  std::string seen(const std::string &words, unsigned short columns, const std::string &term,
                   const std::string &error = "")
  {
    int terminal = -1;
    const std::string line = "cd " + scratch.root + " && { sleep 0.8; cat a.co; } | " + tool + " " +
                             words + " >out" + error;
    pid_t child = fork_on_terminal(columns, &terminal);
    if (child == 0) {
      setenv("TERM", term.c_str(), 1);
      execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
      _exit(127);
    }
    const std::string text = read_terminal(terminal);
    int status;
    waitpid(child, &status, 0);
    close(terminal);
    return text;
  }

  std::string out() { return slurp(scratch / "out"); }

  Scratch scratch;
};

// What a person sees in the end, a line: what was written over is gone.
std::string left_behind(const std::string &text)
{
  std::string line;
  size_t at = 0;
  for (char c : text) {
    if (c == '\r')
      at = 0;
    else if (c == '\b')
      at -= at > 0;
    else if (at < line.size())
      line[at++] = c;
    else
      line += c, ++at;
  }
  while (!line.empty() && line.back() == ' ')
    line.pop_back();
  return line;
}

// The longest run between carriage returns.
size_t widest(const std::string &text)
{
  size_t widest = 0, run = 0;
  for (char c : text) {
    run = c == '\r' ? 0 : c == '\b' ? run - 1 : run + 1;
    widest = std::max(widest, run);
  }
  return widest;
}

} // namespace

TEST_F(Progress, StandsThereAndIsErased)
{
  const std::string text = seen("find vector_add a.co - b*", 80, "xterm");
  EXPECT_TRUE(contains(
      text, "\rrawhal find: file 3: b-with-a-name-that-no-narrow-window-has-room-for-\\x1b"))
      << text;
  EXPECT_FALSE(contains(text, "\x1b"));
  EXPECT_FALSE(contains(text, "\n")) << text;
  EXPECT_EQ("", left_behind(text)) << text;
  EXPECT_EQ(3u, lines(out()));
}

TEST_F(Progress, FitsTheWindow)
{
  EXPECT_EQ(39u, widest(seen("find vector_add a.co - b*", 40, "xterm")));
  EXPECT_EQ("", seen("find vector_add a.co - b*", 10, "xterm")); // no room for anything
}

// Beyond its last column a line would go on in the next, and stay there.
TEST_F(Progress, FitsAWindowThatBecomesNarrow)
{
  for (bool drawn_again : {true, false}) {
    int terminal = -1;
    const std::string path(200, 'p');
    pid_t child = fork_on_terminal(80, &terminal);
    if (child == 0) {
      setenv("TERM", "xterm", 1);
      progress_show("find", "file", 1, 0, path.c_str());
      usleep(600000);
      progress_show("find", "file", 2, 0, path.c_str());
      const winsize size = {24, 30, 0, 0};
      usleep(200000);
      if (ioctl(STDERR_FILENO, TIOCSWINSZ, &size) || write(STDERR_FILENO, "\n", 1) != 1)
        _exit(1);
      if (drawn_again)
        progress_show("find", "file", 3, 0, "p");
      progress_clear();
      _exit(0);
    }
    const std::string text = read_terminal(terminal);
    int status = 1;
    waitpid(child, &status, 0);
    close(terminal);
    EXPECT_EQ(0, status);
    ASSERT_TRUE(contains(text, "file 2: ppp")) << text;
    EXPECT_EQ(drawn_again, contains(text, "file 3: p"));
    EXPECT_EQ(79u, widest(text.substr(0, text.find('\n'))));
    EXPECT_EQ(29u, widest(text.substr(text.find('\n') + 1))) << text;
  }
}

TEST_F(Progress, IsOfObjectsWithinAFile)
{
  const std::string words = "find nobody a.co - all.a";
  const std::string text = seen(words, 80, "xterm");
  EXPECT_TRUE(contains(text, "\rrawhal find: file 3: all.a")) << text;
  // and what is said of it stands where the line was
  EXPECT_EQ(0u, left_behind(text.substr(0, text.find("rawhal find: NOT_FOUND"))).size()) << text;
  const std::string unpacked = seen("unpack all.a -", 80, "xterm");
  EXPECT_TRUE(contains(unpacked, "\rrawhal unpack: object 1 of 1: -")) << unpacked;
  EXPECT_EQ("", left_behind(unpacked));
  EXPECT_EQ(3u, lines(out()));
}

TEST_F(Progress, OfFolders)
{
  const std::string text = seen("inspect --list a.co - b*", 80, "xterm");
  EXPECT_TRUE(contains(text, "\rrawhal inspect: file 3: b-with")) << text;
  EXPECT_EQ("", left_behind(text)) << text;
}

TEST_F(Progress, IsNotWhereNobodyLooks)
{
  EXPECT_EQ("", seen("find vector_add a.co - b*", 80, "dumb"));
  EXPECT_EQ("", seen("find vector_add a.co - b*", 80, ""));
  EXPECT_EQ("", seen("find vector_add a.co - b*", 80, "xterm", " 2>err"));
  EXPECT_EQ("", slurp(scratch / "err"));
  EXPECT_EQ(3u, lines(out()));
}

TEST_F(Progress, IsNotThereAtOnce)
{
  EXPECT_EQ("", seen("find vector_add a.co", 80, "xterm"));
}

// Lines of results and this one share a terminal: each result begins in the first column, on a line that is empty.
TEST_F(Progress, ResultsAreNotWrittenOver)
{
  const Outcome got =
      run_on_terminal({"/bin/sh", "-c",
                       "cd " + scratch.root + " && { sleep 0.8; cat a.co; } | TERM=xterm " + tool +
                           " find vector_add a.co - b*"});
  EXPECT_EQ(0, got.status);
  EXPECT_EQ(3u, lines(got.out)) << got.out;
  EXPECT_TRUE(contains(got.out, "rawhal find: file 3: ")) << got.out;
  EXPECT_TRUE(contains(got.out, "  b-with-a-name") || contains(got.out, " b-with-a-name"))
      << got.out;
}
