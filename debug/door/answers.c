/* One thread, which nobody waits for: what an observer sends, holds back or breaks is this thread's
 * trouble alone. It asks the host, with the lock, for what does not depend on observers. */
#include "debug/door/answers.h"

#include "debug/door/passing.h"
#include "debug/door/requests.h"

#include "base/clock.h"
#include "base/error.h"
#include "base/memfd.h"
#include "base/thread.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef struct message {
  door_request_t request;
  unsigned char poked[DOOR_POKE_BYTES];
  size_t poked_bytes;
  int reply_to; /* -1: nowhere */
} message_t;

typedef struct answer {
  rawhal_status_t status;
  int memory; /* -1: none comes along */
  uint64_t bytes;
  char text[DOOR_TEXT_BYTES];
} answer_t;

static struct {
  pthread_mutex_t lock; /* the host's functions are called with it */
  const door_host_t *host;
  bool may_poke, started;
  int ends[2]; /* ours, and the one that observers take */
} answers = {.lock = PTHREAD_MUTEX_INITIALIZER, .ends = {-1, -1}};

/* ---- What is asked for ---- */

static void answer_why(const message_t *message, answer_t *answer)
{
  (void)message;
  answers.host->why(answer->text, sizeof(answer->text));
}

static void refuse(answer_t *answer, rawhal_status_t status, const char *text)
{
  answer->status = status;
  (void)strncpy(answer->text, text, sizeof(answer->text) - 1);
}

