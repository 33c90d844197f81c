// Indexes on disk: the second process reads next to nothing, and nothing that becomes of an index makes an answer wrong.
#include "cache_test.h"
#include "tests/extended.h"

#include <sys/resource.h>
#include <sys/stat.h>

extern "C" {
long clock_ahead_s;
}
static time_t clock_stands_at; // if it does

extern "C" {
int __real_clock_gettime(clockid_t clock, timespec *now);
int __wrap_clock_gettime(clockid_t clock, timespec *now)
{
  int result = __real_clock_gettime(clock, now);
  if (clock == CLOCK_REALTIME)
    now->tv_sec = clock_stands_at ? clock_stands_at : now->tv_sec + clock_ahead_s;
  return result;
}
}

namespace {

TEST_F(LibraryCache, TheSecondLibraryReadsAFewPages)
{
  fill(2000);
  rawhal_library_stats_t first = answers(2000);
  EXPECT_EQ(first.files_read, 2000u);
  EXPECT_EQ(first.indexes_written, 1u);
  EXPECT_EQ(first.indexes_read, 0u);
  ASSERT_EQ(cached().size(), 1u);

  Opens opens(folder);
  rawhal_library_stats_t second = answers(2000);
  EXPECT_EQ(opens.count(), 2u); // those two that were found, to be described
  EXPECT_EQ(second.files_read, 0u);
  EXPECT_EQ(second.indexes_read, 1u);
  EXPECT_EQ(second.indexes_written, 0u);
  EXPECT_EQ(second.kernels, 2000u);
  EXPECT_LT(second.index_bytes, 300000u);

  rawhal_library_t *library = create_with(folder);
  const rawhal_device_kernel_t *kernel = nullptr;
  ASSERT_OK(get(library, numbered(1234), &kernel));
  expect_adds(kernel);
}

TEST_F(LibraryCache, AnyChangeMakesItAnew)
{
  fill(30);
  EXPECT_EQ(answers(30).indexes_written, 1u);
  EXPECT_EQ(answers(30).indexes_read, 1u);
  fill(1, 30); // one more
  EXPECT_EQ(answers(31).indexes_read, 0u);
  EXPECT_EQ(answers(31).indexes_read, 1u);
  fs::remove(folder / "kern_00030.co");
  EXPECT_EQ(answers(30).indexes_read, 0u);
  fs::rename(folder / "kern_00003.co", folder / "kern_00003.elf");
  EXPECT_EQ(answers(30).indexes_read, 0u);
  write_file(folder / "kern_00003.elf", vector_add); // as large
  rawhal_library_t *library = create_with(folder);
  EXPECT_EQ(find(library, named("vector_add")).size(), 1u);
  EXPECT_TRUE(find(library, named(numbered(3))).empty());
  EXPECT_EQ(stats(library).indexes_read, 0u);
  destroy(library);
  // Other options and another folder of the same files are something else.
  rawhal_hsaco_options_t hsaco = {};
  hsaco.flags = RAWHAL_HSACO_DESCRIPTOR_KERNELS;
  rawhal_library_options_t options = {};
  options.hsaco = &hsaco;
  library = create(options);
  ASSERT_OK(rawhal_library_add(library, folder.c_str(), &error));
  EXPECT_EQ(find(library, named("vector_add")).size(), 1u);
  EXPECT_EQ(stats(library).indexes_read, 0u);
}

// An index is of files, not of what is in them: copies, and what has moved, are read once more.
TEST_F(LibraryCache, ACopiedFolderIsReadOnceMore)
{
  fill(30);
  answers(30);
  const fs::path original = folder, copy = root / "copy", moved = root / "moved";
  fs::create_directories(copy);
  for (const fs::directory_entry &entry : fs::directory_iterator(original)) {
    fs::copy_file(entry.path(), copy / entry.path().filename());
    fs::last_write_time(copy / entry.path().filename(), fs::last_write_time(entry.path()));
  }
  fs::rename(original, moved);
  for (const fs::path &one : {copy, moved}) {
    folder = one;
    EXPECT_EQ(answers(30).files_read, 30u);
    EXPECT_EQ(answers(30).files_read, 0u);
  }
  fs::rename(copy, original); // under the name that an index has
  folder = original;
  EXPECT_EQ(answers(30).files_read, 30u);
}

TEST_F(LibraryCache, FilesThatChangedAMomentAgoAreNotBelieved)
{
  fill(30);
  time_t youngest = 0;
  for (const fs::directory_entry &entry : fs::directory_iterator(folder)) {
    struct stat facts = {};
    ASSERT_EQ(stat(entry.path().c_str(), &facts), 0);
    youngest = std::max(youngest, facts.st_ctim.tv_sec);
  }
  for (const time_t age : {0, 1, 2, 3}) {
    clock_stands_at = youngest + age;
    EXPECT_EQ(answers(30).indexes_written, age == 3) << age;
  }
  clock_stands_at = 0;
}

TEST_F(LibraryCache, WhatIsReadAsQuicklyIsNotKept)
{
  fill(3);
  EXPECT_EQ(answers(3).indexes_written, 0u);
  EXPECT_TRUE(cached().empty());
}

TEST_F(LibraryCache, EveryFlippedByte)
{
  fill(40);
  answers(40);
  ASSERT_EQ(cached().size(), 1u);
  const fs::path file = cached()[0];
  const std::vector<char> good = bytes_of(file);
  ASSERT_GE(good.size(), 8192u);
  size_t believed = 0;
  for (size_t at = 0; at < good.size(); at += by_length(61u, 7u, 1u)) {
    std::vector<char> bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << at % 8));
    write_file(file, bad);
    const rawhal_library_stats_t now = answers(40);
    ASSERT_FALSE(HasFailure()) << at;
    believed += now.indexes_read && !now.files_read;
    ASSERT_EQ(cached().size(), 1u);
  }
  EXPECT_EQ(believed, 0u); // it is small enough to be read as a whole
}

