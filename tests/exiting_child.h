// A child of fork() that ends as programs do, with all of the handlers. For one source of a program.
#ifndef RAWHAL_TESTS_EXITING_CHILD_H
#define RAWHAL_TESTS_EXITING_CHILD_H

#include <cstdlib>

#include <sys/wait.h>
#include <unistd.h>

inline bool is_exiting_child;

// What waitpid() says of a child that runs `body` and exits; -1 when there was none. A hang shows as a signal.
template <typename Body> int exiting_child(Body body)
{
  const pid_t child = fork();
  if (child == 0) {
    is_exiting_child = true;
    alarm(20);
    body();
    exit(0);
  }
  int status = -1;
  return child > 0 && waitpid(child, &status, 0) == child ? status : -1;
}

// LeakSanitizer looks for leaks at exit, and waits for ever in a child for its allocator's lock where another thread
// held it at fork().
extern "C" __attribute__((visibility("default"))) int __lsan_is_turned_off();
int __lsan_is_turned_off()
{
  return is_exiting_child;
}

#endif
