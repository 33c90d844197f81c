// The file processes share: who may open it, what is refused, who is alive.
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atomic>
#include <fstream>

#include "tests/child.h"
#include "tests/limit/region_file.h"
#include "tests/limit/shared.h"
#include "tests/values.h"

namespace {

rawhal_status_t TryOpen(const rawhal_limit_config_t &config, rawhal_error_t *error)
{
  rawhal_limiter_t *limiter = nullptr;
  rawhal_status_t status = rawhal_limiter_open(&config, "device", &limiter, error);
  EXPECT_EQ(status == RAWHAL_OK, limiter != nullptr);
  rawhal_limiter_close(limiter);
  return status;
}

// Its times would be others' future, or past. No privilege is needed to be in one.
TEST(Region, AnotherClockIsRefused)
{
  RegionFile file;
  rawhal_limiter_close(file.Open());
  const auto refused = [&](const char *why) {
    rawhal_limit_control_t *control = nullptr;
    rawhal_error_t error = {}, other = {};
    return TryOpen(file.Config(), &error) == RAWHAL_UNSUPPORTED && strstr(error.message, why) &&
           rawhal_limit_control_open(file.path().c_str(), &control, &other) == RAWHAL_UNSUPPORTED &&
           strcmp(error.message, other.message) == 0;
  };
  const int status = in_child([&] {
    if (unshare(CLONE_NEWUSER | CLONE_NEWTIME))
      return 77;
    if (!refused("perhaps not that of the machine")) // its children's file says nothing of it
      return 1;
    std::ofstream("/proc/self/timens_offsets") << "monotonic 3600 0" << std::flush;
    const int inner = in_child([&] { return refused("ahead of") ? 0 : 2; });
    return WIFEXITED(inner) ? WEXITSTATUS(inner) : 3;
  });
  ASSERT_TRUE(WIFEXITED(status)) << status;
  if (WEXITSTATUS(status) == 77)
    GTEST_SKIP() << "this machine lets nobody make a time namespace";
  EXPECT_EQ(0, WEXITSTATUS(status));
}

TEST(Region, IsMadePrivateWithoutTouchingTheUmask)
{
  RegionFile file;
  mode_t before = umask(022);
  rawhal_limiter_t *limiter = file.Open();
  EXPECT_EQ(022u, umask(before));
  struct stat facts;
  ASSERT_EQ(0, stat(file.path().c_str(), &facts));
  EXPECT_EQ(0600u, facts.st_mode & 07777u);
  EXPECT_EQ(static_cast<off_t>(shim_region_bytes()), facts.st_size);
  rawhal_limiter_close(limiter);
}

TEST(Region, SymbolicLinksForeignFilesAndFoldersAreRefused)
{
  RegionFile file;
  rawhal_error_t error = {};
  std::string target = file.folder() + "/target", link = file.folder() + "/link";
  std::ofstream(target) << "something else";
  ASSERT_EQ(0, symlink(target.c_str(), link.c_str()));
  rawhal_limit_config_t config = file.Config();
  snprintf(config.region.text, sizeof(config.region.text), "%s", link.c_str());
  EXPECT_EQ(RAWHAL_RUNTIME, TryOpen(config, &error));
  EXPECT_NE(nullptr, strstr(error.message, link.c_str())) << error.message;
  snprintf(config.region.text, sizeof(config.region.text), "%s", target.c_str());
  EXPECT_EQ(RAWHAL_UNSUPPORTED, TryOpen(config, &error));
  EXPECT_NE(nullptr, strstr(error.message, "14 bytes")) << error.message;
  snprintf(config.region.text, sizeof(config.region.text), "%s", file.folder().c_str());
  EXPECT_NE(RAWHAL_OK, TryOpen(config, &error));
  snprintf(config.region.text, sizeof(config.region.text), "%s/no/such", file.folder().c_str());
  EXPECT_EQ(RAWHAL_NOT_FOUND, TryOpen(config, &error));
  unlink(link.c_str());
  unlink(target.c_str());
}

// Every byte of the header that says what the file is.
TEST(Region, AnotherVersionOrADamagedHeaderIsRefused)
{
  RegionFile file;
  rawhal_limiter_close(file.Open());
  int fd = open(file.path().c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(fd, 0);
  int refused = 0;
  for (off_t at = 0; at < 8 + 4 * 4 + 8 + 40 + 8; ++at) {
    unsigned char byte;
    ASSERT_EQ(1, pread(fd, &byte, 1, at));
    unsigned char changed = byte ^ 0x40;
    ASSERT_EQ(1, pwrite(fd, &changed, 1, at));
    rawhal_error_t error = {};
    rawhal_status_t status = TryOpen(file.Config(), &error);
    EXPECT_TRUE(status == RAWHAL_UNSUPPORTED || status == RAWHAL_MALFORMED) << at << " " << status;
    ++refused;
    ASSERT_EQ(1, pwrite(fd, &byte, 1, at));
  }
  EXPECT_GE(refused, 80);
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_OK, TryOpen(file.Config(), &error)) << error.message;
  close(fd);
}

TEST(Region, AnInheritedDescriptorWorksAndLivenessDoesNotLeakThroughIt)
{
  int fd = memfd_create("region", 0);
  rawhal_limit_config_t config = {};
  config.has_region_fd = true;
  config.region_fd = fd;
  rawhal_limiter_t *limiter = nullptr;
  rawhal_error_t error = {};
  ASSERT_EQ(RAWHAL_OK, rawhal_limiter_open(&config, "device", &limiter, &error)) << error.message;
  pid_t child = fork_child();
  if (child == 0) {
    rawhal_limiter_t *mine = nullptr;
    if (rawhal_limiter_open(&config, "device", &mine, nullptr) != RAWHAL_OK)
      _exit(1);
    if (shim_live_members(mine) != 2 || shim_reserve(mine, 0, 1 << 20, nullptr) != RAWHAL_OK)
      _exit(2);
    raise(SIGKILL);
  }
  int status;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status)) << status;
  EXPECT_EQ(2u, shim_live_members(limiter));
  EXPECT_TRUE(shim_reclaim(limiter));
  EXPECT_EQ(1u, shim_live_members(limiter));
  EXPECT_EQ(0u, limiter_memory(limiter).used);
  rawhal_limiter_close(limiter);
  close(fd);
}

