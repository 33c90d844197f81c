// Damage that knows the format: fields of the headers, of symbols and relocations; sections, symbols,
// relocations and notes that come and go; and tokens of the metadata, whose note is written anew with
// its sizes, so that the rest stays sound and what lies behind it is reached.
#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "elf_edit.h"

// libFuzzer's own mutations. Under AFL++ there are none: it makes its own besides these.
extern "C" __attribute__((weak)) size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

namespace {

using edit::get;
using edit::set;
using Random = std::minstd_rand;

// ---- Fields ----

// A value that stands at some edge: of its width, of the file, of what was there.
uint64_t edge(Random &random, uint64_t old, size_t size)
{
  const uint64_t values[] = {0,          1,    2,        8,          old + 1,           old - 1,
                             old * 2,    size, size - 8, size + 1,   0x7fffffff,        0x80000000,
                             UINT32_MAX, ~old, old ^ 64, old + 4096, uint64_t{1} << 63, UINT64_MAX,
                             random(),   0xff, 0xffff,   0xfff1,     size - old};
  return values[random() % (sizeof(values) / sizeof(*values))];
}

struct Field {
  size_t offset;
  unsigned width;
};

void change_field(std::string &bytes, Random &random, size_t start, std::vector<Field> fields)
{
  Field field = fields[random() % fields.size()];
  uint64_t value = 0;
  size_t at = start + field.offset;
  if (at > bytes.size() || field.width > bytes.size() - at)
    return;
  memcpy(&value, &bytes[at], field.width);
  value = edge(random, value, bytes.size());
  memcpy(&bytes[at], &value, field.width);
}

void change_header(std::string &bytes, Random &random)
{
  change_field(bytes, random, 0,
               {{7, 1},
                {8, 1},
                {16, 2},
                {18, 2},
                {32, 8},
                {40, 8},
                {48, 4},
                {54, 2},
                {56, 2},
                {58, 2},
                {60, 2},
                {62, 2}});
}

void change_segment(std::string &bytes, Random &random)
{
  Elf64_Ehdr header = get<Elf64_Ehdr>(bytes, 0);
  if (header.e_phnum)
    change_field(bytes, random, header.e_phoff + random() % header.e_phnum * sizeof(Elf64_Phdr),
                 {{0, 4}, {4, 4}, {8, 8}, {16, 8}, {32, 8}, {40, 8}, {48, 8}});
}

size_t any_section(const std::string &bytes, Random &random)
{
  Elf64_Ehdr header = get<Elf64_Ehdr>(bytes, 0);
  return header.e_shnum ? header.e_shoff + random() % header.e_shnum * sizeof(Elf64_Shdr) : 0;
}

void change_section(std::string &bytes, Random &random)
{
  change_field(
      bytes, random, any_section(bytes, random),
      {{0, 4}, {4, 4}, {8, 8}, {16, 8}, {24, 8}, {32, 8}, {40, 4}, {44, 4}, {48, 8}, {56, 8}});
}

// An entry of a section that is a table: symbols, relocations, the dynamic section.
void change_entry(std::string &bytes, Random &random)
{
  for (int tries = 0; tries < 16; ++tries) {
    Elf64_Shdr section = get<Elf64_Shdr>(bytes, any_section(bytes, random));
    if (section.sh_entsize < 8 || section.sh_size < section.sh_entsize)
      continue;
    size_t at =
        section.sh_offset + random() % (section.sh_size / section.sh_entsize) * section.sh_entsize;
    if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM)
      change_field(bytes, random, at, {{0, 4}, {4, 1}, {5, 1}, {6, 2}, {8, 8}, {16, 8}});
    else
      change_field(bytes, random, at, {{0, 8}, {8, 4}, {8, 8}, {12, 4}, {16, 8}});
    return;
  }
}

// ---- Sections, symbols, relocations and notes that come and go ----

