// Where a program has just failed, its allocator may hold its lock, or be what failed: nothing on the way asks it.
//
// This program's allocator stands before everybody's, libc included.
#include "tests/debug/scene.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

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

INSTANTIATE_TEST_SUITE_P(Chips, NoAllocation, testing::Range(0, 3),
                         [](const auto &info) { return scene::chips[info.param].name; });
