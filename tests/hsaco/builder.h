// Small code objects made to measure: a msgpack writer and an ELF writer. For tests, fuzzers and
// benchmarks. Everything is deliberately plain, so that a test can make any part of it wrong.
#ifndef RAWHAL_TESTS_HSACO_BUILDER_H
#define RAWHAL_TESTS_HSACO_BUILDER_H

#include <elf.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace build {

// msgpack, each value in its shortest form.
class Pack {
public:
  std::string bytes;

  Pack &map(uint32_t pairs) { return head(pairs, 0x80, 16, 0, 0xde); }
  Pack &array(uint32_t items) { return head(items, 0x90, 16, 0, 0xdc); }
  Pack &str(const std::string &text)
  {
    head(static_cast<uint32_t>(text.size()), 0xa0, 32, 0xd9, 0xda);
    bytes += text;
    return *this;
  }
  Pack &number(uint64_t value)
  {
    if (value < 0x80)
      return big(value, 1);
    unsigned log = value > 0xffffffff ? 3 : value > 0xffff ? 2 : value > 0xff ? 1 : 0;
    bytes += static_cast<char>(0xcc + log);
    return big(value, 1u << log);
  }
  Pack &negative(int64_t value)
  {
    bytes += '\xd3';
    return big(static_cast<uint64_t>(value), 8);
  }
  Pack &boolean(bool value) { return raw(value ? "\xc3" : "\xc2"); }
  Pack &nil() { return raw("\xc0"); }
  Pack &real(double value)
  {
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    bytes += '\xcb';
    return big(bits, 8);
  }
  Pack &numbers(const std::vector<uint64_t> &values)
  {
    array(static_cast<uint32_t>(values.size()));
    for (uint64_t value : values)
      number(value);
    return *this;
  }
  Pack &raw(const std::string &text)
  {
    bytes += text;
    return *this;
  }

private:
  Pack &big(uint64_t value, unsigned size)
  {
    while (size--)
      bytes += static_cast<char>(value >> (8 * size));
    return *this;
  }
  Pack &head(uint32_t count, unsigned fix, unsigned fixes, unsigned form8, unsigned form16)
  {
    if (count < fixes)
      bytes += static_cast<char>(fix | count);
    else if (form8 && count < 0x100)
      return raw(std::string(1, static_cast<char>(form8))).big(count, 1);
    else if (count < 0x10000)
      return raw(std::string(1, static_cast<char>(form16))).big(count, 2);
    else
      return raw(std::string(1, static_cast<char>(form16 + 1))).big(count, 4);
    return *this;
  }
};

struct Argument {
  std::string name;
  uint32_t offset, size;
  std::string kind;
  std::string address_space = {};
};

struct Kernel {
  std::string name;
  std::vector<Argument> arguments = {};
  uint32_t kernarg_size = 0, kernarg_align = 8, group_size = 0, private_size = 0;
  uint32_t wavefront = 64, max_flat = 256;
  // Further keys, each with its value as msgpack; and keys to leave out.
  std::vector<std::pair<std::string, std::string>> more = {};
  std::vector<std::string> without = {};
  std::string symbol = {}; // name + ".kd" when empty
};

inline std::string symbol_of(const Kernel &kernel)
{
  return kernel.symbol.empty() ? kernel.name + ".kd" : kernel.symbol;
}

inline void pack_argument(Pack &pack, const Argument &argument)
{
  pack.map(3u + !argument.name.empty() + !argument.address_space.empty());
  if (!argument.address_space.empty())
    pack.str(".address_space").str(argument.address_space);
  if (!argument.name.empty())
    pack.str(".name").str(argument.name);
  pack.str(".offset").number(argument.offset).str(".size").number(argument.size);
  pack.str(".value_kind").str(argument.kind);
}

inline std::string pack_kernel(const Kernel &kernel)
{
  std::vector<std::pair<std::string, std::string>> entries;
  Pack arguments;
  arguments.array(static_cast<uint32_t>(kernel.arguments.size()));
  for (const Argument &argument : kernel.arguments)
    pack_argument(arguments, argument);
  entries.emplace_back(".args", arguments.bytes);
  const std::pair<const char *, uint32_t> numbers[] = {
      {".group_segment_fixed_size", kernel.group_size},
      {".kernarg_segment_align", kernel.kernarg_align},
      {".kernarg_segment_size", kernel.kernarg_size},
      {".max_flat_workgroup_size", kernel.max_flat},
      {".private_segment_fixed_size", kernel.private_size},
      {".sgpr_count", 8},
      {".vgpr_count", 4},
      {".wavefront_size", kernel.wavefront},
  };
  for (const auto &[key, value] : numbers)
    entries.emplace_back(key, Pack().number(value).bytes);
  entries.emplace_back(".name", Pack().str(kernel.name).bytes);
  entries.emplace_back(".symbol", Pack().str(symbol_of(kernel)).bytes);
  for (const auto &entry : kernel.more)
    entries.push_back(entry);
  Pack pack, body;
  uint32_t count = 0;
  for (const auto &[key, value] : entries) {
    bool left_out = false;
    for (const std::string &name : kernel.without)
      left_out |= name == key;
    if (left_out)
      continue;
    body.str(key).raw(value);
    ++count;
  }
  return pack.map(count).raw(body.bytes).bytes;
}

