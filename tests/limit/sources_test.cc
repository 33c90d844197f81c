// Several sources that disagree: nobody lifts another's limit, and what is pinned stays.
#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "tests/child.h"
#include "tests/environment.h"
#include "tests/limit/region_file.h"

namespace {

constexpr uint64_t kGi = 1ull << 30;
constexpr uid_t kNobody = 65534;

class Sources : public testing::Test, protected Environment {
protected:
  void Unset(const std::string &name) { unsetenv(name.c_str()); }
  rawhal_status_t Read(uint32_t index = 0)
  {
    rawhal_limit_device_t device = {0, index, 16 * kGi};
    error_ = {};
    return rawhal_limit_config_environment(&config_, &device, &error_);
  }
  void Program(rawhal_limit_t limit, uint64_t value)
  {
    config_ = {};
    ASSERT_EQ(RAWHAL_OK, rawhal_limit_config_set(&config_, limit, value, &error_))
        << error_.message;
  }
  void ExpectIs(rawhal_limit_t limit, uint64_t value, const std::string &origin)
  {
    EXPECT_EQ(value, rawhal_limit_config_get(&config_, limit));
    EXPECT_EQ(origin, config_.values[limit].origin);
  }
  // A refusal whose message has these words.
  void ExpectRefused(rawhal_status_t status, const std::vector<std::string> &words)
  {
    rawhal_limit_config_t before = config_;
    EXPECT_EQ(status, Read()) << error_.message;
    for (const std::string &word : words)
      EXPECT_NE(nullptr, strstr(error_.message, word.c_str())) << word << ": " << error_.message;
    EXPECT_EQ(0, memcmp(&before, &config_, sizeof(before))) << "a failed call leaves no trace";
  }

  rawhal_limit_config_t config_ = {};
  rawhal_error_t error_ = {};
};

TEST_F(Sources, NobodyLiftsTheSchedulersLimit)
{
  Set("CUDA_DEVICE_SM_LIMIT", "30");
  Set("RAWHAL_GPU_SHARE", "100%");
  ASSERT_EQ(RAWHAL_OK, Read());
  ExpectIs(RAWHAL_LIMIT_GPU_SHARE, 300000, "CUDA_DEVICE_SM_LIMIT");
  Set("RAWHAL_GPU_SHARE", "unlimited");
  config_ = {};
  ASSERT_EQ(RAWHAL_OK, Read());
  ExpectIs(RAWHAL_LIMIT_GPU_SHARE, 300000, "CUDA_DEVICE_SM_LIMIT");
  Set("RAWHAL_GPU_SHARE", "20%");
  config_ = {};
  ASSERT_EQ(RAWHAL_OK, Read());
  ExpectIs(RAWHAL_LIMIT_GPU_SHARE, 200000, "RAWHAL_GPU_SHARE");
  Set("RAWHAL_GPU_SHARE_0", "90%"); // nor does the device's own the general one
  config_ = {};
  ASSERT_EQ(RAWHAL_OK, Read());
  ExpectIs(RAWHAL_LIMIT_GPU_SHARE, 200000, "RAWHAL_GPU_SHARE");

  Set("HIP_DEVICE_MEMORY_LIMIT_1", "3g");
  Set("CUDA_DEVICE_MEMORY_LIMIT", "2g");
  Set("RAWHAL_MEMORY_LIMIT", "50%");
  config_ = {};
  ASSERT_EQ(RAWHAL_OK, Read(1));
  ExpectIs(RAWHAL_LIMIT_MEMORY, 2 * kGi, "CUDA_DEVICE_MEMORY_LIMIT");
}

TEST_F(Sources, AProgramTightensAndDoesNotLoosen)
{
  Set("RAWHAL_GPU_SHARE", "30%");
  Program(RAWHAL_LIMIT_GPU_SHARE, 500000);
  ASSERT_EQ(RAWHAL_OK, Read());
  ExpectIs(RAWHAL_LIMIT_GPU_SHARE, 300000, "RAWHAL_GPU_SHARE");
  Program(RAWHAL_LIMIT_GPU_SHARE, RAWHAL_UNLIMITED);
  ASSERT_EQ(RAWHAL_OK, Read());
  ExpectIs(RAWHAL_LIMIT_GPU_SHARE, 300000, "RAWHAL_GPU_SHARE");
  Program(RAWHAL_LIMIT_GPU_SHARE, 100000);
  ASSERT_EQ(RAWHAL_OK, Read());
  ExpectIs(RAWHAL_LIMIT_GPU_SHARE, 100000, "program");
  // ... nor afterwards
  EXPECT_EQ(RAWHAL_OK, rawhal_limit_config_set(&config_, RAWHAL_LIMIT_GPU_SHARE, 300000, &error_));
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED,
            rawhal_limit_config_set(&config_, RAWHAL_LIMIT_GPU_SHARE, 300001, &error_));
  EXPECT_STREQ(
      "gpu-share is limited to 30% by RAWHAL_GPU_SHARE: the program cannot make it 30.0001%",
      error_.message);
  ExpectIs(RAWHAL_LIMIT_GPU_SHARE, 300000, "program");
  Program(RAWHAL_LIMIT_WEIGHT, 200); // what nobody else has set is the program's
  ASSERT_EQ(RAWHAL_OK, Read());
  EXPECT_EQ(RAWHAL_OK, rawhal_limit_config_set(&config_, RAWHAL_LIMIT_WEIGHT, 1000, &error_));
}

