// Compiling layouts: sizes, what is known, what is refused, names, signatures.
#include <gtest/gtest.h>

#include "kernel_builder.h"

using namespace kernarg_test;

namespace {

std::string Refusal(Kernel &kernel, rawhal_status_t expected, uint32_t stated_size = 0)
{
  rawhal_error_t error = {};
  rawhal_status_t status;
  EXPECT_EQ(nullptr, Compile(kernel, stated_size, &error, &status));
  EXPECT_EQ(expected, status);
  EXPECT_EQ(expected, error.status);
  return error.message;
}

} // namespace

TEST(Layout, PlainKernel)
{
  Kernel kernel(28);
  AddVectorAdd(kernel);
  Layout layout = Compile(kernel);
  ASSERT_TRUE(layout);
  const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(layout.get());
  EXPECT_EQ(RAWHAL_KERNARG_ARGUMENTS, info->knowledge);
  EXPECT_EQ(28u, info->segment_size);
  EXPECT_EQ(28u, info->effective_size);
  EXPECT_EQ(28u, info->explicit_end);
  EXPECT_EQ(16u, info->alignment);
  EXPECT_EQ(4u, info->visible_count);
  EXPECT_EQ(0u, info->hidden_count);
  EXPECT_EQ(1u, info->block_count);

  const rawhal_kernarg_argument_t *n = rawhal_kernarg_layout_argument(layout.get(), 3);
  ASSERT_NE(nullptr, n);
  EXPECT_EQ("n", std::string(n->name.data, n->name.size));
  EXPECT_EQ(24u, n->offset);
  EXPECT_EQ(4u, n->size);
  EXPECT_EQ(RAWHAL_VALUE_BY_VALUE, n->value_kind);
  EXPECT_FALSE(n->hidden);
  EXPECT_FALSE(n->optional);
  EXPECT_EQ(nullptr, rawhal_kernarg_layout_argument(layout.get(), 4));
  EXPECT_EQ(nullptr, rawhal_kernarg_layout_argument(layout.get(), SIZE_MAX));
}

TEST(Layout, HiddenBlockAndWideAlignment)
{
  Kernel kernel(32 + 256, 128);
  AddVectorAdd(kernel);
  AddHiddenV5(kernel, 32);
  Layout layout = Compile(kernel);
  ASSERT_TRUE(layout);
  const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(layout.get());
  EXPECT_EQ(28u, info->explicit_end);
  EXPECT_EQ(288u, info->effective_size);
  EXPECT_EQ(5u, info->block_count); // 288 = 4.5 * 64
  EXPECT_EQ(128u, info->alignment);
  EXPECT_EQ(4u, info->visible_count);
  EXPECT_EQ(23u, info->hidden_count);
  EXPECT_TRUE(rawhal_kernarg_layout_argument(layout.get(), 4)->hidden);
}

TEST(Layout, KernelWithoutArgumentsNeedsNothingAndGetsOneBlock)
{
  Kernel kernel(0, 4);
  Layout layout = Compile(kernel);
  ASSERT_TRUE(layout);
  const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(layout.get());
  EXPECT_EQ(RAWHAL_KERNARG_ARGUMENTS, info->knowledge);
  EXPECT_EQ(0u, info->explicit_end);
  EXPECT_EQ(0u, info->effective_size);
  EXPECT_EQ(1u, info->block_count);
  EXPECT_EQ(RAWHAL_OK, rawhal_kernarg_check(layout.get(), nullptr, 0, 0, nullptr));
}

// aiter's gfx950 fmoe kernels: arguments at 436..448 of a segment declared with 436 bytes.
TEST(Layout, ArgumentsPastTheDeclaredSegmentAreOptional)
{
  Kernel kernel(436);
  kernel.Arg("state", 0, 436).Arg("pad", 436, 4).Arg("pad", 440, 4).Arg("pad", 444, 4);
  kernel.Descriptor(436);
  Layout layout = Compile(kernel);
  ASSERT_TRUE(layout);
  const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(layout.get());
  EXPECT_EQ(436u, info->segment_size);
  EXPECT_EQ(448u, info->effective_size);
  EXPECT_EQ(436u, info->explicit_end);
  EXPECT_EQ(7u, info->block_count);
  EXPECT_FALSE(rawhal_kernarg_layout_argument(layout.get(), 0)->optional);
  EXPECT_TRUE(rawhal_kernarg_layout_argument(layout.get(), 1)->optional);
  EXPECT_TRUE(rawhal_kernarg_layout_argument(layout.get(), 3)->optional);
}

