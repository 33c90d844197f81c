// The one way to host memory.
#include <gtest/gtest.h>

#include <set>
#include <sstream>

extern "C" {
#include "base/allocate.h"
}
#include "tests/harness/allocator.h"
#include "tests/tools/process.h"

TEST(Allocator, TakesBothFunctionsOrNeither)
{
  Allocator own;
  allocator_t taken = *own.hook();
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_OK, allocator_take(nullptr, &taken, &error));
  EXPECT_EQ(nullptr, taken.allocate);
  EXPECT_EQ(nullptr, allocator_option(&taken));
  EXPECT_EQ(RAWHAL_OK, allocator_take(own.hook(), &taken, &error));
  EXPECT_TRUE(allocator_equal(own.hook(), &taken));
  EXPECT_EQ(&taken, allocator_option(&taken));
  for (int missing = 0; missing < 2; ++missing) {
    rawhal_allocator_t half = *own.hook();
    if (missing)
      half.free = nullptr;
    else
      half.allocate = nullptr;
    EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, allocator_take(&half, &taken, &error));
    EXPECT_STREQ(missing ? "an allocator without free()" : "an allocator without allocate()",
                 error.message);
    EXPECT_EQ(nullptr, taken.allocate);
    EXPECT_FALSE(allocator_equal(own.hook(), &half));
  }
  rawhal_allocator_t other = *own.hook();
  other.context = nullptr;
  EXPECT_FALSE(allocator_equal(own.hook(), &other));
}

TEST(Allocator, GivesWhatIsAskedFor)
{
  Allocator own;
  const allocator_t zero = {};
  for (const allocator_t *from : {static_cast<const allocator_t *>(nullptr), &zero, own.hook()}) {
    for (size_t alignment : {1, 16, 64, 4096})
      for (size_t size : {0, 1, 63, 64, 65, 10000}) {
        void *memory = allocate_aligned(from, size, alignment);
        ASSERT_NE(nullptr, memory);
        EXPECT_EQ(0u, reinterpret_cast<uintptr_t>(memory) & (alignment - 1));
        memset(memory, 1, size);
        allocate_free(from, memory);
      }
    auto *zeroed = static_cast<char *>(allocate_zeroed(from, 100, 7));
    ASSERT_NE(nullptr, zeroed);
    for (int i = 0; i < 700; ++i)
      EXPECT_EQ(0, zeroed[i]);
    memset(zeroed, 3, 700);
    auto *more = static_cast<char *>(allocate_more(from, zeroed, 700, 100000));
    ASSERT_NE(nullptr, more);
    for (int i = 0; i < 700; ++i)
      EXPECT_EQ(3, more[i]);
    allocate_free(from, more);
    void *first = allocate_more(from, nullptr, 0, 10);
    ASSERT_NE(nullptr, first);
    allocate_free(from, first);
    allocate_free(from, nullptr);
  }
}

TEST(Allocator, RefusesWhatOverflows)
{
  Allocator own;
  for (const allocator_t *from : {static_cast<const allocator_t *>(nullptr), own.hook()}) {
    EXPECT_EQ(nullptr, allocate_zeroed(from, SIZE_MAX / 2, 3));
    EXPECT_EQ(nullptr, allocate_zeroed(from, SIZE_MAX, SIZE_MAX));
  }
  EXPECT_EQ(nullptr, allocate_aligned(nullptr, SIZE_MAX - 10, 64));
  EXPECT_EQ(0u, own.taken());
}

TEST(Allocator, KeepsWhatCannotGrow)
{
  Allocator own;
  auto *memory = static_cast<char *>(allocate(own.hook(), 4));
  memcpy(memory, "abc", 4);
  own.left = 0;
  EXPECT_EQ(nullptr, allocate_more(own.hook(), memory, 4, 400));
  EXPECT_EQ(nullptr, allocate_zeroed(own.hook(), 1, 1));
  EXPECT_STREQ("abc", memory);
  allocate_free(own.hook(), memory);
}

// No other source of the library calls the C library's allocator, by any of its names.
TEST(Allocator, IsTheOnlyOneOfTheLibrary)
{
  const std::set<std::string> names = {
      "malloc",         "calloc",          "realloc",        "reallocarray",
      "free",           "aligned_alloc",   "posix_memalign", "memalign",
      "valloc",         "pvalloc",         "strdup",         "__strdup",
      "strndup",        "__strndup",       "asprintf",       "vasprintf",
      "__asprintf_chk", "__vasprintf_chk", "open_memstream", "getline",
      "getdelim",       "__getdelim",      "scandir",        "get_current_dir_name"};
  Outcome got = run({RAWHAL_NM, "-AP", "-u", RAWHAL_PARTS});
  ASSERT_EQ(0, got.status) << got.err;
  std::set<std::string> ours, members;
  std::istringstream lines(got.out); // "archive[member]: name U"
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line.substr(line.rfind('[') + 1));
    std::string member, name;
    words >> member >> name;
    member = member.substr(0, member.find(']'));
    members.insert(member);
    if (!names.count(name))
      continue;
    if (member == "allocator.c.o")
      ours.insert(name);
    else
      ADD_FAILURE() << member << " calls " << name << "()";
  }
  EXPECT_GT(members.size(), 100u);
  EXPECT_TRUE(ours.count("malloc") && ours.count("free")) << "nm says nothing";
}

// What the tests above rely on.
TEST(Allocator, OfTheTestsNoticesWhatIsWrong)
{
  Allocator own;
  const rawhal_allocator_t *hook = own.hook();
  auto *memory = static_cast<char *>(hook->allocate(hook->context, 10, 64));
  EXPECT_EQ(64u, reinterpret_cast<uintptr_t>(memory) & 127);
  EXPECT_EQ(1u, own.live());
  memory[10] = 0;
  hook->free(hook->context, memory);
  EXPECT_EQ(1, own.wrong);
  hook->free(hook->context, memory); // freed
  hook->free(hook->context, &own);   // never given out
  EXPECT_EQ(3, own.wrong);
  own.wrong = 0;
}
