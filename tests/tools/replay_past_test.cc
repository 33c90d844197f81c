// rawhal replay --stop-at, --last-write, --order: of dispatches that this process ran and recorded.
#include <rawhal/recorder.h>

#include <set>
#include <sstream>

#include "tests/extended.h"
#include "tests/hal/device_test.h"
#include "tests/tools/command.h"

namespace {

constexpr uint32_t kItems = 256, kWords = 512;

class ReplayPast : public DeviceTest {
protected:
  void SetUp() override {}

  void TearDown() override
  {
    if (instance)
      DeviceTest::TearDown();
    for (const char *name : {"SOFTGPU_ORDER"})
      unsetenv(name);
  }

  // The order of this process's dispatches, too, so that a replay sees the same mistakes.
  void begin(const std::string &of, unsigned order = 1)
  {
    TearDown();
    queues.clear(), executables.clear(), buffers.clear();
    instance = nullptr;
    chip = of;
    const std::string all = "gpus=1,vram_mib=64,timeout_ms=60000,order=" + std::to_string(order) +
                            ",chip=" + of + ",listed=" + (of == "gfx90a" ? "0" : "gfx90a");
    rawhal_instance_options_t options = {};
    options.backend = RAWHAL_BACKEND_SOFTGPU;
    options.softgpu_options = all.c_str();
    ASSERT_OK(rawhal_instance_create(&options, &instance, &error));
    device = rawhal_instance_device(instance, 0);
    code = load("seeded-" + chip + "-v5.co");
    std::vector<uint32_t> values(kWords);
    for (uint32_t i = 0; i < kWords; ++i)
      values[i] = 1000 + i * 7;
    in = upload(values);
    out = upload(std::vector<uint32_t>(kWords, 0xaaaaaaaa));
  }

  // Runs a kernel of seeded.cl and records it.
  void record(const char *name)
  {
    const rawhal_device_kernel_t *kernel = nullptr;
    ASSERT_OK(rawhal_executable_kernel(code, rawhal_string(name), 0, &kernel, &error));
    const Blob blob = Blob().add(rawhal_buffer_address(out)).add(rawhal_buffer_address(in));
    const rawhal_dispatch_t dispatch = dispatch_of(kernel, kItems, 128, blob);
    rawhal_recorder_t *recorder = nullptr;
    rawhal_capture_t *capture = nullptr;
    unlink(path.c_str());
    ASSERT_OK(rawhal_recorder_create(device, path.c_str(), nullptr, &recorder, &error));
    ASSERT_OK(rawhal_buffer_write(out, 0, std::vector<uint32_t>(kWords, 0xaaaaaaaa).data(),
                                  4 * kWords, &error));
    rawhal_queue_t *on = queue();
    ASSERT_OK(rawhal_recorder_begin(recorder, on, &dispatch, &capture, &error));
    ASSERT_OK(run(on, dispatch));
    ASSERT_OK(rawhal_recorder_end(capture, true, &error));
    ASSERT_OK(rawhal_recorder_close(recorder, &error));
  }

  // The first element that is not as it should be.
  uint32_t wrong()
  {
    const std::vector<uint32_t> got = download<uint32_t>(out, kItems),
                                given = download<uint32_t>(in, kItems);
    for (uint32_t i = 0; i < kItems; ++i)
      if (got[i] != given[i] + 1)
        return i;
    return kItems;
  }

  Outcome replay(std::vector<std::string> words)
  {
    words.insert(words.begin(), {tool, "replay", path});
    return ::run(words);
  }
  Json ask(std::vector<std::string> words, int status = 0)
  {
    words.push_back("--json");
    const Outcome got = replay(words);
    EXPECT_EQ(status, got.status) << got.err << got.out;
    return parse(got.out);
  }
  static const json_t *part(const Json &document, const char *key)
  {
    return json_object_get(json_object_get(document.get(), "past"), key);
  }
  static const json_t *writer_of(const Json &document, size_t index = 0)
  {
    return json_object_get(json_array_get(part(document, "writes"), index), "writer");
  }

