// Children of fork(): here they begin, and here they are signalled, nowhere else (tests/lint.py). Where there is no child
// fork() and forkpty() say -1, which is every process of the machine to kill(), and 0 is the caller's group.
#ifndef RAWHAL_TESTS_CHILD_H
#define RAWHAL_TESTS_CHILD_H

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <system_error>

#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_NO_CHILD = 126 };
inline bool is_forked; // that an exception would make go on with its parent's tests

// What fork() said. Without a child it is an exception, which fails the test that needs one.
inline pid_t checked_child(pid_t child)
{
  is_forked |= child == 0;
  if (child >= 0)
    return child;
  if (is_forked)
    _exit(EXIT_NO_CHILD);
  throw std::system_error(errno, std::generic_category(), "no child process");
}

inline pid_t fork_child()
{
  return checked_child(fork());
}

// For whoever goes on without one.
inline pid_t try_fork()
{
  const pid_t child = fork();
  is_forked |= child == 0;
  return child;
}

// False: there is no such process, or it can be nobody's child.
inline bool signal_child(pid_t child, int signal)
{
  return child > 1 && kill(child, signal) == 0;
}

// Its status; -1 when nothing was killed.
inline int end_child(pid_t child)
{
  int status = -1;
  return signal_child(child, SIGKILL) && waitpid(child, &status, 0) == child ? status : -1;
}

// What waitpid() says of how it ended, and -1 that there was none. `work` returns its exit code. A hang shows as a signal.
template <typename Work> int in_child(Work work)
{
  const pid_t child = try_fork();
  if (child == 0) {
    alarm(20);
    _exit(work());
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

inline bool is_exiting_child;

// After `work` it ends as programs do, with all of the handlers.
template <typename Work> int in_exiting_child(Work work)
{
  return in_child([&]() -> int {
    is_exiting_child = true;
    work();
    exit(0);
  });
}

// LeakSanitizer looks for leaks at exit, and waits for ever in a child for its allocator's lock where another thread
// held it at fork().
extern "C" __attribute__((visibility("default"), used)) inline int __lsan_is_turned_off()
{
  return is_exiting_child;
}

#endif
