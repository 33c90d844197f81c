// Single arguments: set, get, format; launch geometry.
#include <gtest/gtest.h>

#include "kernel_builder.h"

using namespace kernarg_test;

namespace {

class Arguments : public testing::Test {
protected:
  Arguments() : kernel_(24)
  {
    kernel_.Pointer("out", 0)
        .Arg("n", 8, 4)
        .Hidden(RAWHAL_VALUE_HIDDEN_GROUP_SIZE_X, 12, 2)
        .Arg("s", 16, 6)
        .Arg("past", 24, 4);
    layout_ = Compile(kernel_);
  }
  std::string Format(size_t index, const void *image, size_t length)
  {
    char text[200];
    size_t size = rawhal_kernarg_format(layout_.get(), index, image, length, text, sizeof(text));
    EXPECT_EQ(size, strlen(text));
    return text;
  }
  Kernel kernel_;
  Layout layout_;
  unsigned char blob_[32] = {};
  rawhal_error_t error_ = {};
};

} // namespace

TEST_F(Arguments, SetByIndexAndName)
{
  uint64_t out = 0x1122334455667788;
  uint32_t n = 0xa1a2a3a4;
  EXPECT_EQ(RAWHAL_OK, rawhal_kernarg_set(layout_.get(), 0, &out, 8, blob_, 24, &error_));
  EXPECT_EQ(RAWHAL_OK,
            rawhal_kernarg_set_named(layout_.get(), {"n", 1}, &n, 4, blob_, 24, &error_));
  EXPECT_EQ(RAWHAL_OK, rawhal_kernarg_set(layout_.get(), 3, "abcdef", 6, blob_, 24, &error_));
  const unsigned char expected[32] = {0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
                                      0xa4, 0xa3, 0xa2, 0xa1, 0,    0,    0,    0,
                                      'a',  'b',  'c',  'd',  'e',  'f'};
  EXPECT_EQ(0, memcmp(expected, blob_, 32));
}

TEST_F(Arguments, SetRefusals)
{
  uint32_t n = 1;
  auto set = [&](size_t index, size_t size, size_t length) {
    return rawhal_kernarg_set(layout_.get(), index, &n, size, blob_, length, &error_);
  };
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, set(1, 2, 24));
  EXPECT_STREQ("argument 1 'n' (by_value) has 4 bytes, 2 given", error_.message);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, set(2, 2, 24));
  EXPECT_STREQ("argument 2 (hidden_group_size_x) is hidden: the launch writes it", error_.message);
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, set(5, 4, 24));
  EXPECT_STREQ("argument 5 of a kernel that has 5", error_.message);
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, set(1, 4, 21));
  EXPECT_STREQ("blob ends at 21, argument 3 's' (by_value) occupies 16..22", error_.message);
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, set(4, 4, 27)); // optional: not needed, but needs room to be set
  EXPECT_STREQ("blob ends at 27, argument 4 'past' (by_value) occupies 24..28", error_.message);
  EXPECT_EQ(RAWHAL_OK, set(4, 4, 28));
  EXPECT_EQ(RAWHAL_NOT_FOUND,
            rawhal_kernarg_set_named(layout_.get(), {"m", 1}, &n, 4, blob_, 24, &error_));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_kernarg_set(layout_.get(), 1, nullptr, 4, blob_, 24, &error_));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_kernarg_set(layout_.get(), 1, &n, 4, nullptr, 24, &error_));
}

