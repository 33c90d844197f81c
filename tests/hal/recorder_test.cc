// Recordings of what the program itself launches: what is in them, and what is refused.
#include "device_test.h"
#include "tests/child.h"
#include "tests/record/reading.h"

namespace {

class Recorder : public DeviceTest {
protected:
  void SetUp() override
  {
    DeviceTest::SetUp();
    char name[] = "/tmp/rawhal-recorder-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder = name;
    path = folder + "/launches.rec";
    on = queue();
    ids = kernel("write_ids-gfx90a-v5.co", "write_ids");
  }

  void TearDown() override
  {
    if (recorder)
      close();
    unlink(path.c_str());
    rmdir(folder.c_str());
    DeviceTest::TearDown();
  }

  rawhal_status_t open(uint64_t max_bytes = 0, bool without_buffers = false)
  {
    rawhal_recorder_options_t options = {sizeof(options), max_bytes, without_buffers};
    return rawhal_recorder_create(device, path.c_str(), &options, &recorder, &error);
  }

  // Stores 7 to the first word of `out`.
  rawhal_dispatch_t store(const rawhal_buffer_t *out)
  {
    blob.bytes.clear();
    blob.add(rawhal_buffer_address(out)).add(1u).add(1u).add(7u);
    return dispatch_of(ids, 1, 1, blob);
  }

  rawhal_status_t begin(const rawhal_dispatch_t &dispatch, rawhal_capture_t **capture)
  {
    return rawhal_recorder_begin(recorder, on, &dispatch, capture, &error);
  }

  rawhal_recorder_info_t info()
  {
    rawhal_recorder_info_t info = {};
    info.size = sizeof(info);
    rawhal_recorder_info(recorder, &info);
    return info;
  }

  void close()
  {
    EXPECT_OK(rawhal_recorder_close(recorder, &error));
    recorder = nullptr;
  }

  // What the file says, but for objects; "before SIZE CONTENT" of buffers, whose addresses are any.
  std::vector<std::string> lines()
  {
    rawhal_status_t status;
    std::vector<std::string> found;
    Reader reader = open_reader(path, &status, &error);
    EXPECT_OK(status);
    if (reader)
      for (const std::string &line : lines_of(reader.get()))
        if (line.compare(0, 7, "object "))
          found.push_back(line);
    return found;
  }

  static bool has(const std::vector<std::string> &lines, const std::string &what)
  {
    return std::any_of(lines.begin(), lines.end(), [&](const std::string &line) {
      return line.find(what) != std::string::npos;
    });
  }

  std::string note_of(record_note_kind_t kind) { return "note " + std::to_string(kind) + " "; }

