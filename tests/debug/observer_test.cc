// Observers of processes that do not let them, that lie, and that end.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/child.h"
#include "tests/observing.h"

extern "C" {
#include "debug/core/notes.h"
#include "debug/door/door.h"
#include "debug/door/memory.h"
#include "debug/door/observe_internal.h"
#include "debug/door/reach.h"
#include "debug/door/tell.h"
}

namespace {

bool Has(const std::string &text, const std::string &part)
{
  return text.find(part) != std::string::npos;
}

// ---- Whom the kernel lets ----

// A child that runs `begin`, and then waits until the test has looked at it.
class Peer {
public:
  explicit Peer(const std::function<void()> &begin)
  {
    int ready[2], over[2];
    if (pipe(ready) != 0 || pipe(over) != 0)
      throw std::system_error(errno, std::generic_category(), "pipe");
    child_ = fork_child();
    char byte = 0;
    if (child_ == 0) {
      close(over[1]);
      begin();
      (void)!write(ready[1], &byte, 1);
      (void)!read(over[0], &byte, 1);
      _exit(0);
    }
    close(ready[1]);
    close(over[0]);
    EXPECT_EQ(read(ready[0], &byte, 1), 1);
    close(ready[0]);
    over_ = over[1];
  }
  ~Peer() { End(); }

  pid_t pid() const { return child_; }

