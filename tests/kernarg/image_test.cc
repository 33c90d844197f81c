// Images, byte by byte, in memory that held something else before.
#include <gtest/gtest.h>

#include "kernel_builder.h"

using namespace kernarg_test;

namespace {

constexpr unsigned char kPoison = 0xFD;

// `size` bytes of image between two guards; all of it poisoned.
class Canvas {
public:
  explicit Canvas(size_t size) : size_(size), memory_(kGuard + size + kGuard, kPoison) {}
  unsigned char *image() { return memory_.data() + kGuard; }
  size_t size() const { return size_; }
  bool GuardsIntact() const { return Poisoned(0, kGuard) && Poisoned(kGuard + size_, kGuard); }
  bool Untouched() const { return Poisoned(0, memory_.size()); }
  uint64_t Read(size_t offset, size_t bytes) const
  {
    uint64_t value = 0;
    memcpy(&value, memory_.data() + kGuard + offset, bytes);
    return value;
  }
  // Checks a range against `expected` and remembers that it was looked at.
  void Expect(size_t offset, size_t bytes, uint64_t expected)
  {
    EXPECT_EQ(expected, Read(offset, bytes)) << "at " << offset;
    for (size_t i = 0; i < bytes; ++i)
      seen_.push_back(offset + i);
  }
  // Everything that was not looked at is zero.
  void ExpectZeroElsewhere()
  {
    std::vector<bool> seen(size_);
    for (size_t position : seen_)
      seen[position] = true;
    for (size_t i = 0; i < size_; ++i)
      if (!seen[i]) {
        EXPECT_EQ(0, image()[i]) << "at " << i;
      }
  }

private:
  static constexpr size_t kGuard = 64;
  bool Poisoned(size_t from, size_t count) const
  {
    for (size_t i = from; i < from + count; ++i)
      if (memory_[i] != kPoison)
        return false;
    return true;
  }
  size_t size_;
  std::vector<unsigned char> memory_;
  std::vector<size_t> seen_;
};

std::vector<unsigned char> Bytes(size_t count, unsigned char first = 1)
{
  std::vector<unsigned char> bytes(count);
  for (size_t i = 0; i < count; ++i)
    bytes[i] = static_cast<unsigned char>(first + i);
  return bytes;
}

} // namespace

TEST(Image, PlainBlobThenZeros)
{
  Kernel kernel(28);
  AddVectorAdd(kernel);
  Layout layout = Compile(kernel);
  Canvas canvas(64);
  std::vector<unsigned char> blob = Bytes(28);
  ASSERT_EQ(RAWHAL_OK, rawhal_kernarg_write_blob(layout.get(), blob.data(), 28, 0, nullptr,
                                                 canvas.image(), 64, nullptr));
  EXPECT_EQ(0, memcmp(canvas.image(), blob.data(), 28));
  for (size_t i = 28; i < 64; ++i)
    EXPECT_EQ(0, canvas.image()[i]) << i;
  EXPECT_TRUE(canvas.GuardsIntact());
}

// 36 of 40 bytes: what another runtime left stale.
TEST(Image, MissingPaddingReadsZero)
{
  Kernel kernel(40);
  kernel.Pointer("p", 0).Arg("s", 8, 24).Arg("n", 32, 4);
  Layout layout = Compile(kernel);
  Canvas canvas(64);
  std::vector<unsigned char> blob = Bytes(36);
  ASSERT_EQ(RAWHAL_OK, rawhal_kernarg_write_blob(layout.get(), blob.data(), 36, 0, nullptr,
                                                 canvas.image(), 64, nullptr));
  EXPECT_EQ(36, canvas.image()[35]);
  EXPECT_EQ(0u, canvas.Read(36, 8));
}

