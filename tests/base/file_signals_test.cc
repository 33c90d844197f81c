// Writes that send a signal: the thread is left with those that it had.
#include <cerrno>
#include <csignal>
#include <unistd.h>

#include <gtest/gtest.h>

extern "C" {
#include "base/file_signals.h"
}

namespace {

class FileSignals : public testing::Test {
protected:
  void SetUp() override
  {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  void TearDown() override
  {
    const timespec at_once = {};
    (void)sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

  static void WriteToNobody()
  {
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    close(ends[0]);
    EXPECT_FALSE(write_without_signals(ends[1], "x", 1));
    EXPECT_EQ(EPIPE, errno);
    close(ends[1]);
  }

  static bool IsPending()
  {
    sigset_t pending;
    sigpending(&pending);
    return sigismember(&pending, SIGPIPE);
  }

  sigset_t pipe_, before_;
};

TEST_F(FileSignals, NoneIsLeftToAThreadThatBlocksThem)
{
  WriteToNobody();
  EXPECT_FALSE(IsPending());
}

TEST_F(FileSignals, OneThatWasPendingStays)
{
  raise(SIGPIPE);
  WriteToNobody();
  EXPECT_TRUE(IsPending());
}

TEST_F(FileSignals, AThreadThatDoesNotBlockThemGoesOn)
{
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  WriteToNobody();
}

} // namespace
