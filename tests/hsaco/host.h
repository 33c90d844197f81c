// Host files with code objects, for tests and seeds.
#ifndef RAWHAL_TESTS_HSACO_HOST_H
#define RAWHAL_TESTS_HSACO_HOST_H

#include <elf.h>

#include <cstring>
#include <string>
#include <vector>

// Of an x86-64 ELF file without any tables.
inline Elf64_Ehdr host_header(uint16_t type)
{
  Elf64_Ehdr header = {};
  memcpy(header.e_ident, "\177ELF\2\1\1", 7);
  header.e_type = type;
  header.e_machine = EM_X86_64;
  header.e_version = 1;
  header.e_ehsize = sizeof(header);
  return header;
}

// A host library: an x86-64 ELF with the given bytes as .hip_fatbin at offset 4096.
inline std::string host_file(const std::string &fatbin, bool sections = true)
{
  static const char names[] = "\0.hip_fatbin\0.shstrtab";
  std::string bytes(4096, '\0');
  bytes += fatbin;
  bytes.resize((bytes.size() + 7) / 8 * 8);
  size_t names_at = bytes.size();
  bytes.append(names, sizeof(names));
  bytes.resize((bytes.size() + 7) / 8 * 8);
  const Elf64_Shdr table[] = {
      {},
      {1, SHT_PROGBITS, SHF_ALLOC, 4096, 4096, fatbin.size(), 0, 0, 4096, 0},
      {13, SHT_STRTAB, 0, 0, names_at, sizeof(names), 0, 0, 1, 0},
  };
  Elf64_Ehdr header = host_header(ET_DYN);
  header.e_phoff = sizeof(header);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  if (sections) {
    header.e_shoff = bytes.size();
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    header.e_shstrndx = 2;
    bytes.append(reinterpret_cast<const char *>(table), sizeof(table));
  }
  Elf64_Phdr load = {PT_LOAD, PF_R, 0, 0, 0, 4096 + fatbin.size(), 4096 + fatbin.size(), 4096};
  memcpy(&bytes[0], &header, sizeof(header));
  memcpy(&bytes[sizeof(header)], &load, sizeof(load));
  return bytes;
}

// The same as compilers leave it: a .hipFatBinSegment holds a wrapper for each of `bundles`, whose
// pointers lead to where they start in .hip_fatbin.
inline std::string host_program(const std::vector<std::string> &bundles)
{
  struct Wrapper {
    uint32_t magic, version;
    uint64_t binary, unused;
  };
  static const char names[] = "\0.hip_fatbin\0.shstrtab\0.hipFatBinSegment";
  std::string fatbin, wrappers;
  for (const std::string &bundle : bundles) {
    fatbin.resize((fatbin.size() + 4095) / 4096 * 4096);
    const Wrapper wrapper = {0x48495046, 1, 4096 + fatbin.size(), 0}; // "HIPF"
    wrappers.append(reinterpret_cast<const char *>(&wrapper), sizeof(wrapper));
    fatbin += bundle;
  }
  std::string bytes = host_file(fatbin);
  Elf64_Ehdr header;
  memcpy(&header, bytes.data(), sizeof(header));
  Elf64_Shdr table[4] = {};
  memcpy(table, &bytes[header.e_shoff], 3 * sizeof(*table));
  bytes.resize(header.e_shoff);
  table[2].sh_offset = bytes.size();
  table[2].sh_size = sizeof(names);
  bytes.append(names, sizeof(names));
  bytes.resize((bytes.size() + 7) / 8 * 8);
  table[3] = {
      23, SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, bytes.size(), bytes.size(), wrappers.size(), 0, 0, 8,
      0};
  bytes += wrappers;
  header.e_shoff = bytes.size();
  header.e_shnum = 4;
  memcpy(&bytes[0], &header, sizeof(header));
  return bytes.append(reinterpret_cast<const char *>(table), sizeof(table));
}

// The same with `reference` as the section that says which archives the code objects are in.
inline std::string split_host(const std::string &reference)
{
  std::string bytes = host_file(reference);
  size_t name = bytes.find(".hip_fatbin"), shift = strlen(".shstrtab"); // both names fit in
  bytes.replace(name, strlen(".hip_fatbin") + 1 + shift, ".rocm_kpack_ref\0.strs", 21);
  return bytes;
}

// A host library without code objects, whose `count` sections of .hip_fatbin all name the same
// `size` bytes.
inline std::string host_of_sections(size_t count, size_t size)
{
  std::string bytes = host_file(std::string(size, 'x'));
  Elf64_Ehdr header;
  memcpy(&header, bytes.data(), sizeof(header));
  std::string fatbin = bytes.substr(header.e_shoff + sizeof(Elf64_Shdr), sizeof(Elf64_Shdr));
  for (size_t i = 1; i < count; ++i)
    bytes += fatbin;
  header.e_shnum = static_cast<uint16_t>(header.e_shnum + count - 1);
  memcpy(&bytes[0], &header, sizeof(header));
  return bytes;
}

#endif
