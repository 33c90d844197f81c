// Where there is no child, nobody else is ended in its place.
#include <gtest/gtest.h>

#include "tests/child.h"
#include "tests/tools/terminal.h"

#include <sys/resource.h>

namespace {

// In a process that may have no children, or no files.
int without(__rlimit_resource resource, void (*begin)())
{
  return in_child([&] {
    const rlimit none = {0, 0};
    is_forked = false; // an exception is caught here
    if (setrlimit(resource, &none) || (geteuid() == 0 && setuid(65534)))
      return 2;
    try {
      begin();
    } catch (const std::system_error &) {
      return 0;
    }
    return 1;
  });
}

} // namespace

// Signal 0 is for nobody and says whom there is.
TEST(Child, IsOneProcess)
{
  for (pid_t nobody : {-2, -1, 0, 1})
    EXPECT_FALSE(signal_child(nobody, 0)) << nobody;
  EXPECT_TRUE(signal_child(getpid(), 0));
  EXPECT_EQ(-1, end_child(-1));
  const pid_t child = fork_child();
  if (child == 0)
    for (;;)
      pause();
  const int status = end_child(child);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  EXPECT_FALSE(signal_child(child, 0));
}

TEST(Child, ThatThereIsNotFailsItsTest)
{
  EXPECT_EQ(0, without(RLIMIT_NPROC, [] { fork_child(); }));
  EXPECT_EQ(0, without(RLIMIT_NOFILE, [] {
              int terminal;
              fork_on_terminal(80, &terminal);
            }));
}

TEST(Child, OfAChildThatThereIsNotEndsIt)
{
  const int status = in_child([] {
    const rlimit none = {0, 0};
    if (setrlimit(RLIMIT_NPROC, &none) || (geteuid() == 0 && setuid(65534)))
      return 2;
    fork_child();
    return 1;
  });
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == EXIT_NO_CHILD) << status;
}