TEST(Region, AForkedChildHasNoLimiterAndDoesNotKeepItsParentAlive)
{
  RegionFile file;
  struct Board {
    std::atomic<pid_t> child;
    std::atomic<int> answer;
  };
  Shared<Board> board;
  rawhal_limiter_t *watcher = file.Open();
  pid_t parent = fork_child();
  if (parent == 0) {
    rawhal_limiter_t *limiter = file.Open();
    bool held = shim_reserve(limiter, 0, 4096, nullptr) == RAWHAL_OK;
    pid_t child = fork_child();
    if (child == 0) {
      rawhal_error_t error = {};
      bool refused = shim_reserve(limiter, 0, 4096, &error) == RAWHAL_INVALID_ARGUMENT &&
                     strstr(error.message, "forked");
      rawhal_limiter_t *own = file.Open(); // one of its own does not make its parent's its own
      refused &= own && shim_reserve(limiter, 0, 4096, nullptr) == RAWHAL_INVALID_ARGUMENT &&
                 shim_reserve(own, 0, 4096, nullptr) == RAWHAL_OK;
      rawhal_limiter_close(own);
      shim_release(limiter, 0, 4096);
      rawhal_limiter_close(limiter); // frees memory, and nothing of its parent's
      board->answer = held && refused ? 1 : 2;
      for (;;)
        pause();
    }
    board->child = child;
    for (;;)
      pause();
  }
  ASSERT_TRUE(Until([&] { return board->child && board->answer; }));
  EXPECT_EQ(1, board->answer);
  EXPECT_EQ(4096u, limiter_memory(watcher).used);
  end_child(parent);
  EXPECT_TRUE(shim_reclaim(watcher)); // although the child lives on
  EXPECT_EQ(0u, limiter_memory(watcher).used);
  signal_child(board->child, SIGKILL);
  rawhal_limiter_close(watcher);
}

