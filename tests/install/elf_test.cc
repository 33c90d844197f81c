// What is built and what is installed loads libraries from the folders it names only: no program or
// library has the current directory in its path, and nothing installed knows the build tree.
#include "tests/tools/process.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <dlfcn.h>
#include <gelf.h>
#include <libelf.h>
#include <sys/auxv.h>

#include <rawhal/hal.h>

namespace fs = std::filesystem;

namespace {

const std::string build = RAWHAL_BUILD_DIR, source = RAWHAL_SOURCE_DIR;

std::vector<std::string> split(const std::string &path)
{
  std::vector<std::string> elements;
  for (size_t at = 0;;) {
    size_t colon = path.find(':', at);
    elements.push_back(path.substr(at, colon - at));
    if (colon == std::string::npos)
      return elements;
    at = colon + 1;
  }
}

// Why a search path is not to be trusted; empty when it is.
std::string flaw(const std::string &path, bool installed)
{
  for (const std::string &element : split(path)) {
    bool own = element == "$ORIGIN" || element.rfind("$ORIGIN/", 0) == 0;
    if (element.empty())
      return "an empty element, which is the current directory";
    if (!own && element[0] != '/')
      return "the relative element '" + element + "'";
    if (installed && element.rfind(build, 0) == 0)
      return "the build tree's '" + element + "'";
  }
  return "";
}

struct Dynamic {
  bool elf = false;
  std::vector<std::string> paths, needed; // RPATH and RUNPATH; NEEDED
  std::vector<std::string> versions;      // of others' symbols: GLIBC_2.28
};

void read_versions(Elf *elf, Elf_Scn *section, const GElf_Shdr &header, Dynamic *dynamic)
{
  Elf_Data *data = elf_getdata(section, nullptr);
  GElf_Verneed file;
  for (int at = 0; data && gelf_getverneed(data, at, &file); at += static_cast<int>(file.vn_next)) {
    GElf_Vernaux version;
    for (int of = at + static_cast<int>(file.vn_aux); gelf_getvernaux(data, of, &version);
         of += static_cast<int>(version.vna_next)) {
      dynamic->versions.push_back(elf_strptr(elf, header.sh_link, version.vna_name));
      if (!version.vna_next)
        break;
    }
    if (!file.vn_next)
      break;
  }
}

void read_section(Elf *elf, Elf_Scn *section, const GElf_Shdr &header, Dynamic *dynamic)
{
  Elf_Data *data = elf_getdata(section, nullptr);
  GElf_Dyn entry;
  for (int i = 0; data && gelf_getdyn(data, i, &entry); ++i) {
    bool path = entry.d_tag == DT_RPATH || entry.d_tag == DT_RUNPATH;
    if (!path && entry.d_tag != DT_NEEDED)
      continue;
    const char *text = elf_strptr(elf, header.sh_link, entry.d_un.d_val);
    (path ? dynamic->paths : dynamic->needed).push_back(text ? text : "(no text)");
  }
}

Dynamic read_dynamic(const fs::path &file)
{
  Dynamic dynamic;
  char magic[SELFMAG] = {};
  std::ifstream(file, std::ios::binary).read(magic, SELFMAG);
  if (memcmp(magic, ELFMAG, SELFMAG))
    return dynamic;
  elf_version(EV_CURRENT);
  int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  Elf *elf = elf_begin(descriptor, ELF_C_READ, nullptr);
  dynamic.elf = elf != nullptr;
  GElf_Shdr header;
  for (Elf_Scn *section = nullptr; elf && (section = elf_nextscn(elf, section));)
    if (gelf_getshdr(section, &header) && header.sh_type == SHT_DYNAMIC)
      read_section(elf, section, header, &dynamic);
    else if (section && header.sh_type == SHT_GNU_verneed)
      read_versions(elf, section, header, &dynamic);
  elf_end(elf);
  close(descriptor);
  return dynamic;
}

// How many programs and libraries there are in `tree`; each is held against the rules.
size_t expect_sound(const std::string &tree, bool installed)
{
  size_t count = 0;
  std::error_code gone; // other tests make and remove files meanwhile
  fs::recursive_directory_iterator at(tree, gone), end;
  for (; !gone && at != end; at.increment(gone)) {
    if (at->path().filename() == "install-test") // users' programs, which come and go
      at.disable_recursion_pending();
    std::error_code unknown;
    if (at->is_symlink(unknown) || !at->is_regular_file(unknown))
      continue;
    Dynamic dynamic = read_dynamic(at->path());
    count += dynamic.elf && !dynamic.needed.empty();
    for (const std::string &path : dynamic.paths)
      EXPECT_EQ("", flaw(path, installed)) << at->path() << " has '" << path << "'";
    for (const std::string &name : dynamic.needed)
      EXPECT_EQ(std::string::npos, name.find('/')) << at->path() << " needs '" << name << "'";
  }
  EXPECT_FALSE(gone) << gone.message();
  return count;
}

// A fresh install tree.
class Installed : public testing::Test {
protected:
  void SetUp() override
  {
    Outcome got = run({RAWHAL_CMAKE, "--install", build, "--prefix", scratch / "prefix"});
    ASSERT_EQ(0, got.status) << got.err;
    prefix = scratch / "prefix";
  }

