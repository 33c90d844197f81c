// Kernels that this process runs on softgpu and records, for the command to launch again in another one.
#ifndef TESTS_TOOLS_RECORDED_H
#define TESTS_TOOLS_RECORDED_H

#include "tests/hal/device_test.h"
#include "tests/tools/command.h"

extern "C" {
#include "record/writer.h"
}

constexpr uint32_t kCount = 1000;

// Runs kernels on softgpu and records them by hand, as a front would.
class RecordedTest : public DeviceTest {
protected:
  void TearDown() override
  {
    if (writer)
      EXPECT_OK(record_writer_close(writer, &error));
    DeviceTest::TearDown();
  }

  void begin(const record_options_t *options = nullptr)
  {
    ASSERT_OK(record_writer_create(path.c_str(), options, &writer, &error));
  }

  void end()
  {
    EXPECT_OK(record_writer_close(writer, &error));
    writer = nullptr;
  }

  // The whole segment of a launch, hidden arguments and all.
  std::vector<char> image_of(const rawhal_device_kernel_t *of, const rawhal_dispatch_t &dispatch)
  {
    const rawhal_kernarg_layout_t *layout = rawhal_device_kernel_info(of)->layout;
    rawhal_launch_t launch = {};
    memcpy(launch.work_items, dispatch.work_items, sizeof(launch.work_items));
    memcpy(launch.workgroup, dispatch.workgroup, sizeof(launch.workgroup));
    launch.dynamic_lds = dispatch.dynamic_lds;
    std::vector<char> image(rawhal_kernarg_layout_info(layout)->block_count * 64);
    EXPECT_OK(rawhal_kernarg_write_blob(layout, dispatch.blob, dispatch.blob_size, 0, &launch,
                                        image.data(), image.size(), &error));
    image.resize(rawhal_kernarg_layout_info(layout)->segment_size);
    return image;
  }

  // What is recorded of a buffer is what it has, but for a byte that a test changes.
  struct Reading {
    RecordedTest *test;
    record_when_t when;
  };
  static rawhal_status_t read(void *context, const record_range_t *range, uint64_t offset, void *to,
                              size_t size, rawhal_error_t *failure)
  {
    auto *reading = static_cast<Reading *>(context);
    RecordedTest *test = reading->test;
    for (const rawhal_buffer_t *from : test->recorded) {
      const uint64_t skip = range->address - rawhal_buffer_address(from);
      if (skip != test->inside && skip != test->split)
        continue;
      rawhal_status_t status = rawhal_buffer_read(from, skip + offset, to, size, failure);
      if (reading->when == RECORD_AFTER && from == test->changed && test->change_at >= offset &&
          test->change_at < offset + size)
        static_cast<unsigned char *>(to)[test->change_at - offset] ^= 0x40;
      return status;
    }
    return RAWHAL_NOT_FOUND;
  }

  rawhal_status_t record_buffers(uint64_t number, record_when_t when)
  {
    Reading reading = {this, when};
    std::vector<record_range_t> ranges;
    for (const rawhal_buffer_t *from : recorded) {
      const uint64_t begin = rawhal_buffer_address(from), size = rawhal_buffer_size(from);
      ranges.push_back({begin + inside, (split ? split : size) - inside, false, false});
      if (split)
        ranges.push_back({begin + split, size - split, false, false});
    }
    const record_ranges_t list = {ranges.data(), ranges.size()};
    return record_writer_buffers(writer, number, when, &list, read, &reading, &error);
  }

  // Records a launch of a fixture's kernel; `image` is its whole segment.
  void record(const std::string &fixture, const char *name, rawhal_dispatch_t dispatch,
              const std::vector<char> &image, rawhal_status_t expected = RAWHAL_OK)
  {
    const std::vector<char> code = fixture_bytes(fixture);
    uint64_t object = 0, number = 0;
    ASSERT_OK(record_writer_object(writer, {code.data(), code.size()}, &object, &error));
    record_dispatch_t d = {};
    const char *isa = device_name.c_str();
    d.device = rawhal_string(isa);
    d.kernel = rawhal_string(name);
    d.object = object;
    d.queue = 7;
    memcpy(d.work_items, dispatch.work_items, sizeof(d.work_items));
    memcpy(d.workgroup, dispatch.workgroup, sizeof(d.workgroup));
    d.dynamic_group_bytes = dispatch.dynamic_lds;
    d.private_bytes = private_bytes;
    d.kernargs = {image.data(), image.size()};
    ASSERT_OK(record_writer_dispatch(writer, &d, &number, &error));
    if (before)
      ASSERT_OK(record_buffers(number, RECORD_BEFORE));
    dispatch.blob = image.data();
    dispatch.blob_size = image.size();
    dispatch.flags = RAWHAL_DISPATCH_KEEP_HIDDEN;
    ASSERT_EQ(expected, DeviceTest::run(queue(), dispatch)) << error.message;
    if (after)
      ASSERT_OK(record_buffers(number, RECORD_AFTER));
  }

  // c = a + b, of which all three are in one allocation, c first; and one more that is only read.
  void record_sums()
  {
    std::vector<float> values(3 * kCount), more(kCount);
    for (uint32_t i = 0; i < kCount; ++i) {
      values[i] = -1;
      values[kCount + i] = 0.25f * static_cast<float>(i);
      more[i] = 100.0f - static_cast<float>(i);
    }
    rawhal_buffer_t *sums = upload(values), *others = upload(more);
    recorded = {others, sums};
    const uint64_t c = rawhal_buffer_address(sums), b = rawhal_buffer_address(others);
    const rawhal_device_kernel_t *add = kernel(kVectorAdd, "vector_add");
    Blob blob = Blob().add(c).add(c + 4 * kCount).add(b).add(uint32_t{kCount});
    rawhal_dispatch_t dispatch = dispatch_of(add, 1024, 256, blob);
    record(kVectorAdd, "vector_add", dispatch, image_of(add, dispatch));
  }

  const std::string kVectorAdd = "vector_add-gfx90a-v5.co";
  Scratch scratch;
  std::string path = scratch / "recording",
              device_name = "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-";
  record_writer_t *writer = nullptr;
  std::vector<rawhal_buffer_t *> recorded;
  const rawhal_buffer_t *changed = nullptr;
  uint64_t change_at = 0, inside = 0, split = 0; // where a buffer is two that touch; 0: it is one
  uint32_t private_bytes = 0;
  bool before = true, after = true;
};

#endif
