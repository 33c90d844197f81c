// Regions that are named by a descriptor, and tenants that an operator adds to them and removes.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstring>

#include "tests/child.h"
#include "tests/limit/region_file.h"

namespace {

bool Has(const std::string &text, const char *part)
{
  return text.find(part) != std::string::npos;
}

std::string Named(int fd)
{
  return "fd:" + std::to_string(fd);
}

class Inherited : public testing::Test {
protected:
  void SetUp() override
  {
    ASSERT_EQ(RAWHAL_OK, rawhal_limit_region_create(&fd_, &error_)) << error_.message;
    ASSERT_EQ(RAWHAL_OK, rawhal_limit_control_open(Named(fd_).c_str(), &control_, &error_))
        << error_.message;
  }
  void TearDown() override
  {
    rawhal_limit_control_close(control_);
    close(fd_);
  }
  static rawhal_limit_config_t Config(const std::string &region, const char *tenant)
  {
    rawhal_limit_config_t config = {};
    snprintf(config.region.text, sizeof(config.region.text), "%s", region.c_str());
    snprintf(config.tenant.text, sizeof(config.tenant.text), "%s", tenant);
    return config;
  }
  rawhal_status_t Join(const std::string &region, const char *device, const char *tenant,
                       rawhal_limiter_t **limiter = nullptr)
  {
    const rawhal_limit_config_t config = Config(region, tenant);
    rawhal_limiter_t *own = nullptr;
    const rawhal_status_t status = rawhal_limiter_open(&config, device, &own, &error_);
    if (limiter)
      *limiter = own;
    else
      rawhal_limiter_close(own);
    return status;
  }
  rawhal_status_t Add(const char *tenant, const char *device = "device")
  {
    return rawhal_limit_control_add(control_, device, tenant, &error_);
  }
  rawhal_status_t Remove(const char *tenant, const char *device = "device")
  {
    return rawhal_limit_control_remove(control_, device, tenant, &error_);
  }
  std::vector<rawhal_limit_row_t> Rows()
  {
    rawhal_limit_view_t *view = nullptr;
    EXPECT_EQ(RAWHAL_OK, rawhal_limit_view_open(Named(fd_).c_str(), &view, &error_));
    std::vector<rawhal_limit_row_t> rows(200);
    rows.resize(rawhal_limit_view_read(view, rows.data(), sizeof(rows[0]), rows.size()));
    rawhal_limit_view_close(view);
    return rows;
  }
  rawhal_limit_row_t Tenant(const char *name)
  {
    for (const rawhal_limit_row_t &row : Rows())
      if (row.level == RAWHAL_LIMIT_LEVEL_TENANT && !strcmp(row.name, name))
        return row;
    return {};
  }

  int fd_ = -1;
  rawhal_limit_control_t *control_ = nullptr;
  rawhal_error_t error_ = {};
};

TEST_F(Inherited, HasTheTenantsThatWereAdded)
{
  EXPECT_EQ(RAWHAL_NOT_FOUND, Join(Named(fd_), "device", "blue"));
  EXPECT_TRUE(Has(error_.message, "device 'device'")) << error_.message;
  ASSERT_EQ(RAWHAL_OK, Add("blue")) << error_.message;
  EXPECT_EQ(RAWHAL_OK, Join(Named(fd_), "device", "blue")) << error_.message;
  EXPECT_EQ(RAWHAL_NOT_FOUND, Join(Named(fd_), "device", "red"));
  EXPECT_TRUE(Has(error_.message, "added no tenant 'red' on the device 'device'"))
      << error_.message;
  EXPECT_EQ(RAWHAL_NOT_FOUND, Join(Named(fd_), "other", "blue"));
  // A program that was given a descriptor itself vouches for it, and joins as whom it likes.
  rawhal_limit_config_t config = Config("", "red");
  rawhal_limiter_t *limiter = nullptr;
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_config_set_region_fd(&config, fd_, &error_));
  EXPECT_EQ(RAWHAL_OK, rawhal_limiter_open(&config, "device", &limiter, &error_));
  rawhal_limiter_close(limiter);
  EXPECT_EQ(RAWHAL_NOT_FOUND, Join(Named(fd_), "device", "red")) << "it was not added";
}

TEST_F(Inherited, OfSeveralTheOneWithTheDeviceCounts)
{
  int other = -1;
  rawhal_limit_control_t *control = nullptr;
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_region_create(&other, &error_));
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_control_open(Named(other).c_str(), &control, &error_));
  ASSERT_EQ(RAWHAL_OK, Add("blue", "first"));
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_control_add(control, "second", "blue", &error_));
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_control_set(control, "second", "blue", RAWHAL_LIMIT_MEMORY,
                                                1 << 20, &error_));
  const std::string both = Named(fd_) + "," + std::to_string(other);
  for (const char *device : {"first", "second"}) {
    rawhal_limiter_t *limiter = nullptr;
    ASSERT_EQ(RAWHAL_OK, Join(both, device, "blue", &limiter)) << error_.message;
    EXPECT_EQ(strcmp(device, "second") ? RAWHAL_UNLIMITED : 1u << 20,
              rawhal_limiter_get(limiter, RAWHAL_LIMIT_MEMORY));
    rawhal_limiter_close(limiter);
  }
  EXPECT_EQ(RAWHAL_NOT_FOUND, Join(both, "third", "blue"));
  EXPECT_TRUE(Has(error_.message, both.c_str()) && Has(error_.message, "'third'"))
      << error_.message;
  rawhal_limit_control_close(control);
  close(other);
}

