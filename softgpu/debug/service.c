#include "softgpu/debug/service.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "softgpu/debug/live.h"
#include "softgpu/debug/operations.h"
#include "softgpu/debug/sibling.h"
#include "softgpu/debug/supervise.h"
#include "softgpu/debug/wire.h"
#include "softgpu/device/thread.h"

enum {
  CLIENTS = 4,
  ARENAS = 1 << 16,
  OLDEST_ABI = 8,
  USUAL_ABI = 10, /* the one that most of ROCm 6 and 7 knows */
  NEWEST_ABI = 12,
};
static const uint64_t second_ns = 1000000000;

/* Of the thread that answers. */
static int door_fd = -1, clients[CLIENTS], debugger = -1; /* `debugger`: its place in `clients` */
static int last_place;                                    /* the one that was taken last */
static bool is_started;
static _Atomic bool is_over; /* nobody answers any more */
static union {
  softgpu_wire_request_t request;
  uint8_t bytes[SOFTGPU_WIRE_BYTES];
} message;
static union {
  softgpu_wire_answer_t answer;
  uint8_t bytes[SOFTGPU_WIRE_BYTES];
} reply;

/* --- messages --- */

/* A message of `room` bytes at most, and the first descriptor that comes along, or -1; any others
 * are closed. Negative: there is nothing, or nobody. */
static ssize_t receive(int from, void *bytes, size_t room, int *fd)
{
  struct iovec piece = {bytes, room};
  union {
    struct cmsghdr head;
    char room[CMSG_SPACE(8 * sizeof(int))];
  } control;
  struct msghdr header = {.msg_iov = &piece,
                          .msg_iovlen = 1,
                          .msg_control = &control,
                          .msg_controllen = sizeof control};
  *fd = -1;
  const ssize_t size = recvmsg(from, &header, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  struct cmsghdr *rights = size >= 0 ? CMSG_FIRSTHDR(&header) : NULL;
  if (!rights || rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS)
    return size;
  for (size_t i = 0; CMSG_LEN((i + 1) * sizeof(int)) <= rights->cmsg_len; ++i) {
    int one;
    memcpy(&one, CMSG_DATA(rights) + i * sizeof one, sizeof one);
    if (*fd < 0)
      *fd = one;
    else
      close(one);
  }
  return size;
}

static void drop(int place)
{
  close(clients[place]);
  clients[place] = -1;
  if (place == debugger) {
    operation_disable();
    debugger = -1;
  }
}

/* Whether the client may ask for it; -errno if not. */
static int32_t judge(int place, size_t size, const kfd_debug_t *debug)
{
  const bool has_ids = debug->op == KFD_SUSPEND_QUEUES || debug->op == KFD_RESUME_QUEUES;
  const size_t behind = size - sizeof(softgpu_wire_request_t);
  if (behind % sizeof(uint32_t) || (behind && !has_ids) || debug->op >= KFD_OPS)
    return -EINVAL;
  if (debug->op == KFD_ENABLE)
    return debugger < 0 ? 0 : -EALREADY;
  return place == debugger ? 0 : -EINVAL; /* as the driver of who has not enabled it */
}

static void answer(int place, size_t size, int fd)
{
  kfd_debug_t *debug = &message.request.debug;
  uint32_t *ids = (uint32_t *)(void *)(message.bytes + sizeof message.request);
  const size_t count = (size - sizeof message.request) / sizeof *ids;
  reply.answer.result = judge(place, size, debug);
  reply.answer.bytes = 0;
  if (reply.answer.result < 0) {
    if (fd >= 0)
      close(fd);
  } else {
    reply.answer.bytes = SOFTGPU_WIRE_BYTES - sizeof reply.answer;
    reply.answer.result = operation_do(debug, ids, count, debug->op == KFD_ENABLE ? fd : -1,
                                       reply.bytes + sizeof reply.answer, &reply.answer.bytes);
    if (debug->op != KFD_ENABLE && fd >= 0)
      close(fd);
    if (debug->op == KFD_ENABLE && reply.answer.result == 0)
      debugger = place;
    if (debug->op == KFD_DISABLE)
      debugger = -1;
  }
  reply.answer.debug = *debug;
  const size_t length = sizeof reply.answer + reply.answer.bytes;
  if (send(clients[place], &reply, length, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)length)
    drop(place);
}

static void serve(int place)
{
  int fd;
  const ssize_t size = receive(clients[place], &message, sizeof message, &fd);
  if (size >= (ssize_t)sizeof message.request) {
    answer(place, (size_t)size, fd);
    return;
  }
  if (fd >= 0)
    close(fd);
  if (size >= 0 || errno != EAGAIN)
    drop(place);
}

/* A free place, or the one whose client has been there longest of those that debug nothing. */
static int place_for_client(void)
{
  for (int place = 0; place < CLIENTS; ++place)
    if (clients[place] < 0)
      return place;
  const int next = (last_place + 1) % CLIENTS;
  return next == debugger ? (next + 1) % CLIENTS : next;
}

/* Someone new: an end of its socket pair comes. */
static void admit(void)
{
  char byte;
  int fd, type = 0;
  socklen_t size = sizeof type;
  (void)receive(door_fd, &byte, sizeof byte, &fd);
  if (fd < 0)
    return;
  if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_SEQPACKET) {
    close(fd);
    return;
  }
  last_place = place_for_client();
  if (clients[last_place] >= 0)
    drop(last_place);
  clients[last_place] = fd;
}