TEST(Image, LongerBlobsAreCopiedToTheSegmentRoundedUpTo16AndClampedThere)
{
  Kernel kernel(28);
  AddVectorAdd(kernel);
  Layout layout = Compile(kernel);
  std::vector<unsigned char> blob = Bytes(40);
  Canvas rounded(64), clamped(64), refused(64);
  EXPECT_EQ(RAWHAL_OK, rawhal_kernarg_write_blob(layout.get(), blob.data(), 32, 0, nullptr,
                                                 rounded.image(), 64, nullptr));
  EXPECT_EQ(0, memcmp(rounded.image(), blob.data(), 32));
  EXPECT_EQ(RAWHAL_OK,
            rawhal_kernarg_write_blob(layout.get(), blob.data(), 40, RAWHAL_KERNARG_CLAMP, nullptr,
                                      clamped.image(), 64, nullptr));
  EXPECT_EQ(0, memcmp(clamped.image(), rounded.image(), 64));
  EXPECT_EQ(0, clamped.image()[32]);
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, rawhal_kernarg_write_blob(layout.get(), blob.data(), 40, 0,
                                                           nullptr, refused.image(), 64, nullptr));
  EXPECT_TRUE(refused.Untouched());
}

// vector_add in code object V5: arguments 0..28, block at 32 (AMDGPUUsage's offsets + 32).
// Grid 1000 x 70 x 23 in groups of 64 x 8 x 2: 15 full groups and 40 left; 8 and 6; 11 and 1.
TEST(Image, WholeHiddenBlockV5)
{
  Kernel kernel(32 + 256);
  AddVectorAdd(kernel);
  AddHiddenV5(kernel, 32);
  Layout layout = Compile(kernel);
  rawhal_launch_t launch = DistinctLaunch();
  Canvas canvas(320);
  std::vector<unsigned char> blob = Bytes(28);
  ASSERT_EQ(RAWHAL_OK, rawhal_kernarg_write_blob(layout.get(), blob.data(), 28, 0, &launch,
                                                 canvas.image(), 320, nullptr));
  for (size_t i = 0; i < 28; ++i)
    canvas.Expect(i, 1, i + 1);
  canvas.Expect(32, 4, 15);
  canvas.Expect(36, 4, 8);
  canvas.Expect(40, 4, 11);
  canvas.Expect(44, 2, 64);
  canvas.Expect(46, 2, 8);
  canvas.Expect(48, 2, 2);
  canvas.Expect(50, 2, 40);
  canvas.Expect(52, 2, 6);
  canvas.Expect(54, 2, 1);
  canvas.Expect(72, 8, 0x1111111122222222);
  canvas.Expect(80, 8, 0x3333333344444444);
  canvas.Expect(88, 8, 0x5555555566666666);
  canvas.Expect(96, 2, 2);
  canvas.Expect(104, 8, 0xb0b1b2b3b4b5b6b7);
  canvas.Expect(112, 8, 0xc0c1c2c3c4c5c6c7);
  canvas.Expect(120, 8, 0x9091929394959697);
  canvas.Expect(128, 8, 0xd0d1d2d3d4d5d6d7);
  canvas.Expect(136, 8, 0xe0e1e2e3e4e5e6e7);
  canvas.Expect(144, 8, 0xf0f1f2f3f4f5f6f7);
  canvas.Expect(152, 4, 0x4000);
  canvas.Expect(224, 4, 0x71727374);
  canvas.Expect(228, 4, 0x81828384);
  canvas.Expect(232, 8, 0xa0a1a2a3a4a5a6a7);
  canvas.ExpectZeroElsewhere();
  EXPECT_TRUE(canvas.GuardsIntact());
}

// The V4 block: seven 8-byte fields; one of them is not used by this kernel.
TEST(Image, HiddenBlockV4)
{
  Kernel kernel(32 + 56);
  AddVectorAdd(kernel);
  kernel.Hidden(RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_X, 32, 8)
      .Hidden(RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_Y, 40, 8)
      .Hidden(RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_Z, 48, 8)
      .Hidden(RAWHAL_VALUE_HIDDEN_HOSTCALL_BUFFER, 56, 8)
      .Hidden(RAWHAL_VALUE_HIDDEN_NONE, 64, 8)
      .Hidden(RAWHAL_VALUE_HIDDEN_COMPLETION_ACTION, 72, 8)
      .Hidden(RAWHAL_VALUE_HIDDEN_MULTIGRID_SYNC_ARG, 80, 8);
  Layout layout = Compile(kernel);
  rawhal_launch_t launch = DistinctLaunch();
  Canvas canvas(128);
  std::vector<unsigned char> blob = Bytes(32);
  ASSERT_EQ(RAWHAL_OK, rawhal_kernarg_write_blob(layout.get(), blob.data(), 32, 0, &launch,
                                                 canvas.image(), 128, nullptr));
  for (size_t i = 0; i < 32; ++i)
    canvas.Expect(i, 1, i + 1);
  canvas.Expect(32, 8, 0x1111111122222222);
  canvas.Expect(40, 8, 0x3333333344444444);
  canvas.Expect(48, 8, 0x5555555566666666);
  canvas.Expect(56, 8, 0xc0c1c2c3c4c5c6c7);
  canvas.Expect(72, 8, 0xf0f1f2f3f4f5f6f7);
  canvas.Expect(80, 8, 0x9091929394959697);
  canvas.ExpectZeroElsewhere();
}

