// What of a scene is copied for a core file, in which order, and where the file goes.
#include "tests/child.h"
#include "tests/debug/scene.h"

#include <gtest/gtest.h>

#include <elf.h>
#include <fcntl.h>
#include <hsa/amd_hsa_queue.h>
#include <hsa/hsa.h>
#include <sched.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <thread>

extern "C" {
#include "debug/core/file.h"
#include "debug/dump.h"
#include "debug/permit.h"
#include "debug/threads.h"
}

namespace {

// Buffers as a program has them, and who reads of them how much.
struct Memory {
  struct Buffer {
    uint64_t base, size;
    bool readable;
    char fill;
  };
  std::vector<Buffer> buffers;
  std::vector<uint64_t> read; // buffers, in the order in which they were
  uint64_t bytes = 0;

  static bool allocation(void *context, debug_cursor_t *cursor, debug_allocation_t *told)
  {
    const Memory &memory = *static_cast<Memory *>(context);
    const size_t index = cursor->index++;
    if (index >= memory.buffers.size())
      return false;
    *told = {};
    told->base = memory.buffers[index].base;
    told->size = memory.buffers[index].size;
    told->reachable = true;
    return true;
  }
  static bool copy(void *context, uint64_t address, void *to, size_t size)
  {
    Memory &memory = *static_cast<Memory *>(context);
    for (const Buffer &buffer : memory.buffers) {
      if (address < buffer.base || address - buffer.base >= buffer.size || !buffer.readable)
        continue;
      memory.read.push_back(buffer.base);
      memory.bytes += size;
      memset(to, buffer.fill, size);
      return true;
    }
    return false;
  }
};

class Dump : public testing::Test {
protected:
  Dump()
  {
    settings.budget = 600 << 10;
    settings.classes = CORE_CLASS_BIT(CORE_CLASSES) - 1;
    fault.kind = RAWHAL_FAULT_MEMORY;
    fault.known = RAWHAL_FAULT_KNOWS_ADDRESS;
    fault.address = NEAR + 65536 + 64;
    dispatch.kernargs = {&words, sizeof(words)};
    dispatch.running = true;
  }
  ~Dump() override { close(file); }

  // Into a file in memory, which is then opened.
  bool dump(const std::vector<const void *> &queues = {}, const debug_softgpu_t *softgpu = nullptr)
  {
    debug_scene_t around = {};
    around.dispatches = &dispatch;
    around.dispatch_count = 1;
    around.context = &memory;
    around.allocation = Memory::allocation;
    around.read = Memory::copy;
    dump_scene_t scene = {};
    scene.around = &around;
    scene.queue.fault = &fault;
    scene.queue.dispatches = &dispatch;
    scene.queue.dispatch_count = 1;
    scene.queue.hsa_queue = queues.empty() ? nullptr : queues[0];
    scene.queue.softgpu = softgpu;
    scene.agents = made.agents.data();
    scene.agent_count = 1;
    scene.code = descriptor_at;
    dump_t dump;
    EXPECT_TRUE(dump_begin(&dump, &settings, file));
    dump_gather(&dump, &scene);
    for (const dump_queue_t &other : others)
      dump_gather_queue(&dump, &other);
    for (size_t i = 1; i < queues.size(); ++i) {
      dump_queue_t other = scene.queue;
      other.hsa_queue = queues[i];
      dump_gather_queue(&dump, &other);
    }
    gathered = memory.bytes;
    memory.buffers.clear(); // nothing is looked at any more
    const bool whole = dump_end(&dump, said, sizeof(said));
    struct stat about = {};
    EXPECT_EQ(fstat(file, &about), 0);
    bytes.resize(static_cast<size_t>(about.st_size));
    EXPECT_EQ(pread(file, &bytes[0], bytes.size(), 0), about.st_size);
    return whole;
  }
  // Code that is nothing but a kernel's descriptor.
  static bool descriptor_at(void *, size_t index, dump_code_t *code)
  {
    *code = {};
    code->address = code->delta = reinterpret_cast<uint64_t>(descriptor);
    code->size = sizeof(descriptor);
    return index == 0;
  }
  alignas(64) static inline char descriptor[64];