  Scratch scratch;
  std::string prefix;
};

// The contents of a file, of an ELF file or an archive of them without what only debuggers read.
std::string contents(const fs::path &file)
{
  std::string all = slurp(file), kept;
  elf_version(EV_CURRENT);
  Elf *whole = elf_memory(all.data(), all.size());
  Elf_Kind kind = whole ? elf_kind(whole) : ELF_K_NONE;
  elf_end(whole);
  if (kind != ELF_K_ELF && kind != ELF_K_AR)
    return all;
  int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  Elf *outer = elf_begin(descriptor, ELF_C_READ, nullptr), *elf;
  for (Elf_Cmd command = ELF_C_READ; (elf = elf_begin(descriptor, command, outer));) {
    size_t names = 0;
    GElf_Shdr header;
    elf_getshdrstrndx(elf, &names);
    for (Elf_Scn *section = nullptr; (section = elf_nextscn(elf, section));) {
      const char *name =
          gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : "";
      bool debug = name && !strncmp(name, ".debug", 6);
      Elf_Data *data =
          debug || header.sh_type == SHT_NOBITS ? nullptr : elf_rawdata(section, nullptr);
      if (data && data->d_buf)
        kept.append(static_cast<const char *>(data->d_buf), data->d_size);
    }
    command = elf_next(elf);
    elf_end(elf);
    if (kind == ELF_K_ELF)
      break;
  }
  elf_end(outer);
  close(descriptor);
  return kept;
}

} // namespace

TEST(Built, EveryLibraryPathIsAbsoluteOrTheFilesOwn)
{
  EXPECT_GE(expect_sound(build, false), 5u);
}

TEST(Built, TheRulesSeeWhatIsWrong)
{
  EXPECT_NE("", flaw("", false));
  EXPECT_NE("", flaw("/usr/lib:", false));
  EXPECT_NE("", flaw(":/usr/lib", false));
  EXPECT_NE("", flaw("/usr/lib::$ORIGIN", false));
  EXPECT_NE("", flaw("lib", false));
  EXPECT_NE("", flaw("$ORIGINAL/lib", false));
  EXPECT_NE("", flaw(build + "/lib", true));
  EXPECT_EQ("", flaw(build + "/lib", false));
  EXPECT_EQ("", flaw("$ORIGIN/../lib:$ORIGIN:/usr/lib", true));
}

