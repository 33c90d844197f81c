// rawhal replay: dispatches that this process ran and recorded are launched by the command in another one.
#include "tests/tools/recorded.h"
#include "tests/tools/terminal.h"

namespace {

// It cannot, and says why in one line.
void expect_cannot(const Outcome &got, const std::string &words)
{
  EXPECT_EQ(3, got.status) << got.err << got.out;
  EXPECT_TRUE(contains(got.err, words)) << got.err;
  EXPECT_EQ(1u, lines(got.err)) << got.err;
}

class Replay : public RecordedTest {
protected:
  Outcome replay(std::vector<std::string> words, const std::vector<std::string> &environment = {})
  {
    std::vector<std::string> line = {tool, "replay", path, "--device", "softgpu"};
    line.insert(line.end(), words.begin(), words.end());
    return ::run(line, environment);
  }
};

TEST_F(Replay, TheSameBytes)
{
  begin();
  record_sums();
  end();
  Outcome got = replay({});
  EXPECT_EQ(0, got.status) << got.err << got.out;
  EXPECT_TRUE(contains(got.out, "same      16000 bytes of 2 buffers\n")) << got.out;
  EXPECT_TRUE(contains(got.out, "1: 1024x1x1 work-items in groups of 256x1x1\n")) << got.out;
  EXPECT_FALSE(contains(got.out, "note")) << got.out;
  for (const char *which : {"1", "vector_add"})
    EXPECT_EQ(0, replay({"--kernel", which}).status);
}

TEST_F(Replay, AByteThatDiffersIsFound)
{
  for (uint64_t at : {uint64_t{0}, uint64_t{1234}, uint64_t{4 * kCount - 1}}) {
    SCOPED_TRACE(at);
    begin();
    change_at = at;
    std::vector<float> values(3 * kCount, 1.0f);
    rawhal_buffer_t *sums = upload(values);
    recorded = {sums};
    changed = sums;
    const uint64_t c = rawhal_buffer_address(sums);
    const rawhal_device_kernel_t *add = kernel(kVectorAdd, "vector_add");
    Blob blob = Blob().add(c).add(c + 4 * kCount).add(c + 8 * kCount).add(uint32_t{kCount});
    rawhal_dispatch_t dispatch = dispatch_of(add, 1024, 256, blob);
    record(kVectorAdd, "vector_add", dispatch, image_of(add, dispatch));
    end();
    const float two = 2.0f;
    unsigned char bytes[4];
    memcpy(bytes, &two, 4);
    char words[100];
    snprintf(words, sizeof(words), "argument 0 'c': offset %llu: expected 0x%02x, got 0x%02x\n",
             static_cast<unsigned long long>(at), bytes[at % 4] ^ 0x40, bytes[at % 4]);
    Outcome got = replay({});
    EXPECT_EQ(1, got.status) << got.err << got.out;
    EXPECT_TRUE(contains(got.out, words)) << words << got.out;
    EXPECT_TRUE(contains(got.out, "1 of 12000 bytes differ\n")) << got.out;
    EXPECT_EQ("", got.err);
    got = replay({"--json"});
    EXPECT_EQ(1, got.status);
    Json document = parse(got.out),
         schema = parse(slurp(RAWHAL_SOURCE_DIR "/docs/replay.schema.json"));
    expect_described(document.get(), schema.get());
    const json_t *difference = json_object_get(document.get(), "difference");
    expect_described(difference,
                     json_object_get(json_object_get(schema.get(), "$defs"), "difference"));
    EXPECT_EQ("different", text_of(document.get(), "result"));
    EXPECT_EQ(static_cast<long long>(at), number_of(difference, "offset"));
    EXPECT_EQ(bytes[at % 4], number_of(difference, "got"));
    EXPECT_EQ(bytes[at % 4] ^ 0x40, number_of(difference, "expected"));
    EXPECT_EQ("c", text_of(difference, "argument_name"));
    EXPECT_EQ(1, number_of(document.get(), "different_bytes"));
    unlink(path.c_str());
  }
}

TEST_F(Replay, DifferencesBeyondTheFirstPiece)
{
  const uint32_t many = 100000;
  begin();
  rawhal_buffer_t *sums = upload(std::vector<float>(3 * many, 1.0f)),
                  *others = upload(std::vector<float>(many, 1.0f));
  recorded = {others, sums};
  const uint64_t c = rawhal_buffer_address(sums), b = rawhal_buffer_address(others);
  const rawhal_device_kernel_t *add = kernel(kVectorAdd, "vector_add");
  Blob blob = Blob().add(c + 4 * many).add(c).add(b).add(uint32_t{many});
  rawhal_dispatch_t dispatch = dispatch_of(add, 100096, 256, blob);
  changed = sums;
  change_at = 700003;
  record(kVectorAdd, "vector_add", dispatch, image_of(add, dispatch));
  end();
  Outcome got = replay({});
  EXPECT_EQ(1, got.status) << got.err << got.out;
  EXPECT_TRUE(contains(got.out, "different buffer 1 at 0x")) << got.out;
  EXPECT_TRUE(contains(got.out, "argument 0 'c': offset 700003: expected 0x00, got 0x40\n"))
      << got.out;
}

// Numbers of the launch are the recorded ones, whatever a launch would have now; so are those of the recorded process.
TEST_F(Replay, HiddenArgumentsAreKept)
{
  const std::string fixture = "dump_implicit-gfx90a-v5.co";
  begin();
  rawhal_buffer_t *out = upload(std::vector<uint32_t>(64, 5));
  recorded = {out};
  const rawhal_device_kernel_t *dump = kernel(fixture, "dump_implicit");
  Blob blob = Blob().add(rawhal_buffer_address(out)).add(uint32_t{64});
  rawhal_dispatch_t dispatch = dispatch_of(dump, 64, 64, blob);
  std::vector<char> image = image_of(dump, dispatch);
  ASSERT_EQ(size_t{272}, image.size());
  const uint64_t offset = 0x123456789abcdef, hostcall = 0x7f0011223344, heap = 0,
                 queue = 0x7f5566778800;
  memcpy(&image[56], &offset, 8);
  memcpy(&image[96], &hostcall, 8);
  memcpy(&image[112], &heap, 8);
  memcpy(&image[216], &queue, 8);
  record(fixture, "dump_implicit", dispatch, image);
  end();
  EXPECT_EQ(std::vector<uint32_t>(download<uint32_t>(out, 64))[(96 - 16) / 4], 0x11223344u);
  Outcome got = replay({});
  EXPECT_EQ(0, got.status) << got.err << got.out;
  EXPECT_TRUE(contains(got.out, "note      hidden_hostcall_buffer at offset 96 is 0x7f0011223344"))
      << got.out;
  EXPECT_TRUE(contains(got.out, "note      hidden_queue_ptr at offset 216 is 0x7f5566778800"))
      << got.out;
  EXPECT_FALSE(contains(got.out, "heap")) << got.out;
}

// A number of 8 bytes by value that leads into a buffer is moved with it; the kernel stores it, which is no difference.
TEST_F(Replay, PointersAmongValues)
{
  for (bool other : {false, true}) {
    SCOPED_TRACE(other);
    const std::string fixture = "many_args-gfx90a-v5.co";
    begin();
    rawhal_buffer_t *out = upload(std::vector<uint32_t>(41, 0)),
                    *in = upload(std::vector<uint32_t>(2048, 77));
    recorded = {out, in};
    changed = other ? out : nullptr; // another pointer into the same buffer is a difference
    change_at = 36;
    const rawhal_device_kernel_t *many = kernel(fixture, "many_args");
    const uint64_t address = rawhal_buffer_address(in), big = address + (other ? 0 : 8192);
    rawhal_dispatch_t dispatch = dispatch_of(many, 64, 64, Blob());
    dispatch.dynamic_lds = 64;
    std::vector<char> blob(440);
    const uint64_t to = rawhal_buffer_address(out), inner = address + 4096;
    memcpy(&blob[8], &to, 8);
    memcpy(&blob[48], &big, 8); // its start, or just behind its end
    memcpy(&blob[168], &inner, 8);
    dispatch.blob = blob.data();
    dispatch.blob_size = 177;
    record(fixture, "many_args", dispatch, image_of(many, dispatch));
    end();
    Outcome got = replay({});
    EXPECT_EQ(other ? 1 : 0, got.status) << got.out << got.err;
    unlink(path.c_str());
  }
}

// What lay one after the other does so again: a kernel may go from one to the other.
TEST_F(Replay, BuffersThatTouch)
{
  begin();
  rawhal_buffer_t *sums = upload(std::vector<float>(3 * 2048, 3.0f));
  split = 4096;
  recorded = {sums};
  const uint64_t c = rawhal_buffer_address(sums);
  const rawhal_device_kernel_t *add = kernel(kVectorAdd, "vector_add");
  Blob blob = Blob().add(c).add(c + 8192).add(c + 16384).add(uint32_t{2048});
  rawhal_dispatch_t dispatch = dispatch_of(add, 2048, 256, blob);
  record(kVectorAdd, "vector_add", dispatch, image_of(add, dispatch));
  end();
  Outcome got = replay({});
  EXPECT_EQ(0, got.status) << got.err << got.out;
  EXPECT_TRUE(contains(got.out, "same      24576 bytes of 2 buffers\n")) << got.out;
}

TEST_F(Replay, PointersInBuffersAreFollowedAndNoted)
{
  const std::string fixture = "grouped-gfx90a-v5.co";
  begin();
  rawhal_buffer_t *data = upload(std::vector<float>(4096, 1.0f));
  const uint64_t c = rawhal_buffer_address(data);
  Blob one = Blob()
                 .add(c)
                 .add(c + 4096)
                 .add(c + 8192)
                 .add(uint32_t{4})
                 .add(uint32_t{4})
                 .add(uint32_t{4})
                 .add(0.0f);
  one.add(uint8_t{0}).add(uint64_t{4});
  one.bytes.resize(64);
  rawhal_buffer_t *groups = upload(one.bytes);
  recorded = {groups, data};
  const rawhal_device_kernel_t *grouped = kernel(fixture, "grouped");
  Blob blob = Blob().add(rawhal_buffer_address(groups)).add(uint64_t{64});
  rawhal_dispatch_t dispatch = dispatch_of(grouped, 64, 64, blob);
  record(fixture, "grouped", dispatch, image_of(grouped, dispatch));
  end();
  Outcome got = replay({"--timeout", "20"});
  EXPECT_TRUE(
      contains(got.out, "has 3 words that point into recorded memory, the first at offset 0"))
      << got.out;
  EXPECT_EQ(0, got.status) << got.err << got.out; // the kernel follows them
}

TEST_F(Replay, KernelsWithoutMetadata)
{
  const std::string fixture = "bare-gfx90a-v5.co";
  begin();
  rawhal_buffer_t *out = upload(std::vector<uint32_t>(16, 0));
  recorded = {out};
  for (const char *name : {"bare_store", "bare_unsized"}) {
    rawhal_executable_t *bare = load(fixture, RAWHAL_HSACO_DESCRIPTOR_KERNELS);
    const rawhal_device_kernel_t *store = nullptr;
    ASSERT_OK(rawhal_executable_kernel(bare, rawhal_string(name), *(name + 5) == 'u' ? 12 : 0,
                                       &store, &error));
    Blob blob = Blob().add(rawhal_buffer_address(out) + 8).add(uint32_t{0xdead});
    record(fixture, name, dispatch_of(store, 64, 64, blob), blob.bytes);
  }
  end();
  for (const char *name : {"bare_store", "bare_unsized"}) {
    Outcome got = replay({"--kernel", name});
    EXPECT_EQ(0, got.status) << got.err << got.out;
  }
}

// Allocations that begin in the middle of a page keep their place in it.
TEST_F(Replay, AddressesWithinPages)
{
  begin();
  inside = 24;
  rawhal_buffer_t *sums = upload(std::vector<float>(3 * kCount, 3.0f));
  recorded = {sums};
  const uint64_t c = rawhal_buffer_address(sums) + inside;
  const rawhal_device_kernel_t *add = kernel(kVectorAdd, "vector_add");
  Blob blob = Blob().add(c).add(c + 4 * kCount).add(c).add(uint32_t{kCount});
  rawhal_dispatch_t dispatch = dispatch_of(add, 1024, 256, blob);
  record(kVectorAdd, "vector_add", dispatch, image_of(add, dispatch));
  end();
  EXPECT_EQ(0, replay({}).status);
}

TEST_F(Replay, WhatCannotBe)
{
  begin();
  recorded = {upload(std::vector<float>(kCount, 1.0f))};
  const uint64_t here = rawhal_buffer_address(recorded[0]);
  rawhal_buffer_t *elsewhere = upload(std::vector<float>(kCount, 1.0f));
  const rawhal_device_kernel_t *add = kernel(kVectorAdd, "vector_add");
  Blob blob = Blob().add(here).add(here).add(here).add(uint32_t{4});
  rawhal_dispatch_t dispatch = dispatch_of(add, 64, 64, blob);
  after = false;
  record(kVectorAdd, "vector_add", dispatch, image_of(add, dispatch)); // 1
  before = false;
  record(kVectorAdd, "vector_add", dispatch, image_of(add, dispatch)); // 2
  before = after = true;
  Blob stray = Blob().add(here).add(rawhal_buffer_address(elsewhere)).add(here).add(uint32_t{4});
  dispatch = dispatch_of(add, 64, 64, stray);
  record(kVectorAdd, "vector_add", dispatch, image_of(add, dispatch)); // 3
  private_bytes = 4096;
  dispatch = dispatch_of(add, 64, 64, blob);
  record(kVectorAdd, "vector_add", dispatch, image_of(add, dispatch)); // 4
  private_bytes = 0;
  const rawhal_device_kernel_t *store = kernel("fault-gfx90a-v5.co", "fault_store");
  Blob wild = Blob().add(here).add(int64_t{1} << 40).add(uint32_t{1});
  dispatch = dispatch_of(store, 1, 1, wild);
  after = false;
  record("fault-gfx90a-v5.co", "fault_store", dispatch, image_of(store, dispatch),
         RAWHAL_FAULT); // 5
  recorded.push_back(recorded[0]);
  dispatch = dispatch_of(add, 64, 64, blob);
  end();
  expect_cannot(replay({}), "there are 5 dispatches: choose one with --kernel");
  expect_cannot(replay({"--kernel", "1"}), "nothing to compare with");
  expect_cannot(replay({"--kernel", "2"}),
                "does not have the contents of all buffers before dispatch 2");
  expect_cannot(replay({"--kernel", "3"}), "argument 1 'a' is 0x");
  expect_cannot(replay({"--kernel", "4"}), "4096 bytes of private memory");
  Outcome got = replay({"--kernel", "5"});
  EXPECT_EQ(3, got.status);
  EXPECT_TRUE(contains(got.err, "FAULT") && contains(got.err, "fault_store")) << got.err;
  expect_cannot(replay({"--kernel", "0"}), "there is no dispatch 0 of 5");
  expect_cannot(replay({"--kernel", "6"}), "there is no dispatch 6 of 5");
  expect_cannot(replay({"--kernel", "vector_sub"}),
                "none of 5 dispatches is of kernel 'vector_sub'");
  Json document = parse(replay({"--kernel", "3", "--json"}).out);
  EXPECT_EQ("cannot", text_of(document.get(), "result"));
  EXPECT_EQ("UNSUPPORTED", text_of(document.get(), "status"));
  EXPECT_TRUE(contains(text_of(document.get(), "message"), "points into no recorded buffer"));
}

TEST_F(Replay, BuffersThatWereLeftOutOrOverlap)
{
  const record_options_t options = {0, 4000};
  begin(&options);
  record_sums();
  recorded = {recorded[0], recorded[0]};
  const uint64_t here = rawhal_buffer_address(recorded[0]);
  const rawhal_device_kernel_t *add = kernel(kVectorAdd, "vector_add");
  Blob blob = Blob().add(here).add(here).add(here).add(uint32_t{4});
  rawhal_dispatch_t dispatch = dispatch_of(add, 64, 64, blob);
  record(kVectorAdd, "vector_add", dispatch, image_of(add, dispatch));
  end();
  expect_cannot(replay({"--kernel", "1"}), "(12000 bytes) were left out of the recording");
  expect_cannot(replay({"--kernel", "2"}), "overlap");
}

TEST_F(Replay, OtherDevices)
{
  begin();
  device_name = "amdgcn-amd-amdhsa--gfx942";
  record_sums();
  end();
  Outcome got = replay({});
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_TRUE(
      contains(got.out, "note      recorded on amdgcn-amd-amdhsa--gfx942, replayed on gfx90a"))
      << got.out;
  got = replay({}, {"SOFTGPU_CHIP=gfx942", "SOFTGPU_LISTED=gfx90a"});
  expect_cannot(got, "TARGET_MISMATCH");
}

TEST_F(Replay, Lists)
{
  const record_options_t options = {0, 4000};
  begin(&options);
  record_sums();
  before = after = false;
  record_sums();
  end();
  Outcome got = replay({"--list"});
  EXPECT_EQ(0, got.status) << got.err;
  EXPECT_TRUE(contains(
      got.out,
      "1: vector_add: 1024x1x1 work-items in groups of 256x1x1, "
      "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-, object 1, 288 bytes of kernargs, "
      "before: 2 buffers, 4000 bytes, 1 left out, after: 2 buffers, 4000 bytes, 1 left out\n"))
      << got.out;
  EXPECT_TRUE(contains(got.out, "288 bytes of kernargs\n")) << got.out;
  EXPECT_TRUE(contains(got.out, ": 2 dispatches of 1 code objects, ") &&
              contains(got.out, " bytes, closed\n"))
      << got.out;
  got = replay({"--list", "--json"});
  Json document = parse(got.out),
       schema = parse(slurp(RAWHAL_SOURCE_DIR "/docs/recording.schema.json"));
  const json_t *parts = json_object_get(schema.get(), "$defs");
  expect_described(document.get(), schema.get());
  EXPECT_EQ("closed", text_of(document.get(), "end"));
  EXPECT_EQ(static_cast<long long>(getpid()), number_of(document.get(), "process"));
  const json_t *first = json_array_get(json_object_get(document.get(), "dispatches"), 0);
  expect_described(first, json_object_get(parts, "dispatch"));
  expect_described(json_array_get(json_object_get(document.get(), "objects"), 0),
                   json_object_get(parts, "object"));
  const json_t *buffers = json_object_get(json_object_get(first, "before"), "buffers");
  expect_described(json_object_get(first, "before"), json_object_get(parts, "buffers"));
  expect_described(json_array_get(buffers, 0), json_object_get(parts, "buffer"));
  EXPECT_EQ("whole", text_of(json_array_get(buffers, 0), "contents"));
  EXPECT_EQ("left_out", text_of(json_array_get(buffers, 1), "contents"));
  EXPECT_EQ(7, number_of(first, "queue"));

  const std::string bytes = slurp(path);
  spit(path, bytes.substr(0, bytes.size() - 50));
  got = replay({"--list"});
  EXPECT_EQ(0, got.status);
  EXPECT_TRUE(contains(got.out, "torn: ")) << got.out;
  EXPECT_TRUE(contains(replay({"--list", "--json"}).out, "\"end\": \"torn\""));
}

TEST_F(Replay, NamesAreShownAsTheyWereWritten)
{
  NEEDS_TERMINAL();
  const std::string name = "_Z10vector_addPfS_S_j",
                    written = "vector_add(float*, float*, float*, unsigned int)";
  begin();
  const std::vector<char> code = fixture_bytes(kVectorAdd), image(32);
  uint64_t object = 0, number = 0;
  ASSERT_OK(record_writer_object(writer, {code.data(), code.size()}, &object, &error));
  record_dispatch_t dispatch = {};
  dispatch.device = rawhal_string(device_name.c_str());
  dispatch.kernel = rawhal_string(name.c_str());
  dispatch.object = object;
  dispatch.kernargs = {image.data(), image.size()};
  ASSERT_OK(record_writer_dispatch(writer, &dispatch, &number, &error));
  end();
  if (!contains(replay({"--list", "--demangle"}).out, "1: " + written + ": "))
    GTEST_SKIP() << "not with this C++ library";
  EXPECT_TRUE(contains(replay({"--list"}).out, "1: " + name + ": "));
  EXPECT_TRUE(contains(replay({"--list", "--demangle", "--no-demangle"}).out, "1: " + name + ": "));
  EXPECT_TRUE(
      contains(replay({"--list", "--no-demangle", "--demangle"}).out, "1: " + written + ": "));
  EXPECT_TRUE(
      contains(run_on_terminal({tool, "replay", path, "--list"}).out, "1: " + written + ": "));
  EXPECT_EQ(replay({"--list", "--json"}).out, replay({"--list", "--json", "--demangle"}).out);
  EXPECT_TRUE(contains(replay({"--demangle"}).out,
                       "\nkernel    " + written + "\n")); // no such kernel is in the object
  EXPECT_TRUE(contains(replay({}).out, "\nkernel    " + name + "\n"));
}

TEST_F(Replay, FullOnes)
{
  const record_options_t options = {10000, 0};
  record_writer_t *full = nullptr;
  ASSERT_OK(record_writer_create(path.c_str(), &options, &full, &error));
  const std::vector<char> code(20000);
  uint64_t object;
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED,
            record_writer_object(full, {code.data(), code.size()}, &object, &error));
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, record_writer_close(full, &error));
  Outcome got = replay({"--list"});
  EXPECT_EQ(0, got.status);
  EXPECT_TRUE(contains(got.out, "full: it reached its limit of 10000 bytes")) << got.out;
  EXPECT_TRUE(contains(replay({"--list", "--json"}).out, "\"end\": \"full\""));
  expect_cannot(replay({}), "the recording has no dispatch");
}