  void End()
  {
    if (child_ <= 0)
      return;
    close(over_);
    waitpid(child_, nullptr, 0);
    child_ = 0;
  }

private:
  pid_t child_ = 0;
  int over_ = -1;
};

void OpenDoor(const char *mode = "events")
{
  static const door_host_t host = {};
  rawhal_error_t error;
  setenv("RAWHAL_DOOR", mode, 1);
  if (door_open(DOOR_OF_LIBRARY, &host, &error) != RAWHAL_OK)
    _exit(1);
}

// What a child that has done `become` gets to hear of a process: 0 where its message has the words.
int Refusal(pid_t process, const std::function<bool()> &become,
            const std::vector<std::string> &wanted)
{
  return in_child([&] {
    rawhal_error_t error = {};
    observer_t *observer;
    if (!become())
      return 77;
    const rawhal_status_t status = observer_open(process, 0, &observer, &error);
    bool said = status == RAWHAL_UNSUPPORTED && Has(error.message, "may not be looked at");
    for (const std::string &words : wanted)
      said = said && Has(error.message, words);
    if (!said)
      fprintf(stderr, "status %d: %s\n", static_cast<int>(status), error.message);
    return said ? 0 : 1;
  });
}

constexpr int kCannot = 77 << 8; // exit status 77: the system does not do that
constexpr unsigned kNobody = 65534;

bool BecomeNobody()
{
  return setresgid(kNobody, kNobody, kNobody) == 0 && setresuid(kNobody, kNobody, kNobody) == 0;
}

TEST(Observer, OfAnotherUsersProcess)
{
  Peer peer([] { OpenDoor(); });
  const int status = Refusal(peer.pid(), BecomeNobody, {"it is user 0's, this is user 65534"});
  if (status == kCannot)
    GTEST_SKIP() << "not root";
  EXPECT_EQ(status, 0);
}

TEST(Observer, OfAProcessThatHidesItself)
{
  const bool root = geteuid() == 0;
  Peer peer([root] {
    if (root)
      (void)BecomeNobody();
    OpenDoor();
    (void)prctl(PR_SET_DUMPABLE, 0);
  });
  EXPECT_EQ(Refusal(peer.pid(), [root] { return !root || BecomeNobody(); }, {"PR_SET_DUMPABLE"}),
            0);
}

TEST(Observer, FromAnotherUserNamespace)
{
  Peer peer([] { OpenDoor(); });
  const int status =
      Refusal(peer.pid(), [] { return unshare(CLONE_NEWUSER) == 0; }, {"another user namespace"});
  if (status == kCannot)
    GTEST_SKIP() << "no user namespaces";
  EXPECT_EQ(status, 0);
}

// What no test can set, such as Yama's scope, and all of it together.
TEST(Observer, SaysAllReasonsThatThereAre)
{
  char text[REACH_WHY];
  const struct {
    reach_facts_t facts;
    std::vector<std::string> has, has_not;
  } rows[] = {
      {{5, 5, false, false, 0}, {}, {";"}},
      {{-1, 5, false, false, 0}, {}, {";"}},
      {{5, 5, false, false, 1}, {"ptrace_scope is 1", "CAP_SYS_PTRACE"}, {"user"}},
      {{5, 5, false, false, 2}, {"ptrace_scope is 2", "only with CAP_SYS_PTRACE"}, {"user"}},
      {{5, 5, false, false, 3}, {"ptrace_scope is 3", "nobody"}, {"CAP_SYS_PTRACE"}},
      {{5, 5, false, false, 4}, {}, {"ptrace_scope"}},
      {{5, 5, false, false, -1}, {}, {"ptrace_scope"}},
      {{5, 6, true, true, 3},
       {"user 5's, this is user 6", "PR_SET_DUMPABLE", "user namespace", "ptrace_scope is 3"},
       {}},
      {{INT64_MAX, INT64_MIN, true, true, 1}, {"ptrace_scope is 1"}, {}},
  };
  for (const auto &row : rows) {
    reach_why(&row.facts, text);
    for (const std::string &words : row.has)
      EXPECT_TRUE(Has(text, words)) << text;
    for (const std::string &words : row.has_not)
      EXPECT_FALSE(Has(text, words)) << text;
  }
}

// ---- Processes that have another's door, that end ----

TEST(Observer, AChildHasNotItsParentsDoor)
{
  OpenDoor();
  rawhal_error_t error;
  observer_t *observer;
  {
    Peer peer([] {});
    EXPECT_EQ(observer_open(peer.pid(), 0, &observer, &error), RAWHAL_NOT_FOUND);
  }
  // Its own, where it has one, though it began with its parent's thread of answers.
  Peer peer([] { OpenDoor("answers"); });
  ASSERT_EQ(observer_open(peer.pid(), 0, &observer, &error), RAWHAL_OK) << error.message;
  EXPECT_EQ(observer->head.process, peer.pid());
  EXPECT_TRUE(observer_answers(observer));
  const door_request_t request = {0, DOOR_WHY, 0, 0};
  char text[DOOR_TEXT_BYTES];
  int memory;
  uint64_t bytes;
  EXPECT_EQ(observer_ask(observer, &request, nullptr, UINT64_C(20000000000), text, &memory, &bytes,
                         &error),
            RAWHAL_UNSUPPORTED); // the child's host, which can nothing
  observer_close(observer);
  EXPECT_EQ(observer_open(peer.pid(), 1, &observer, &error), RAWHAL_NOT_FOUND);
}

TEST(Observer, OfAProcessThatEnds)
{
  static uint64_t there = 42;
  Peer peer([] { OpenDoor(); });
  rawhal_error_t error;
  observer_t *observer;
  ASSERT_EQ(observer_open(peer.pid(), 0, &observer, &error), RAWHAL_OK) << error.message;
  uint64_t got = 0, lost = 0;
  EXPECT_TRUE(observer_read(observer, reinterpret_cast<uintptr_t>(&there), &got, sizeof(got)));
  EXPECT_EQ(got, 42u);
  EXPECT_TRUE(observer_wait(observer, 0));
  peer.End();
  EXPECT_FALSE(observer_wait(observer, 60000)); // at once
  EXPECT_FALSE(observer_lives(observer));
  EXPECT_FALSE(observer_read(observer, reinterpret_cast<uintptr_t>(&there), &got, sizeof(got)));
  rawhal_event_t event;
  observer_want(observer, RAWHAL_EVENTS_ALL);
  EXPECT_FALSE(observer_next(observer, &event, &lost));
  observer_close(observer);
}

// ---- Processes that lie ----

// This process, as somebody who lies makes it look.
class Liar : public ::testing::Test {
protected:
  void SetUp() override
  {
    observer_.process = getpid();
    observer_.pidfd = static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0));
    ASSERT_GE(observer_.pidfd, 0);
    memory_ =
        static_cast<door_memory_t *>(mmap(nullptr, sizeof(door_memory_t), PROT_READ | PROT_WRITE,
                                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    observer_.memory = memory_;
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends_), 0);
    memory_->head.socket = ends_[1];
  }
  void TearDown() override
  {
    munmap(memory_, sizeof(*memory_));
    close(observer_.pidfd);
    close(ends_[0]);
    close(ends_[1]);
  }

  // One request, which gets these bytes and descriptors for an answer.
  rawhal_status_t Ask(const std::string &reply, const std::vector<int> &passed = {})
  {
    std::thread liar([&] { Answer(reply, passed); });
    const rawhal_status_t status = AskOnly(UINT64_C(60000000000));
    char byte = 0; // where nothing was asked, either
    EXPECT_EQ(send(ends_[1], &byte, 1, MSG_DONTWAIT), 1);
    liar.join();
    (void)recv(ends_[0], &byte, 1, MSG_DONTWAIT);
    return status;
  }

  rawhal_status_t AskOnly(uint64_t timeout)
  {
    const door_request_t request = {0, DOOR_CORE, 0, 0};
    char text[DOOR_TEXT_BYTES];
    int memory;
    const rawhal_status_t status =
        observer_ask(&observer_, &request, nullptr, timeout, text, &memory, &bytes_, &error_);
    EXPECT_EQ(status == RAWHAL_OK, memory >= 0);
    if (memory >= 0)
      close(memory);
    return status;
  }

  void Answer(const std::string &reply, const std::vector<int> &passed)
  {
    char bytes[sizeof(door_request_t)];
    iovec part = {bytes, sizeof(bytes)};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr header = {};
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = CMSG_LEN(sizeof(int));
    int to = -1;
    if (recvmsg(ends_[0], &header, 0) > 0 && CMSG_FIRSTHDR(&header))
      memcpy(&to, CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof(to));
    EXPECT_GE(send_with(to, reply, passed), 0);
    close(to);
  }

  static std::string Reply(uint32_t status, uint64_t bytes, const std::string &text = "")
  {
    const door_reply_t reply = {DOOR_REQUEST_MAGIC, status, bytes};
    return std::string(reinterpret_cast<const char *>(&reply), sizeof(reply)) + text;
  }

  static int Sealed(off_t size, size_t written)
  {
    const int fd = memfd_create("lies", MFD_ALLOW_SEALING | MFD_CLOEXEC);
    const std::string bytes(written, 'x');
    EXPECT_EQ(write(fd, bytes.data(), written), static_cast<ssize_t>(written));
    EXPECT_EQ(ftruncate(fd, size), 0);
    EXPECT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW), 0);
    return fd;
  }

  observer_t observer_ = {};
  door_memory_t *memory_ = nullptr;
  int ends_[2] = {-1, -1};
  uint64_t bytes_ = 0;
  rawhal_error_t error_ = {};
};

