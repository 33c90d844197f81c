// Random layouts, blobs and launches against the naive implementation, byte by byte.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "kernel_builder.h"

extern "C" {
#include "kernarg/layout.h"
#include "naive.h"
}

using namespace kernarg_test;

namespace {

class Random {
public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  uint32_t Below(uint32_t bound) { return static_cast<uint32_t>(engine_() % bound); }
  bool OneIn(uint32_t chances) { return Below(chances) == 0; }
  uint64_t Bits() { return engine_() >> Below(64); }
  unsigned char Byte() { return static_cast<unsigned char>(engine_()); }
  template <typename T> void Shuffle(std::vector<T> &items)
  {
    std::shuffle(items.begin(), items.end(), engine_);
  }

private:
  std::mt19937_64 engine_;
};

constexpr uint32_t kHiddenKinds =
    RAWHAL_VALUE_HIDDEN_QUEUE_PTR - RAWHAL_VALUE_HIDDEN_FIRST + 2; // one unknown

// Mostly well-formed, in offset order or shuffled; now and then overlapping or contradictory.
void MakeKernel(Random &random, Kernel &kernel)
{
  static const uint32_t sizes[] = {0, 1, 2, 3, 4, 4, 4, 8, 8, 8, 8, 12, 16, 24, 100};
  uint32_t count = random.Below(24), offset = 0;
  bool packed = random.OneIn(4), hidden_too = !random.OneIn(4);
  for (uint32_t i = 0; i < count; ++i) {
    bool hidden = hidden_too && random.OneIn(2);
    int kind = hidden ? static_cast<int>(RAWHAL_VALUE_HIDDEN_FIRST + random.Below(kHiddenKinds))
                      : static_cast<int>(random.Below(RAWHAL_VALUE_QUEUE + 1));
    uint32_t size = hidden && !random.OneIn(16) ? 8 : sizes[random.Below(15)];
    if (!packed)
      offset += random.Below(12);
    kernel.Arg(random.OneIn(3) ? "" : std::string(1, static_cast<char>('a' + i)), offset, size,
               kind);
    offset += random.OneIn(200) ? size / 2 : size;
  }
  if (random.OneIn(3))
    random.Shuffle(kernel.arguments());
  rawhal_kernel_t *facts = kernel.facts();
  uint32_t past = random.OneIn(4) ? random.Below(offset + 1) : 0;
  facts->kernarg_segment_size = random.OneIn(8) ? 0 : offset - past + random.Below(2) * 4;
  facts->kernarg_segment_align = random.OneIn(40) ? 24 : 1u << random.Below(8);
  if (random.OneIn(2))
    kernel.Descriptor(random.OneIn(2) ? 0 : offset + random.Below(64));
  if (random.OneIn(6)) {
    kernel.arguments().clear();
    if (random.OneIn(2))
      kernel.NoMetadata();
    else
      kernel.NoArguments();
  }
}

rawhal_launch_t MakeLaunch(Random &random)
{
  rawhal_launch_t launch = {};
  for (int d = 0; d < 3; ++d) {
    launch.work_items[d] = static_cast<uint32_t>(random.Bits());
    launch.workgroup[d] = static_cast<uint16_t>(random.OneIn(100) ? 0 : 1 + random.Below(65535));
    launch.global_offset[d] = random.Bits();
  }
  launch.dimensions = static_cast<uint16_t>(random.Below(4));
  launch.dynamic_lds = static_cast<uint32_t>(random.Bits());
  launch.queue_ptr = random.Bits();
  launch.printf_buffer = random.Bits();
  launch.hostcall_buffer = random.Bits();
  launch.heap = random.Bits();
  launch.default_queue = random.Bits();
  launch.completion_action = random.Bits();
  launch.multigrid_sync = random.Bits();
  launch.private_base_hi = static_cast<uint32_t>(random.Bits());
  launch.shared_base_hi = static_cast<uint32_t>(random.Bits());
  return launch;
}

struct Tally {
  int compiled = 0, refused = 0, written = 0, rejected = 0, whole = 0, behind_hidden = 0;
};

// One blob through the check and the writer.
void TryBlob(Random &random, Kernel &kernel, const rawhal_kernarg_layout_t *layout,
             const naive_layout_t &naive, Tally &tally)
{
  size_t length = random.OneIn(3)   ? naive.explicit_end
                  : random.OneIn(2) ? naive.effective_size
                                    : random.Below(static_cast<uint32_t>(naive.image_size) + 40);
  uint32_t flags = random.Below(4);
  // Exactly `length` bytes, so that a sanitizer sees the first one past them; never NULL.
  std::unique_ptr<unsigned char[]> blob(new unsigned char[length]);
  for (size_t i = 0; i < length; ++i)
    blob[i] = random.Byte();
  rawhal_launch_t launch = MakeLaunch(random);
  std::vector<unsigned char> image(naive.image_size + 16, 0xFD);

  rawhal_status_t expected = naive_check(&naive, length, flags);
  ASSERT_EQ(expected, rawhal_kernarg_check(layout, blob.get(), length, flags, nullptr));
  if (expected == RAWHAL_OK)
    expected = naive_launch(kernel.facts(), &launch);
  ASSERT_EQ(expected, rawhal_kernarg_write_blob(layout, blob.get(), length, flags, &launch,
                                                image.data(), naive.image_size, nullptr));
  for (uint64_t i = 0; i < image.size(); ++i) {
    unsigned char byte = 0xFD;
    if (expected == RAWHAL_OK && i < naive.image_size)
      byte = naive_image_byte(kernel.facts(), &naive, blob.get(), length, flags, &launch, i);
    ASSERT_EQ(byte, image[i]) << "byte " << i << " of " << naive.image_size;
  }
  ++(expected == RAWHAL_OK ? tally.written : tally.rejected);
}

// An image that was written once, for another blob, and takes the first bytes of this one: image_blob_bytes().
void TryBytesOver(Random &random, Kernel &kernel, const rawhal_kernarg_layout_t *layout,
                  const naive_layout_t &naive, Tally &tally)
{
  const size_t length = random.OneIn(2)
                            ? naive.explicit_end
                            : random.Below(static_cast<uint32_t>(naive.image_size) + 40);
  const uint32_t flags = random.Below(4);
  const rawhal_launch_t launch = MakeLaunch(random);
  std::vector<unsigned char> blob(length + 1), other(length + 1);
  for (size_t i = 0; i < length; ++i) {
    blob[i] = random.Byte();
    other[i] = static_cast<unsigned char>(~blob[i]);
  }
  std::vector<unsigned char> wanted(naive.image_size), image(naive.image_size);
  if (rawhal_kernarg_write_blob(layout, blob.data(), length, flags, &launch, wanted.data(),
                                naive.image_size, nullptr) != RAWHAL_OK)
    return;
  ASSERT_EQ(RAWHAL_OK, rawhal_kernarg_write_blob(layout, other.data(), length, flags, &launch,
                                                 image.data(), naive.image_size, nullptr));
  const std::vector<unsigned char> before = image;
  size_t bytes = 0;
  const bool whole = image_blob_bytes(layout, length, flags, &bytes);
  ASSERT_LE(bytes, std::min<size_t>(length, naive.image_size));
  std::copy_n(blob.data(), bytes, image.data());
  ++(whole ? tally.whole : tally.behind_hidden);
  for (size_t i = 0; i < bytes; ++i)
    ASSERT_EQ(blob[i], wanted[i]) << "byte " << i;
  // Hidden arguments of which nothing is known are nobody's: the image's, as others between them.
  for (const rawhal_argument_t &argument : kernel.arguments())
    for (size_t i = argument.offset;
         whole && i < argument.offset + argument.size && i < naive.image_size; ++i)
      if (!rawhal_argument_is_hidden(&argument) || wanted[i] == before[i]) {
        ASSERT_EQ(wanted[i], image[i]) << "byte " << i << " of " << length << ", flags " << flags;
      }
  if (whole && kernel.arguments().empty()) {
    ASSERT_EQ(wanted, image);
  }
}

// Arguments one by one: from pointers, and set into a blob, give the same image as the blob.
void TryPointers(Random &random, Kernel &kernel, const rawhal_kernarg_layout_t *layout,
                 const naive_layout_t &naive)
{
  rawhal_launch_t launch = MakeLaunch(random);
  if (!naive.arguments_known || naive_launch(kernel.facts(), &launch) != RAWHAL_OK)
    return;
  std::vector<unsigned char> blob(naive.effective_size + 1), bytes(256);
  for (unsigned char &byte : bytes)
    byte = random.Byte();
  std::vector<const void *> pointers;
  for (size_t i = 0; i < kernel.arguments().size(); ++i) {
    const rawhal_argument_t &argument = kernel.arguments()[i];
    if (rawhal_argument_is_hidden(&argument))
      continue;
    pointers.push_back(bytes.data() + random.Below(100));
    ASSERT_EQ(RAWHAL_OK, rawhal_kernarg_set(layout, i, pointers.back(), argument.size, blob.data(),
                                            naive.effective_size, nullptr));
  }
  std::vector<unsigned char> from_pointers(naive.image_size, 0xFD), from_blob(from_pointers);
  ASSERT_EQ(RAWHAL_OK,
            rawhal_kernarg_write_pointers(layout, pointers.data(), pointers.size(), &launch,
                                          from_pointers.data(), naive.image_size, nullptr));
  ASSERT_EQ(RAWHAL_OK,
            rawhal_kernarg_write_blob(layout, blob.data(), naive.effective_size, 0, &launch,
                                      from_blob.data(), naive.image_size, nullptr));
  ASSERT_EQ(from_blob, from_pointers);
}

} // namespace

