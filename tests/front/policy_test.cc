// Expressions of an operator's file, without a runtime.
#include <hsa/hsa.h>

extern "C" {
#include "front/contract.h"
}

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace {

class Contract : public testing::Test {
protected:
  void SetUp() override
  {
    const struct {
      const char *name;
      uint32_t offset, size;
    } all[] = {{"out", 0, 8}, {"n", 8, 4}, {"small", 12, 1}, {"wide", 16, 16}, {"max", 32, 2}};
    for (int i = 0; i < 5; ++i) {
      arguments_[i].name = rawhal_string(all[i].name);
      arguments_[i].detail = &detail_;
      arguments_[i].offset = all[i].offset;
      arguments_[i].size = all[i].size;
      arguments_[i].value_kind = RAWHAL_VALUE_BY_VALUE;
    }
    rawhal_kernel_t kernel = {};
    kernel.has_arguments = true;
    kernel.arguments = arguments_;
    kernel.argument_count = 5;
    kernel.kernarg_segment_size = 40;
    ASSERT_EQ(RAWHAL_OK, rawhal_kernarg_layout_create(&kernel, 0, &layout_, &error_))
        << error_.message;
    memset(image_, 0xff, sizeof(image_));
    const uint32_t n = 1000;
    memcpy(image_ + 8, &n, 4);
    image_[12] = 7;
    image_[32] = 3;
    image_[33] = 0;
  }
  void TearDown() override { rawhal_kernarg_layout_destroy(layout_); }

  rawhal_status_t Evaluate(const char *text, uint64_t *value)
  {
    contract_t *contract = nullptr;
    rawhal_status_t status = contract_parse(text, &contract, &error_);
    const contract_facts_t facts = {layout_, {image_, size_}, {1000, 3, 1}, {64, 2, 1}};
    if (status == RAWHAL_OK)
      status = contract_check(contract, layout_, &error_);
    if (status == RAWHAL_OK)
      status = contract_evaluate(contract, &facts, value, &error_);
    contract_free(contract);
    return status;
  }
  uint64_t Value(const char *text)
  {
    uint64_t value = 0;
    EXPECT_EQ(RAWHAL_OK, Evaluate(text, &value)) << text << ": " << error_.message;
    return value;
  }
  rawhal_status_t Status(const char *text)
  {
    uint64_t value = 0;
    return Evaluate(text, &value);
  }

  rawhal_argument_detail_t detail_ = {rawhal_string("by_value"), {}, {}, 0};
  rawhal_argument_t arguments_[5] = {};
  rawhal_kernarg_layout_t *layout_ = nullptr;
  rawhal_error_t error_ = {};
  unsigned char image_[40];
  size_t size_ = sizeof(image_);
};

TEST_F(Contract, IsArithmetic)
{
  EXPECT_EQ(7u, Value("1 + 2 * 3"));
  EXPECT_EQ(9u, Value("(1+2)*3"));
  EXPECT_EQ(1u, Value("10 - 6 - 3"));
  EXPECT_EQ(2u, Value("100 / 10 / 5"));
  EXPECT_EQ(11u, Value("7 % 4 * 3 + 2"));
  EXPECT_EQ(65535u, Value("0xFFFF"));
  EXPECT_EQ(3u << 20, Value("3M"));
  EXPECT_EQ(UINT64_C(1) << 30, Value("1G"));
  EXPECT_EQ(UINT64_MAX, Value("18446744073709551615"));
  EXPECT_EQ(8u, Value(" max( 3 , min(8,9) )\t"));
}

TEST_F(Contract, KnowsTheDispatch)
{
  EXPECT_EQ(4000u, Value("4 * n"));
  EXPECT_EQ(1007u, Value("arg1 + arg2"));
  EXPECT_EQ(UINT64_MAX, Value("out"));
  EXPECT_EQ(3u, Value("max")); // which is an argument's name, too
  EXPECT_EQ(1000u, Value("max(max, n)"));
  EXPECT_EQ(1000u, Value("work_items.x"));
  EXPECT_EQ(16u, Value("workgroups.x"));
  EXPECT_EQ(2u, Value("workgroups.y"));
  EXPECT_EQ(64u, Value("workgroup.x * workgroup.z"));
}

TEST_F(Contract, HasNoResultBeyondItsBits)
{
  for (const char *text : {"0xffffffffffffffff + 1", "1 - 2", "0x100000000 * 0x100000000", "1 / 0",
                           "1 % 0", "1 / (n - 1000)"})
    EXPECT_EQ(RAWHAL_OUT_OF_RANGE, Status(text)) << text;
  size_ = 11;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Status("n"));
}

TEST_F(Contract, NamesWhatIsNotThere)
{
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Status("m"));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Status("arg5"));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Status("wide"));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Status("work_items")); // without an axis: an argument
}

TEST_F(Contract, SaysWhereItEnds)
{
  const struct {
    const char *text;
    int column;
  } broken[] = {{"", 1},
                {"1 +", 4},
                {"1 2", 3},
                {"(1", 3},
                {"1)", 2},
                {"+1", 1},
                {"1K2", 3},
                {"12x", 3},
                {"0x", 3},
                {"0xg", 3},
                {"1..", 2},
                {"max(1", 6},
                {"max(1,2", 8},
                {"$", 1},
                {"n n", 3},
                {"work_items.w", 11},
                {"1\n", 2},
                {"18446744073709551616", 20},
                {"17179869184G", 12},
                {"workgroup.xx", 10}};
  for (const auto &each : broken) {
    contract_t *contract;
    EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, contract_parse(each.text, &contract, &error_)) << each.text;
    EXPECT_EQ(nullptr, contract);
    EXPECT_NE(std::string::npos,
              std::string(error_.message).find("column " + std::to_string(each.column) + ":"))
        << each.text << ": " << error_.message;
  }
}

TEST_F(Contract, IsBounded)
{
  const auto nested = [](int depth) {
    return std::string(depth, '(') + "1" + std::string(depth, ')');
  };
  EXPECT_EQ(1u, Value(nested(CONTRACT_DEPTH - 1).c_str()));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Status(nested(CONTRACT_DEPTH).c_str()));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Status(std::string(CONTRACT_LENGTH + 1, '1').c_str()));
  std::string sum = "1";
  for (int i = 0; i < 127; ++i)
    sum += "+1";
  EXPECT_EQ(128u, Value(sum.c_str()));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Status((sum + "+1+1").c_str()));
}

} // namespace