// Two containers have each a process 1. Neither takes the other for dead, or a dead one for alive.
TEST(Region, WorksAcrossPidNamespaces)
{
  RegionFile file;
  enum Answer { kNone, kRefused, kFine, kWrong };
  struct Board {
    std::atomic<pid_t> inner;
    std::atomic<int> answer;
  };
  Shared<Board> board;
  rawhal_limiter_t *watcher = file.Open();
  ASSERT_EQ(RAWHAL_OK, shim_reserve(watcher, 0, 8192, nullptr));
  pid_t outer = fork_child();
  if (outer == 0) {
    if (unshare(CLONE_NEWPID) && unshare(CLONE_NEWUSER | CLONE_NEWPID)) {
      board->answer = kRefused;
      _exit(0);
    }
    pid_t inner = try_fork();
    if (inner == 0) {
      rawhal_limiter_t *limiter = file.Open();
      bool fine = getpid() == 1 && limiter &&
                  shim_reserve(limiter, 0, 4096, nullptr) == RAWHAL_OK && !shim_reclaim(limiter) &&
                  shim_live_members(limiter) == 2 && limiter_memory(limiter).used == 12288;
      board->answer = fine ? kFine : kWrong;
      for (;;)
        pause();
    }
    board->inner = inner;
    if (inner < 0)
      board->answer = kRefused;
    waitpid(inner, nullptr, 0);
    _exit(0);
  }
  ASSERT_TRUE(Until([&] { return board->answer == kRefused || (board->answer && board->inner); }));
  if (board->answer != kRefused) {
    EXPECT_EQ(kFine, board->answer);
    EXPECT_FALSE(shim_reclaim(watcher));
    EXPECT_EQ(12288u, limiter_memory(watcher).used);
    rawhal_limit_view_t *view = nullptr;
    rawhal_error_t error = {};
    rawhal_limit_row_t rows[8];
    ASSERT_EQ(RAWHAL_OK, rawhal_limit_view_open(file.path().c_str(), &view, &error))
        << error.message;
    ASSERT_EQ(4u, rawhal_limit_view_read(view, rows, sizeof(rawhal_limit_row_t), 8));
    EXPECT_EQ(static_cast<uint64_t>(getpid()), rows[2].pid);
    EXPECT_EQ(1u, rows[3].pid);
    EXPECT_NE(rows[2].pid_namespace, rows[3].pid_namespace);
    rawhal_limit_view_close(view);
    signal_child(board->inner, SIGKILL);
    waitpid(outer, nullptr, 0);
    EXPECT_TRUE(shim_reclaim(watcher));
    EXPECT_EQ(8192u, limiter_memory(watcher).used);
  } else {
    waitpid(outer, nullptr, 0);
  }
  bool refused = board->answer == kRefused;
  rawhal_limiter_close(watcher);
  if (refused)
    GTEST_SKIP() << "no right to make PID namespaces";
}

TEST(Region, SlotsAreReusedAndTheirNumberIsBounded)
{
  RegionFile file;
  rawhal_limiter_t *first = file.Open();
  for (int i = 0; i < 600; ++i) {
    rawhal_limiter_t *limiter = file.Open();
    EXPECT_EQ(1u, shim_slot(limiter));
    rawhal_limiter_close(limiter);
  }
  EXPECT_EQ(1u, shim_live_members(first));
  rawhal_limiter_close(first);
}

// A program that has become another one is the same process, and what it held is gone.
TEST(Region, WhatAProcessHeldBeforeItBecameAnother)
{
  RegionFile file;
  rawhal_limiter_t *before = file.Open();
  ASSERT_EQ(RAWHAL_OK, shim_reserve(before, 0, 1 << 20, nullptr));
  shim_become_another(before);
  rawhal_limiter_t *after = file.Open();
  EXPECT_EQ(1u, shim_live_members(after));
  EXPECT_EQ(0u, limiter_memory(after).used);
  rawhal_limiter_close(after);
}

// Whatever one tenant does, others have places.
TEST(Region, ATenantLeavesPlacesToOthers)
{
  RegionFile file;
  std::vector<rawhal_limiter_t *> joined;
  rawhal_error_t error = {};
  const auto join = [&](const std::string &tenant) {
    const rawhal_limit_config_t config = file.Config({}, tenant.c_str());
    rawhal_limiter_t *limiter = nullptr;
    const rawhal_status_t status = rawhal_limiter_open(&config, "device", &limiter, &error);
    if (status == RAWHAL_OK)
      joined.push_back(limiter);
    return status;
  };
  constexpr unsigned all = 512, tenants = 64, kept = 4, most = all - (tenants - 1) * kept;
  ASSERT_EQ(RAWHAL_OK, join("greedy"));
  shim_join_again(joined.back(), most - 2);
  EXPECT_EQ(RAWHAL_OK, join("greedy")) << error.message;
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, join("greedy"));
  EXPECT_NE(nullptr, strstr(error.message, "other tenants")) << error.message;
  for (unsigned tenant = 1; tenant < tenants; ++tenant) {
    ASSERT_EQ(RAWHAL_OK, join(std::to_string(tenant))) << error.message;
    shim_join_again(joined.back(), kept - 1 - (tenant == 7));
  }
  EXPECT_EQ(RAWHAL_OK, join("7")) << error.message;
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, join("7"));
  rawhal_limiter_close(joined[1]); // what nobody is promised is anybody's
  joined[1] = nullptr;
  EXPECT_EQ(RAWHAL_OK, join("7")) << error.message;
  for (rawhal_limiter_t *limiter : joined)
    rawhal_limiter_close(limiter);
}

