/* Loaded into a debugger before others (LD_PRELOAD): /dev/kfd for ROCdbgapi, of which each debug
 * operation goes to the softgpu in the process that is debugged. See wire.h.
 *
 * A process is debugged from before its first instruction on, when softgpu is not there yet. Until
 * it is, what the debugger asks for is kept here, and a thread looks for it. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "softgpu/debug/service.h"
#include "softgpu/debug/wire.h"
#include "softgpu/system/reach.h"

#define EXPORT __attribute__((visibility("default")))

enum { TARGETS = 8, LOOK_MS = 20, MOST_ENTRIES = 4096 };

/* A process that is debugged. */
typedef struct target {
  uint32_t pid;                               /* 0: free */
  int fd;                                     /* of its softgpu; -1: not there yet */
  int event_fd;                               /* the debugger's */
  uint64_t exceptions;                        /* that it wants to hear of */
  kfd_debug_t launch_override, launch, flags; /* op 0: not said */
} target_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all that follows */
static target_t targets[TARGETS];
static int kfd = -1;
static bool is_looking;
static union {
  softgpu_wire_answer_t answer;
  uint8_t bytes[SOFTGPU_WIRE_BYTES];
} reply;

static target_t *target_of(uint32_t pid)
{
  for (target_t *target = targets; target < targets + TARGETS; ++target)
    if (target->pid == pid)
      return target;
  return NULL;
}

/* --- asking the other side --- */

/* Where the pointer is that the answer's bytes go to, or NULL. */
static void *place_of(const kfd_debug_t *debug)
{
  switch (debug->op) {
  case KFD_ENABLE:
    return (void *)(uintptr_t)debug->enable.info;
  case KFD_SUSPEND_QUEUES:
    return (void *)(uintptr_t)debug->suspend.queues;
  case KFD_RESUME_QUEUES:
    return (void *)(uintptr_t)debug->resume.queues;
  case KFD_QUERY_EXCEPTION_INFO:
    return (void *)(uintptr_t)debug->exception_info.info;
  case KFD_GET_QUEUE_SNAPSHOT:
  case KFD_GET_DEVICE_SNAPSHOT:
    return (void *)(uintptr_t)debug->snapshot.entries;
  default:
    return NULL;
  }
}

static size_t room_of(const kfd_debug_t *debug)
{
  switch (debug->op) {
  case KFD_ENABLE:
    return debug->enable.info_bytes;
  case KFD_SUSPEND_QUEUES:
    return debug->suspend.count * sizeof(uint32_t);
  case KFD_RESUME_QUEUES:
    return debug->resume.count * sizeof(uint32_t);
  case KFD_QUERY_EXCEPTION_INFO:
    return debug->exception_info.info_bytes;
  default:
    return (size_t)debug->snapshot.count * debug->snapshot.entry_bytes;
  }
}

static uint32_t smaller(uint32_t a, uint32_t b)
{
  return a < b ? a : b;
}

/* Of an answer what the operation writes, and no more than a debugger has room for: it comes from a
 * program that is debugged because it is wrong, or worse. */
static void take(kfd_debug_t *debug, const kfd_debug_t *answer)
{
  switch (debug->op) {
  case KFD_ENABLE:
    debug->enable.info_bytes = smaller(debug->enable.info_bytes, answer->enable.info_bytes);
    break;
  case KFD_SET_WAVE_LAUNCH_OVERRIDE:
    debug->launch_override = answer->launch_override;
    break;
  case KFD_SET_ADDRESS_WATCH:
    debug->watch.id = answer->watch.id % KFD_WATCHES;
    break;
  case KFD_QUERY_DEBUG_EVENT:
    debug->send = answer->send;
    break;
  case KFD_QUERY_EXCEPTION_INFO:
    debug->exception_info.info_bytes =
        smaller(debug->exception_info.info_bytes, answer->exception_info.info_bytes);
    break;
  case KFD_GET_QUEUE_SNAPSHOT:
  case KFD_GET_DEVICE_SNAPSHOT: /* who hears of more asks again */
    debug->snapshot.count = smaller(answer->snapshot.count, MOST_ENTRIES);
    debug->snapshot.entry_bytes =
        smaller(debug->snapshot.entry_bytes, answer->snapshot.entry_bytes);
    break;
  default:
    break;
  }
}

