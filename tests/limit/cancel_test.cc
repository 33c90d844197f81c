// Threads that are cancelled before they call: each call goes on to its end, and leaves no file open and no lock.
#include <fcntl.h>
#include <sys/wait.h>

#include <cstdlib>
#include <fstream>

#include "tests/cancelled.h"
#include "tests/child.h"
#include "tests/limit/region_file.h"

namespace {

int NextDescriptor()
{
  const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
  close(file);
  return file;
}

TEST(LimitCancelled, NoCallIsACancellationPoint)
{
  RegionFile file;
  const std::string text = file.folder() + "/limits";
  std::ofstream(text) << "gpu_share = 50%\n";
  setenv("RAWHAL_LIMITS_FILE", text.c_str(), 1);
  const int before = NextDescriptor();
  int region = -1;
  EXPECT_TRUE(goes_on_though_cancelled([&] {
    rawhal_limiter_close(file.Open());
    rawhal_limit_control_t *control = nullptr;
    EXPECT_EQ(RAWHAL_OK, rawhal_limit_control_open(file.path().c_str(), &control, nullptr));
    rawhal_limit_control_close(control);
    rawhal_limit_view_t *view = nullptr;
    EXPECT_EQ(RAWHAL_OK, rawhal_limit_view_open(file.path().c_str(), &view, nullptr));
    rawhal_limit_view_close(view);
    rawhal_limit_config_t config = {};
    rawhal_limit_device_t device = {};
    device.size = sizeof(device);
    (void)!rawhal_limit_config_environment(&config, &device, nullptr);
    EXPECT_EQ(RAWHAL_OK, rawhal_limit_region_create(&region, nullptr));
  }));
  unsetenv("RAWHAL_LIMITS_FILE");
  unlink(text.c_str());
  if (region >= 0)
    close(region);
  EXPECT_EQ(before, NextDescriptor());
  rawhal_limiter_close(file.Open());
}

// The child's only thread is cancelled, too.
TEST(LimitCancelled, ForkReturnsInTheChild)
{
  RegionFile file;
  rawhal_limiter_t *limiter = file.Open();
  pid_t child = -1;
  EXPECT_TRUE(goes_on_though_cancelled([&] {
    child = fork_child();
    if (child == 0)
      _exit(42);
  }));
  int status = 0;
  ASSERT_EQ(child, waitpid(child, &status, 0));
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(42, WEXITSTATUS(status));
  rawhal_limiter_close(limiter);
}

} // namespace