TEST_F(Replay, Damage)
{
  begin();
  record_sums();
  end();
  const std::string bytes = slurp(path);
  std::string damaged = bytes;
  damaged[1000] = static_cast<char>(damaged[1000] ^ 4);
  spit(path, damaged);
  for (const char *list : {"--list", "--json"})
    expect_cannot(replay({list}), "MALFORMED: the frame's content is damaged (at offset 136)");
  Json refused = parse(replay({"--json"}).out),
       schema = parse(slurp(RAWHAL_SOURCE_DIR "/docs/replay.schema.json"));
  expect_described(refused.get(), schema.get());
  EXPECT_EQ("cannot", text_of(refused.get(), "result"));
  EXPECT_EQ("MALFORMED", text_of(refused.get(), "status"));
  EXPECT_EQ(136, number_of(refused.get(), "offset"));
  EXPECT_EQ(0, number_of(refused.get(), "dispatch"));
  spit(path, bytes.substr(0, 500)); // torn in the object
  expect_cannot(replay({}), "the recording has no dispatch");
  expect_cannot(::run({tool, "replay", scratch / "none"}), "NOT_FOUND");
  expect_cannot(::run({tool, "replay", fixtures + kVectorAdd}),
                "this is not a recording of dispatches (at offset 0)");
}

TEST(ReplayCommandLine, Wrong)
{
  expect_refusal(run({tool, "replay"}), 2, "expected a FILE");
  expect_refusal(run({tool, "replay", "a", "b"}), 2, "expected a FILE");
  expect_refusal(run({tool, "replay", "a", "--device", "cuda"}), 2,
                 "--device: expected softgpu or hsa, got 'cuda'");
  expect_refusal(run({tool, "replay", "a", "--timeout", "-1"}), 2,
                 "--timeout: expected 0 to 1000000 seconds, got '-1'");
  expect_refusal(run({tool, "replay", "a", "--frobnicate"}), 2, "unknown option");
}

} // namespace
