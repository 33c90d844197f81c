// A look at this process, and libraries that are made and loaded for it.
#ifndef RAWHAL_TESTS_LIBRARY_PROCESS_TEST_H
#define RAWHAL_TESTS_LIBRARY_PROCESS_TEST_H

#include <rawhal/container.h>
#include <rawhal/process.h>

#include <gtest/gtest.h>

#include <dlfcn.h>

#include <memory>

#include "tests/tools/process.h"

struct ProcessDeleter {
  void operator()(rawhal_process_t *process) const { rawhal_process_close(process); }
};
using Process = std::unique_ptr<rawhal_process_t, ProcessDeleter>;

inline Process look(const rawhal_process_options_t *options = nullptr)
{
  rawhal_process_t *process = nullptr;
  rawhal_error_t error = {};
  EXPECT_EQ(RAWHAL_OK, rawhal_process_open(options, &process, &error)) << error.message;
  return Process(process);
}

inline std::string text(rawhal_string_t string)
{
  return string.size ? std::string(string.data, string.size) : "";
}

inline const rawhal_process_module_t *module_of(const Process &process, const std::string &path,
                                                size_t *index = nullptr)
{
  const rawhal_process_module_t *module;
  for (size_t i = 0; (module = rawhal_process_module(process.get(), i)); ++i)
    if (text(module->path) == path) {
      if (index)
        *index = i;
      return module;
    }
  return nullptr;
}

// Those of the module with that path.
inline std::vector<rawhal_process_fatbin_t> fatbins_of(const Process &process,
                                                       const std::string &path)
{
  std::vector<rawhal_process_fatbin_t> found;
  size_t index = 0;
  if (!module_of(process, path, &index))
    return found;
  for (size_t i = 0; i < rawhal_process_fatbin_count(process.get()); ++i)
    if (rawhal_process_fatbin(process.get(), i)->module == index)
      found.push_back(*rawhal_process_fatbin(process.get(), i));
  return found;
}

inline std::vector<rawhal_process_kernel_t> kernels_of(const Process &process,
                                                       const std::string &path)
{
  std::vector<rawhal_process_kernel_t> found;
  size_t index = 0;
  if (!module_of(process, path, &index))
    return found;
  for (size_t i = 0; i < rawhal_process_kernel_count(process.get()); ++i)
    if (rawhal_process_kernel(process.get(), i)->module == index)
      found.push_back(*rawhal_process_kernel(process.get(), i));
  return found;
}

inline std::string path_of_this_program()
{
  char path[4096];
  ssize_t size = readlink("/proc/self/exe", path, sizeof(path));
  return std::string(path, size > 0 ? static_cast<size_t>(size) : 0);
}

inline std::string fixture(const std::string &name)
{
  return slurp(RAWHAL_SOURCE_DIR "/tests/fixtures/" + name);
}

// The path of a program; empty when it is not installed.
inline std::string program(const std::string &name)
{
  for (const char *folder : {"/usr/bin/", "/usr/local/bin/"})
    if (access((folder + name).c_str(), X_OK) == 0)
      return folder + name;
  return "";
}

// A library that is loaded for as long as this lives.
class Loaded {
public:
  explicit Loaded(const std::string &path) : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
  {
    EXPECT_NE(nullptr, handle_) << dlerror();
  }
  Loaded(const Loaded &) = delete;
  ~Loaded()
  {
    if (handle_)
      dlclose(handle_);
  }
  void *symbol(const char *name) const { return handle_ ? dlsym(handle_, name) : nullptr; }

private:
  void *handle_;
};

// A library in plain C with what HIP's have: `fatbins` in .hip_fatbin, each at a page, and a wrapper for each.
inline std::string wrapper_source(const std::vector<std::string> &files,
                                  const std::string &section = ".hipFatBinSegment")
{
  std::string source =
      "typedef struct { unsigned magic, version; const void *binary; void *unused; } wrapper_t;\n";
  for (size_t i = 0; i < files.size(); ++i) {
    std::string n = std::to_string(i);
    source +=
        "__asm__(\".pushsection .hip_fatbin,\\\"a\\\",@progbits\\n.p2align 12\\n.globl fatbin" + n +
        "\\n.hidden fatbin" + n + "\\nfatbin" + n + ":\\n.incbin \\\"" + files[i] +
        "\\\"\\n.popsection\\n\");\n" + "extern const char fatbin" + n +
        "[] __attribute__((visibility(\"hidden\")));\n" + "wrapper_t wrapper" + n +
        " __attribute__((section(\"" + section + "\"))) = {0x48495046, 1, fatbin" + n + ", 0};\n";
  }
  return source;
}

// Compiles C to a shared library at `path`.
inline void build_library(const std::string &source, const std::string &path,
                          std::vector<std::string> more = {})
{
  spit(path + ".c", source.data(), source.size());
  std::vector<std::string> words = {RAWHAL_CC,   "-shared", "-fPIC", "-O1", "-fno-toplevel-reorder",
                                    path + ".c", "-o",      path};
  words.insert(words.end(), more.begin(), more.end());
  Outcome built = run(words);
  ASSERT_EQ(0, built.status) << built.err;
}

#endif