TEST_F(Liar, WhatIsNoAnswerIsNone)
{
  std::string wrong = Reply(0, 0);
  wrong[0] ^= 1;
  for (const std::string &bytes : {std::string(), std::string("x"), wrong})
    EXPECT_EQ(Ask(bytes), RAWHAL_MALFORMED);
  EXPECT_EQ(Ask(Reply(9999, 0, "a status that there is not")), RAWHAL_MALFORMED);
  EXPECT_EQ(Ask(Reply(RAWHAL_NOT_FOUND, 0, std::string(100000, 'x'))), RAWHAL_NOT_FOUND);
}

TEST_F(Liar, OnlyMemoryThatStaysIsTaken)
{
  const size_t size = 100000;
  char name[] = "/tmp/rawhal-lies-XXXXXX";
  const int file = mkstemp(name), changing = memfd_create("lies", MFD_ALLOW_SEALING | MFD_CLOEXEC);
  unlink(name);
  const std::string bytes(size, 'x');
  for (const int fd : {file, changing})
    ASSERT_EQ(write(fd, bytes.data(), size), static_cast<ssize_t>(size));
  fsync(file); // or it has no blocks yet
  const int sealed = Sealed(size, size), sparse = Sealed(off_t{1} << 50, 1);
  EXPECT_EQ(Ask(Reply(0, size), {sealed}), RAWHAL_OK) << error_.message;
  EXPECT_EQ(bytes_, size);
  EXPECT_EQ(Ask(Reply(0, size + 1), {sealed}), RAWHAL_MALFORMED);
  EXPECT_EQ(Ask(Reply(0, UINT64_MAX), {sealed}), RAWHAL_MALFORMED);
  EXPECT_EQ(Ask(Reply(0, size), {file}), RAWHAL_MALFORMED); // which has no seals at all
  EXPECT_EQ(Ask(Reply(0, size), {changing}), RAWHAL_MALFORMED);
  EXPECT_EQ(Ask(Reply(0, uint64_t{1} << 50), {sparse}), RAWHAL_MALFORMED); // which fills a disk
  for (const int fd : {file, changing, sealed, sparse})
    close(fd);
}

