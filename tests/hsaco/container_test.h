// What the tests of containers share.
#ifndef RAWHAL_TESTS_HSACO_CONTAINER_TEST_H
#define RAWHAL_TESTS_HSACO_CONTAINER_TEST_H

#include "hsaco_test.h"

inline std::string object_for(uint32_t flags, uint8_t abi = 3)
{
  build::Object object;
  object.flags = flags;
  object.abi = abi;
  object.kernels = {build::plain_kernel("k")};
  return object.build();
}

class Container {
public:
  explicit Container(const std::string &text, rawhal_container_options_t options = {}) : bytes(text)
  {
    status = rawhal_container_open(bytes.data.get(), bytes.size, &options, &container, &error);
  }
  ~Container() { rawhal_container_close(container); }
  Container(const Container &) = delete;
  Container &operator=(const Container &) = delete;
  size_t count() const { return rawhal_container_count(container); }
  const rawhal_container_object_t &at(size_t index) const
  {
    return *rawhal_container_object(container, index);
  }
  std::string content(size_t index) const
  {
    return std::string(static_cast<const char *>(at(index).bytes.data), at(index).bytes.size);
  }
  rawhal_status_t select(const std::string &device, size_t *index)
  {
    rawhal_target_t target;
    EXPECT_EQ(RAWHAL_OK, rawhal_target_parse(string_of(device), &target, &error));
    return rawhal_container_select(container, &target, index, &error);
  }

  const Exact bytes;
  rawhal_status_t status;
  rawhal_error_t error = {};
  rawhal_container_t *container = nullptr;
};

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
  Elf64_Ehdr header = {};
  memcpy(header.e_ident, "\177ELF\2\1\1", 7);
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_version = 1;
  header.e_phoff = sizeof(header);
  header.e_ehsize = sizeof(header);
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

#endif