TEST(Layout, DescriptorEnlargesTheSegmentAndItsZeroMeansUnspecified)
{
  Kernel larger(28);
  AddVectorAdd(larger);
  larger.Descriptor(100);
  Layout layout = Compile(larger);
  ASSERT_TRUE(layout);
  EXPECT_EQ(28u, rawhal_kernarg_layout_info(layout.get())->segment_size);
  EXPECT_EQ(100u, rawhal_kernarg_layout_info(layout.get())->effective_size);
  EXPECT_EQ(2u, rawhal_kernarg_layout_info(layout.get())->block_count);

  Kernel unspecified(28);
  AddVectorAdd(unspecified);
  unspecified.Descriptor(0);
  layout = Compile(unspecified);
  ASSERT_TRUE(layout);
  EXPECT_EQ(28u, rawhal_kernarg_layout_info(layout.get())->effective_size);
}

TEST(Layout, SizeThatIsNotDeclaredComesFromTheNextBestSource)
{
  Kernel described(0);
  AddVectorAdd(described);
  described.Descriptor(32);
  EXPECT_EQ(32u, rawhal_kernarg_layout_info(Compile(described).get())->segment_size);

  Kernel neither(0);
  AddVectorAdd(neither);
  Layout layout = Compile(neither);
  EXPECT_EQ(28u, rawhal_kernarg_layout_info(layout.get())->segment_size);
  EXPECT_EQ(28u, rawhal_kernarg_layout_info(layout.get())->explicit_end);
}

TEST(Layout, OnlyTheSizeIsKnown)
{
  Kernel no_args(40);
  no_args.NoArguments();
  Layout layout = Compile(no_args);
  EXPECT_EQ(RAWHAL_KERNARG_SIZE, rawhal_kernarg_layout_info(layout.get())->knowledge);
  EXPECT_EQ(40u, rawhal_kernarg_layout_info(layout.get())->segment_size);

  Kernel descriptor_only;
  descriptor_only.NoMetadata().Descriptor(24);
  layout = Compile(descriptor_only);
  EXPECT_EQ(RAWHAL_KERNARG_SIZE, rawhal_kernarg_layout_info(layout.get())->knowledge);
  EXPECT_EQ(24u, rawhal_kernarg_layout_info(layout.get())->segment_size);
}

TEST(Layout, NothingKnownNeedsAStatedSize)
{
  Kernel kernel;
  kernel.NoMetadata().Descriptor(0);
  EXPECT_EQ("the kernarg size of 'test_kernel' is unknown: it has no metadata, and its descriptor "
            "says 0; state the size",
            Refusal(kernel, RAWHAL_INVALID_ARGUMENT));
  Layout layout = Compile(kernel, 96);
  ASSERT_TRUE(layout);
  EXPECT_EQ(96u, rawhal_kernarg_layout_info(layout.get())->segment_size);
  EXPECT_EQ(2u, rawhal_kernarg_layout_info(layout.get())->block_count);
}

TEST(Layout, StatedSizeMayNotContradictTheFacts)
{
  Kernel kernel(28);
  AddVectorAdd(kernel);
  EXPECT_EQ("a kernarg size of 32 is stated, but 'test_kernel' itself says 28",
            Refusal(kernel, RAWHAL_INVALID_ARGUMENT, 32));
  EXPECT_TRUE(Compile(kernel, 28));
}

TEST(Layout, OverlapIsMalformedInAnyOrder)
{
  Kernel sorted(64);
  sorted.Pointer("p", 28).Arg("n", 32, 4);
  EXPECT_EQ("argument 1 'n' (by_value) at 32..36 overlaps argument 0 'p' (global_buffer) at 28..36",
            Refusal(sorted, RAWHAL_MALFORMED));

  Kernel unsorted(64);
  unsorted.Arg("n", 32, 4).Arg("m", 0, 4).Pointer("p", 28);
  EXPECT_EQ("argument 0 'n' (by_value) at 32..36 overlaps argument 2 'p' (global_buffer) at 28..36",
            Refusal(unsorted, RAWHAL_MALFORMED));

  // Swallowed by a big one that begins earlier, with another between.
  Kernel nested(300);
  nested.Arg("blob", 0, 200).Arg("empty", 100, 0).Arg("n", 150, 4);
  EXPECT_EQ("argument 2 'n' (by_value) at 150..154 overlaps argument 0 'blob' (by_value) at 0..200",
            Refusal(nested, RAWHAL_MALFORMED));

  Kernel hidden(64);
  hidden.Pointer("p", 0).Hidden(RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_X, 4, 4);
  EXPECT_EQ("argument 1 (hidden_block_count_x) at 4..8 overlaps argument 0 'p' (global_buffer) at "
            "0..8",
            Refusal(hidden, RAWHAL_MALFORMED));
}

