#include "debug/threads.h"

#include "debug/core/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- Which there are ---- */

static int32_t number_of(const char *name)
{
  int32_t number = 0;
  for (; *name >= '0' && *name <= '9' && number < INT32_MAX / 10; ++name)
    number = number * 10 + (*name - '0');
  return *name ? 0 : number;
}

static void add_thread(threads_t *threads, size_t most, int32_t id)
{
  if (!id || id == (int32_t)syscall(SYS_gettid))
    return;
  if (threads->count < most)
    threads->seen[threads->count++].thread.id = id;
  else
    ++threads->more;
}

static void list(threads_t *threads, size_t most)
{
  struct entry { /* getdents64(2) */
    uint64_t inode, offset;
    uint16_t bytes;
    unsigned char type;
    char name[];
  };
  _Alignas(8) char entries[4096];
  const int folder = open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0)
    return;
  long size;
  while ((size = syscall(SYS_getdents64, folder, entries, sizeof(entries))) > 0)
    for (long at = 0; at < size;) {
      const struct entry *entry = (const void *)(entries + at);
      add_thread(threads, most, number_of(entry->name));
      at += entry->bytes;
    }
  (void)close(folder);
}

threads_t *threads_list(size_t most, bool stacks)
{
  const size_t head = sizeof(threads_t) + THREADS_MOST * sizeof(thread_seen_t);
  const size_t bytes = head + (stacks ? (size_t)THREADS_STACKS * THREADS_STACK : 0);
  threads_t *threads =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (threads == MAP_FAILED)
    return NULL;
  threads->bytes = bytes;
  threads->stacks = stacks ? (unsigned char *)threads + head : NULL;
  list(threads, most < THREADS_MOST ? most : THREADS_MOST);
  return threads;
}

void threads_free(threads_t *threads)
{
  if (threads)
    (void)munmap(threads, threads->bytes);
}

/* ---- The process that stops them ---- */

/* All that it calls: the process had other threads, any of which may have held a lock. No wrapper's
 * state of a thread, nor a sanitizer, comes between. */
static long trace(enum __ptrace_request request, int32_t id, unsigned long address, void *data)
{
  return syscall(SYS_ptrace, (long)request, (long)id, address, data);
}

static void copy_stack(threads_t *threads, size_t index, pid_t process)
{
  enum { PAGE = 4096, PAGES = THREADS_STACK / PAGE, SP = 19 /* of struct user_regs_struct */ };
  thread_seen_t *seen = &threads->seen[index];
  struct iovec from[PAGES];
  if (!threads->stacks || index >= THREADS_STACKS)
    return;
  seen->stack = seen->thread.registers[SP] & ~(uint64_t)(PAGE - 1);
  for (size_t i = 0; i < PAGES; ++i) /* what there is no page of ends it */
    from[i] = (struct iovec){(void *)(uintptr_t)(seen->stack + i * PAGE), PAGE};
  const struct iovec to = {threads->stacks + index * THREADS_STACK, THREADS_STACK};
  const long copied = syscall(SYS_process_vm_readv, (long)process, &to, 1L, from, (long)PAGES, 0L);
  seen->stack_bytes = copied > 0 ? (uint32_t)copied : 0;
}

static void read_one(threads_t *threads, size_t index, pid_t process)
{
  thread_seen_t *seen = &threads->seen[index];
  struct iovec registers = {seen->thread.registers, sizeof(seen->thread.registers)};
  if (trace(PTRACE_GETREGSET, seen->thread.id, NT_PRSTATUS, &registers))
    return;
  copy_stack(threads, index, process);
  __atomic_store_n(&seen->known, true, __ATOMIC_RELEASE);
}

/* A signal that it was stopped for is handed on. */
static void let_go(int32_t id, int status)
{
  const int signal = status >> 16 == PTRACE_EVENT_STOP ? 0 : WSTOPSIG(status);
  (void)trace(PTRACE_DETACH, id, 0, (void *)(uintptr_t)signal);
}

static void await_one(threads_t *threads, pid_t process)
{
  int status;
  const long id = syscall(SYS_wait4, -1L, &status, (long)__WALL, NULL);
  if (id < 0 || !WIFSTOPPED(status))
    return; /* it has ended */
  for (size_t i = 0; i < threads->count; ++i)
    if (threads->seen[i].thread.id == id)
      read_one(threads, i, process);
  let_go((int32_t)id, status);
}

static void help(threads_t *threads, pid_t process)
{
  const struct timespec pause = {.tv_nsec = 100000};
  size_t traced = 0;
  while (!__atomic_load_n(&threads->go, __ATOMIC_ACQUIRE) && syscall(SYS_getppid) == process)
    (void)syscall(SYS_nanosleep, &pause, NULL);
  for (size_t i = 0; i < threads->count; ++i) {
    const int32_t id = threads->seen[i].thread.id;
    if (trace(PTRACE_SEIZE, id, 0, NULL)) {
      if (errno != ESRCH) /* it has ended */
        __atomic_store_n(&threads->refused, errno, __ATOMIC_RELEASE);
      continue;
    }
    (void)trace(PTRACE_INTERRUPT, id, 0, NULL);
    ++traced;
  }
  for (; traced; --traced)
    await_one(threads, process);
}

void threads_read(threads_t *threads, uint64_t deadline)
{
  sigset_t all, before;
  const pid_t process = getpid();
  int status;
  pid_t ended;
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before); /* no handler of the program's runs there */
  /* No signal when it ends: it is none of the children that the program waits for. */
  const long helper = syscall(SYS_clone, 0L, NULL, NULL, NULL, 0L);
  if (helper == 0) {
    help(threads, process);
    for (;;)
      (void)syscall(SYS_exit_group, 0L);
  }
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (helper < 0) {
    __atomic_store_n(&threads->refused, errno, __ATOMIC_RELEASE);
    return;
  }
  (void)prctl(PR_SET_PTRACER, helper, 0, 0, 0);
  __atomic_store_n(&threads->go, true, __ATOMIC_RELEASE);
  if (program_wait((pid_t)helper, deadline, &status, &ended))
    return;
  (void)syscall(SYS_kill, helper, (long)SIGKILL);
  (void)program_wait((pid_t)helper, 0, &status, &ended);
}