TEST_F(Arguments, GetReadsBackVisibleAndHidden)
{
  std::vector<unsigned char> image(64);
  for (size_t i = 0; i < 22; ++i)
    blob_[i] = static_cast<unsigned char>(i);
  rawhal_launch_t launch = DistinctLaunch();
  ASSERT_EQ(RAWHAL_OK, rawhal_kernarg_write_blob(layout_.get(), blob_, 22, 0, &launch, image.data(),
                                                 64, &error_));
  rawhal_bytes_t value;
  EXPECT_EQ(RAWHAL_OK,
            rawhal_kernarg_get_named(layout_.get(), {"n", 1}, image.data(), 64, &value, &error_));
  EXPECT_EQ(image.data() + 8, value.data);
  EXPECT_EQ(4u, value.size);
  EXPECT_EQ(RAWHAL_OK, rawhal_kernarg_get(layout_.get(), 2, image.data(), 64, &value, &error_));
  uint16_t group_size;
  ASSERT_EQ(sizeof(group_size), value.size);
  memcpy(&group_size, value.data, sizeof(group_size));
  EXPECT_EQ(64, group_size);

  EXPECT_EQ(RAWHAL_OUT_OF_RANGE,
            rawhal_kernarg_get(layout_.get(), 3, image.data(), 21, &value, &error_));
  EXPECT_STREQ("image ends at 21, argument 3 's' (by_value) occupies 16..22", error_.message);
  EXPECT_EQ(nullptr, value.data);
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE,
            rawhal_kernarg_get(layout_.get(), 9, image.data(), 64, &value, &error_));
  EXPECT_EQ(RAWHAL_NOT_FOUND,
            rawhal_kernarg_get_named(layout_.get(), {"x", 1}, image.data(), 64, &value, &error_));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_kernarg_get(layout_.get(), 1, nullptr, 64, &value, &error_));
}

TEST_F(Arguments, Format)
{
  blob_[1] = 0xab;
  blob_[9] = 4;
  blob_[12] = 64;
  memcpy(blob_ + 16, "abcdef", 6);
  EXPECT_EQ("0 'out' (global_buffer) 0..8 = 0xab00", Format(0, blob_, 32));
  EXPECT_EQ("1 'n' (by_value) 8..12 = 1024 (0x400)", Format(1, blob_, 32));
  EXPECT_EQ("2 (hidden_group_size_x) 12..14 = 64 (0x40)", Format(2, blob_, 32));
  EXPECT_EQ("3 's' (by_value) 16..22 = 61 62 63 64 65 66", Format(3, blob_, 32));
  EXPECT_EQ("4 'past' (by_value) 24..28 = missing", Format(4, blob_, 24));
  EXPECT_EQ("", Format(5, blob_, 32));
  char small[8];
  EXPECT_EQ(37u, rawhal_kernarg_format(layout_.get(), 1, blob_, 32, small, sizeof(small)));
  EXPECT_STREQ("1 'n' (", small);
  EXPECT_EQ(37u, rawhal_kernarg_format(layout_.get(), 1, blob_, 32, nullptr, 0));
}

TEST(Format, LongValuesAndHostileNames)
{
  Kernel kernel(40);
  kernel.Arg("a\nb\x1b", 0, 40);
  Layout layout = Compile(kernel);
  unsigned char blob[40] = {1};
  char text[300];
  rawhal_kernarg_format(layout.get(), 0, blob, 40, text, sizeof(text));
  std::string bytes = "01";
  for (int i = 1; i < 32; ++i)
    bytes += " 00";
  EXPECT_EQ("0 'a?b?' (by_value) 0..40 = " + bytes + " ...", text);
}

namespace {

rawhal_launch_t Geometry(uint32_t gx, uint32_t gy, uint32_t gz, uint16_t x, uint16_t y, uint16_t z,
                         uint16_t dimensions = 0)
{
  rawhal_launch_t launch = {};
  launch.work_items[0] = gx, launch.work_items[1] = gy, launch.work_items[2] = gz;
  launch.workgroup[0] = x, launch.workgroup[1] = y, launch.workgroup[2] = z;
  launch.dimensions = dimensions;
  return launch;
}

} // namespace

