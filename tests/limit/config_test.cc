// Where limits come from, and which of several sources wins.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/environment.h"

extern "C" {
#include "queue/limit/config.h"
}

namespace {

constexpr uint64_t kGi = 1ull << 30;

class Config : public testing::Test, protected Environment {
protected:
  rawhal_status_t Read(uint32_t index = 0)
  {
    rawhal_limit_device_t device = {0, index, 16 * kGi};
    return rawhal_limit_config_environment(&config_, &device, &error_);
  }
  uint64_t Get(rawhal_limit_t limit) { return rawhal_limit_config_get(&config_, limit); }
  std::string Origin(rawhal_limit_t limit) { return config_.values[limit].origin; }

  rawhal_limit_config_t config_ = {};
  rawhal_error_t error_ = {};
};

TEST_F(Config, NothingSetLimitsNothing)
{
  ASSERT_EQ(RAWHAL_OK, Read());
  EXPECT_FALSE(rawhal_limit_config_limits(&config_));
  EXPECT_EQ(RAWHAL_UNLIMITED, Get(RAWHAL_LIMIT_MEMORY));
  EXPECT_EQ(RAWHAL_UNLIMITED, Get(RAWHAL_LIMIT_GPU_SHARE));
  EXPECT_EQ(20000000u, Get(RAWHAL_LIMIT_BURST));
  EXPECT_EQ(100u, Get(RAWHAL_LIMIT_WEIGHT));
  EXPECT_EQ(unsigned{RAWHAL_PRIORITY_NORMAL}, Get(RAWHAL_LIMIT_PRIORITY));
  EXPECT_EQ("", Origin(RAWHAL_LIMIT_MEMORY));
}

TEST_F(Config, EachLimitHasAVariableThatIsRead)
{
  const std::map<rawhal_limit_unit_t, std::pair<const char *, uint64_t>> samples = {
      {RAWHAL_UNIT_BYTES, {"3Gi", 3 * kGi}},
      {RAWHAL_UNIT_SHARE, {"40%", 400000}},
      {RAWHAL_UNIT_DURATION, {"5ms", 5000000}},
      {RAWHAL_UNIT_COUNT, {"77", 77}},
      {RAWHAL_UNIT_CHARGING, {"wall", RAWHAL_CHARGING_WALL}},
      {RAWHAL_UNIT_PRIORITY, {"high", RAWHAL_PRIORITY_HIGH}}};
  for (int i = 0; i < LIMIT_COUNT; ++i) {
    const rawhal_limit_info_t *info = rawhal_limit_info(static_cast<rawhal_limit_t>(i));
    ASSERT_NE(nullptr, info);
    EXPECT_EQ(0u, std::string(info->variable).find("RAWHAL_")) << info->variable;
    Set(info->variable, samples.at(info->unit).first);
  }
  ASSERT_EQ(RAWHAL_OK, Read()) << error_.message;
  EXPECT_TRUE(rawhal_limit_config_limits(&config_));
  for (int i = 0; i < LIMIT_COUNT; ++i) {
    rawhal_limit_t limit = static_cast<rawhal_limit_t>(i);
    EXPECT_EQ(samples.at(rawhal_limit_info(limit)->unit).second, Get(limit)) << i;
    EXPECT_EQ(rawhal_limit_info(limit)->variable, Origin(limit));
  }
  EXPECT_EQ(nullptr, rawhal_limit_info(static_cast<rawhal_limit_t>(LIMIT_COUNT)));
  EXPECT_EQ(nullptr, rawhal_limit_info(static_cast<rawhal_limit_t>(-1)));
}

// As programs do that only have the public header.
TEST_F(Config, AProgramSetsNamesAndReadsWhatItGot)
{
  rawhal_limit_config_t *config = nullptr;
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_config_create(&config, &error_));
  EXPECT_FALSE(rawhal_limit_config_limits(config));
  rawhal_limit_value_t value = {};
  value.size = sizeof(value);
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_config_value(config, RAWHAL_LIMIT_BURST, &value, &error_));
  EXPECT_EQ(20000000u, value.value) << "the default";
  EXPECT_STREQ("", value.origin);

  ASSERT_EQ(RAWHAL_OK, rawhal_limit_config_set(config, RAWHAL_LIMIT_GPU_SHARE, 250000, &error_));
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_config_value(config, RAWHAL_LIMIT_GPU_SHARE, &value, &error_));
  EXPECT_EQ(250000u, value.value);
  EXPECT_STREQ("program", value.origin);

  rawhal_limit_text_t text = {};
  text.size = sizeof(text);
  const std::pair<rawhal_limit_name_t, const char *> names[] = {
      {RAWHAL_LIMIT_NAME_TENANT, "blue"},
      {RAWHAL_LIMIT_NAME_REGION, "/tmp/none"},
      {RAWHAL_LIMIT_NAME_CU_MASK, "0xf"}};
  for (const auto &[name, given] : names) {
    ASSERT_EQ(RAWHAL_OK, rawhal_limit_config_set_name(config, name, given, &error_));
    ASSERT_EQ(RAWHAL_OK, rawhal_limit_config_name(config, name, &text, &error_));
    EXPECT_STREQ(given, text.text);
    EXPECT_STREQ("program", text.origin);
  }
  const std::string longest(255, 'x');
  EXPECT_EQ(RAWHAL_OK, rawhal_limit_config_set_name(config, RAWHAL_LIMIT_NAME_TENANT,
                                                    longest.c_str(), &error_));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_limit_config_set_name(config, RAWHAL_LIMIT_NAME_TENANT, (longest + "y").c_str(),
                                         &error_));
  for (int none : {-1, 3}) {
    const auto name = static_cast<rawhal_limit_name_t>(none);
    EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_limit_config_set_name(config, name, "a", &error_));
    EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_limit_config_name(config, name, &text, &error_));
  }
  rawhal_limit_config_destroy(config);
  rawhal_limit_config_destroy(nullptr);
}