// MIOpen's Winograd kernels begin their hidden block at byte 201.
TEST(Image, UnalignedPartialBlock)
{
  Kernel kernel(252);
  kernel.Pointer("out", 0).Arg("state", 8, 193);
  kernel.Hidden(RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_X, 201, 4)
      .Hidden(RAWHAL_VALUE_HIDDEN_GROUP_SIZE_X, 213, 2)
      .Hidden(RAWHAL_VALUE_HIDDEN_REMAINDER_X, 219, 2)
      .Hidden(RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_X, 241, 8);
  Layout layout = Compile(kernel);
  rawhal_launch_t launch = DistinctLaunch();
  Canvas canvas(256);
  std::vector<unsigned char> blob = Bytes(201);
  ASSERT_EQ(RAWHAL_OK, rawhal_kernarg_write_blob(layout.get(), blob.data(), 201, 0, &launch,
                                                 canvas.image(), 256, nullptr));
  for (size_t i = 0; i < 201; ++i)
    canvas.Expect(i, 1, i + 1);
  canvas.Expect(201, 4, 15);
  canvas.Expect(213, 2, 64);
  canvas.Expect(219, 2, 40);
  canvas.Expect(241, 8, 0x1111111122222222);
  canvas.ExpectZeroElsewhere();
}

TEST(Image, RuntimeWinsOverBlobBytesUnlessToldOtherwise)
{
  Kernel kernel(32);
  kernel.Pointer("p", 0)
      .Hidden(RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_X, 8, 4)
      .Hidden(RAWHAL_VALUE_HIDDEN_NONE, 12, 4)
      .Arg("n", 16, 4)
      .Hidden(RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_X, 24, 8);
  Layout layout = Compile(kernel);
  rawhal_launch_t launch = DistinctLaunch();
  std::vector<unsigned char> blob = Bytes(28); // ends inside of the last hidden argument

  Canvas runtime(64);
  ASSERT_EQ(RAWHAL_OK, rawhal_kernarg_write_blob(layout.get(), blob.data(), 28, 0, &launch,
                                                 runtime.image(), 64, nullptr));
  runtime.Expect(0, 8, 0x0807060504030201);
  runtime.Expect(8, 4, 15);
  runtime.Expect(12, 4, 0);          // hidden_none is zero, whatever the blob says
  runtime.Expect(16, 4, 0x14131211); // visible after hidden
  runtime.Expect(20, 4, 0x18171615); // no argument here: the blob's
  runtime.Expect(24, 8, 0x1111111122222222);
  runtime.ExpectZeroElsewhere();

  Canvas kept(64);
  ASSERT_EQ(RAWHAL_OK,
            rawhal_kernarg_write_blob(layout.get(), blob.data(), 28, RAWHAL_KERNARG_KEEP_HIDDEN,
                                      &launch, kept.image(), 64, nullptr));
  kept.Expect(0, 8, 0x0807060504030201);
  kept.Expect(8, 4, 0x0c0b0a09);
  kept.Expect(12, 4, 0x100f0e0d);
  kept.Expect(16, 8, 0x1817161514131211);
  kept.Expect(24, 8, 0x1111111122222222); // covered in part only: the runtime's
  kept.ExpectZeroElsewhere();
}

// Bytes beyond the clamp are not the blob's: a hidden argument there is not "covered".
TEST(Image, KeepingAndClampingTogether)
{
  Kernel kernel(16);
  kernel.Pointer("p", 0).Hidden(RAWHAL_VALUE_HIDDEN_QUEUE_PTR, 8, 8);
  Layout layout = Compile(kernel);
  rawhal_launch_t launch = DistinctLaunch();
  std::vector<unsigned char> blob = Bytes(64);
  Canvas canvas(64);
  ASSERT_EQ(RAWHAL_OK, rawhal_kernarg_write_blob(layout.get(), blob.data(), 64,
                                                 RAWHAL_KERNARG_KEEP_HIDDEN | RAWHAL_KERNARG_CLAMP,
                                                 &launch, canvas.image(), 64, nullptr));
  canvas.Expect(0, 8, 0x0807060504030201);
  canvas.Expect(8, 8, 0x100f0e0d0c0b0a09);
  canvas.ExpectZeroElsewhere();
}

