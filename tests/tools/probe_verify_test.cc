// rawhal probe verify: recorded dispatches, by kernels and their copies with probes.
#include <rawhal/probe.h>

#include "tests/limit/schema.h"
#include "tests/tools/recorded.h"

extern "C" {
#include "probe/certificate.h"
}

#include <filesystem>

namespace {

class ProbeVerify : public RecordedTest {
protected:
  Outcome verify(std::vector<std::string> words)
  {
    std::vector<std::string> line = {tool, "probe",    "verify", "--recording",
                                     path, "--device", "softgpu"};
    line.insert(line.end(), words.begin(), words.end());
    return ::run(line);
  }

  std::vector<std::string> certificates()
  {
    std::vector<std::string> found;
    if (std::filesystem::exists(folder))
      for (const auto &entry : std::filesystem::directory_iterator(folder))
        if (entry.path().extension() == ".json")
          found.push_back(entry.path());
    return found;
  }

  // Of the kernel in a document of one.
  static const json_t *only(const Json &document)
  {
    return json_array_get(json_object_get(document.get(), "kernels"), 0);
  }

  // One work-group of a kernel that has a buffer of 64 words, and more arguments.
  void record_one(const std::string &fixture, const char *name, uint32_t items)
  {
    rawhal_buffer_t *out = upload(std::vector<uint64_t>(64, 0));
    recorded = {out};
    const rawhal_device_kernel_t *of = kernel(fixture, name);
    Blob blob = Blob().add(rawhal_buffer_address(out));
    rawhal_dispatch_t dispatch = dispatch_of(of, items, 64, blob);
    record(fixture, name, dispatch, image_of(of, dispatch));
  }

