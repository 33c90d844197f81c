// Kernargs of one kernel as another takes them.
#include <hsa/hsa.h>

extern "C" {
#include "front/remap.h"
}

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace {

struct Argument {
  uint8_t kind;
  uint32_t offset, size;
  uint8_t space = RAWHAL_ADDRESS_SPACE_NONE;
};

constexpr uint8_t kValue = RAWHAL_VALUE_BY_VALUE, kBuffer = RAWHAL_VALUE_GLOBAL_BUFFER;

class Kernel {
public:
  Kernel(const std::vector<Argument> &arguments, uint32_t size)
  {
    for (const Argument &argument : arguments) {
      rawhal_argument_t made = {};
      made.detail = &detail_;
      made.offset = argument.offset;
      made.size = argument.size;
      made.value_kind = argument.kind;
      made.address_space = argument.space;
      arguments_.push_back(made);
    }
    facts_.has_metadata = facts_.has_arguments = true;
    facts_.arguments = arguments_.data();
    facts_.argument_count = static_cast<uint32_t>(arguments_.size());
    facts_.kernarg_segment_size = size;
    facts_.kernarg_segment_align = 8;
    rawhal_error_t error;
    EXPECT_EQ(RAWHAL_OK, rawhal_kernarg_layout_create(&facts_, 0, &layout_, &error))
        << error.message;
  }
  ~Kernel() { rawhal_kernarg_layout_destroy(layout_); }
  Kernel(const Kernel &) = delete;
  remap_kernel_t Get() const { return {&facts_, layout_}; }

private:
  rawhal_argument_detail_t detail_ = {rawhal_string("a kind"), {}, {}, 0};
  std::vector<rawhal_argument_t> arguments_;
  rawhal_kernel_t facts_ = {};
  rawhal_kernarg_layout_t *layout_ = nullptr;
};

class Remap : public testing::Test {
protected:
  void TearDown() override { remap_destroy(remap_); }

  rawhal_status_t Make(const Kernel &one, const Kernel &other,
                       const std::vector<remap_extra_t> &extras = {})
  {
    const remap_kernel_t from = one.Get(), to = other.Get();
    remap_destroy(remap_);
    return remap_create(&from, &to, extras.data(), extras.size(), &remap_, &error_);
  }
  template <typename T> T At(size_t offset) const
  {
    T value;
    memcpy(&value, image_ + offset, sizeof(value));
    return value;
  }
  template <typename T> void Put(size_t offset, T value)
  {
    memcpy(kernargs_ + offset, &value, sizeof(value));
  }
  void Write(const std::vector<uint64_t> &extras = {})
  {
    memset(image_, 0xee, sizeof(image_));
    ASSERT_LE(remap_room(remap_), sizeof(image_));
    ASSERT_EQ(RAWHAL_OK, remap_write(remap_, kernargs_, &launch_, extras.data(), image_, &error_))
        << error_.message;
    for (size_t i = remap_room(remap_); i < sizeof(image_); ++i)
      ASSERT_EQ(0xee, image_[i]) << i;
  }

  remap_t *remap_ = nullptr;
  rawhal_error_t error_ = {};
  rawhal_launch_t launch_ = {};
  alignas(64) unsigned char kernargs_[512] = {}, image_[512];
};

TEST_F(Remap, TheSameArgumentsStayWhereTheyAre)
{
  const Kernel one({{kBuffer, 0, 8}, {kValue, 8, 4}, {kValue, 12, 1}}, 16),
      other({{kBuffer, 0, 8}, {kValue, 8, 4}, {kValue, 12, 1}}, 16);
  ASSERT_EQ(RAWHAL_OK, Make(one, other)) << error_.message;
  EXPECT_TRUE(remap_is_identity(remap_));
  // One that has more room than there is must have its own.
  const Kernel longer({{kBuffer, 0, 8}, {kValue, 8, 4}, {kValue, 12, 1}}, 24);
  ASSERT_EQ(RAWHAL_OK, Make(one, longer)) << error_.message;
  EXPECT_FALSE(remap_is_identity(remap_));
}

TEST_F(Remap, ArgumentsMoveAndGrow)
{
  const Kernel one({{kBuffer, 0, 8}, {kValue, 8, 4}, {kValue, 12, 2}}, 16), other({{kBuffer, 16, 8},
                                                                                   {kValue, 0, 4},
                                                                                   {kValue, 6, 2},
                                                                                   {kBuffer, 24, 8},
                                                                                   {kValue, 32, 4},
                                                                                   {kValue, 36, 1},
                                                                                   {kValue, 40, 8}},
                                                                                  48);
  ASSERT_EQ(RAWHAL_OK,
            Make(one, other,
                 {{REMAP_BUFFER, 0}, {REMAP_NUMBER, 0}, {REMAP_VALUE, 0xab}, {REMAP_NUMBER, 0}}))
      << error_.message;
  EXPECT_FALSE(remap_is_identity(remap_));
  EXPECT_EQ(16u, remap_bytes(remap_));
  EXPECT_EQ(64u, remap_room(remap_));
  Put<uint64_t>(0, 0x1122334455667788);
  Put<uint32_t>(8, 0xdeadbeef);
  Put<uint16_t>(12, 0x1234);
  Put<uint16_t>(14, 0xffff); // padding
  Write({0xa000, 0x700000007, 0xab, 0x900000009});
  EXPECT_EQ(0x1122334455667788u, At<uint64_t>(16));
  EXPECT_EQ(0xdeadbeefu, At<uint32_t>(0));
  EXPECT_EQ(0u, At<uint16_t>(4));
  EXPECT_EQ(0x1234, At<uint16_t>(6));
  EXPECT_EQ(0u, At<uint64_t>(8));
  EXPECT_EQ(0xa000u, At<uint64_t>(24));
  EXPECT_EQ(7u, At<uint32_t>(32));
  EXPECT_EQ(0xabu, At<uint32_t>(36));
  EXPECT_EQ(0x900000009u, At<uint64_t>(40));
}

TEST_F(Remap, HiddenArgumentsAreTheOriginalsOrTheDispatchs)
{
  const Kernel one({{kValue, 0, 4},
                    {RAWHAL_VALUE_HIDDEN_HOSTCALL_BUFFER, 8, 8},
                    {RAWHAL_VALUE_HIDDEN_GROUP_SIZE_X, 16, 2}},
                   24),
      other({{kValue, 0, 4},
             {kBuffer, 8, 8},
             {RAWHAL_VALUE_HIDDEN_GROUP_SIZE_X, 16, 2},
             {RAWHAL_VALUE_HIDDEN_BLOCK_COUNT_X, 20, 4},
             {RAWHAL_VALUE_HIDDEN_NONE, 24, 8},
             {RAWHAL_VALUE_HIDDEN_REMAINDER_X, 32, 2},
             {RAWHAL_VALUE_HIDDEN_DYNAMIC_LDS_SIZE, 36, 4},
             {RAWHAL_VALUE_HIDDEN_HOSTCALL_BUFFER, 40, 8}},
            48);
  ASSERT_EQ(RAWHAL_OK, Make(one, other, {{REMAP_BUFFER, 0}})) << error_.message;
  launch_ = {};
  launch_.work_items[0] = 1003;
  launch_.workgroup[0] = 100;
  launch_.work_items[1] = launch_.work_items[2] = launch_.workgroup[1] = launch_.workgroup[2] = 1;
  launch_.dynamic_lds = 77;
  Put<uint32_t>(0, 5);
  Put<uint64_t>(8, 0xcafe);
  Put<uint16_t>(16, 100);
  Write({0xb000});
  EXPECT_EQ(0xb000u, At<uint64_t>(8));
  EXPECT_EQ(100, At<uint16_t>(16));
  EXPECT_EQ(10u, At<uint32_t>(20));
  EXPECT_EQ(0u, At<uint64_t>(24));
  EXPECT_EQ(3, At<uint16_t>(32));
  EXPECT_EQ(77u, At<uint32_t>(36));
  EXPECT_EQ(0xcafeu, At<uint64_t>(40));
}

TEST_F(Remap, WhatNobodyHasIsRefused)
{
  const Kernel one({{kValue, 0, 4}}, 8);
  for (int kind : {RAWHAL_VALUE_HIDDEN_HOSTCALL_BUFFER, RAWHAL_VALUE_HIDDEN_PRINTF_BUFFER,
                   RAWHAL_VALUE_HIDDEN_HEAP_V1, RAWHAL_VALUE_HIDDEN_QUEUE_PTR,
                   RAWHAL_VALUE_HIDDEN_MULTIGRID_SYNC_ARG, RAWHAL_VALUE_HIDDEN_DEFAULT_QUEUE,
                   RAWHAL_VALUE_HIDDEN_COMPLETION_ACTION, RAWHAL_VALUE_HIDDEN_UNKNOWN}) {
    const Kernel other({{kValue, 0, 4}, {static_cast<uint8_t>(kind), 8, 8}}, 16);
    EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Make(one, other)) << kind;
    EXPECT_EQ(nullptr, remap_);
  }
  // One that has another size is another.
  const Kernel narrow({{kValue, 0, 4}, {RAWHAL_VALUE_HIDDEN_PRIVATE_BASE, 4, 4}}, 8),
      base({{kValue, 0, 4}, {RAWHAL_VALUE_HIDDEN_PRIVATE_BASE, 8, 8}}, 16);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Make(narrow, base));
}

