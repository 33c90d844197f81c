// What programs that link the library see of it: what exports.txt says, and nothing else.
#include "tests/tools/process.h"

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <set>
#include <sstream>

#include <rawhal/version.h>

namespace {

std::set<std::string> lines(const std::string &text)
{
  std::istringstream stream(text);
  std::set<std::string> all;
  for (std::string line; std::getline(stream, line);)
    all.insert(line);
  return all;
}

// `nm -P`: a name, its kind and more on each line; "archive[member]:" before them.
std::set<std::string> symbols(const std::vector<std::string> &command, const char *only = "")
{
  Outcome got = run(command);
  EXPECT_EQ(0, got.status) << got.err;
  std::set<std::string> names;
  for (const std::string &line : lines(got.out)) {
    std::istringstream words(line);
    std::string name, kind;
    if (words >> name >> kind && kind != "A" && (!*only || kind == only))
      names.insert(name.substr(0, name.find('@')));
  }
  return names;
}

std::set<std::string> committed()
{
  return lines(slurp(RAWHAL_SOURCE_DIR "/tests/install/exports.txt"));
}

} // namespace

TEST(Exports, OfTheSharedLibrary)
{
  EXPECT_EQ(committed(), symbols({RAWHAL_NM, "-DgP", "--defined-only", RAWHAL_SHARED}));
}

TEST(Exports, OfTheArchive)
{
  EXPECT_EQ(committed(), symbols({RAWHAL_NM, "-gP", "--defined-only", RAWHAL_ARCHIVE}));
}

// What other libraries the archive needs: a program's own function of such a name would be taken for theirs. libelf, of
// another licence, is not inside. (pthread_atfork() is in the part of libc that is always linked in.)
TEST(Exports, TheArchiveAsksForNothingButLibelf)
{
  if (!RAWHAL_BUNDLED)
    GTEST_SKIP() << "built without libz.a or libzstd.a";
  void *libc = dlopen("libc.so.6", RTLD_LAZY);
  ASSERT_NE(nullptr, libc);
  std::set<std::string> foreign;
  for (const std::string &name : symbols({RAWHAL_NM, "-uP", RAWHAL_ARCHIVE}, "U"))
    if (name[0] != '_' && name != "pthread_atfork" && !dlsym(libc, name.c_str()))
      foreign.insert(name);
  EXPECT_EQ((std::set<std::string>{"elf64_xlatetom", "elf_errmsg"}), foreign);
}

// What is for tests alone is still there for them.
TEST(Exports, AreNotAllThereIs)
{
  EXPECT_LT(committed().size() + 100,
            symbols({RAWHAL_NM, "-gP", "--defined-only", RAWHAL_PARTS}).size());
}

TEST(Version, OfTheHeadersIsTheLibrarys)
{
  EXPECT_EQ(RAWHAL_VERSION, static_cast<int>(rawhal_version()));
  EXPECT_EQ(std::to_string(RAWHAL_VERSION_MAJOR) + "." + std::to_string(RAWHAL_VERSION_MINOR) +
                "." + std::to_string(RAWHAL_VERSION_PATCH),
            rawhal_version_text());
  EXPECT_STREQ(RAWHAL_PROJECT_VERSION, rawhal_version_text());
  EXPECT_LT(RAWHAL_VERSION_NUMBER(0, 1, 999), RAWHAL_VERSION_NUMBER(0, 2, 0));
}
