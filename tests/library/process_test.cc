// Fat binaries of this program and of libraries that are loaded into it, made by hand.
#include "process_test.h"
#include "tests/cancelled.h"
#include "tests/harness/allocator.h"

#include <atomic>
#include <thread>

// A fat binary of this program's own: a code object as it is.
__asm__(".pushsection .hip_fatbin,\"a\",@progbits\n.p2align 12\n.globl own_fatbin\n.hidden "
        "own_fatbin\nown_fatbin:\n"
        ".incbin \"" RAWHAL_SOURCE_DIR "/tests/fixtures/vector_add-gfx90a-v5.co\"\n.popsection\n");
extern "C" __attribute__((visibility("hidden"))) const char own_fatbin[];

struct Wrapper {
  uint32_t magic, version;
  const void *binary;
  void *unused;
};
__attribute__((section(".hipFatBinSegment"), used)) static Wrapper own_wrapper = {
    0x48495046, 1, own_fatbin, nullptr};

TEST(Process, TheProgramsOwn)
{
  Process process = look();
  std::vector<rawhal_process_fatbin_t> found = fatbins_of(process, path_of_this_program());
  ASSERT_EQ(1u, found.size());
  EXPECT_EQ(&own_wrapper, found[0].wrapper);
  EXPECT_EQ(own_fatbin, found[0].image.data);
  EXPECT_EQ(fixture("vector_add-gfx90a-v5.co").size(), found[0].image.size);
  EXPECT_EQ("", text(found[0].why_not));
  EXPECT_TRUE(module_of(process, path_of_this_program())->sections);
  EXPECT_EQ(nullptr,
            rawhal_process_fatbin(process.get(), rawhal_process_fatbin_count(process.get())));
  EXPECT_EQ(nullptr,
            rawhal_process_kernel(process.get(), rawhal_process_kernel_count(process.get())));
}

// The loader's lock is held meanwhile.
TEST(Process, ACancelledThreadLooksToTheEnd)
{
  const std::string path = path_of_this_program();
  EXPECT_TRUE(goes_on_though_cancelled([&] {
    rawhal_process_t *process = nullptr;
    EXPECT_EQ(RAWHAL_OK, rawhal_process_open(nullptr, &process, nullptr));
    rawhal_process_close(process);
    EXPECT_EQ(RAWHAL_OK, rawhal_process_open_file(path.c_str(), nullptr, &process, nullptr));
    rawhal_process_close(process);
  }));
  EXPECT_EQ(1u, fatbins_of(look(), path).size());
}

// By sections, and by a search where there are none; whichever linker put it together.
TEST(Process, LibrariesThatAreLoaded)
{
  const std::string co = RAWHAL_SOURCE_DIR "/tests/fixtures/reduce-gfx90a-v5.co";
  const std::string bundle = RAWHAL_SOURCE_DIR "/tests/fixtures/vector_add.bundle";
  Scratch scratch;
  for (const char *linker : {"bfd", "lld"})
    for (bool sections : {true, false})
      for (bool build_id : {true, false}) {
        SCOPED_TRACE(std::string(linker) + (sections ? ", sections" : ", none") +
                     (build_id ? ", id" : ""));
        std::string path = scratch / (std::string(linker) + (sections ? "s" : "n") +
                                      (build_id ? "i" : "") + ".so");
        std::vector<std::string> options = {build_id ? "-Wl,--build-id" : "-Wl,--build-id=none"};
        if (*linker == 'l') {
          if (program("ld.lld-19").empty())
            continue;
          (void)!symlink(program("ld.lld-19").c_str(), (scratch / "ld.lld").c_str());
          options.push_back("-fuse-ld=lld");
          options.push_back("-B" + scratch.root);
        }
        ASSERT_NO_FATAL_FAILURE(build_library(wrapper_source({co, bundle}), path, options));
        if (!sections) {
          if (program("llvm-objcopy-19").empty())
            continue;
          Outcome stripped = run({program("llvm-objcopy-19"), "--strip-sections", path});
          ASSERT_EQ(0, stripped.status) << stripped.err;
        }
        Loaded library(path);
        Process process = look();
        std::vector<rawhal_process_fatbin_t> found = fatbins_of(process, path);
        ASSERT_EQ(2u, found.size());
        EXPECT_EQ(sections, module_of(process, path)->sections);
        EXPECT_EQ(library.symbol("wrapper0"), found[0].wrapper);
        EXPECT_EQ(library.symbol("wrapper1"), found[1].wrapper);
        EXPECT_TRUE(slurp(co) == std::string(static_cast<const char *>(found[0].image.data),
                                             found[0].image.size));
        EXPECT_TRUE(slurp(bundle) == std::string(static_cast<const char *>(found[1].image.data),
                                                 found[1].image.size));
        rawhal_container_t *container = nullptr;
        rawhal_error_t error = {};
        ASSERT_EQ(RAWHAL_OK, rawhal_container_open(found[1].image.data, found[1].image.size,
                                                   nullptr, &container, &error))
            << error.message;
        EXPECT_EQ(2u, rawhal_container_count(container));
        rawhal_container_close(container);
      }
}