TEST_F(Liar, DescriptorsAreNotLeft)
{
  const int sealed = Sealed(100, 100);
  const auto count = [] {
    size_t open = 0;
    for (int fd = 0; fd < 1024; ++fd)
      open += fcntl(fd, F_GETFD) >= 0;
    return open;
  };
  const size_t before = count();
  EXPECT_EQ(Ask(Reply(0, 100), {sealed, sealed, sealed}), RAWHAL_OK);
  EXPECT_EQ(Ask(Reply(RAWHAL_RUNTIME, 0), {sealed}), RAWHAL_RUNTIME);
  EXPECT_EQ(Ask("no answer", {sealed, sealed}), RAWHAL_MALFORMED);
  EXPECT_EQ(count(), before);
  close(sealed);
}

TEST_F(Liar, WhoeverDoesNotAnswerIsNotWaitedForForEver)
{
  EXPECT_EQ(AskOnly(10000000), RAWHAL_TIMED_OUT);
  EXPECT_TRUE(Has(error_.message, "in time")) << error_.message;
  // Nor is a queue that is full, as nobody takes from it.
  for (int i = 0; i < 2000; ++i)
    if (AskOnly(0) == RAWHAL_RUNTIME)
      return;
  FAIL() << "a queue of any length";
}

TEST_F(Liar, WhoeverEndsIsNotWaitedFor)
{
  Peer peer([] {});
  close(observer_.pidfd);
  observer_.process = peer.pid();
  observer_.pidfd = static_cast<int>(syscall(SYS_pidfd_open, peer.pid(), 0));
  std::thread ender([&] {
    char bytes[sizeof(door_request_t)];
    EXPECT_GT(recv(ends_[0], bytes, sizeof(bytes), 0), 0);
    peer.End();
  });
  EXPECT_EQ(AskOnly(UINT64_C(3600000000000)), RAWHAL_TIMED_OUT);
  EXPECT_TRUE(Has(error_.message, "ended")) << error_.message;
  ender.join();
}

// A request, with the observer's rights, goes to nobody but the process: not to another's socket
// of which it has a descriptor.
TEST_F(Liar, MessagesGoToASocketOfTheProcess)
{
  sockaddr_un name = {};
  name.sun_family = AF_UNIX;
  const int service = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0),
            client = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(bind(service, reinterpret_cast<sockaddr *>(&name), sizeof(sa_family_t)), 0);
  socklen_t size = sizeof(name);
  ASSERT_EQ(getsockname(service, reinterpret_cast<sockaddr *>(&name), &size), 0);
  ASSERT_EQ(connect(client, reinterpret_cast<sockaddr *>(&name), size), 0);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (const int fd : {client, null, service}) {
    memory_->head.socket = fd;
    EXPECT_EQ(AskOnly(UINT64_C(60000000000)), RAWHAL_MALFORMED);
  }
  char byte;
  EXPECT_EQ(recv(service, &byte, 1, MSG_DONTWAIT), -1);
  close(null);
  memory_->head.socket = null;
  EXPECT_EQ(AskOnly(UINT64_C(60000000000)), RAWHAL_NOT_FOUND);
  close(service);
  close(client);
}

// A lie about the last event's number, or a thread that comes late to write it, changes nothing.
TEST_F(Liar, NumbersThatAreFarAheadOrBehind)
{
  uint64_t lost = 0;
  rawhal_event_t event;
  const auto happens = [&](uint64_t number, uint64_t said) {
    door_slot_t *slot = &memory_->slots[number % DOOR_SLOTS];
    slot->words[0] = (CORE_RECORD_EVENTS + RAWHAL_EVENT_SUBMIT) | uint64_t{56} << 32;
    slot->words[3] = number; // ticket
    slot->number = number + 1;
    memory_->head.next = said;
  };
  observer_want(&observer_, RAWHAL_EVENTS_ALL);
  for (const uint64_t said : {UINT64_MAX - 5, uint64_t{1} << 40, uint64_t{DOOR_SLOTS} * 3}) {
    memory_->head.next = said;
    for (int i = 0; i < 100; ++i)
      EXPECT_FALSE(observer_next(&observer_, &event, &lost));
  }
  EXPECT_EQ(lost, 0u);
  for (uint64_t i = 0; i < 4 * DOOR_SLOTS; ++i) {
    happens(i, i % 7 ? i + 1 : i / 2);
    ASSERT_TRUE(observer_next(&observer_, &event, &lost)) << i;
    ASSERT_EQ(event.ticket, i);
    ASSERT_FALSE(observer_next(&observer_, &event, &lost)) << i;
  }
  EXPECT_EQ(lost, 0u);
}

} // namespace
