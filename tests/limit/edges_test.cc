// Bounds at the last value that is allowed and at the first that is not, and what happens beyond:
// texts, memory, and what is shown of a region that anybody may have written.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "tests/child.h"
#include "tests/environment.h"
#include "tests/limit/region_file.h"

extern "C" {
#include "queue/limit/parse.h"
#include "tests/values.h"
}

namespace {

constexpr uint64_t kMi = 1ull << 20, kPage = 4096;

// ---- Texts ----

TEST(Edges, NumbersOfManyDigits)
{
  uint64_t value;
  auto parse = [&](const std::string &text, uint64_t whole = 0) {
    return limit_parse(text.c_str(), RAWHAL_UNIT_BYTES, whole, &value, nullptr);
  };
  EXPECT_EQ(RAWHAL_OK, parse("9999999999999999999"));
  EXPECT_EQ(9999999999999999999u, value);
  for (const char *text : {"10000000000000000000", "100000000000000000000", "184467440737095516160",
                           "18446744073709551616K", "1.0000000000000000001"})
    EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, parse(text)) << text;
  EXPECT_EQ(RAWHAL_OK, parse("0.000000000000000001T"));
  EXPECT_EQ(0u, value);
  for (size_t zeros : {20, 21, 22, 40, 63, 64, 65, 100}) // leading zeros are no digits that count
    EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, parse("0." + std::string(zeros, '0') + "1T")) << zeros;
  // The number that means "no limit" is none that can be asked for.
  EXPECT_EQ(RAWHAL_OUT_OF_RANGE, parse("100%", UINT64_MAX));
  EXPECT_EQ(RAWHAL_OK, parse("100%", UINT64_MAX - 1));
}

class EdgesOfTexts : public testing::Test, protected Environment {
protected:
  rawhal_status_t Read(const char *variable, size_t size)
  {
    memset(static_cast<void *>(&config), 0, sizeof(config));
    Set(variable, std::string(size, 'x'));
    rawhal_limit_device_t device = {0, 0, 1 << 30};
    return rawhal_limit_config_environment(&config, &device, &error);
  }
  rawhal_limit_config_t config;
  rawhal_error_t error = {};
};

TEST_F(EdgesOfTexts, HaveRoomForTheirEnd)
{
  const size_t room = sizeof(config.tenant.text);
  ASSERT_EQ(RAWHAL_OK, Read("RAWHAL_TENANT", room - 1)) << error.message;
  EXPECT_EQ(room - 1, strlen(config.tenant.text));
  EXPECT_STREQ("RAWHAL_TENANT", config.tenant.origin);
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Read("RAWHAL_TENANT", room));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Read("RAWHAL_TENANT", room + 1));
  unsetenv("RAWHAL_TENANT");
  const size_t suffix = strlen(".rawhal");
  ASSERT_EQ(RAWHAL_OK, Read("CUDA_DEVICE_MEMORY_SHARED_CACHE", room - 1 - suffix)) << error.message;
  EXPECT_EQ(room - 1, strlen(config.region.text));
  for (size_t size = room - suffix; size <= room; ++size)
    EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, Read("CUDA_DEVICE_MEMORY_SHARED_CACHE", size)) << size;
}

// ---- Memory ----

uint64_t TotalOf(const rawhal_limiter_t *limiter)
{
  uint64_t total, sum;
  shim_totals(limiter, &total, &sum);
  return total;
}

TEST(Edges, AProcessAboveALoweredLimitGetsNothing)
{
  RegionFile file;
  rawhal_limiter_t *limiter = file.Open({{RAWHAL_LIMIT_PROCESS_MEMORY, 8 * kMi}});
  ASSERT_EQ(RAWHAL_OK, shim_reserve(limiter, 0, 6 * kMi, nullptr));
  ASSERT_EQ(RAWHAL_OK, rawhal_limiter_set(limiter, RAWHAL_LIMIT_PROCESS_MEMORY, 4 * kMi, nullptr));
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, shim_reserve(limiter, 1, 1, nullptr));
  EXPECT_EQ(4 * kMi, limiter_memory(limiter).total);
  EXPECT_EQ(4 * kMi, limiter_memory(limiter).used) << "nothing is left";
  ASSERT_EQ(RAWHAL_OK, rawhal_limiter_set(limiter, RAWHAL_LIMIT_MEMORY, 2 * kMi, nullptr));
  EXPECT_EQ(2 * kMi, limiter_memory(limiter).total);
  EXPECT_EQ(2 * kMi, limiter_memory(limiter).used);
  rawhal_limiter_close(limiter);
}

