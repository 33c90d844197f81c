// What goes wrong while an index is written and read: full and broken disks, and processes that are killed at any moment.
// Answers are right all the same, and nothing unfinished stays but what the dead leave.
#include "cache_test.h"
#include "tests/child.h"
#include "tests/extended.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <random>

namespace {

// What a step of the file's way to or from the disk does instead of what it should.
enum class Fault { none, fails, interrupted, dies, dies_within };

struct Plan {
  long step = 0; // of writing or, if it is so, of reading, from 1; 0: none of them
  Fault fault = Fault::none;
  int error = 0;
  bool lasting = false;       // and all later steps
  size_t most = SIZE_MAX - 1; // bytes that one call takes or gives
  bool reads = false;
};

Plan plan;
// Other tests of this program have threads, in which nothing is to go wrong.
std::atomic<long> writing, reading; // steps there have been: of making an index, and of reading one
std::atomic<int> unfinished{-1}, finished{-1};

bool ends_in(const char *path, const char *end)
{
  const size_t size = strlen(path), tail = strlen(end);
  return size >= tail && strcmp(path + size - tail, end) == 0;
}

// Whether the step that is due is to fail, with errno set.
bool is_hit(bool reads)
{
  const long now = reads ? ++reading : ++writing;
  if (!plan.step || plan.reads != reads || now < plan.step || (now > plan.step && !plan.lasting))
    return false;
  if (plan.fault == Fault::dies)
    (void)raise(SIGKILL);
  errno = plan.fault == Fault::interrupted ? EINTR : plan.error;
  return plan.fault == Fault::fails || plan.fault == Fault::interrupted;
}

} // namespace

extern "C" {
int __real_mkdir(const char *path, mode_t mode);
int __real_openat(int folder, const char *path, int flags, mode_t mode);
ssize_t __real_write(int file, const void *bytes, size_t size);
ssize_t __real_pread(int file, void *bytes, size_t size, off_t offset);
int __real_close(int file);
int __real_renameat(int from, const char *path, int to, const char *name);

int __wrap_mkdir(const char *path, mode_t mode);
int __wrap_openat(int folder, const char *path, int flags, mode_t mode);
ssize_t __wrap_write(int file, const void *bytes, size_t size);
ssize_t __wrap_pread(int file, void *bytes, size_t size, off_t offset);
int __wrap_close(int file);
int __wrap_renameat(int from, const char *path, int to, const char *name);

int __wrap_mkdir(const char *path, mode_t mode)
{
  struct stat facts;
  if (stat(path, &facts) != 0 && is_hit(false))
    return -1;
  return __real_mkdir(path, mode);
}

int __wrap_openat(int folder, const char *path, int flags, mode_t mode)
{
  const bool makes = ends_in(path, ".unfinished"), takes = ends_in(path, ".index");
  if ((makes && is_hit(false)) || (takes && is_hit(true)))
    return -1;
  const int file = __real_openat(folder, path, flags, mode);
  if (makes)
    unfinished = file;
  if (takes)
    finished = file;
  return file;
}

ssize_t __wrap_write(int file, const void *bytes, size_t size)
{
  if (file < 0 || file != unfinished)
    return __real_write(file, bytes, size);
  if (writing + 1 == plan.step && plan.fault == Fault::dies_within) {
    (void)__real_write(file, bytes, std::min(size, plan.most) / 2);
    (void)raise(SIGKILL);
  }
  if (is_hit(false))
    return errno ? -1 : 0;
  return __real_write(file, bytes, std::min(size, plan.most));
}

ssize_t __wrap_pread(int file, void *bytes, size_t size, off_t offset)
{
  if (file < 0 || file != finished)
    return __real_pread(file, bytes, size, offset);
  if (is_hit(true))
    return errno ? -1 : 0;
  return __real_pread(file, bytes, std::min(size, plan.most), offset);
}

int __wrap_close(int file)
{
  const bool is_made = file >= 0 && file == unfinished;
  if (file == finished)
    finished = -1;
  if (!is_made)
    return __real_close(file);
  unfinished = -1;
  const bool fails = is_hit(false);
  const int why = errno;
  const int result = __real_close(file); // it is closed, whatever close() says
  errno = fails ? why : errno;
  return fails ? -1 : result;
}

int __wrap_renameat(int from, const char *path, int to, const char *name)
{
  return ends_in(path, ".unfinished") && is_hit(false) ? -1 : __real_renameat(from, path, to, name);
}
}