// Each limit, the loose value by one source and the strict by the other, either way round.
TEST_F(Sources, TheStricterOfTwoHoldsForEachLimit)
{
  struct Pair {
    const char *strict, *loose;
  };
  const std::map<rawhal_limit_unit_t, Pair> pairs = {
      {RAWHAL_UNIT_BYTES, {"1Gi", "2Gi"}},      {RAWHAL_UNIT_SHARE, {"0%", "40%"}},
      {RAWHAL_UNIT_DURATION, {"5ms", "1s"}},    {RAWHAL_UNIT_COUNT, {"7", "77"}},
      {RAWHAL_UNIT_CHARGING, {"wall", "fair"}}, {RAWHAL_UNIT_PRIORITY, {"low", "high"}}};
  for (int i = 0; i < LIMIT_COUNT; ++i) {
    rawhal_limit_t limit = static_cast<rawhal_limit_t>(i);
    const rawhal_limit_info_t *info = rawhal_limit_info(limit);
    SCOPED_TRACE(info->name);
    const Pair &pair = pairs.at(info->unit);
    rawhal_limit_config_t strict = {};
    ASSERT_EQ(RAWHAL_OK,
              rawhal_limit_config_set_text(&strict, limit, pair.strict, nullptr, &error_));
    const uint64_t wanted = rawhal_limit_config_get(&strict, limit);
    for (bool program_is_strict : {false, true}) {
      config_ = {};
      ASSERT_EQ(RAWHAL_OK, rawhal_limit_config_set_text(
                               &config_, limit, program_is_strict ? pair.strict : pair.loose,
                               nullptr, &error_));
      Set(info->variable, program_is_strict ? pair.loose : pair.strict);
      ASSERT_EQ(RAWHAL_OK, Read()) << error_.message;
      ExpectIs(limit, wanted, program_is_strict ? "program" : info->variable);
    }
    Unset(info->variable);
  }
}