/* As ioctl(): a result, or -errno. */
static int ask(target_t *target, kfd_debug_t *debug)
{
  const bool has_ids = debug->op == KFD_SUSPEND_QUEUES || debug->op == KFD_RESUME_QUEUES;
  void *place = place_of(debug);
  const size_t room = place ? room_of(debug) : 0;
  const int fd = debug->op == KFD_ENABLE ? target->event_fd : -1;
  if (has_ids && room > SOFTGPU_WIRE_BYTES - sizeof(softgpu_wire_request_t))
    return -EINVAL;
  const int error = reach_ask(target->fd, debug, has_ids ? place : NULL, has_ids ? room : 0, fd,
                              &reply, sizeof reply);
  if (error) {
    close(target->fd);
    *target = (target_t){.fd = -1};
    return error;
  }
  if (place)
    memcpy(place, reply.bytes + sizeof reply.answer,
           reply.answer.bytes < room ? reply.answer.bytes : room);
  take(debug, &reply.answer.debug);
  return reply.answer.result;
}

/* --- before softgpu is there --- */

/* The softgpu beside this library knows which devices it will have: from the same environment. */
static uint32_t future_devices(kfd_device_t *devices, uint32_t room)
{
  static service_devices_fn *ask_softgpu;
  Dl_info here;
  char path[4096];
  if (!ask_softgpu && dladdr((void *)(uintptr_t)&future_devices, &here) && here.dli_fname) {
    const char *slash = strrchr(here.dli_fname, '/');
    const int length = slash ? (int)(slash - here.dli_fname) + 1 : 0;
    snprintf(path, sizeof path, "%.*slibhsakmt.so.1", length, here.dli_fname);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ask_softgpu = library ? (service_devices_fn *)dlsym(library, "softgpu_debug_devices") : NULL;
  }
  return ask_softgpu ? ask_softgpu(devices, room) : 0;
}

static int answer_early(target_t *target, kfd_debug_t *debug)
{
  kfd_device_t devices[17];
  uint8_t *place = place_of(debug);
  switch (debug->op) {
  case KFD_SET_EXCEPTIONS_ENABLED:
    target->exceptions = debug->enabled.exceptions;
    return 0;
  case KFD_SET_WAVE_LAUNCH_MODE:
    target->launch = *debug;
    return 0;
  case KFD_SET_WAVE_LAUNCH_OVERRIDE:
    target->launch_override = *debug;
    debug->launch_override.mask = KFD_OVERRIDE_WATCH;
    return 0;
  case KFD_SET_FLAGS:
    target->flags = *debug;
    return 0;
  case KFD_SEND_RUNTIME_EVENT:
    return 0;
  case KFD_QUERY_DEBUG_EVENT:
    return -EAGAIN;
  case KFD_GET_QUEUE_SNAPSHOT:
    debug->snapshot.count = 0;
    return 0;
  case KFD_GET_DEVICE_SNAPSHOT: {
    const uint32_t room = debug->snapshot.count, stride = debug->snapshot.entry_bytes;
    const uint32_t count = future_devices(devices, 17);
    debug->snapshot.count = count;
    if (stride > sizeof *devices)
      debug->snapshot.entry_bytes = sizeof *devices;
    for (uint32_t i = 0; i < count && i < room && i < 17; ++i)
      memcpy(place + (size_t)i * stride, &devices[i], debug->snapshot.entry_bytes);
    return 0;
  }
  default:
    return -EINVAL;
  }
}

/* Softgpu is there: it hears what was asked for until now. */
static void hand_over(target_t *target)
{
  kfd_debug_t enable = {
      .pid = target->pid, .op = KFD_ENABLE, .enable = {.exceptions = target->exceptions}};
  kfd_debug_t *said[] = {&target->launch_override, &target->launch, &target->flags};
  if (ask(target, &enable) < 0)
    return;
  for (size_t i = 0; i < sizeof said / sizeof *said && target->fd >= 0; ++i)
    if (said[i]->op)
      (void)ask(target, said[i]);
}

static bool look_once(void)
{
  bool goes_on = false;
  pthread_mutex_lock(&lock);
  for (target_t *target = targets; target < targets + TARGETS; ++target) {
    if (!target->pid || target->fd >= 0)
      continue;
    if (kill((pid_t)target->pid, 0) < 0 && errno == ESRCH)
      *target = (target_t){.fd = -1};
    else if ((target->fd = reach_open(target->pid)) >= 0)
      hand_over(target);
    else
      goes_on = true;
  }
  is_looking = goes_on;
  pthread_mutex_unlock(&lock);
  return goes_on;
}

