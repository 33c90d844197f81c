// A process that is killed while it allocates leaves nothing in the ledger that it shares.
#include "tests/tools/process.h"

#include <rawhal/limit.h>

#include <gtest/gtest.h>

#include <csignal>
#include <cstring>

namespace {

// The first line that a child prints; "" when it prints none.
std::string first_line(int fd)
{
  std::string line;
  for (char c; read(fd, &c, 1) == 1 && c != '\n';)
    line += c;
  return line;
}

pid_t start(const std::string &region, int *out)
{
  int ends[2];
  if (pipe(ends))
    return -1;
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], 1);
    close(ends[0]);
    close(ends[1]);
    setenv("RAWHAL_LIMIT_REGION", region.c_str(), 1);
    setenv("RAWHAL_MEMORY_LIMIT", "16M", 1);
    execl(RAWHAL_SOFTGPU_RUN, RAWHAL_SOFTGPU_RUN, RAWHAL_TOOL, "exec", "--", RAWHAL_HOLDS, nullptr);
    _exit(127);
  }
  close(ends[1]);
  *out = ends[0];
  return child;
}

// The name of the region's device, and what its tenant holds.
std::string look(const std::string &region, uint64_t *used)
{
  rawhal_limit_view_t *view = nullptr;
  rawhal_limit_row_t rows[8];
  std::string name;
  *used = 0;
  if (rawhal_limit_view_open(region.c_str(), &view, nullptr) != RAWHAL_OK)
    return name;
  size_t count = rawhal_limit_view_read(view, rows, sizeof(*rows), 8);
  for (size_t i = 0; i < count && i < 8; ++i) {
    if (rows[i].level == RAWHAL_LIMIT_LEVEL_DEVICE)
      name = rows[i].name;
    if (rows[i].level == RAWHAL_LIMIT_LEVEL_TENANT)
      *used = rows[i].memory_used;
  }
  rawhal_limit_view_close(view);
  return name;
}

class Neighbour {
public:
  Neighbour(const std::string &region, const std::string &device)
  {
    rawhal_limit_config_t *config = nullptr;
    EXPECT_EQ(RAWHAL_OK, rawhal_limit_config_create(&config, nullptr));
    EXPECT_EQ(RAWHAL_OK, rawhal_limit_config_set_name(config, RAWHAL_LIMIT_NAME_REGION,
                                                      region.c_str(), nullptr));
    EXPECT_EQ(RAWHAL_OK, rawhal_limiter_open(config, device.c_str(), &limiter_, nullptr));
    rawhal_limit_config_destroy(config);
  }
  ~Neighbour() { rawhal_limiter_close(limiter_); }
  uint64_t used() const
  {
    uint64_t total = 0, used = 0;
    rawhal_limiter_memory(limiter_, &total, &used);
    return used;
  }

private:
  rawhal_limiter_t *limiter_ = nullptr;
};

} // namespace

TEST(FrontKill, TheLedgerIsExact)
{
  const int rounds = getenv("RAWHAL_TEST_EXTENDED") ? 1000 : 8;
  Scratch scratch;
  std::string region = scratch / "region", device;
  uint64_t most = 0;
  for (int round = 0; round < rounds; ++round) {
    int out = -1;
    uint64_t used = 0;
    pid_t child = start(region, &out);
    ASSERT_EQ("begun", first_line(out));
    usleep(static_cast<useconds_t>(round * 7919 % 5000));
    device = look(region, &used);
    most = used > most ? used : most;
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(out);
    ASSERT_NE("", device);
    EXPECT_EQ(0u, Neighbour(region, device).used());
  }
  EXPECT_GT(most, 0u);
  EXPECT_LE(most, 16u << 20);
}