TEST(Image, FieldsWiderAndNarrowerThanTheirValue)
{
  Kernel kernel(32);
  kernel.Hidden(RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_X, 0, 8)
      .Hidden(RAWHAL_VALUE_HIDDEN_GROUP_SIZE_X, 8, 1)
      .Hidden(RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_Y, 12, 4)
      .Hidden(RAWHAL_VALUE_HIDDEN_UNKNOWN, 16, 16);
  Layout layout = Compile(kernel);
  rawhal_launch_t launch = DistinctLaunch();
  launch.global_offset[1] = 0x12345678;
  std::vector<unsigned char> blob = Bytes(32);
  Canvas canvas(64);
  ASSERT_EQ(RAWHAL_OK, rawhal_kernarg_write_blob(layout.get(), blob.data(), 32, 0, &launch,
                                                 canvas.image(), 64, nullptr));
  canvas.Expect(0, 8, 15);
  canvas.Expect(8, 1, 64);
  canvas.Expect(9, 3, 0x0c0b0a);
  canvas.Expect(12, 4, 0x12345678);
  canvas.ExpectZeroElsewhere();

  Canvas refused(64);
  rawhal_error_t error = {};
  launch.workgroup[0] = 256; // does not fit one byte
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, rawhal_kernarg_write_blob(layout.get(), blob.data(), 32, 0,
                                                           &launch, refused.image(), 64, &error));
  EXPECT_STREQ("hidden argument at 8 has 1 bytes, too few for this launch's value", error.message);
  EXPECT_EQ(8u, error.offset);
  EXPECT_TRUE(refused.Untouched());
}

TEST(Image, GridSmallerThanAGroupAndHugeGrids)
{
  Kernel kernel(256);
  AddHiddenV5(kernel, 0);
  Layout layout = Compile(kernel);
  rawhal_launch_t launch = {};
  launch.work_items[0] = 10, launch.work_items[1] = UINT32_MAX, launch.work_items[2] = 1;
  launch.workgroup[0] = 64, launch.workgroup[1] = 1, launch.workgroup[2] = UINT16_MAX;
  Canvas canvas(256);
  ASSERT_EQ(RAWHAL_OK, rawhal_kernarg_write_blob(layout.get(), nullptr, 0, 0, &launch,
                                                 canvas.image(), 256, nullptr));
  canvas.Expect(0, 4, 0);
  canvas.Expect(4, 4, UINT32_MAX);
  canvas.Expect(8, 4, 0);
  canvas.Expect(12, 2, 64);
  canvas.Expect(14, 2, 1);
  canvas.Expect(16, 2, UINT16_MAX);
  canvas.Expect(18, 2, 10);
  canvas.Expect(20, 2, 0);
  canvas.Expect(22, 2, 1);
  canvas.Expect(64, 2, 3); // dimensions 0 means 3
  canvas.ExpectZeroElsewhere();
}

TEST(Image, NothingIsWrittenOnFailure)
{
  Kernel kernel(64);
  AddVectorAdd(kernel);
  kernel.Hidden(RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_X, 32, 4);
  Layout layout = Compile(kernel);
  std::vector<unsigned char> blob = Bytes(64);
  rawhal_launch_t launch = DistinctLaunch(), zero = launch;
  zero.workgroup[1] = 0;
  Canvas canvas(64);
  rawhal_error_t error = {};
  auto write = [&](const void *bytes, size_t length, const rawhal_launch_t *with, void *image,
                   size_t size) {
    return rawhal_kernarg_write_blob(layout.get(), bytes, length, 0, with, image, size, &error);
  };
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, write(blob.data(), 27, &launch, canvas.image(), 64));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, write(nullptr, 28, &launch, canvas.image(), 64));
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, write(blob.data(), 28, &launch, canvas.image(), 63));
  EXPECT_STREQ("the image needs 64 bytes (1 blocks of 64), there are 63", error.message);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, write(blob.data(), 28, nullptr, canvas.image(), 64));
  EXPECT_STREQ("the kernel has hidden arguments, so a launch is needed", error.message);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, write(blob.data(), 28, &zero, canvas.image(), 64));
  EXPECT_STREQ("work-group size y is 0", error.message);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, write(blob.data(), 28, &launch, nullptr, 64));
  EXPECT_TRUE(canvas.Untouched());
  EXPECT_EQ(RAWHAL_OK, write(blob.data(), 28, &launch, canvas.image(), 64));
}