// One like another of the file, of another type or name, or for other bytes, at times.
void change_sections(std::string &bytes, Random &random)
{
  static const uint32_t types[] = {SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_RELA, SHT_NOTE,
                                   SHT_NOBITS,   SHT_REL,    SHT_DYNSYM, SHT_HASH, 19 /* RELR */};
  const Elf64_Ehdr header = get<Elf64_Ehdr>(bytes, 0);
  if (!header.e_shnum)
    return;
  if (random() % 2) {
    edit::remove_section(bytes, random() % header.e_shnum);
    return;
  }
  Elf64_Shdr section = get<Elf64_Shdr>(bytes, any_section(bytes, random));
  const Elf64_Shdr other = get<Elf64_Shdr>(bytes, any_section(bytes, random));
  if (random() % 4 == 0)
    section.sh_type = types[random() % (sizeof(types) / sizeof(*types))];
  if (random() % 4 == 0)
    section.sh_name = other.sh_name;
  if (random() % 4 == 0) {
    section.sh_offset = other.sh_offset;
    section.sh_size = other.sh_size;
  }
  edit::add_section(bytes, section);
}

void change_symbols(std::string &bytes, Random &random)
{
  const size_t index = edit::find_section(bytes, random() % 4 ? SHT_SYMTAB : SHT_DYNSYM);
  std::string table;
  if (!edit::read_section(bytes, index, &table) || table.size() < sizeof(Elf64_Sym))
    return;
  const size_t which = random() % (table.size() / sizeof(Elf64_Sym));
  if (random() % 2)
    edit::remove_entry<Elf64_Sym>(bytes, index, which);
  else
    edit::add_entry(bytes, index, get<Elf64_Sym>(table, which * sizeof(Elf64_Sym)));
}

void change_relocations(std::string &bytes, Random &random)
{
  static const uint32_t types[] = {1, 2, 3, 6, 13, 13, 3, 0, 4, 12};
  std::string table;
  const size_t index = edit::find_section(bytes, SHT_RELA);
  edit::read_section(bytes, index, &table);
  const size_t count = table.size() / sizeof(Elf64_Rela);
  if (count && random() % 2) {
    edit::remove_entry<Elf64_Rela>(bytes, index, random() % count);
    return;
  }
  const Elf64_Phdr segment =
      get<Elf64_Phdr>(bytes, get<Elf64_Ehdr>(bytes, 0).e_phoff + random() % 4 * sizeof(Elf64_Phdr));
  const uint64_t place = segment.p_vaddr + (segment.p_memsz ? random() % segment.p_memsz : 0);
  const uint32_t type = types[random() % (sizeof(types) / sizeof(*types))];
  edit::add_relocation(bytes, {place & ~uint64_t{7}, ELF64_R_INFO(uint64_t{random() % 6}, type),
                               static_cast<int64_t>(random() % 3)});
}

// One of them again, or one of another owner; or one less.
void change_notes(std::string &bytes, Random &random)
{
  std::string content;
  if (!edit::read_section(bytes, edit::find_section(bytes, SHT_NOTE), &content))
    return;
  const std::vector<edit::Note> notes = edit::notes_of(content);
  const size_t which = notes.empty() ? 0 : random() % notes.size();
  if (!notes.empty() && random() % 2) {
    edit::remove_note(bytes, which);
    return;
  }
  std::string note =
      notes.empty() ? std::string() : content.substr(notes[which].start, notes[which].size);
  if (note.size() < 20 || random() % 3 == 0)
    note = edit::bytes_of(Elf64_Nhdr{4, 4, static_cast<uint32_t>(random() % 40)}) +
           std::string("GNU\0abcd", 8);
  edit::add_note(bytes, note);
}

// ---- Metadata ----

struct Token {
  size_t start, size; // with a string's bytes, without a container's items
};

uint64_t big_endian(const std::string &text, size_t at, unsigned width)
{
  uint64_t value = 0;
  for (unsigned i = 0; i < width && at + i < text.size(); ++i)
    value = value << 8 | static_cast<unsigned char>(text[at + i]);
  return value;
}