TEST(Property, LayoutsAndImagesAgreeWithTheNaiveImplementation)
{
  Tally tally;
  for (uint32_t seed = 1; seed <= 6000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Kernel kernel;
    MakeKernel(random, kernel);
    uint32_t stated = random.OneIn(4) ? random.Below(200) : 0;
    naive_layout_t naive = naive_compile(kernel.facts(), stated);
    rawhal_status_t status;
    rawhal_error_t error = {};
    Layout layout = Compile(kernel, stated, &error, &status);
    ASSERT_EQ(naive.status, status) << error.message;
    if (status != RAWHAL_OK) {
      ++tally.refused;
      continue;
    }
    ++tally.compiled;
    const rawhal_kernarg_info_t *info = rawhal_kernarg_layout_info(layout.get());
    ASSERT_EQ(naive.segment_size, info->segment_size);
    ASSERT_EQ(naive.effective_size, info->effective_size);
    ASSERT_EQ(naive.explicit_end, info->explicit_end);
    ASSERT_EQ(naive.alignment, info->alignment);
    ASSERT_EQ(naive.image_size, info->block_count * UINT64_C(64));
    for (int i = 0; i < 4; ++i)
      ASSERT_NO_FATAL_FAILURE(TryBlob(random, kernel, layout.get(), naive, tally));
    ASSERT_NO_FATAL_FAILURE(TryBytesOver(random, kernel, layout.get(), naive, tally));
    ASSERT_NO_FATAL_FAILURE(TryPointers(random, kernel, layout.get(), naive));
  }
  // The generator must reach both sides of every decision.
  EXPECT_GT(tally.compiled, 3000);
  EXPECT_GT(tally.refused, 200);
  EXPECT_GT(tally.written, 5000);
  EXPECT_GT(tally.rejected, 1000);
  EXPECT_GT(tally.whole, 1000);
  EXPECT_GT(tally.behind_hidden, 300);
}