TEST(Edges, GivingBackMoreThanWasTakenTakesNothingOfOthers)
{
  RegionFile file;
  rawhal_limiter_t *a = file.Open(), *b = file.Open();
  ASSERT_EQ(RAWHAL_OK, shim_reserve(a, 0, kPage, nullptr));
  ASSERT_EQ(RAWHAL_OK, shim_reserve(a, 1, kPage, nullptr));
  ASSERT_EQ(RAWHAL_OK, shim_reserve(b, 0, 9 * kPage, nullptr));
  shim_release(a, 0, 5 * kPage);
  EXPECT_EQ(10 * kPage, TotalOf(b));
  shim_release(a, 0, 5 * kPage);
  EXPECT_EQ(10 * kPage, TotalOf(b));
  rawhal_limiter_close(a);
  EXPECT_EQ(9 * kPage, TotalOf(b));
  rawhal_limiter_close(b);
}

// Whoever needs memory looks for the dead before it is refused.
TEST(Edges, WhatTheDeadHeldIsForTheLiving)
{
  RegionFile file;
  rawhal_limiter_t *limiter = file.Open({{RAWHAL_LIMIT_MEMORY, 10 * kMi}});
  pid_t child = fork_child();
  if (child == 0) {
    rawhal_limiter_t *other = file.Open();
    _exit(shim_reserve(other, 0, 10 * kMi, nullptr) == RAWHAL_OK ? 0 : 1);
  }
  int status;
  ASSERT_EQ(child, waitpid(child, &status, 0));
  ASSERT_EQ(0, WEXITSTATUS(status));
  EXPECT_EQ(RAWHAL_OK, shim_reserve(limiter, 1, 10 * kMi, nullptr));
  EXPECT_EQ(10 * kMi, TotalOf(limiter));
  rawhal_limiter_close(limiter);
}

// A total counts 2^52 - 1 units at most, also where there is no limit, or one beyond that.
TEST(Edges, ATotalNeverWraps)
{
  for (const RegionFile::Limits &limits :
       {RegionFile::Limits{}, RegionFile::Limits{{RAWHAL_LIMIT_MEMORY, RAWHAL_UNLIMITED - 1}}}) {
    RegionFile file;
    rawhal_limiter_t *limiter = file.Open(limits);
    const uint64_t each = 1ull << 47, fit = (1ull << 17) - 1;
    for (uint64_t i = 0; i < fit; ++i)
      ASSERT_EQ(RAWHAL_OK, shim_reserve(limiter, 0, each, nullptr)) << i;
    EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, shim_reserve(limiter, 1, each, nullptr));
    ASSERT_EQ(RAWHAL_OK, shim_reserve(limiter, 1, each - kPage, nullptr));
    EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, shim_reserve(limiter, 2, 1, nullptr));
    EXPECT_EQ(fit * each + each - kPage, TotalOf(limiter));
    shim_release(limiter, 1, each - kPage);
    EXPECT_EQ(fit * each, TotalOf(limiter));
    rawhal_limiter_close(limiter);
  }
}

