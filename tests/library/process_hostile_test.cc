// Wrappers with something wrong, in sections and where they are searched for.
#include "process_test.h"

#include <sys/mman.h>

namespace {

struct Wrapper {
  uint32_t magic, version;
  const void *binary;
  void *unused;
};

// A library with room for wrappers, which are filled in when it is loaded; with or without sections.
class Hostile : public testing::TestWithParam<bool> {
protected:
  void SetUp() override
  {
    if (!GetParam() && program("llvm-objcopy-19").empty())
      GTEST_SKIP() << "llvm-objcopy-19 is not installed";
    path_ = scratch_ / "hostile.so";
    ASSERT_NO_FATAL_FAILURE(build_library(
        "struct { unsigned magic, version; const void *binary; void *unused; } wrappers[64]\n"
        "  __attribute__((section(\".hipFatBinSegment\"))) = {{1, 1, 0, 0}};\n",
        path_));
    if (!GetParam()) {
      Outcome stripped = run({program("llvm-objcopy-19"), "--strip-sections", path_});
      ASSERT_EQ(0, stripped.status) << stripped.err;
    }
    library_.reset(new Loaded(path_));
    wrappers_ = static_cast<Wrapper *>(library_->symbol("wrappers"));
    ASSERT_NE(nullptr, wrappers_);
    page_ = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    pages_ = static_cast<char *>(
        mmap(nullptr, 4 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_EQ(0, munmap(pages_ + page_, page_));
    ASSERT_EQ(0, mprotect(pages_ + 3 * page_, page_, PROT_NONE));
  }
  void TearDown() override
  {
    munmap(pages_, page_);
    munmap(pages_ + 2 * page_, 2 * page_);
  }

  std::vector<rawhal_process_fatbin_t> found() { return fatbins_of(look(), path_); }

  // The one that is listed where everything in a section is, and nowhere else where only the known is; what it says.
  std::string only(size_t which, bool searched)
  {
    Process process = look();
    std::vector<rawhal_process_fatbin_t> all = fatbins_of(process, path_);
    EXPECT_EQ(GetParam() || searched ? 1u : 0u, all.size());
    if (all.empty())
      return "";
    EXPECT_EQ(&wrappers_[which], all[0].wrapper);
    EXPECT_EQ(wrappers_[which].binary, all[0].image.data);
    EXPECT_EQ(0u, all[0].image.size);
    return text(all[0].why_not);
  }

  Scratch scratch_;
  std::string path_;
  std::unique_ptr<Loaded> library_;
  Wrapper *wrappers_ = nullptr;
  char *pages_ = nullptr; // readable, none, readable, forbidden
  size_t page_ = 0;
};

} // namespace

INSTANTIATE_TEST_SUITE_P(Wrappers, Hostile, testing::Bool(), [](const auto &info) {
  return info.param ? "InASection" : "SearchedFor";
});

TEST_P(Hostile, NothingIsListedWhereNothingIs)
{
  EXPECT_EQ(0u, found().size());
}

TEST_P(Hostile, PointersToNothing)
{
  for (const void *nowhere :
       {static_cast<const void *>(nullptr), static_cast<const void *>(pages_ + page_),
        static_cast<const void *>(pages_ + 3 * page_), reinterpret_cast<const void *>(8),
        reinterpret_cast<const void *>(UINTPTR_MAX), reinterpret_cast<const void *>(1ul << 63)}) {
    SCOPED_TRACE(nowhere);
    wrappers_[0] = {0x48495046, 1, nowhere, nullptr};
    std::string why = only(0, false);
    if (GetParam()) {
      EXPECT_NE(std::string::npos, why.find(nowhere ? "which cannot be read" : "points nowhere"))
          << why;
    }
    wrappers_[0].magic = 0x4B504948;
    only(0, false);
  }
}

// Every beginning of a bundle, a compressed one and a code object, right before memory that is not there.
TEST_P(Hostile, ImagesThatEndWithTheirMapping)
{
  for (const char *name : {"vector_add.bundle", "vector_add-gfx90a-v5.co"}) {
    std::string whole = fixture(name);
    for (char *end : {pages_ + page_, pages_ + 3 * page_})
      for (size_t size = 1; size <= 512; size += size < 80 ? 1 : 37) {
        SCOPED_TRACE(size);
        memcpy(end - size, whole.data(), size);
        wrappers_[1] = {0x48495046, 1, end - size, nullptr};
        EXPECT_NE("", GetParam() || size >= 4 ? only(1, size >= 4) : "nothing to tell it by");
      }
  }
  std::string map = "\xdf\xff\xff\xff\xff"; // of four thousand million keys
  memcpy(pages_ + page_ - map.size(), map.data(), map.size());
  wrappers_[1] = {0x4B504948, 1, pages_ + page_ - map.size(), nullptr};
  EXPECT_EQ(GetParam(), only(1, false) != "");
}

TEST_P(Hostile, OtherVersionsAndMagics)
{
  static const std::string co = fixture("vector_add-gfx90a-v5.co");
  wrappers_[2] = {0x48495046, 2, co.data(), nullptr};
  EXPECT_EQ(GetParam() ? "a wrapper of version 2, not 1" : "", only(2, false));
  wrappers_[2] = {0x48495046, 0, co.data(), nullptr};
  EXPECT_EQ(GetParam() ? "a wrapper of version 0, not 1" : "", only(2, false));
  wrappers_[2] = {0x48495047, 1, co.data(), nullptr};
  EXPECT_EQ(0u, found().size());
  strcpy(pages_, "no code object at all");
  wrappers_[2] = {0x48495046, 1, pages_, nullptr};
  std::string why = only(2, false);
  EXPECT_EQ(GetParam(), why != "") << why;
}

// One bad wrapper takes nothing from the others, wherever it is.
// As a program's constructors hand it over.
TEST(Wrapper, SaysWhatItPointsToOrWhyNot)
{
  const uint32_t hipf = 0x48495046, hipk = 0x4b504948;
  const struct {
    uint32_t magic, version;
    const void *image;
    rawhal_status_t status;
  } rows[] = {{hipf, 1, &hipf, RAWHAL_OK},
              {hipk, 1, &hipf, RAWHAL_OK},
              {hipf, 2, &hipf, RAWHAL_MALFORMED},
              {hipk + 1, 1, &hipf, RAWHAL_MALFORMED},
              {hipf, 1, nullptr, RAWHAL_MALFORMED}};
  rawhal_process_fatbin_t fatbin;
  rawhal_error_t error;
  for (const auto &row : rows) {
    const Wrapper wrapper = {row.magic, row.version, row.image, nullptr};
    EXPECT_EQ(row.status, rawhal_process_wrapper(&wrapper, &fatbin, &error)) << row.magic;
    EXPECT_EQ(row.image, fatbin.image.data);
    EXPECT_EQ(row.magic == hipk, fatbin.kpack);
  }
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_process_wrapper(nullptr, &fatbin, &error));
}

TEST_P(Hostile, GoodOnesBetweenBadOnes)
{
  static const std::string co = fixture("vector_add-gfx90a-v5.co");
  for (size_t i = 0; i < 64; ++i)
    wrappers_[i] = i % 3 ? Wrapper{0x48495046, 1, pages_ + page_ + i, nullptr}
                         : Wrapper{0x48495046, 1, co.data(), nullptr};
  std::vector<rawhal_process_fatbin_t> all = found();
  ASSERT_EQ(GetParam() ? 64u : 22u, all.size());
  size_t good = 0;
  for (const rawhal_process_fatbin_t &each : all) {
    const Wrapper *wrapper = static_cast<const Wrapper *>(each.wrapper);
    EXPECT_EQ((wrapper - wrappers_) % 3 == 0, each.image.size == co.size());
    good += each.image.size == co.size();
  }
  EXPECT_EQ(22u, good);
}

// Segments that the program itself has taken from a module are not read.
TEST_P(Hostile, PagesOfAModuleThatAreForbidden)
{
  wrappers_[0] = {0x48495046, 1, pages_ + page_, nullptr};
  char *start = reinterpret_cast<char *>(reinterpret_cast<uintptr_t>(wrappers_) & ~(page_ - 1));
  char *end = reinterpret_cast<char *>(wrappers_ + 64);
  size_t size = (static_cast<size_t>(end - start) + page_ - 1) / page_ * page_;
  ASSERT_EQ(0, mprotect(start, size, PROT_NONE));
  Process process = look();
  ASSERT_EQ(0, mprotect(start, size, PROT_READ | PROT_WRITE));
  EXPECT_EQ(0u, fatbins_of(process, path_).size());
  EXPECT_EQ(GetParam() ? 1u : 0u, found().size());
}
