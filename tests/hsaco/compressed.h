// Compressed offload bundles for tests and seeds, by zlib and zstd themselves.
#ifndef RAWHAL_TESTS_HSACO_COMPRESSED_H
#define RAWHAL_TESTS_HSACO_COMPRESSED_H

#include <zlib.h>
#include <zstd.h>

#include <cstring>
#include <string>

namespace build {

inline std::string little(uint64_t value, size_t width)
{
  return std::string(reinterpret_cast<const char *>(&value), width);
}

inline std::string zlib_packed(const std::string &plain)
{
  uLongf size = compressBound(plain.size());
  std::string packed(size, '\0');
  if (compress2(reinterpret_cast<Bytef *>(&packed[0]), &size,
                reinterpret_cast<const Bytef *>(plain.data()), plain.size(), 9) != Z_OK)
    size = 0;
  packed.resize(size);
  return packed;
}

inline std::string zstd_packed(const std::string &plain)
{
  std::string packed(ZSTD_compressBound(plain.size()), '\0');
  size_t size = ZSTD_compress(&packed[0], packed.size(), plain.data(), plain.size(), 19);
  packed.resize(ZSTD_isError(size) ? 0 : size);
  return packed;
}

// A CCOB of `version` 1 to 3 that says its payload unpacks to `size` bytes. Method 0 is zlib, 1 zstd.
inline std::string ccob_of(unsigned version, unsigned method, const std::string &payload,
                           uint64_t size)
{
  const size_t width = version == 3 ? 8 : 4;
  const size_t header = version == 1 ? 20 : version == 2 ? 24 : 32;
  std::string bytes = "CCOB" + little(version, 2) + little(method, 2);
  if (version > 1)
    bytes += little(header + payload.size(), width);
  return bytes + little(size, width) + little(0x1122334455667788, 8) + payload;
}

inline std::string ccob(unsigned version, unsigned method, const std::string &plain)
{
  return ccob_of(version, method, method == 0 ? zlib_packed(plain) : zstd_packed(plain),
                 plain.size());
}

} // namespace build

#endif