  // How many of the first bytes of a buffer stand in it.
  uint64_t has(uint64_t base, uint64_t size)
  {
    core_file_t core = {};
    rawhal_error_t error = {};
    EXPECT_EQ(core_file_open(&core, {bytes.data(), bytes.size()}, &error), RAWHAL_OK)
        << error.message;
    const uint64_t found = core_view_has(&core.view, base, size, nullptr);
    core_file_close(&core);
    return found;
  }

  std::vector<dump_queue_t> others;

  static constexpr uint64_t OTHER = 0x7f1000000000, NAMED = 0x7f2000000000, NEAR = 0x7f3000000000,
                            DARK = 0x7f4000000000;
  int file = memfd_create("core", MFD_CLOEXEC);
  scene::Scene made{scene::chips[0]};
  dump_settings_t settings = {};
  rawhal_fault_t fault = {};
  uint64_t words[3] = {1, NAMED + 4096, 0x5eed};
  debug_dispatch_t dispatch = {};
  Memory memory{{{OTHER, 1 << 20, true, 'o'},
                 {NAMED, 256 << 10, true, 'n'},
                 {DARK, 4096, false, 'd'},
                 {NEAR, 65536, true, 'f'}},
                {}};
  uint64_t gathered = 0;
  char said[1200] = "";
  std::string bytes;
};

} // namespace

// Who holds the locks waits for no more copies than there is room for: near the fault, then what arguments name.
TEST_F(Dump, CopiesWhatTheBudgetHasRoomForNearTheFaultFirst)
{
  ASSERT_TRUE(dump()) << said;
  ASSERT_GE(memory.read.size(), 3u);
  EXPECT_EQ(memory.read.front(), NEAR);
  EXPECT_EQ(memory.read[1], NAMED);
  EXPECT_EQ(memory.read.back(), OTHER);
  EXPECT_LE(gathered, settings.budget);
  EXPECT_EQ(has(NEAR, 65536), 65536u);
  EXPECT_EQ(has(NAMED, 256 << 10), 256u << 10);
  const uint64_t rest = has(OTHER, 1 << 20);
  EXPECT_GT(rest, 100u << 10); // what is left, without the notes
  EXPECT_LE(bytes.size(), settings.budget);
  EXPECT_NE(std::string(said).find("core file fd:"), std::string::npos) << said;
  const char *comma = strrchr(said, ',');
  ASSERT_NE(comma, nullptr);
  EXPECT_GE(strtoull(comma + 1, nullptr, 10), (1 << 20) - rest + 4096) << said; // and a stack
}

// Lists grow with the program; a small file has the beginning of them.
TEST_F(Dump, OfManyBuffersIsSmallWhereTheBudgetIs)
{
  memory.buffers.insert(memory.buffers.begin(), 4000, {OTHER, 4096, true, 'o'});
  settings.budget = 64 << 10;
  settings.classes = CORE_NO_CONTENTS;
  ASSERT_TRUE(dump()) << said;
  EXPECT_LE(bytes.size(), settings.budget);
}

TEST_F(Dump, SaysOfATooSmallBudgetWhatTheLeastIs)
{
  const std::vector<Memory::Buffer> buffers = memory.buffers;
  settings.budget = 8 << 10;
  ASSERT_FALSE(dump());
  EXPECT_NE(std::string(said).find("RAWHAL_CORE_BYTES is 8192"), std::string::npos) << said;
  const char *least = strstr(said, "at least ");
  ASSERT_NE(least, nullptr) << said;
  settings.budget = strtoull(least + 9, nullptr, 10);
  memory.buffers = buffers;
  EXPECT_TRUE(dump()) << said;
  --settings.budget;
  memory.buffers = buffers;
  EXPECT_FALSE(dump());
}

