// RAWHAL_CORE: a queue that dies leaves a file in which the debugger's rules find its waves.
#include "device_test.h"

#include <dirent.h>
#include <fcntl.h>
#include <hsa/hsa.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <chrono>
#include <functional>
#include <future>

extern "C" {
#include "debug/core/core.h"
#include "debug/core/file.h"
#include "debug/core/notes.h"
#include "debug/core/walk.h"
}

namespace {

struct Seen {
  std::vector<walk_wave_t> waves;
  std::vector<walk_object_t> objects;
  size_t agents = 0, queues = 0;
};

class CoreFile : public DeviceTest, public testing::WithParamInterface<const char *> {
protected:
  void SetUp() override
  {
    strcpy(folder, "/tmp/rawhal-core-XXXXXX");
    ASSERT_NE(mkdtemp(folder), nullptr);
    ASSERT_EQ(getrlimit(RLIMIT_CORE, &before), 0);
    const struct rlimit all = {before.rlim_max, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_CORE, &all), 0);
    set("RAWHAL_CORE", std::string(folder) + "/%e.%p");
    set("RAWHAL_CORE_PER_HOUR", "0");
    start();
  }
  void TearDown() override
  {
    DeviceTest::TearDown();
    for (const std::string &name : names)
      unsetenv(name.c_str());
    for (const std::string &name : files())
      unlink((std::string(folder) + "/" + name).c_str());
    unlink(
        (std::string(folder) + "/.rawhal-core-" + std::to_string(geteuid()) + "-test_hal").c_str());
    rmdir(folder);
    (void)setrlimit(RLIMIT_CORE, &before);
  }
  void set(const char *name, const std::string &value)
  {
    setenv(name, value.c_str(), 1);
    names.push_back(name);
  }
  void start()
  {
    rawhal_instance_options_t options = {};
    const std::string chip = GetParam();
    const std::string all = "gpus=1,vram_mib=64,timeout_ms=8000,chip=" + chip +
                            ",listed=" + (chip == "gfx90a" ? "0" : "gfx90a");
    options.backend = RAWHAL_BACKEND_SOFTGPU;
    options.softgpu_options = all.c_str();
    options.log = hear;
    options.log_context = this;
    ASSERT_OK(rawhal_instance_create(&options, &instance, &error));
    device = rawhal_instance_device(instance, 0);
  }
  // Ends the runtime and starts it, with what the environment says now.
  void again()
  {
    DeviceTest::TearDown();
    queues.clear(), executables.clear(), buffers.clear();
    start();
  }