TEST(Layout, ArgumentsOfNoBytesOccupyNothing)
{
  Kernel kernel(16);
  kernel.Pointer("p", 0).Arg("nothing", 8, 0).Pointer("q", 8).Arg("nothing", 4, 0);
  Layout layout = Compile(kernel);
  ASSERT_TRUE(layout);
  EXPECT_EQ(16u, rawhal_kernarg_layout_info(layout.get())->explicit_end);
}

TEST(Layout, EdgesOf32Bits)
{
  Kernel wraps(8);
  wraps.Arg("n", UINT32_MAX - 2, 4);
  EXPECT_EQ("argument 0 'n' (by_value) at 4294967293 with 4 bytes ends past 4 GiB",
            Refusal(wraps, RAWHAL_MALFORMED));
  Kernel whole(8);
  whole.Arg("n", UINT32_MAX, UINT32_MAX);
  Refusal(whole, RAWHAL_MALFORMED);

  Kernel fits(8);
  fits.Arg("n", UINT32_MAX - 4, 4);
  Layout layout = Compile(fits);
  ASSERT_TRUE(layout);
  EXPECT_EQ(UINT32_MAX, rawhal_kernarg_layout_info(layout.get())->effective_size);
  EXPECT_EQ(1u << 26, rawhal_kernarg_layout_info(layout.get())->block_count);
  char byte = 0;
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE,
            rawhal_kernarg_write_blob(layout.get(), &byte, 1, 0, nullptr, &byte, 1, &error));
  EXPECT_STREQ("the image needs 4294967296 bytes (67108864 blocks of 64), there are 1",
               error.message);
}

TEST(Layout, AlignmentMustBeAPowerOfTwo)
{
  Kernel kernel(8, 24);
  EXPECT_EQ("kernarg segment alignment 24 is not a power of two",
            Refusal(kernel, RAWHAL_MALFORMED));
  Kernel small(8, 12); // below the least alignment nothing depends on it
  EXPECT_TRUE(Compile(small));
}

TEST(Layout, HiddenPointersMustHaveRoom)
{
  Kernel kernel(16);
  kernel.Hidden(RAWHAL_VALUE_HIDDEN_QUEUE_PTR, 8, 4);
  EXPECT_EQ("hidden argument 0 (hidden_queue_ptr) is a pointer declared with 4 bytes",
            Refusal(kernel, RAWHAL_MALFORMED));
}

TEST(Layout, NullArguments)
{
  rawhal_error_t error = {};
  rawhal_kernarg_layout_t *layout = reinterpret_cast<rawhal_kernarg_layout_t *>(&error);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_kernarg_layout_create(nullptr, 0, &layout, &error));
  EXPECT_EQ(nullptr, layout);
  Kernel kernel;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_kernarg_layout_create(kernel.facts(), 0, nullptr, &error));
  rawhal_kernarg_layout_destroy(nullptr);
}

// 100,000 arguments in the worst order: seconds if anything were quadratic.
TEST(Layout, HostileKernelsStayLinear)
{
  constexpr uint32_t kCount = 100000;
  Kernel kernel(8 * kCount);
  std::string name(120, 'x');
  for (uint32_t i = 0; i < kCount; ++i) {
    std::string number = std::to_string(i);
    name.replace(name.size() - number.size(), number.size(), number);
    kernel.Arg(name, 8 * (kCount - 1 - i), 8,
               i % 3 ? RAWHAL_VALUE_BY_VALUE : RAWHAL_VALUE_HIDDEN_GLOBAL_OFFSET_Y);
  }
  Layout layout = Compile(kernel);
  ASSERT_TRUE(layout);
  EXPECT_EQ(8 * kCount, rawhal_kernarg_layout_info(layout.get())->effective_size);

  std::vector<unsigned char> image(8 * kCount + 64), blob(8 * kCount, 0x5a);
  rawhal_launch_t launch = DistinctLaunch();
  ASSERT_EQ(RAWHAL_OK, rawhal_kernarg_write_blob(layout.get(), blob.data(), blob.size(), 0, &launch,
                                                 image.data(), image.size(), nullptr));
  uint64_t word;
  memcpy(&word, &image[8 * (kCount - 1)], 8); // argument 0
  EXPECT_EQ(launch.global_offset[1], word);
  memcpy(&word, &image[8 * (kCount - 2)], 8); // argument 1
  EXPECT_EQ(0x5a5a5a5a5a5a5a5au, word);

  size_t index;
  rawhal_string_t last = kernel.arguments()[kCount - 2].name; // hidden ones have no place in it
  EXPECT_EQ(RAWHAL_OK, rawhal_kernarg_layout_find(layout.get(), last, &index, nullptr));
  EXPECT_EQ(kCount - 2, index);
  EXPECT_EQ(RAWHAL_NOT_FOUND,
            rawhal_kernarg_layout_find(layout.get(), kernel.arguments()[0].name, &index, nullptr));
}

