// Bindings.
#include <gtest/gtest.h>

#include "kernel_builder.h"

using namespace kernarg_test;

// Constants: flag u8 at 0, half u16 at 2, s 12 bytes at 8 (aligned to 8), n u32 at 20 -> 24 bytes.
TEST(Bindings, BindingsAndDenseConstants)
{
  Kernel kernel(64);
  kernel.Arg("flag", 0, 1)
      .Pointer("out", 8)
      .Arg("half", 16, 2)
      .Pointer("in", 20) // at 4 mod 8, as shipping kernels have it
      .Arg("s", 28, 12)
      .Arg("n", 48, 4)
      .Hidden(RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_X, 56, 4);
  Bindings layout = Project(kernel);
  ASSERT_TRUE(layout);
  const rawhal_bindings_info_t *info = rawhal_bindings_info(layout.get());
  EXPECT_EQ(2u, info->binding_count);
  EXPECT_EQ(4u, info->constant_count);
  EXPECT_EQ(24u, info->constant_bytes);

  const rawhal_binding_slot_t *in = rawhal_bindings_binding(layout.get(), 1);
  ASSERT_NE(nullptr, in);
  EXPECT_EQ(3u, in->argument);
  EXPECT_EQ(1u, in->source);
  EXPECT_EQ(20u, in->native_offset);
  const uint32_t sources[] = {0, 2, 8, 20}, natives[] = {0, 16, 28, 48}, sizes[] = {1, 2, 12, 4};
  for (size_t i = 0; i < 4; ++i) {
    const rawhal_binding_slot_t *slot = rawhal_bindings_constant(layout.get(), i);
    ASSERT_NE(nullptr, slot);
    EXPECT_EQ(sources[i], slot->source);
    EXPECT_EQ(natives[i], slot->native_offset);
    EXPECT_EQ(sizes[i], slot->size);
  }
  EXPECT_EQ(nullptr, rawhal_bindings_binding(layout.get(), 2));
  EXPECT_EQ(nullptr, rawhal_bindings_constant(layout.get(), 4));

  const uint64_t bindings[] = {0x1111111111111111, 0x2222222222222222};
  unsigned char constants[24], blob[53], expected[53] = {};
  for (unsigned i = 0; i < 24; ++i)
    constants[i] = static_cast<unsigned char>(0x80 + i);
  memset(blob, 0xFD, sizeof(blob));
  ASSERT_EQ(RAWHAL_OK,
            rawhal_bindings_pack(layout.get(), bindings, 2, constants, 24, blob, 52, nullptr));
  expected[0] = 0x80;
  memset(expected + 8, 0x11, 8);
  memcpy(expected + 16, constants + 2, 2);
  memset(expected + 20, 0x22, 8);
  memcpy(expected + 28, constants + 8, 12);
  memcpy(expected + 48, constants + 20, 4);
  expected[52] = 0xFD; // past the length
  EXPECT_EQ(0, memcmp(expected, blob, sizeof(blob)));
}

TEST(Bindings, PackRefusals)
{
  Kernel kernel(12);
  kernel.Pointer("out", 0).Arg("n", 8, 4).Arg("past", 12, 4);
  Bindings layout = Project(kernel);
  ASSERT_TRUE(layout);
  const uint64_t binding = 5;
  const uint32_t constants[] = {6, 7};
  unsigned char blob[16];
  memset(blob, 0xFD, sizeof(blob));
  rawhal_error_t error = {};
  auto pack = [&](const uint64_t *b, size_t count, const void *c, size_t bytes, size_t length) {
    return rawhal_bindings_pack(layout.get(), b, count, c, bytes, blob, length, &error);
  };
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, pack(&binding, 2, constants, 8, 16));
  EXPECT_STREQ("2 bindings given, the kernel has 1", error.message);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, pack(&binding, 1, constants, 4, 16));
  EXPECT_STREQ("4 bytes of constants given, the kernel has 8", error.message);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, pack(nullptr, 1, constants, 8, 16));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, pack(&binding, 1, nullptr, 8, 16));
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, pack(&binding, 1, constants, 8, 11));
  EXPECT_STREQ("the blob has 11 bytes, the arguments end at 12", error.message);
  for (unsigned char byte : blob)
    EXPECT_EQ(0xFD, byte);

  EXPECT_EQ(RAWHAL_OK, pack(&binding, 1, constants, 8, 15)); // too short for the optional one
  uint32_t words[4] = {};
  memcpy(words, blob, 15);
  EXPECT_EQ(5u, words[0]);
  EXPECT_EQ(0u, words[1]);
  EXPECT_EQ(6u, words[2]);
  EXPECT_EQ(0u, words[3]);
  EXPECT_EQ(RAWHAL_OK, pack(&binding, 1, constants, 8, 16));
  memcpy(words, blob, 16);
  EXPECT_EQ(7u, words[3]);
}

TEST(Bindings, WhatDoesNotFitIsUnsupported)
{
  rawhal_error_t error = {};
  Kernel local(16);
  local.Pointer("out", 0).Arg("lds", 8, 4, RAWHAL_VALUE_DYNAMIC_SHARED_POINTER);
  EXPECT_EQ(nullptr, Project(local, RAWHAL_UNSUPPORTED, &error));
  EXPECT_STREQ("argument 1 'lds' (dynamic_shared_pointer) with 4 bytes is neither a binding nor a "
               "constant",
               error.message);
  Kernel half_pointer(16);
  half_pointer.Arg("p", 0, 4, RAWHAL_VALUE_GLOBAL_BUFFER);
  EXPECT_EQ(nullptr, Project(half_pointer, RAWHAL_UNSUPPORTED, &error));
  Kernel sized(16);
  sized.NoArguments();
  EXPECT_EQ(nullptr, Project(sized, RAWHAL_UNSUPPORTED, &error));
  rawhal_bindings_t *layout = nullptr;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_bindings_create(nullptr, &layout, &error));
  rawhal_bindings_destroy(nullptr);
}

TEST(Bindings, NoArgumentsAtAll)
{
  Kernel kernel(0);
  Bindings layout = Project(kernel);
  ASSERT_TRUE(layout);
  unsigned char blob = 0xFD;
  EXPECT_EQ(RAWHAL_OK,
            rawhal_bindings_pack(layout.get(), nullptr, 0, nullptr, 0, &blob, 0, nullptr));
  EXPECT_EQ(0xFD, blob);
}