// What is said of one device and what is said of all, either way round, by each variable there is.
TEST_F(Sources, WhatIsSaidOfOneDeviceLiftsNothingThatIsSaidOfAll)
{
  const struct {
    rawhal_limit_t limit;
    const char *variable, *strict, *loose, *looser;
  } cases[] = {
      {RAWHAL_LIMIT_GPU_SHARE, "RAWHAL_GPU_SHARE", "10%", "100%", "unlimited"},
      {RAWHAL_LIMIT_MEMORY, "RAWHAL_MEMORY_LIMIT", "64M", "50%", "unlimited"},
      {RAWHAL_LIMIT_PROCESS_MEMORY, "RAWHAL_PROCESS_MEMORY_LIMIT", "0", "1", "unlimited"},
      {RAWHAL_LIMIT_BURST, "RAWHAL_GPU_BURST", "1ms", "20ms", "60s"},
      {RAWHAL_LIMIT_CHARGING, "RAWHAL_GPU_CHARGING", "wall", "fair", "fair"},
      {RAWHAL_LIMIT_GPU_SHARE, "CUDA_DEVICE_SM_LIMIT", "10", "99", "0"},
      {RAWHAL_LIMIT_MEMORY, "HIP_DEVICE_MEMORY_LIMIT", "1g", "2g", "unlimited"},
      {RAWHAL_LIMIT_PRIORITY, "AMD_TASK_PRIORITY", "1", "0", "0"},
  };
  for (const auto &c : cases) {
    SCOPED_TRACE(c.variable);
    const std::string general = c.variable, own = general + "_0";
    for (const char *loose : {c.loose, c.looser})
      for (bool own_is_strict : {false, true}) {
        Set(general, own_is_strict ? loose : c.strict);
        Set(own, own_is_strict ? c.strict : loose);
        config_ = {};
        ASSERT_EQ(RAWHAL_OK, Read()) << error_.message;
        EXPECT_EQ(own_is_strict ? own : general, config_.values[c.limit].origin);
      }
    Set(own, "hardly any"); // what does not count is read all the same
    ExpectRefused(RAWHAL_INVALID_ARGUMENT, {own});
    Unset(general);
    Unset(own);
  }
  Set("RAWHAL_CU_MASK", "0f");
  Set("RAWHAL_CU_MASK_0", "3c");
  config_ = {};
  ASSERT_EQ(RAWHAL_OK, Read()) << error_.message;
  EXPECT_STREQ("c", config_.cu_mask.text);
  Set("RAWHAL_TENANT", "blue");
  Set("RAWHAL_TENANT_0", "red"); // whom it would be charged to
  ExpectRefused(RAWHAL_INVALID_ARGUMENT, {"RAWHAL_TENANT", "RAWHAL_TENANT_0", "'blue'", "'red'"});
}

TEST_F(Sources, MasksHoldTogether)
{
  Set("RAWHAL_CU_MASK", "0x0ff0");
  Set("ROC_GLOBAL_CU_MASK", "0xFF");
  ASSERT_EQ(RAWHAL_OK, Read()) << error_.message;
  EXPECT_STREQ("f0", config_.cu_mask.text);
  EXPECT_STREQ("RAWHAL_CU_MASK & ROC_GLOBAL_CU_MASK", config_.cu_mask.origin);
  config_ = {};
  strcpy(config_.cu_mask.text, "ffff30"); // without an origin: the program's
  ASSERT_EQ(RAWHAL_OK, Read()) << error_.message;
  EXPECT_STREQ("30", config_.cu_mask.text);
  EXPECT_STREQ("program & RAWHAL_CU_MASK & ROC_GLOBAL_CU_MASK", config_.cu_mask.origin);
  config_ = {};
  Set("RAWHAL_CU_MASK", "000F0"); // within the other: it holds as it stands
  ASSERT_EQ(RAWHAL_OK, Read()) << error_.message;
  EXPECT_STREQ("000F0", config_.cu_mask.text);
  EXPECT_STREQ("RAWHAL_CU_MASK", config_.cu_mask.origin);
  config_ = {};
  Set("RAWHAL_CU_MASK", "0xff00");
  ExpectRefused(RAWHAL_INVALID_ARGUMENT,
                {"RAWHAL_CU_MASK", "ROC_GLOBAL_CU_MASK", "no compute unit"});
  Set("RAWHAL_CU_MASK", "many");
  ExpectRefused(RAWHAL_INVALID_ARGUMENT, {"RAWHAL_CU_MASK: 'many'"});
}

