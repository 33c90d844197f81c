// Where a core file goes, and what is left where it cannot go there: nothing, and a status.
#include "tests/child.h"
#include "tests/debug/scene.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <thread>

using scene::Scene;

namespace {

class Output : public testing::Test {
protected:
  Output() : folder(testing::TempDir() + "cores" + std::to_string(getpid()))
  {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
  }
  ~Output() override { std::filesystem::remove_all(folder); }
  rawhal_status_t write(const std::string &pattern)
  {
    const core_description_t *description = made.describe();
    return core_file_name(&description->process, pattern.c_str(), path)
               ? core_write_file(description, &made.options, path, &written, &error)
               : RAWHAL_INVALID_ARGUMENT;
  }
  rawhal_status_t write_to(int descriptor)
  {
    const core_description_t *description = made.describe();
    return core_write_descriptor(description, &made.options, descriptor, &written, &error);
  }
  // Opens, writes and closes; the first status that is not OK.
  rawhal_status_t write_by(const std::string &where, uint64_t deadline = 0, uint64_t end = 0)
  {
    const core_description_t *description = made.describe();
    core_output_t output;
    made.options.deadline = deadline;
    rawhal_status_t status =
        core_output_open(&output, where.c_str(), &description->process, &error);
    if (status)
      return status;
    rawhal_error_t later;
    status = core_output_write(&output, description, &made.options, &written, &error);
    strcpy(path, output.path);
    const rawhal_status_t closed = core_output_close(&output, end, &later);
    if (status == RAWHAL_OK && closed != RAWHAL_OK)
      error = later;
    return status ? status : closed;
  }
  // A program that does this with its standard input.
  std::string program(const std::string &script)
  {
    const std::string file =
        folder + "/take" + std::to_string(programs++); // a shell reads as it goes
    std::ofstream(file) << "#!/bin/sh\n" << script;
    std::filesystem::permissions(file, std::filesystem::perms::all);
    return "|" + file;
  }
  static uint64_t soon(uint64_t ms)
  {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1000000000 + static_cast<uint64_t>(now.tv_nsec) +
           ms * 1000000;
  }
  bool is_empty() const { return std::filesystem::is_empty(folder); }
  std::string folder;
  int programs = 0;
  Scene made{scene::chips[0]};
  char path[CORE_PATH_BYTES] = "";
  core_written_t written = {};
  rawhal_error_t error = {};
};

class OutputFile : public Output {
protected:
  void SetUp() override
  {
    if (!scene::may_write_cores())
      GTEST_SKIP() << "this process may not write core files";
  }
};

} // namespace

TEST_F(OutputFile, APatternNamesTheFile)
{
  ASSERT_EQ(write(folder + "/%e.%p%%"), RAWHAL_OK) << error.message;
  EXPECT_EQ(path, folder + "/program.4242%");
  EXPECT_EQ(std::filesystem::file_size(path), written.bytes);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  EXPECT_EQ(write(folder + "/%q"), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(write(folder + "/none/core"), RAWHAL_RUNTIME);
}

TEST(OutputName, HasNothingOfAProgramsThatLeadsElsewhereOrControlsATerminal)
{
  char path[CORE_PATH_BYTES];
  core_process_t process = {};
  process.program = "../a\n\x1b[2J\x7f%p";
  ASSERT_TRUE(core_file_name(&process, "/cores/%e", path));
  EXPECT_STREQ(path, "/cores/..!a!![2J!%p");
  const std::string longer(2 * CORE_PATH_BYTES, 'p');
  process.program = longer.c_str();
  EXPECT_FALSE(core_file_name(&process, "%e", path));
  for (const char *none : {"", "%", "core.%q"})
    EXPECT_FALSE(core_file_name(&process, none, path)) << none;
}

TEST_F(OutputFile, ALimitOfTheProcessBoundsTheFile)
{
  ASSERT_EQ(write(folder + "/whole"), RAWHAL_OK);
  const uint64_t whole = written.bytes;
  rlimit before, limit;
  ASSERT_EQ(getrlimit(RLIMIT_CORE, &before), 0);
  limit = before;
  limit.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_CORE, &limit), 0);
  EXPECT_EQ(write(folder + "/none"), RAWHAL_QUOTA_EXCEEDED);
  EXPECT_STREQ(error.message, "RLIMIT_CORE is 0");
  limit.rlim_cur = whole - 4096;
  if (setrlimit(RLIMIT_CORE, &limit) == 0) {
    EXPECT_EQ(write(folder + "/less"), RAWHAL_OK) << error.message;
    EXPECT_LE(written.bytes, whole - 4096);
    EXPECT_GT(written.left_out_bytes, 0u);
  }
  EXPECT_EQ(setrlimit(RLIMIT_CORE, &before), 0);
  EXPECT_FALSE(std::filesystem::exists(folder + "/none"));
}