TEST_F(Dump, ReadsNothingThatIsNotWanted)
{
  settings.classes = CORE_NO_CONTENTS;
  ASSERT_TRUE(dump()) << said;
  EXPECT_EQ(memory.bytes, 0u);
  EXPECT_EQ(has(NEAR, 1), 0u);
}

namespace {

// A queue with one packet, and a wave of it, whose work-group's LDS has one letter.
struct OneWave {
  explicit OneWave(uint64_t id)
  {
    hsa_kernel_dispatch_packet_t packet = {};
    packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH;
    packet.workgroup_size_x = packet.grid_size_x = 64;
    packet.workgroup_size_y = packet.workgroup_size_z = 1;
    packet.grid_size_y = packet.grid_size_z = 1;
    packet.kernel_object = kernel;
    memcpy(ring, &packet, sizeof(packet));
    amd.hsa_queue.id = id;
    amd.hsa_queue.base_address = ring;
    amd.hsa_queue.size = sizeof(ring) / 64;
    amd.write_dispatch_id = 1;
    amd.read_dispatch_id_field_base_byte_offset = offsetof(amd_queue_t, read_dispatch_id);
  }
  static size_t wave_of(const void *queue, softgpu_wave_fn *function, void *context)
  {
    static uint32_t sgprs[CORE_SGPRS], vgprs[4][64];
    char lds[512];
    memset(lds, static_cast<int>('A' + static_cast<const amd_queue_t *>(queue)->hsa_queue.id),
           sizeof(lds));
    softgpu_wave_t wave = {};
    wave.kernel_object = wave.pc = kernel;
    wave.waves = 1;
    wave.exec = UINT64_MAX;
    wave.vgpr_count = 4;
    wave.sgprs = sgprs;
    wave.vgprs = vgprs;
    wave.lds = lds;
    wave.lds_bytes = sizeof(lds);
    function(context, &wave, sizeof(wave));
    return 1;
  }
  static inline uint64_t kernel = 0;
  alignas(64) amd_queue_t amd = {};
  alignas(64) char ring[64 * 64] = {};
};

} // namespace

// Whose packet, group and size of LDS are those of another queue's wave.
TEST_F(Dump, HasOfEachQueuesWavesTheirOwnLds)
{
  OneWave::kernel = reinterpret_cast<uint64_t>(descriptor);
  OneWave one(1), other(2);
  debug_softgpu_t softgpu = {};
  softgpu.waves = OneWave::wave_of;
  ASSERT_TRUE(dump({&one.amd, &other.amd}, &softgpu)) << said;
  EXPECT_NE(std::string(said).find("2 waves"), std::string::npos) << said;
  EXPECT_NE(bytes.find(std::string(512, 'B')), std::string::npos);
  EXPECT_NE(bytes.find(std::string(512, 'C')), std::string::npos);
}

TEST_F(Dump, OfNothingIsNone)
{
  dump_t dump;
  ASSERT_TRUE(dump_begin(&dump, &settings, file));
  EXPECT_FALSE(dump_end(&dump, said, sizeof(said)));
  EXPECT_STREQ(said, "");
  EXPECT_FALSE(dump_begin(&dump, &settings, -1)); // none is wanted
}

// ---- Threads of the host ----

