// What clang makes of HIP programs, against what their constructors register: the wrappers, the handles and the names.
#include "process_test.h"

#include <map>
#include <set>

namespace {

struct Registered {
  std::set<const void *> wrappers;
  std::map<std::string, const void *> kernels; // by name, the handle
} registered;

} // namespace

extern "C" {
__attribute__((visibility("default"))) void **__hipRegisterFatBinary(const void *wrapper)
{
  static void *module;
  registered.wrappers.insert(wrapper);
  return &module;
}
__attribute__((visibility("default"))) void __hipUnregisterFatBinary(void **) {}
__attribute__((visibility("default"))) void __hipRegisterFunction(void **, const void *handle,
                                                                  char *, const char *name,
                                                                  unsigned, void *, void *, void *,
                                                                  void *, int *)
{
  registered.kernels[name] = handle;
}
__attribute__((visibility("default"))) int __hipPopCallConfiguration(void *, void *, size_t *,
                                                                     void *)
{
  return 0;
}
__attribute__((visibility("default"))) int hipLaunchKernel(const void *, const void *, const void *,
                                                           void **, size_t, void *)
{
  return 0;
}
}

namespace {

const char *const prelude = "#define __global__ __attribute__((global))\n"
                            "typedef struct stream *hipStream_t;\nstruct dim3 { unsigned x, y, z; "
                            "};\nenum hipError_t { hipSuccess };\n"
                            "extern \"C\" hipError_t hipLaunchKernel(const void *, dim3, dim3, "
                            "void **, unsigned long, hipStream_t);\n"
                            "extern \"C\" hipError_t __hipPopCallConfiguration(dim3 *, dim3 *, "
                            "unsigned long *, hipStream_t *);\n";

// C names, C++ names, digits where a length follows them, templates.
const char *const first =
    "extern \"C\" __global__ void plain(int *out) { *out = 1; }\n"
    "__global__ void mangled(int *out, float x) { *out = (int)x; }\n"
    "namespace ab1 { namespace c22 { __global__ void within(int *out) { *out = 3; } } }\n"
    "template <typename T> __global__ void made(T *out) { *out = 4; }\n"
    "template __global__ void made<float>(float *);\ntemplate __global__ void made<int>(int *);\n";
const char *const second =
    "__global__ void other_unit(int *out) { *out = 5; }\n"
    "struct outer { int x; };\n__global__ void takes(outer o, outer *out) { *out = o; }\n";

const std::set<std::string> firsts = {"plain", "_Z7mangledPif", "_ZN3ab13c226withinEPi",
                                      "_Z4madeIfEvPT_", "_Z4madeIiEvPT_"};
const std::set<std::string> seconds = {"_Z10other_unitPi", "_Z5takes5outerPS_"};

class Hip : public testing::Test {
protected:
  void SetUp() override
  {
    clang = program("clang-19"), lld = program("ld.lld-19");
    if (clang.empty() || lld.empty())
      GTEST_SKIP() << "clang-19 and lld-19 are not installed";
    registered = {};
  }

  std::string object(const char *source, const std::string &name, const char *pic = "-fPIC")
  {
    std::string from = scratch / (name + ".hip"), to = scratch / (name + ".o");
    std::string all = std::string(prelude) + source + "extern \"C\" int *keep_" + name +
                      "(int *p) { return p; }\n";
    spit(from, all.data(), all.size());
    Outcome built = run({clang, "-x", "hip", "--offload-arch=gfx90a", "--offload-arch=gfx942",
                         "-nogpuinc", "-nogpulib", "-O1", pic, "-w", "-c", from, "-o", to},
                        {"PATH=/usr/lib/llvm-19/bin:/usr/bin:/bin"});
    EXPECT_EQ(0, built.status) << built.err;
    return to;
  }

  // Linked by one of two linkers.
  std::string link(const std::string &name, std::vector<std::string> objects, bool with_lld,
                   bool shared = true)
  {
    std::string path = scratch / name;
    std::vector<std::string> words = {clang, "-o", path};
    if (shared)
      words.push_back("-shared");
    words.push_back(with_lld ? "--ld-path=" + lld : "-fuse-ld=bfd");
    words.insert(words.end(), objects.begin(), objects.end());
    Outcome built = run(words);
    EXPECT_EQ(0, built.status) << built.err;
    return path;
  }

