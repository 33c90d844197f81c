// Files that are small for what they make a careless reader do. Each grows with `scale`, about as
// linearly as its bytes.
#ifndef RAWHAL_TESTS_HSACO_ATTACKS_H
#define RAWHAL_TESTS_HSACO_ATTACKS_H

#include "archive.h"
#include "carriers.h"
#include "host.h"

namespace attack {

using build::little;

inline std::string times(size_t count, const std::string &text)
{
  std::string all;
  all.reserve(count * text.size());
  for (size_t i = 0; i < count; ++i)
    all += text;
  return all;
}

// `count` entries that all name the bytes from `payload` to the end.
inline std::string shared_bundle(uint64_t count, const std::string &payload,
                                 const std::string &id = "hip-amdgcn-amd-amdhsa--gfx90a")
{
  const uint64_t table = 32 + count * (24 + id.size());
  std::string bytes = "__CLANG_OFFLOAD_BUNDLE__" + little(count, 8);
  for (uint64_t i = 0; i < count; ++i)
    bytes += little(table, 8) + little(payload.size(), 8) + little(id.size(), 8) + id;
  return bytes + payload;
}

inline std::string object()
{
  return build::plain_object().bytes;
}

// An ELF header and nothing else, which a scanner takes for a code object.
inline std::string least_elf(unsigned abi = 3)
{
  Elf64_Ehdr header = {};
  memcpy(header.e_ident, "\177ELF\2\1\1\100", 8);
  header.e_ident[EI_ABIVERSION] = static_cast<unsigned char>(abi);
  header.e_type = ET_DYN;
  header.e_machine = 224;
  header.e_version = 1;
  return std::string(reinterpret_cast<const char *>(&header), sizeof(header));
}

// ---- Entries that share bytes ----

inline std::string zeros_named_often(size_t scale)
{
  return shared_bundle(60, object() + std::string(scale, '\0'));
}

inline std::string nested_bundles(size_t scale)
{
  std::string bytes = object() + std::string(scale, '\0');
  for (int depth = 0; depth < 3; ++depth)
    bytes = shared_bundle(250, bytes);
  return bytes;
}

inline std::string packed_named_often(size_t scale)
{
  return shared_bundle(250, build::ccob(2, 0, object() + std::string(scale, '\0')));
}

// ---- Many that hold next to nothing ----

inline std::string headers_back_to_back(size_t scale)
{
  return times(scale / 80 + 1, least_elf() + std::string(16, '\0'));
}

inline std::string damaged_headers_back_to_back(size_t scale)
{
  return times(scale / 64 + 1, least_elf(99));
}

inline std::string packed_back_to_back(size_t scale, unsigned method)
{
  const std::string one = build::ccob(2, method, least_elf());
  return times(scale / one.size() + 1, one);
}

inline std::string archive_of_bytes(size_t scale, bool zstd)
{
  std::vector<build::ArchiveEntry> entries;
  for (size_t i = 0; i < scale / 64 + 1; ++i)
    entries.push_back({std::to_string(i), "gfx90a", "1"});
  return build::archive(entries, zstd);
}

// ---- Archives and offload binaries ----

// Members of no bytes that are all called by the same long name.
inline std::string members_with_one_name(size_t scale)
{
  return "!<arch>\n" + build::ar_member("//", std::string(scale / 2, 'n')) +
         times(scale / 120 + 1, build::ar_header("/0", 0));
}

inline std::string members_of_nothing(size_t scale)
{
  return "!<arch>\n" + times(scale / 60 + 1, build::ar_header("a/", 0));
}

inline std::string archive_named_often(size_t scale)
{
  return shared_bundle(250, members_of_nothing(scale));
}

// Texts of an offload binary that are all the same one.
inline std::string texts_with_one_range(size_t scale)
{
  std::string one = build::offload_binary("", {{std::string(4000, 'k'), "v"}});
  const std::string table = times(64, one.substr(72, 8) + one.substr(72, 8));
  const uint64_t strings = one.size(), count = 64, size = strings + table.size();
  memcpy(&one[40], &strings, 8);
  memcpy(&one[48], &count, 8);
  memcpy(&one[8], &size, 8);
  return times(scale / size + 1, one + table);
}

// ---- Tables of msgpack ----

inline std::string archive_of_nils(size_t scale, bool map)
{
  build::Pack table;
  table.map(2).str("toc").map(0).str("?");
  if (map)
    table.map(static_cast<uint32_t>(scale / 2)).raw(std::string(scale / 2 * 2, '\xc0'));
  else
    table.array(static_cast<uint32_t>(scale)).raw(std::string(scale, '\xc0'));
  return build::archive_of("", table.bytes);
}

// Keys of the root map that mean nothing, and are nothing.
inline std::string archive_of_no_keys(size_t scale)
{
  build::Pack table;
  table.map(static_cast<uint32_t>(scale / 2 + 1)).str("toc").map(0);
  table.raw(std::string(scale / 2 * 2, '\xc0'));
  return build::archive_of("", table.bytes);
}

// ---- Host files ----

inline std::string sections_with_one_range(size_t scale)
{
  return host_of_sections(60000, scale);
}

// 60,000 sections that say, in the same bytes, in which archives the code objects are.
inline std::string references_with_one_range(size_t scale)
{
  build::Pack table;
  table.map(3).str("kernel_name").str("x").str("kpack_search_paths").array(0).str("?");
  table.array(static_cast<uint32_t>(scale)).raw(std::string(scale, '\xc0'));
  std::string bytes = split_host(table.bytes);
  Elf64_Ehdr header;
  memcpy(&header, bytes.data(), sizeof(header));
  bytes += times(60000, bytes.substr(header.e_shoff + sizeof(Elf64_Shdr), sizeof(Elf64_Shdr)));
  header.e_shnum = static_cast<uint16_t>(header.e_shnum + 60000);
  memcpy(&bytes[0], &header, sizeof(header));
  return bytes;
}

inline std::string segments_with_one_range(size_t scale)
{
  std::string bytes = host_file(std::string(scale, 'x'), false);
  Elf64_Ehdr header;
  memcpy(&header, bytes.data(), sizeof(header));
  const std::string segment = bytes.substr(header.e_phoff, sizeof(Elf64_Phdr));
  header.e_phoff = bytes.size();
  header.e_phnum = 60000;
  memcpy(&bytes[0], &header, sizeof(header));
  return bytes + times(60000, segment);
}

// ---- Compressed bytes of many blocks ----

// Bits as deflate packs them: the least significant first, but codes by their first bit.
class Bits {
public:
  std::string bytes;
  Bits &put(unsigned value, unsigned count)
  {
    for (unsigned i = 0; i < count; ++i) {
      if (used_ % 8 == 0)
        bytes += '\0';
      bytes.back() = static_cast<char>(static_cast<unsigned char>(bytes.back()) | (value >> i & 1)
                                                                                      << used_ % 8);
      ++used_;
    }
    return *this;
  }
  Bits &code(unsigned value, unsigned count)
  {
    while (count--)
      put(value >> count & 1, 1);
    return *this;
  }
  void align() { used_ = bytes.size() * 8; }

private:
  size_t used_ = 0;
};

// A block that brings 286 + 30 codes and holds nothing but its end.
inline void put_empty_block(Bits &bits)
{
  static const unsigned order[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                   11, 4,  12, 3, 13, 2, 14, 1, 15};
  bits.put(0, 1).put(2, 2).put(29, 5).put(29, 5).put(15, 4);
  for (unsigned symbol :
       order) // lengths of the codes of lengths: 4, 5, 8, 9 and "again" have codes
    bits.put(symbol == 16                 ? 1
             : symbol == 8                ? 2
             : symbol == 9                ? 3
             : symbol == 4 || symbol == 5 ? 4
                                          : 0,
             3);
  struct Run {
    unsigned code, bits, count;
  };
  // Of 286: 226 codes of 8 bits, 60 of 9; of 30: 2 of 4 bits, 28 of 5.
  for (Run run : {Run{2, 2, 226}, Run{6, 3, 60}, Run{14, 4, 2}, Run{15, 4, 28}}) {
    bits.code(run.code, run.bits);
    for (--run.count; run.count >= 3; run.count -= std::min(run.count, 6u))
      bits.code(0, 1).put(std::min(run.count, 6u) - 3, 2);
    for (; run.count; --run.count)
      bits.code(run.code, run.bits);
  }
  bits.code(226 + 0 < 256 ? (226u << 1) + (256 - 226) : 0, 9); // symbol 256 has 9 bits
}

inline std::string zlib_of_blocks(size_t scale, bool tables)
{
  const std::string plain = least_elf();
  Bits bits;
  bits.bytes = "\x78\x01";
  bits.align();
  while (bits.bytes.size() < scale) {
    if (tables) {
      put_empty_block(bits);
    } else {
      bits.put(0, 3).align();
      bits.bytes += std::string("\0\0\xff\xff", 4);
      bits.align();
    }
  }
  bits.put(1, 3).align();
  bits.bytes += little(plain.size(), 2) + little(~plain.size(), 2) + plain;
  uLong sum = adler32(1, reinterpret_cast<const Bytef *>(plain.data()), plain.size());
  for (int shift = 24; shift >= 0; shift -= 8)
    bits.bytes += static_cast<char>(sum >> shift);
  return build::ccob_of(3, 0, bits.bytes, plain.size());
}

inline std::string zstd_of_empty_blocks(size_t scale)
{
  const std::string plain = least_elf();
  std::string frame("\x28\xb5\x2f\xfd\x20\x40", 6); // single segment, 64 bytes of content
  frame += times(scale / 3 + 1, std::string(3, '\0'));
  frame += little(1 | plain.size() << 3, 3) + plain;
  return build::ccob_of(3, 1, frame, plain.size());
}

// Blocks as a compressor makes them that is asked for one every few hundred bytes.
inline std::string zstd_of_small_blocks(size_t scale, size_t *unpacked)
{
  std::string text, packed;
  for (uint32_t seed = 1; text.size() < scale * 4;) {
    seed = seed * 1103515245 + 12345;
    text += "abcdefgh ABCDEFGH"[seed >> 16 & 15];
  }
  const std::string plain =
      build::bundle({{"host-x86_64", text}, {"hip-amdgcn-amd-amdhsa--gfx90a", object()}});
  packed.resize(plain.size() * 2 + 4096);
  ZSTD_CCtx *context = ZSTD_createCCtx();
  ZSTD_outBuffer out = {&packed[0], packed.size(), 0};
  for (size_t at = 0; at < plain.size();) {
    size_t size = std::min<size_t>(300, plain.size() - at);
    ZSTD_inBuffer in = {plain.data() + at, size, 0};
    ZSTD_compressStream2(context, &out, &in, at + size < plain.size() ? ZSTD_e_flush : ZSTD_e_end);
    at += size;
  }
  ZSTD_freeCCtx(context);
  packed.resize(out.pos);
  *unpacked = plain.size();
  return build::ccob_of(3, 1, packed, plain.size());
}

} // namespace attack

#endif