  // The line of a kernel's mistake.
  static long long seeded(const std::string &kernel)
  {
    std::istringstream source(slurp(RAWHAL_SOURCE_DIR "/tests/fixtures/src/seeded.cl"));
    const std::string begin =
        kernel == "within_function" ? " void clear(" : "KERNEL(" + kernel + ")";
    bool within = false;
    std::string line;
    for (long long number = 1; std::getline(source, line); ++number) {
      within |= contains(line, begin);
      if (within && contains(line, "/* SEEDED */"))
        return number;
    }
    return 0;
  }

  Scratch scratch;
  std::string path = scratch / "recording", core = scratch / "core", chip;
  rawhal_executable_t *code = nullptr;
  rawhal_buffer_t *in = nullptr, *out = nullptr;
};

const char *const kernels[] = {
    "bad_index",      "off_by_one",  "lane_mask",      "stale_pointer", "missing_barrier",
    "unwritten_lds",  "late_clear",  "wide_store",     "byte_index",    "wrong_stride",
    "wrong_counter",  "wrong_group", "negative_index", "wrong_value",   "narrowed",
    "wrong_end",      "twice",       "all_lanes",      "vector_store",  "wrong_exchange",
    "within_function"};

// What wrote the first wrong element last is the mistake; where that value came from LDS, what wrote
// that before.
TEST_F(ReplayPast, NamesTheMistake)
{
  for (const char *of : {"gfx90a", "gfx942"}) {
    begin(of);
    for (const char *name : kernels) {
      SCOPED_TRACE(of + std::string(" ") + name);
      record(name);
      const uint32_t at = wrong();
      ASSERT_LT(at, kItems) << "its result is right";
      const std::string element = "out+" + std::to_string(4 * at);
      Json got = ask({"--last-write", element + ":4"});
      EXPECT_EQ("ran", text_of(got.get(), "result"));
      EXPECT_EQ(name, text_of(got.get(), "kernel"));
      // Of an element some bytes may be another's.
      std::set<long long> named;
      for (size_t i = 0; i < json_array_size(part(got, "writes")); ++i)
        named.insert(number_of(writer_of(got, i), "line"));
      const json_t *writer = writer_of(got);
      ASSERT_TRUE(writer);
      EXPECT_TRUE(contains(text_of(writer, "file"), "seeded.cl"));
      EXPECT_EQ(std::string(name) == "within_function" ? "clear" : name, text_of(writer, "symbol"));
      if (std::string(name) == "missing_barrier") {
        const long long wave = number_of(writer, "wave");
        const long long group = json_integer_value(
                            json_array_get(json_object_get(writer, "workgroup"), 0)),
                        word = (at % 128) ^ 64;
        const std::string moment = std::to_string(group) + "/" + std::to_string(wave) + ":" +
                                   std::to_string(number_of(writer, "instructions"));
        got = ask({"--stop-at", moment, "--last-write",
                   "lds@" + std::to_string(group) + "+" + std::to_string(4 * word)});
        EXPECT_EQ("stopped", text_of(got.get(), "result"));
        named = {number_of(writer_of(got), "line")};
        EXPECT_NE(wave, number_of(writer_of(got), "wave"));
      }
      EXPECT_TRUE(named.count(seeded(name))) << seeded(name) << " and not " << *named.begin();
      if (std::string(name) == "unwritten_lds") {
        got = ask({"--last-write", "lds@0+280"});
        EXPECT_FALSE(json_is_object(writer_of(got))) << "nobody wrote it";
      }
    }
  }
}

// Each lane's own element, by place and wave.
TEST_F(ReplayPast, SaysWhichWaveAndLane)
{
  begin("gfx90a");
  record("bad_index");
  const Json got = ask({"--last-write", "out:" + std::to_string(4 * kWords)});
  const json_t *writes = part(got, "writes");
  uint64_t next = rawhal_buffer_address(out);
  for (size_t i = 0; i < json_array_size(writes); ++i) {
    const json_t *write = json_array_get(writes, i), *writer = json_object_get(write, "writer");
    EXPECT_EQ(next, std::stoull(text_of(write, "address"), nullptr, 16));
    const uint64_t item = (next - rawhal_buffer_address(out)) / 4;
    next += static_cast<uint64_t>(number_of(write, "bytes"));
    if (item >= kItems) {
      EXPECT_TRUE(json_is_null(writer)) << item;
      continue;
    }
    const bool is_wrong = item % 128 == 45;
    EXPECT_EQ(is_wrong ? 5 : item % 64, number_of(writer, "lane")) << item;
    EXPECT_EQ(is_wrong ? 0 : item % 128 / 64, number_of(writer, "wave")) << item;
    EXPECT_EQ(item / 128,
              json_integer_value(json_array_get(json_object_get(writer, "workgroup"), 0)));
  }
  EXPECT_EQ(rawhal_buffer_address(out) + 4 * kWords, next);
  char address[64];
  snprintf(address, sizeof(address), "0x%llx:8",
           static_cast<unsigned long long>(rawhal_buffer_address(out) + 4 * 45));
  const Outcome text = replay({"--last-write", address});
  EXPECT_EQ(0, text.status) << text.err;
  EXPECT_TRUE(contains(text.out, ", 4 bytes: bad_index+0x")) << text.out;
  EXPECT_TRUE(contains(text.out, "work-group 0,0,0 wave 0 lane 5, after ")) << text.out;
  EXPECT_TRUE(contains(text.out, "/seeded.cl:" + std::to_string(seeded("bad_index")) + "\n"))
      << text.out;
  const Outcome untouched = replay({"--last-write", "out+1024:16"});
  EXPECT_TRUE(contains(untouched.out, ", 16 bytes, out+0x400: written before the dispatch, by the "
                                      "host or a copy\n"))
      << untouched.out;
  const Outcome by_number = replay({"--last-write", "%0+1024:16"});
  EXPECT_TRUE(contains(by_number.out, ", 16 bytes, %0+0x400: written before")) << by_number.out;
  const Outcome input = replay({"--last-write", "in"});
  EXPECT_TRUE(contains(input.out, ", 4 bytes, in+0x0: written before the dispatch")) << input.out;
}

// The core has the wave where it was stopped, and what it had written by then.
TEST_F(ReplayPast, WritesACoreAtTheMoment)
{
  begin("gfx90a");
  record("bad_index");
  const Json got = ask({"--last-write", "out+180", "--core", core});
  EXPECT_EQ("stopped", text_of(got.get(), "result"));
  const json_t *stopped = part(got, "stopped"), *writer = writer_of(got);
  for (const char *key : {"symbol", "file", "instruction", "object_address"})
    EXPECT_EQ(text_of(writer, key), text_of(stopped, key)) << key;
  for (const char *key : {"wave", "instructions", "line", "offset"})
    EXPECT_EQ(number_of(writer, key), number_of(stopped, key)) << key;
  EXPECT_EQ(core, text_of(json_object_get(got.get(), "past"), "core"));
  const Outcome shown = ::run({tool, "core", "show", core});
  EXPECT_EQ(0, shown.status) << shown.err;
  char place[64];
  snprintf(place, sizeof(place), "bad_index+0x%llx", number_of(stopped, "offset"));
  EXPECT_TRUE(contains(shown.out, "stopped as asked in kernel 'bad_index'")) << shown.out;
  EXPECT_TRUE(contains(shown.out, place)) << shown.out;
  // From which the dispatch is launched again, and asked.
  const std::string recording = path;
  path = core;
  const Json again = ask({"--last-write", "out+180:4"});
  EXPECT_EQ(seeded("bad_index"), number_of(writer_of(again), "line"));
  path = recording;
  // One that is not come to leaves no file, and what is there stays.
  unlink(core.c_str());
  const Outcome late = replay({"--stop-at", "0:1000000", "--core", core});
  EXPECT_EQ(1, late.status) << late.err;
  EXPECT_TRUE(contains(late.out, "stopped   no: the dispatch ended before that moment"))
      << late.out;
  EXPECT_TRUE(contains(late.out, "core      none: the moment did not come\n")) << late.out;
  EXPECT_NE(0, access(core.c_str(), F_OK));
  const Outcome folder = replay({"--stop-at", "0:1", "--core", "/nowhere/at/all"});
  expect_refusal({folder.status, "", folder.err}, 3, "cannot write '/nowhere/at/all'");
}

TEST_F(ReplayPast, StopsWhereItIsSaid)
{
  begin("gfx90a");
  record("within_function");
  const struct {
    const char *moment, *told;
  } rows[] = {
      {"0:0",
       "stopped   work-group 0,0,0 wave 0 after 0 instructions, before within_function+0x0:"},
      {"3:5", "stopped   work-group 1,0,0 wave 1 after 5 instructions, before within_function+0x"},
      {"1,0,0/0:7", "stopped   work-group 1,0,0 wave 0 after 7 instructions, before "},
      {"1/1:7", "stopped   work-group 1,0,0 wave 1 after 7 instructions, before "},
      {"clear", "before clear+0x0: "},
      {"clear:2", "stopped   work-group 1,0,0 wave 1 after "},
      {"within_function:4", " after 0 instructions, before within_function+0x0: "},
      {"+0", "stopped   work-group 0,0,0 wave 0 after 0 instructions"},
  };
  for (const auto &row : rows) {
    const Outcome got = replay({"--stop-at", row.moment});
    EXPECT_EQ(0, got.status) << row.moment << got.err << got.out;
    EXPECT_TRUE(contains(got.out, row.told)) << row.moment << got.out;
  }
  const Json by_name = ask({"--stop-at", "clear:2"});
  const Json by_address =
      ask({"--stop-at", text_of(part(by_name, "stopped"), "object_address") + ":2"});
  EXPECT_EQ(text_of(json_object_get(by_name.get(), "past"), "run"),
            text_of(json_object_get(by_address.get(), "past"), "run"));
  EXPECT_EQ(1, replay({"--stop-at", "clear:3"}).status);
}

// Wherever it is stopped, before or after, "last" is what was last by then.
TEST_F(ReplayPast, LastBeforeTheMoment)
{
  begin("gfx90a");
  record("lane_mask");
  const Json whole = ask({"--last-write", "out+128"});
  const json_t *last = writer_of(whole);
  ASSERT_TRUE(json_is_object(last));
  EXPECT_EQ(seeded("lane_mask"), number_of(last, "line"));
  const std::string instructions = std::to_string(number_of(last, "instructions"));
  const Json before = ask({"--stop-at", "0:" + instructions, "--last-write", "out+128"});
  EXPECT_LT(number_of(writer_of(before), "instructions"), number_of(last, "instructions"));
  EXPECT_GT(number_of(writer_of(before), "line"), 0);
  EXPECT_LT(number_of(writer_of(before), "line"), number_of(last, "line"));
  const Json first = ask({"--stop-at", "0:0", "--last-write", "out+128"});
  EXPECT_TRUE(json_is_null(writer_of(first)));
}

// The same number, the same run: in this process, and in another.
TEST_F(ReplayPast, TheSameOrderIsTheSameRun)
{
  std::set<std::string> runs;
  const int times = by_length(is_sanitized ? 1 : 2, 8, 100);
  for (const char *order : {"1", "2", "77"}) {
    begin("gfx90a", static_cast<unsigned>(atoi(order)));
    record("missing_barrier");
    for (int n = 0; n < times; ++n) {
      const Json got = ask({"--order", order});
      EXPECT_EQ("same", text_of(got.get(), "result")) << order;
      runs.insert(text_of(json_object_get(got.get(), "past"), "run"));
    }
  }
  EXPECT_EQ(3u, runs.size());
  const Outcome environment =
      ::run({tool, "replay", path, "--stop-at", "0:3"}, {"SOFTGPU_ORDER=9"});
  EXPECT_TRUE(contains(environment.out, "\norder     9: run ")) << environment.out;
  const Outcome text = replay({"--order", "5"});
  EXPECT_TRUE(contains(text.out, "\norder     5: run ")) << text.out;
}

TEST_F(ReplayPast, RefusesWhatMakesNoSense)
{
  begin("gfx90a");
  record("bad_index");
  const struct {
    std::vector<std::string> words;
    int status;
    const char *told;
  } rows[] = {
      {{"--core", "x"}, 2, "--core needs --stop-at or --last-write"},
      {{"--order", "0"}, 2, "--order: expected a number from 1 on"},
      {{"--stop-at", "5"}, 2, "--stop-at: expected"},
      {{"--stop-at", "0/1"}, 2, "--stop-at: expected"},
      {{"--stop-at", "1,2,3,4/1:5"}, 2, "--stop-at: expected"},
      {{"--stop-at", ""}, 2, "--stop-at: expected"},
      {{"--stop-at", "bad_index:0"}, 2, "--stop-at: expected"},
      {{"--last-write", ""}, 2, "--last-write: expected"},
      {{"--last-write", "out:0"}, 2, "--last-write: expected"},
      {{"--last-write", "out:1048577"}, 2, "--last-write: expected"},
      {{"--last-write", "lds@1,+4"}, 2, "--last-write: expected"},
      {{"--stop-at", "0:1", "--device", "hsa"}, 2, "need softgpu, not hardware"},
      {{"--stop-at", "4:1"}, 3, "there is no such wave: the dispatch has 2x1x1 work-groups of 2"},
      {{"--stop-at", "0/2:1"}, 3, "there is no such wave"},
      {{"--stop-at", "nothing+4"}, 3, "the code object has no function 'nothing'"},
      {{"--last-write", "0x10"}, 3, "the 4 bytes at 0x10 are not in one of the 2 buffers"},
      {{"--last-write", "out+2046:4"}, 3, "are not in one of the 2 buffers"},
      {{"--last-write", "%2"}, 3, "the kernel has no pointer '%2' among its arguments"},
      {{"--last-write", "width"}, 3, "the kernel has no pointer 'width' among its arguments"},
  };
  for (const auto &row : rows) {
    const Outcome got = replay(row.words);
    EXPECT_EQ(row.status, got.status) << row.told << got.err;
    EXPECT_TRUE(contains(got.err, row.told)) << row.told << got.err;
  }
}

TEST_F(ReplayPast, JsonIsAsItsSchemaSays)
{
  begin("gfx90a");
  record("bad_index");
  const Json schema = parse(slurp(RAWHAL_SOURCE_DIR "/docs/replay.schema.json"));
  const json_t *parts = json_object_get(schema.get(), "$defs");
  const Json got = ask({"--stop-at", "3:20", "--last-write", "out:1040"});
  expect_described(got.get(), schema.get());
  expect_described(json_object_get(got.get(), "past"), json_object_get(parts, "past"));
  expect_described(part(got, "stopped"), json_object_get(parts, "stopped"));
  const Json whole = ask({"--last-write", "out:1040"});
  expect_described(json_array_get(part(whole, "writes"), 0), json_object_get(parts, "write"));
  expect_described(writer_of(whole), json_object_get(parts, "writer"));
  EXPECT_TRUE(json_is_null(part(whole, "stopped")));
}

} // namespace