TEST_F(Config, TextIsAValueWithoutAConfiguration)
{
  uint64_t value = 1;
  EXPECT_EQ(RAWHAL_OK, rawhal_limit_parse(RAWHAL_LIMIT_MEMORY, "4Gi", nullptr, &value, &error_));
  EXPECT_EQ(4 * kGi, value);
  rawhal_limit_device_t device = {sizeof(device), 0, 16 * kGi};
  EXPECT_EQ(RAWHAL_OK, rawhal_limit_parse(RAWHAL_LIMIT_MEMORY, "50%", &device, &value, &error_));
  EXPECT_EQ(8 * kGi, value);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_limit_parse(RAWHAL_LIMIT_MEMORY, "50%", nullptr, &value, &error_));
  EXPECT_EQ(0u, value);
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE,
            rawhal_limit_parse(RAWHAL_LIMIT_WEIGHT, "1001", nullptr, &value, &error_));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_limit_parse(static_cast<rawhal_limit_t>(LIMIT_COUNT),
                                                        "1", nullptr, &value, &error_));
}

TEST_F(Config, ADevicesOwnVariableIsOfThatDevice)
{
  Set("CUDA_DEVICE_MEMORY_LIMIT", "1g");
  ASSERT_EQ(RAWHAL_OK, Read());
  EXPECT_EQ(1 * kGi, Get(RAWHAL_LIMIT_MEMORY));
  EXPECT_EQ("CUDA_DEVICE_MEMORY_LIMIT", Origin(RAWHAL_LIMIT_MEMORY));

  Set("CUDA_DEVICE_MEMORY_LIMIT_2", "512m");
  config_ = {};
  ASSERT_EQ(RAWHAL_OK, Read(2));
  EXPECT_EQ(kGi / 2, Get(RAWHAL_LIMIT_MEMORY));
  EXPECT_EQ("CUDA_DEVICE_MEMORY_LIMIT_2", Origin(RAWHAL_LIMIT_MEMORY));
  config_ = {};
  ASSERT_EQ(RAWHAL_OK, Read(1));
  EXPECT_EQ(1 * kGi, Get(RAWHAL_LIMIT_MEMORY));
}

TEST_F(Config, TheSchedulersShareReadsAsTheSchedulerWritesIt)
{
  const struct {
    const char *text;
    uint64_t value;
  } cases[] = {{"30", 300000},
               {"1", 10000},
               {"99", 990000},
               {"0", RAWHAL_UNLIMITED},
               {"100", RAWHAL_UNLIMITED},
               {"150", RAWHAL_UNLIMITED}};
  for (const auto &c : cases) {
    config_ = {};
    Set("CUDA_DEVICE_SM_LIMIT", c.text);
    ASSERT_EQ(RAWHAL_OK, Read()) << c.text;
    EXPECT_EQ(c.value, Get(RAWHAL_LIMIT_GPU_SHARE)) << c.text;
  }
}

// It would lift the share from below: whoever may set one variable may set the other.
TEST_F(Config, TheSchedulersPolicyLiftsNothing)
{
  Set("CUDA_DEVICE_SM_LIMIT", "30");
  for (const char *policy : {"DISABLE", "FORCE", "default", "sometimes"}) {
    Set("GPU_CORE_UTILIZATION_POLICY", policy);
    config_ = {};
    ASSERT_EQ(RAWHAL_OK, Read()) << policy;
    EXPECT_EQ(300000u, Get(RAWHAL_LIMIT_GPU_SHARE)) << policy;
  }
}

TEST_F(Config, TaskPriorityZeroIsHigh)
{
  Set("CUDA_TASK_PRIORITY", "0");
  ASSERT_EQ(RAWHAL_OK, Read());
  EXPECT_EQ(unsigned{RAWHAL_PRIORITY_HIGH}, Get(RAWHAL_LIMIT_PRIORITY));
  config_ = {};
  Set("AMD_TASK_PRIORITY", "1");
  ASSERT_EQ(RAWHAL_OK, Read());
  EXPECT_EQ(unsigned{RAWHAL_PRIORITY_LOW}, Get(RAWHAL_LIMIT_PRIORITY));
}