  void strip(const std::string &path, const char *how)
  {
    Outcome stripped = run({program("llvm-objcopy-19"), how, path});
    EXPECT_EQ(0, stripped.status) << stripped.err;
  }

  std::string clang, lld;
  Scratch scratch;
};

std::set<std::string> names_of(const std::vector<rawhal_process_kernel_t> &kernels)
{
  std::set<std::string> names;
  for (const rawhal_process_kernel_t &kernel : kernels)
    names.insert(text(kernel.name));
  return names;
}

std::set<std::string> device_kernels(const rawhal_process_fatbin_t &fatbin)
{
  std::set<std::string> names;
  rawhal_container_t *container = nullptr;
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_OK, rawhal_container_open(fatbin.image.data, fatbin.image.size, nullptr,
                                             &container, &error))
      << error.message;
  if (!container)
    return names;
  EXPECT_EQ(2u, rawhal_container_count(container)); // for two processors
  rawhal_bytes_t bytes = rawhal_container_object(container, 0)->bytes;
  rawhal_hsaco_t *hsaco = nullptr;
  EXPECT_EQ(RAWHAL_OK, rawhal_hsaco_open(bytes.data, bytes.size, nullptr, &hsaco, &error))
      << error.message;
  const rawhal_kernel_t *kernel;
  for (size_t i = 0; hsaco && (kernel = rawhal_hsaco_kernel(hsaco, i)); ++i)
    names.insert(text(kernel->name));
  rawhal_hsaco_close(hsaco);
  rawhal_container_close(container);
  return names;
}

void expect_what_was_registered(const std::string &path, bool sections,
                                rawhal_process_names_t names)
{
  Process process = look();
  const rawhal_process_module_t *module = module_of(process, path);
  ASSERT_NE(nullptr, module);
  EXPECT_EQ(sections, module->sections);
  EXPECT_EQ(names, module->names);
  std::set<const void *> wrappers;
  std::set<std::string> in_images;
  for (const rawhal_process_fatbin_t &fatbin : fatbins_of(process, path)) {
    EXPECT_EQ("", text(fatbin.why_not));
    wrappers.insert(fatbin.wrapper);
    in_images.merge(device_kernels(fatbin));
  }
  EXPECT_EQ(registered.wrappers, wrappers);
  std::set<std::string> told;
  for (const auto &[name, handle] : registered.kernels)
    told.insert(name);
  EXPECT_EQ(told, in_images);
  std::vector<rawhal_process_kernel_t> kernels = kernels_of(process, path);
  EXPECT_EQ(names == RAWHAL_NAMES_NONE ? std::set<std::string>() : told, names_of(kernels));
  for (const rawhal_process_kernel_t &kernel : kernels) {
    const void *handle = registered.kernels[text(kernel.name)];
    EXPECT_EQ(reinterpret_cast<uint64_t>(handle), kernel.handle) << text(kernel.name);
    EXPECT_EQ(*static_cast<const uint64_t *>(handle), kernel.stub);
    const rawhal_process_kernel_t *found = rawhal_process_find_handle(process.get(), kernel.handle);
    ASSERT_NE(nullptr, found);
    EXPECT_EQ(text(kernel.name), text(found->name));
  }
  EXPECT_EQ(nullptr, rawhal_process_find_handle(process.get(), 1));
}

} // namespace

TEST_F(Hip, LibrariesOfOneAndOfTwoUnits)
{
  std::string one = object(first, "one"), two = object(second, "two");
  for (bool with_lld : {false, true})
    for (bool both : {false, true}) {
      SCOPED_TRACE(std::string(with_lld ? "lld" : "bfd") + (both ? ", two units" : ", one"));
      registered = {};
      std::string path =
          link(std::string("lib") + (with_lld ? "l" : "b") + (both ? "2.so" : "1.so"),
               both ? std::vector<std::string>{one, two} : std::vector<std::string>{one}, with_lld);
      Loaded library(path);
      EXPECT_EQ(both ? 2u : 1u, registered.wrappers.size());
      EXPECT_EQ(both ? 7u : 5u, registered.kernels.size());
      expect_what_was_registered(path, true, RAWHAL_NAMES_ALL);
    }
}