TEST(Pointers, SameImageAsTheBlob)
{
  Kernel kernel(32 + 256);
  kernel.Arg("flag", 0, 1).Arg("rgb", 4, 3).Pointer("p", 8).Arg("s", 16, 12).Arg("n", 28, 4);
  AddHiddenV5(kernel, 32);
  Layout layout = Compile(kernel);
  unsigned char flag = 0x11, rgb[] = {0x21, 0x22, 0x23}, s[12] = {0x41, 0x42};
  uint64_t p = 0x3132333435363738;
  uint32_t n = 0x51525354;
  const void *arguments[] = {&flag, rgb, &p, s, &n};
  rawhal_launch_t launch = DistinctLaunch();
  Canvas from_pointers(320), from_blob(320);
  ASSERT_EQ(RAWHAL_OK, rawhal_kernarg_write_pointers(layout.get(), arguments, 5, &launch,
                                                     from_pointers.image(), 320, nullptr));
  unsigned char blob[32] = {};
  blob[0] = flag;
  memcpy(blob + 4, rgb, 3);
  memcpy(blob + 8, &p, 8);
  memcpy(blob + 16, s, 12);
  memcpy(blob + 28, &n, 4);
  ASSERT_EQ(RAWHAL_OK, rawhal_kernarg_write_blob(layout.get(), blob, 32, 0, &launch,
                                                 from_blob.image(), 320, nullptr));
  EXPECT_EQ(0, memcmp(from_pointers.image(), from_blob.image(), 320));
  EXPECT_TRUE(from_pointers.GuardsIntact());
}

TEST(Pointers, Refusals)
{
  Kernel kernel(12);
  kernel.Pointer("p", 0).Arg("n", 8, 4).Arg("extra", 12, 4).Arg("nothing", 0, 0);
  Layout layout = Compile(kernel);
  uint64_t p = 1;
  uint32_t n = 2;
  Canvas canvas(64);
  rawhal_error_t error = {};
  const void *missing[] = {&p, nullptr, &n, nullptr}, *good[] = {&p, &n, nullptr, nullptr};
  EXPECT_EQ(
      RAWHAL_INVALID_ARGUMENT,
      rawhal_kernarg_write_pointers(layout.get(), missing, 4, nullptr, canvas.image(), 64, &error));
  EXPECT_STREQ("argument 1 'n' (by_value) is NULL", error.message);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_kernarg_write_pointers(layout.get(), good, 3, nullptr,
                                                                   canvas.image(), 64, &error));
  EXPECT_STREQ("3 arguments given, the kernel has 4", error.message);
  EXPECT_EQ(
      RAWHAL_INVALID_ARGUMENT,
      rawhal_kernarg_write_pointers(layout.get(), nullptr, 4, nullptr, canvas.image(), 64, &error));
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, rawhal_kernarg_write_pointers(layout.get(), good, 4, nullptr,
                                                               canvas.image(), 32, &error));
  EXPECT_TRUE(canvas.Untouched());
  // NULL is fine for the optional argument and for the one without bytes.
  EXPECT_EQ(RAWHAL_OK, rawhal_kernarg_write_pointers(layout.get(), good, 4, nullptr, canvas.image(),
                                                     64, &error));
  canvas.Expect(0, 8, 1);
  canvas.Expect(8, 4, 2);
  canvas.ExpectZeroElsewhere();

  Kernel sized(12);
  sized.NoArguments();
  Layout unknown = Compile(sized);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_kernarg_write_pointers(unknown.get(), nullptr, 0, nullptr, canvas.image(), 64,
                                          &error));
  EXPECT_STREQ("the kernel's arguments are not known: it takes a prepacked blob", error.message);
}