namespace {

class LibraryCacheFaults : public LibraryCache {
protected:
  void TearDown() override
  {
    plan = {};
    LibraryCache::TearDown();
  }

  // A library while that goes wrong; whether it did.
  bool answers_while(const Plan &wrong, size_t count, rawhal_library_stats_t *now)
  {
    plan = wrong;
    writing = reading = 0;
    *now = answers(count);
    plan = {};
    return wrong.step && (wrong.reads ? reading : writing) >= wrong.step;
  }

  static std::string describe(const Plan &wrong)
  {
    return "step " + std::to_string(wrong.step) + ", " + strerror(wrong.error) + ", " +
           std::to_string(wrong.most) + " bytes a call" + (wrong.lasting ? ", and so on" : "");
  }
};

const int errors[] = {ENOSPC, EDQUOT, EIO, EROFS, 0}; // 0: write() takes nothing, and says so
const size_t sizes[] = {SIZE_MAX - 1, 5000};

TEST_F(LibraryCacheFaults, AnyStepOfWritingMayFail)
{
  fill(30);
  for (int why : errors)
    for (bool lasting : {false, true})
      for (size_t most : sizes)
        for (long step = 1;; ++step) {
          const Plan wrong = {step, Fault::fails, why, lasting, most, false};
          SCOPED_TRACE(describe(wrong));
          fs::remove_all(cache);
          rawhal_library_stats_t now;
          const bool failed = answers_while(wrong, 30, &now);
          ASSERT_FALSE(HasFailure());
          ASSERT_EQ(now.indexes_written, failed ? 0u : 1u);
          ASSERT_EQ(cached().size(), failed ? 0u : 1u);
          if (!failed) {
            EXPECT_GT(step, most == sizes[0] ? 5 : 6); // a folder, a file, writes, and its name
            break;
          }
          ASSERT_EQ(answers(30).indexes_written, 1u); // where there is room again
        }
}

TEST_F(LibraryCacheFaults, AnIndexThatIsThereOutlivesOneThatCannotBeWritten)
{
  fill(30);
  answers(30);
  fill(1, 30); // the index is not of these files
  ASSERT_EQ(cached().size(), 1u);
  const fs::path file = cached()[0];
  const std::vector<char> before = bytes_of(file);
  for (long step = 1;; ++step) {
    rawhal_library_stats_t now;
    if (!answers_while({step, Fault::fails, ENOSPC, false, SIZE_MAX - 1, false}, 31, &now)) {
      EXPECT_NE(bytes_of(file), before);
      EXPECT_EQ(step, 5); // a file, its bytes, its end, its name
      break;
    }
    ASSERT_EQ(now.indexes_written, 0u) << step;
    ASSERT_EQ(cached().size(), 1u) << step;
    ASSERT_EQ(bytes_of(file), before) << step;
  }
}

TEST_F(LibraryCacheFaults, InterruptedAndInPieces)
{
  fill(70);
  answers(70);
  const std::vector<char> whole = bytes_of(cached()[0]);
  ASSERT_GT(whole.size(), 8192u);
  for (size_t most : {size_t{1}, size_t{1000}, size_t{4095}, whole.size() - 1}) {
    fs::remove_all(cache);
    Plan pieces;
    pieces.most = most;
    rawhal_library_stats_t now;
    answers_while(pieces, 70, &now);
    EXPECT_EQ(now.indexes_written, 1u);
    EXPECT_EQ(bytes_of(cached()[0]), whole) << most;
    answers_while(pieces, 70, &now);
    EXPECT_EQ(now.indexes_read, 1u) << most;
  }
  for (long step : {3, 4, 5}) { // of writes of 5,000 bytes
    fs::remove_all(cache);
    rawhal_library_stats_t now;
    EXPECT_TRUE(answers_while({step, Fault::interrupted, EINTR, false, 5000, false}, 70, &now));
    EXPECT_EQ(now.indexes_written, 1u) << step;
    EXPECT_EQ(bytes_of(cached()[0]), whole) << step;
  }
}

// In any of its pages, when it is opened or in the midst of a search; it stays in its file.
TEST_F(LibraryCacheFaults, AnyStepOfReadingMayFail)
{
  fill(600);
  answers(600);
  ASSERT_GE(fs::file_size(cached()[0]), 17 * 4096u);
  const struct {
    int error;
    bool lasting;
  } ways[] = {{EIO, false}, {EIO, true}, {0, false}};
  for (const auto &way : ways)
    for (long step = 1;; step += step < 4 ? 1 : 7) {
      const Plan wrong = {step, Fault::fails, way.error, way.lasting, SIZE_MAX - 1, true};
      SCOPED_TRACE(describe(wrong));
      rawhal_library_stats_t now;
      const bool failed = answers_while(wrong, 600, &now);
      ASSERT_FALSE(HasFailure());
      if (!failed) {
        EXPECT_EQ(now.files_read, 0u);
        EXPECT_GT(step, 20);
        break;
      }
      ASSERT_GE(now.files_read, 600u); // they say what the index did not
    }
}

// ---- Processes that are killed ----

class LibraryCacheKilled : public LibraryCacheFaults {
protected:
  static constexpr size_t files = 100;
  static constexpr size_t page = 4096; // that children write at once, for more moments to die in
  struct Child {
    pid_t process;
    bool dies;
    int status;
  };