// What does not fit the fields of a change is refused: though its process dies before that change
// is struck out, what is written there is not taken for one that was applied.
TEST(Edges, ARequestBeyondTheFieldsLeavesNoTrace)
{
  RegionFile file;
  rawhal_limiter_t *mine = file.Open();
  ASSERT_EQ(RAWHAL_OK, shim_reserve(mine, 0, 100 * kPage, nullptr));
  for (uint64_t bytes :
       {uint64_t{1} << 48, uint64_t{1} << 49, uint64_t{1} << 50, uint64_t{1} << 52, UINT64_MAX}) {
    pid_t child = fork_child();
    if (child == 0) {
      rawhal_limiter_t *other = file.Open();
      shim_reserve(other, 0, 5 * kPage, nullptr);
      shim_on_step([](int step) {
        if (step == 12)
          raise(SIGKILL);
      });
      (void)shim_reserve(other, 0, bytes, nullptr);
      raise(SIGKILL);
    }
    int status;
    ASSERT_EQ(child, waitpid(child, &status, 0));
    shim_reclaim(mine);
    EXPECT_EQ(100 * kPage, TotalOf(mine)) << bytes;
  }
  rawhal_limiter_close(mine);
}

// ---- A region that anybody may have written ----

class Mapped {
public:
  explicit Mapped(const std::string &path)
  {
    int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
    size = shim_region_bytes();
    bytes = static_cast<char *>(mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    close(fd);
  }
  ~Mapped() { munmap(bytes, size); }
  template <typename Want> uint64_t *Word(Want want)
  {
    uint64_t *words = reinterpret_cast<uint64_t *>(bytes);
    for (size_t i = 0; i < size / 8; ++i)
      if (want(words[i]))
        return &words[i];
    return nullptr;
  }
  char *bytes;
  size_t size;
};

// Where somebody has written the largest of all numbers nothing more would fit; that is found instead.
TEST(Edges, ATotalThatWasRaisedByOthersIsDamage)
{
  RegionFile file;
  rawhal_limiter_t *limiter = file.Open({{RAWHAL_LIMIT_MEMORY, 100 * kMi}});
  ASSERT_EQ(RAWHAL_OK, shim_reserve(limiter, 0, 12345 * kPage, nullptr));
  Mapped region(file.path());
  uint64_t *total = region.Word([](uint64_t word) { return word == 12345; });
  ASSERT_NE(nullptr, total);
  *total = UINT64_MAX;
  EXPECT_EQ(RAWHAL_OK, shim_reserve(limiter, 0, kPage, nullptr));
  EXPECT_TRUE(shim_has_left(limiter));
  EXPECT_EQ(RAWHAL_QUOTA_EXCEEDED, shim_reserve(limiter, 0, 100 * kMi, nullptr)) << "its quota";
  rawhal_limiter_close(limiter);
}

TEST(Edges, ATotalThatWasLoweredByOthersStaysAtZero)
{
  RegionFile file;
  rawhal_limiter_t *limiter = file.Open();
  ASSERT_EQ(RAWHAL_OK, shim_reserve(limiter, 0, 12345 * kPage, nullptr));
  Mapped region(file.path());
  uint64_t *total = region.Word([](uint64_t word) { return word == 12345; });
  ASSERT_NE(nullptr, total);
  *total = 5;
  shim_release(limiter, 0, 100 * kPage);
  EXPECT_EQ(0u, TotalOf(limiter));
  EXPECT_EQ(RAWHAL_OK, shim_reserve(limiter, 0, kPage, nullptr));
  rawhal_limiter_close(limiter);
}

std::vector<rawhal_limit_row_t> Rows(const RegionFile &file)
{
  rawhal_limit_view_t *view = nullptr;
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_OK, rawhal_limit_view_open(file.path().c_str(), &view, &error)) << error.message;
  std::vector<rawhal_limit_row_t> rows(
      rawhal_limit_view_read(view, nullptr, sizeof(rawhal_limit_row_t), 0));
  EXPECT_EQ(rows.size(),
            rawhal_limit_view_read(view, rows.data(), sizeof(rawhal_limit_row_t), rows.size()));
  rawhal_limit_view_close(view);
  return rows;
}