/* Nobody can change or cut it from now on. */
static void seal(answer_t *answer)
{
  (void)fcntl(answer->memory, F_ADD_SEALS,
              F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

static void answer_peek(const message_t *message, answer_t *answer)
{
  const uint64_t bytes = message->request.bytes;
  if (!bytes || bytes > DOOR_PEEK_BYTES) {
    refuse(answer, RAWHAL_INVALID_ARGUMENT, "so much is not read at once");
    return;
  }
  answer->memory = memfd_make("rawhal-peek", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  void *to = answer->memory >= 0 && ftruncate(answer->memory, (off_t)bytes) == 0
                 ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, answer->memory, 0)
                 : MAP_FAILED;
  if (to == MAP_FAILED) {
    refuse(answer, RAWHAL_OUT_OF_MEMORY, "the process has no memory for a copy");
    return;
  }
  if (answers.host->read(message->request.address, to, bytes))
    answer->bytes = bytes;
  else
    refuse(answer, RAWHAL_NOT_FOUND, "these bytes are in no allocation, or cannot be read");
  (void)munmap(to, bytes);
  seal(answer);
}

static void answer_poke(const message_t *message, answer_t *answer)
{
  if (!answers.may_poke)
    refuse(answer, RAWHAL_UNSUPPORTED, "the process does not allow it: RAWHAL_DOOR=poke does");
  else if (!message->poked_bytes || message->poked_bytes != message->request.bytes)
    refuse(answer, RAWHAL_INVALID_ARGUMENT, "no bytes, or not as many as are said");
  else if (!answers.host->write(message->request.address, message->poked, message->poked_bytes))
    refuse(answer, RAWHAL_NOT_FOUND, "these bytes are in no allocation, or cannot be written");
}

static void answer_core(const message_t *message, answer_t *answer)
{
  (void)message;
  rawhal_error_t error = {0};
  answer->memory = memfd_make("rawhal-core", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (answer->memory < 0) {
    refuse(answer, RAWHAL_OUT_OF_MEMORY, "the process has no memory for a core file");
    return;
  }
  const rawhal_status_t status = answers.host->core(answer->memory, &error);
  const off_t end = lseek(answer->memory, 0, SEEK_END);
  if (status != RAWHAL_OK)
    refuse(answer, status, error.message);
  else
    answer->bytes = end > 0 ? (uint64_t)end : 0;
  seal(answer);
}

static const struct {
  void (*answer)(const message_t *message, answer_t *answer);
  size_t host; /* the function of its that it needs */
} asks[] = {
    [DOOR_WHY] = {answer_why, offsetof(door_host_t, why)},
    [DOOR_PEEK] = {answer_peek, offsetof(door_host_t, read)},
    [DOOR_POKE] = {answer_poke, offsetof(door_host_t, write)},
    [DOOR_CORE] = {answer_core, offsetof(door_host_t, core)},
};

/* The caller holds the lock. */
static bool host_can(uint32_t ask)
{
  void (*function)(void);
  memcpy(&function, (const char *)answers.host + asks[ask].host, sizeof(function));
  return function != NULL;
}

static void answer_request(const message_t *message, answer_t *answer)
{
  const uint32_t ask = message->request.ask;
  pthread_mutex_lock(&answers.lock);
  const door_host_t *host = answers.host;
  if (ask >= sizeof(asks) / sizeof(*asks) || !asks[ask].answer)
    refuse(answer, RAWHAL_UNSUPPORTED, "this version does not know that request");
  else if (!answers.host)
    refuse(answer, RAWHAL_NOT_FOUND, "the process has no device open");
  else if (!host_can(ask))
    refuse(answer, RAWHAL_UNSUPPORTED, "the process cannot do that");
  else
    asks[ask].answer(message, answer);
  pthread_mutex_unlock(&answers.lock);
  if (ask == DOOR_POKE && answer->status == RAWHAL_OK && host->wrote)
    host->wrote(message->request.address, message->poked_bytes);
}

/* ---- Messages ---- */

/* False: it is no request. */
static bool receive(message_t *message)
{
  passing_t passing;
  struct iovec parts[2] = {{&message->request, sizeof(message->request)},
                           {message->poked, sizeof(message->poked)}};
  struct msghdr header = {.msg_iov = parts, .msg_iovlen = 2};
  passing_await(&header, &passing);
  const ssize_t bytes = recvmsg(answers.ends[0], &header, MSG_CMSG_CLOEXEC);
  message->reply_to = bytes < 0 ? -1 : passing_take(&header);
  if (bytes <= 0) /* whoever has the other end can have it so for ever */
    clock_nap(CLOCK_SECOND / 100);
  if (bytes < (ssize_t)sizeof(message->request) || header.msg_flags & MSG_TRUNC ||
      message->request.magic != DOOR_REQUEST_MAGIC)
    return false;
  message->poked_bytes = (size_t)bytes - sizeof(message->request);
  return passing_is_socket(message->reply_to);
}

static void reply(const message_t *message, const answer_t *answer)
{
  const door_reply_t head = {DOOR_REQUEST_MAGIC, (uint32_t)answer->status, answer->bytes};
  struct iovec parts[2] = {
      {(void *)(uintptr_t)&head, sizeof(head)},
      {(void *)(uintptr_t)answer->text, strnlen(answer->text, sizeof(answer->text))}};
  passing_t passing;
  struct msghdr header = {.msg_iov = parts, .msg_iovlen = 2};
  if (answer->memory >= 0)
    passing_put(&header, &passing, answer->memory);
  (void)sendmsg(message->reply_to, &header, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void *run(void *unused)
{
  static message_t message;
  static answer_t answer;
  (void)unused;
  for (;;) {
    if (receive(&message)) {
      answer.status = RAWHAL_OK;
      answer.memory = -1;
      answer.bytes = 0;
      memset(answer.text, 0, sizeof(answer.text));
      answer_request(&message, &answer);
      reply(&message, &answer);
      if (answer.memory >= 0)
        (void)close(answer.memory);
    }
    if (message.reply_to >= 0)
      (void)close(message.reply_to);
  }
  return NULL;
}

int answers_start(void)
{
  pthread_t thread;
  if (!answers.started && socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, answers.ends) == 0) {
    answers.started = thread_start(&thread, run, NULL) == 0;
    if (answers.started)
      (void)pthread_detach(thread);
  }
  return answers.started ? answers.ends[1] : -1;
}

void answers_forget(void)
{
  (void)pthread_mutex_init(&answers.lock, NULL); /* the thread may have had it */
  answers.host = NULL;
  answers.started = answers.may_poke = false;
  answers.ends[0] = answers.ends[1] = -1;
}

void answers_by(const door_host_t *host, bool may_poke)
{
  pthread_mutex_lock(&answers.lock);
  answers.host = host;
  answers.may_poke = may_poke;
  pthread_mutex_unlock(&answers.lock);
}