// A library of the name of one it needs beside a file is not executed.
TEST(Built, TheToolLoadsNothingFromTheCurrentDirectory)
{
  Scratch scratch;
  Dynamic tool = read_dynamic(RAWHAL_TOOL);
  ASSERT_TRUE(tool.elf);
  for (const std::string &name : tool.needed)
    spit(scratch / name, "this is no library", 18);
  Outcome got = run({"/bin/sh", "-c", "cd '" + scratch.root + "' && '" RAWHAL_TOOL "' --version"});
  EXPECT_EQ(0, got.status) << got.err;
}

TEST_F(Installed, EveryLibraryPathIsTheFilesOwn)
{
  EXPECT_GE(expect_sound(prefix, true), 3u);
}

// The front goes into containers' images, of which many are years older than what it was built on. libelf the runtime has,
// too, and one file in a process is both's.
TEST_F(Installed, TheFrontNeedsAGlibcOf2018)
{
  if (*RAWHAL_SANITIZER)
    GTEST_SKIP() << "sanitizers need this machine's C library";
  const std::set<std::string> known = {"libc.so.6",          "libpthread.so.0",
                                       "libdl.so.2",         "libelf.so.1",
                                       "librawhal-front.so", "ld-linux-aarch64.so.1"};
  int fronts = 0;
  for (const auto &entry : fs::recursive_directory_iterator(prefix)) {
    if (entry.path().filename().string().rfind("librawhal-front", 0) != 0)
      continue;
    const Dynamic dynamic = read_dynamic(entry.path());
    for (const std::string &name : dynamic.needed)
      EXPECT_EQ(1u, known.count(name)) << entry.path() << " needs " << name;
    int counted = 0, minor = 0;
    for (const std::string &version : dynamic.versions) {
      counted += version.rfind("GLIBC_", 0) == 0;
      minor = 0;
      sscanf(version.c_str(), "GLIBC_2.%d", &minor);
      EXPECT_LE(minor, 28) << entry.path() << " needs " << version;
    }
    EXPECT_GT(counted, 0) << entry.path();
    ++fronts;
  }
  EXPECT_EQ(2, fronts);
}

TEST_F(Installed, NothingKnowsWhereItWasBuilt)
{
  if (*RAWHAL_SANITIZER)
    GTEST_SKIP() << "sanitizers keep the names of sources for their reports";
  for (auto at = fs::recursive_directory_iterator(prefix); at != fs::end(at); ++at) {
    if (at->is_symlink() || !at->is_regular_file())
      continue;
    std::string bytes = contents(at->path());
    EXPECT_EQ(std::string::npos, bytes.find(build)) << at->path();
    EXPECT_EQ(std::string::npos, bytes.find(source)) << at->path();
  }
}

// Wherever the tree is moved to, and without the build tree's help, the tool finds softgpu.
TEST_F(Installed, SoftgpuIsFoundBesideTheLibrary)
{
  std::string moved = scratch / "elsewhere";
  fs::rename(prefix, moved);
  const std::string fixture = source + "/tests/fixtures/vector_add-gfx90a-v5.co";
  Outcome got = run({moved + "/bin/rawhal", "coverage", fixture});
  EXPECT_EQ(0, got.status) << got.err;
  fs::path softgpu;
  for (const auto &entry : fs::recursive_directory_iterator(moved))
    if (entry.path().filename() == "libhsakmt.so.1")
      softgpu = entry.path();
  ASSERT_FALSE(softgpu.empty());
  fs::remove(softgpu);
  got = run({moved + "/bin/rawhal", "coverage", fixture});
  EXPECT_EQ(3, got.status);
  EXPECT_NE(std::string::npos, got.err.find(moved)) << got.err;
  EXPECT_EQ(std::string::npos, got.err.find(build)) << got.err;
}

