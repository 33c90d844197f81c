// Where a program has just failed, its allocator may hold its lock, or be what failed: nothing on the way asks it.
//
// This program's allocator stands before everybody's, libc included.
#include "tests/debug/scene.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

extern "C" {
#include "debug/dump.h"
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HAS_ALLOCATOR 1
#endif

namespace {
thread_local bool watched;
unsigned long asked;
} // namespace

#if !HAS_ALLOCATOR
extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

void *malloc(size_t size)
{
  asked += watched;
  return __libc_malloc(size);
}
void *calloc(size_t count, size_t size)
{
  asked += watched;
  return __libc_calloc(count, size);
}
void *realloc(void *old, size_t size)
{
  asked += watched;
  return __libc_realloc(old, size);
}
void *memalign(size_t alignment, size_t size)
{
  asked += watched;
  return __libc_memalign(alignment, size);
}
void free(void *memory)
{
  asked += watched;
  __libc_free(memory);
}
}
#endif

namespace {

class NoAllocation : public testing::TestWithParam<int> {
protected:
  void SetUp() override
  {
#if HAS_ALLOCATOR
    GTEST_SKIP() << "the sanitizer has the allocator";
#endif
    asked = 0;
    watched = true;
    free(malloc(1)); // it is seen
    watched = false;
    EXPECT_GE(asked, 2u);
  }
  rawhal_status_t write(const std::string &where)
  {
    const core_description_t *description = made.describe();
    const rawhal_status_t opened =
        core_output_open(&output, where.c_str(), &description->process, &error);
    if (opened)
      return opened;
    asked = 0;
    watched = true;
    const rawhal_status_t status =
        core_output_write(&output, description, &made.options, &written, &error);
    const rawhal_status_t ended = core_output_close(&output, 0, &error);
    watched = false;
    return status ? status : ended;
  }
  scene::Scene made{scene::chips[GetParam()], 2, 3};
  core_output_t output = {};
  core_written_t written = {};
  rawhal_error_t error = {};
};

} // namespace

TEST_P(NoAllocation, WhateverIsWrittenAndWherever)
{
  const std::string file =
      testing::TempDir() + "core-without-allocation-" + std::to_string(getpid());
  const bool files = scene::may_write_cores();
  EXPECT_EQ(write(file), files ? RAWHAL_OK : RAWHAL_QUOTA_EXCEEDED) << error.message;
  EXPECT_EQ(asked, 0u);
  unlink(file.c_str());
  EXPECT_EQ(write("fd:" + std::to_string(open("/dev/null", O_WRONLY))), RAWHAL_OK);
  EXPECT_EQ(asked, 0u);
  EXPECT_EQ(write("|/bin/false"), RAWHAL_RUNTIME);
  EXPECT_EQ(asked, 0u);
  EXPECT_EQ(write("/nonexistent/core"), files ? RAWHAL_RUNTIME : RAWHAL_QUOTA_EXCEEDED);
  EXPECT_EQ(asked, 0u);
  made.waves[0].packet = 5; // a queue is refused
  made.options.budget = 80000;
  EXPECT_EQ(write("fd:" + std::to_string(open("/dev/full", O_WRONLY))), RAWHAL_RUNTIME);
  EXPECT_EQ(asked, 0u);
}

// From a scene to a file, with its permit and the registers of all threads.
TEST_P(NoAllocation, FromWhatIsKnownToTheLastByte)
{
  const std::string folder = testing::TempDir() + "dump-without-allocation-" +
                             std::to_string(getpid()) + scene::chips[GetParam()].name;
  const bool files = scene::may_write_cores();
  std::filesystem::create_directory(folder);
  dump_settings_t settings = {};
  settings.budget = 1 << 20;
  settings.per_hour = PERMIT_MOST;
  settings.threads = true;
  snprintf(settings.where, sizeof(settings.where), "%s/%%e", folder.c_str());
  const rawhal_fault_t fault = made.fault();
  debug_scene_t around = {};
  dump_scene_t scene = {};
  scene.around = &around;
  scene.queue.fault = &fault;
  scene.agents = made.agents.data();
  scene.agent_count = made.agents.size();
  dump_t dump;
  char said[1200];
  asked = 0;
  watched = true;
  const bool begun = dump_begin(&dump, &settings, -1);
  dump_gather(&dump, &scene);
  const bool whole = dump_end(&dump, said, sizeof(said));
  watched = false;
  EXPECT_TRUE(begun);
  EXPECT_EQ(whole, files) << said;
  EXPECT_EQ(asked, 0u);
  std::filesystem::remove_all(folder);
}

INSTANTIATE_TEST_SUITE_P(Chips, NoAllocation, testing::Range(0, 3),
                         [](const auto &info) { return scene::chips[info.param].name; });