TEST_F(Config, ErrorsNameTheVariable)
{
  for (const char *name :
       {"RAWHAL_MEMORY_LIMIT", "HIP_DEVICE_MEMORY_LIMIT_0", "CUDA_DEVICE_SM_LIMIT",
        "RAWHAL_GPU_SHARE", "RAWHAL_WEIGHT", "AMD_TASK_PRIORITY"}) {
    Set(name, "lots");
    config_ = {};
    EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Read()) << name;
    EXPECT_EQ(0, strncmp(error_.message, name, strlen(name))) << error_.message;
    rawhal_limit_device_t device = {0, 0, 16 * kGi};
    config_ = {};
    EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_limit_config_environment(&config_, &device, nullptr));
    unsetenv(name);
  }
  Set("RAWHAL_WEIGHT", "1001");
  config_ = {};
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, Read());
  EXPECT_NE(nullptr, strstr(error_.message, "RAWHAL_WEIGHT: weight is 1001, allowed are 1 to 1000"))
      << error_.message;
}

TEST_F(Config, TextsAndTheSchedulersFileIsLeftAlone)
{
  Set("CUDA_DEVICE_MEMORY_SHARED_CACHE", "/x/cudevshr.cache");
  Set("ROC_GLOBAL_CU_MASK", "0xff");
  ASSERT_EQ(RAWHAL_OK, Read());
  EXPECT_STREQ("/x/cudevshr.cache.rawhal", config_.region.text);
  EXPECT_STREQ("CUDA_DEVICE_MEMORY_SHARED_CACHE", config_.region.origin);
  EXPECT_STREQ("0xff", config_.cu_mask.text);
  unsetenv("CUDA_DEVICE_MEMORY_SHARED_CACHE");
  Set("RAWHAL_LIMIT_REGION", "/x/region");
  Set("RAWHAL_TENANT", "blue");
  config_ = {};
  ASSERT_EQ(RAWHAL_OK, Read());
  EXPECT_STREQ("/x/region", config_.region.text);
  EXPECT_STREQ("blue", config_.tenant.text);
  Set("RAWHAL_TENANT", "");
  config_ = {};
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Read());
  Set("RAWHAL_TENANT", std::string(300, 'x').c_str());
  config_ = {};
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Read());
}

TEST_F(Config, TextsMayBeADevicesOwn)
{
  Set("RAWHAL_CU_MASK", "0xff");
  Set("RAWHAL_CU_MASK_1", "0x0f");
  Set("RAWHAL_TENANT_1", "blue");
  ASSERT_EQ(RAWHAL_OK, Read(1)) << error_.message;
  EXPECT_STREQ("0x0f", config_.cu_mask.text);
  EXPECT_STREQ("RAWHAL_CU_MASK_1", config_.cu_mask.origin);
  EXPECT_STREQ("blue", config_.tenant.text);
  config_ = {};
  ASSERT_EQ(RAWHAL_OK, Read(0)) << error_.message;
  EXPECT_STREQ("0xff", config_.cu_mask.text);
  EXPECT_STREQ("", config_.tenant.text);
}

TEST_F(Config, SettingChecksItsArguments)
{
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_limit_config_set(nullptr, RAWHAL_LIMIT_MEMORY, 1, &error_));
  EXPECT_EQ(
      RAWHAL_INVALID_ARGUMENT,
      rawhal_limit_config_set(&config_, static_cast<rawhal_limit_t>(LIMIT_COUNT), 1, &error_));
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE,
            rawhal_limit_config_set(&config_, RAWHAL_LIMIT_GPU_SHARE, 1000001, &error_));
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE,
            rawhal_limit_config_set(&config_, RAWHAL_LIMIT_WEIGHT, RAWHAL_UNLIMITED, &error_));
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE,
            rawhal_limit_config_set(&config_, RAWHAL_LIMIT_BURST, 99999, &error_));
  EXPECT_EQ(RAWHAL_OK,
            rawhal_limit_config_set(&config_, RAWHAL_LIMIT_GPU_SHARE, RAWHAL_UNLIMITED, &error_));
  rawhal_limit_device_t device = {0, 0, 16 * kGi};
  EXPECT_EQ(RAWHAL_OK,
            rawhal_limit_config_set_text(&config_, RAWHAL_LIMIT_MEMORY, "25%", &device, &error_));
  EXPECT_EQ(4 * kGi, Get(RAWHAL_LIMIT_MEMORY));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_limit_config_set_text(&config_, RAWHAL_LIMIT_MEMORY, nullptr, &device, &error_));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_limit_config_set_text(&config_, RAWHAL_LIMIT_MEMORY, "25%", nullptr, &error_));
}

} // namespace