TEST_F(LibraryCache, EveryFlippedByteOfAnIndexThatStaysInItsFile)
{
  fill(1200);
  answers(1200);
  ASSERT_EQ(cached().size(), 1u);
  const fs::path file = cached()[0];
  const std::vector<char> good = bytes_of(file);
  ASSERT_GE(good.size(), 17 * 4096u);
  for (size_t at = 0; at < good.size(); at += by_length(9973u, 5003u, 1009u)) {
    std::vector<char> bad = good;
    bad[at] = static_cast<char>(bad[at] ^ (1 << at % 8));
    write_file(file, bad);
    answers(1200);
    ASSERT_FALSE(HasFailure()) << at;
    write_file(file, good);
    rawhal_library_t *library = create_with(folder); // good when it is opened, and damaged later
    EXPECT_EQ(find(library, named(numbered(0))).size(), 1u);
    write_file(file, bad);
    expect_answers(library, 1200);
    destroy(library);
    ASSERT_FALSE(HasFailure()) << at;
  }
}

TEST_F(LibraryCache, CutShortAndOverwritten)
{
  fill(1200);
  answers(1200);
  const fs::path file = cached()[0];
  const std::vector<char> good = bytes_of(file);
  for (size_t size :
       {size_t{0}, size_t{1}, size_t{4096}, size_t{8192}, good.size() - 4096, good.size() - 1}) {
    write_file(file, std::vector<char>(good.begin(), good.begin() + static_cast<long>(size)));
    EXPECT_EQ(answers(1200).indexes_read, 0u) << size;
  }
  write_file(file, std::vector<char>(good.size()));
  EXPECT_EQ(answers(1200).indexes_read, 0u);
  // Of another folder, under this one's name.
  const fs::path other = root / "other";
  fs::rename(folder, other);
  folder = other;
  answers(1200);
  ASSERT_EQ(cached().size(), 2u);
  for (const fs::path &one : cached())
    if (one != file)
      fs::copy_file(file, one, fs::copy_options::overwrite_existing);
  EXPECT_EQ(answers(1200).indexes_read, 0u);
}

TEST_F(LibraryCache, SwitchedOff)
{
  fill(30);
  rawhal_library_options_t options = {};
  options.cache = "off";
  rawhal_library_t *library = create(options);
  ASSERT_OK(rawhal_library_add(library, folder.c_str(), &error));
  expect_answers(library, 30);
  EXPECT_EQ(stats(library).indexes_written, 0u);
  EXPECT_TRUE(cached().empty());
}