// How many bytes the token at `at` has.
uint64_t token_size(const std::string &text, size_t at)
{
  // 0xc0..0xdf: bytes behind the first one, and how many of them are a length of more.
  static const struct {
    uint8_t fixed, length;
  } forms[32] = {{0, 0},  {0, 0}, {0, 0}, {0, 0}, {1, 1}, {2, 2}, {4, 4}, {2, 1},
                 {3, 2},  {5, 4}, {4, 0}, {8, 0}, {1, 0}, {2, 0}, {4, 0}, {8, 0},
                 {1, 0},  {2, 0}, {4, 0}, {8, 0}, {2, 0}, {3, 0}, {5, 0}, {9, 0},
                 {17, 0}, {1, 1}, {2, 2}, {4, 4}, {2, 0}, {4, 0}, {2, 0}, {4, 0}};
  unsigned char first = static_cast<unsigned char>(text[at]);
  if (first >= 0xa0 && first < 0xc0)
    return 1 + (first & 31u);
  if (first < 0xc0 || first >= 0xe0)
    return 1;
  const auto &form = forms[first - 0xc0];
  return 1 + form.fixed + (form.length ? big_endian(text, at + 1, form.length) : 0);
}

std::vector<Token> tokens_of(const std::string &text)
{
  std::vector<Token> tokens;
  for (size_t at = 0; at < text.size();) {
    uint64_t size = std::min<uint64_t>(token_size(text, at), text.size() - at);
    tokens.push_back({at, size});
    at += size;
  }
  return tokens;
}

std::string other_token(Random &random, const std::string &old)
{
  static const char *const words[] = {"\x00",
                                      "\x7f",
                                      "\xff",
                                      "\xc0",
                                      "\xc2",
                                      "\xc3",
                                      "\xc1",
                                      "\xc4\x01x",
                                      "\xcc\xff",
                                      "\xce\xff\xff\xff\xff",
                                      "\xcf\xff\xff\xff\xff\xff\xff\xff\xff",
                                      "\xd0\x80",
                                      "\xd3\x80\x01\x01\x01\x01\x01\x01\x01",
                                      "\xcb\x3f\xf0\x01\x01\x01\x01\x01\x01",
                                      "\x80",
                                      "\x90",
                                      "\x91\x01",
                                      "\x93\x01\x01\x01",
                                      "\x81\xa1x\x01",
                                      "\xa0",
                                      "\xdd\xff\xff\xff\xff",
                                      "\xdf\x01\x01\x01\x01",
                                      "\xdb\x7f\xff\xff\xff",
                                      "\xd9\x01y",
                                      "\xa5.args",
                                      "\xa5.name",
                                      "\xa7.symbol",
                                      "\xa7.offset",
                                      "\xa5.size",
                                      "\xab.value_kind",
                                      "\xa5image",
                                      "\xb4hidden_block_count_x",
                                      "\xb5.kernarg_segment_size"};
  std::string word = words[random() % (sizeof(words) / sizeof(*words))];
  unsigned char first = static_cast<unsigned char>(old[0]);
  if (word.empty())
    word.assign(1, '\0');
  // A container with another count, or a string with another letter, is nearer to what was there.
  if (first >= 0x80 && first < 0xa0 && random() % 2)
    word = std::string(1, static_cast<char>((first & 0xf0) | random() % 16));
  else if (first >= 0xa0 && old.size() > 1 && random() % 2) {
    word = old;
    word[1 + random() % (old.size() - 1)] ^= static_cast<char>(1u << random() % 8);
  }
  return word;
}

