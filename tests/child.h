// Children of fork(). They have no assertions: what waitpid() says of how one ended is its answer, and -1 that there was
// none. A hang shows as a signal.
#ifndef RAWHAL_TESTS_CHILD_H
#define RAWHAL_TESTS_CHILD_H

#include <cstdlib>

#include <sys/wait.h>
#include <unistd.h>

// `work` returns its exit code.
template <typename Work> int in_child(Work work)
{
  const pid_t child = fork();
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