TEST_F(Sources, TenantsAndRegionsThatDifferAreAnError)
{
  Set("RAWHAL_TENANT", "blue");
  strcpy(config_.tenant.text, "red");
  ExpectRefused(RAWHAL_INVALID_ARGUMENT, {"RAWHAL_TENANT: ", "'blue'", "'red'", "program"});
  strcpy(config_.tenant.text, "blue");
  EXPECT_EQ(RAWHAL_OK, Read()) << error_.message;
  config_ = {};
  Set("CUDA_DEVICE_MEMORY_SHARED_CACHE", "/x/cache");
  Set("RAWHAL_LIMIT_REGION", "/x/mine"); // one's own region has nobody else in it
  ExpectRefused(RAWHAL_INVALID_ARGUMENT, {"CUDA_DEVICE_MEMORY_SHARED_CACHE", "/x/cache.rawhal",
                                          "/x/mine", "RAWHAL_LIMIT_REGION"});
  Set("RAWHAL_LIMIT_REGION", "/x/cache.rawhal");
  EXPECT_EQ(RAWHAL_OK, Read()) << error_.message;
}

TEST_F(Sources, AProgramsDescriptorIsTheRegionThatTheEnvironmentNames)
{
  RegionFile file;
  rawhal_limiter_close(file.Open());
  Set("RAWHAL_LIMIT_REGION", file.path());
  config_.has_region_fd = true;
  config_.region_fd = open(file.path().c_str(), O_RDWR | O_CLOEXEC);
  EXPECT_EQ(RAWHAL_OK, Read()) << error_.message;
  close(config_.region_fd);
  config_ = {};
  config_.has_region_fd = true;
  config_.region_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
  ExpectRefused(RAWHAL_INVALID_ARGUMENT, {"RAWHAL_LIMIT_REGION: ", "descriptor of another file"});
  close(config_.region_fd);
}

// ---- Pinned ----

TEST_F(Sources, WhatIsPinnedIsNotTheProgramsToChange)
{
  Set("RAWHAL_DEVICE_SHARE", "90%");
  Set("RAWHAL_GPU_SHARE", "30%");
  Set("RAWHAL_TENANT", "blue");
  Set("RAWHAL_LIMITS_PINNED", "device-share, tenant");
  Program(RAWHAL_LIMIT_DEVICE_SHARE, 1000000);
  strcpy(config_.tenant.text, "red");
  ASSERT_EQ(RAWHAL_OK, Read()) << error_.message;
  ExpectIs(RAWHAL_LIMIT_DEVICE_SHARE, 900000, "RAWHAL_DEVICE_SHARE");
  EXPECT_TRUE(config_.values[RAWHAL_LIMIT_DEVICE_SHARE].pinned);
  EXPECT_FALSE(config_.values[RAWHAL_LIMIT_GPU_SHARE].pinned);
  EXPECT_STREQ("blue", config_.tenant.text);
  EXPECT_TRUE(config_.tenant.pinned);
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED,
            rawhal_limit_config_set(&config_, RAWHAL_LIMIT_DEVICE_SHARE, 1, &error_));
  EXPECT_NE(nullptr, strstr(error_.message, "pinned at 90% by RAWHAL_DEVICE_SHARE"))
      << error_.message;
  EXPECT_EQ(RAWHAL_OK, rawhal_limit_config_set(&config_, RAWHAL_LIMIT_GPU_SHARE, 1, &error_));
  // Less than what is pinned, for all tenants of the device: neither obeyed nor passed over.
  Program(RAWHAL_LIMIT_DEVICE_SHARE, 1);
  ExpectRefused(RAWHAL_INVALID_ARGUMENT,
                {"program: device-share is pinned at 90% by RAWHAL_DEVICE_SHARE"});
  config_ = {};
  Set("RAWHAL_LIMITS_PINNED", "all");
  ASSERT_EQ(RAWHAL_OK, Read()) << error_.message;
  EXPECT_TRUE(config_.values[RAWHAL_LIMIT_GPU_SHARE].pinned);
  EXPECT_FALSE(config_.values[RAWHAL_LIMIT_WEIGHT].pinned); // nothing is said of it
  Set("RAWHAL_LIMITS_PINNED", "gpu-shar");
  ExpectRefused(RAWHAL_INVALID_ARGUMENT, {"RAWHAL_LIMITS_PINNED: ", "'gpu-shar'", "gpu-share"});
}

