// Files that kernels are taken from.
#ifndef TESTS_PROBE_PATHS_H
#define TESTS_PROBE_PATHS_H

#include <algorithm>
#include <filesystem>
#include <glob.h>
#include <string>
#include <vector>

inline std::vector<std::string> matching(const std::string &pattern)
{
  std::vector<std::string> paths;
  glob_t found = {};
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
    paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  globfree(&found);
  return paths;
}

// Files of a folder and those in it, by their ending.
inline std::vector<std::string> below(const char *folder, const std::string &ending)
{
  std::vector<std::string> paths;
  std::error_code none;
  if (folder && std::filesystem::is_directory(folder, none))
    for (const auto &each : std::filesystem::recursive_directory_iterator(folder))
      if (each.path().extension() == ending)
        paths.push_back(each.path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

#endif