namespace {

// One that waits until it is ended, in a function of which it is known where its stack is.
class Waiter {
public:
  Waiter()
  {
    EXPECT_EQ(pipe(ends), 0);
    thread = std::thread([this] {
      volatile uint64_t mark = MARK;
      char byte;
      at = reinterpret_cast<uint64_t>(&mark);
      id = gettid();
      answer = read(ends[0], &byte, 1);
      EXPECT_EQ(mark, MARK);
    });
    while (!id)
      std::this_thread::yield();
  }
  // What it waited for has come to it, whatever was done to it meanwhile.
  ~Waiter()
  {
    EXPECT_EQ(::write(ends[1], "x", 1), 1);
    thread.join();
    EXPECT_EQ(answer, 1);
    close(ends[0]);
    close(ends[1]);
  }
  static constexpr uint64_t MARK = 0x5eed5eed12345678;
  std::atomic<pid_t> id{0};
  uint64_t at = 0;
  int ends[2];
  ssize_t answer = 0;
  std::thread thread;
};

class DumpThreads : public Dump {
protected:
  // A word of the registers that the file has of a thread; -1: it has not that thread.
  uint64_t word(pid_t thread, size_t index)
  {
    uint64_t found = UINT64_MAX;
    core_file_t core = {};
    rawhal_error_t error = {};
    EXPECT_EQ(core_file_open(&core, {bytes.data(), bytes.size()}, &error), RAWHAL_OK);
    core_file_note_t note;
    for (core_note_cursor_t cursor = {}; core_file_note(&core, &cursor, &note);) {
      int32_t id = 0;
      if (note.type != NT_PRSTATUS || note.bytes.size < 336)
        continue;
      memcpy(&id, static_cast<const char *>(note.bytes.data) + 32, sizeof(id));
      if (id == thread)
        memcpy(&found, static_cast<const char *>(note.bytes.data) + 112 + 8 * index, 8);
    }
    core_file_close(&core);
    return found;
  }
  bool says(const char *text) const { return bytes.find(text) != std::string::npos; }
  static constexpr size_t IP = 16, SP = 19;
};

} // namespace

TEST_F(DumpThreads, AreListedAndSaidToHaveNoRegisters)
{
  Waiter waiter;
  ASSERT_TRUE(dump()) << said;
  EXPECT_EQ(word(waiter.id, IP), 0u);
  EXPECT_NE(word(gettid(), IP), 0u);
  EXPECT_TRUE(says("have zeros in place of registers"));
}

TEST_F(DumpThreads, HaveRegistersAndStacksWhereThatIsAskedFor)
{
  Waiter one, other;
  settings.threads = true;
  settings.budget = 4 << 20;
  ASSERT_TRUE(dump()) << said;
  if (says("not known: Operation not permitted"))
    GTEST_SKIP() << "this process may not be traced";
  for (const Waiter *waiter : {&one, &other}) {
    EXPECT_NE(word(waiter->id, IP), 0u);
    EXPECT_LT(waiter->at - word(waiter->id, SP), 65536u);
    EXPECT_EQ(has(waiter->at, 8), 8u);
  }
  EXPECT_NE(bytes.find(std::string(reinterpret_cast<const char *>(&Waiter::MARK), 8)),
            std::string::npos);
  EXPECT_EQ(waitpid(-1, nullptr, WNOHANG | __WALL), -1); // and nobody is left
}

// A process that may not be traced: by this and by a debugger alike.
TEST_F(DumpThreads, OfWhichNoneMayBeTracedHaveNoRegistersAndItIsSaidWhy)
{
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can be another user";
  EXPECT_EQ(in_child([&] {
              if (setuid(65534) || prctl(PR_SET_DUMPABLE, 0))
                return 2;
              Waiter waiter;
              settings.threads = true;
              const bool whole = dump() && word(waiter.id, IP) == 0;
              return whole && says("not known: Operation not permitted") ? 0 : 1;
            }),
            0);
}

// It waits for a child as vfork() makes one, and cannot be stopped: nobody waits for that.
TEST_F(DumpThreads, OfWhichOneCannotBeStoppedHoldUpNothing)
{
  static int ends[2];
  static std::atomic<pid_t> id;
  id = 0;
  ASSERT_EQ(pipe(ends), 0);
  std::thread stuck([] {
    std::vector<char> stack(65536);
    id = gettid();
    const pid_t child = clone(
        [](void *) {
          char byte;
          return static_cast<int>(read(ends[0], &byte, 1));
        },
        stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | SIGCHLD, nullptr);
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 1);
  });
  const auto waits = [] { // in the kernel, for that
    std::string state;
    std::getline(std::ifstream("/proc/self/task/" + std::to_string(id) + "/stat"), state);
    const size_t name = state.rfind(") ");
    return name != std::string::npos && state[name + 2] == 'D';
  };
  while (!waits())
    std::this_thread::yield();
  {
    Waiter waiter;
    threads_t *threads = threads_list(THREADS_MOST, false);
    ASSERT_NE(threads, nullptr);
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    threads_read(threads, static_cast<uint64_t>(now.tv_sec) * 1000000000 +
                              static_cast<uint64_t>(now.tv_nsec) + 20000000);
    for (size_t i = 0; i < threads->count; ++i) {
      if (threads->seen[i].thread.id == id) {
        EXPECT_FALSE(threads->seen[i].known);
      }
    }
    EXPECT_GE(threads->count, 2u);
    threads_free(threads);
  }
  EXPECT_EQ(::write(ends[1], "x", 1), 1);
  stuck.join();
  close(ends[0]);
  close(ends[1]);
}