TEST_F(Sources, ARunningProgramIsHeldAsWell)
{
  Set("RAWHAL_GPU_SHARE", "30%");
  Set("RAWHAL_MEMORY_LIMIT", "1Gi");
  Set("RAWHAL_LIMITS_PINNED", "memory");
  ASSERT_EQ(RAWHAL_OK, Read()) << error_.message;
  rawhal_limiter_t *limiter = nullptr;
  ASSERT_EQ(RAWHAL_OK, rawhal_limiter_open(&config_, "device", &limiter, &error_))
      << error_.message;
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED,
            rawhal_limiter_set(limiter, RAWHAL_LIMIT_GPU_SHARE, RAWHAL_UNLIMITED, &error_));
  EXPECT_NE(nullptr, strstr(error_.message, "RAWHAL_GPU_SHARE")) << error_.message;
  EXPECT_EQ(RAWHAL_OK, rawhal_limiter_set(limiter, RAWHAL_LIMIT_GPU_SHARE, 100000, &error_));
  EXPECT_EQ(RAWHAL_OK, rawhal_limiter_set(limiter, RAWHAL_LIMIT_GPU_SHARE, 300000, &error_));
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED,
            rawhal_limiter_set(limiter, RAWHAL_LIMIT_MEMORY, 1 << 20, &error_));
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED,
            rawhal_limiter_set(limiter, RAWHAL_LIMIT_MEMORY, 2 * kGi, &error_));
  EXPECT_EQ(1 * kGi, rawhal_limiter_get(limiter, RAWHAL_LIMIT_MEMORY));
  EXPECT_EQ(RAWHAL_OK, rawhal_limiter_set(limiter, RAWHAL_LIMIT_WEIGHT, 1000, &error_));
  rawhal_limiter_close(limiter);
}

// ---- The operator's file ----

