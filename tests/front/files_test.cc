// Files that the front keeps open in a program that knows nothing of them.
#include "tests/front/front_test.h"

#include <cerrno>
#include <csignal>
#include <iterator>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

class FrontFiles : public FrontTest {
protected:
  void SetUp() override
  {
    FrontTest::SetUp();
    Set("RAWHAL_TRACE", trace_ = scratch_ / "trace");
  }

  // Something for the trace, which is written when the runtime ends.
  void Use()
  {
    void *memory = nullptr;
    ASSERT_EQ(HSA_STATUS_SUCCESS,
              Amd<decltype(hsa_amd_memory_pool_allocate)>(120)(toy_pool(), 4096, 0, &memory));
    EXPECT_EQ(HSA_STATUS_SUCCESS, Amd<decltype(hsa_amd_memory_pool_free)>(128)(memory));
  }

  // A pipe in the trace's place that somebody reads only until it has begun.
  void LeaveThePipe()
  {
    ASSERT_EQ(0, mkfifo(trace_.c_str(), 0600));
    const int reader = open(trace_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    Load();
    Use();
    close(reader);
    Unload();
    EXPECT_NE(std::string::npos, Report().find("the trace ends here: Broken pipe"));
  }

  // The number of the trace's descriptor.
  int Number() const
  {
    for (int number = 0; number < 1024; ++number) {
      char name[4096];
      const ssize_t size =
          readlink(("/proc/self/fd/" + std::to_string(number)).c_str(), name, sizeof(name));
      if (size > 0 && std::string(name, static_cast<size_t>(size)) == trace_)
        return number;
    }
    return -1;
  }

  Scratch scratch_;
  std::string trace_;
};

// It ends the trace, not the program.
TEST_F(FrontFiles, APipeWhoseReaderLeaves)
{
  LeaveThePipe();
}

TEST_F(FrontFiles, ASignalThatTheProgramHasBlockedStaysPending)
{
  sigset_t pipe, before, pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, &before);
  raise(SIGPIPE);
  LeaveThePipe();
  sigpending(&pending);
  EXPECT_TRUE(sigismember(&pending, SIGPIPE));
  int taken = 0;
  EXPECT_EQ(0, sigwait(&pipe, &taken));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

TEST_F(FrontFiles, AFileAtTheProcesssBound)
{
  rlimit before;
  ASSERT_EQ(0, getrlimit(RLIMIT_FSIZE, &before));
  Load();
  Use();
  const rlimit small = {1, before.rlim_max};
  ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &small));
  Set("RAWHAL_FRONT_REPORT", ""); // that file has the bound, too
  Unload();
  ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &before));
  EXPECT_EQ(std::string::npos, slurp(trace_).find("\"end\""));
}

// What fails says so once, and has recorded nothing.
TEST_F(FrontFiles, ARecordingOfAFrontThatDidNotComeUp)
{
  Set("RAWHAL_RECORD", scratch_ / "recording");
  Set("RAWHAL_SUBSTITUTE", "nonsense");
  Load();
  const std::string said = Report();
  EXPECT_EQ(0u, said.find("rawhal: there is no device: RAWHAL_SUBSTITUTE: "));
  EXPECT_EQ(said.size() - 1, said.find('\n'));
}

// Neither what is there is written over, nor what a link leads to.
TEST_F(FrontFiles, WhatIsThereStays)
{
  const std::string number = "." + std::to_string(getpid()), target = scratch_ / "target";
  spit(trace_, "mine", 4);
  Load();
  Use();
  Unload();
  EXPECT_EQ("mine", slurp(trace_));
  EXPECT_NE(std::string::npos, slurp(trace_ + number).find("\"end\""));
  for (const char *before : {"", "mine"}) {
    ASSERT_EQ(0, unlink(trace_.c_str()));
    ASSERT_EQ(0, symlink(target.c_str(), trace_.c_str()));
    if (*before)
      spit(target, before, strlen(before));
    Load();
    Unload();
    EXPECT_EQ(*before ? 0 : -1, access(target.c_str(), F_OK)) << before;
    EXPECT_EQ(before, slurp(target));
  }
  EXPECT_EQ("", Report());
}

// Each life of the runtime in a process has a file of its own, and none writes over another's.
TEST_F(FrontFiles, LivesOfTheRuntime)
{
  const std::string recording = scratch_ / "recording", process = "." + std::to_string(getpid());
  const std::string names[] = {"", process, process + ".2", process + ".3"};
  Set("RAWHAL_RECORD", recording);
  for (size_t life = 0; life < std::size(names); ++life) {
    Load();
    for (size_t i = 0; i < life; ++i)
      Use();
    Unload();
  }
  std::string said;
  for (size_t life = 0; life < std::size(names); ++life)
    said += "rawhal: record: recorded 0 of 0\n";
  EXPECT_EQ(said, Report());
  for (size_t life = 0; life < std::size(names); ++life) {
    size_t uses = 0;
    const std::string text = slurp(trace_ + names[life]), event = "\"cat\":\"memory\"";
    for (size_t at = 0; (at = text.find(event, at)) != std::string::npos; ++at)
      ++uses;
    EXPECT_EQ(2 * life, uses) << text;
    EXPECT_EQ(0, access((recording + names[life]).c_str(), R_OK)) << names[life];
  }
}

// The number may be that of a file of the program's: nothing is written there, and it stays open.
TEST_F(FrontFiles, AProgramThatClosesWhateverIsOpen)
{
  Load();
  Use();
  const int number = Number(),
            mine = open((scratch_ / "mine").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_GE(number, 0);
  ASSERT_EQ(number, dup2(mine, number));
  Unload();
  EXPECT_EQ("", slurp(scratch_ / "mine"));
  EXPECT_EQ(0, close(number));
  EXPECT_NE(std::string::npos, Report().find("the trace ends here: Bad file descriptor"));
  close(mine);
}

TEST_F(FrontFiles, AndOpensNothingInstead)
{
  Load();
  Use();
  const int number = Number();
  ASSERT_EQ(0, close(number));
  Unload();
  EXPECT_NE(std::string::npos, Report().find("the trace ends here: Bad file descriptor"));
}

} // namespace
