// Adding and removing sections, symbols, relocations and notes of a sound enough ELF64 file, so that
// what stands beside them stays sound. Tables that grow move to the end of the file. Every function
// returns false, and leaves the file as it was, where there is nothing of the kind or it is damaged.
#ifndef RAWHAL_FUZZ_ELF_EDIT_H
#define RAWHAL_FUZZ_ELF_EDIT_H

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace edit {

template <typename T> T get(const std::string &bytes, size_t offset)
{
  T value = {};
  if (offset <= bytes.size() && sizeof(T) <= bytes.size() - offset)
    memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

template <typename T> void set(std::string &bytes, size_t offset, const T &value)
{
  if (offset <= bytes.size() && sizeof(T) <= bytes.size() - offset)
    memcpy(&bytes[offset], &value, sizeof(T));
}

template <typename T> std::string bytes_of(const T &value)
{
  return std::string(reinterpret_cast<const char *>(&value), sizeof(value));
}

inline bool within(const std::string &bytes, uint64_t offset, uint64_t size)
{
  return offset <= bytes.size() && size <= bytes.size() - offset;
}

// Appends at a multiple of eight; returns where.
inline uint64_t append(std::string &bytes, const std::string &more)
{
  bytes.resize((bytes.size() + 7) / 8 * 8);
  bytes += more;
  return bytes.size() - more.size();
}

// ---- Sections ----

inline bool read_sections(const std::string &bytes, std::vector<Elf64_Shdr> *sections)
{
  const Elf64_Ehdr header = get<Elf64_Ehdr>(bytes, 0);
  if (!header.e_shnum || header.e_shentsize != sizeof(Elf64_Shdr) ||
      !within(bytes, header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr)))
    return false;
  sections->resize(header.e_shnum);
  memcpy(sections->data(), bytes.data() + header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr));
  return true;
}

// In place of the old table when it is as long, else at the end: also where a section lies over the
// file's header, which an edit of that section has changed then.
inline void write_sections(std::string &bytes, const std::vector<Elf64_Shdr> &sections)
{
  Elf64_Ehdr header = get<Elf64_Ehdr>(bytes, 0);
  const std::string table(reinterpret_cast<const char *>(sections.data()),
                          sections.size() * sizeof(Elf64_Shdr));
  if (sections.size() <= header.e_shnum && within(bytes, header.e_shoff, table.size()))
    bytes.replace(header.e_shoff, table.size(), table);
  else
    header.e_shoff = append(bytes, table);
  header.e_shnum = static_cast<uint16_t>(sections.size());
  set(bytes, 0, header);
}

inline bool add_section(std::string &bytes, const Elf64_Shdr &section)
{
  std::vector<Elf64_Shdr> sections;
  if (!read_sections(bytes, &sections) || sections.size() >= 0xff00)
    return false;
  sections.push_back(section);
  write_sections(bytes, sections);
  return true;
}

// Those behind it move up, and who names them by number goes with them.
inline bool remove_section(std::string &bytes, size_t index)
{
  std::vector<Elf64_Shdr> sections;
  if (!read_sections(bytes, &sections) || index == 0 || index >= sections.size())
    return false;
  auto moved = [&](auto number) {
    return static_cast<decltype(number)>(number > index ? number - 1 : number);
  };
  for (const Elf64_Shdr &table : sections)
    if ((table.sh_type == SHT_SYMTAB || table.sh_type == SHT_DYNSYM) &&
        within(bytes, table.sh_offset, table.sh_size))
      for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
        Elf64_Sym symbol = get<Elf64_Sym>(bytes, table.sh_offset + at);
        if (symbol.st_shndx < SHN_LORESERVE)
          symbol.st_shndx = moved(symbol.st_shndx);
        set(bytes, table.sh_offset + at, symbol);
      }
  sections.erase(sections.begin() + static_cast<long>(index));
  for (Elf64_Shdr &section : sections)
    section.sh_link = moved(section.sh_link);
  Elf64_Ehdr header = get<Elf64_Ehdr>(bytes, 0);
  header.e_shstrndx = moved(header.e_shstrndx);
  set(bytes, 0, header);
  write_sections(bytes, sections);
  return true;
}

// The number of the first section of a type; 0 when there is none.
inline size_t find_section(const std::string &bytes, uint32_t type)
{
  std::vector<Elf64_Shdr> sections;
  if (read_sections(bytes, &sections))
    for (size_t i = 1; i < sections.size(); ++i)
      if (sections[i].sh_type == type)
        return i;
  return 0;
}

