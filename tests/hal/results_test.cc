// Kernels run and their results are the CPU's.
#include <elf.h>

#include "tensile_test.h"

#include <numeric>

namespace {

using Results = DeviceTest;

TEST_F(Results, DeviceSaysThatItIsSoftware)
{
  const rawhal_device_info_t *info = rawhal_device_info(device);
  ASSERT_NE(info, nullptr);
  EXPECT_TRUE(info->is_software);
  EXPECT_NE(std::string(info->description).find("in software"), std::string::npos);
  EXPECT_STREQ(info->name, "gfx90a");
  EXPECT_STREQ(info->target.processor, "gfx90a");
  EXPECT_EQ(info->memory_bytes, 256u << 20);
  EXPECT_EQ(info->lds_bytes, 65536u);
  EXPECT_EQ(info->wavefront_size, 64u);
  EXPECT_EQ(info->max_workgroup_size, 1024u);
  EXPECT_GE(info->max_queue_packets, 1024u);
  EXPECT_GT(info->compute_units, 0u);
  EXPECT_GT(info->timestamp_hz, 0u);
}

TEST_F(Results, VectorAddFromBlobAndFromPointers)
{
  constexpr uint32_t n = 100000; // the last work-group is partial
  std::vector<float> a(n), b(n);
  for (uint32_t i = 0; i < n; ++i) {
    a[i] = 0.25f * static_cast<float>(i);
    b[i] = 3.0f - static_cast<float>(i % 77);
  }
  rawhal_buffer_t *in_a = upload(a), *in_b = upload(b);
  for (const char *fixture : {"vector_add-gfx90a-v4.co", "vector_add-gfx90a-v5.co"}) {
    const rawhal_device_kernel_t *add = kernel(fixture, "vector_add");
    ASSERT_NE(add, nullptr);
    for (bool pointers : {false, true}) {
      rawhal_buffer_t *out = buffer(n * sizeof(float));
      ASSERT_OK(rawhal_buffer_fill(out, 0, 0xFFFFFFFF, n * sizeof(float), &error));
      uint64_t c = rawhal_buffer_address(out), pa = rawhal_buffer_address(in_a),
               pb = rawhal_buffer_address(in_b);
      Blob blob;
      blob.add(c).add(pa).add(pb).add(n);
      ASSERT_EQ(blob.bytes.size(), 28u);
      rawhal_dispatch_t dispatch = dispatch_of(add, (n + 255) / 256 * 256, 256, blob);
      const void *arguments[] = {&c, &pa, &pb, &n};
      if (pointers) {
        dispatch.blob = nullptr;
        dispatch.blob_size = 0;
        dispatch.arguments = arguments;
        dispatch.argument_count = 4;
      }
      ASSERT_OK(run(queue(), dispatch));
      std::vector<float> sum = download<float>(out, n);
      for (uint32_t i = 0; i < n; ++i)
        ASSERT_EQ(sum[i], a[i] + b[i]) << fixture << " element " << i;
    }
  }
}

TEST_F(Results, ThreeDimensionalIds)
{
  constexpr uint32_t width = 40, height = 6, depth = 5;
  const rawhal_device_kernel_t *ids = kernel("write_ids-gfx90a-v5.co", "write_ids");
  rawhal_buffer_t *out = buffer(width * height * depth * 4);
  Blob blob;
  blob.add(rawhal_buffer_address(out)).add(width).add(height).add(uint32_t{7});
  rawhal_dispatch_t dispatch = dispatch_of(ids, width, 16, blob);
  dispatch.work_items[1] = height;
  dispatch.work_items[2] = depth;
  dispatch.workgroup[1] = 2;
  dispatch.workgroup[2] = 3;
  ASSERT_OK(run(queue(), dispatch));
  std::vector<uint32_t> expected(width * height * depth);
  std::iota(expected.begin(), expected.end(), 7);
  EXPECT_EQ(download<uint32_t>(out, expected.size()), expected);
}

TEST_F(Results, LdsReduction)
{
  constexpr uint32_t groups = 33;
  std::vector<uint32_t> values(groups * 256), expected(groups);
  for (uint32_t i = 0; i < values.size(); ++i) {
    values[i] = i * 2654435761u;
    expected[i / 256] += values[i];
  }
  const rawhal_device_kernel_t *reduce = kernel("reduce-gfx90a-v5.co", "reduce");
  rawhal_buffer_t *out = buffer(groups * 4), *in = upload(values);
  Blob blob;
  blob.add(rawhal_buffer_address(out)).add(rawhal_buffer_address(in));
  ASSERT_OK(run(queue(), dispatch_of(reduce, groups * 256, 256, blob)));
  EXPECT_EQ(download<uint32_t>(out, groups), expected);
}

TEST_F(Results, HiddenArgumentsOfPartialWorkgroups)
{
  constexpr uint32_t n = 1000, group = 64, offset = 24;
  std::vector<float> x(n + offset), y(n + offset, 1.0f), expected = y;
  for (uint32_t i = 0; i < x.size(); ++i)
    x[i] = static_cast<float>(i);
  for (uint32_t i = offset; i < n + offset; ++i)
    expected[i] += 2.0f * x[i];
  for (const char *fixture : {"saxpy_partial-gfx90a-v4.co", "saxpy_partial-gfx90a-v5.co"}) {
    SCOPED_TRACE(fixture);
    const rawhal_device_kernel_t *saxpy = kernel(fixture, "saxpy_partial");
    rawhal_buffer_t *out = upload(y), *in = upload(x), *info = buffer(12);
    Blob blob;
    blob.add(rawhal_buffer_address(out)).add(rawhal_buffer_address(in)).add(2.0f);
    blob.add(rawhal_buffer_address(info));
    rawhal_dispatch_t dispatch = dispatch_of(saxpy, n, group, blob);
    dispatch.global_offset[0] = offset;
    ASSERT_OK(run(queue(), dispatch));
    EXPECT_EQ(download<float>(out, expected.size()), expected);
    EXPECT_EQ(download<uint32_t>(info, 3), (std::vector<uint32_t>{n / group, n % group, offset}));
  }
}

TEST_F(Results, EveryDispatchOfABatchRunsInOrder)
{
  // Each dispatch adds the ids of the one before: out[i] = i + bias must end with the last bias.
  const rawhal_device_kernel_t *ids = kernel("write_ids-gfx90a-v5.co", "write_ids");
  rawhal_buffer_t *out = buffer(64 * 4);
  std::vector<Blob> blobs(32);
  std::vector<rawhal_dispatch_t> batch;
  for (uint32_t i = 0; i < blobs.size(); ++i) {
    blobs[i].add(rawhal_buffer_address(out)).add(64u).add(1u).add(1000 * i);
    batch.push_back(dispatch_of(ids, 64, 64, blobs[i]));
  }
  rawhal_ticket_t ticket = 0;
  rawhal_queue_t *on = queue();
  ASSERT_OK(rawhal_queue_submit(on, batch.data(), batch.size(), RAWHAL_FOREVER, &ticket, &error));
  EXPECT_EQ(ticket, 1u);
  ASSERT_OK(rawhal_queue_wait(on, ticket, RAWHAL_FOREVER, &error));
  std::vector<uint32_t> expected(64);
  std::iota(expected.begin(), expected.end(), 31000);
  EXPECT_EQ(download<uint32_t>(out, 64), expected);
}

TEST_F(Results, TimesOfATicket)
{
  const rawhal_device_kernel_t *ids = kernel("write_ids-gfx90a-v5.co", "write_ids");
  rawhal_buffer_t *out = buffer(65536 * 4);
  Blob blob;
  blob.add(rawhal_buffer_address(out)).add(65536u).add(1u).add(0u);
  rawhal_dispatch_t dispatch = dispatch_of(ids, 65536, 256, blob);
  rawhal_queue_options_t options = {};
  options.submissions = 4;
  rawhal_queue_t *on = queue(options);
  uint64_t start = 1, end = 1, former_end = 0;
  for (int i = 0; i < 6; ++i) {
    ASSERT_OK(run(on, dispatch));
    ASSERT_OK(rawhal_queue_timing(on, static_cast<uint64_t>(i) + 1, &start, &end, &error));
    EXPECT_LT(start, end);
    EXPECT_LE(former_end, start);
    former_end = end;
  }
  EXPECT_EQ(rawhal_queue_timing(on, 2, &start, &end, &error), RAWHAL_NOT_FOUND);
  EXPECT_EQ(start, 0u);
  EXPECT_EQ(rawhal_queue_timing(on, 7, &start, &end, &error), RAWHAL_INVALID_ARGUMENT);
}

// Metadata in PT_NOTE only: no section is called .note, nor of its type.
TEST_F(Results, ObjectsWithoutNoteSection)
{
  std::vector<char> bytes = fixture_bytes("write_ids-gfx90a-v5.co");
  Elf64_Ehdr header;
  memcpy(&header, bytes.data(), sizeof(header));
  for (size_t i = 0; i < header.e_shnum; ++i) {
    char *at = bytes.data() + header.e_shoff + i * sizeof(Elf64_Shdr);
    Elf64_Shdr section;
    memcpy(&section, at, sizeof(section));
    if (section.sh_type == SHT_NOTE) {
      section.sh_type = SHT_PROGBITS;
      section.sh_name = 0;
    }
    memcpy(at, &section, sizeof(section));
  }
  rawhal_executable_t *executable = load(bytes);
  ASSERT_NE(executable, nullptr);
  const rawhal_device_kernel_t *found = nullptr;
  ASSERT_OK(rawhal_executable_kernel(executable, {"write_ids", 9}, 0, &found, &error));
  rawhal_buffer_t *out = buffer(256);
  Blob blob;
  blob.add(rawhal_buffer_address(out)).add(64u).add(1u).add(7u);
  ASSERT_OK(run(queue(), dispatch_of(found, 64, 64, blob)));
  std::vector<uint32_t> ids = download<uint32_t>(out, 64);
  for (uint32_t i = 0; i < 64; ++i)
    EXPECT_EQ(ids[i], i + 7);
}

TEST_F(Results, DescriptorOnlyKernels)
{
  rawhal_executable_t *executable = load("bare-gfx90a-v5.co", RAWHAL_HSACO_DESCRIPTOR_KERNELS);
  ASSERT_NE(executable, nullptr);
  rawhal_buffer_t *out = buffer(4);
  const struct {
    const char *name;
    uint32_t stated;
  } cases[] = {{"bare_store", 0}, {"bare_unsized", 16}};
  for (const auto &c : cases) {
    const rawhal_device_kernel_t *found = nullptr;
    ASSERT_OK(
        rawhal_executable_kernel(executable, {c.name, strlen(c.name)}, c.stated, &found, &error));
    Blob blob;
    blob.add(rawhal_buffer_address(out)).add(0x1234u + c.stated);
    ASSERT_OK(run(queue(), dispatch_of(found, 1, 1, blob)));
    EXPECT_EQ(download<uint32_t>(out, 1)[0], 0x1234u + c.stated);
  }
  const rawhal_device_kernel_t *found = nullptr;
  EXPECT_EQ(rawhal_executable_kernel(executable, {"bare_unsized", 12}, 32, &found, &error),
            RAWHAL_INVALID_ARGUMENT);
}

using Products = TensileTest;

// Tiles that the matrices do not fill, and a k that is no multiple of what the kernel takes at once.
TEST_F(Products, InTensilesWay)
{
  static const uint16_t codes[] = {0xc200, 0xc000, 0xbc00, 0, 0x3c00, 0x4000, 0x4200}; // -3 to 3
  expect_product<uint16_t>("tensile-gfx90a-v5.co", "tensile_f16", codes, 0xffff,
                           {70, 45, 53, 54, 8});
}

} // namespace