  std::string folder, path;
  rawhal_queue_t *on = nullptr;
  const rawhal_device_kernel_t *ids = nullptr;
  rawhal_recorder_t *recorder = nullptr;
  Blob blob;
};

std::string word(uint32_t value)
{
  return std::string(reinterpret_cast<const char *>(&value), sizeof(value));
}

TEST_F(Recorder, HasWhatADispatchReachesBeforeAndAfter)
{
  rawhal_buffer_t *deep = upload<uint32_t>({41}), *out = buffer(24), *other = upload<uint32_t>({5});
  const uint64_t inside[3] = {1, rawhal_buffer_address(deep), 2}; // is followed once
  ASSERT_OK(rawhal_buffer_write(out, 0, inside, sizeof(inside), &error));
  ASSERT_OK(open());
  for (int round = 0; round < 2; ++round) {
    rawhal_capture_t *capture = nullptr;
    rawhal_dispatch_t dispatch = store(out);
    ASSERT_OK(begin(dispatch, &capture));
    ASSERT_OK(run(on, dispatch));
    ASSERT_OK(rawhal_recorder_end(capture, true, &error));
  }
  const rawhal_recorder_info_t now = info();
  EXPECT_EQ(now.dispatches, 2u);
  EXPECT_EQ(now.objects, 1u);
  EXPECT_EQ(now.noted, 2u); // that a word was taken for a pointer
  EXPECT_EQ(now.status, RAWHAL_OK);
  close();
  const std::vector<std::string> found = lines();
  const std::string at = std::to_string(rawhal_buffer_address(out)) + "+24 ";
  EXPECT_TRUE(has(found, "dispatch of 1 on amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-, write_ids"));
  EXPECT_TRUE(has(found, "before " + at + std::string("\1\0\0\0", 4)));
  EXPECT_TRUE(has(found, "after " + at + word(7)));
  EXPECT_TRUE(has(found, "before " + at + word(7))); // of the second
  EXPECT_TRUE(has(found, "+4 " + word(41)));
  EXPECT_FALSE(has(found, "+4 " + word(5)));
  EXPECT_TRUE(has(found, note_of(RECORD_NOTE_POINTERS)));
  EXPECT_EQ(std::count(found.begin(), found.end(), "all"), 4);
  EXPECT_NE(other, nullptr);
}

TEST_F(Recorder, WithoutBuffers)
{
  rawhal_capture_t *capture = nullptr;
  ASSERT_OK(open(0, true));
  ASSERT_OK(begin(store(buffer(4)), &capture));
  ASSERT_OK(rawhal_recorder_end(capture, true, &error));
  close();
  ASSERT_EQ(lines().size(), 1u);
}

TEST_F(Recorder, WhatIsRefusedLeavesNothing)
{
  rawhal_capture_t *capture = nullptr;
  rawhal_buffer_t *out = buffer(4);
  rawhal_dispatch_t good = store(out), wrong = good;
  wrong.workgroup[0] = 0;
  EXPECT_EQ(rawhal_recorder_create(nullptr, path.c_str(), nullptr, &recorder, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_recorder_create(device, nullptr, nullptr, &recorder, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_recorder_create(device, path.c_str(), nullptr, nullptr, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_recorder_create(device, (folder + "/no/x").c_str(), nullptr, &recorder, &error),
            RAWHAL_NOT_FOUND);
  EXPECT_EQ(open(10), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(recorder, nullptr);
  ASSERT_OK(open());
  rawhal_recorder_t *second = nullptr;
  EXPECT_EQ(rawhal_recorder_create(device, path.c_str(), nullptr, &second, &error),
            RAWHAL_INVALID_ARGUMENT); // it is there
  EXPECT_EQ(begin(wrong, &capture), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_recorder_begin(nullptr, on, &good, &capture, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_recorder_begin(recorder, nullptr, &good, &capture, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_recorder_begin(recorder, on, nullptr, &capture, &error),
            RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(rawhal_recorder_begin(recorder, on, &good, nullptr, &error), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(capture, nullptr);
  EXPECT_OK(rawhal_recorder_end(nullptr, true, &error));
  EXPECT_EQ(info().dispatches, 0u);
  close();
  EXPECT_TRUE(lines().empty());
  EXPECT_OK(rawhal_recorder_close(nullptr, &error));
}

TEST_F(Recorder, SaysWhatElseHappensMeanwhile)
{
  rawhal_capture_t *first = nullptr, *second = nullptr;
  rawhal_buffer_t *out = buffer(4), *gone = buffer(4);
  ASSERT_OK(open());
  ASSERT_OK(begin(store(out), &first));
  ASSERT_OK(begin(store(gone), &second));
  retire(gone); // (the dispatch was never submitted)
  ASSERT_OK(rawhal_recorder_end(second, true, &error));
  ASSERT_OK(rawhal_recorder_end(first, true, &error));
  close();
  const std::vector<std::string> found = lines();
  EXPECT_TRUE(has(found, note_of(RECORD_NOTE_FREED)));
  EXPECT_EQ(std::count_if(found.begin(), found.end(),
                          [&](const std::string &line) {
                            return !line.compare(0, 8, note_of(RECORD_NOTE_CONCURRENT));
                          }),
            2);
}

TEST_F(Recorder, EndsAtItsBound)
{
  rawhal_capture_t *capture = nullptr;
  rawhal_buffer_t *out = buffer(4);
  ASSERT_OK(open(24 << 10));
  int count = 0;
  for (; begin(store(out), &capture) == RAWHAL_OK && count < 1000; ++count)
    if (rawhal_recorder_end(capture, true, &error) != RAWHAL_OK)
      break;
  EXPECT_EQ(error.status, RAWHAL_CAP_EXCEEDED) << error.message;
  EXPECT_GT(count, 0);
  EXPECT_EQ(info().status, RAWHAL_CAP_EXCEEDED);
  EXPECT_LE(info().bytes, 24u << 10);
  ASSERT_OK(run(on, store(out)));
  EXPECT_EQ(rawhal_recorder_close(recorder, &error), RAWHAL_CAP_EXCEEDED);
  recorder = nullptr;
}

TEST_F(Recorder, MayBeClosedBeforeACaptureEnds)
{
  rawhal_capture_t *capture = nullptr;
  ASSERT_OK(open());
  ASSERT_OK(begin(store(buffer(4)), &capture));
  close();
  EXPECT_OK(rawhal_recorder_end(capture, true, &error));
  EXPECT_FALSE(has(lines(), "after"));
}

TEST_F(Recorder, AChildOfForkLeavesTheFileAlone)
{
  rawhal_capture_t *capture = nullptr;
  rawhal_buffer_t *out = buffer(4);
  ASSERT_OK(open());
  rawhal_dispatch_t dispatch = store(out);
  ASSERT_OK(begin(dispatch, &capture));
  EXPECT_EQ(in_child([&] {
              rawhal_capture_t *another = nullptr;
              if (rawhal_recorder_end(capture, true, &error) != RAWHAL_DEVICE_LOST)
                return 1;
              if (begin(dispatch, &another) != RAWHAL_DEVICE_LOST || another)
                return 2;
              (void)info();
              const rawhal_status_t closed = rawhal_recorder_close(recorder, &error);
              return closed == RAWHAL_OK || closed == RAWHAL_DEVICE_LOST ? 0 : 3;
            }),
            0);
  ASSERT_OK(run(on, dispatch));
  ASSERT_OK(rawhal_recorder_end(capture, true, &error));
  close();
  EXPECT_TRUE(has(lines(), "after"));
}

class RecorderOfTwo : public Recorder {
protected:
  const char *softgpu_options() override { return "gpus=2,vram_mib=64,timeout_ms=8000"; }
};

TEST_F(RecorderOfTwo, TakesNoQueueOfAnother)
{
  rawhal_capture_t *capture = nullptr;
  rawhal_queue_t *elsewhere = nullptr;
  const rawhal_queue_options_t options = {};
  ASSERT_OK(open());
  ASSERT_OK(rawhal_queue_create(rawhal_instance_device(instance, 1), &options, &elsewhere, &error));
  queues.push_back(elsewhere);
  const rawhal_dispatch_t dispatch = store(buffer(4));
  EXPECT_EQ(rawhal_recorder_begin(recorder, elsewhere, &dispatch, &capture, &error),
            RAWHAL_INVALID_ARGUMENT);
}

} // namespace