  static void hear(void *context, rawhal_severity_t severity, const char *message)
  {
    auto *test = static_cast<CoreFile *>(context);
    if (severity == RAWHAL_SEVERITY_ERROR)
      test->lines += std::string(message) + "\n";
    if (test->when_told)
      test->when_told();
  }
  std::vector<std::string> files() const
  {
    std::vector<std::string> found;
    DIR *open = opendir(folder);
    while (const dirent *entry = open ? readdir(open) : nullptr)
      if (entry->d_name[0] != '.')
        found.push_back(entry->d_name);
    if (open)
      closedir(open);
    return found;
  }
  std::vector<char> only_file() const
  {
    const std::vector<std::string> found = files();
    EXPECT_EQ(found.size(), 1u) << lines;
    std::ifstream file(std::string(folder) + "/" + (found.empty() ? "none" : found[0]),
                       std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // 1,024 work-items too many: work-group 4 faults.
  void fault()
  {
    const char *name =
        strcmp(GetParam(), "gfx90a") ? "mistakes-gfx942-v5.co" : "mistakes-gfx90a-v5.co";
    out = buffer(4096);
    Blob blob;
    blob.add(rawhal_buffer_address(out)).add(0x5eed5eedu);
    const rawhal_device_kernel_t *fill = kernel(name, "fill");
    rawhal_dispatch_t dispatch = dispatch_of(fill, 2048, 256, blob);
    dispatch.label = "step 7";
    rawhal_queue_t *on = queue();
    rawhal_queue_label(on, "decode");
    EXPECT_EQ(run(on, dispatch), RAWHAL_FAULT);
  }

  char folder[64];
  struct rlimit before = {};
  std::vector<std::string> names;
  std::string lines;
  std::function<void()> when_told;
  rawhal_buffer_t *out = nullptr;
};

Seen walk(const core_view_t &view)
{
  Seen seen;
  walk_visitor_t visitor = {};
  visitor.context = &seen;
  visitor.agent = [](void *to, const walk_agent_t *) {
    return ++static_cast<Seen *>(to)->agents, true;
  };
  visitor.queue = [](void *to, const walk_queue_t *) {
    return ++static_cast<Seen *>(to)->queues, true;
  };
  visitor.object = [](void *to, const walk_object_t *object) {
    return static_cast<Seen *>(to)->objects.push_back(*object), true;
  };
  visitor.wave = [](void *to, const walk_wave_t *wave) {
    return static_cast<Seen *>(to)->waves.push_back(*wave), true;
  };
  walk_finding_t finding = {};
  EXPECT_TRUE(core_walk(&view, &visitor, &finding)) << core_mistake_text(finding.mistake);
  EXPECT_EQ(finding.seen, 0u);
  return seen;
}

TEST_P(CoreFile, HasNoContentsUnlessTheyAreAskedFor)
{
  char byte;
  fault();
  const std::vector<char> without = only_file();
  core_file_t file = {};
  ASSERT_EQ(core_file_open(&file, {without.data(), without.size()}, &error), RAWHAL_OK);
  EXPECT_FALSE(core_view_read(&file.view, rawhal_buffer_address(out), &byte, 1));
  core_file_note_t note;
  core_record_t record;
  rawhal_fault_t told;
  std::vector<std::string> labels; // of the fault's dispatch, and of the first that is listed
  for (core_note_cursor_t cursor = {}; core_file_note(&file, &cursor, &note);)
    if (core_note_is_of(&note, "RAWHAL")) {
      uint64_t at = 0;
      if (note.type == CORE_NOTE_CAUSE && core_notes_fault(note.bytes, &told))
        labels.push_back(told.label);
      if (note.type == CORE_NOTE_DISPATCHES && core_notes_next(note.bytes, &at, &record))
        for (const rawhal_string_t &text :
             {record.as.dispatch.label, record.as.dispatch.queue_label})
          labels.push_back({text.data, text.size});
    }
  EXPECT_EQ(labels, (std::vector<std::string>{"step 7", "step 7", "decode"}));
  core_file_close(&file);
  unlink((std::string(folder) + "/" + files()[0]).c_str());
  set("RAWHAL_CORE_CONTENTS", "all");
  again();
  fault();
  const std::vector<char> with = only_file();
  ASSERT_EQ(core_file_open(&file, {with.data(), with.size()}, &error), RAWHAL_OK);
  EXPECT_TRUE(core_view_read(&file.view, rawhal_buffer_address(out) + 4095, &byte, 1));
  core_file_close(&file);
}

TEST_P(CoreFile, IsWrittenOnceAnHour)
{
  set("RAWHAL_CORE_PER_HOUR", "1");
  set("RAWHAL_CORE", std::string(folder) + "/%t-%p");
  again();
  fault();
  ASSERT_EQ(files().size(), 1u) << lines;
  const std::string first = files()[0];
  lines.clear();
  fault();
  EXPECT_EQ(files(), std::vector<std::string>{first});
  EXPECT_NE(lines.find("no core file: this hour's"), std::string::npos) << lines;
}

// Whatever the hook waits for, other threads get on.
TEST_P(CoreFile, IsToldOfWithoutLocks)
{
  int told = 0, ready = 0;
  rawhal_buffer_t *mine = buffer(4096);
  when_told = [&] {
    auto size = std::async(std::launch::async, [&] { return rawhal_buffer_size(mine); });
    ++told;
    ready += size.wait_for(std::chrono::seconds(10)) == std::future_status::ready;
  };
  fault();
  when_told = nullptr;
  EXPECT_GE(told, 2) << lines; // of the file, and of the queue
  EXPECT_EQ(ready, told) << lines;
}

// It stands in a pipe that nobody reads, while other threads make buffers, code and queues.
TEST_P(CoreFile, IsWrittenWithoutLocks)
{
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  set("RAWHAL_CORE", "fd:" + std::to_string(ends[1]));
  set("RAWHAL_CORE_PER_HOUR", "1");
  set("RAWHAL_CORE_CONTENTS", "all");
  again();
  const std::string name = std::string("mistakes-") + GetParam() + "-v5.co";
  std::string core;
  auto reader = std::async(std::launch::async, [&] {
    char bytes[1 << 16];
    ssize_t got = read(ends[0], bytes, sizeof(bytes));
    buffer(4096);
    kernel(name.c_str(), "fill");
    queue();
    EXPECT_EQ(lines, ""); // it has not been given up meanwhile
    for (; got > 0; got = read(ends[0], bytes, sizeof(bytes)))
      core.append(bytes, static_cast<size_t>(got));
  });
  fault();
  EXPECT_EQ(write(ends[1], "end", 3), 3); // it stays open
  close(ends[1]);
  reader.get();
  close(ends[0]);
  EXPECT_NE(lines.find("core file fd:"), std::string::npos) << lines;
  EXPECT_EQ(lines.find("no core file"), std::string::npos) << lines;
  ASSERT_GT(core.size(), 2u * 65536);
  core_file_t file = {};
  ASSERT_EQ(core_file_open(&file, {core.data(), core.size()}, &error), RAWHAL_OK) << error.message;
  EXPECT_FALSE(walk(file.view).waves.empty());
  core_file_close(&file);
}

// Two queues die at once, by two threads; whoever reads gets one file, and then the other.
TEST_P(CoreFile, OneComesAfterTheOther)
{
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  set("RAWHAL_CORE", "fd:" + std::to_string(ends[1]));
  set("RAWHAL_CORE_CONTENTS", "all");
  again();
  buffer(1 << 20); // more than a pipe holds
  std::mutex guard;
  std::vector<size_t> sizes;
  when_told = [&] {
    const std::lock_guard<std::mutex> held(guard);
    const size_t at = lines.rfind("core file fd:");
    if (at != std::string::npos) {
      sizes.push_back(std::stoul(lines.substr(lines.find(": ", at) + 2)));
      lines.clear();
    }
  };
  rawhal_queue_t *both[] = {queue(), queue()};
  std::vector<std::future<void>> deaths;
  std::atomic<int> dying{0};
  for (rawhal_queue_t *each : both)
    deaths.push_back(std::async(std::launch::async, [each, &dying] {
      rawhal_error_t why;
      ++dying;
      (void)!rawhal_queue_report(each, HSA_STATUS_ERROR_EXCEPTION, &why);
    }));
  while (dying < 2)
    std::this_thread::yield();
  std::string all;
  auto reader = std::async(std::launch::async, [&] {
    char bytes[1 << 12];
    for (ssize_t got; (got = read(ends[0], bytes, sizeof(bytes))) > 0;)
      all.append(bytes, static_cast<size_t>(got));
  });
  for (std::future<void> &death : deaths)
    death.get();
  when_told = nullptr;
  close(ends[1]);
  reader.get();
  close(ends[0]);
  ASSERT_EQ(sizes.size(), 2u) << lines;
  ASSERT_EQ(all.size(), sizes[0] + sizes[1]);
  for (size_t i = 0, at = 0; i < 2; at += sizes[i++]) {
    core_file_t file = {};
    ASSERT_EQ(core_file_open(&file, {all.data() + at, sizes[i]}, &error), RAWHAL_OK)
        << error.message;
    EXPECT_EQ(walk(file.view).queues, 2u);
    core_file_close(&file);
  }
}

TEST_P(CoreFile, GoesToNoDescriptorThatHasBecomeAnothers)
{
  const std::string other = std::string(folder) + "/other";
  const int file = open((std::string(folder) + "/first").c_str(), O_CREAT | O_WRONLY, 0600);
  set("RAWHAL_CORE", "fd:" + std::to_string(file));
  again();
  const int mine = open(other.c_str(), O_CREAT | O_WRONLY, 0600);
  ASSERT_EQ(dup2(mine, file), file);
  fault();
  struct stat about = {};
  ASSERT_EQ(fstat(mine, &about), 0);
  EXPECT_EQ(about.st_size, 0);
  EXPECT_NE(lines.find("is not what it was"), std::string::npos) << lines;
  close(file);
  close(mine);
}

TEST_P(CoreFile, GoesToAProgram)
{
  const std::string taken = std::string(folder) + "/taken", script = std::string(folder) + "/take";
  std::ofstream(script) << "#!/bin/sh\ncat > $1.$2\n";
  ASSERT_EQ(chmod(script.c_str(), 0700), 0);
  set("RAWHAL_CORE", "|" + script + " " + taken + " %p");
  set("RAWHAL_CORE_PER_HOUR", "1");
  again();
  fault();
  fault();
  EXPECT_NE(lines.find("core file |" + script), std::string::npos) << lines;
  EXPECT_EQ(lines.find("no core file"), std::string::npos) << lines;
  ASSERT_EQ(unlink(script.c_str()), 0);
  const std::vector<char> bytes = only_file();
  core_file_t file = {};
  ASSERT_EQ(core_file_open(&file, {bytes.data(), bytes.size()}, &error), RAWHAL_OK);
  core_file_close(&file);
}

TEST_P(CoreFile, IsWrittenOnceAnHourIntoAFolderThatThePatternNames)
{
  const std::string sub = std::string(folder) + "/test_hal";
  ASSERT_EQ(mkdir(sub.c_str(), 0700), 0);
  set("RAWHAL_CORE_PER_HOUR", "1");
  set("RAWHAL_CORE", std::string(folder) + "/%e/core");
  again();
  fault();
  EXPECT_EQ(unlink((sub + "/core").c_str()), 0) << lines;
  fault();
  EXPECT_NE(unlink((sub + "/core").c_str()), 0) << lines;
  EXPECT_EQ(unlink((sub + "/.rawhal-core-" + std::to_string(geteuid()) + "-test_hal").c_str()), 0);
  EXPECT_EQ(rmdir(sub.c_str()), 0);
}

// The watchdog has noted the waves of a dispatch; that ended later, before the queue died.
TEST_P(CoreFile, HasNoWavesOfWhatHasEnded)
{
  set("RAWHAL_WATCHDOG", "20ms");
  again();
  std::promise<void> hung;
  bool told = false;
  when_told = [&] {
    if (!told && lines.find("has not got on") != std::string::npos)
      told = true, hung.set_value();
  };
  const std::string name = std::string("mistakes-") + GetParam() + "-v5.co";
  rawhal_buffer_t *flag = buffer(4096, RAWHAL_MEMORY_HOST);
  auto *value = static_cast<uint32_t *>(rawhal_buffer_host(flag));
  __atomic_store_n(value, 0u, __ATOMIC_SEQ_CST);
  Blob blob;
  blob.add(rawhal_buffer_address(flag));
  rawhal_queue_t *on = queue();
  const rawhal_dispatch_t dispatch = dispatch_of(kernel(name.c_str(), "wait_for"), 64, 64, blob);
  rawhal_ticket_t ticket = 0;
  ASSERT_OK(rawhal_queue_submit(on, &dispatch, 1, RAWHAL_FOREVER, &ticket, &error));
  hung.get_future().wait();
  __atomic_store_n(value, 1u, __ATOMIC_SEQ_CST);
  ASSERT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
  ASSERT_OK(rawhal_queue_report(on, HSA_STATUS_ERROR, &error));
  when_told = nullptr;
  const std::vector<char> bytes = only_file();
  core_file_t file = {};
  ASSERT_EQ(core_file_open(&file, {bytes.data(), bytes.size()}, &error), RAWHAL_OK);
  const Seen seen = walk(file.view);
  EXPECT_EQ(seen.queues, 1u);
  EXPECT_TRUE(seen.waves.empty());
  core_file_close(&file);
}

TEST_P(CoreFile, SaysWhyItCannotBeWritten)
{
  set("RAWHAL_CORE", std::string(folder) + "/nowhere/core");
  again();
  fault();
  EXPECT_TRUE(files().empty());
  EXPECT_NE(lines.find("no core file: "), std::string::npos) << lines;
}

INSTANTIATE_TEST_SUITE_P(, CoreFile, testing::Values("gfx90a"),
                         [](const testing::TestParamInfo<const char *> &info) {
                           return std::string(info.param);
                         });

TEST(CoreSettings, ThatAreWrongAreRefused)
{
  rawhal_error_t error = {};
  rawhal_instance_t *instance = nullptr;
  rawhal_instance_options_t options = {};
  options.backend = RAWHAL_BACKEND_SOFTGPU;
  setenv("RAWHAL_CORE_BYTES", "many", 1);
  EXPECT_EQ(rawhal_instance_create(&options, &instance, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_NE(std::string(error.message).find("RAWHAL_CORE_BYTES"), std::string::npos)
      << error.message;
  unsetenv("RAWHAL_CORE_BYTES");
}

} // namespace