// The bytes of a section become others. Segments that showed the same bytes show the new ones.
inline bool replace_section(std::string &bytes, size_t index, const std::string &content)
{
  std::vector<Elf64_Shdr> sections;
  if (!read_sections(bytes, &sections) || index == 0 || index >= sections.size())
    return false;
  Elf64_Shdr &section = sections[index];
  const uint64_t old_offset = section.sh_offset, old_size = section.sh_size;
  if (!within(bytes, old_offset, old_size))
    return false;
  if (content.size() <= old_size)
    bytes.replace(old_offset, content.size(), content);
  else
    section.sh_offset = append(bytes, content);
  section.sh_size = content.size();
  const Elf64_Ehdr header = get<Elf64_Ehdr>(bytes, 0);
  for (size_t i = 0; i < header.e_phnum; ++i) {
    const size_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
    Elf64_Phdr segment = get<Elf64_Phdr>(bytes, at);
    if (segment.p_type != PT_NOTE || segment.p_offset != old_offset || segment.p_filesz != old_size)
      continue;
    segment.p_offset = section.sh_offset;
    segment.p_filesz = segment.p_memsz = section.sh_size;
    set(bytes, at, segment);
  }
  write_sections(bytes, sections);
  return true;
}

inline bool read_section(const std::string &bytes, size_t index, std::string *content)
{
  std::vector<Elf64_Shdr> sections;
  if (!read_sections(bytes, &sections) || index == 0 || index >= sections.size() ||
      !within(bytes, sections[index].sh_offset, sections[index].sh_size))
    return false;
  *content = bytes.substr(sections[index].sh_offset, sections[index].sh_size);
  return true;
}

// ---- Entries of tables: symbols, relocations ----

template <typename Entry> bool add_entry(std::string &bytes, size_t index, const Entry &entry)
{
  std::string content;
  return read_section(bytes, index, &content) &&
         replace_section(bytes, index, content + bytes_of(entry));
}

template <typename Entry> bool remove_entry(std::string &bytes, size_t index, size_t which)
{
  std::string content;
  if (!read_section(bytes, index, &content) || which >= content.size() / sizeof(Entry))
    return false;
  return replace_section(bytes, index, content.erase(which * sizeof(Entry), sizeof(Entry)));
}

// Where there are no relocations, a section of them comes along, for the symbols of `.symtab`.
inline bool add_relocation(std::string &bytes, const Elf64_Rela &relocation)
{
  size_t index = find_section(bytes, SHT_RELA);
  if (index)
    return add_entry(bytes, index, relocation);
  const uint32_t symbols = static_cast<uint32_t>(find_section(bytes, SHT_SYMTAB));
  std::vector<Elf64_Shdr> sections;
  if (!symbols || !read_sections(bytes, &sections))
    return false;
  const uint64_t at = append(bytes, bytes_of(relocation));
  return add_section(bytes, {0, SHT_RELA, SHF_ALLOC, at, at, sizeof(relocation), symbols, 0, 8,
                             sizeof(relocation)});
}

// ---- Notes ----

struct Note {
  size_t start, size; // with its padding
};

inline std::vector<Note> notes_of(const std::string &content)
{
  std::vector<Note> notes;
  for (size_t at = 0; within(content, at, sizeof(Elf64_Nhdr));) {
    const Elf64_Nhdr head = get<Elf64_Nhdr>(content, at);
    const uint64_t size = sizeof(head) + (uint64_t{head.n_namesz} + 3) / 4 * 4 +
                          (uint64_t{head.n_descsz} + 3) / 4 * 4;
    if (!within(content, at, size))
      break;
    notes.push_back({at, size});
    at += size;
  }
  return notes;
}

inline bool add_note(std::string &bytes, const std::string &note)
{
  std::string content;
  const size_t index = find_section(bytes, SHT_NOTE);
  return read_section(bytes, index, &content) && replace_section(bytes, index, content + note);
}

inline bool remove_note(std::string &bytes, size_t which)
{
  std::string content;
  const size_t index = find_section(bytes, SHT_NOTE);
  if (!read_section(bytes, index, &content))
    return false;
  const std::vector<Note> notes = notes_of(content);
  if (which >= notes.size())
    return false;
  return replace_section(bytes, index, content.erase(notes[which].start, notes[which].size));
}

} // namespace edit

#endif