// A whole metadata document.
inline std::string pack_metadata(const std::vector<Kernel> &kernels,
                                 const std::string &target = "amdgcn-amd-amdhsa--gfx90a")
{
  Pack pack;
  pack.map(3).str("amdhsa.kernels").array(static_cast<uint32_t>(kernels.size()));
  for (const Kernel &kernel : kernels)
    pack.raw(pack_kernel(kernel));
  pack.str("amdhsa.target").str(target);
  pack.str("amdhsa.version").numbers({1, 2});
  return pack.bytes;
}

inline std::string pack_note(const std::string &owner, uint32_t type, const std::string &body)
{
  Elf64_Nhdr header = {static_cast<uint32_t>(owner.size() + 1), static_cast<uint32_t>(body.size()),
                       type};
  std::string note(reinterpret_cast<const char *>(&header), sizeof(header));
  note += owner + '\0';
  note.resize((note.size() + 3) / 4 * 4);
  note += body;
  note.resize((note.size() + 3) / 4 * 4);
  return note;
}

// A linked code object: headers, notes, descriptors, code, symbols. Addresses equal file offsets.
struct Object {
  uint32_t flags = 0x53f; // gfx90a, xnack and sramecc any
  uint8_t abi = 3;        // V5
  std::vector<Kernel> kernels = {};
  std::vector<std::string> notes = {}; // metadata documents; made from `kernels` when empty
  std::vector<Elf64_Rela> relocations = {};
  bool sections = true;
  size_t more_code = 0; // bytes of code that is no kernel's

  // Where build() put things.
  std::string bytes = {};
  size_t note = 0, rodata = 0, text = 0, symbols = 0, strings = 0, headers = 0;
  enum Section { kNull, kNote, kRodata, kText, kSymbols, kStrings, kNames, kRela, kSections };

  const std::string &build();

  template <typename T> T get(size_t offset) const
  {
    T value;
    memcpy(&value, bytes.data() + offset, sizeof(value));
    return value;
  }
  template <typename T> void set(size_t offset, const T &value)
  {
    memcpy(&bytes[offset], &value, sizeof(value));
  }
  Elf64_Shdr section(unsigned index) const
  {
    return get<Elf64_Shdr>(headers + index * sizeof(Elf64_Shdr));
  }
  void set_section(unsigned index, const Elf64_Shdr &header)
  {
    set(headers + index * sizeof(Elf64_Shdr), header);
  }
  Elf64_Phdr segment(unsigned index) const
  {
    return get<Elf64_Phdr>(sizeof(Elf64_Ehdr) + index * sizeof(Elf64_Phdr));
  }
  void set_segment(unsigned index, const Elf64_Phdr &header)
  {
    set(sizeof(Elf64_Ehdr) + index * sizeof(Elf64_Phdr), header);
  }
  Elf64_Ehdr header() const { return get<Elf64_Ehdr>(0); }
  template <typename T> void append(const T &value)
  {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
  }
  void set_header(const Elf64_Ehdr &header) { set(0, header); }

private:
  void align(size_t to) { bytes.resize((bytes.size() + to - 1) / to * to); }
  void add_descriptors();
  void add_symbols();
};

enum { kLoadData, kLoadCode, kNoteSegment, kSegments };

inline void Object::add_descriptors()
{
  for (size_t i = 0; i < kernels.size(); ++i) {
    size_t at = rodata + 64 * i;
    set<uint32_t>(at, kernels[i].group_size);
    set<uint32_t>(at + 4, kernels[i].private_size);
    set<uint32_t>(at + 8, kernels[i].kernarg_size);
    set<int64_t>(at + 16, static_cast<int64_t>(text + 256 * i) - static_cast<int64_t>(at));
    set<uint16_t>(at + 56, kernels[i].wavefront == 32 ? 1 << 10 : 0);
  }
}

inline void Object::add_symbols()
{
  std::string names(1, '\0');
  align(8);
  symbols = bytes.size();
  append(Elf64_Sym{});
  for (size_t i = 0; i < kernels.size(); ++i) {
    Elf64_Sym function = {static_cast<uint32_t>(names.size()),
                          ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
                          STV_PROTECTED,
                          kText,
                          text + 256 * i,
                          256};
    names += kernels[i].name + '\0';
    Elf64_Sym descriptor = {static_cast<uint32_t>(names.size()),
                            ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
                            STV_PROTECTED,
                            kRodata,
                            rodata + 64 * i,
                            64};
    names += symbol_of(kernels[i]) + '\0';
    append(function);
    append(descriptor);
  }
  strings = bytes.size();
  bytes += names;
}

