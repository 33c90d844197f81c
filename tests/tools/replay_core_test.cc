// rawhal replay CORE: what this process did wrong goes wrong once more in the command's.
#include <functional>

#include "tests/hal/device_test.h"
#include "tests/tools/command.h"

namespace {

class ReplayCore : public DeviceTest {
protected:
  void SetUp() override
  {
    file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    ASSERT_GE(file, 0);
    setenv("RAWHAL_CORE", ("fd:" + std::to_string(file)).c_str(), 1);
  }
  void TearDown() override
  {
    DeviceTest::TearDown();
    for (const char *name : {"RAWHAL_CORE", "RAWHAL_CORE_CONTENTS"})
      unsetenv(name);
    close(file);
  }

  // Starts the runtime; files have these contents.
  void begin(const char *contents, const std::string &of = "gfx90a",
             const char *timeout_ms = "20000", const std::string &checks = "check_lds")
  {
    if (instance) {
      DeviceTest::TearDown();
      queues.clear(), executables.clear(), buffers.clear();
    }
    code = nullptr;
    chip = of;
    const bool is_known = of == "gfx90a" || of == "gfx1030"; // to the runtime
    const std::string listed = is_known ? "0" : of.substr(0, 5) == "gfx11" ? "gfx1030" : "gfx90a";
    const std::string all = "gpus=2,vram_mib=64," + checks + "=refuse,chip=" + of +
                            ",listed=" + listed + ",timeout_ms=" + timeout_ms;
    rawhal_instance_options_t options = {};
    options.backend = RAWHAL_BACKEND_SOFTGPU;
    options.softgpu_options = all.c_str();
    setenv("RAWHAL_CORE_CONTENTS", contents, 1);
    ASSERT_OK(rawhal_instance_create(&options, &instance, &error));
    device = rawhal_instance_device(instance, 0);
  }

  rawhal_dispatch_t of(const char *name, uint32_t grid, const Blob &blob, uint16_t workgroup = 64)
  {
    const rawhal_device_kernel_t *kernel = nullptr;
    if (!code)
      code = load("mistakes-" + chip + "-v5.co");
    EXPECT_OK(rawhal_executable_kernel(code, rawhal_string(name), 0, &kernel, &error));
    return dispatch_of(kernel, grid, grid < workgroup ? static_cast<uint16_t>(grid) : workgroup,
                       blob);
  }

  void rewind()
  {
    ASSERT_EQ(0, ftruncate(file, 0));
    ASSERT_EQ(0, lseek(file, 0, SEEK_SET));
  }

  // Runs it, which must fail and leave a file.
  void fail(const rawhal_dispatch_t &dispatch)
  {
    rewind();
    EXPECT_EQ(RAWHAL_FAULT, run(queue(), dispatch)) << error.message;
    EXPECT_GT(lseek(file, 0, SEEK_CUR), 0) << "no core file";
    rawhal_queue_destroy(queues.back());
    queues.pop_back();
  }
  void fail(const char *name, uint32_t grid, const Blob &blob, uint16_t workgroup = 64)
  {
    fail(of(name, grid, blob, workgroup));
  }

  Outcome replay(std::vector<std::string> words = {})
  {
    words.insert(words.begin(), {tool, "replay", path, "--device", "softgpu"});
    return ::run(words, {"RAWHAL_CORE=" + path, "RAWHAL_CORE_PER_HOUR=0"}); // none is written there
  }

  // In the middle of memory that was freed.
  uint64_t freed(size_t size)
  {
    rawhal_buffer_t *const gone = buffer(size);
    const uint64_t middle = at(gone) + size / 2;
    retire(gone);
    return middle;
  }
  static uint64_t at(const rawhal_buffer_t *buffer) { return rawhal_buffer_address(buffer); }

