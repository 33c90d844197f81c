// Where a core file goes, and what is left where it cannot go there: nothing, and a status.
#include "tests/debug/scene.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

using scene::Scene;

namespace {

class Output : public testing::Test {
protected:
  Output() : folder(testing::TempDir() + "cores" + std::to_string(getpid()))
  {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directory(folder);
  }
  void SetUp() override
  {
    rlimit limit;
    ASSERT_EQ(getrlimit(RLIMIT_CORE, &limit), 0);
    if (limit.rlim_max < 1 << 20)
      GTEST_SKIP() << "this process may not write core files";
    limit.rlim_cur = limit.rlim_max;
    ASSERT_EQ(setrlimit(RLIMIT_CORE, &limit), 0);
  }
  ~Output() override { std::filesystem::remove_all(folder); }
  rawhal_status_t write(const std::string &pattern)
  {
    const core_description_t *description = made.describe();
    return core_write_file(description, &made.options, pattern.c_str(), path, &written, &error);
  }
  rawhal_status_t write_to(int descriptor)
  {
    const core_description_t *description = made.describe();
    return core_write_descriptor(description, &made.options, descriptor, &written, &error);
  }
  bool is_empty() const { return std::filesystem::is_empty(folder); }
  std::string folder;
  Scene made{scene::chips[0]};
  char path[CORE_PATH_BYTES] = "";
  core_written_t written = {};
  rawhal_error_t error = {};
};

} // namespace

TEST_F(Output, APatternNamesTheFile)
{
  ASSERT_EQ(write(folder + "/%e.%p%%"), RAWHAL_OK) << error.message;
  EXPECT_EQ(path, folder + "/program.4242%");
  EXPECT_EQ(std::filesystem::file_size(path), written.bytes);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
  EXPECT_EQ(write(folder + "/%q"), RAWHAL_INVALID_ARGUMENT);
  EXPECT_EQ(write(folder + "/none/core"), RAWHAL_RUNTIME);
}

TEST_F(Output, ALimitOfTheProcessBoundsTheFile)
{
  ASSERT_EQ(write(folder + "/whole"), RAWHAL_OK);
  const uint64_t whole = written.bytes;
  rlimit before, limit;
  ASSERT_EQ(getrlimit(RLIMIT_CORE, &before), 0);
  limit = before;
  limit.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_CORE, &limit), 0);
  EXPECT_EQ(write(folder + "/none"), RAWHAL_QUOTA_EXCEEDED);
  limit.rlim_cur = whole - 4096;
  if (setrlimit(RLIMIT_CORE, &limit) == 0) {
    EXPECT_EQ(write(folder + "/less"), RAWHAL_OK) << error.message;
    EXPECT_LE(written.bytes, whole - 4096);
    EXPECT_GT(written.left_out_bytes, 0u);
  }
  EXPECT_EQ(setrlimit(RLIMIT_CORE, &before), 0);
  EXPECT_FALSE(std::filesystem::exists(folder + "/none"));
}

TEST_F(Output, AFullDiskADeadReaderAndASlowOneAreAStatus)
{
  const int full = open("/dev/full", O_WRONLY);
  EXPECT_EQ(write_to(full), RAWHAL_RUNTIME);
  close(full);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  made.options.deadline = 1; // it has passed
  EXPECT_EQ(write_to(ends[1]), RAWHAL_TIMED_OUT);
  made.options.deadline = 0;
  close(ends[0]);
  EXPECT_EQ(write_to(ends[1]), RAWHAL_RUNTIME);
  close(ends[1]);
  EXPECT_EQ(written.bytes, 0u);
}

TEST_F(Output, AFileThatCannotBeWholeIsNotThere)
{
  made.options.deadline = 1;
  EXPECT_EQ(write(folder + "/core"), RAWHAL_TIMED_OUT);
  EXPECT_TRUE(is_empty());
}

// In a container that is started again, all ids are what they were.
TEST_F(Output, WhatOneLeftThatWasKilledIsInNobodysWay)
{
  std::ofstream(folder + "/core." + std::to_string(gettid()) + ".part") << "a part";
  EXPECT_EQ(write(folder + "/core"), RAWHAL_OK) << error.message;
  EXPECT_EQ(std::filesystem::file_size(folder + "/core"), written.bytes);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}