// Without .symtab, exported names are left; without sections, none.
TEST_F(Hip, StrippedLibraries)
{
  std::string one = object(first, "one"), two = object(second, "two");
  for (bool with_lld : {false, true})
    for (bool sections : {true, false}) {
      SCOPED_TRACE(std::string(with_lld ? "lld" : "bfd") + (sections ? "" : ", no sections"));
      registered = {};
      std::string path =
          link(std::string("stripped") + (with_lld ? "l" : "b") + (sections ? "s.so" : ".so"),
               {one, two}, with_lld);
      strip(path, sections ? "--strip-all" : "--strip-sections");
      Loaded library(path);
      EXPECT_EQ(2u, registered.wrappers.size());
      expect_what_was_registered(path, sections,
                                 sections ? RAWHAL_NAMES_DYNAMIC : RAWHAL_NAMES_NONE);
    }
}

// Hidden kernels are gone with .symtab; a file tells the same names as the library that is loaded from it.
TEST_F(Hip, HiddenKernelsAndFiles)
{
  std::string source = std::string("#pragma GCC visibility push(hidden)\n") + second +
                       "#pragma GCC visibility pop\n" + first;
  std::string path = link("hidden.so", {object(source.c_str(), "hidden")}, true);
  rawhal_process_t *opened = nullptr;
  rawhal_error_t error = {};
  ASSERT_EQ(RAWHAL_OK, rawhal_process_open_file(path.c_str(), nullptr, &opened, &error))
      << error.message;
  Process file(opened);
  std::set<std::string> all = firsts;
  all.insert(seconds.begin(), seconds.end());
  EXPECT_EQ(all, names_of(kernels_of(file, path)));
  EXPECT_EQ(RAWHAL_NAMES_ALL, module_of(file, path)->names);
  EXPECT_EQ(0u, rawhal_process_fatbin_count(file.get()));
  {
    Loaded library(path);
    Process process = look();
    uint64_t base = module_of(process, path)->base;
    std::vector<rawhal_process_kernel_t> here = kernels_of(process, path),
                                         there = kernels_of(file, path);
    ASSERT_EQ(there.size(), here.size());
    for (size_t i = 0; i < here.size(); ++i) {
      EXPECT_EQ(text(there[i].name), text(here[i].name));
      EXPECT_EQ(there[i].handle + base, here[i].handle);
      EXPECT_EQ(there[i].stub + base, here[i].stub);
    }
  }
  strip(path, "--strip-all");
  ASSERT_EQ(RAWHAL_OK, rawhal_process_open_file(path.c_str(), nullptr, &opened, &error))
      << error.message;
  file.reset(opened);
  EXPECT_EQ(firsts, names_of(kernels_of(file, path)));
  EXPECT_EQ(RAWHAL_NAMES_DYNAMIC, module_of(file, path)->names);
}

// Kernels with internal linkage have another name on the device; the host's is listed.
TEST_F(Hip, KernelsOfOneUnitAlone)
{
  std::string path = link("internal.so",
                          {object("static __global__ void only(int *p) { *p = 1; }\n"
                                  "extern \"C\" const void *use() { return (const void *)only; }\n",
                                  "internal")},
                          true);
  Loaded library(path);
  Process process = look();
  EXPECT_EQ(1u, fatbins_of(process, path).size());
  ASSERT_EQ(1u, registered.kernels.size());
  std::vector<rawhal_process_kernel_t> kernels = kernels_of(process, path);
  ASSERT_EQ(1u, kernels.size());
  EXPECT_EQ("_ZL4onlyPi", text(kernels[0].name));
  EXPECT_EQ(0u, registered.kernels.begin()->first.find("_ZL4onlyPi"));
  EXPECT_EQ(reinterpret_cast<uint64_t>(registered.kernels.begin()->second), kernels[0].handle);
}