// ---- Settings ----

TEST(DumpSettings, AreUnderstoodOrRefused)
{
  rawhal_error_t error = {};
  dump_settings_t settings;
  for (const auto &[text, bytes] : std::map<std::string, uint64_t>{{"0", 0},
                                                                   {"65536", 65536},
                                                                   {"64M", 64 << 20},
                                                                   {"64MiB", 64 << 20},
                                                                   {"1.5g", 3ull << 29}}) {
    setenv("RAWHAL_CORE_BYTES", text.c_str(), 1);
    EXPECT_EQ(dump_settings_read(&settings, &error), RAWHAL_OK) << error.message;
    EXPECT_EQ(settings.budget, bytes) << text;
  }
  unsetenv("RAWHAL_CORE_BYTES");
  const char *const wrong[][2] = {
      {"RAWHAL_CORE", "|cat"},           {"RAWHAL_CORE", "fd:999"},
      {"RAWHAL_CORE", "core.%q"},        {"RAWHAL_CORE", "core.%"},
      {"RAWHAL_CORE_BYTES", "-1"},       {"RAWHAL_CORE_BYTES", "64MBB"},
      {"RAWHAL_CORE_BYTES", "9999999G"}, {"RAWHAL_CORE_CONTENTS", "some"},
      {"RAWHAL_CORE_PER_HOUR", "many"},  {"RAWHAL_CORE_PER_HOUR", "99999999999"},
      {"RAWHAL_CORE_THREADS", "all"}};
  for (const auto &[name, value] : wrong) {
    setenv(name, value, 1);
    EXPECT_EQ(dump_settings_read(&settings, &error), RAWHAL_INVALID_ARGUMENT) << name << value;
    EXPECT_NE(std::string(error.message).find(name), std::string::npos) << error.message;
    unsetenv(name);
  }
}

// In a copy of this program that runs as somebody else.
static int read_as_somebody_else()
{
  dump_settings_t settings;
  if (!getauxval(AT_SECURE))
    return 77;
  return dump_settings_read(&settings, nullptr) == RAWHAL_OK && !*settings.where ? 0 : 1;
}

TEST(DumpSettings, AreNotTakenFromWhomTheProgramHasMoreRightsThan)
{
  if (getenv("RAWHAL_TEST_AS_SOMEBODY_ELSE"))
    _exit(read_as_somebody_else());
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can make a program that runs as somebody else";
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers refuse to run with other privileges";
#endif
  const std::string copy = testing::TempDir() + "dump-" + std::to_string(getpid());
  std::filesystem::copy_file("/proc/self/exe", copy);
  ASSERT_EQ(chown(copy.c_str(), 65534, 65534), 0);
  ASSERT_EQ(chmod(copy.c_str(), 06755), 0);
  const int status = in_child([&] {
    setenv("RAWHAL_TEST_AS_SOMEBODY_ELSE", "1", 1);
    setenv("RAWHAL_CORE", "|/bin/false", 1);
    execl(copy.c_str(), copy.c_str(),
          "--gtest_filter=DumpSettings.AreNotTakenFromWhomTheProgramHasMoreRightsThan", nullptr);
    return 2;
  });
  unlink(copy.c_str());
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
    GTEST_SKIP() << "the folder ignores set-user-ID bits";
  EXPECT_EQ(status, 0);
}

// ---- How many in an hour ----