std::string change_tokens(std::string text, Random &random)
{
  std::vector<Token> tokens = tokens_of(text);
  if (tokens.empty())
    return text;
  Token one = tokens[random() % tokens.size()], two = tokens[random() % tokens.size()];
  std::string first = text.substr(one.start, one.size), second = text.substr(two.start, two.size);
  switch (random() % 6) {
  case 0:
    return text.erase(one.start, one.size);
  case 1:
    return text.insert(two.start, first);
  case 2:
    return text.replace(one.start, one.size, second);
  case 3: { // a run of tokens again: an argument, a kernel
    size_t end = std::max(one.start, two.start), start = std::min(one.start, two.start);
    return text.insert(end, text.substr(start, std::min<size_t>(end - start, 512)));
  }
  default:
    return text.replace(one.start, one.size, other_token(random, first));
  }
}

// The note at `offset` with another description; where the new one does not fit, it is written
// behind the end and the headers point there.
void replace_note(std::string &bytes, uint64_t offset, uint64_t room, const std::string &body)
{
  Elf64_Nhdr head = {7, static_cast<uint32_t>(body.size()), 32};
  std::string note(reinterpret_cast<const char *>(&head), sizeof(head));
  note.append("AMDGPU\0\0", 8);
  note += body;
  note.resize((note.size() + 3) / 4 * 4);
  uint64_t place = offset;
  if (note.size() > room) {
    bytes.resize((bytes.size() + 7) / 8 * 8);
    place = bytes.size();
    bytes += note;
  } else {
    bytes.replace(offset, note.size(), note);
  }
  Elf64_Ehdr header = get<Elf64_Ehdr>(bytes, 0);
  for (size_t i = 0; i < header.e_phnum; ++i) {
    size_t at = header.e_phoff + i * sizeof(Elf64_Phdr);
    Elf64_Phdr segment = get<Elf64_Phdr>(bytes, at);
    if (segment.p_type != PT_NOTE || segment.p_offset != offset)
      continue;
    segment.p_offset = place;
    segment.p_filesz = segment.p_memsz = note.size();
    set(bytes, at, segment);
  }
  for (size_t i = 0; i < header.e_shnum; ++i) {
    size_t at = header.e_shoff + i * sizeof(Elf64_Shdr);
    Elf64_Shdr section = get<Elf64_Shdr>(bytes, at);
    if (section.sh_type != SHT_NOTE || section.sh_offset != offset)
      continue;
    section.sh_offset = place;
    section.sh_size = note.size();
    set(bytes, at, section);
  }
}

void change_metadata(std::string &bytes, Random &random)
{
  Elf64_Ehdr header = get<Elf64_Ehdr>(bytes, 0);
  for (size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment = get<Elf64_Phdr>(bytes, header.e_phoff + i * sizeof(Elf64_Phdr));
    if (segment.p_type != PT_NOTE)
      continue;
    Elf64_Nhdr note = get<Elf64_Nhdr>(bytes, segment.p_offset);
    if (segment.p_offset > bytes.size() || segment.p_filesz > bytes.size() - segment.p_offset ||
        note.n_namesz != 7 || segment.p_filesz < 20 || note.n_descsz > segment.p_filesz - 20)
      return;
    std::string body = bytes.substr(segment.p_offset + 20, note.n_descsz);
    for (unsigned count = 1 + random() % 3; count; --count)
      body = change_tokens(body, random);
    return replace_note(bytes, segment.p_offset, segment.p_filesz, body);
  }
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
  static void (*const changes[])(std::string &, Random &) = {
      change_header,   change_segment,  change_section, change_entry,       change_metadata,
      change_metadata, change_sections, change_symbols, change_relocations, change_notes,
  };
  Random random(seed + 1);
  if (size < sizeof(Elf64_Ehdr) || random() % 4 == 0)
    return LLVMFuzzerMutate ? LLVMFuzzerMutate(data, size, most) : size;
  std::string bytes(reinterpret_cast<const char *>(data), size);
  changes[random() % (sizeof(changes) / sizeof(*changes))](bytes, random);
  if (bytes.size() > most)
    return LLVMFuzzerMutate ? LLVMFuzzerMutate(data, size, most) : size;
  memcpy(data, bytes.data(), bytes.size());
  return bytes.size();
}