// Bundles that clang has compressed.
TEST_F(Hip, CompressedBundles)
{
  std::string from = scratch / "small.hip", all = std::string(prelude) + second;
  spit(from, all.data(), all.size());
  Outcome built = run({clang, "-x", "hip", "--offload-arch=gfx90a", "--offload-arch=gfx942",
                       "--offload-compress", "-nogpuinc", "-nogpulib", "-O1", "-fPIC", "-w", "-c",
                       from, "-o", scratch / "small.o"},
                      {"PATH=/usr/lib/llvm-19/bin:/usr/bin:/bin"});
  ASSERT_EQ(0, built.status) << built.err;
  std::string path = link("compressed.so", {scratch / "small.o"}, true);
  Loaded library(path);
  std::vector<rawhal_process_fatbin_t> found = fatbins_of(look(), path);
  ASSERT_EQ(1u, found.size());
  EXPECT_EQ(0, memcmp(found[0].image.data, "CCOB", 4));
  expect_what_was_registered(path, true, RAWHAL_NAMES_ALL);
}

namespace {

// Says what it finds in itself, and whether that is what its constructors registered.
const char *const main_source = R"(
#include <rawhal/process.h>
#include <stdio.h>
static const void *wrappers[8];
static const void *handles[16];
static char *names[16];
static int wrapper_count, kernel_count;
void **__hipRegisterFatBinary(const void *w) { static void *m; wrappers[wrapper_count++] = w; return &m; }
void __hipUnregisterFatBinary(void **m) { (void)m; }
void __hipRegisterFunction(void **m, const void *handle, char *a, char *name)
{
  (void)m, (void)a;
  names[kernel_count] = name;
  handles[kernel_count++] = handle;
}
int __hipPopCallConfiguration(void) { return 0; }
int hipLaunchKernel(void) { return 0; }
int main(void)
{
  rawhal_process_t *process;
  rawhal_error_t error;
  if (rawhal_process_open(NULL, &process, &error))
    return puts(error.message);
  int found = 0, known = 0;
  for (size_t i = 0; i < rawhal_process_fatbin_count(process); ++i)
    for (int w = 0; w < wrapper_count; ++w)
      found += rawhal_process_fatbin(process, i)->wrapper == wrappers[w] && rawhal_process_fatbin(process, i)->image.size;
  for (int k = 0; k < kernel_count; ++k) {
    const rawhal_process_kernel_t *kernel = rawhal_process_find_handle(process, (uint64_t)(uintptr_t)handles[k]);
    known += kernel && !strcmp(kernel->name.data, names[k]);
  }
  const rawhal_process_module_t *module = rawhal_process_module(process, 0);
  printf("%d of %d wrappers, %d of %d kernels, %s, names %d\n", found, wrapper_count, known, kernel_count,
         module && module->sections ? "sections" : "searched", module ? (int)module->names : -1);
  rawhal_process_close(process);
  return 0;
}
)";

} // namespace

TEST_F(Hip, Programs)
{
  if (*RAWHAL_SANITIZER)
    GTEST_SKIP() << "the program would need the sanitizer, too";
  spit(scratch / "main.c", main_source, strlen(main_source));
  std::string one = object(first, "one"), two = object(second, "two");
  const std::string library = RAWHAL_SHARED;
  Outcome built = run({clang, "-fPIE", "-I" RAWHAL_INCLUDE_DIR, "-c", scratch / "main.c", "-o",
                       scratch / "main.o"});
  ASSERT_EQ(0, built.status) << built.err;
  for (bool with_lld : {false, true})
    for (const char *kind : {"-pie", "-no-pie"})
      for (const char *how : {"", "--strip-all", "--strip-sections"}) {
        SCOPED_TRACE(std::string(with_lld ? "lld " : "bfd ") + kind + how);
        std::string path = scratch / "program";
        Outcome linked = run({clang, kind, with_lld ? "--ld-path=" + lld : "-fuse-ld=bfd",
                              scratch / "main.o", one, two, library,
                              "-Wl,-rpath," + library.substr(0, library.rfind('/')), "-o", path});
        ASSERT_EQ(0, linked.status) << linked.err;
        if (*how)
          strip(path, how);
        // A program exports nothing, so that stripping it leaves no kernel's name.
        const char *expected = !*how ? "7 of 7 kernels, sections, names 2"
                               : std::string(how) == "--strip-all"
                                   ? "0 of 7 kernels, sections, names 1"
                                   : "0 of 7 kernels, searched, names 0";
        EXPECT_EQ("2 of 2 wrappers, " + std::string(expected) + "\n", run({path}).out);
      }
}