inline const std::string &Object::build()
{
  static const char names[] = "\0.note\0.rodata\0.text\0.symtab\0.strtab\0.shstrtab\0.rela.dyn";
  bytes.assign(sizeof(Elf64_Ehdr) + kSegments * sizeof(Elf64_Phdr), '\0');
  note = bytes.size();
  if (notes.empty())
    bytes += pack_note("AMDGPU", 32, pack_metadata(kernels));
  for (const std::string &document : notes)
    bytes += pack_note("AMDGPU", 32, document);
  size_t note_end = bytes.size();
  align(64);
  rodata = bytes.size();
  bytes.resize(rodata + 64 * kernels.size());
  size_t rodata_end = bytes.size();
  align(4096);
  text = bytes.size();
  bytes.resize(text + 256 * kernels.size() + 256 + more_code);
  size_t text_end = bytes.size();
  add_descriptors();
  add_symbols();
  size_t strings_end = bytes.size();
  align(8);
  size_t rela = bytes.size();
  for (const Elf64_Rela &relocation : relocations)
    append(relocation);
  size_t rela_end = bytes.size(), section_names = bytes.size();
  bytes.append(names, sizeof(names));
  align(8);
  headers = bytes.size();
  const Elf64_Shdr table[kSections] = {
      {},
      {1, SHT_NOTE, SHF_ALLOC, note, note, note_end - note, 0, 0, 4, 0},
      {7, SHT_PROGBITS, SHF_ALLOC, rodata, rodata, rodata_end - rodata, 0, 0, 64, 0},
      {15, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, text, text, text_end - text, 0, 0, 256, 0},
      {21, SHT_SYMTAB, 0, 0, symbols, strings - symbols, kStrings, 1, 8, sizeof(Elf64_Sym)},
      {29, SHT_STRTAB, 0, 0, strings, strings_end - strings, 0, 0, 1, 0},
      {37, SHT_STRTAB, 0, 0, section_names, sizeof(names), 0, 0, 1, 0},
      {47, SHT_RELA, SHF_ALLOC, rela, rela, rela_end - rela, kSymbols, 0, 8, sizeof(Elf64_Rela)},
  };
  uint16_t count = sections ? static_cast<uint16_t>(kSections - relocations.empty()) : uint16_t{0};
  for (unsigned i = 0; i < count; ++i)
    append(table[i]);
  set_segment(kLoadData, {PT_LOAD, PF_R, 0, 0, 0, rodata_end, rodata_end, 4096});
  set_segment(kLoadCode,
              {PT_LOAD, PF_R | PF_X, text, text, text, text_end - text, text_end - text, 4096});
  set_segment(kNoteSegment, {PT_NOTE, PF_R, note, note, note, note_end - note, note_end - note, 4});
  Elf64_Ehdr header = {};
  memcpy(header.e_ident, "\177ELF\2\1\1\100", 8);
  header.e_ident[EI_ABIVERSION] = abi;
  header.e_type = ET_DYN;
  header.e_machine = 224;
  header.e_version = 1;
  header.e_phoff = sizeof(Elf64_Ehdr);
  header.e_shoff = sections ? headers : 0;
  header.e_flags = flags;
  header.e_ehsize = sizeof(Elf64_Ehdr);
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = kSegments;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = count;
  header.e_shstrndx = sections ? kNames : 0;
  set_header(header);
  return bytes;
}

// A kernel as a compiler might write it: f(float *out, uint32_t n) and hidden block counts.
inline Kernel plain_kernel(const std::string &name)
{
  Kernel kernel;
  kernel.name = name;
  kernel.arguments = {{"out", 0, 8, "global_buffer", "global"},
                      {"n", 8, 4, "by_value"},
                      {"", 16, 4, "hidden_block_count_x"}};
  kernel.kernarg_size = 24;
  return kernel;
}

inline Object plain_object(size_t kernels = 1)
{
  Object object;
  for (size_t i = 0; i < kernels; ++i)
    object.kernels.push_back(plain_kernel("kernel" + std::to_string(i)));
  object.build();
  return object;
}

struct BundleEntry {
  std::string id, payload;
};

// An offload bundle; payloads at multiples of `alignment`.
inline std::string bundle(const std::vector<BundleEntry> &entries, size_t alignment = 4096)
{
  auto u64 = [](uint64_t value) {
    return std::string(reinterpret_cast<const char *>(&value), sizeof(value));
  };
  std::string table = "__CLANG_OFFLOAD_BUNDLE__" + u64(entries.size()), payloads;
  size_t size = table.size();
  for (const BundleEntry &entry : entries)
    size += 24 + entry.id.size();
  size_t start = (size + alignment - 1) / alignment * alignment;
  for (const BundleEntry &entry : entries) {
    payloads.resize((payloads.size() + alignment - 1) / alignment * alignment);
    table += u64(start + payloads.size()) + u64(entry.payload.size()) + u64(entry.id.size());
    table += entry.id;
    payloads += entry.payload;
  }
  table.resize(start);
  return table + payloads;
}

} // namespace build

#endif