class OperatorsFile : public Sources {
protected:
  void SetUp() override
  {
    char name[] = "/tmp/rawhal-limits-XXXXXX";
    folder_ = mkdtemp(name);
    ASSERT_EQ(0, chmod(folder_.c_str(), 0755));
    path_ = folder_ + "/limits";
    Set("RAWHAL_LIMITS_FILE", path_);
  }
  void TearDown() override
  {
    Sources::TearDown();
    unlink(path_.c_str());
    rmdir(folder_.c_str());
  }
  void Write(const std::string &text) { std::ofstream(path_, std::ios::trunc) << text; }
  // As a user who may not write the file. Failures are reported there.
  void AsAnother(const std::function<void()> &body)
  {
    if (geteuid() != 0)
      GTEST_SKIP() << "only root can be somebody else";
    pid_t child = fork_child();
    if (child == 0) {
      if (setgid(kNobody) || setuid(kNobody))
        _exit(100);
      body();
      _exit(HasFailure() ? 1 : 0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  std::string folder_, path_;
};

TEST_F(OperatorsFile, HoldsAgainstEverybody)
{
  Write("# of this machine\n\n gpu-share = 30% "
        "\r\nRAWHAL_MEMORY_LIMIT_1=1Gi\nmemory=2Gi\ntenant=blue\ncu-mask=0f\n");
  Set("RAWHAL_GPU_SHARE", "100%");
  Set("RAWHAL_TENANT", "red");
  Set("CUDA_DEVICE_MEMORY_LIMIT", "8g");
  Set("ROC_GLOBAL_CU_MASK", "ff");
  AsAnother([&] {
    strcpy(config_.tenant.text, "green");
    ASSERT_EQ(RAWHAL_OK, Read()) << error_.message;
    ExpectIs(RAWHAL_LIMIT_GPU_SHARE, 300000, "RAWHAL_LIMITS_FILE:3");
    ExpectIs(RAWHAL_LIMIT_MEMORY, 2 * kGi, "RAWHAL_LIMITS_FILE:5");
    EXPECT_TRUE(config_.values[RAWHAL_LIMIT_GPU_SHARE].pinned);
    EXPECT_STREQ("blue", config_.tenant.text);
    EXPECT_STREQ("0f", config_.cu_mask.text);
    EXPECT_STREQ("RAWHAL_LIMITS_FILE:7", config_.cu_mask.origin);
    config_ = {};
    ASSERT_EQ(RAWHAL_OK, Read(1)) << error_.message;
    ExpectIs(RAWHAL_LIMIT_MEMORY, 1 * kGi, "RAWHAL_LIMITS_FILE:4");
    EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED,
              rawhal_limit_config_set(&config_, RAWHAL_LIMIT_MEMORY, 1 << 20, &error_));
    // Less than what is pinned is refused, too, and says by whom.
    config_ = {};
    Set("CUDA_DEVICE_SM_LIMIT", "20");
    ExpectRefused(
        RAWHAL_INVALID_ARGUMENT,
        {"CUDA_DEVICE_SM_LIMIT: gpu-share is pinned at 30% by RAWHAL_LIMITS_FILE:3", "20%"});
    Unset("CUDA_DEVICE_SM_LIMIT");
    Set("ROC_GLOBAL_CU_MASK", "3");
    ExpectRefused(RAWHAL_INVALID_ARGUMENT, {"ROC_GLOBAL_CU_MASK: cu-mask is pinned at '0f'"});
  });
}

TEST_F(OperatorsFile, HasOneRuleForADeviceAndForAll)
{
  Write("gpu-share=30%\ngpu-share_0=90%\nmemory=2Gi\nmemory_0=1Gi\n");
  AsAnother([&] {
    ASSERT_EQ(RAWHAL_OK, Read()) << error_.message;
    ExpectIs(RAWHAL_LIMIT_GPU_SHARE, 300000, "RAWHAL_LIMITS_FILE:1");
    ExpectIs(RAWHAL_LIMIT_MEMORY, 1 * kGi, "RAWHAL_LIMITS_FILE:4");
  });
}

TEST_F(OperatorsFile, APinnedRegionReplacesAProgramsDescriptor)
{
  Write("region=/x/operators\n");
  Set("CUDA_DEVICE_MEMORY_SHARED_CACHE", "/x/cache");
  AsAnother([&] {
    config_.has_region_fd = true;
    config_.region_fd = 0;
    ASSERT_EQ(RAWHAL_OK, Read()) << error_.message;
    EXPECT_FALSE(config_.has_region_fd);
    EXPECT_STREQ("/x/operators", config_.region.text);
  });
}

TEST_F(OperatorsFile, IsRefusedWhenItsReaderCouldWriteIt)
{
  Write("gpu-share=30%\n");
  ExpectRefused(RAWHAL_UNSUPPORTED, {"RAWHAL_LIMITS_FILE: ", path_}); // ours, or we are root
  AsAnother([&] { EXPECT_EQ(RAWHAL_OK, Read()) << error_.message; });
  ASSERT_EQ(0, chmod(path_.c_str(), 0666));
  AsAnother([&] { ExpectRefused(RAWHAL_UNSUPPORTED, {"written by others"}); });
  ASSERT_EQ(0, chmod(path_.c_str(), 0444));
  AsAnother([&] { EXPECT_EQ(RAWHAL_OK, Read()) << error_.message; });
  if (geteuid() == 0) { // who owns it may change its mode
    ASSERT_EQ(0, chown(path_.c_str(), kNobody, kNobody));
  }
  AsAnother([&] { ExpectRefused(RAWHAL_UNSUPPORTED, {"belongs to the user of this process"}); });
}

TEST_F(OperatorsFile, WhatIsNotUnderstoodIsNamedByItsLine)
{
  const struct {
    std::string text;
    rawhal_status_t status;
    std::vector<std::string> words;
  } cases[] = {
      {"gpu-share=30%\ngpu-shar=30%\n",
       RAWHAL_INVALID_ARGUMENT,
       {"RAWHAL_LIMITS_FILE:2: ", "nearest is gpu-share"}},
      {"gpu-share\n", RAWHAL_INVALID_ARGUMENT, {"RAWHAL_LIMITS_FILE:1: ", "NAME=VALUE"}},
      {"memory=1Gi\nRAWHAL_MEMORY_LIMIT=2Gi\n", RAWHAL_INVALID_ARGUMENT, {"FILE:2: ", "line 1"}},
      {"gpu-share=lots\n", RAWHAL_INVALID_ARGUMENT, {"RAWHAL_LIMITS_FILE:1: 'lots'"}},
      {"weight=0\n", RAWHAL_OUT_OF_RANGE, {"RAWHAL_LIMITS_FILE:1: "}},
      {"CUDA_DEVICE_SM_LIMIT=30\n", RAWHAL_INVALID_ARGUMENT, {"RAWHAL_LIMITS_FILE:1: "}},
      {"memory_01=1Gi\n", RAWHAL_INVALID_ARGUMENT, {"nearest is memory"}},
      {"tenant=\n", RAWHAL_INVALID_ARGUMENT, {"RAWHAL_LIMITS_FILE:1: the text is empty"}},
      {std::string("memory=1\0Gi\n", 12), RAWHAL_UNSUPPORTED, {"not text"}},
      {std::string(65537, '\n'), RAWHAL_UNSUPPORTED, {"65536"}},
  };
  for (const auto &c : cases) {
    Write(c.text);
    AsAnother([&] { ExpectRefused(c.status, c.words); });
  }
  std::string many;
  for (int i = 0; i < 600; ++i)
    many += "memory_" + std::to_string(i) + "=1\n";
  Write(many);
  AsAnother([&] { ExpectRefused(RAWHAL_CAP_EXCEEDED, {"more than 512"}); });
  unlink(path_.c_str());
  ExpectRefused(RAWHAL_NOT_FOUND, {"RAWHAL_LIMITS_FILE: "}); // what is named must be there
  Set("RAWHAL_LIMITS_FILE", "/dev/zero");
  ExpectRefused(RAWHAL_UNSUPPORTED, {"not a regular file"});
}

// ---- Misspelt ----

TEST_F(Sources, AMisspeltVariableNamesTheNearest)
{
  const struct {
    const char *given, *meant;
  } cases[] = {{"RAWHAL_MEMORY_LIMT", "RAWHAL_MEMORY_LIMIT"},
               {"RAWHAL_MEMORY_LIMTI_1", "RAWHAL_MEMORY_LIMIT"},
               {"RAWHAL_MEMORY_LIMIT_01", "RAWHAL_MEMORY_LIMIT"}, // looked for as _1
               {"RAWHAL_MEMORY_LIMIT_4294967296", "RAWHAL_MEMORY_LIMIT"},
               {"RAWHAL_MEMORY_LIMIT_", "RAWHAL_MEMORY_LIMIT"},
               {"RAWHAL_MEMORY_LIMIT_GPU", "RAWHAL_MEMORY_LIMIT"},
               {"RAWHAL_GPUSHARE", "RAWHAL_GPU_SHARE"},
               {"RAWHAL_SHARE", "RAWHAL_GPU_SHARE"},
               {"RAWHAL_gpu_share", "RAWHAL_GPU_SHARE"},
               {"RAWHAL_SHARE_GPU", "RAWHAL_GPU_SHARE"},
               {"RAWHAL_MEMORY", "RAWHAL_MEMORY_LIMIT"},
               {"RAWHAL_LIMIT_TENANT", "RAWHAL_TENANT"},
               {"RAWHAL_LIMIT_TENNANT", "RAWHAL_TENANT"},
               {"RAWHAL_REGION", "RAWHAL_LIMIT_REGION"},
               {"RAWHAL_PINNED", "RAWHAL_LIMITS_PINNED"},
               {"RAWHAL_GPU_LIMIT", "RAWHAL_"},
               {"RAWHAL_CHEK", "RAWHAL_CHECK"},
               {"RAWHAL_POLCY", "RAWHAL_POLICY"},
               {"RAWHAL_PYLICY", "RAWHAL_POLICY"},
               {"RAWHAL_RECRD", "RAWHAL_RECORD"},
               {"RAWHAL_DEVICES", "RAWHAL_DEVICE"},
               {"RAWHAL_DEVICE_1", "RAWHAL_DEVICE"},
               {"RAWHAL_LIMIT_FILE", "RAWHAL_LIMITS_FILE"},
               {"RAWHAL_LIMITS_PINED", "RAWHAL_LIMITS_PINNED"}};
  for (const auto &c : cases) {
    SCOPED_TRACE(c.given);
    Set(c.given, "1");
    ExpectRefused(RAWHAL_INVALID_ARGUMENT,
                  {std::string(c.given) + ": ", std::string("nearest is ") + c.meant});
    Unset(c.given);
  }
  // What is like none is other people's, or like what tests read.
  for (const std::string &name :
       {std::string("RAWHAL_BUILD"), std::string("RAWHAL_SOURCE"), std::string("RAWHAL_SOURCE_DIR"),
        std::string("RAWHAL_VERSION"), std::string("RAWHAL_MUTANT"), std::string("RAWHAL_"),
        "RAWHAL_" + std::string(5000, 'X')})
    Set(name, "1");
  // What is the Python package's may be like anything.
  for (const char *name : {"RAWHAL_PY_LIMITS", "RAWHAL_PY_MEMORY_LIMIT", "RAWHAL_PY_CHECK",
                           "RAWHAL_PY_OLICY", "RAWHAL_PY_SHARE_1", "RAWHAL_PY_"})
    Set(name, "1");
  Set("RAWHAL_MEMORY_LIMIT_4294967295", "1Gi");
  Set("XRAWHAL_MEMORY_LIMT", "1");
  EXPECT_EQ(RAWHAL_OK, Read()) << error_.message;
}

// Whatever of RAWHAL_* the tree reads from the environment is in the table.
void ScanTree(const std::string &folder, std::set<std::string> *names)
{
  static const std::regex reading(
      "(?:getenv\\(\"|environ\\[\"|environ\\.get\\(\"|\\$\\{)(RAWHAL_[A-Z0-9_]+)(?:\"|:-)");
  DIR *listing = opendir(folder.c_str());
  if (!listing)
    return;
  while (const dirent *entry = readdir(listing)) {
    const std::string name = entry->d_name, path = folder + "/" + name;
    if (name[0] == '.' || name == "build")
      continue;
    struct stat facts;
    if (lstat(path.c_str(), &facts))
      continue;
    if (S_ISDIR(facts.st_mode))
      ScanTree(path, names);
    if (!S_ISREG(facts.st_mode) || facts.st_size > 1 << 20 ||
        !std::regex_search(name, std::regex("^dev$|\\.(c|cc|h|py|sh)$")))
      continue;
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    const std::string all = text.str();
    for (std::sregex_iterator at(all.begin(), all.end(), reading), end; at != end; ++at)
      names->insert((*at)[1]);
  }
  closedir(listing);
}

TEST_F(Sources, EveryVariableThatTheTreeReadsIsKnown)
{
  std::set<std::string> names;
  ScanTree(RAWHAL_SOURCE_DIR, &names);
  EXPECT_TRUE(names.count("RAWHAL_DEVICE")) << "found " << names.size();
  EXPECT_TRUE(names.count("RAWHAL_TEST_EXTENDED"));
  for (const std::string &name : names) {
    const char *before = getenv(name.c_str());
    const std::string keep = before ? before : "";
    setenv(name.c_str(), "", 1);
    rawhal_limit_device_t device = {0, 0, 16 * kGi};
    rawhal_error_t error = {};
    (void)!rawhal_limit_config_environment(&config_, &device, &error);
    EXPECT_EQ(nullptr, strstr(error.message, "knows no variable")) << error.message;
    before ? setenv(name.c_str(), keep.c_str(), 1) : unsetenv(name.c_str());
  }
}

TEST_F(Sources, WhatOtherLimitersReadHasAWord)
{
  std::set<std::string> names;
  const rawhal_limit_foreign_t *foreign;
  for (size_t i = 0; (foreign = rawhal_limit_foreign(i)); ++i) {
    EXPECT_TRUE(names.insert(foreign->variable).second);
    EXPECT_GT(strlen(foreign->instead), 10u);
  }
  for (const char *name :
       {"CUDA_OVERSUBSCRIBE", "ACTIVE_OOM_KILLER", "GPU_CORE_UTILIZATION_POLICY"})
    EXPECT_TRUE(names.count(name)) << name;
  EXPECT_EQ(nullptr, rawhal_limit_foreign(names.size()));
  EXPECT_EQ(nullptr, rawhal_limit_foreign(SIZE_MAX));
}

} // namespace