  const std::string folder = scratch / "certificates";
};

TEST_F(ProbeVerify, ACopyThatDoesTheSame)
{
  begin();
  record_sums();
  record_sums();
  end();
  Outcome got = verify({"--json", "-o", folder});
  ASSERT_EQ(0, got.status) << got.err << got.out;
  const Json document = parse(got.out),
             schema = parse(slurp(RAWHAL_SOURCE_DIR "/docs/probe-verify.schema.json"));
  EXPECT_EQ("", Violation(schema.get(), document.get()));
  const json_t *kernel = only(document);
  EXPECT_EQ("vector_add", text_of(kernel, "kernel"));
  EXPECT_EQ("same", text_of(kernel, "result"));
  EXPECT_EQ(2, number_of(kernel, "dispatches"));
  EXPECT_EQ(2, number_of(kernel, "same"));
  EXPECT_EQ(2 * 16000, number_of(kernel, "bytes"));
  EXPECT_EQ(2 * 16, number_of(kernel, "waves"));
  EXPECT_EQ(2 * 464, number_of(kernel, "instructions")); // as examples and other tests have it
  ASSERT_EQ(1u, certificates().size());
  EXPECT_EQ(certificates()[0], text_of(kernel, "certificate"));

  const Json certificate = parse(slurp(certificates()[0])),
             of = parse(slurp(RAWHAL_SOURCE_DIR "/docs/probe-certificate.schema.json"));
  EXPECT_EQ("", Violation(of.get(), certificate.get()));
  for (const char *key : {"kernel", "object", "copy"})
    EXPECT_EQ(text_of(kernel, key), text_of(certificate.get(), key));
  for (const char *key : {"waves", "instructions", "bytes", "dispatches"})
    EXPECT_EQ(number_of(kernel, key), number_of(certificate.get(), key));
  EXPECT_TRUE(json_equal(json_object_get(json_object_get(kernel, "device"), "target"),
                         json_object_get(json_object_get(certificate.get(), "device"), "target")));

  // It stands beside the copy that it is about.
  std::string beside = certificates()[0];
  beside.replace(beside.size() - 5, 5, ".hsaco");
  const std::string copy = slurp(beside);
  const rawhal_content_hash_t hash = rawhal_content_hash(copy.data(), copy.size());
  char text[40];
  snprintf(text, sizeof(text), "%016llx%016llx", static_cast<unsigned long long>(hash.high),
           static_cast<unsigned long long>(hash.low));
  EXPECT_EQ(text, text_of(kernel, "copy"));
  EXPECT_EQ(0, verify({"--copy", beside}).status);

  got = verify({fixtures + kVectorAdd, "--kernel", "vec*"});
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_TRUE(contains(
      got.out, "vector_add\n  same        2 of 2 dispatches: 32000 bytes of memory, a record "
               "for each of 32 waves, counts of 928 instructions\n"
               "  records     are softgpu's of the original: 32 waves, 6 counters, 0 events\n"
               "1 of 1 kernels: their copies with probes do the same\n"
               "Probes have not met hardware"))
      << got.out;
}

TEST_F(ProbeVerify, AllKindsAndWorkgroupsOfAnySize)
{
  begin();
  rawhal_buffer_t *out = upload(std::vector<uint32_t>(1 << 16, 7));
  recorded = {out};
  const rawhal_device_kernel_t *ids = kernel("write_ids-gfx90a-v5.co", "write_ids");
  for (const auto &[x, y, z] :
       std::vector<std::array<uint32_t, 3>>{{70, 5, 3}, {64, 1, 1}, {1, 3, 1}}) {
    Blob blob =
        Blob().add(rawhal_buffer_address(out)).add(uint32_t{96}).add(uint32_t{8}).add(uint32_t{1});
    rawhal_dispatch_t dispatch = dispatch_of(ids, x, 32, blob);
    dispatch.work_items[1] = y;
    dispatch.work_items[2] = z;
    dispatch.workgroup[1] = 4;
    record("write_ids-gfx90a-v5.co", "write_ids", dispatch, image_of(ids, dispatch));
  }
  end();
  Outcome got = verify({"--kinds", "waves+blocks+edges+exec+memory+barriers", "--json"});
  EXPECT_EQ(0, got.status) << got.err << got.out;
  const Json document = parse(got.out);
  // Of 3 x 2 x 3 work-groups 2 x 1 are of 128 items, 1 x 1 of 24, 2 x 1 of 32, 1 x 1 of 6; of 2 of 32 items; and one of 3.
  EXPECT_EQ(3 * (2 * 2 + 1 + 2 + 1) + 2 + 1, number_of(only(document), "waves")) << got.out;
}

// Kinds without counters or records have none to be held against.
TEST_F(ProbeVerify, WhatThereIsNoCountOf)
{
  begin();
  record_sums();
  end();
  Outcome got = verify({"--kinds", "edges", "--json"});
  EXPECT_EQ(0, got.status) << got.err << got.out;
  const Json document = parse(got.out);
  EXPECT_TRUE(json_is_null(json_object_get(only(document), "waves")));
  EXPECT_TRUE(json_is_null(json_object_get(only(document), "instructions")));
}

// What the original does not repeat is no failure of its copy, and no proof either.
TEST_F(ProbeVerify, AKernelThatDoesNotRepeat)
{
  begin();
  record_one("recorded-gfx90a-v5.co", "clock_of", 64);
  const record_note_t note = {RECORD_NOTE_CLOCK, 1, 0, 0};
  ASSERT_OK(record_writer_note(writer, 1, &note, &error));
  end();
  Outcome got = verify({"-o", folder});
  EXPECT_EQ(3, got.status) << got.err << got.out;
  EXPECT_TRUE(contains(got.out,
                       "  cannot      dispatch 1: the original itself does not repeat what "
                       "it leaves: "))
      << got.out;
  char noted[240];
  record_note_text(&note, noted, sizeof(noted));
  EXPECT_TRUE(contains(got.out, noted)) << got.out;
  EXPECT_EQ("rawhal probe: UNSUPPORTED: of 1 kernels nothing can be told\n", got.err);
  EXPECT_TRUE(certificates().empty());
}

TEST_F(ProbeVerify, RecordingsOfOtherThings)
{
  begin();
  record_sums();
  before = false;
  record_sums();
  end();
  expect_refusal(verify({fixtures + "reduce-gfx90a-v5.co"}), 3,
                 "of 2 dispatches in '" + path + "' none is of what is asked for");
  expect_refusal(verify({"--kernel", "reduce"}), 3, "none is of what is asked for");
  expect_refusal(verify({"--copy", "/dev/null"}), 3, "is empty");
  // One of whose dispatches there is no memory: all of them are compared, or there is no certificate.
  Outcome got = verify({"-o", folder});
  EXPECT_EQ(3, got.status);
  EXPECT_TRUE(contains(got.out, "  same        1 of 2 dispatches: 16000 bytes")) << got.out;
  EXPECT_TRUE(contains(got.out, "  cannot      dispatch 2: the recording does not have"))
      << got.out;
  EXPECT_TRUE(certificates().empty());
  // A file that ends in its middle is a recording of what is before.
  const std::string whole = slurp(path);
  spit(path, whole.substr(0, whole.size() / 2));
  got = verify({});
  EXPECT_EQ(0, got.status);
  EXPECT_TRUE(contains(got.out, "  same        1 of 1 dispatches: 16000 bytes")) << got.out;
  spit(path, whole.substr(0, 60));
  expect_refusal(verify({"-o", folder}), 3, "none is of what is asked for");
}

TEST_F(ProbeVerify, AKernelThatCannotBeProbed)
{
  begin();
  const rawhal_device_kernel_t *of = kernel("empty-gfx90a-v5.co", "empty");
  rawhal_dispatch_t dispatch = dispatch_of(of, 64, 64, Blob());
  record("empty-gfx90a-v5.co", "empty", dispatch, {});
  end();
  Outcome got = verify({"-o", folder});
  EXPECT_EQ(1, got.status) << got.err << got.out;
  EXPECT_TRUE(contains(got.out, "  refused     it cannot be probed: ")) << got.out;
  EXPECT_TRUE(certificates().empty());
}

// One bit of a probe is another one: the code is in order, and counts for another block; or it is not, and is not run.
TEST_F(ProbeVerify, ACopyThatIsDamaged)
{
  begin();
  record_sums();
  end();
  ASSERT_EQ(0, verify({"-o", folder}).status);
  ASSERT_EQ(1u, certificates().size());
  const std::string certificate = certificates()[0], text = slurp(certificate);
  const std::string copy = slurp(certificate.substr(0, certificate.size() - 5) + ".hsaco");
  const std::string damaged = scratch / "damaged.hsaco", other = scratch / "other";
  const size_t adds = copy.rfind("\x8a\xc2"); // s_atomic_add_x2 REGISTERS, OFFSET
  ASSERT_NE(adds, std::string::npos);
  ASSERT_EQ(copy[adds + 2], 0x50); // of the last of three counters
  std::string bytes = copy;
  bytes[adds + 2] = 0x40;
  spit(damaged, bytes);
  const std::vector<char> original = fixture_bytes(kVectorAdd);
  rawhal_hsaco_t *hsaco = nullptr;
  ASSERT_OK(rawhal_hsaco_open(original.data(), original.size(), nullptr, &hsaco, &error));
  const rawhal_kernel_t *facts = rawhal_hsaco_find_kernel(hsaco, rawhal_string("vector_add"));
  EXPECT_OK(rawhal_probe_verify(facts, bytes.data(), bytes.size(), RAWHAL_PROBE_NOWHERE, &error));
  rawhal_hsaco_close(hsaco);

  // What was certified of it before is taken back; what was of the other copy is not.
  Outcome got = verify({"--copy", damaged, "-o", folder});
  EXPECT_EQ(1, got.status) << got.err << got.out;
  EXPECT_TRUE(contains(got.out, "  different   dispatch 1: by the copy's counters waves have run "
                                "592 instructions; the device counts 464\n"))
      << got.out;
  EXPECT_EQ(text, slurp(certificate));
  const rawhal_content_hash_t hash = rawhal_content_hash(bytes.data(), bytes.size());
  char digits[40];
  snprintf(digits, sizeof(digits), "%016llx%016llx", static_cast<unsigned long long>(hash.high),
           static_cast<unsigned long long>(hash.low));
  const std::string key = "\"copy\": \"";
  std::string wrong = text;
  wrong.replace(wrong.find(key) + key.size(), 32, digits);
  spit(certificate, wrong);
  EXPECT_EQ(1, verify({"--copy", damaged, "-o", folder}).status);
  EXPECT_TRUE(certificates().empty());

  // Its waves are of other work-groups.
  const size_t text_at = 0x1000; // of .text, as it is made
  size_t moves = 0;
  for (size_t at = text_at; at < text_at + 0x60; at += 4) {
    uint32_t dword;
    memcpy(&dword, &copy[at], sizeof(dword));
    if ((dword & 0xff80ff00) != 0xbe800000 || (dword & 0xff) > 101) // s_mov_b32 sM, sN
      continue;
    bytes = copy;
    bytes[at] = static_cast<char>(bytes[at] ^ 1);
    spit(damaged, bytes);
    ++moves;
  }
  ASSERT_EQ(1u, moves);
  got = verify({"--copy", damaged});
  EXPECT_EQ(1, got.status) << got.err << got.out;
  EXPECT_TRUE(contains(got.out, "the copy's records do not have the waves of work-groups"))
      << got.out;

  bytes = copy;
  bytes[adds + 2] = 0x58; // no counter of its
  spit(damaged, bytes);
  got = verify({"--copy", damaged, "-o", other});
  EXPECT_EQ(1, got.status) << got.err << got.out;
  EXPECT_TRUE(contains(got.out, "  different   its copy is none, which was not run: ")) << got.out;
  EXPECT_NE(0, access(other.c_str(), F_OK));
}

// Where scratch is depends on the queue, and on where a wave runs; with an order, waves have a clock of their own.
TEST_F(ProbeVerify, WhatDiffersBetweenRuns)
{
  begin();
  rawhal_buffer_t *out = upload(std::vector<uint32_t>(1024, 0));
  recorded = {out};
  const rawhal_device_kernel_t *scratch_of = kernel("scratch-gfx90a-v5.co", "scratch");
  Blob blob = Blob().add(rawhal_buffer_address(out)).add(uint32_t{3});
  rawhal_dispatch_t dispatch = dispatch_of(scratch_of, 1024, 64, blob);
  record("scratch-gfx90a-v5.co", "scratch", dispatch, image_of(scratch_of, dispatch));
  end();
  for (const char *order : {"0", "7"}) {
    setenv("SOFTGPU_ORDER", order, 1);
    Outcome got = verify({"--kinds", "waves+memory", "--json"});
    unsetenv("SOFTGPU_ORDER");
    EXPECT_EQ(0, got.status) << got.err << got.out;
    const Json document = parse(got.out);
    const json_t *records = json_object_get(only(document), "records");
    EXPECT_EQ(16, number_of(records, "waves"));
    EXPECT_EQ(16 * 66,
              number_of(records, "events")); // 64 to scratch, one from there, and one to memory
  }
}

// One thing that a copy records wrong, though its code is in order, and all else is right.
struct Wrong {
  const char *what;
  uint32_t mask, value; // of the dword in the code that is looked for
  unsigned nth, skip;   // the first that is so is 0; and dwords from there to what is patched
  uint32_t flips;       // bits
  const char *said;
};

// False: there is no such dword.
bool patch(std::string *bytes, const Wrong &wrong)
{
  uint32_t dword = 0;
  size_t at = 0x1000; // of .text, as it is made
  for (unsigned found = 0; at + 8 <= bytes->size(); at += 4) {
    memcpy(&dword, &(*bytes)[at], sizeof(dword));
    if ((dword & wrong.mask) == wrong.value && found++ == wrong.nth)
      break;
  }
  at += 4 * wrong.skip;
  if (at + 4 > bytes->size())
    return false;
  memcpy(&dword, &(*bytes)[at], sizeof(dword));
  dword ^= wrong.flips;
  memcpy(&(*bytes)[at], &dword, sizeof(dword));
  return true;
}

// Of registers: those that a wave begins with, and what it has computed.
TEST_F(ProbeVerify, Values)
{
  begin();
  record_sums();
  end();
  auto values = [this](std::vector<std::string> words) {
    words.insert(words.end(), {"--kinds", "values", "--value", "v0@0", "--value", "s6@0"});
    return verify(words);
  };
  Outcome got = values({"--json", "-o", folder});
  ASSERT_EQ(0, got.status) << got.err << got.out;
  const Json document = parse(got.out);
  EXPECT_EQ(2 * 16, number_of(json_object_get(only(document), "records"), "events"));
  const std::string certificate = certificates().at(0), damaged = scratch / "damaged.hsaco";
  std::string bytes = slurp(certificate.substr(0, certificate.size() - 5) + ".hsaco");
  ASSERT_TRUE(patch(&bytes, {"v1", 0xfffff000, 0xe0701000, 0, 1, 0x100, ""}));
  spit(damaged, bytes);
  got = values({"--copy", damaged});
  EXPECT_EQ(1, got.status) << got.err;
  EXPECT_TRUE(contains(got.out, "lane 0 at +0x0 of event 0 of the wave of work-group 0,0,0"))
      << got.out;
  got = verify({"--kinds", "values", "--value", "v0@2"});
  EXPECT_EQ(1, got.status);
  EXPECT_TRUE(contains(got.out, "  refused     it cannot be probed: ")) << got.out;
}

constexpr uint32_t kAdd = 0xc28a0000, kMove = 0xbe800000; // s_atomic_add_x2, s_mov
const Wrong kWrong[] = {
    {"a branch, by another's counter", 0xffffe000, kAdd, 2, 1, 0x28,
     "waves that do not branch at +0x58: 0, and 8\n"},
    {"active lanes, by another's counter", 0xffffe000, kAdd, 1, 1, 0x28,
     "active lanes at +0x0: 0, and 1024\n"},
    {"EXEC, of VCC", 0xff80ffff, kMove | 0x17e, 0, 0, 0x14,
     "EXEC at +0x2c of event 0 of the wave of work-group 0,0,0 that begins with item 0x0: "},
    {"another place", 0xff80ffff, kMove | 0xff, 1, 1, 0x2c ^ 0x44,
     "the place of event 0 of the wave of work-group 0,0,0 that begins with item 0x0: 0x44, and "
     "0x2c\n"},
    {"an address, of other registers", 0xfffff000, 0xe0741000, 0, 1, 0x200,
     "lane 0 at +0x2c of event 0 of the wave of work-group 0,0,0 that begins with item 0x0: "},
    {"an offset in LDS, of another register", 0xfffff000, 0xe0701000, 0, 1, 0x100,
     "lane 1 at +0x44 of event 1 of the wave of work-group 0,0,0 that begins with item 0x0: 0x1, "
     "and 0x4\n"},
    {"a part of HW_ID", 0xff80ffff, 0xb880f804, 0, 0, 0xe000,
     "XCC_ID 0, at that place, which softgpu has not seen so\n"},
    {"another XCC", 0xff80ffff, kMove | 0x80, 0, 0, 0x1,
     "XCC_ID 1, at that place, which softgpu has not seen so\n"},
    {"another work-item", 0xfe01ffff, 0x7e000500, 0, 0, 0x1, "a wave: of work-group "},
    {"an end that is none", 0xffffe000, 0xc0460000, 0, 0, 0x200,
     "XCC_ID 0, and its end, which softgpu has not seen so\n"},
};

TEST_F(ProbeVerify, WhatACopyRecordsWrong)
{
  const std::string fixture = "reduce-gfx90a-v5.co",
                    kinds = "waves+blocks+edges+exec+memory+barriers";
  begin();
  rawhal_buffer_t *sums = upload(std::vector<uint32_t>(4, 0)),
                  *values = upload(std::vector<uint32_t>(1024, 3));
  recorded = {sums, values};
  const rawhal_device_kernel_t *reduce = kernel(fixture, "reduce");
  Blob blob = Blob().add(rawhal_buffer_address(sums)).add(rawhal_buffer_address(values));
  rawhal_dispatch_t dispatch = dispatch_of(reduce, 1024, 256, blob);
  record(fixture, "reduce", dispatch, image_of(reduce, dispatch));
  end();
  Outcome got = verify({"--kinds", kinds, "-o", folder, "--json"});
  ASSERT_EQ(0, got.status) << got.err << got.out;
  const Json document = parse(got.out);
  const json_t *records = json_object_get(only(document), "records");
  EXPECT_EQ(16, number_of(records, "waves"));
  EXPECT_EQ(47, number_of(records, "counters"));
  EXPECT_EQ(260, number_of(records, "events"));
  const std::string certificate = certificates().at(0);
  const Json written = parse(slurp(certificate));
  EXPECT_TRUE(json_equal(records, json_object_get(written.get(), "records")));
  const std::string copy = slurp(certificate.substr(0, certificate.size() - 5) + ".hsaco"),
                    damaged = scratch / "damaged.hsaco";
  const std::vector<char> original = fixture_bytes(fixture);
  rawhal_hsaco_t *hsaco = nullptr;
  ASSERT_OK(rawhal_hsaco_open(original.data(), original.size(), nullptr, &hsaco, &error));
  const rawhal_kernel_t *facts = rawhal_hsaco_find_kernel(hsaco, rawhal_string("reduce"));
  for (const Wrong &wrong : kWrong) {
    SCOPED_TRACE(wrong.what);
    std::string bytes = copy;
    ASSERT_TRUE(patch(&bytes, wrong));
    spit(damaged, bytes);
    EXPECT_OK(rawhal_probe_verify(facts, bytes.data(), bytes.size(), RAWHAL_PROBE_NOWHERE, &error));
    got = verify({"--kinds", kinds, "--copy", damaged});
    EXPECT_EQ(1, got.status) << got.err;
    EXPECT_TRUE(contains(got.out, wrong.said)) << got.out;
  }
  rawhal_hsaco_close(hsaco);
}

TEST(ProbeVerifyWords, WrongCommandLines)
{
  const std::string file = fixtures + "vector_add-gfx90a-v5.co";
  for (const std::vector<std::string> &words : std::vector<std::vector<std::string>>{
           {},
           {file},
           {"--recording"},
           {file, file, "--recording", file},
           {"--recording", file, "--kinds", "values"},
           {"--recording", file, "--value", "v0@0"},
           {"--recording", file, "--kinds", "values", "--value", "v512@0"},
           {"--recording", file, "--kinds", "values", "--value", "v0"},
           {"--recording", file, "--kinds", "wave"},
           {"--recording", file, "--device", "cpu"},
           {"--recording", file, "--timeout", "-1"},
           {"--recording", file, "--html", "x"},
       }) {
    std::vector<std::string> line = {tool, "probe", "verify"};
    line.insert(line.end(), words.begin(), words.end());
    EXPECT_EQ(2, run(line).status) << (words.empty() ? "" : words.back());
  }
  expect_refusal(run({tool, "probe", "verify", "--recording", file}), 3, "");
}

} // namespace
