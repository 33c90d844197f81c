// What others read in core files: binutils' readelf, elfutils' and gdb, as distributions have them.
#ifndef TESTS_DEBUG_READERS_H
#define TESTS_DEBUG_READERS_H

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace readers {

using Ranges = std::map<uint64_t, std::string>; // bytes that must stand at an address

struct File {
  std::string path;
  Ranges ranges;
};

struct Answer {
  std::string text;
  int status;
};

inline Answer answer(const std::string &command)
{
  Answer got;
  FILE *pipe = popen((command + " 2>&1").c_str(), "r");
  char piece[4096];
  for (size_t size; pipe && (size = fread(piece, 1, sizeof piece, pipe)) > 0;)
    got.text.append(piece, size);
  got.status = pipe ? pclose(pipe) : -1;
  return got;
}

inline bool has(const char *program)
{
  return answer(std::string("command -v ") + program).status == 0;
}

// The bytes of a range by a listing of segments: "LOAD  offset address physical size".
inline std::string bytes_by(const std::string &listing, const std::string &file, uint64_t address,
                            uint64_t size)
{
  std::istringstream lines(listing);
  for (std::string line; std::getline(lines, line);) {
    unsigned long long offset, from, length;
    if (sscanf(line.c_str(), " LOAD 0x%llx 0x%llx 0x%*x 0x%llx", &offset, &from, &length) == 3 &&
        from <= address && address + size <= from + length)
      return file.substr(offset + (address - from), size);
  }
  return "";
}

inline size_t count(const std::string &text, const std::string &part)
{
  size_t found = 0;
  for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at)
    ++found;
  return found;
}

// How many of the two are installed: each finds the notes and the ranges, and complains of nothing.
inline unsigned by_readelf(const std::string &path, const std::string &file, const Ranges &ranges)
{
  unsigned tried = 0;
  for (const char *readelf : {"readelf", "eu-readelf"}) {
    if (!has(readelf))
      continue;
    ++tried;
    const Answer segments =
                     answer(std::string(readelf) + " -l " + (*readelf == 'r' ? "-W " : "") + path),
                 notes = answer(std::string(readelf) + " -n " + path);
    EXPECT_EQ(segments.status, 0) << segments.text;
    EXPECT_EQ(notes.status, 0) << notes.text;
    for (const char *complaint : {"arning", "rror", "orrupt"}) {
      EXPECT_EQ(segments.text.find(complaint), std::string::npos) << segments.text;
      EXPECT_EQ(notes.text.find(complaint), std::string::npos) << notes.text;
    }
    EXPECT_NE(notes.text.find("AMDGPU"), std::string::npos);
    EXPECT_NE(notes.text.find("RAWHAL"), std::string::npos);
    for (const auto &[address, bytes] : ranges)
      EXPECT_TRUE(bytes_by(segments.text, file, address, bytes.size()) == bytes)
          << readelf << std::hex << " " << address;
  }
  return tried;
}

// What one gdb says of all files, with `commands` in each; it writes the ranges to `folder`.
inline std::string by_gdb(const std::string &folder, const std::vector<File> &files,
                          const std::string &commands)
{
  std::ostringstream command;
  command << "env HOME=" << folder << " gdb -nx -batch" << std::hex;
  for (const File &file : files) {
    command << " -ex 'core-file " << file.path << "' " << commands;
    for (const auto &[address, bytes] : file.ranges)
      command << " -ex 'dump binary memory " << file.path << "." << address << " 0x" << address
              << " 0x" << address + bytes.size() << "'";
  }
  const Answer got = answer(command.str());
  for (const File &file : files)
    for (const auto &[address, bytes] : file.ranges) {
      std::ostringstream name;
      name << std::hex << file.path << "." << address;
      std::ifstream dump(name.str(), std::ios::binary);
      const std::string back{std::istreambuf_iterator<char>(dump), {}};
      EXPECT_TRUE(back == bytes) << name.str() << "\n" << got.text;
      (void)remove(name.str().c_str());
    }
  return got.text;
}

} // namespace readers

#endif