TEST_F(Inherited, IsAListOfDescriptors)
{
  ASSERT_EQ(RAWHAL_OK, Add("blue"));
  for (const char *text : {"fd:", "fd:,", "fd:x", "fd:-1", "fd:+1", "fd: 1", "fd:1,", "fd:1,,2",
                           "fd:1x", "fd:99999999999999999999", "fd:2147483648",
                           "fd:1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"}) {
    EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Join(text, "device", "blue")) << text;
    EXPECT_TRUE(Has(error_.message, text)) << error_.message;
  }
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  EXPECT_EQ(RAWHAL_NOT_FOUND, Join(Named(nothing), "device", "blue")) << "no region";
  EXPECT_EQ(RAWHAL_NOT_FOUND, Join("fd:987654", "device", "blue")) << "not open";
  EXPECT_TRUE(Has(error_.message, "descriptor 987654 is no region")) << error_.message;
  close(nothing);
}

TEST_F(Inherited, IsAnAncestorsWhereThisProcessHasClosedIt)
{
  ASSERT_EQ(RAWHAL_OK, Add("blue"));
  const pid_t child = fork_child();
  if (child == 0) {
    close(fd_);
    const pid_t grandchild = fork_child();
    if (grandchild == 0) {
      (void)open("/dev/null", O_RDWR | O_CLOEXEC); // its number is another file's
      _exit(Join(Named(fd_), "device", "blue") == RAWHAL_OK ? 0 : 1);
    }
    int status = 1;
    waitpid(grandchild, &status, 0);
    _exit(WEXITSTATUS(status));
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(0, status);
}

TEST_F(Inherited, StaysUntilItIsRemoved)
{
  ASSERT_EQ(RAWHAL_OK, Add("blue"));
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_control_set(control_, "device", "blue", RAWHAL_LIMIT_GPU_SHARE,
                                                300000, &error_));
  ASSERT_EQ(RAWHAL_OK, Add("blue")) << "again";
  // 63 more, and there is no place for another: none is given away without processes.
  for (int i = 1; i < 64; ++i)
    ASSERT_EQ(RAWHAL_OK, Add(("tenant " + std::to_string(i)).c_str())) << i << error_.message;
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, Add("too many"));
  rawhal_limiter_t *limiter = nullptr;
  ASSERT_EQ(RAWHAL_OK, Join(Named(fd_), "device", "blue", &limiter));
  EXPECT_EQ(300000u, rawhal_limiter_get(limiter, RAWHAL_LIMIT_GPU_SHARE));
  EXPECT_EQ(RAWHAL_WOULD_BLOCK, Remove("blue"));
  rawhal_limiter_close(limiter);
  ASSERT_EQ(RAWHAL_OK, Remove("blue")) << error_.message;
  EXPECT_EQ(RAWHAL_NOT_FOUND, Remove("blue"));
  EXPECT_STREQ("", Tenant("blue").name);
  EXPECT_EQ(RAWHAL_NOT_FOUND, Join(Named(fd_), "device", "blue"));
  ASSERT_EQ(RAWHAL_OK, Add("green")) << "in its place";
  ASSERT_EQ(RAWHAL_OK, Join(Named(fd_), "device", "green", &limiter));
  EXPECT_EQ(RAWHAL_UNLIMITED, rawhal_limiter_get(limiter, RAWHAL_LIMIT_GPU_SHARE));
  rawhal_limiter_close(limiter);
}

TEST_F(Inherited, ThePeakIsThatOfAllWhoWereThere)
{
  ASSERT_EQ(RAWHAL_OK, Add("blue"));
  for (uint64_t bytes : {3u << 20, 1u << 20}) {
    rawhal_limiter_t *limiter = nullptr;
    ASSERT_EQ(RAWHAL_OK, Join(Named(fd_), "device", "blue", &limiter));
    ASSERT_EQ(RAWHAL_OK, shim_reserve(limiter, 0, bytes, &error_));
    rawhal_limiter_close(limiter);
    EXPECT_EQ(0u, Tenant("blue").memory_used);
    EXPECT_EQ(3u << 20, Tenant("blue").memory_peak);
  }
}

TEST_F(Inherited, TheDeadAreNoneWhenItIsRemoved)
{
  ASSERT_EQ(RAWHAL_OK, Add("blue"));
  const pid_t child = fork_child();
  if (child == 0) {
    rawhal_limiter_t *limiter = nullptr;
    if (Join(Named(fd_), "device", "blue", &limiter) != RAWHAL_OK ||
        shim_reserve(limiter, 0, 1 << 20, &error_) != RAWHAL_OK)
      _exit(1);
    _exit(0); // without closing
  }
  int status = 1;
  waitpid(child, &status, 0);
  ASSERT_EQ(0, status);
  EXPECT_EQ(RAWHAL_OK, Remove("blue")) << error_.message;
  EXPECT_EQ(1u, Rows().size()) << "the device alone";
}

TEST_F(Inherited, WrongCallsSayWhatIsWrong)
{
  const std::string name(64, 'x');
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Add(""));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Add(nullptr));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Add("blue", ""));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Add("blue", nullptr));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Add(name.c_str()));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Add("blue", name.c_str()));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Remove("blue", nullptr));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Remove(nullptr));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_limit_control_add(nullptr, "device", "blue", &error_));
  EXPECT_EQ(0u, Rows().size());
}

} // namespace
