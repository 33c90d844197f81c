// How much of its files a library reads, in calls and in pages of mappings that are touched, by whatever this process has
// loaded: the functions below take the place of the C library's for all of it. Mappings of watched files come without
// access; the first touch of a page is a fault, which is counted and granted.
#include "library_test.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <atomic>
#include <csignal>

#include "tests/hsaco/builder.h"

long clock_ahead_s;

namespace {

constexpr size_t page_size = 4096;

struct Range {
  std::atomic<uintptr_t> start{0};
  size_t size = 0;
  int protection = 0;
};
Range ranges[4096];
char watched[256]; // a folder; empty: nothing is
std::atomic<uint64_t> bytes_read{0}, bytes_touched{0};

bool is_watched(int file)
{
  char link[64], path[4096];
  if (!*watched || file < 0)
    return false;
  snprintf(link, sizeof(link), "/proc/self/fd/%d", file);
  const ssize_t size = readlink(link, path, sizeof(path));
  return size > 0 && static_cast<size_t>(size) > strlen(watched) &&
         memcmp(path, watched, strlen(watched)) == 0;
}

void on_fault(int, siginfo_t *info, void *)
{
  const uintptr_t at = reinterpret_cast<uintptr_t>(info->si_addr) & ~(page_size - 1);
  for (Range &range : ranges)
    if (range.start && at >= range.start && at - range.start < range.size) {
      bytes_touched += page_size;
      syscall(SYS_mprotect, at, page_size, range.protection);
      return;
    }
  signal(SIGSEGV, SIG_DFL); // somebody else's
}

// Allocations of this thread while it counts.
thread_local bool counts_allocations;
thread_local size_t allocations;

ssize_t counted(int file, ssize_t got)
{
  if (got > 0 && is_watched(file))
    bytes_read += static_cast<uint64_t>(got);
  return got;
}

} // namespace

extern "C" {
#define EVERYBODYS __attribute__((visibility("default")))
EVERYBODYS void *mmap(void *address, size_t size, int protection, int flags, int file,
                      off_t offset) noexcept
{
  const bool counts = !(flags & MAP_FIXED) && is_watched(file);
  void *const mapped = reinterpret_cast<void *>(
      syscall(SYS_mmap, address, size, counts ? PROT_NONE : protection, flags, file, offset));
  if (!counts || mapped == MAP_FAILED)
    return mapped;
  for (Range &range : ranges) {
    uintptr_t none = 0;
    if (!range.start.compare_exchange_strong(none, 1))
      continue;
    range.size = size;
    range.protection = protection;
    range.start = reinterpret_cast<uintptr_t>(mapped);
    return mapped;
  }
  abort();
}
EVERYBODYS void *mmap64(void *address, size_t size, int protection, int flags, int file,
                        off_t offset) noexcept
{
  return mmap(address, size, protection, flags, file, offset);
}
EVERYBODYS int munmap(void *address, size_t size) noexcept
{
  for (Range &range : ranges) {
    uintptr_t start = reinterpret_cast<uintptr_t>(address);
    range.start.compare_exchange_strong(start, 0);
  }
  return static_cast<int>(syscall(SYS_munmap, address, size));
}
EVERYBODYS ssize_t read(int file, void *bytes, size_t size)
{
  return counted(file, syscall(SYS_read, file, bytes, size));
}
EVERYBODYS ssize_t pread(int file, void *bytes, size_t size, off_t offset)
{
  return counted(file, syscall(SYS_pread64, file, bytes, size, offset));
}
EVERYBODYS ssize_t pread64(int file, void *bytes, size_t size, off_t offset)
{
  return pread(file, bytes, size, offset);
}

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
EVERYBODYS void *malloc(size_t size)
{
  allocations += counts_allocations;
  return __libc_malloc(size);
}
EVERYBODYS void *calloc(size_t count, size_t size)
{
  allocations += counts_allocations;
  return __libc_calloc(count, size);
}
EVERYBODYS void *realloc(void *memory, size_t size)
{
  allocations += counts_allocations;
  return __libc_realloc(memory, size);
}

int __real_clock_gettime(clockid_t clock, timespec *now);
int __wrap_clock_gettime(clockid_t clock, timespec *now)
{
  const int result = __real_clock_gettime(clock, now);
  if (clock == CLOCK_REALTIME)
    now->tv_sec += clock_ahead_s;
  return result;
}
}