TEST(Launch, Check)
{
  rawhal_kernel_t any = {}, limited = {}, required = {}, uniform = {}, groups = {};
  limited.max_flat_workgroup_size = 1024;
  required.reqd_workgroup_size[0] = 256;
  required.reqd_workgroup_size[1] = required.reqd_workgroup_size[2] = 1;
  uniform.uniform_work_group_size = true;
  groups.max_num_workgroups[1] = 4;
  struct {
    const rawhal_kernel_t *kernel;
    rawhal_launch_t launch;
    rawhal_status_t status;
    const char *message;
  } cases[] = {
      {&any, Geometry(1, 1, 1, 1, 1, 1), RAWHAL_OK, ""},
      {&any, Geometry(UINT32_MAX, UINT32_MAX, UINT32_MAX, 65535, 65535, 65535), RAWHAL_OK, ""},
      {&any, Geometry(0, 1, 1, 1, 1, 1), RAWHAL_INVALID_ARGUMENT, "grid size x is 0"},
      {&any, Geometry(1, 1, 1, 1, 1, 0), RAWHAL_INVALID_ARGUMENT, "work-group size z is 0"},
      {&any, Geometry(1, 1, 1, 1, 1, 1, 4), RAWHAL_INVALID_ARGUMENT, "4 dimensions; there are 3"},
      {&any, Geometry(8, 2, 1, 1, 1, 1, 1), RAWHAL_INVALID_ARGUMENT,
       "grid 2 and work-group 1 in unused dimension y, must be 1"},
      {&any, Geometry(8, 2, 1, 1, 1, 1, 2), RAWHAL_OK, ""},
      {&limited, Geometry(64, 64, 1, 32, 32, 1), RAWHAL_OK, ""},
      {&limited, Geometry(64, 64, 1, 32, 33, 1), RAWHAL_OUT_OF_RANGE,
       "a work-group of 32x33x1 is 1056 work-items, the kernel allows 1024"},
      // 2^32 work-items: 0 in 32 bits.
      {&limited, Geometry(1, 1, 1, 32768, 32768, 4), RAWHAL_OUT_OF_RANGE,
       "a work-group of 32768x32768x4 is 4294967296 work-items, the kernel allows 1024"},
      {&required, Geometry(1000, 1, 1, 256, 1, 1), RAWHAL_OK, ""},
      {&required, Geometry(1000, 1, 1, 128, 1, 1), RAWHAL_INVALID_ARGUMENT,
       "work-group size x is 128, the kernel requires 256"},
      {&uniform, Geometry(512, 6, 1, 256, 2, 1), RAWHAL_OK, ""},
      {&uniform, Geometry(512, 7, 1, 256, 2, 1), RAWHAL_INVALID_ARGUMENT,
       "grid size y of 7 is not a multiple of the work-group's 2, and the kernel allows no partial "
       "work-groups"},
      {&groups, Geometry(100, 8, 1, 1, 2, 1), RAWHAL_OK, ""},
      {&groups, Geometry(100, 9, 1, 1, 2, 1), RAWHAL_OUT_OF_RANGE,
       "5 work-groups in dimension y, the kernel allows 4"},
  };
  for (const auto &test : cases) {
    SCOPED_TRACE(test.message);
    rawhal_error_t error = {};
    EXPECT_EQ(test.status, rawhal_launch_check(test.kernel, &test.launch, &error));
    EXPECT_STREQ(test.message, error.message);
  }
  rawhal_launch_t launch = Geometry(1, 1, 1, 1, 1, 1);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_launch_check(nullptr, &launch, nullptr));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_launch_check(&any, nullptr, nullptr));

  struct {
    rawhal_launch_t known;
    uint64_t more;
  } later = {launch, 0};
  later.known.size = sizeof(later);
  EXPECT_EQ(RAWHAL_OK, rawhal_launch_check(&any, &later.known, nullptr));
  later.more = 1;
  EXPECT_EQ(RAWHAL_UNSUPPORTED, rawhal_launch_check(&any, &later.known, nullptr));
  launch.size = sizeof(launch) - 8;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_launch_check(&any, &launch, nullptr));
}