  Scratch scratch;
  std::string path = scratch / "core", chip;
  int file = -1;
  rawhal_executable_t *code = nullptr;
};

TEST_F(ReplayCore, FailsInTheSameWay)
{
  begin("all");
  rawhal_buffer_t *out = buffer(4096), *wide = buffer(32768);
  rawhal_device_t *first = device;
  device = rawhal_instance_device(instance, 1);
  rawhal_buffer_t *others = buffer(4096);
  device = first;
  (void)of("fill", 64, Blob().add(at(out)).add(7u)); // loads the code
  const uint64_t gone = freed(16 << 20);
  rawhal_buffer_t *table = upload<uint64_t>({at(out), gone});
  struct {
    uint32_t count, step;
    uint64_t data;
  } box = {64, 1, gone + 256};
  const struct {
    const char *kernel, *told, *also; // of both faults
    uint32_t grid;
    Blob blob;
  } mistakes[] = {
      {"store_at", ", 0 bytes past the end of the 4096 bytes at 0x", "write of 4", 1,
       Blob().add(at(out)).add(int64_t{1024}).add(7u)},
      {"store_at", ", 4 bytes before the 4096 bytes at 0x", "+", 1,
       Blob().add(at(out)).add(int64_t{-1}).add(7u)},
      {"store_at", ", 12 bytes past the end of the 4096 bytes at 0x", "+", 1, // the argument itself
       Blob().add(at(out) + 4108).add(int64_t{0}).add(7u)},
      {"fill", ", at offset ", " bytes (freed) at 0x", 64, Blob().add(gone + 512).add(7u)},
      {"fill", ", 0x0\n", "write", 64, Blob().add(uint64_t{0}).add(7u)},
      {"store_at", ", 0x18\n", "write", 1, Blob().add(uint64_t{0}).add(int64_t{6}).add(7u)},
      {"fill", ", 0x123456789000\n", "+", 64, Blob().add(uint64_t{0x123456789000}).add(7u)},
      {"fill", "of the 4096 bytes (no access) at 0x", "no access", 64,
       Blob().add(at(others)).add(7u)},
      {"widen", " bytes past the end of the 4096 bytes at 0x", "read", 64 * 64, // many fail
       Blob().add(at(wide)).add(at(out))},
      {"fill_box", ", at offset ", " bytes (freed)", 64, Blob().add(box).add(7u)},
      {"fill_table", ", at offset ", " bytes (freed)", 64, Blob().add(at(table)).add(1u).add(7u)},
      {"atomic_at", "atomic access of 4 bytes", "at offset 2 of", 1,
       Blob().add(at(out)).add(uint64_t{2})},
      {"scratch_at", "private segment", ", 0x400000\n", 1,
       Blob().add(at(out)).add(int64_t{1 << 20})},
      {"lds_at", "LDS", ", 0x10000\n", 1, Blob().add(at(out)).add(65536u)},
      {"give_up", "trap", ", 0x2\n", 1, Blob().add(1u)},
      {"not_code", "instruction", "+", 1, Blob().add(at(out))},
  };
  for (const auto &mistake : mistakes) {
    SCOPED_TRACE(std::string(mistake.kernel) + mistake.told);
    fail(mistake.kernel, mistake.grid, mistake.blob);
    const std::string bytes = slurp(path);
    const Outcome got = replay();
    EXPECT_TRUE(bytes == slurp(path)) << "it was replaced by its own";
    EXPECT_EQ(0, got.status) << got.err << got.out;
    EXPECT_TRUE(contains(got.out, "\nsame      it fails in the same way\n")) << got.out;
    const size_t recorded = got.out.find("\nrecorded "), replayed = got.out.find("\nreplayed ");
    ASSERT_TRUE(recorded != std::string::npos && replayed != std::string::npos) << got.out;
    const std::string first = got.out.substr(recorded, replayed - recorded + 1);
    // What lies beside a buffer may have been somebody's before, and the fault is told by that.
    if (contains(first, " bytes (freed) at ") && !contains(mistake.also, "(freed)"))
      continue;
    for (const char *word : {mistake.told, mistake.also}) {
      EXPECT_TRUE(contains(first, word)) << got.out;
      EXPECT_TRUE(contains(got.out.substr(replayed), word)) << got.out;
    }
  }
}

// Whose queues no debugger shows, and the file's lists leave out.
TEST_F(ReplayCore, FailsInTheSameWayOnRdna)
{
  for (const char *of : {"gfx1030", "gfx1100"}) {
    SCOPED_TRACE(of);
    begin("all", of);
    code = load("vector_add-" + chip + "-v5.co");
    const uint64_t out = at(buffer(256));
    fail("vector_add", 64, Blob().add(out).add(uint64_t{0x40}).add(out).add(64u));
    const Outcome got = replay();
    EXPECT_EQ(0, got.status) << got.err << got.out;
    EXPECT_TRUE(contains(got.out, "\nsame      it fails in the same way\n")) << got.out;
    EXPECT_TRUE(contains(got.out, "read of 4 bytes, 0x40\n")) << got.out;
  }
}

TEST_F(ReplayCore, ChecksWhatTheFaultWasFoundBy)
{
  static const struct {
    const char *check, *kernel, *told;
    uint32_t how;
  } rows[] = {
      {"check_lds", "lds_unwritten", "\nreplayed  read of unwritten LDS", 70},
      {"check_races", "lds_race", "\nreplayed  race in LDS", 0},
  };
  for (const auto &row : rows) {
    begin("all", "gfx90a", "20000", row.check);
    code = load("lds_checks-gfx90a-v5.co");
    fail(row.kernel, 256, Blob().add(at(buffer(1024))).add(row.how), 256);
    const Outcome got = replay();
    EXPECT_EQ(0, got.status) << got.err << got.out;
    EXPECT_TRUE(contains(got.out, row.told)) << got.out;
  }
}

TEST_F(ReplayCore, DoesNotEndAgain)
{
  begin("kernargs", "gfx90a", "1");
  fail("wait_for", 1, Blob().add(at(buffer(4096))));
  const Outcome got = replay({"--timeout", "1"});
  EXPECT_EQ(0, got.status) << got.err << got.out;
  EXPECT_TRUE(contains(got.out, "\nreplayed  time limit")) << got.out;
}

// A note says so of what the file lacks; where that is what it needs, it is refused.
TEST_F(ReplayCore, SaysWhatTheFileLacks)
{
  begin("none");
  fail("store_at", 1, Blob().add(at(buffer(4096))).add(int64_t{1024}).add(7u));
  expect_refusal(replay(), 3, "RAWHAL_CORE_CONTENTS=none");
  begin("kernargs");
  rawhal_buffer_t *table = upload<uint64_t>({0x123456789000});
  const Blob blob = Blob().add(at(table)).add(0u).add(7u);
  fail("fill_table", 64, blob);
  const Outcome lost = replay();
  EXPECT_EQ(1, lost.status) << lost.err << lost.out; // the pointer that it follows is null now
  EXPECT_TRUE(contains(lost.out, "note      of 8 bytes of 1 buffers the file has 0: the others"))
      << lost.out;
  EXPECT_TRUE(contains(lost.out, "\ndifferent address\n")) << lost.out;
  begin("all");
  table = upload<uint64_t>({0x123456789000});
  fail("fill_table", 64, Blob().add(at(table)).add(0u).add(7u));
  EXPECT_EQ(0, replay().status);
}

TEST_F(ReplayCore, SaysThatItDoesNotFailAgain)
{
  begin("kernargs", "gfx942"); // which is the device by itself
  const int64_t index = 0x12340;
  fail("store_at", 1, Blob().add(at(buffer(4096))).add(index).add(7u));
  Outcome got = replay();
  EXPECT_EQ(0, got.status) << got.err << got.out;
  EXPECT_TRUE(contains(got.out, "a gfx942 in software")) << got.out;
  std::string bytes = slurp(path);
  const std::string far(reinterpret_cast<const char *>(&index), sizeof(index));
  for (size_t found; (found = bytes.find(far)) != std::string::npos;)
    bytes.replace(found, far.size(), std::string(far.size(), 0));
  spit(path, bytes);
  got = replay();
  EXPECT_EQ(1, got.status) << got.err << got.out;
  EXPECT_TRUE(contains(got.out, "\ndifferent it does not fail\n")) << got.out;
  const Json document = parse(replay({"--json"}).out),
             schema = parse(slurp(RAWHAL_SOURCE_DIR "/docs/replay.schema.json"));
  const json_t *fault = json_object_get(document.get(), "fault"),
               *parts = json_object_get(schema.get(), "$defs");
  expect_described(document.get(), schema.get());
  expect_described(fault, json_object_get(parts, "fault"));
  expect_described(json_object_get(fault, "buffer"), json_object_get(parts, "buffer"));
  EXPECT_EQ("different", text_of(document.get(), "result"));
  EXPECT_TRUE(json_is_null(json_object_get(fault, "replayed")));
  EXPECT_EQ("store_at", text_of(json_object_get(fault, "recorded"), "kernel"));
  EXPECT_STREQ("no fault", json_string_value(json_array_get(json_object_get(fault, "differs"), 0)));
}

TEST_F(ReplayCore, OtherDispatches)
{
  begin("all");
  rawhal_buffer_t *out = buffer(4096);
  rawhal_queue_t *on = queue();
  const Blob good = Blob().add(at(out)).add(7u), bad = Blob().add(uint64_t{0}).add(7u);
  const rawhal_dispatch_t both[] = {of("fill", 64, good), of("fill", 64, bad)};
  rawhal_ticket_t ticket;
  ASSERT_OK(rawhal_queue_submit(on, both, 2, RAWHAL_FOREVER, &ticket, &error));
  ASSERT_EQ(RAWHAL_FAULT, rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
  EXPECT_EQ(0, replay().status);
  EXPECT_EQ(0, replay({"--kernel", "fill"}).status); // the first that is listed is what failed
  const Outcome other = replay({"--kernel", "2"});
  EXPECT_EQ(1, other.status) << other.err << other.out;
  EXPECT_TRUE(contains(other.out, "it is not the dispatch that failed, which is number 1"));
  expect_refusal(replay({"--kernel", "3"}), 3, "there is no dispatch 3 of 2");
  expect_refusal(replay({"--kernel", "empty"}), 3, "none of 2 dispatches is of kernel 'empty'");
  expect_refusal(replay({"--list"}), 2, "rawhal core show");
  const Outcome piped =
      ::run({"/bin/sh", "-c", tool + " replay - --device softgpu <" + path}, {"RAWHAL_CORE="});
  EXPECT_EQ(0, piped.status) << piped.err;
  path = fixtures + "empty-gfx90a-v5.co"; // a file of ELF, but no core
  expect_refusal(replay(), 3, "recording");
}

// Whatever bytes are wrong: there is an answer, or why there is none.
TEST_F(ReplayCore, DamageIsNeverFatal)
{
  begin("all");
  fail("store_at", 1, Blob().add(at(buffer(4096))).add(int64_t{1024}).add(7u));
  const std::string bytes = slurp(path);
  size_t answers = 0, turn = 0;
  for (size_t at = 60; at < bytes.size(); at += 1 + bytes.size() / 24, ++turn) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    spit(path, turn % 4 ? damaged : damaged.substr(0, at));
    const Outcome got = replay({"--json"});
    EXPECT_TRUE(got.status == 0 || got.status == 1 || got.status == 3) << at << got.err;
    EXPECT_TRUE(parse(got.out)) << at << got.out;
    answers += got.status != 3;
  }
  EXPECT_GT(answers, 0u);
}

} // namespace