TEST(Region, ANewcomerTightensAndNeverLoosens)
{
  RegionFile file;
  rawhal_limiter_t *a =
      file.Open({{RAWHAL_LIMIT_GPU_SHARE, 300000}, {RAWHAL_LIMIT_MEMORY, 1 << 20}});
  rawhal_limiter_t *b = file.Open({{RAWHAL_LIMIT_GPU_SHARE, 500000},
                                   {RAWHAL_LIMIT_MEMORY, 1 << 19},
                                   {RAWHAL_LIMIT_CHARGING, RAWHAL_CHARGING_WALL}});
  rawhal_limiter_t *c = file.Open();
  for (rawhal_limiter_t *each : {a, b, c}) {
    EXPECT_EQ(300000u, rawhal_limiter_get(each, RAWHAL_LIMIT_GPU_SHARE));
    EXPECT_EQ(1u << 19, rawhal_limiter_get(each, RAWHAL_LIMIT_MEMORY));
    EXPECT_EQ(unsigned{RAWHAL_CHARGING_WALL}, rawhal_limiter_get(each, RAWHAL_LIMIT_CHARGING));
  }
  rawhal_limiter_close(a);
  rawhal_limiter_close(b);
  rawhal_limiter_close(c);
  // Nobody is left: limits are those of who comes next, not those of the file's past.
  rawhal_limiter_t *d = file.Open();
  EXPECT_EQ(RAWHAL_UNLIMITED, rawhal_limiter_get(d, RAWHAL_LIMIT_GPU_SHARE));
  EXPECT_EQ(RAWHAL_UNLIMITED, rawhal_limiter_get(d, RAWHAL_LIMIT_MEMORY));
  rawhal_limiter_close(d);
}

// A file that the process may not make so large is refused; its signal would end the program.
TEST(Region, AboveWhatFilesMayGrowTo)
{
  RegionFile file;
  rlimit before;
  ASSERT_EQ(0, getrlimit(RLIMIT_FSIZE, &before));
  const rlimit small = {shim_region_bytes() - 1, before.rlim_max};
  ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &small));
  rawhal_error_t error = {};
  int fd = 0;
  const rawhal_status_t named = TryOpen(file.Config(), &error),
                        unnamed = rawhal_limit_region_create(&fd, nullptr);
  ASSERT_EQ(0, setrlimit(RLIMIT_FSIZE, &before));
  EXPECT_EQ(RAWHAL_RUNTIME, named);
  EXPECT_NE(nullptr, strstr(error.message, "File too large")) << error.message;
  EXPECT_EQ(RAWHAL_RUNTIME, unnamed);
  EXPECT_EQ(-1, fd);
  EXPECT_EQ(RAWHAL_OK, TryOpen(file.Config(), &error)) << error.message;
}

TEST(Region, ArgumentsAreChecked)
{
  RegionFile file;
  rawhal_error_t error = {};
  rawhal_limit_config_t config = file.Config();
  rawhal_limiter_t *limiter = nullptr;
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_limiter_open(&config, "device", nullptr, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_limiter_open(nullptr, "device", &limiter, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_limiter_open(&config, "", &limiter, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_limiter_open(&config, std::string(64, 'x').c_str(), &limiter, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_limiter_set(nullptr, RAWHAL_LIMIT_MEMORY, 1, &error));
  limiter = file.Open();
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE,
            rawhal_limiter_set(limiter, RAWHAL_LIMIT_GPU_SHARE, 2000000, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_limiter_set(limiter, static_cast<rawhal_limit_t>(LIMIT_COUNT), 1, &error));
  for (int i = 0; i < LIMIT_COUNT; ++i) {
    rawhal_limit_t limit = static_cast<rawhal_limit_t>(i);
    uint64_t value = rawhal_limit_info(limit)->maximum;
    if (limit == RAWHAL_LIMIT_GPU_SHARE || limit == RAWHAL_LIMIT_DEVICE_SHARE ||
        limit == RAWHAL_LIMIT_PROCESS_SHARE)
      value = 123456;
    if (rawhal_limit_info(limit)->unit == RAWHAL_UNIT_BYTES)
      value = 12345 * 4096;
    EXPECT_EQ(RAWHAL_OK, rawhal_limiter_set(limiter, limit, value, &error)) << error.message;
    EXPECT_EQ(value, rawhal_limiter_get(limiter, limit)) << rawhal_limit_info(limit)->name;
  }
  EXPECT_EQ(RAWHAL_UNLIMITED,
            rawhal_limiter_get(limiter, static_cast<rawhal_limit_t>(LIMIT_COUNT)));
  rawhal_limiter_close(limiter);
  rawhal_limiter_close(nullptr);
}

} // namespace