namespace {

class Permit : public testing::Test {
protected:
  Permit()
  {
    EXPECT_NE(mkdtemp(&folder[0]), nullptr);
    EXPECT_EQ(chmod(folder.c_str(), 01777), 0);
  }
  ~Permit() override { std::filesystem::remove_all(folder); }
  // How many of three are written when one may be.
  int written(const char *program, int64_t now = 100000) const
  {
    int count = 0;
    for (int i = 0; i < 3; ++i) {
      permit_t permit;
      if (!permit_take(&permit, folder.c_str(), program, 1, now + i))
        continue;
      permit_end(&permit, true);
      ++count;
    }
    return count;
  }
  std::string file_of(const char *program) const
  {
    return folder + "/.rawhal-core-" + std::to_string(geteuid()) + "-" + program;
  }
  std::string folder = testing::TempDir() + "permit-XXXXXX";
};

// Of a ring that begins anew between them; what has ended, or was never written, is not copied.
TEST_F(Dump, PacketsInFlightOfOtherQueues)
{
  enum { SIZE = 4, PACKET = 64 };
  alignas(64) amd_queue_t queue = {};
  alignas(64) unsigned char ring[SIZE][PACKET];
  for (int i = 0; i < SIZE; ++i)
    memset(ring[i], 'a' + i, PACKET);
  queue.hsa_queue.base_address = ring;
  queue.hsa_queue.size = SIZE;
  queue.hsa_queue.id = 9;
  queue.read_dispatch_id = 7;
  queue.write_dispatch_id = 9;
  debug_dispatch_t runs = {};
  runs.queue_id = 9;
  runs.packet = 7;
  runs.running = true;
  runs.kernel = rawhal_string("elsewhere");
  others.push_back({0, &queue, nullptr, nullptr, &runs, 1});
  ASSERT_TRUE(dump()) << said;
  const uint64_t at = reinterpret_cast<uint64_t>(ring);
  EXPECT_EQ(has(at + 3 * PACKET, PACKET), PACKET);
  EXPECT_EQ(has(at, PACKET), PACKET);
  EXPECT_EQ(has(at + PACKET, 1), 0u);
  EXPECT_EQ(has(at + 2 * PACKET, 1), 0u);
  EXPECT_NE(bytes.find("elsewhere"), std::string::npos);
}

} // namespace

TEST_F(Permit, IsEachUsersOwn)
{
  EXPECT_EQ(written("program"), 1);
  EXPECT_EQ(written("program", 100000 + 3601), 1);
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can be another user";
  for (const int count : {1, 0}) // of two processes
    EXPECT_EQ(in_child([&] { return setuid(65534) ? 2 : written("program") == count ? 0 : 1; }), 0);
}

// Another user may have made what is there by that name, or a link to what is ours.
TEST_F(Permit, CountsInTheProcessWhereTheFileIsNotOurs)
{
  const std::string other = folder + "/other";
  const auto attempt = [&](const char *program) {
    return in_child([&] { return written(program) == 1 ? 0 : 1; });
  };
  ASSERT_EQ(mkfifo(file_of("pipe").c_str(), 0666), 0);
  EXPECT_EQ(attempt("pipe"), 0);
  std::ofstream(other) << "x";
  ASSERT_EQ(symlink(other.c_str(), file_of("link").c_str()), 0);
  EXPECT_EQ(attempt("link"), 0);
  ASSERT_EQ(link(other.c_str(), file_of("hard").c_str()), 0);
  EXPECT_EQ(attempt("hard"), 0);
  EXPECT_EQ(std::filesystem::file_size(other), 1u);
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can make a file another's";
  std::ofstream(file_of("file")) << "x";
  ASSERT_EQ(chown(file_of("file").c_str(), 65534, 65534), 0);
  EXPECT_EQ(attempt("file"), 0);
}

TEST_F(Permit, OfAnUnwritableFolderIsGivenAndNotUsedUp)
{
  permit_t permit;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(permit_take(&permit, "/nonexistent", "program", 1, 100000));
    permit_end(&permit, false);
  }
}