  static bool is_child() { return getenv("LIBRARY_TEST_STEP"); }

  void be_a_child()
  {
    folder = getenv("LIBRARY_TEST_FOLDER");
    cache = getenv("RAWHAL_CACHE");
    plan.step = atol(getenv("LIBRARY_TEST_STEP"));
    plan.fault = getenv("LIBRARY_TEST_WITHIN") ? Fault::dies_within : Fault::dies;
    plan.most = page;
    writing = 0;
    answers(files);
  }

  // The same test once more, in a process of its own, which dies at a step of writing, or at none: 0.
  Child start(long step, bool within)
  {
    const testing::TestInfo *info = testing::UnitTest::GetInstance()->current_test_info();
    std::string filter =
        std::string("--gtest_filter=") + info->test_suite_name() + "." + info->name();
    char program[] = "test_library", brief[] = "--gtest_brief=1";
    char *const command[] = {program, filter.data(), brief, nullptr};
    const std::string is_step = "LIBRARY_TEST_STEP=" + std::to_string(step);
    const std::string is_folder = "LIBRARY_TEST_FOLDER=" + folder.string();
    const std::string is_cache = "RAWHAL_CACHE=" + cache.string();
    const std::string is_temporary = "TMPDIR=" + root.string(); // who is killed leaves a folder
    std::vector<char *> variables = {
        const_cast<char *>(is_step.c_str()), const_cast<char *>(is_folder.c_str()),
        const_cast<char *>(is_cache.c_str()), const_cast<char *>(is_temporary.c_str())};
    char is_within[] = "LIBRARY_TEST_WITHIN=1";
    if (within)
      variables.push_back(is_within);
    for (char **one = environ; *one; ++one)
      variables.push_back(*one);
    variables.push_back(nullptr);
    Child child = {0, step != 0, 0};
    EXPECT_EQ(
        posix_spawn(&child.process, "/proc/self/exe", nullptr, nullptr, command, variables.data()),
        0);
    return child;
  }

  static bool was_killed(const Child &child)
  {
    return WIFSIGNALED(child.status) && WTERMSIG(child.status) == SIGKILL;
  }

  void reap(Child *child)
  {
    ASSERT_EQ(waitpid(child->process, &child->status, 0), child->process);
    ASSERT_TRUE((WIFEXITED(child->status) && WEXITSTATUS(child->status) == 0) ||
                (child->dies && was_killed(*child)))
        << child->status;
  }