namespace {

class LibraryReads : public LibraryTest {
protected:
  void SetUp() override
  {
    LibraryTest::SetUp();
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    ASSERT_EQ(sigaction(SIGSEGV, &action, &before), 0);
    ASSERT_LT(root.native().size(), sizeof(watched));
    snprintf(watched, sizeof(watched), "%s/", fs::canonical(root).c_str());
  }
  void TearDown() override
  {
    LibraryTest::TearDown();
    *watched = '\0';
    sigaction(SIGSEGV, &before, nullptr);
  }

  // Since it was asked last.
  static uint64_t taken() { return bytes_read.exchange(0) + bytes_touched.exchange(0); }

  // A code object of kernels PREFIX_0 and so on, and as much code that is none of theirs.
  static std::vector<char> object_of(const std::string &prefix, size_t kernels, size_t code)
  {
    build::Object object;
    for (size_t i = 0; i < kernels; ++i)
      object.kernels.push_back(build::plain_kernel(prefix + "_" + std::to_string(i)));
    object.more_code = code;
    const std::string &bytes = object.build();
    return {bytes.begin(), bytes.end()};
  }

  size_t count_of(rawhal_library_t *library, const std::string &name)
  {
    const rawhal_library_query_t query = named(name);
    size_t count = 99;
    EXPECT_OK(rawhal_library_find(library, &query, nullptr, 0, 0, &count, &error));
    return count;
  }

