// Debian's libraries that ./dev unpacks beside the build folders.
#pragma once

#include <dlfcn.h>
#include <glob.h>

#include <string>

// `pattern` is of a path in the build folder. Stays open; NULL when the library is not there.
inline void *unpacked_library(const char *pattern)
{
  std::string path = std::string(RAWHAL_BUILD_DIR "/") + pattern;
  glob_t found{};
  void *opened = nullptr;
  if (glob(path.c_str(), 0, nullptr, &found) == 0)
    opened = dlopen(found.gl_pathv[0], RTLD_NOW | RTLD_LOCAL);
  globfree(&found);
  return opened;
}

inline void *rocrand_library()
{
  static void *opened = unpacked_library("rocrand/usr/lib/*/librocrand.so.1");
  return opened;
}

inline void *rocsparse_library()
{
  static void *opened = unpacked_library("rocsparse/usr/lib/*/librocsparse.so.0");
  return opened;
}
