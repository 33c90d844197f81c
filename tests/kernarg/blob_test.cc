// The prepacked-blob rule, case by case, and the block count.
#include <gtest/gtest.h>

#include "kernel_builder.h"

using namespace kernarg_test;

namespace {

// Arguments end at 36 in a segment of 40: p 0..8, q 8..16, 's' 16..32, n 32..36.
void AddFour(Kernel &kernel)
{
  kernel.Pointer("p", 0).Pointer("q", 8).Arg("s", 16, 16).Arg("n", 32, 4);
}

struct BlobCase {
  const char *what;
  enum { kArguments, kOptional, kSizeOnly, kEmpty } kernel;
  bool null;
  size_t length;
  uint32_t flags;
  rawhal_status_t status;
  const char *message; // "" when it passes
};

const BlobCase kCases[] = {
    {"exactly the arguments", BlobCase::kArguments, false, 36, 0, RAWHAL_OK, ""},
    {"with the padding", BlobCase::kArguments, false, 40, 0, RAWHAL_OK, ""},
    {"up to the segment rounded up to 16", BlobCase::kArguments, false, 48, 0, RAWHAL_OK, ""},
    {"one byte of the last argument missing", BlobCase::kArguments, false, 35, 0,
     RAWHAL_OUT_OF_RANGE, "blob ends at 35, argument 3 'n' (by_value) occupies 32..36"},
    {"cut in the last argument", BlobCase::kArguments, false, 33, 0, RAWHAL_OUT_OF_RANGE,
     "blob ends at 33, argument 3 'n' (by_value) occupies 32..36"},
    {"cut between arguments", BlobCase::kArguments, false, 16, 0, RAWHAL_OUT_OF_RANGE,
     "blob ends at 16, argument 2 's' (by_value) occupies 16..32"},
    {"cut in the first", BlobCase::kArguments, false, 1, 0, RAWHAL_OUT_OF_RANGE,
     "blob ends at 1, argument 0 'p' (global_buffer) occupies 0..8"},
    {"empty", BlobCase::kArguments, false, 0, 0, RAWHAL_OUT_OF_RANGE,
     "blob ends at 0, argument 0 'p' (global_buffer) occupies 0..8"},
    {"empty and NULL", BlobCase::kArguments, true, 0, 0, RAWHAL_OUT_OF_RANGE,
     "blob ends at 0, argument 0 'p' (global_buffer) occupies 0..8"},
    {"NULL", BlobCase::kArguments, true, 36, 0, RAWHAL_INVALID_ARGUMENT,
     "blob is NULL but has 36 bytes"},
    {"one too long", BlobCase::kArguments, false, 49, 0, RAWHAL_OUT_OF_RANGE,
     "blob has 49 bytes, the kernarg segment 40 (48 rounded up to 16)"},
    {"one too long, clamped", BlobCase::kArguments, false, 49, RAWHAL_KERNARG_CLAMP, RAWHAL_OK, ""},
    {"absurdly long", BlobCase::kArguments, false, SIZE_MAX, 0, RAWHAL_OUT_OF_RANGE,
     "blob has 18446744073709551615 bytes, the kernarg segment 40 (48 rounded up to 16)"},
    {"absurdly long, clamped", BlobCase::kArguments, false, SIZE_MAX, RAWHAL_KERNARG_CLAMP,
     RAWHAL_OK, ""},
    {"clamping does not lengthen", BlobCase::kArguments, false, 35, RAWHAL_KERNARG_CLAMP,
     RAWHAL_OUT_OF_RANGE, "blob ends at 35, argument 3 'n' (by_value) occupies 32..36"},
    {"unknown flag", BlobCase::kArguments, false, 36, 4, RAWHAL_INVALID_ARGUMENT,
     "unknown blob flags 0x4"},
    // Declared 12 bytes, arguments to 20.
    {"optional ones missing", BlobCase::kOptional, false, 12, 0, RAWHAL_OK, ""},
    {"one optional given", BlobCase::kOptional, false, 16, 0, RAWHAL_OK, ""},
    {"all given", BlobCase::kOptional, false, 20, 0, RAWHAL_OK, ""},
    {"20 rounded up to 16", BlobCase::kOptional, false, 32, 0, RAWHAL_OK, ""},
    {"past the optional ones", BlobCase::kOptional, false, 33, 0, RAWHAL_OUT_OF_RANGE,
     "blob has 33 bytes, the kernarg segment 20 (32 rounded up to 16)"},
    {"a declared one cut", BlobCase::kOptional, false, 11, 0, RAWHAL_OUT_OF_RANGE,
     "blob ends at 11, argument 1 'n' (by_value) occupies 8..12"},
    // 40 bytes, no `.args`.
    {"all of it", BlobCase::kSizeOnly, false, 40, 0, RAWHAL_OK, ""},
    {"rounds up to it", BlobCase::kSizeOnly, false, 33, 0, RAWHAL_OK, ""},
    {"rounds up to less", BlobCase::kSizeOnly, false, 32, 0, RAWHAL_OUT_OF_RANGE,
     "blob ends at 32, the kernarg segment has 40 bytes (its arguments are not known)"},
    {"empty", BlobCase::kSizeOnly, true, 0, 0, RAWHAL_OUT_OF_RANGE,
     "blob ends at 0, the kernarg segment has 40 bytes (its arguments are not known)"},
    {"too long", BlobCase::kSizeOnly, false, 49, 0, RAWHAL_OUT_OF_RANGE,
     "blob has 49 bytes, the kernarg segment 40 (48 rounded up to 16)"},
    {"the rounding does not wrap", BlobCase::kSizeOnly, false, SIZE_MAX, RAWHAL_KERNARG_CLAMP,
     RAWHAL_OK, ""},
    {"nothing for nothing", BlobCase::kEmpty, true, 0, 0, RAWHAL_OK, ""},
    {"something for nothing", BlobCase::kEmpty, false, 1, 0, RAWHAL_OUT_OF_RANGE,
     "blob has 1 bytes, the kernarg segment 0 (0 rounded up to 16)"},
    {"something for nothing, clamped", BlobCase::kEmpty, false, 1, RAWHAL_KERNARG_CLAMP, RAWHAL_OK,
     ""},
};

} // namespace