  size_t left_behind()
  {
    size_t found = 0;
    for (const fs::path &one : cached())
      found += one.extension() == ".unfinished";
    return found;
  }
};

TEST_F(LibraryCacheKilled, AtEachStepOfAWrite)
{
  if (is_child())
    return be_a_child();
  fill(files);
  answers(files);
  const std::vector<char> whole = bytes_of(cached()[0]);
  const long writes = static_cast<long>(whole.size() / page);
  // A folder, a file, its pages, its end, its name.
  const long steps = 4 + writes;
  ASSERT_GE(writes, 3);
  for (bool within : {false, true})
    for (long step = within ? 3 : 1; step <= (within ? 2 + writes : steps); ++step) {
      SCOPED_TRACE(std::to_string(step) + (within ? ", within" : ""));
      fs::remove_all(cache);
      Child child = start(step, within);
      ASSERT_NO_FATAL_FAILURE(reap(&child));
      ASSERT_TRUE(was_killed(child));
      EXPECT_EQ(left_behind(), step > 2 ? 1u : 0u);
      EXPECT_EQ(answers(files).indexes_written, 1u);
      EXPECT_EQ(answers(files).indexes_read, 1u);
      EXPECT_EQ(left_behind(), step > 2 ? 1u : 0u); // for an hour: somebody may be writing it
    }
  fs::remove_all(cache);
  Child child = start(steps + 1, false);
  ASSERT_NO_FATAL_FAILURE(reap(&child));
  EXPECT_FALSE(was_killed(child));
  EXPECT_EQ(answers(files).indexes_read, 1u);
}

// Eight write the same index at once. Two are killed from outside at any moment of their lives, two die at any step of
// a write, two within one; nobody else notices. It goes on until each of that has happened, which most often it has soon.
TEST_F(LibraryCacheKilled, EightAtOnceAtAnyMoment)
{
  if (is_child())
    return be_a_child();
  fill(files);
  const int rounds = by_length(8, 40, 1000); // half a second each
  std::mt19937 random(1);
  auto lives = std::chrono::milliseconds(100); // as long as they took the last time
  size_t killed = 0, died = 0, left = 0;
  const auto all_happened = [&] { return killed > 0 && died > 0 && left > 0; };
  for (int round = 0; round < rounds || (!all_happened() && round < 20 * rounds); ++round) {
    SCOPED_TRACE(round);
    fs::remove_all(cache);
    const auto began = std::chrono::steady_clock::now();
    std::vector<Child> children;
    for (int i = 0; i < 8; ++i)
      children.push_back(start(i % 4 >= 2 ? 1 + static_cast<long>(random() % 9) : 0, i % 4 == 3));
    std::vector<std::chrono::milliseconds> moments;
    for (int i = 0; i < 2; ++i)
      moments.emplace_back(random() % static_cast<unsigned long>(lives.count() + 1));
    std::sort(moments.begin(), moments.end());
    for (size_t i = 0; i < moments.size(); ++i) {
      const auto now = std::chrono::steady_clock::now();
      if (now < began + moments[i])
        usleep(static_cast<useconds_t>(
            std::chrono::duration_cast<std::chrono::microseconds>(began + moments[i] - now)
                .count()));
      ASSERT_TRUE(
          signal_child(children[1 + 4 * i].process, SIGKILL)); // nobody has waited for it yet
      children[1 + 4 * i].dies = true;
    }
    for (size_t i = 0; i < children.size(); ++i) {
      ASSERT_NO_FATAL_FAILURE(reap(&children[i]));
      (i % 4 == 1 ? killed : died) += was_killed(children[i]);
    }
    lives = std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                                  began);
    left += left_behind();
    answers(files);
    ASSERT_EQ(answers(files).indexes_read, 1u);
    ASSERT_FALSE(HasFailure());
  }
  RecordProperty("killed", static_cast<int>(killed));
  RecordProperty("died", static_cast<int>(died));
  RecordProperty("left", static_cast<int>(left));
  EXPECT_TRUE(all_happened()) << killed << ' ' << died << ' ' << left;
}

} // namespace
