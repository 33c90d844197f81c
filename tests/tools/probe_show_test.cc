// rawhal probe show: numbers that were computed by hand, of records that were made up.
#include "tests/limit/schema.h"
#include "tests/tools/probe_scene.h"

extern "C" {
#include "tools/probe/access.h"
}

namespace {

using probes::lanes_from;

class ProbeShow : public testing::Test {
protected:
  std::string save(probes::Scene scene)
  {
    probes::save(path, scene);
    return path;
  }

  // The document, which is as its schema has it.
  Json document(const std::vector<std::string> &more = {})
  {
    std::vector<std::string> words = {tool, "probe", "show", path, "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome got = run(words);
    EXPECT_EQ(0, got.status) << got.err;
    Json parsed = parse(got.out);
    EXPECT_TRUE(parsed) << got.out;
    const Json schema = parse(slurp(RAWHAL_SOURCE_DIR "/docs/probe.schema.json"));
    EXPECT_TRUE(schema);
    if (schema && parsed) {
      EXPECT_EQ("", Violation(schema.get(), parsed.get()));
    }
    return parsed;
  }

  static const json_t *dispatch_of(const Json &document, size_t index = 0)
  {
    return json_array_get(json_object_get(document.get(), "dispatches"), index);
  }

  static const json_t *item(const json_t *object, const char *key, size_t index)
  {
    return json_array_get(json_object_get(object, key), index);
  }

  std::string text(const std::vector<std::string> &more = {})
  {
    std::vector<std::string> words = {tool, "probe", "show", path};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome got = run(words);
    EXPECT_EQ(0, got.status) << got.err;
    return got.out;
  }

  Scratch scratch;
  std::string path = scratch / "recording";
};

// "{key: number, ...}" of an object, for those keys.
std::string numbers(const json_t *object, const std::vector<const char *> &keys)
{
  std::string text;
  for (const char *key : keys)
    text += std::string(text.empty() ? "" : " ") + std::to_string(number_of(object, key));
  return text;
}

TEST_F(ProbeShow, Waves)
{
  save(probes::everything());
  const Json parsed = document();
  const json_t *dispatch = dispatch_of(parsed);
  const json_t *waves = json_object_get(dispatch, "waves");
  EXPECT_EQ("1 3", numbers(dispatch, {"dispatch", "queue"}));
  // 0 and 1 overlap, then 1 and 2 with 0; 3 begins when 2 is still there
  EXPECT_EQ("4 0 4 0 3 400 1", numbers(waves, {"recorded", "lost", "capacity", "unfinished",
                                               "at_once", "ticks", "sample_every"}));
  ASSERT_EQ(size_t{2}, json_array_size(json_object_get(waves, "units")));
  EXPECT_EQ("0 0 0 3 3 570 3", numbers(item(waves, "units", 0), {"xcc", "engine", "array", "cu",
                                                                 "waves", "ticks", "at_once"}));
  EXPECT_EQ("0 2 0 4 1 150 1", numbers(item(waves, "units", 1), {"xcc", "engine", "array", "cu",
                                                                 "waves", "ticks", "at_once"}));
  EXPECT_EQ(2, json_integer_value(item(item(waves, "units", 0), "simds", 0)));
  EXPECT_EQ(1, json_integer_value(item(item(waves, "units", 0), "simds", 1)));
  const json_t *third = item(waves, "sample", 3);
  const long long expected[] = {3, 1, 0, 0, 250, 400, 1, 0, 0};
  for (size_t i = 0; i < 9; ++i)
    EXPECT_EQ(expected[i], json_integer_value(json_array_get(third, i))) << i;
  const std::string shown = text();
  EXPECT_TRUE(contains(shown, "4 waves; 3 at once, on 2 CUs; the CU with most has 1.50 times the "
                              "mean"))
      << shown;
  EXPECT_TRUE(
      contains(shown, "400 ticks from the first start to the last end, of the host's time"));
}

TEST_F(ProbeShow, BlocksBranchesAndLanes)
{
  save(probes::everything());
  const Json parsed = document();
  const json_t *dispatch = dispatch_of(parsed);
  EXPECT_EQ(100, number_of(dispatch, "instructions")); // 4 * 10 + 1 * 10 + 25 * 2
  ASSERT_EQ(size_t{3}, json_array_size(json_object_get(dispatch, "blocks")));
  const std::vector<const char *> keys = {"offset", "bytes", "instructions", "count", "executed"};
  EXPECT_EQ("80 8 2 25 50", numbers(item(dispatch, "blocks", 0), keys));
  EXPECT_EQ("0 40 10 4 40", numbers(item(dispatch, "blocks", 1), keys));
  EXPECT_EQ("40 40 10 1 10", numbers(item(dispatch, "blocks", 2), keys));
  EXPECT_EQ(256, number_of(item(dispatch, "blocks", 1), "lanes"));
  EXPECT_TRUE(json_is_null(json_object_get(item(dispatch, "blocks", 0), "lanes")));
  EXPECT_EQ(size_t{80}, text_of(item(dispatch, "blocks", 1), "code").size());
  ASSERT_EQ(size_t{1}, json_array_size(json_object_get(dispatch, "branches")));
  EXPECT_EQ("36 80 1 3",
            numbers(item(dispatch, "branches", 0), {"offset", "target", "not_taken", "taken"}));
  const std::string shown = text();
  for (const char *words : {"3, 100 instructions of waves in all", "50.0%", "40.0%", "64.0",
                            "0x24       0x50       3            1            75.0%"})
    EXPECT_TRUE(contains(shown, words)) << words << "\n" << shown;
}

TEST_F(ProbeShow, MemoryAndItsNames)
{
  save(probes::everything());
  const Json parsed = document();
  const json_t *dispatch = dispatch_of(parsed);
  ASSERT_EQ(size_t{3}, json_array_size(json_object_get(dispatch, "accesses")));
  const json_t *load = item(dispatch, "accesses", 0), *store = item(dispatch, "accesses", 2);
  const std::vector<const char *> keys = {"times",     "lanes",     "lines_64", "least_64",
                                          "lines_128", "least_128", "elsewhere"};
  EXPECT_EQ("2 128 68 8 34 4 0", numbers(json_object_get(load, "global"), keys));
  EXPECT_EQ("1 32 4 4 2 2 0", numbers(json_object_get(store, "global"), keys));
  EXPECT_EQ("load", text_of(load, "access"));
  EXPECT_EQ("store", text_of(store, "access"));
  EXPECT_EQ("4 2 128 512 0", numbers(load, {"bytes_each", "times", "lanes", "bytes", "untold"}));
  EXPECT_EQ("8 1 32 256 0", numbers(store, {"bytes_each", "times", "lanes", "bytes", "untold"}));
  ASSERT_EQ(size_t{3}, json_array_size(json_object_get(dispatch, "allocations")));
  const json_t *in = item(dispatch, "allocations", 0), *out = item(dispatch, "allocations", 1);
  EXPECT_EQ("in, again", text_of(in, "name")); // two arguments lead there
  EXPECT_EQ("0x7f0000000000", text_of(in, "address"));
  const std::vector<const char *> facts = {"size",  "accesses", "reads", "writes",
                                           "bytes", "first",    "last",  "footprint"};
  // 64 lines, of which 4 were read as a whole
  EXPECT_EQ("65536 128 128 0 512 0 4035 4096", numbers(in, facts));
  EXPECT_EQ("4096 32 0 32 256 0 255 256", numbers(out, facts));
  EXPECT_EQ(16, number_of(out, "argument_offset"));
  EXPECT_TRUE(json_is_null(json_object_get(item(dispatch, "allocations", 2), "picture")));
  // the first two of ten events are in the first tenths of the picture
  const json_t *picture = json_object_get(in, "picture");
  ASSERT_EQ(size_t{48}, json_array_size(picture));
  long long all = 0;
  for (size_t row = 0; row < 48; ++row)
    for (size_t column = 0; column < 96; ++column)
      all += json_integer_value(json_array_get(json_array_get(picture, row), column));
  EXPECT_EQ(128, all);
  EXPECT_EQ(64, json_integer_value(json_array_get(json_array_get(picture, 0), 0)));
  const std::string shown = text();
  for (const char *words : {"34.00", "4.00", "12%", "in, again", "0x7f0000100000"})
    EXPECT_TRUE(contains(shown, words)) << words << "\n" << shown;
}

TEST_F(ProbeShow, BankConflictsBarriersAndValues)
{
  save(probes::everything());
  const Json parsed = document();
  const json_t *dispatch = dispatch_of(parsed);
  const json_t *lds = json_object_get(item(dispatch, "accesses", 1), "lds");
  EXPECT_EQ("2 4 6 2 0 504", numbers(lds, {"times", "groups", "passes", "worst", "first", "last"}));
  ASSERT_EQ(size_t{1}, json_array_size(json_object_get(dispatch, "barriers")));
  const json_t *barrier = item(dispatch, "barriers", 0);
  EXPECT_EQ("28 4", numbers(barrier, {"offset", "times"}));
  ASSERT_EQ(size_t{1}, json_array_size(json_object_get(barrier, "last")));
  EXPECT_EQ(2, json_integer_value(item(barrier, "last", 0))); // wave 0, of both groups
  ASSERT_EQ(size_t{1}, json_array_size(json_object_get(dispatch, "values")));
  const json_t *value = item(dispatch, "values", 0);
  EXPECT_EQ("s4", text_of(value, "register"));
  EXPECT_EQ(2, number_of(item(value, "first", 0), "wave"));
  EXPECT_STREQ("0xabcd", json_string_value(item(item(value, "first", 0), "lanes", 0)));
  const std::string shown = text();
  for (const char *words : {"1.50", "last of its work-group came wave 0 2 times", "wave 2: 0xabcd",
                            "0 to 504", "32 banks of 4 bytes"})
    EXPECT_TRUE(contains(shown, words)) << words << "\n" << shown;
}

// What was lost makes some things unknown, which are not guessed.
TEST_F(ProbeShow, LostRecords)
{
  probes::Scene scene = probes::everything();
  scene.lost_waves = 5;
  scene.lost_events = 7;
  scene.flags |= RECORD_PROBED_STOPPED;
  scene.waves[3].end = 0;
  save(scene);
  const Json parsed = document();
  const json_t *dispatch = dispatch_of(parsed);
  EXPECT_EQ("4 5 4 1", numbers(json_object_get(dispatch, "waves"),
                               {"recorded", "lost", "capacity", "unfinished"}));
  EXPECT_EQ("10 7 10 0", numbers(json_object_get(dispatch, "events"),
                                 {"recorded", "lost", "capacity", "unknown"}));
  EXPECT_TRUE(json_is_null(json_object_get(item(dispatch, "barriers", 0), "last")));
  EXPECT_TRUE(json_is_true(json_object_get(dispatch, "stopped")));
  EXPECT_TRUE(
      json_is_null(json_array_get(item(json_object_get(dispatch, "waves"), "sample", 3), 5)));
  const std::string shown = text();
  for (const char *words :
       {"4 waves, 5 more are lost, 1 had not ended", "10 events, 7 more are lost",
        "stopped before it ended", "which wave came last is not told"})
    EXPECT_TRUE(contains(shown, words)) << words << "\n" << shown;
}

// Events of no place, of waves that are not there, and addresses that lead nowhere.
TEST_F(ProbeShow, RecordsThatMakeNoSense)
{
  probes::Scene scene = probes::everything();
  scene.events.clear();
  scene.lanes.clear();
  scene.event(999999, 0, {});
  scene.event(17, 0, {});
  scene.event(28, 4000000000, {});
  scene.event(40, 4000000000, {}); // one of two at this place: of which is not told
  scene.event(16, 0, lanes_from(0, 1), 3, {0xfffffffe, 0xffffffff, 0, 0});
  save(scene);
  const Json parsed = document();
  const json_t *dispatch = dispatch_of(parsed);
  EXPECT_EQ(3, number_of(json_object_get(dispatch, "events"), "unknown"));
  const json_t *elsewhere = json_object_get(dispatch, "elsewhere");
  EXPECT_EQ(2, number_of(elsewhere, "accesses"));
  EXPECT_EQ("0xfffffffffffffffe", text_of(elsewhere, "least"));
  EXPECT_EQ("0xffffffffffffffff", text_of(elsewhere, "most"));
  text();
}

TEST_F(ProbeShow, WhatIsAskedFor)
{
  probes::save(path, [](record_writer_t *writer) {
    probes::Scene first = probes::everything(), second = probes::everything();
    first.write(writer, 2);
    second.kernel = "_Z4gemmPf";
    second.write(writer);
  });
  EXPECT_EQ(size_t{3}, json_array_size(json_object_get(document().get(), "dispatches")));
  EXPECT_EQ(size_t{2}, json_array_size(
                           json_object_get(document({"--kernel", "vector*"}).get(), "dispatches")));
  const Json gemm = document({"--kernel", "gemm(*"});
  ASSERT_EQ(size_t{1}, json_array_size(json_object_get(gemm.get(), "dispatches")));
  EXPECT_EQ("_Z4gemmPf", text_of(dispatch_of(gemm), "kernel"));
  EXPECT_EQ("gemm(float*)", text_of(dispatch_of(gemm), "demangled"));
  EXPECT_EQ(2, number_of(dispatch_of(document({"--dispatch", "2"})), "dispatch"));
  const std::string few = text({"--top", "1", "--dispatch", "1"});
  EXPECT_TRUE(contains(few, "and 2 more blocks: --top 3 shows all")) << few;
  expect_refusal(run({tool, "probe", "show", path, "--kernel", "nothing"}), 3, "no such dispatch");
  expect_refusal(run({tool, "probe", "show", path, "--dispatch", "0"}), 2, "--dispatch: '0'");
  expect_refusal(run({tool, "probe", "show", path, "--json", "--html", "x"}), 2, "either --json");
  expect_refusal(run({tool, "probe", "show"}), 2, "expected show FILE");
  expect_refusal(run({tool, "probe"}), 2, "expected plan, show or verify");
  expect_refusal(run({tool, "probe", "verify-not", path}), 2, "'verify-not'");
  expect_refusal(run({tool, "probe", "show", fixtures + "vector_add-gfx90a-v5.co"}), 3,
                 "MALFORMED");
  expect_refusal(run({tool, "probe", "show", path, "--disassembler", "no-such-objdump"}), 3,
                 "no 'no-such-objdump' in PATH");
}

// A small file may have any number of dispatches of one long name, or of one large kernel.
TEST_F(ProbeShow, NamesAndKernelsThatCostMuch)
{
  probes::Scene scene = probes::everything();
  scene.kernel = std::string(60000, 'n');
  probes::save(path, scene, 20);
  const Json parsed = document();
  EXPECT_EQ(size_t{60000}, text_of(dispatch_of(parsed), "kernel").size());
  EXPECT_FALSE(json_is_true(json_object_get(dispatch_of(parsed), "kernel_cut")));
  EXPECT_EQ(size_t{200}, text_of(dispatch_of(parsed, 19), "kernel").size());
  EXPECT_TRUE(json_is_true(json_object_get(dispatch_of(parsed, 19), "kernel_cut")));
  EXPECT_LT(text().size(), 2u * 60000);

  probes::Scene large;
  for (int i = 0; i < 1 << 18; ++i) {
    rawhal_probe_point_t &point = large.point(0, RAWHAL_PROBE_ACCESS);
    point.source = RAWHAL_PROBE_FLAT;
  }
  ASSERT_EQ(0, unlink(path.c_str()));
  probes::save(path, large, 40);
  const std::string few = text();
  EXPECT_TRUE(contains(few, "dispatch 17:") && !contains(few, "dispatch 18:"));
  EXPECT_TRUE(contains(few, "23 more dispatches are not shown: --dispatch N shows one"));
}

// The disassembler is somebody else's program: what it prints is text, and it has its time.
TEST_F(ProbeShow, Disassemblers)
{
  save(probes::everything());
  const std::string script = scratch / "objdump";
  auto with = [&](const std::string &body) {
    spit(script, "#!/bin/sh\n" + body + "\n");
    EXPECT_EQ(0, chmod(script.c_str(), 0700));
    return document({"--disassembler", script});
  };
  char entry[32];
  const probes::Scene scene;
  snprintf(entry, sizeof(entry), "%llx", static_cast<unsigned long long>(scene.probe.entry));
  Json parsed = with(std::string("printf '\\tfirst one   // %012") + "s: BF800000\\n' " + entry +
                     "\nprintf 'nonsense\\n\\t// \\n\\tx // zz: 1\\n\\ty // 1: 2\\n'");
  const json_t *block = item(dispatch_of(parsed), "blocks", 1);
  ASSERT_EQ(size_t{1}, json_array_size(json_object_get(block, "lines")));
  EXPECT_EQ("first one", text_of(item(block, "lines", 0), "text"));
  EXPECT_TRUE(json_is_null(json_object_get(dispatch_of(parsed), "no_code")));
  parsed = with("exit 1");
  EXPECT_TRUE(contains(text_of(dispatch_of(parsed), "no_code"), "failed"));
  EXPECT_TRUE(json_is_null(json_object_get(item(dispatch_of(parsed), "blocks", 1), "lines")));
  parsed = with("exec yes 0123456789012345678901234567890123456789");
  EXPECT_TRUE(contains(text_of(dispatch_of(parsed), "no_code"), "printed too much"));
  parsed = with("exec >/dev/null; exit 3");
  EXPECT_TRUE(contains(text_of(dispatch_of(parsed), "no_code"), "failed"));
  parsed = document({"--disassembler", "/nonexistent/objdump"});
  EXPECT_TRUE(contains(text_of(dispatch_of(parsed), "no_code"), "No such file"));
}

// ---- The models ----

rawhal_probe_point_t point_of(rawhal_probe_source_t source, uint8_t bytes, uint8_t flags = 0)
{
  rawhal_probe_point_t point = {};
  point.action = RAWHAL_PROBE_ACCESS;
  point.source = static_cast<uint8_t>(source);
  point.bytes = bytes;
  point.flags = flags;
  return point;
}

access_t access_of(const rawhal_probe_point_t &point, const probes::Lanes &lanes,
                   uint64_t exec = UINT64_MAX, std::array<uint32_t, 4> scalar = {})
{
  access_t access;
  rawhal_probe_event_t event = {};
  event.exec = exec;
  memcpy(event.scalar, scalar.data(), sizeof(event.scalar));
  access_resolve(&point, &event, lanes.data(), &access);
  return access;
}

std::string lines_of(access_t access)
{
  access_lines_t lines;
  access_count_lines(&access, &lines);
  return std::to_string(lines.touched[0]) + "/" + std::to_string(lines.ideal[0]) + " " +
         std::to_string(lines.touched[1]) + "/" + std::to_string(lines.ideal[1]);
}

std::string banks_of(const access_t &access)
{
  access_banks_t banks;
  access_count_banks(&access, &banks);
  return std::to_string(banks.passes) + "/" + std::to_string(banks.groups) + " " +
         std::to_string(banks.worst);
}

TEST(ProbeAccess, Lines)
{
  const rawhal_probe_point_t flat = point_of(RAWHAL_PROBE_FLAT, 4);
  EXPECT_EQ("4/4 2/2", lines_of(access_of(flat, lanes_from(0x10000, 4))));
  EXPECT_EQ("5/4 3/2", lines_of(access_of(flat, lanes_from(0x10020, 4)))); // not aligned
  EXPECT_EQ("1/1 1/1", lines_of(access_of(flat, lanes_from(0x10000, 0)))); // one for all
  EXPECT_EQ("64/4 64/2", lines_of(access_of(flat, lanes_from(0x10000, 4096))));
  EXPECT_EQ("4/4 2/2", lines_of(access_of(flat, lanes_from(0x100fc, uint64_t(-4))))); // downwards
  EXPECT_EQ("2/1 1/1", lines_of(access_of(flat, lanes_from(0x1003e, 4), 1)));         // across two
  EXPECT_EQ("0/0 0/0", lines_of(access_of(flat, lanes_from(0x10000, 4), 0)));
  EXPECT_EQ("5/4 3/2", lines_of(access_of(flat, lanes_from(0x10000, 5)))); // gaps are waste
  const rawhal_probe_point_t wide = point_of(RAWHAL_PROBE_FLAT, 16);
  EXPECT_EQ("16/16 8/8", lines_of(access_of(wide, lanes_from(0x10000, 16))));
  // the last bytes that there are
  EXPECT_EQ("1/1 1/1", lines_of(access_of(wide, lanes_from(UINT64_MAX - 3, 0))));
}

TEST(ProbeAccess, Banks)
{
  const rawhal_probe_point_t lds = point_of(RAWHAL_PROBE_LDS, 4);
  EXPECT_EQ("2/2 1", banks_of(access_of(lds, lanes_from(0, 4))));
  EXPECT_EQ("4/2 2", banks_of(access_of(lds, lanes_from(0, 8))));
  EXPECT_EQ("64/2 32", banks_of(access_of(lds, lanes_from(0, 128))));
  EXPECT_EQ("2/2 1", banks_of(access_of(lds, lanes_from(0, 132))));    // padded
  EXPECT_EQ("2/2 1", banks_of(access_of(lds, lanes_from(64, 0))));     // the same word
  EXPECT_EQ("1/1 1", banks_of(access_of(lds, lanes_from(0, 128), 1))); // one lane
  EXPECT_EQ("32/2 16", banks_of(access_of(lds, lanes_from(0, 128), 0x5555555555555555)));
  EXPECT_EQ("0/0 0", banks_of(access_of(lds, lanes_from(0, 4), 0)));
  const rawhal_probe_point_t twice = point_of(RAWHAL_PROBE_LDS, 4, RAWHAL_PROBE_TWICE);
  EXPECT_EQ("4/4 1", banks_of(access_of(twice, lanes_from(0, 4))));
  EXPECT_EQ("4/4 1", banks_of(access_of(point_of(RAWHAL_PROBE_LDS, 8), lanes_from(0, 8))));
  EXPECT_EQ("8/8 1", banks_of(access_of(point_of(RAWHAL_PROBE_LDS, 16), lanes_from(0, 16))));
  EXPECT_EQ("16/8 2", banks_of(access_of(point_of(RAWHAL_PROBE_LDS, 16), lanes_from(0, 32))));
  EXPECT_EQ("2/2 1", banks_of(access_of(point_of(RAWHAL_PROBE_LDS, 1), lanes_from(0, 1))));
}

TEST(ProbeAccess, Addresses)
{
  rawhal_probe_point_t global = point_of(RAWHAL_PROBE_GLOBAL, 4);
  global.immediate[0] = -8;
  access_t got = access_of(global, lanes_from(0x100000010, 0), 1, {0x1000, 0x7f, 0, 0});
  EXPECT_EQ(uint64_t{0x7f00001008}, got.global[0]) << "the offset has 32 bits";
  rawhal_probe_point_t flat = point_of(RAWHAL_PROBE_FLAT, 4);
  got = access_of(flat, {0x0001000000000040, 0x0002000000000000, 0x7f0000000000}, 7);
  EXPECT_EQ(1u, got.lds_count);
  EXPECT_EQ(0x40u, got.lds[0]);
  EXPECT_EQ(1u, got.scratch);
  ASSERT_EQ(1u, got.global_count);
  EXPECT_EQ(uint64_t{0x7f0000000000}, got.global[0]);
  // a buffer of 32 bytes, stride 16
  rawhal_probe_point_t buffer = point_of(RAWHAL_PROBE_BUFFER, 4, RAWHAL_PROBE_OFFSET);
  buffer.immediate[0] = 4;
  got = access_of(buffer, lanes_from(0, 16), 7, {0x5000, 0x10, 32, 0});
  EXPECT_EQ(2u, got.global_count);
  EXPECT_EQ(uint64_t{0x1000005014}, got.global[1]);
  EXPECT_EQ(1u, got.outside);
  buffer.flags = RAWHAL_PROBE_INDEXED | RAWHAL_PROBE_OFFSET;
  got = access_of(buffer, lanes_from(uint64_t{8} << 32, 1), 7, {0x5000, 16 << 16, 2, 0x100});
  EXPECT_EQ(2u, got.global_count);
  EXPECT_EQ(uint64_t{0x5000 + 0x100 + 16 + 8 + 4}, got.global[1]);
  EXPECT_EQ(1u, got.outside);
  got = access_of(buffer, lanes_from(0, 1), 7, {0, 1u << 31, 100, 0}); // swizzled
  EXPECT_FALSE(got.is_told);
  EXPECT_FALSE(access_of(point_of(RAWHAL_PROBE_LDS, 4, RAWHAL_PROBE_GDS), {}).is_told);
  EXPECT_FALSE(access_of(point_of(RAWHAL_PROBE_NONE, 4), {}).is_told);
  EXPECT_FALSE(access_of(point_of(RAWHAL_PROBE_LDS, 0), {}).is_told);
  rawhal_probe_event_t event = {};
  event.exec = 1;
  access_resolve(&flat, &event, nullptr, &got);
  EXPECT_FALSE(got.is_told) << "its lanes were not kept";
}

} // namespace
