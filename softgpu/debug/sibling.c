#include "softgpu/debug/sibling.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "softgpu/device/thread.h"

enum { STACK = 256 << 10 };

typedef struct wanted {
  const char *name;
  void *(*run)(void *);
  void *argument;
  pthread_t *thread;
  bool done;
} wanted_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* one thread at a time is made */
static wanted_t wanted;
static uint32_t turn; /* odd: a thread is wanted; even: it was made */
static uint32_t ready;
static pid_t sibling, program;

static void wait_while(uint32_t *word, uint32_t value)
{
  while (__atomic_load_n(word, __ATOMIC_ACQUIRE) == value)
    syscall(SYS_futex, word, FUTEX_WAIT, value, NULL, NULL, 0);
}

static void change(uint32_t *word)
{
  __atomic_fetch_add(word, 1, __ATOMIC_RELEASE);
  syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* --- in the sibling --- */

/* A breakpoint of the host's debugger, in code that the device runs as well, such as libc's. There
 * is no one to take it from here: that ends both. */
static void stepped_on(int number)
{
  static const char text[] =
      "softgpu: a breakpoint of the debugger is in code that the device runs, too; the program "
      "ends. Put it where only the program comes.\n";
  (void)number;
  const ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
  (void)written;
  kill(getppid(), SIGKILL);
  _exit(1);
}

static int sibling_main(void *unused)
{
  (void)unused;
  const struct sigaction action = {.sa_handler = stepped_on};
  sigset_t trap;
  sigemptyset(&trap);
  sigaddset(&trap, SIGTRAP);
  pthread_sigmask(SIG_UNBLOCK, &trap, NULL);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, "softgpu");
  if (getppid() != program) /* which ended before */
    _exit(0);
  sigaction(SIGTRAP, &action, NULL);
  for (;; change(&turn)) {
    wait_while(&turn, __atomic_load_n(&turn, __ATOMIC_ACQUIRE) & ~1u);
    wanted.done =
        softgpu_thread_start_here(wanted.thread, wanted.name, wanted.run, wanted.argument);
  }
}

/* --- in the program --- */

/* As long as it waits, what the sibling uses of it (its thread-local memory) is left alone. */
static void *wait_for_sibling(void *unused)
{
  (void)unused;
  const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED; /* no signal at its end */
  char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  siginfo_t info = {0};
  sibling = stack == MAP_FAILED ? -1 : clone(sibling_main, stack + STACK, flags, NULL);
  change(&ready);
  if (sibling < 0)
    return NULL;
  while (syscall(SYS_waitid, P_PID, sibling, &info, WEXITED | __WALL, NULL) < 0 && errno == EINTR)
    ;
  /* Without a device the program would wait for ever: it ends as without a sibling. */
  const int number = info.si_code == CLD_EXITED ? SIGABRT : info.si_status;
  signal(number, SIG_DFL);
  kill(getpid(), number);
  kill(getpid(), SIGKILL);
  return NULL;
}

static bool start_there(pthread_t *thread, const char *name, void *(*run)(void *), void *argument)
{
  pthread_mutex_lock(&lock);
  const uint32_t before = __atomic_load_n(&turn, __ATOMIC_ACQUIRE);
  wanted = (wanted_t){name, run, argument, thread, false};
  change(&turn);
  wait_while(&turn, before + 1);
  const bool done = wanted.done;
  pthread_mutex_unlock(&lock);
  return done;
}

bool softgpu_sibling_start(void)
{
  pthread_t maker;
  program = getpid();
  if (!softgpu_thread_start_here(&maker, "softgpu-host", wait_for_sibling, NULL))
    return false;
  pthread_detach(maker);
  wait_while(&ready, 0);
  if (sibling > 0)
    softgpu_thread_start_by(start_there);
  return sibling > 0;
}

void softgpu_sibling_forget(void)
{
  pthread_mutex_init(&lock, NULL); /* which a thread of the program may have had */
  turn = ready = 0;
  sibling = 0;
  softgpu_thread_start_by(softgpu_thread_start_here);
}