TEST_F(Output, AFullDiskADeadReaderAndASlowOneAreAStatus)
{
  const int full = open("/dev/full", O_WRONLY);
  EXPECT_EQ(write_to(full), RAWHAL_RUNTIME);
  close(full);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  made.options.deadline = 1; // it has passed
  EXPECT_EQ(write_to(ends[1]), RAWHAL_TIMED_OUT);
  made.options.deadline = 0;
  close(ends[0]);
  EXPECT_EQ(write_to(ends[1]), RAWHAL_RUNTIME);
  close(ends[1]);
  EXPECT_EQ(written.bytes, 0u);
}

TEST_F(OutputFile, AFileThatCannotBeWholeIsNotThere)
{
  made.options.deadline = 1;
  EXPECT_EQ(write(folder + "/core"), RAWHAL_TIMED_OUT);
  EXPECT_TRUE(is_empty());
}

// In two containers with one volume, all ids may be the same: what has another's name is another's.
TEST_F(OutputFile, AnothersPartIsInNobodysWayAndStaysWhatItIs)
{
  const std::string other = folder + "/core." + std::to_string(gettid()) + ".part";
  std::ofstream(other) << "a part";
  EXPECT_EQ(write(folder + "/core"), RAWHAL_OK) << error.message;
  EXPECT_EQ(std::filesystem::file_size(folder + "/core"), written.bytes);
  EXPECT_EQ(std::filesystem::file_size(other), 6u);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 2);
}

// Where files can be made without a name, and where they cannot.
TEST_F(OutputFile, AFileReplacesOneAndHasNothingBesideIt)
{
  const auto replaces = [&](const char *path) {
    return write(path) == RAWHAL_OK && std::filesystem::file_size(path) == written.bytes &&
           std::distance(std::filesystem::directory_iterator(folder), {}) == 1;
  };
  std::ofstream(folder + "/core") << "an older one";
  EXPECT_TRUE(replaces((folder + "/core").c_str())) << error.message;
  const int status = in_child([&] { // names of descriptors are not to be had
    if (unshare(CLONE_NEWNS) || mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) ||
        mount("none", "/proc", "tmpfs", 0, nullptr))
      return 77;
    const bool whole = replaces((folder + "/core").c_str());
    made.options.deadline = 1;
    return whole && write(folder + "/late") == RAWHAL_TIMED_OUT &&
                   std::distance(std::filesystem::directory_iterator(folder), {}) == 1
               ? 0
               : 1;
  });
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
    GTEST_SKIP() << "no right to mount";
  EXPECT_EQ(status, 0);
}

// Of a user who may, such as root, /dev/null would be a file from then on, and all programs' output in it.
TEST_F(OutputFile, WhatIsNoFileIsNotReplaced)
{
  const std::string fifo = folder + "/fifo", link = folder + "/link", far = folder + "/far";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  ASSERT_EQ(symlink("fifo", link.c_str()), 0);
  ASSERT_EQ(symlink("/dev/null", far.c_str()), 0);
  for (const std::string &name : {fifo, link, far}) {
    EXPECT_EQ(write(name), RAWHAL_RUNTIME) << name;
    EXPECT_STREQ(error.message, (name + ": there is something other than a file").c_str());
  }
  EXPECT_TRUE(std::filesystem::is_fifo(fifo));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_TRUE(std::filesystem::is_symlink(far));
  EXPECT_EQ(write(folder), RAWHAL_RUNTIME);
  EXPECT_STREQ(error.message, (folder + ": Is a directory").c_str());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 3);
}

// ---- What an operator writes ----

