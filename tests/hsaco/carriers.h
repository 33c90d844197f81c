// ar archives, offload binaries and host objects for tests and seeds, put together from the formats' descriptions.
#ifndef RAWHAL_TESTS_HSACO_CARRIERS_H
#define RAWHAL_TESTS_HSACO_CARRIERS_H

#include <elf.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "host.h"

namespace build {

// ---- ar ----

// Where names stand: GNU's "name/" and its table, BSD's before the bytes.
enum class ArStyle { kGnu, kBsd };

// A member's header; `name` as it stands there.
inline std::string ar_header(std::string name, size_t size)
{
  auto field = [](std::string text, size_t width) {
    text.resize(width, ' ');
    return text;
  };
  return field(std::move(name), 16) + field("0", 12) + field("0", 6) + field("0", 6) +
         field("644", 8) + field(std::to_string(size), 10) + "`\n";
}

inline std::string ar_member(const std::string &name, const std::string &bytes)
{
  return ar_header(name, bytes.size()) + bytes + std::string(bytes.size() % 2, '\n');
}

inline std::string ar_archive(const std::vector<std::pair<std::string, std::string>> &members,
                              ArStyle style = ArStyle::kGnu)
{
  std::string names, all;
  for (const auto &member : members) {
    if (style == ArStyle::kBsd) {
      all += ar_member("#1/" + std::to_string(member.first.size()), member.first + member.second);
    } else if (member.first.size() < 16) {
      all += ar_member(member.first + "/", member.second);
    } else {
      all += ar_member("/" + std::to_string(names.size()), member.second);
      names += member.first + "/\n";
    }
  }
  std::string tables =
      style == ArStyle::kGnu ? ar_member("/", std::string(4, '\0')) : ar_member("__.SYMDEF", "");
  if (!names.empty())
    tables += ar_member("//", names);
  return "!<arch>\n" + tables + all;
}

// ---- Offload binaries ----

struct OffloadHeader {
  uint8_t magic[4];
  uint32_t version;
  uint64_t size, entry, entry_size;
};

struct OffloadEntry {
  uint16_t image_kind, offload_kind;
  uint32_t flags;
  uint64_t strings, string_count, image, image_size;
};

inline std::string offload_binary(const std::string &image,
                                  const std::vector<std::pair<std::string, std::string>> &strings)
{
  OffloadHeader header = {
      {0x10, 0xff, 0x10, 0xad}, 1, 0, sizeof(OffloadHeader), sizeof(OffloadEntry)};
  OffloadEntry entry = {1, 4, 0, sizeof(header) + sizeof(entry), strings.size(), 0, image.size()};
  std::string table, texts;
  const uint64_t first = entry.strings + 16 * strings.size();
  for (const auto &one : strings)
    for (const std::string &text : {one.first, one.second}) {
      const uint64_t at = first + texts.size();
      table.append(reinterpret_cast<const char *>(&at), sizeof(at));
      texts += text + '\0';
    }
  texts.resize((texts.size() + 7) / 8 * 8);
  entry.image = first + texts.size();
  header.size = (entry.image + image.size() + 7) / 8 * 8;
  std::string bytes(reinterpret_cast<const char *>(&header), sizeof(header));
  bytes.append(reinterpret_cast<const char *>(&entry), sizeof(entry));
  bytes += table + texts + image;
  bytes.resize(header.size);
  return bytes;
}

inline std::string offload_binary(const std::string &image, const std::string &processor)
{
  return offload_binary(image, {{"arch", processor}, {"triple", "amdgcn-amd-amdhsa"}});
}

// What LLVM writes since: version 2 has several images, version 3 may have all of it `packed` (zlib or zstd).
struct OffloadImage {
  std::string triple, processor, bytes;
};

template <typename Packed>
std::string offload_binary_of(uint32_t version, const std::vector<OffloadImage> &images,
                              Packed packed)
{
  auto u64 = [](uint64_t value) {
    return std::string(reinterpret_cast<const char *>(&value), sizeof(value));
  };
  const uint64_t head = version == 3 ? 40 : 32, strings = head + 40 * images.size();
  const uint64_t texts_at = strings + 48 * images.size();
  std::string entries, table, texts, data;
  for (const OffloadImage &image : images)
    texts += std::string("triple") + '\0' + "arch" + '\0' + image.triple + image.processor;
  const uint64_t data_at = (texts_at + texts.size() + 7) / 8 * 8;
  uint64_t text = texts_at;
  for (const OffloadImage &image : images) {
    OffloadEntry entry = {
        1, 4, 0, strings + table.size(), 2, data_at + data.size(), image.bytes.size()};
    entries.append(reinterpret_cast<const char *>(&entry), sizeof(entry));
    table += u64(text) + u64(text + 12) + u64(image.triple.size());
    table += u64(text + 7) + u64(text + 12 + image.triple.size()) + u64(image.processor.size());
    text += 12 + image.triple.size() + image.processor.size();
    data += image.bytes;
  }
  std::string body = entries + table + texts;
  body.resize(data_at - head);
  body += data;
  body.resize((body.size() + 7) / 8 * 8);
  std::string payload = packed(body);
  const bool is_packed = payload != body;
  payload.resize((payload.size() + 7) / 8 * 8);
  OffloadHeader header = {
      {0x10, 0xff, 0x10, 0xad}, version, head + payload.size(), head, images.size()};
  std::string bytes(reinterpret_cast<const char *>(&header), sizeof(header));
  if (version == 3)
    bytes += u64(is_packed ? head + body.size() : 0);
  return bytes + payload;
}

inline std::string not_packed(const std::string &body)
{
  return body;
}

// ---- Windows' files ----

// A COFF object for x86-64, or a PE file, of no use but for its header: `content` stands in it at offset 4096.
inline std::string windows_file(bool object, const std::string &content)
{
  std::string bytes(4096, '\0');
  const uint32_t place = 128;
  if (object) {
    memcpy(&bytes[0], "\x64\x86\1\0", 4); // machine, one section
  } else {
    memcpy(&bytes[0], "MZ", 2);
    memcpy(&bytes[60], &place, sizeof(place));
    memcpy(&bytes[place], "PE\0\0", 4);
  }
  return bytes + content;
}

// ---- Host objects ----

struct HostSection {
  std::string name, bytes;
  uint32_t type = SHT_PROGBITS;
  uint64_t flags = 0;
};

constexpr uint32_t kOffloading = 0x6fff4c0b; // SHT_LLVM_OFFLOADING

// A relocatable x86-64 object with these sections.
inline std::string host_object(const std::vector<HostSection> &sections)
{
  Elf64_Ehdr header = host_header(ET_REL);
  header.e_shentsize = sizeof(Elf64_Shdr);
  std::string bytes(sizeof(header), '\0'), names(1, '\0');
  std::vector<Elf64_Shdr> table(1);
  auto add = [&](const std::string &name, uint32_t type, const std::string &content,
                 uint64_t flags = 0) {
    bytes.resize((bytes.size() + 7) / 8 * 8);
    table.push_back({static_cast<uint32_t>(names.size()), type, flags, 0, bytes.size(),
                     content.size(), 0, 0, 8, 0});
    names += name + '\0';
    bytes += content;
  };
  for (const HostSection &section : sections)
    add(section.name, section.type, section.bytes, section.flags);
  std::string last = names + ".shstrtab" + '\0';
  add(".shstrtab", SHT_STRTAB, last);
  bytes.resize((bytes.size() + 7) / 8 * 8);
  header.e_shoff = bytes.size();
  header.e_shnum = static_cast<uint16_t>(table.size());
  header.e_shstrndx = static_cast<uint16_t>(table.size() - 1);
  bytes.append(reinterpret_cast<const char *>(table.data()), table.size() * sizeof(Elf64_Shdr));
  memcpy(&bytes[0], &header, sizeof(header));
  return bytes;
}

} // namespace build

#endif