// A library that was replaced by another, or deleted, after it was loaded: its file says nothing about it.
TEST(Process, AFileThatIsNoLongerTheModules)
{
  const std::string co = RAWHAL_SOURCE_DIR "/tests/fixtures/reduce-gfx90a-v5.co";
  Scratch scratch;
  for (bool build_id : {true, false}) {
    std::string path = scratch / (build_id ? "id.so" : "none.so"), other = path + ".other";
    std::string id = build_id ? "-Wl,--build-id" : "-Wl,--build-id=none";
    ASSERT_NO_FATAL_FAILURE(build_library("int more = 1;\n" + wrapper_source({co}), path, {id}));
    ASSERT_NO_FATAL_FAILURE(build_library("int more = 2;\n" + wrapper_source({co}), other, {id}));
    Loaded library(path);
    EXPECT_TRUE(module_of(look(), path)->sections);
    ASSERT_EQ(0, rename(other.c_str(), path.c_str()));
    Process process = look();
    ASSERT_EQ(1u, fatbins_of(process, path).size());
    EXPECT_FALSE(module_of(process, path)->sections);
    EXPECT_EQ(RAWHAL_NAMES_NONE, module_of(process, path)->names);
    EXPECT_EQ(library.symbol("wrapper0"), fatbins_of(process, path)[0].wrapper);
    ASSERT_EQ(0, unlink(path.c_str()));
    EXPECT_EQ(1u, fatbins_of(look(), path).size());
  }
}

// References to kpack archives are msgpack, and as long as that.
TEST(Process, ReferencesToKpackArchives)
{
  Scratch scratch;
  const std::string good =
      std::string("\x82\xabkernel_name\xa8lib/x.so\xb2kpack_search_paths\x91\xa7"
                  "a.kpack");
  spit(scratch / "reference", good.data(), good.size());
  std::string source = wrapper_source({scratch / "reference"});
  source.replace(source.find("0x48495046"), 10, "0x4B504948");
  ASSERT_NO_FATAL_FAILURE(build_library(source, scratch / "kpack.so"));
  Loaded library(scratch / "kpack.so");
  std::vector<rawhal_process_fatbin_t> found = fatbins_of(look(), scratch / "kpack.so");
  ASSERT_EQ(1u, found.size());
  EXPECT_TRUE(found[0].kpack);
  EXPECT_EQ("", text(found[0].why_not));
  EXPECT_EQ(good.size(), found[0].image.size);
}

TEST(Process, Options)
{
  rawhal_process_options_t options = {};
  rawhal_process_t *process = nullptr;
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_process_open(nullptr, nullptr, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_process_open_file(nullptr, nullptr, &process, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_process_open_file("/nowhere", nullptr, &process, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT, rawhal_process_open_file("/proc", nullptr, &process, &error));
  EXPECT_EQ(RAWHAL_INVALID_ARGUMENT,
            rawhal_process_open_file("/dev/null", nullptr, &process, &error));
  rawhal_process_close(nullptr);
  Scratch scratch;
  const std::string co = RAWHAL_SOURCE_DIR "/tests/fixtures/reduce-gfx90a-v5.co";
  ASSERT_NO_FATAL_FAILURE(build_library(wrapper_source({co, co, co}), scratch / "three.so"));
  Loaded library(scratch / "three.so");
  options.max_fatbins = 3; // and the program's own
  EXPECT_EQ(RAWHAL_CAP_EXCEEDED, rawhal_process_open(&options, &process, &error));
  EXPECT_EQ(nullptr, process);
  EXPECT_STREQ("more than 3 fat binaries (max_fatbins)", error.message);
  options.max_fatbins = 4;
  EXPECT_EQ(3u, fatbins_of(look(&options), scratch / "three.so").size());
}

TEST(Process, MemoryIsTheAllocatorsAndMayEnd)
{
  Allocator own;
  rawhal_process_options_t options = {};
  options.allocator = own.hook();
  int refused = 0;
  for (long allowed = 0; allowed < 200; ++allowed) {
    rawhal_process_t *process = nullptr;
    rawhal_error_t error = {};
    own.left = allowed;
    rawhal_status_t status = rawhal_process_open(&options, &process, &error);
    own.left = -1;
    refused += status != RAWHAL_OK;
    if (status == RAWHAL_OK) {
      EXPECT_GE(rawhal_process_fatbin_count(process), 1u);
    } else {
      EXPECT_EQ(RAWHAL_OUT_OF_MEMORY, status) << error.message;
    }
    rawhal_process_close(process);
    EXPECT_EQ(0u, own.live());
    if (status == RAWHAL_OK)
      break;
  }
  EXPECT_GT(refused, 2);
}

// Others load and unload meanwhile: what is listed was all there at once.
TEST(Process, WhileLibrariesComeAndGo)
{
  const std::string co = RAWHAL_SOURCE_DIR "/tests/fixtures/reduce-gfx90a-v5.co";
  Scratch scratch;
  std::string path = scratch / "coming.so";
  ASSERT_NO_FATAL_FAILURE(build_library(wrapper_source({co, co}), path));
  std::atomic<bool> done{false};
  std::atomic<unsigned> rounds{0};
  std::thread other([&] {
    for (; !done; ++rounds)
      if (void *handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
        dlclose(handle);
  });
  unsigned there = 0, early = 0;
  const size_t size = slurp(co).size();
  for (unsigned i = 0; i < 300 || (rounds < 100 && i < 20000); ++i) {
    std::this_thread::yield();
    Process process = look();
    std::vector<rawhal_process_fatbin_t> found = fatbins_of(process, path);
    EXPECT_TRUE(found.empty() || found.size() == 2) << found.size();
    there += found.size() == 2;
    for (const rawhal_process_fatbin_t &each : found) { // loaded, or not relocated yet
      EXPECT_TRUE(each.image.size == size || text(each.why_not) != "") << each.image.size;
      early += each.image.size != size;
    }
  }
  done = true;
  other.join();
  RecordProperty("there", static_cast<int>(there));
  RecordProperty("early", static_cast<int>(early));
}