static void *look(void *unused)
{
  const struct timespec moment = {.tv_nsec = LOOK_MS * 1000000};
  (void)unused;
  while (look_once())
    nanosleep(&moment, NULL);
  return NULL;
}

static void begin_to_look(void)
{
  pthread_t thread;
  sigset_t all, before;
  if (is_looking)
    return;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  if (pthread_create(&thread, NULL, look, NULL) == 0) {
    pthread_detach(thread);
    is_looking = true;
  }
  pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* --- the driver --- */

static int enable(kfd_debug_t *debug)
{
  target_t *target = target_of(debug->pid);
  if (target)
    return -EALREADY;
  if (kill((pid_t)debug->pid, 0) < 0 && errno == ESRCH)
    return -ESRCH;
  target = target_of(0);
  if (!target)
    return -ENOMEM;
  *target = (target_t){.pid = debug->pid,
                       .fd = reach_open(debug->pid),
                       .event_fd = (int)debug->enable.event_fd,
                       .exceptions = debug->enable.exceptions};
  if (target->fd >= 0) {
    const int result = ask(target, debug);
    if (result < 0 && target->fd >= 0)
      close(target->fd);
    if (result < 0)
      *target = (target_t){.fd = -1};
    return result;
  }
  memset((void *)(uintptr_t)debug->enable.info, 0, debug->enable.info_bytes);
  if (debug->enable.info_bytes > sizeof(kfd_runtime_t))
    debug->enable.info_bytes = sizeof(kfd_runtime_t);
  begin_to_look();
  return 0;
}

static int disable(target_t *target, kfd_debug_t *debug)
{
  const int result = target->fd >= 0 ? ask(target, debug) : 0;
  if (target->fd >= 0)
    close(target->fd);
  *target = (target_t){.fd = -1};
  return result;
}

static int debug_operation(kfd_debug_t *debug)
{
  pthread_mutex_lock(&lock);
  target_t *target = debug->pid ? target_of(debug->pid) : NULL;
  const int result = debug->op == KFD_ENABLE    ? enable(debug)
                     : !target                  ? -ESRCH
                     : debug->op == KFD_DISABLE ? disable(target, debug)
                     : target->fd >= 0          ? ask(target, debug)
                                                : answer_early(target, debug);
  pthread_mutex_unlock(&lock);
  return result;
}

/* (Without a header, whose declarations differ between libraries.) */
EXPORT int ioctl(int fd, unsigned long request, ...);

EXPORT int ioctl(int fd, unsigned long request, ...)
{
  va_list rest;
  va_start(rest, request);
  void *argument = va_arg(rest, void *);
  va_end(rest);
  if (fd < 0 || fd != __atomic_load_n(&kfd, __ATOMIC_RELAXED))
    return (int)syscall(SYS_ioctl, fd, request, argument);
  int result = -EINVAL;
  if (request == KFD_IOCTL_VERSION) {
    *(kfd_version_t *)argument = (kfd_version_t){KFD_MAJOR, KFD_MINOR};
    result = 0;
  } else if (request == KFD_IOCTL_DEBUG) {
    result = debug_operation(argument);
  }
  if (result >= 0)
    return result;
  errno = -result;
  return -1;
}

static int open_as(const char *path, int flags, unsigned mode)
{
  if (strcmp(path, "/dev/kfd") != 0)
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  const int fd = (int)syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR | O_CLOEXEC, 0);
  __atomic_store_n(&kfd, fd, __ATOMIC_RELAXED);
  return fd;
}

#define OPEN(name, extra)                                                                          \
  EXPORT int name(const char *path, int flags, ...)                                                \
  {                                                                                                \
    va_list rest;                                                                                  \
    va_start(rest, flags);                                                                         \
    const unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, unsigned) : 0;              \
    va_end(rest);                                                                                  \
    return open_as(path, flags | (extra), mode);                                                   \
  }
OPEN(open, 0)
OPEN(open64, O_LARGEFILE)

/* The program that is debugged is not to have this library; what starts a debugger passes it on. */
__attribute__((constructor)) static void leave_environment(void)
{
  const char *before = getenv("SOFTGPU_DEBUG_PRELOAD");
  for (target_t *target = targets; target < targets + TARGETS; ++target)
    target->fd = -1;
  if (!dlsym(RTLD_DEFAULT, "amd_dbgapi_initialize"))
    return;
  if (before && *before)
    setenv("LD_PRELOAD", before, 1);
  else
    unsetenv("LD_PRELOAD");
  unsetenv("SOFTGPU_DEBUG_PRELOAD");
}