TEST_F(LibraryCache, WhereTheEnvironmentSays)
{
  fill(30);
  const auto written_to = [&](const fs::path &where) {
    rawhal_library_t *library = nullptr;
    EXPECT_OK(rawhal_library_create(device, nullptr, &library, &error));
    EXPECT_OK(rawhal_library_add(library, folder.c_str(), &error));
    expect_answers(library, 30);
    rawhal_library_destroy(library);
    return fs::exists(where) && !fs::is_empty(where);
  };
  const fs::path home = root / "home";
  const std::string before = getenv("HOME") ? getenv("HOME") : "";
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", home.c_str(), 1);
  EXPECT_TRUE(written_to(home / ".cache" / "rawhal"));
  EXPECT_EQ(fs::status(home / ".cache" / "rawhal").permissions(), fs::perms::owner_all);
  setenv("XDG_CACHE_HOME", (home / "xdg").c_str(), 1);
  EXPECT_TRUE(written_to(home / "xdg" / "rawhal"));
  setenv("RAWHAL_CACHE", (home / "ours").c_str(), 1);
  EXPECT_TRUE(written_to(home / "ours"));
  fs::remove_all(home);
  setenv("RAWHAL_CACHE", "off", 1);
  EXPECT_FALSE(written_to(home));
  unsetenv("RAWHAL_CACHE");
  unsetenv("XDG_CACHE_HOME");
  setenv("HOME", before.c_str(), 1);
}

TEST_F(LibraryCache, AFolderThatOthersCanWriteToIsNotUsed)
{
  fill(30);
  fs::create_directories(cache);
  fs::permissions(cache, fs::perms::all);
  EXPECT_EQ(answers(30).indexes_written, 0u);
  fs::permissions(cache, fs::perms::owner_all);
  EXPECT_EQ(answers(30).indexes_written, 1u);
  fs::permissions(cached()[0], fs::perms::all);
  EXPECT_EQ(answers(30).indexes_read, 0u);
}

TEST_F(LibraryCache, NoRoomIsNoFailure)
{
  fill(30);
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  for (const rlim_t room : {5000, 0}) { // a write that is cut short, and one that raises the signal
    const rlimit less = {room, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &less), 0);
    EXPECT_EQ(answers(30).indexes_written, 0u);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  }
  cache = root / "in the way";
  write_file(cache, {'a'});
  EXPECT_EQ(answers(30).indexes_written, 0u);
}

TEST_F(LibraryCache, WhatKilledProcessesLeaveIsSweptUp)
{
  fill(30);
  fs::create_directories(cache);
  fs::permissions(cache, fs::perms::owner_all);
  const auto make = [&](const char *name, int hours) {
    write_file(cache / name, {'x'});
    fs::last_write_time(cache / name, fs::file_time_type::clock::now() - std::chrono::hours(hours));
  };
  make("11111111111111111111111111111111.index.1.unfinished", 2);
  make("22222222222222222222222222222222.index.1.unfinished", 0);
  make("33333333333333333333333333333333.index", 24 * 70);
  make("44444444444444444444444444444444.index", 24 * 50);
  make("somebody's", 24 * 700);
  EXPECT_EQ(answers(30).indexes_written, 1u);
  EXPECT_FALSE(fs::exists(cache / "11111111111111111111111111111111.index.1.unfinished"));
  EXPECT_TRUE(fs::exists(cache / "22222222222222222222222222222222.index.1.unfinished"));
  EXPECT_FALSE(fs::exists(cache / "33333333333333333333333333333333.index"));
  EXPECT_TRUE(fs::exists(cache / "44444444444444444444444444444444.index"));
  EXPECT_TRUE(fs::exists(cache / "somebody's"));
}

TEST_F(LibraryCache, OpenFilesAreBounded)
{
  std::vector<fs::path> folders;
  for (int i = 0; i < 6; ++i) {
    const fs::path each = folder / std::to_string(i);
    folders.push_back(each);
    for (size_t k = 0; k < 500; ++k)
      write_file(each / (numbered(k) + ".co"),
                 renamed(vector_add, "vector_add", numbered(1000 * static_cast<size_t>(i) + k)));
  }
  const auto open_files = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  for (int round = 0; round < 2; ++round) {
    rawhal_library_options_t options = {};
    options.max_open_files = 2;
    rawhal_library_t *library = create(options);
    const auto before = open_files();
    for (const fs::path &each : folders)
      ASSERT_OK(rawhal_library_add(library, each.c_str(), &error));
    for (size_t i = 0; i < 6; ++i)
      EXPECT_EQ(find(library, named(numbered(1000 * i + 499))).size(), 1u);
    EXPECT_EQ(stats(library).indexes_read, round ? 6u : 0u);
    EXPECT_LE(open_files() - before, 2);
    destroy(library);
    EXPECT_EQ(open_files(), before);
  }
}

} // namespace
