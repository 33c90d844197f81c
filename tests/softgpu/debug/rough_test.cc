// Neither side hangs: programs that end, fork and become others while their waves are stopped, queues
// that go, processors that cannot answer, and whoever comes to the socket.
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <set>
#include <thread>

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "session.h"
#include "tests/child.h"

extern "C" {
#include "softgpu/system/reach.h"
}

namespace {

constexpr uint64_t kWaveMemory = KFD_EXCEPTION(KFD_WAVE_MEMORY);

// A wave that stands at the breakpoint in the loop that waits for the flag, its queue resumed.
void stop_in_loop(Session &s)
{
  std::vector<Wave> waves = s.begin_halted("4 0 1 64", 1);
  ASSERT_EQ(waves.size(), 1u);
  s.gdb.write(s.code(CODE_SPIN_LOOP), (uint32_t)kBreakpoint);
  s.gdb.write(waves[0].hwreg(kStatus), s.gdb.read(waves[0].hwreg(kStatus)) & ~(1u << 13));
  waves = s.until_stopped(kWaveTrap);
  ASSERT_EQ(waves.size(), 1u);
  s.gdb.resume({1});
}

// Whether nobody answers any more, of a process that is gone.
bool is_gone(Debugger &gdb)
{
  int result = 0;
  for (int i = 0; i < 100000 && result != -ESRCH; ++i)
    result = gdb.ask(KFD_SET_FLAGS);
  return result == -ESRCH;
}

TEST(Rough, AProgramMayEndWhileAWaveIsStopped)
{
  Session s("gfx942");
  ASSERT_EQ(s.gdb.attach(), 0);
  stop_in_loop(s);
  int status = -1;
  s.target.tell("quit");
  EXPECT_EQ(waitpid(s.target.pid, &status, 0), s.target.pid);
  EXPECT_EQ(status, 0);
  s.target.pid = -1;
  EXPECT_TRUE(is_gone(s.gdb));
}

TEST(Rough, AProgramMayBecomeAnotherWhileAWaveIsStopped)
{
  Session s("gfx90a");
  ASSERT_EQ(s.gdb.attach(), 0);
  stop_in_loop(s);
  EXPECT_EQ(s.target.say("exec"), "another");
  EXPECT_TRUE(is_gone(s.gdb));
  EXPECT_EQ(s.target.end(), 0);
}

TEST(Rough, AQueueMayGoWhileAWaveIsStopped)
{
  Session s("gfx90a");
  ASSERT_EQ(s.gdb.attach(), 0);
  stop_in_loop(s);
  EXPECT_EQ(s.target.say("destroy 0"), "destroyed");
  EXPECT_EQ(s.gdb.suspend({1}), std::vector<uint32_t>{1 | 1u << 31});
  EXPECT_EQ(s.gdb.queues().size(), 1u);
  EXPECT_EQ(s.gdb.queues()[0].id, 2u);
}

// A debugger reads what belongs to a queue that it has suspended, such as the runtime's amd_queue_t. So
// the queue goes when it is let go on; and is not suspended once more.
TEST(Rough, AQueueThatIsSuspendedGoesAfterwards)
{
  for (bool is_resumed : {true, false}) {
    Session s("gfx950");
    ASSERT_EQ(s.gdb.attach(), 0);
    const uint64_t own = s.queue().read_pointer;
    EXPECT_EQ(s.begin_halted("4 0 1 64", 1).size(), 1u);
    s.target.tell("destroy 0");
    for (int i = 0; i < 100; ++i) { // in which it would have got far
      EXPECT_EQ(s.gdb.suspend({1}), std::vector<uint32_t>{1});
      EXPECT_EQ(s.gdb.waves(s.queue()).size(), 1u);
      EXPECT_EQ(s.gdb.read<uint64_t>(own), 0u);
    }
    if (is_resumed) {
      EXPECT_EQ(s.gdb.resume({1}), std::vector<uint32_t>{1});
    } else {
      EXPECT_EQ(s.gdb.ask(KFD_DISABLE), 0);
    }
    EXPECT_EQ(s.target.answer(), "destroyed");
    if (is_resumed) {
      EXPECT_EQ(s.gdb.suspend({1}), std::vector<uint32_t>{1 | 1u << 31});
    }
  }
}

// As daemons do: the socket is one of them. The device runs on, nobody waits for who asks no more, and
// no thread is busy with what is not there.
TEST(Rough, AProgramMayCloseWhatItDoesNotKnow)
{
  Session s("gfx90a");
  ASSERT_EQ(s.gdb.attach(), 0);
  stop_in_loop(s);
  s.gdb.write(s.target.places.out[0] + SPIN_FLAG, 1u);
  s.gdb.write(s.code(CODE_SPIN_LOOP), 0xdc518400u); // the load that was there
  EXPECT_EQ(s.target.say("close"), "closed");
  Debugger(s.target).ask(KFD_SET_FLAGS); // whoever comes
  EXPECT_EQ(s.gdb.ask(KFD_SET_FLAGS), -ESRCH);
  EXPECT_EQ(s.target.say("wait 0"), "done");
  EXPECT_EQ(s.target.end(), 0);
}

// 16 threads make a queue each: all are seen, each with an area of its own.
TEST(Rough, QueuesThatComeAtOnceAreAllThere)
{
  Session s("gfx90a");
  ASSERT_EQ(s.gdb.attach(), 0);
  EXPECT_EQ(s.target.say("crowd"), "made");
  kfd_debug_t debug{};
  std::vector<uint8_t> behind;
  std::set<uint64_t> ids, areas;
  debug.op = KFD_GET_QUEUE_SNAPSHOT;
  debug.snapshot.count = 64;
  debug.snapshot.entry_bytes = sizeof(kfd_queue_t);
  EXPECT_EQ(s.gdb.ask(debug, &behind), 0);
  EXPECT_EQ(debug.snapshot.count, 18u);
  for (size_t at = 0; at + sizeof(kfd_queue_t) <= behind.size(); at += sizeof(kfd_queue_t)) {
    kfd_queue_t queue;
    memcpy((void *)&queue, behind.data() + at, sizeof(queue));
    ids.insert(queue.id);
    areas.insert(queue.save_area);
  }
  EXPECT_EQ(ids.size(), 18u);
  EXPECT_EQ(areas.size(), 18u);
}

// A child has nothing of its parent's debugging, and a device of its own when it opens one.
TEST(Rough, AChildOfTheProgramRuns)
{
  for (bool is_attached : {false, true}) {
    Session s("gfx90a");
    if (is_attached) {
      ASSERT_EQ(s.gdb.attach(), 0);
    }
    s.target.tell("fork");
    kfd_debug_t event;
    if (is_attached) { // it closes the device first
      ASSERT_TRUE(s.gdb.event(&event));
      s.gdb.ask(KFD_SEND_RUNTIME_EVENT,
                [](auto &d) { d.send.exceptions = KFD_EXCEPTION(KFD_RUNTIME); });
    }
    EXPECT_EQ(s.target.answer(), "child 0");
    EXPECT_EQ(Debugger(s.target).connection >= 0, true);
  }
}

// It dies where a wave stands behind its breakpoint: the instruction that was there runs, if it is there
// again, and the dispatch fails if it is not.
TEST(Rough, ADebuggerMayDieAtABreakpoint)
{
  for (const char *chip : {"gfx90a", "gfx942"})
    for (bool is_mended : {true, false}) {
      Session s(chip);
      const uint64_t at = s.code(CODE_WORK_STORE);
      const uint32_t original = s.gdb.read(at);
      {
        Debugger dying(s.target);
        ASSERT_EQ(dying.attach(), 0);
        dying.write(at, (uint32_t)kBreakpoint);
        EXPECT_EQ(s.target.say("run 0 0 1 64"), "put");
        kfd_debug_t event;
        ASSERT_TRUE(dying.event(&event));
        EXPECT_EQ(dying.suspend({1}), std::vector<uint32_t>{1});
        const std::vector<Wave> waves = dying.waves(dying.queues()[0]);
        ASSERT_EQ(waves.size(), 1u);
        EXPECT_EQ(dying.pc(waves[0]), at + 4);
        if (is_mended)
          dying.write(at, original);
      }
      const std::string said = s.target.say("wait 0");
      if (is_mended) {
        EXPECT_EQ(said, "done");
        EXPECT_EQ(s.gdb.read(s.target.places.out[0] + 4), (uint32_t)WORK_RESULT);
      } else {
        EXPECT_NE(said.find("trap raised by the kernel"), std::string::npos) << said;
      }
    }
}

// What a debugger leaves in code when it is killed: a dispatch that comes there fails, and says so.
TEST(Rough, ABreakpointThatStaysFailsItsDispatch)
{
  Session s("gfx90a");
  {
    Debugger dying(s.target);
    ASSERT_EQ(dying.attach(), 0);
  }
  EXPECT_EQ(s.target.say("run 8 0 1 64"), "put");
  EXPECT_NE(s.target.say("wait 0").find("trap raised by the kernel"), std::string::npos);
}

#if !defined(__SANITIZE_ADDRESS__)
// A thread that stands still has a lock that a processor needs in the middle of a dispatch: there is an
// answer nevertheless, in which the queue has no waves, and they are there when it is through. Their
// numbers, which a debugger took back then, are none.
TEST(Rough, AProcessorThatCannotAnswerHangsNobody)
{
  Session s("gfx90a");
  ASSERT_EQ(s.gdb.attach(), 0);
  std::vector<Wave> waves = s.begin_halted("4 0 2 64", 2);
  ASSERT_EQ(waves.size(), 2u);
  for (const Wave &wave : waves) {
    s.gdb.write(wave.ttmp(4), 0x100000000ull);
    s.gdb.write(wave.hwreg(kStatus), s.gdb.read(wave.hwreg(kStatus)) & ~(1u << 13));
  }
  EXPECT_EQ(s.target.say("hold"), "held");
  for (int i = 0; i < 10000 && !waves.empty(); ++i) { // its code is to be decoded
    EXPECT_EQ(s.gdb.resume({1}), std::vector<uint32_t>{1});
    EXPECT_EQ(s.gdb.suspend({1}), std::vector<uint32_t>{1});
    waves = s.gdb.waves(s.queue());
  }
  EXPECT_TRUE(waves.empty());
  EXPECT_EQ(s.gdb.resume({1}), std::vector<uint32_t>{1});
  EXPECT_EQ(s.gdb.suspend({1}), std::vector<uint32_t>{1});
  EXPECT_TRUE(s.gdb.waves(s.queue()).empty());
  EXPECT_EQ(s.target.say("release"), "held"); // and it comes to where it would save its waves
  for (int i = 0; i < 50; ++i)
    EXPECT_TRUE(s.gdb.waves(s.queue()).empty());
  for (int i = 0; i < 10000 && waves.empty(); ++i) {
    EXPECT_EQ(s.gdb.resume({1}), std::vector<uint32_t>{1});
    EXPECT_EQ(s.gdb.suspend({1}), std::vector<uint32_t>{1});
    waves = s.gdb.waves(s.queue());
  }
  ASSERT_EQ(waves.size(), 2u);
  for (const Wave &wave : waves) {
    EXPECT_LT(s.gdb.pc(wave) - s.code(CODE_SPIN), (uint64_t)CODE_LANES - CODE_SPIN);
    EXPECT_EQ(s.gdb.read<uint64_t>(wave.ttmp(4)), 0u);
  }
  s.gdb.resume({1});
  s.gdb.write(s.target.places.out[0] + SPIN_FLAG, 1u);
  EXPECT_EQ(s.target.say("wait 0"), "done");
  s.end();
}
#endif

// Any number of connections that nobody uses keep no debugger away.
TEST(Rough, WhoOnlyConnectsKeepsNobodyAway)
{
  Session s("gfx90a");
  std::vector<std::unique_ptr<Debugger>> idle;
  for (int i = 0; i < 40; ++i)
    idle.push_back(std::make_unique<Debugger>(s.target));
  ASSERT_EQ(idle.back()->attach(), 0);
  Debugger &debugger = *idle.back();
  for (int i = 0; i < 40; ++i) {
    idle.push_back(std::make_unique<Debugger>(s.target));
    EXPECT_EQ(idle.back()->ask(KFD_SET_FLAGS), -EINVAL);
    EXPECT_EQ(debugger.ask(KFD_SET_FLAGS), 0); // which keeps its place
  }
}

// Requests without end, of which no answer is taken, from beside a debugger that goes on.
TEST(Rough, WhoReadsNoAnswerHoldsNobodyUp)
{
  Session s("gfx90a");
  Debugger flood(s.target);
  ASSERT_EQ(s.gdb.attach(), 0);
  softgpu_wire_request_t request = {};
  request.debug.pid = (uint32_t)s.target.pid;
  request.debug.op = KFD_SET_FLAGS;
  for (int i = 0; i < 20000; ++i)
    if (send(flood.connection, &request, sizeof(request), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
        errno != EAGAIN)
      break;
  const Wave wave = s.stop("1 0 1 64", kWaveMemory);
  EXPECT_EQ(s.gdb.pc(wave), s.code(CODE_FAULT_STORE));
}

// The process in which the device's threads are dies: so does the program, and who asks hears of it.
TEST(Rough, ADeviceThatDiesEndsTheProgram)
{
  Session s("gfx90a");
  ASSERT_EQ(s.gdb.attach(), 0);
  stop_in_loop(s);
  const pid_t device = s.target.child();
  ASSERT_GT(device, 1);
  EXPECT_TRUE(signal_child(device, SIGKILL));
  int status = 0;
  EXPECT_EQ(waitpid(s.target.pid, &status, 0), s.target.pid);
  EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << status;
  s.target.pid = -1;
  EXPECT_TRUE(is_gone(s.gdb));
}

#if defined(SOFTGPU_DEBUG_LIBRARY)
// What answers a debugger is a program that is debugged: here one that says of everything that there is
// no end of it, and then as good as nothing. The debugger's driver writes where it was told to.
class Liar {
public:
  Liar()
  {
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair_), 0);
    const softgpu_wire_door_t door = {SOFTGPU_WIRE_MAGIC, SOFTGPU_WIRE_VERSION, (uint32_t)getpid(),
                                      (uint32_t)pair_[1], 0};
    door_ = memfd_create(SOFTGPU_WIRE_NAME, MFD_CLOEXEC);
    EXPECT_EQ(write(door_, &door, sizeof(door)), (ssize_t)sizeof(door));
    thread_ = std::thread([this] { answer(); });
  }
  ~Liar()
  {
    shutdown(pair_[0], SHUT_RDWR);
    thread_.join();
    for (int fd : {door_, pair_[0], pair_[1]})
      close(fd);
  }

private:
  int admit()
  {
    char byte, control[CMSG_SPACE(sizeof(int))];
    iovec piece{&byte, 1};
    msghdr header{};
    header.msg_iov = &piece;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
    int fd = -1;
    if (recvmsg(pair_[0], &header, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&header))
      memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&header)), sizeof(fd));
    return fd;
  }
  void answer()
  {
    const int connection = admit();
    std::vector<uint8_t> all(SOFTGPU_WIRE_BYTES, 0xff);
    softgpu_wire_answer_t *head = (softgpu_wire_answer_t *)all.data();
    uint8_t request[4096];
    for (int n = 0; connection >= 0 && recv(connection, request, sizeof(request), 0) > 0; ++n) {
      head->result = 0;
      head->bytes = (uint32_t)(all.size() - sizeof(*head));
      const size_t size = n < 5 ? all.size() : 7;
      send(connection, all.data(), size, MSG_NOSIGNAL);
    }
    close(connection);
  }

  int door_ = -1, pair_[2];
  std::thread thread_;
};

TEST(Rough, ADebuggerIsNotHurtByWhatAnswers)
{
  Liar liar;
  Obedient client({KFD_CLIENT, std::to_string(getpid())}, {{"LD_PRELOAD", SOFTGPU_DEBUG_LIBRARY}});
  for (const std::string &line :
       {std::string("version 18"), std::string("enable 0"), std::string("state 4294967295"),
        "again " + std::to_string(-EALREADY), std::string("devices 4096"),
        std::string("gfx 4294967295"), std::string("halt 0")})
    EXPECT_EQ(client.answer(), line);
  client.tell("");
  EXPECT_EQ(client.answer(), "ready 10");
  EXPECT_EQ(client.answer(), "queues 4096");
  EXPECT_EQ(client.answer(), "suspend 0");
  EXPECT_EQ(client.answer(), "invalid 3");
  EXPECT_EQ(client.answer(), "resume " + std::to_string(-ESRCH)); // too short for an answer
  EXPECT_EQ(client.answer(), "disable " + std::to_string(-ESRCH));
  EXPECT_EQ(client.answer(), "gone " + std::to_string(-ESRCH));
}
#endif

} // namespace