TEST(Edges, AViewFillsTheRowsThereAre)
{
  RegionFile file;
  rawhal_limiter_t *limiter = file.Open();
  rawhal_limit_view_t *view = nullptr;
  ASSERT_EQ(RAWHAL_OK, rawhal_limit_view_open(file.path().c_str(), &view, nullptr));
  for (size_t capacity = 0; capacity < 5; ++capacity) {
    rawhal_limit_row_t rows[6], untouched;
    memset(static_cast<void *>(rows), 0xee, sizeof(rows));
    memset(static_cast<void *>(&untouched), 0xee, sizeof(untouched));
    EXPECT_EQ(3u, rawhal_limit_view_read(view, rows, sizeof(rawhal_limit_row_t), capacity));
    for (size_t i = std::min<size_t>(capacity, 3); i < 6; ++i)
      EXPECT_EQ(0, memcmp(&rows[i], &untouched, sizeof(untouched))) << i << " of " << capacity;
  }
  rawhal_limit_view_close(view);
  rawhal_limiter_close(limiter);
}

TEST(Edges, ADeviceShowsItsOwn)
{
  RegionFile file;
  rawhal_limit_config_t config = file.Config();
  rawhal_limiter_t *one = nullptr, *two = nullptr;
  ASSERT_EQ(RAWHAL_OK, rawhal_limiter_open(&config, "one", &one, nullptr));
  ASSERT_EQ(RAWHAL_OK, rawhal_limiter_open(&config, "two", &two, nullptr));
  ASSERT_EQ(RAWHAL_OK, shim_reserve(one, 0, 7 * kPage, nullptr));
  ASSERT_EQ(RAWHAL_OK, shim_reserve(two, 0, 70 * kPage, nullptr));
  std::vector<rawhal_limit_row_t> rows = Rows(file);
  ASSERT_EQ(6u, rows.size());
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(i < 3 ? 7 * kPage : 70 * kPage, rows[i].memory_used) << i;
    EXPECT_EQ(i % 3 == 2 ? 0u : 1u, rows[i].processes) << i;
    EXPECT_EQ(RAWHAL_UNLIMITED, rows[i].memory_limit) << i;
  }
  rawhal_limiter_close(one);
  rawhal_limiter_close(two);
}

TEST(Edges, NamesEnd)
{
  RegionFile file;
  rawhal_limiter_t *limiter = file.Open({}, "a-tenant-of-this-test");
  Mapped region(file.path());
  char *name = static_cast<char *>(memmem(region.bytes, region.size, "a-tenant-of-this-test", 21));
  ASSERT_NE(nullptr, name);
  memset(name, 'x', 64);
  std::vector<rawhal_limit_row_t> rows = Rows(file);
  ASSERT_EQ(3u, rows.size());
  for (size_t i : {1, 2})
    EXPECT_EQ(std::string(63, 'x'), std::string(rows[i].name, strnlen(rows[i].name, 64)));
  rawhal_limiter_close(limiter);
}

// Whatever the bytes are, reading them ends, and stays in the file.
TEST(Edges, AnyBytesCanBeLookedAt)
{
  std::mt19937 random(5);
  int seen = 0;
  for (int round = 0; round < 60; ++round) {
    RegionFile file;
    rawhal_limiter_t *limiter = file.Open({{RAWHAL_LIMIT_GPU_SHARE, 300000}});
    Mapped region(file.path());
    rawhal_limit_view_t *view = nullptr;
    ASSERT_EQ(RAWHAL_OK, rawhal_limit_view_open(file.path().c_str(), &view, nullptr));
    const size_t span = round % 2 ? region.size : 64 << 10;
    for (int i = 0; i < 20000; ++i) // all but the header's fixed part
      region.bytes[192 + random() % (span - 192)] = static_cast<char>(round % 3 ? random() : 0xff);
    for (size_t i = 0; i < 64; ++i) // and all of what follows that
      region.bytes[128 + i] = static_cast<char>(0xff);
    std::vector<rawhal_limit_row_t> rows(1000);
    rows.resize(
        std::min(rows.size(), rawhal_limit_view_read(view, rows.data(), sizeof(rawhal_limit_row_t),
                                                     rows.size())));
    for (const rawhal_limit_row_t &row : rows) {
      EXPECT_LT(strnlen(row.name, 64), 64u);
      ++seen;
    }
    rawhal_limit_view_close(view);
    rawhal_limiter_close(limiter);
  }
  EXPECT_GT(seen, 60);
}

} // namespace