// A package may bring the runtime that softgpu is to have; a GPU of the machine gets the machine's.
TEST_F(Installed, ARuntimeBesideTheLibraryIsSoftgpus)
{
  void *system = dlopen("libhsa-runtime64.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (!system)
    GTEST_SKIP() << "no libhsa-runtime64.so.1 here";
  Dl_info info;
  ASSERT_NE(0, dladdr(dlsym(system, "hsa_init"), &info));
  fs::path place;
  for (const auto &entry : fs::recursive_directory_iterator(prefix))
    if (entry.path().filename() == "librawhal.so")
      place = entry.path().parent_path() / "rawhal" / "runtime";
  ASSERT_FALSE(place.empty());
  fs::create_directory(place);
  fs::copy_file(info.dli_fname, place / "libhsa-runtime64.so.1");
  const std::string own = place / "libhsa-runtime64.so.1";
  Outcome got = run({prefix + "/bin/rawhal", "doctor"}, {"RAWHAL_DEVICE=softgpu"});
  EXPECT_NE(std::string::npos, got.out.find(own)) << got.out;
  got = run({prefix + "/bin/rawhal", "doctor"}, {"RAWHAL_DEVICE=hsa"});
  EXPECT_EQ(std::string::npos, got.out.find(own)) << got.out;
  got = run({prefix + "/bin/rawhal", "doctor"},
            {"RAWHAL_DEVICE=softgpu", std::string("RAWHAL_RUNTIME_LIBRARY=") + info.dli_fname});
  EXPECT_EQ(std::string::npos, got.out.find(own)) << got.out;
}

// A library that was loaded by a relative name is not looked for in whatever is there now.
TEST_F(Installed, ALibraryLoadedByARelativeNameKeepsItsFolder)
{
  fs::path library;
  for (const auto &entry : fs::recursive_directory_iterator(prefix))
    if (entry.path().filename() == "librawhal.so")
      library = entry.path().parent_path();
  ASSERT_FALSE(library.empty());
  const std::string fixture = source + "/tests/fixtures/vector_add-gfx90a-v5.co";
  std::string words = "cd '" + library.parent_path().string() + "' && LD_LIBRARY_PATH='" +
                      library.filename().string() + "' '" + prefix + "/bin/rawhal' coverage '" +
                      fixture + "'";
  Outcome got = run({"/bin/sh", "-c", words});
  EXPECT_EQ(0, got.status) << got.err;
}

/* ---- Privileges ---- */

// In a copy of this program that runs as somebody else.
static int ask_as_somebody_else()
{
  if (!getauxval(AT_SECURE))
    return 77;
  char path[4096];
  rawhal_error_t error = {};
  rawhal_status_t status = rawhal_softgpu_library_path(nullptr, path, sizeof(path), &error);
  return status == RAWHAL_OK && std::string(path) == getenv("RAWHAL_SOFTGPU_LIBRARY");
}

TEST(Privileged, TheEnvironmentNamesNoLibrary)
{
  if (getenv("RAWHAL_TEST_AS_SOMEBODY_ELSE"))
    _exit(ask_as_somebody_else());
  if (geteuid() != 0)
    GTEST_SKIP() << "only root can make a program that runs as somebody else";
  if (*RAWHAL_SANITIZER)
    GTEST_SKIP() << "sanitizers refuse to run with other privileges";
  Scratch scratch;
  ASSERT_EQ(0, chmod(scratch.root.c_str(), 0755));
  std::string copy = scratch / "copy";
  fs::copy_file("/proc/self/exe", copy);
  ASSERT_EQ(0, chown(copy.c_str(), 65534, 65534));
  ASSERT_EQ(0, chmod(copy.c_str(), 06755));
  spit(scratch / "evil.so", "x", 1);
  ASSERT_EQ(0, chmod((scratch / "evil.so").c_str(), 0755));
  Outcome got =
      run({copy, "--gtest_filter=Privileged.TheEnvironmentNamesNoLibrary"},
          {"RAWHAL_SOFTGPU_LIBRARY=" + (scratch / "evil.so"), "RAWHAL_TEST_AS_SOMEBODY_ELSE=1"});
  if (got.status == 77)
    GTEST_SKIP() << "/tmp ignores set-user-ID bits";
  EXPECT_EQ(0, got.status) << got.out << got.err;
}