  struct sigaction before = {};
};

// What counts must count, or the rest says nothing.
TEST_F(LibraryReads, CallsAndPagesAreCounted)
{
  write_file(folder / "file", std::vector<char>(10 * page_size, 'x'));
  const int file = open((folder / "file").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  EXPECT_EQ(taken(), 0u);
  char bytes[100];
  EXPECT_EQ(read(file, bytes, 100), 100);
  EXPECT_EQ(pread(file, bytes, 50, 1000), 50);
  EXPECT_EQ(taken(), 150u);
  const char *mapped =
      static_cast<const char *>(mmap(nullptr, 10 * page_size, PROT_READ, MAP_PRIVATE, file, 0));
  ASSERT_NE(mapped, MAP_FAILED);
  EXPECT_EQ(mapped[3 * page_size], 'x');
  EXPECT_EQ(mapped[3 * page_size + 100], 'x');
  EXPECT_EQ(mapped[7 * page_size - 1], 'x');
  EXPECT_EQ(taken(), 2 * page_size);
  EXPECT_EQ(munmap(const_cast<char *>(mapped), 10 * page_size), 0);
  close(file);
  std::ifstream(folder / "file").read(bytes, 1);
  EXPECT_GE(taken(), 1u);
}

TEST_F(LibraryReads, AddingReadsNothingAndASearchNoCode)
{
  constexpr size_t files = 50, code = 512 << 10;
  for (size_t i = 0; i < files; ++i)
    write_file(folder / (std::to_string(i) + ".co"), object_of("of_" + std::to_string(i), 5, code));
  EXPECT_EQ(taken(), 0u);
  rawhal_library_t *library = create_with(folder);
  EXPECT_EQ(stats(library).files, files);
  EXPECT_EQ(taken(), 0u);
  EXPECT_EQ(count_of(library, "of_17_3"), 1u);
  EXPECT_EQ(stats(library).files_read, files);
  const uint64_t names = taken();
  RecordProperty("names", static_cast<int>(names));
  EXPECT_GE(names, files * page_size);
  EXPECT_LE(names, files * 12 * page_size); // of 131 pages
  EXPECT_EQ(count_of(library, "of_18_3"), 1u);
  EXPECT_EQ(taken(), 0u);
  EXPECT_EQ(find(library, named("of_18_3")).size(), 1u); // its object has a content, and is read
  const uint64_t described = taken();
  EXPECT_GE(described, code);
  EXPECT_LE(described, code + 16 * page_size);
  const rawhal_device_kernel_t *kernel = nullptr;
  ASSERT_OK(get(library, "of_19_3", &kernel));
  const uint64_t loaded = taken();
  RecordProperty("loaded", static_cast<int>(loaded));
  EXPECT_GE(loaded, code);
  // To know it again, to compare the runtime's file with it, and by the runtime.
  EXPECT_LE(loaded, 3 * (code + 16 * page_size));
}

TEST_F(LibraryReads, OneOfHundredThousandKernelsTakesLittle)
{
  constexpr size_t files = 500, each = 200;
  const auto prefix_of = [](size_t file) {
    return "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1_SN_" + std::to_string(file);
  };
  for (size_t i = 0; i < files; ++i)
    write_file(folder / (std::to_string(i) + ".co"), object_of(prefix_of(i), each, 0));
  rawhal_library_t *library = create_with(folder);
  EXPECT_EQ(count_of(library, prefix_of(3) + "_17"), 1u);
  EXPECT_EQ(stats(library).kernels, files * each);
  EXPECT_EQ(stats(library).indexes_written, 1u);
  EXPECT_GT(taken(), 20u << 20);
  destroy(library);

  library = create_with(folder);
  const rawhal_device_kernel_t *kernel = nullptr;
  ASSERT_OK(get(library, prefix_of(321) + "_123", &kernel));
  const uint64_t all = taken();
  RecordProperty("all", static_cast<int>(all));
  EXPECT_LT(all, 1000000u); // of the index and the object, which is loaded
  EXPECT_GT(all, 100000u);
  const rawhal_library_stats_t now = stats(library);
  EXPECT_EQ(now.loads, 1u);
  EXPECT_EQ(now.indexes_read, 1u);
  EXPECT_EQ(now.files_read, 0u);
  EXPECT_LT(now.index_bytes, all);
  for (size_t i : {0, 7, 499})
    EXPECT_EQ(count_of(library, prefix_of(i) + "_" + std::to_string(i % each)), 1u);
  EXPECT_EQ(count_of(library, prefix_of(500) + "_0"), 0u);
  const uint64_t more = taken();
  RecordProperty("more", static_cast<int>(more));
  EXPECT_LT(more, 4 * 200000u); // of the index alone
  EXPECT_EQ(stats(library).index_bytes, now.index_bytes + more);
}

// Pages of an index on disk: of one that follows another little is read, of all of them everything once, or nearly; and
// nothing is allocated.
TEST_F(LibraryReads, PagesTakeWhatTheyHold)
{
  constexpr size_t files = 50, each = 200;
  const std::string prefix = "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1_SN_";
  for (size_t i = 0; i < files; ++i)
    write_file(folder / (std::to_string(i) + ".co"),
               object_of(prefix + std::to_string(i), each, 0));
  EXPECT_EQ(count_of(create_with(folder), prefix + "3_17"), 1u);
  rawhal_library_t *library = create_with(folder);
  EXPECT_EQ(count_of(library, prefix + "3_17"), 1u);
  EXPECT_EQ(stats(library).indexes_read, 1u);
  const uint64_t before = stats(library).index_bytes;
  (void)taken();

  std::vector<rawhal_library_match_t> matches(100);
  std::vector<char> text(1 << 16);
  rawhal_library_filter_t filter = {};
  filter.pattern = RAWHAL_STRING("C*_[0-9]*");
  filter.argument = RAWHAL_STRING("n");
  rawhal_library_page_t page = {};
  page.matches = matches.data();
  page.capacity = matches.size();
  page.match_size = sizeof(matches[0]);
  page.text = text.data();
  page.text_size = text.size();
  size_t listed = 0, pages = 0;
  uint64_t most = 0;
  bool good = true;
  allocations = 0;
  counts_allocations = true;
  do {
    const uint64_t read = stats(library).index_bytes;
    good = good && rawhal_library_list(library, &filter, &page, &error) == RAWHAL_OK;
    most = std::max(most, stats(library).index_bytes - read);
    listed += page.count;
    ++pages;
  } while (good && page.cursor);
  counts_allocations = false;
  ASSERT_TRUE(good) << error.message;
  EXPECT_EQ(allocations, 0u);
  EXPECT_EQ(listed, files * each);
  EXPECT_EQ(pages, files * each / matches.size());
  const uint64_t read = stats(library).index_bytes - before;
  RecordProperty("read", static_cast<int>(read));
  RecordProperty("most", static_cast<int>(most));
  EXPECT_EQ(taken(), read); // no file but the index
  EXPECT_LT(most, 50 * page_size);
  EXPECT_LT(read, 10u << 20);

  // A miss compares so many names at most: of each a page of numbers, of kernels and of names.
  const rawhal_device_kernel_t *kernel = nullptr;
  EXPECT_EQ(get(library, prefix + "3_x7", &kernel), RAWHAL_NOT_FOUND);
  EXPECT_NE(strstr(error.message, "; nearest: '"), nullptr) << error.message;
  EXPECT_LT(stats(library).index_bytes - before - read, 1024 * 3 * page_size);
}

} // namespace
