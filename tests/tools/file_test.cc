// Every place where the command takes a file, given what is none: a clear error, and at once.
#include "tests/tools/command.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

namespace {

const std::string fixture = fixtures + "vector_add-gfx90a-v5.co";

class NoFile : public testing::Test {
protected:
  void SetUp() override
  {
    ASSERT_EQ(0, mkfifo((scratch / "fifo").c_str(), 0600));
    int socket_file = socket(AF_UNIX, SOCK_STREAM, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    snprintf(address.sun_path, sizeof(address.sun_path), "%s", (scratch / "socket").c_str());
    ASSERT_EQ(0, bind(socket_file, reinterpret_cast<sockaddr *>(&address), sizeof(address)));
    close(socket_file);
    spit(scratch / "huge", "");
    ASSERT_EQ(0, truncate((scratch / "huge").c_str(), off_t{1} << 42));
    spit(scratch / "blob", std::string(28, '\0'));
  }

  // `words` end by themselves with status `status` and one line that names the file.
  void expect_refused(std::vector<std::string> words, int status, const std::string &path)
  {
    words.insert(words.begin(), {"/usr/bin/env", "timeout", "20", tool});
    Outcome got = run(words);
    std::string line;
    for (const std::string &word : words)
      line += word + " ";
    SCOPED_TRACE(line);
    EXPECT_EQ(status, got.status) << got.err;
    EXPECT_TRUE(contains(got.err, path)) << got.err;
    EXPECT_EQ(status == 2 ? 2u : 1u, lines(got.err)) << got.err;
  }

  Scratch scratch;
};

} // namespace

TEST_F(NoFile, IsRefusedAtOnceEverywhere)
{
  for (const std::string &path :
       {scratch / "fifo", std::string("/dev/zero"), std::string("/dev/tty"), scratch.root,
        scratch / "socket", scratch / "huge", scratch / "none"}) {
    expect_refused({"inspect", path}, 3, path);
    expect_refused({"inspect", "--json", path}, 3, path);
    expect_refused({"check", path, "--kernel", "vector_add", "--blob", scratch / "blob"}, 3, path);
    expect_refused({"check", fixture, "--kernel", "vector_add", "--blob", path}, 3, path);
    expect_refused({"header", path}, 3, path);
    expect_refused({"coverage", path}, 3, path);
    expect_refused({"diff", path, fixture}, 3, path);
    expect_refused({"diff", fixture, path}, 3, path);
    expect_refused({"top", path, "--once"}, 3, path);
    expect_refused({"run", path, "--kernel", "vector_add", "--grid", "1", "--block", "1"}, 3, path);
    for (const char *form : {"ptr:", "blob:", "bytes:"})
      expect_refused(
          {"run", fixture, "--kernel", "vector_add", "--grid", "1", "--block", "1", form + path}, 3,
          path);
  }
}

TEST_F(NoFile, ResultsThatCannotBeWritten)
{
  for (const std::string &path :
       {scratch / "fifo", std::string("/dev/full"), scratch.root, scratch / "no/such"})
    expect_refused({"run", fixture, "--kernel", "vector_add", "--grid", "1", "--block", "64",
                    "out:" + path + ":256", "ptr:zero:256", "ptr:zero:256", "u32:64"},
                   3, path);
}

TEST_F(NoFile, TheNullDeviceIsAnEmptyFile)
{
  Outcome got = run({tool, "check", fixture, "--kernel", "vector_add", "--blob", "/dev/null"});
  EXPECT_EQ(1, got.status);
  EXPECT_TRUE(contains(got.out, "blob       0 bytes")) << got.err;
  spit(scratch / "empty", "");
  expect_refused({"run", fixture, "--kernel", "vector_add", "--grid", "1", "--block", "64",
                  "ptr:" + (scratch / "empty"), "ptr:null", "ptr:null", "u32:0"},
                 3, scratch / "empty");
}

// Those of /proc say that they have no bytes.
TEST_F(NoFile, FilesAreReadToTheirEnd)
{
  Outcome got =
      run({tool, "check", fixture, "--kernel", "vector_add", "--blob", "/proc/self/cmdline"});
  EXPECT_FALSE(contains(got.out, "blob       0 bytes")) << got.out << got.err;
  EXPECT_TRUE(contains(got.out, "blob       ")) << got.err;
}

/* ---- Standard streams ---- */

class Streams : public testing::Test {
protected:
  Outcome shell(const std::string &words) { return run({"/bin/sh", "-c", words}); }

  const std::vector<std::string> commands = {
      "--help",
      "--version",
      "inspect --help",
      "inspect " + fixture,
      "inspect --json " + fixture,
      "header " + fixture,
      "coverage " + fixture,
      "limits",
      "limits --json",
      "diff " + fixture + " " + fixture,
      "diff --json " + fixture + " " + fixture,
      "check " + fixture + " --kernel vector_add --blob /dev/null",
  };
};

TEST_F(Streams, AFullDiskIsAnError)
{
  for (const std::string &command : commands) {
    if (contains(command, "/dev/null"))
      continue;
    Outcome got = shell("exec '" + tool + "' " + command + " >/dev/full");
    EXPECT_EQ(3, got.status) << command;
    EXPECT_TRUE(contains(got.err, "rawhal: standard output: No space left on device"))
        << command << ": " << got.err;
    EXPECT_EQ(1u, lines(got.err)) << command << ": " << got.err;
  }
}

TEST_F(Streams, AClosedOneIsAnErrorAndNobodysFile)
{
  for (const std::string &command : commands) {
    if (contains(command, "/dev/null"))
      continue;
    Outcome got = shell("exec '" + tool + "' " + command + " >&-");
    EXPECT_EQ(3, got.status) << command;
    EXPECT_TRUE(contains(got.err, "rawhal: standard output: ")) << command << ": " << got.err;
  }
  // What is printed does not end up in the file that is opened next.
  Scratch scratch;
  std::string out = scratch / "sum";
  shell("exec '" + tool + "' run " + fixture + " --kernel vector_add --grid 1 --block 64 out:" +
        out + ":256 ptr:zero:256 ptr:zero:256 u32:64 <&- >&- 2>&-");
  EXPECT_EQ(std::string(256, '\0'), slurp(out));
}

TEST_F(Streams, AReaderThatLeavesEndsTheCommandQuietly)
{
  for (const std::string &command : commands) {
    Outcome got = shell("('" + tool + "' " + command + "; echo status $? >&2) | true");
    EXPECT_EQ(std::string::npos, got.err.find("rawhal: ") == 0 ? 0 : std::string::npos)
        << command << ": " << got.err;
    EXPECT_LE(lines(got.err), 2u) << command << ": " << got.err;
  }
}
