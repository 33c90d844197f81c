/* Requests to a process that answers. */
#include "debug/door/observe_internal.h"

#include "debug/door/passing.h"
#include "debug/door/reach.h"

#include "base/clock.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* With the end of a socket that the reply is for. */
static bool send_request(int to, const door_request_t *request, const void *poked, int reply_to)
{
  passing_t passing;
  struct iovec parts[2] = {{(void *)(uintptr_t)request, sizeof(*request)},
                           {(void *)(uintptr_t)poked, poked ? (size_t)request->bytes : 0}};
  struct msghdr header = {.msg_iov = parts, .msg_iovlen = 2};
  passing_put(&header, &passing, reply_to);
  return sendmsg(to, &header, MSG_DONTWAIT | MSG_NOSIGNAL) > 0;
}

typedef enum waited { WAITED_LATE, WAITED_ENDED, WAITED_READY } waited_t;

/* For the reply, or the end of the process. */
static waited_t wait_for(int fd, int process, uint64_t timeout)
{
  struct pollfd either[] = {{.fd = fd, .events = POLLIN}, {.fd = process, .events = POLLIN}};
  const uint64_t begun = clock_now();
  for (uint64_t past = 0; past < timeout; past = clock_now() - begun) {
    const uint64_t ms = (timeout - past) / 1000000 + 1;
    if (poll(either, 2, ms < INT_MAX ? (int)ms : INT_MAX) > 0)
      return either[0].revents ? WAITED_READY : WAITED_ENDED;
  }
  return WAITED_LATE;
}

/* Nobody can change it, and it has the bytes: not only their number. */
static bool is_fixed(int fd, uint64_t bytes)
{
  static const int wanted = F_SEAL_WRITE | F_SEAL_SHRINK;
  struct stat file;
  const int seals = fcntl(fd, F_GET_SEALS);
  return seals >= 0 && (seals & wanted) == wanted && fstat(fd, &file) == 0 &&
         (uint64_t)file.st_size >= bytes && (uint64_t)file.st_blocks >= bytes / 512;
}

/* What the process says is its socket may be any descriptor of its: nobody else is to get a message
 * of ours, with our rights. */
static bool is_pair(int fd)
{
  socklen_t named = sizeof(struct sockaddr_un);
  struct sockaddr_un peer;
  return passing_is_socket(fd) && getpeername(fd, (struct sockaddr *)&peer, &named) == 0 &&
         named <= sizeof(sa_family_t);
}

/* False: what came is no reply. */
static bool receive_reply(int from, door_reply_t *reply, char text[DOOR_TEXT_BYTES], int *memory)
{
  passing_t passing;
  struct iovec parts[2] = {{reply, sizeof(*reply)}, {text, DOOR_TEXT_BYTES - 1}};
  struct msghdr header = {.msg_iov = parts, .msg_iovlen = 2};
  passing_await(&header, &passing);
  const ssize_t bytes = recvmsg(from, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (bytes >= 0)
    *memory = passing_take(&header);
  text[bytes > (ssize_t)sizeof(*reply) ? (size_t)bytes - sizeof(*reply) : 0] = '\0';
  return bytes >= (ssize_t)sizeof(*reply) && reply->magic == DOOR_REQUEST_MAGIC;
}

static rawhal_status_t take_reply(int from, char text[DOOR_TEXT_BYTES], int *memory,
                                  uint64_t *bytes, rawhal_error_t *error)
{
  door_reply_t reply;
  if (!receive_reply(from, &reply, text, memory))
    return rawhal_fail(error, RAWHAL_MALFORMED, "the process sent what is no answer");
  if (reply.status != RAWHAL_OK) {
    const bool known = reply.status <= RAWHAL_AMBIGUOUS;
    return rawhal_fail(error, known ? (rawhal_status_t)reply.status : RAWHAL_MALFORMED, "%s", text);
  }
  if (*memory >= 0 && !is_fixed(*memory, reply.bytes))
    return rawhal_fail(error, RAWHAL_MALFORMED, "the process sent memory that it can change");
  *bytes = *memory >= 0 ? reply.bytes : 0;
  return RAWHAL_OK;
}

/* Whom, what, and how long it may take. */
typedef struct question {
  int door, process;
  door_request_t request;
  const void *poked;
  uint64_t timeout;
} question_t;

static rawhal_status_t ask_through(const question_t *question, char text[DOOR_TEXT_BYTES],
                                   int *memory, uint64_t *bytes, rawhal_error_t *error)
{
  int ends[2];
  if (!is_pair(question->door))
    return rawhal_fail(error, RAWHAL_MALFORMED, "the process has no socket for requests");
  if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) != 0)
    return rawhal_fail(error, RAWHAL_RUNTIME, "a socket for the answer: %s", strerror(errno));
  rawhal_status_t status = RAWHAL_OK;
  if (!send_request(question->door, &question->request, question->poked, ends[1]))
    status = rawhal_fail(error, RAWHAL_RUNTIME, "asking the process: %s", strerror(errno));
  const waited_t waited =
      status == RAWHAL_OK ? wait_for(ends[0], question->process, question->timeout) : WAITED_LATE;
  if (waited == WAITED_READY)
    status = take_reply(ends[0], text, memory, bytes, error);
  else if (status == RAWHAL_OK)
    status = rawhal_fail(error, RAWHAL_TIMED_OUT,
                         waited == WAITED_ENDED ? "the process ended before it answered"
                                                : "the process has not answered in time");
  (void)close(ends[0]);
  (void)close(ends[1]);
  return status;
}

rawhal_status_t observer_ask(observer_t *observer, const door_request_t *request, const void *poked,
                             uint64_t timeout, char text[DOOR_TEXT_BYTES], int *memory,
                             uint64_t *bytes, rawhal_error_t *error)
{
  int door;
  *memory = -1;
  *bytes = 0;
  text[0] = '\0';
  if (!observer_answers(observer))
    return rawhal_fail(error, RAWHAL_UNSUPPORTED,
                       "process %d answers nothing: it was not started with RAWHAL_DOOR=answers",
                       observer->process);
  rawhal_status_t status =
      reach_descriptor(observer->process, observer->pidfd, observer_socket(observer), &door, error);
  if (status != RAWHAL_OK)
    return status;
  const question_t question = {door,
                               observer->pidfd,
                               {DOOR_REQUEST_MAGIC, request->ask, request->address, request->bytes},
                               poked,
                               timeout};
  status = ask_through(&question, text, memory, bytes, error);
  (void)close(door);
  if (status != RAWHAL_OK && *memory >= 0) {
    (void)close(*memory);
    *memory = -1;
  }
  return status;
}