TEST_F(OutputFile, AFileADescriptorOrAProgram)
{
  ASSERT_EQ(write_by(folder + "/one.%p"), RAWHAL_OK) << error.message;
  EXPECT_EQ(path, folder + "/one.4242");
  const uint64_t whole = written.bytes;
  const int file = open((folder + "/two").c_str(), O_CREAT | O_WRONLY, 0600);
  ASSERT_EQ(write_by("fd:" + std::to_string(file)), RAWHAL_OK) << error.message;
  close(file);
  ASSERT_EQ(write_by(program("cat > $1; echo \"$2\" > $3") + " " + folder + "/three %e%% " +
                     folder + "/words"),
            RAWHAL_OK)
      << error.message;
  EXPECT_EQ(path, folder + "/take0");
  for (const char *name : {"/one.4242", "/two", "/three"})
    EXPECT_EQ(std::filesystem::file_size(folder + name), whole) << name;
  std::string words;
  std::getline(std::ifstream(folder + "/words") >> std::ws, words);
  EXPECT_EQ(words, "program%");
}

TEST_F(Output, WhatIsNoOutputIsSaid)
{
  for (const char *where :
       {"", "fd:", "fd:x", "fd:-1", "fd:99999999999", "|", "|  ", "|cat", "%q", "| %q"})
    EXPECT_EQ(write_by(where), RAWHAL_INVALID_ARGUMENT) << where;
  EXPECT_EQ(write_by("fd:999"), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(write_by("|" + folder + "/none"), RAWHAL_RUNTIME);
  EXPECT_NE(std::string(error.message).find("No such file"), std::string::npos) << error.message;
  EXPECT_TRUE(is_empty());
}

// It does not read, it fails, it is slow: each is a status, within the time, and no signal.
TEST_F(Output, AProgramThatDoesNotTakeIt)
{
  EXPECT_EQ(write_by(program("exec 0<&-; read x < /dev/null; exit 0")), RAWHAL_RUNTIME);
  EXPECT_NE(std::string(error.message).find("Broken pipe"), std::string::npos) << error.message;
  EXPECT_EQ(write_by(program("cat > /dev/null; exit 3")), RAWHAL_RUNTIME);
  EXPECT_NE(std::string(error.message).find("status 3"), std::string::npos) << error.message;
  const std::string fifo = folder + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(write_by(program("read x < " + fifo), soon(50), 1), RAWHAL_TIMED_OUT);
  EXPECT_EQ(write_by(program("cat > /dev/null; read x < " + fifo), 0, 1), RAWHAL_TIMED_OUT);
  EXPECT_NE(std::string(error.message).find("has not ended"), std::string::npos) << error.message;
  const int end = open(fifo.c_str(), O_RDWR); // whom nobody waits for goes on, and ends
  ASSERT_EQ(::write(end, "x\nx\n", 4), 4);
  while (waitpid(-1, nullptr, 0) > 0) {
  }
  close(end);
  sigset_t pending;
  ASSERT_EQ(sigpending(&pending), 0);
  EXPECT_FALSE(sigismember(&pending, SIGPIPE));
}

// ---- Where nothing can be written ----

TEST_F(OutputFile, AFullOrReadOnlyFolderIsAStatusAndHasNoPartOfIt)
{
  const auto mounted = [&](unsigned long flags, const char *options) {
    return unshare(CLONE_NEWNS) == 0 &&
           mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
           mount("tmpfs", folder.c_str(), "tmpfs", flags, options) == 0;
  };
  const auto attempt = [&](unsigned long flags, const char *options, const char *word) {
    return in_child([&] {
      if (!mounted(flags, options))
        return 77;
      const bool failed = write(folder + "/core") == RAWHAL_RUNTIME;
      const bool told = strstr(error.message, word) != nullptr;
      return failed && told && is_empty() && written.bytes == 0 ? 0 : 1;
    });
  };
  const int full = attempt(0, "size=16k", "No space left on device");
  if (WIFEXITED(full) && WEXITSTATUS(full) == 77)
    GTEST_SKIP() << "no right to mount";
  EXPECT_EQ(full, 0);
  EXPECT_EQ(attempt(MS_RDONLY, "", "Read-only file system"), 0);
}

// The signal that a file which may not grow brings would end the program.
TEST_F(Output, ALimitThatComesMeanwhileIsAStatus)
{
  const int file = open((folder + "/core").c_str(), O_CREAT | O_WRONLY, 0600);
  EXPECT_EQ(in_child([&] {
              const rlimit limit = {4096, 4096};
              if (setrlimit(RLIMIT_FSIZE, &limit))
                return 1;
              const bool failed = write_to(file) == RAWHAL_RUNTIME;
              return failed && strstr(error.message, "File too large") ? 0 : 2;
            }),
            0);
  close(file);
}
