/* rawhal broker: makes regions, and gives those who connect a descriptor. */
#include "tools/broker/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include <rawhal/limit.h>

#include "tools/shared/tool.h"

enum { MOST_SOCKETS = 64, WAITING = 128, SOCKET_MODE = 0666 };

typedef struct served {
  const char *path;
  int listener, region;
  bool is_short; /* of answers: it was said */
} served_t;

/* ---- Sockets ---- */

/* A socket has its name only once it answers: who connects meanwhile is answered by the broker
 * before, if there is one. */
static bool listen_at(served_t *served, rawhal_error_t *error)
{
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  const int used = snprintf(address.sun_path, sizeof(address.sun_path), "%s.new", served->path);
  if (used < 0 || (size_t)used >= sizeof(address.sun_path))
    return tool_refuse(error, RAWHAL_INVALID_ARGUMENT,
                       "%.200s: the path of a socket has at most %zu bytes", served->path,
                       sizeof(address.sun_path) - sizeof(".new"));
  (void)unlink(address.sun_path);
  served->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (served->listener >= 0 &&
      bind(served->listener, (const struct sockaddr *)&address, sizeof(address)) == 0 &&
      chmod(address.sun_path, SOCKET_MODE) == 0 && listen(served->listener, WAITING) == 0 &&
      rename(address.sun_path, served->path) == 0)
    return true;
  return tool_refuse(error, RAWHAL_RUNTIME, "%.200s: %s", served->path, strerror(errno));
}

/* Answers that nobody takes count against the limit of files, until their clients end. Those have a
 * limit of their own, and the usual one of a broker is no more than that. */
static void raise_limit(void)
{
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &files);
  }
}

/* One that has gone needs no answer. */
static void note_answer(served_t *served, bool given)
{
  const bool is_short = !given && errno == ETOOMANYREFS;
  if (is_short && !served->is_short)
    fprintf(stderr, "rawhal broker: %s: clients do not take their answers, and others get none\n",
            served->path);
  served->is_short = is_short;
}

/* An open file description for each: locks belong to it. */
static void answer(served_t *served, int client)
{
  char path[32], byte = 0;
  _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {0};
  struct iovec text = {&byte, 1};
  struct msghdr message = {
      .msg_iov = &text, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof(room)};
  snprintf(path, sizeof(path), "/proc/self/fd/%d", served->region);
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) {
    fprintf(stderr, "rawhal broker: %s: %s\n", path, strerror(errno));
    return;
  }
  struct cmsghdr *part = CMSG_FIRSTHDR(&message);
  *part = (struct cmsghdr){CMSG_LEN(sizeof(fd)), SOL_SOCKET, SCM_RIGHTS};
  memcpy(CMSG_DATA(part), &fd, sizeof(fd));
  note_answer(served, sendmsg(client, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0);
  close(fd);
}

/* Where descriptors or memory are short, those who wait are answered later. */
static void answer_all(served_t *served)
{
  const struct timespec pause = {.tv_nsec = 10000000};
  for (int i = 0; i < WAITING; ++i) {
    const int client = accept4(served->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return;
    if (client < 0) {
      nanosleep(&pause, NULL);
      return;
    }
    answer(served, client);
    close(client);
  }
}

static int serve(served_t *served, size_t count)
{
  struct pollfd waits[MOST_SOCKETS];
  for (size_t i = 0; i < count; ++i)
    waits[i] = (struct pollfd){.fd = served[i].listener, .events = POLLIN};
  for (;;) {
    if (poll(waits, count, -1) < 0 && errno != EINTR)
      return errno;
    for (size_t i = 0; i < count; ++i)
      if (waits[i].revents)
        answer_all(&served[i]);
  }
}

/* ---- */

static bool open_region(served_t *served, bool fresh, rawhal_error_t *error)
{
  served->region = -1;
  if (!fresh && !broker_find(served->path, &served->region, error))
    return false;
  if (served->region < 0 && rawhal_limit_region_create(&served->region, error) != RAWHAL_OK)
    return false;
  return broker_note(served->path, served->region, error) && listen_at(served, error);
}

typedef struct broker_request {
  bool fresh;
} broker_request_t;

static const tool_option_t options[] = {
    {TOOL_OPTION("new", FLAG, broker_request_t, fresh)},
    {0},
};

static int run(int argc, char **argv)
{
  served_t served[MOST_SOCKETS];
  broker_request_t request = {0};
  rawhal_error_t error = {.offset = RAWHAL_NO_OFFSET};
  if (!option_read_all("broker", options, false, &argc, &argv, &request))
    return TOOL_USAGE;
  if (argc < 1 || argc > MOST_SOCKETS)
    return tool_usage("broker", "expected 1 to %d SOCKETs, got %d", MOST_SOCKETS, argc);
  for (int i = 0; i < argc; ++i) {
    served[i] = (served_t){.path = argv[i]};
    if (!open_region(&served[i], request.fresh, &error))
      return tool_fail("broker", &error);
  }
  raise_limit();
  const int why = serve(served, (size_t)argc);
  (void)tool_refuse(&error, RAWHAL_RUNTIME, "waiting for programs: %s", strerror(why));
  return tool_fail("broker", &error);
}

const tool_command_t broker_command = {
    .name = "broker",
    .summary = "give programs in containers a region to share",
    .help = "usage: rawhal broker [--new] SOCKET...\n\n"
            "Makes a region for each SOCKET and gives every program that connects to it a\n"
            "descriptor. RAWHAL_LIMIT_REGION, 'rawhal top' and 'rawhal limits' take SOCKET in\n"
            "place of a region's file. Unlike such a file, the region cannot be deleted, cut\n"
            "short or replaced by those who use it. Runs until it is ended.\n\n"
            "Programs keep the region when the broker ends. One that is started again with\n"
            "the same SOCKET goes on with it: it has the region from the broker that still\n"
            "listens there, or else from a program that is in it, for which it must see the\n"
            "host's processes. SOCKET.region is written for that.\n\n"
            "options:\n"
            "  --new    make a new region, though programs may be in one: they stay in it,\n"
            "           and count with those in the new one no more. After damage, say\n"
            "  --help   show this text\n\n"
            "exit status:\n"
            "  2   the command line is wrong\n"
            "  3   a region or a socket cannot be made, or the one that listens there does\n"
            "      not answer; standard error says why\n",
    .run = run,
    .options = options,
};
