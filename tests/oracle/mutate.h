// Damage of one to eight bytes, half of it where the structures are. The same seed damages alike.
#ifndef TESTS_ORACLE_MUTATE_H
#define TESTS_ORACLE_MUTATE_H

#include <elf.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

class Mutator {
public:
  // An ELF file, or what is left of one; not empty.
  explicit Mutator(std::string bytes) : bytes_(std::move(bytes))
  {
    Elf64_Ehdr header;
    if (bytes_.size() < sizeof(header)) {
      add(0, bytes_.size());
      return;
    }
    memcpy(&header, bytes_.data(), sizeof(header));
    add(0, sizeof(header));
    add(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr));
    add(header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr));
    for (size_t i = 0; i < header.e_shnum; ++i) {
      Elf64_Shdr section;
      if (header.e_shoff >= bytes_.size() ||
          bytes_.size() - header.e_shoff < (i + 1) * sizeof(section))
        break;
      memcpy(&section, bytes_.data() + header.e_shoff + i * sizeof(section), sizeof(section));
      if (section.sh_type != SHT_PROGBITS && section.sh_type != SHT_NOBITS)
        add(section.sh_offset, section.sh_size);
    }
  }

  std::string mutant(uint32_t seed) const
  {
    std::mt19937 random(seed);
    std::string bytes = bytes_;
    for (unsigned count = 1 + random() % 8; count; --count) {
      // Headers first, so that the large tables do not take all the damage.
      size_t range = random() % (random() % 2 && ranges_.size() > 3 ? 3 : ranges_.size());
      size_t at = random() % 2 ? ranges_[range].first + random() % ranges_[range].second
                               : random() % bytes.size();
      bytes[at] = change(bytes[at], random());
    }
    return bytes;
  }

private:
  static char change(char old, uint32_t random)
  {
    static const unsigned char telling[] = {0, 1, 2, 3, 4, 8, 0x10, 0x7f, 0x80, 0xff};
    unsigned char value = static_cast<unsigned char>(random >> 8);
    switch (random % 4) {
    case 0:
      return static_cast<char>(value);
    case 1:
      return static_cast<char>(old ^ 1 << value % 8);
    case 2:
      return static_cast<char>(telling[value % sizeof(telling)]);
    default:
      return static_cast<char>(old + value % 17 - 8);
    }
  }

  void add(uint64_t offset, uint64_t size)
  {
    if (size && offset < bytes_.size() && size <= bytes_.size() - offset)
      ranges_.emplace_back(offset, size);
  }

  std::string bytes_;
  std::vector<std::pair<size_t, size_t>> ranges_;
};

#endif