TEST(Names, FoundAmbiguousAbsent)
{
  Kernel kernel(40);
  kernel.Pointer("out", 0).Arg("pad", 8, 4).Arg("n", 12, 4).Arg("pad", 16, 4).Arg("", 20, 4);
  kernel.Arg("hidden", 24, 8, RAWHAL_VALUE_HIDDEN_QUEUE_PTR);
  Layout layout = Compile(kernel);
  ASSERT_TRUE(layout);
  size_t index = 99;
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_OK, rawhal_kernarg_layout_find(layout.get(), {"n", 1}, &index, &error));
  EXPECT_EQ(2u, index);
  EXPECT_EQ(RAWHAL_OK, rawhal_kernarg_layout_find(layout.get(), {"out", 3}, &index, &error));
  EXPECT_EQ(0u, index);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_kernarg_layout_find(layout.get(), {"pad", 3}, &index, &error));
  EXPECT_STREQ("several arguments are called 'pad', such as 1 and 3: use an index", error.message);
  EXPECT_EQ(RAWHAL_NOT_FOUND,
            rawhal_kernarg_layout_find(layout.get(), {"elements", 8}, &index, &error));
  EXPECT_STREQ("the kernel has no argument 'elements'", error.message);
  EXPECT_EQ(RAWHAL_NOT_FOUND,
            rawhal_kernarg_layout_find(layout.get(), {"outt", 4}, &index, &error));
  EXPECT_STREQ("the kernel has no argument 'outt'; nearest: 'out'", error.message);
  EXPECT_EQ(RAWHAL_NOT_FOUND, rawhal_kernarg_layout_find(layout.get(), {"", 0}, &index, &error));
  EXPECT_EQ(RAWHAL_NOT_FOUND,
            rawhal_kernarg_layout_find(layout.get(), {"hidden", 6}, &index, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_kernarg_layout_find(layout.get(), {nullptr, 6}, &index, &error));
}

// FNV-1a 64 (offset basis cbf29ce484222325, prime 100000001b3) over the documented string; the
// constants were computed by an independent Python script from that description.
TEST(Signature, IsTheDocumentedHash)
{
  Kernel kernel(28);
  AddVectorAdd(kernel);
  Layout layout = Compile(kernel);
  const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(layout.get());
  EXPECT_EQ(UINT64_C(0xbc1ca248f8393828), info->signature);
  EXPECT_EQ(UINT64_C(0x33980b10f0e3f1b), info->blob_signature);
}

TEST(Signature, ChangesWithTheAbiAndOnlyWithIt)
{
  Kernel base(32);
  AddVectorAdd(base);
  auto sign = [](Kernel &kernel) {
    Layout layout = Compile(kernel);
    return *rawhal_kernarg_layout_info(layout.get());
  };
  rawhal_kernarg_info_t original = sign(base);

  Kernel renamed(32);
  renamed.Pointer("z", 0).Pointer("x", 8).Pointer("y", 16).Arg("count", 24, 4);
  EXPECT_EQ(original.signature, sign(renamed).signature);
  EXPECT_EQ(original.blob_signature, sign(renamed).blob_signature);

  Kernel moved(32);
  moved.Pointer("c", 0).Pointer("a", 8).Pointer("b", 16).Arg("n", 28, 4);
  EXPECT_NE(original.signature, sign(moved).signature);
  EXPECT_NE(original.blob_signature, sign(moved).blob_signature);

  Kernel widened(32);
  widened.Pointer("c", 0).Pointer("a", 8).Pointer("b", 16).Arg("n", 24, 8);
  EXPECT_NE(original.blob_signature, sign(widened).blob_signature);

  Kernel other_kind(32);
  other_kind.Pointer("c", 0).Pointer("a", 8).Arg("b", 16, 8).Arg("n", 24, 4);
  EXPECT_NE(original.blob_signature, sign(other_kind).blob_signature);

  // Hidden arguments come and go with the compiler; a caller's blob does not change for that.
  Kernel with_hidden(40);
  AddVectorAdd(with_hidden);
  with_hidden.Hidden(RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_X, 32, 4);
  EXPECT_NE(original.signature, sign(with_hidden).signature);
  EXPECT_EQ(original.blob_signature, sign(with_hidden).blob_signature);

  Kernel sized(32), sized_otherwise(40);
  sized.NoArguments();
  sized_otherwise.NoArguments();
  EXPECT_NE(sign(sized).blob_signature, sign(sized_otherwise).blob_signature);
}