TEST_F(Remap, OtherArgumentsAreRefused)
{
  const Kernel one({{kBuffer, 0, 8, RAWHAL_ADDRESS_SPACE_GLOBAL}, {kValue, 8, 8}}, 16);
  const Kernel space({{kBuffer, 0, 8, RAWHAL_ADDRESS_SPACE_CONSTANT}, {kValue, 8, 8}}, 16),
      swapped({{kValue, 0, 8}, {kBuffer, 8, 8}}, 16), narrow({{kBuffer, 0, 8}, {kValue, 8, 4}}, 16),
      more({{kBuffer, 0, 8}, {kValue, 8, 8}, {kValue, 16, 2}}, 24),
      past({{kBuffer, 0, 8}, {kValue, 8, 8}}, 12);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Make(one, space));
  EXPECT_STREQ("argument 0 points into address space 2, the replacement's into 3", error_.message);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Make(one, swapped));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Make(one, narrow));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Make(one, more));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Make(one, more, {{REMAP_NUMBER, 0}}));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Make(one, more, {{REMAP_BUFFER, 0}}));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Make(one, more, {{REMAP_VALUE, 65536}}));
  EXPECT_EQ(RAWHAL_OK, Make(one, more, {{REMAP_VALUE, 65535}}));
  EXPECT_EQ(RAWHAL_UNSUPPORTED, Make(past, one)) << "its last bytes are nobody's";
  const remap_kernel_t unknown = {nullptr, nullptr}, known = one.Get();
  remap_t *remap;
  EXPECT_EQ(RAWHAL_UNSUPPORTED, remap_create(&unknown, &known, nullptr, 0, &remap, &error_));
  EXPECT_EQ(RAWHAL_UNSUPPORTED, remap_create(&known, &unknown, nullptr, 0, &remap, &error_));
}

} // namespace