/* The program has closed descriptors that it does not know; their numbers may be those of files of
 * its own by now. */
static void stop_answering(void)
{
  operations.event_fd = -1;
  operation_disable();
  atomic_store(&is_over, true);
}

static void *answer_all(void *unused)
{
  (void)unused;
  for (;;) {
    struct pollfd fds[2 + CLIENTS] = {{.fd = live_bell, .events = POLLIN},
                                      {.fd = door_fd, .events = POLLIN}};
    uint64_t rings;
    for (int i = 0; i < CLIENTS; ++i)
      fds[2 + i] = (struct pollfd){.fd = clients[i], .events = POLLIN};
    if (poll(fds, 2 + CLIENTS, -1) < 0)
      continue;
    if ((fds[0].revents | fds[1].revents) & POLLNVAL) {
      stop_answering();
      return NULL;
    }
    for (int i = 0; i < CLIENTS; ++i)
      if (fds[2 + i].revents)
        serve(i);
    if (fds[1].revents)
      admit();
    if (fds[0].revents && read(live_bell, &rings, sizeof rings) == sizeof rings)
      operation_tell();
  }
  return NULL;
}

/* --- beginning --- */

static bool put_up_door(void)
{
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
    return false;
  const softgpu_wire_door_t door = {.magic = SOFTGPU_WIRE_MAGIC,
                                    .version = SOFTGPU_WIRE_VERSION,
                                    .pid = (uint32_t)getpid(),
                                    .socket = (uint32_t)pair[1]};
  const int fd = memfd_create(SOFTGPU_WIRE_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL;
  if (fd >= 0 && write(fd, &door, sizeof door) == (ssize_t)sizeof door &&
      fcntl(fd, F_ADD_SEALS, seals) == 0) {
    door_fd = pair[0];
    return true; /* `fd` and pair[1] stay, for who looks for them */
  }
  if (fd >= 0)
    close(fd);
  close(pair[0]);
  close(pair[1]);
  return false;
}

/* In a child that the program has forked: it has neither the threads nor the debugger. (A debugger
 * that waits for answers is to see the program's end when that comes, not the child's.) */
static void forget(void)
{
  if (!is_started)
    return;
  for (int i = 0; i < CLIENTS; ++i)
    if (clients[i] >= 0)
      close(clients[i]);
  close(door_fd);
  close(live_bell);
  door_fd = live_bell = debugger = -1;
  is_started = false;
  atomic_store(&is_over, false);
  operation_forget();
  live_forget();
  supervise_forget();
  softgpu_sibling_forget();
}

static void start(void)
{
  const char *text = secure_getenv("SOFTGPU_DEBUG");
  const long wanted = text ? strtol(text, NULL, 10) : 0;
  static bool is_watched;
  pthread_t thread;
  if (wanted <= 0)
    return;
  live.abi = wanted >= OLDEST_ABI && wanted <= NEWEST_ABI ? (uint32_t)wanted : USUAL_ABI;
  memset(clients, 0xff, sizeof clients);
  /* Each thread allocates from an arena of its own: one that a debugger has stopped may have the
   * lock of another's. */
  mallopt(M_ARENA_MAX, ARENAS);
  live_bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  is_started = live_bell >= 0;
  if (!is_started || !softgpu_sibling_start() || !put_up_door() ||
      !softgpu_thread_start(&thread, "softgpu-debug", answer_all, NULL)) {
    fprintf(stderr, "softgpu: SOFTGPU_DEBUG is set, and debugging cannot begin: %s\n",
            strerror(errno));
    return;
  }
  pthread_detach(thread);
  if (!is_watched)
    is_watched = pthread_atfork(NULL, NULL, forget) == 0;
  supervise_start();
  live.is_on = true;
}

/* (Of one thread at a time: hsaKmtOpenKFD()'s.) */
void service_start(service_devices_fn *devices)
{
  operations.devices = devices;
  if (!is_started)
    start();
}

/* --- the runtime --- */

/* Whether somebody traces the program, who may be about to come. */
static bool is_traced(void)
{
  static const char key[] = "TracerPid:";
  char text[4096];
  const int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  const ssize_t size = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
  if (fd >= 0)
    close(fd);
  text[size > 0 ? size : 0] = '\0';
  const char *at = strstr(text, key);
  return at && strtol(at + sizeof key - 1, NULL, 10) > 0;
}

static void wait_for(_Atomic uint32_t *word, uint32_t value, uint64_t seconds)
{
  for (uint64_t i = 0; i < 10 * seconds && atomic_load(word) == value && !atomic_load(&is_over);
       ++i)
    live_futex_wait(word, value, second_ns / 10);
}

void service_runtime(uint64_t r_debug, bool is_there)
{
  if (!live.is_on || atomic_load(&is_over))
    return;
  SOFTGPU_WITHOUT_CANCELLATION();
  if (is_there) /* the number says what the trap handler does, which is this library */
    *(uint32_t *)(uintptr_t)r_debug = live.abi;
  const uint32_t came = atomic_load(&operations.came);
  if (is_there && !atomic_load(&operations.has_debugger) && is_traced())
    wait_for(&operations.came, came, 2);
  const uint32_t heard = atomic_load(&operations.heard);
  atomic_store(&operations.r_debug, r_debug);
  atomic_store(&operations.runtime_next,
               1 + (is_there ? KFD_RUNTIME_ENABLED : KFD_RUNTIME_DISABLED));
  live_ring();
  wait_for(&operations.heard, heard, 30);
}