TEST(Blob, EveryCaseOfTheRule)
{
  for (const BlobCase &test : kCases) {
    SCOPED_TRACE(test.what);
    Kernel kernel(test.kernel == BlobCase::kOptional ? 12
                  : test.kernel == BlobCase::kEmpty  ? 0
                                                     : 40);
    if (test.kernel == BlobCase::kArguments)
      AddFour(kernel);
    if (test.kernel == BlobCase::kOptional)
      kernel.Pointer("p", 0).Arg("n", 8, 4).Arg("pad", 12, 4).Arg("pad", 16, 4);
    if (test.kernel == BlobCase::kSizeOnly)
      kernel.NoArguments();
    Layout layout = Compile(kernel);
    ASSERT_TRUE(layout);
    unsigned char byte = 0; // the check never reads the blob
    rawhal_error_t error = {};
    EXPECT_EQ(test.status, rawhal_kernarg_check(layout.get(), test.null ? nullptr : &byte,
                                                test.length, test.flags, &error));
    EXPECT_STREQ(test.message, error.message);
    if (test.status == RAWHAL_OUT_OF_RANGE) {
      EXPECT_EQ(test.length, error.offset);
    }
  }
}

TEST(Blob, TheFirstCutArgumentIsTheLowestAndKeepsItsMetadataIndex)
{
  Kernel kernel(24);
  kernel.Arg("late", 16, 8).Arg("", 0, 4).Arg("early", 8, 8);
  Layout layout = Compile(kernel);
  unsigned char blob[24] = {};
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, rawhal_kernarg_check(layout.get(), blob, 12, 0, &error));
  EXPECT_STREQ("blob ends at 12, argument 2 'early' (by_value) occupies 8..16", error.message);
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, rawhal_kernarg_check(layout.get(), blob, 3, 0, &error));
  EXPECT_STREQ("blob ends at 3, argument 1 (by_value) occupies 0..4", error.message);
}

TEST(Blob, VisibleAfterHiddenCounts)
{
  Kernel kernel(20);
  kernel.Pointer("p", 0).Hidden(RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_X, 8, 4).Arg("n", 16, 4);
  Layout layout = Compile(kernel);
  unsigned char blob[20] = {};
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_OK, rawhal_kernarg_check(layout.get(), blob, 20, 0, &error));
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, rawhal_kernarg_check(layout.get(), blob, 19, 0, &error));
  EXPECT_STREQ("blob ends at 19, argument 2 'n' (by_value) occupies 16..20", error.message);
}

TEST(Blob, NullLayout)
{
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_kernarg_check(nullptr, nullptr, 0, 0, nullptr));
}

TEST(BlockCount, Edges)
{
  struct {
    uint64_t bytes;
    uint32_t capacity;
    rawhal_status_t status;
    uint32_t blocks;
  } cases[] = {
      {0, UINT32_MAX, RAWHAL_OK, 1},
      {1, UINT32_MAX, RAWHAL_OK, 1},
      {64, 1, RAWHAL_OK, 1},
      {65, 1, RAWHAL_OUT_OF_RANGE, 0},
      {65, 2, RAWHAL_OK, 2},
      {0, 0, RAWHAL_OUT_OF_RANGE, 0},
      {UINT32_MAX, UINT32_MAX, RAWHAL_OK, 1u << 26},
      {64 * UINT64_C(0xffffffff), UINT32_MAX, RAWHAL_OK, UINT32_MAX},
      {64 * UINT64_C(0xffffffff) + 1, UINT32_MAX, RAWHAL_OUT_OF_RANGE, 0}, // 2^32: not 0 blocks
      {UINT64_MAX, UINT32_MAX, RAWHAL_OUT_OF_RANGE, 0},
  };
  for (const auto &test : cases) {
    SCOPED_TRACE(test.bytes);
    uint32_t blocks = 77;
    EXPECT_EQ(test.status, rawhal_kernarg_block_count(test.bytes, test.capacity, &blocks, nullptr));
    EXPECT_EQ(test.blocks, blocks);
  }
  rawhal_error_t error = {};
  uint32_t blocks;
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, rawhal_kernarg_block_count(200, 3, &blocks, &error));
  EXPECT_STREQ("200 bytes of kernargs are 4 blocks of 64, more than 3", error.message);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_kernarg_block_count(1, 1, nullptr, &error));
}
