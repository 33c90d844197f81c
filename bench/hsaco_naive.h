// What rawhal's reader is measured against. Reader::naive() is the plain way: libelf, msgpack-c's
// object tree, and its conversion into the same kind of records. Reader::floor() is the least
// anyone can do with msgpack-c's streaming template: every token is looked at and nothing is kept.
#ifndef RAWHAL_BENCH_HSACO_NAIVE_H
#define RAWHAL_BENCH_HSACO_NAIVE_H

#include <gelf.h>
#include <libelf.h>
#include <msgpack.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace naive {

struct Argument {
  std::string_view name, type_name, value_kind, value_type, address_space, access, actual_access;
  uint32_t offset, size, pointee_align;
  bool is_const, is_restrict, is_volatile, is_pipe;
};

struct Kernel {
  std::string_view name, symbol, language, kind;
  std::vector<Argument> arguments;
  uint32_t kernarg_segment_size, kernarg_segment_align, group_segment_fixed_size;
  uint32_t private_segment_fixed_size, wavefront_size, sgpr_count, vgpr_count, agpr_count;
  uint32_t sgpr_spill_count, vgpr_spill_count, max_flat_workgroup_size;
  bool uses_dynamic_stack, uniform_work_group_size;
  const unsigned char *descriptor;
};

struct Object {
  std::vector<Kernel> kernels;
  std::unordered_map<std::string_view, size_t> by_symbol, by_name;
  std::vector<msgpack_unpacked> trees;
  ~Object()
  {
    for (msgpack_unpacked &tree : trees)
      msgpack_unpacked_destroy(&tree);
  }
};

inline std::string_view text(const msgpack_object &object)
{
  return object.type == MSGPACK_OBJECT_STR
             ? std::string_view(object.via.str.ptr, object.via.str.size)
             : std::string_view();
}

template <typename Record> struct Field {
  std::string_view key;
  std::string_view Record::*string;
  uint32_t Record::*number;
  bool Record::*truth;
};

template <typename Record, size_t N>
bool convert(const Field<Record> (&fields)[N], std::string_view key, const msgpack_object &value,
             Record *record)
{
  for (const Field<Record> &field : fields)
    if (field.key == key) {
      if (field.string)
        record->*field.string = text(value);
      else if (field.number && value.type == MSGPACK_OBJECT_POSITIVE_INTEGER)
        record->*field.number = static_cast<uint32_t>(value.via.u64);
      else if (field.truth && value.type == MSGPACK_OBJECT_BOOLEAN)
        record->*field.truth = value.via.boolean;
      return true;
    }
  return false;
}

inline const Field<Argument> argument_fields[] = {
    {".address_space", &Argument::address_space, nullptr, nullptr},
    {".name", &Argument::name, nullptr, nullptr},
    {".offset", nullptr, &Argument::offset, nullptr},
    {".size", nullptr, &Argument::size, nullptr},
    {".value_kind", &Argument::value_kind, nullptr, nullptr},
    {".type_name", &Argument::type_name, nullptr, nullptr},
    {".value_type", &Argument::value_type, nullptr, nullptr},
    {".access", &Argument::access, nullptr, nullptr},
    {".actual_access", &Argument::actual_access, nullptr, nullptr},
    {".pointee_align", nullptr, &Argument::pointee_align, nullptr},
    {".is_const", nullptr, nullptr, &Argument::is_const},
    {".is_restrict", nullptr, nullptr, &Argument::is_restrict},
    {".is_volatile", nullptr, nullptr, &Argument::is_volatile},
    {".is_pipe", nullptr, nullptr, &Argument::is_pipe},
};

inline const Field<Kernel> kernel_fields[] = {
    {".name", &Kernel::name, nullptr, nullptr},
    {".symbol", &Kernel::symbol, nullptr, nullptr},
    {".language", &Kernel::language, nullptr, nullptr},
    {".kind", &Kernel::kind, nullptr, nullptr},
    {".kernarg_segment_size", nullptr, &Kernel::kernarg_segment_size, nullptr},
    {".kernarg_segment_align", nullptr, &Kernel::kernarg_segment_align, nullptr},
    {".group_segment_fixed_size", nullptr, &Kernel::group_segment_fixed_size, nullptr},
    {".private_segment_fixed_size", nullptr, &Kernel::private_segment_fixed_size, nullptr},
    {".wavefront_size", nullptr, &Kernel::wavefront_size, nullptr},
    {".max_flat_workgroup_size", nullptr, &Kernel::max_flat_workgroup_size, nullptr},
    {".sgpr_count", nullptr, &Kernel::sgpr_count, nullptr},
    {".vgpr_count", nullptr, &Kernel::vgpr_count, nullptr},
    {".agpr_count", nullptr, &Kernel::agpr_count, nullptr},
    {".sgpr_spill_count", nullptr, &Kernel::sgpr_spill_count, nullptr},
    {".vgpr_spill_count", nullptr, &Kernel::vgpr_spill_count, nullptr},
    {".uses_dynamic_stack", nullptr, nullptr, &Kernel::uses_dynamic_stack},
    {".uniform_work_group_size", nullptr, nullptr, &Kernel::uniform_work_group_size},
};

inline void convert_kernel(const msgpack_object &map, Kernel *kernel)
{
  for (uint32_t i = 0; i < map.via.map.size; ++i) {
    const msgpack_object_kv &entry = map.via.map.ptr[i];
    std::string_view key = text(entry.key);
    if (convert(kernel_fields, key, entry.val, kernel) || key != ".args")
      continue;
    kernel->arguments.resize(entry.val.via.array.size);
    for (uint32_t a = 0; a < entry.val.via.array.size; ++a) {
      const msgpack_object_map &pairs = entry.val.via.array.ptr[a].via.map;
      for (uint32_t k = 0; k < pairs.size; ++k)
        convert(argument_fields, text(pairs.ptr[k].key), pairs.ptr[k].val, &kernel->arguments[a]);
    }
  }
}

inline bool read_note(Object *object, const char *bytes, size_t size)
{
  msgpack_unpacked &tree = object->trees.emplace_back();
  msgpack_unpacked_init(&tree);
  size_t offset = 0;
  if (msgpack_unpack_next(&tree, bytes, size, &offset) != MSGPACK_UNPACK_SUCCESS)
    return false;
  for (uint32_t i = 0; i < tree.data.via.map.size; ++i) {
    const msgpack_object_kv &entry = tree.data.via.map.ptr[i];
    if (text(entry.key) != "amdhsa.kernels")
      continue;
    for (uint32_t k = 0; k < entry.val.via.array.size; ++k)
      convert_kernel(entry.val.via.array.ptr[k], &object->kernels.emplace_back());
  }
  return true;
}

// Calls `take` with each metadata note.
template <typename Take> bool each_note(Elf *elf, Take take)
{
  for (Elf_Scn *section = nullptr; (section = elf_nextscn(elf, section));) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header) || header.sh_type != SHT_NOTE)
      continue;
    Elf_Data *data = elf_getdata(section, nullptr);
    GElf_Nhdr note;
    size_t name, description;
    for (size_t at = 0; (at = gelf_getnote(data, at, &note, &name, &description));)
      if (note.n_type == 32 &&
          !take(static_cast<const char *>(data->d_buf) + description, note.n_descsz))
        return false;
  }
  return true;
}

inline void join_symbols(Object *object, Elf *elf, const std::string &bytes)
{
  for (size_t i = 0; i < object->kernels.size(); ++i) {
    object->by_symbol.emplace(object->kernels[i].symbol, i);
    object->by_name.emplace(object->kernels[i].name, i);
  }
  for (Elf_Scn *section = nullptr; (section = elf_nextscn(elf, section));) {
    GElf_Shdr header;
    if (!gelf_getshdr(section, &header) || header.sh_type != SHT_SYMTAB)
      continue;
    Elf_Data *data = elf_getdata(section, nullptr);
    for (size_t i = 1; i < header.sh_size / header.sh_entsize; ++i) {
      GElf_Sym symbol;
      gelf_getsym(data, static_cast<int>(i), &symbol);
      const char *name = elf_strptr(elf, header.sh_link, symbol.st_name);
      auto found = name ? object->by_symbol.find(name) : object->by_symbol.end();
      if (found != object->by_symbol.end() && symbol.st_value + 64 <= bytes.size())
        object->kernels[found->second].descriptor =
            reinterpret_cast<const unsigned char *>(bytes.data()) + symbol.st_value;
    }
  }
}

inline bool open(const std::string &bytes, Object *object)
{
  elf_version(EV_CURRENT);
  Elf *elf = elf_memory(const_cast<char *>(bytes.data()), bytes.size());
  bool fine =
      each_note(elf, [&](const char *note, size_t size) { return read_note(object, note, size); });
  if (fine)
    join_symbols(object, elf, bytes);
  elf_end(elf);
  return fine;
}

// ---- The floor ----

inline uint64_t big(const unsigned char *at, size_t size)
{
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i)
    value = value << 8 | at[i];
  return value;
}

// How each first byte goes on: bytes of the number behind it, and what that number counts.
struct Form {
  uint8_t bytes;
  enum : uint8_t { kNothing, kPayload, kItems, kPairs, kWrong } counts;
};

inline Form form_of(unsigned char first)
{
  static const Form forms[32] = {
      // 0xc0: nil, unused, false, true, bin 8..32, ext 8..32, floats
      {0, Form::kNothing},
      {0, Form::kWrong},
      {0, Form::kNothing},
      {0, Form::kNothing},
      {1, Form::kPayload},
      {2, Form::kPayload},
      {4, Form::kPayload},
      {1, Form::kPayload},
      {2, Form::kPayload},
      {4, Form::kPayload},
      {4, Form::kNothing},
      {8, Form::kNothing},
      // 0xcc: unsigned 8..64, signed 8..64
      {1, Form::kNothing},
      {2, Form::kNothing},
      {4, Form::kNothing},
      {8, Form::kNothing},
      {1, Form::kNothing},
      {2, Form::kNothing},
      {4, Form::kNothing},
      {8, Form::kNothing},
      // 0xd4: fixext 1..16, str 8..32, array 16, 32, map 16, 32
      {2, Form::kNothing},
      {3, Form::kNothing},
      {5, Form::kNothing},
      {9, Form::kNothing},
      {17, Form::kNothing},
      {1, Form::kPayload},
      {2, Form::kPayload},
      {4, Form::kPayload},
      {2, Form::kItems},
      {4, Form::kItems},
      {2, Form::kPairs},
      {4, Form::kPairs},
  };
  return forms[first & 31];
}

// Reads `size` bytes as one value, token by token; returns how many there are, 0 when it is cut.
inline uint64_t walk(const unsigned char *at, size_t size)
{
  const unsigned char *end = at + size;
  uint64_t tokens = 0, expected = 1; // values still to come
  for (; expected; --expected, ++tokens) {
    if (at == end)
      return 0;
    unsigned char first = *at++;
    uint64_t payload = 0;
    if (first >= 0xa0 && first < 0xc0) {
      payload = first & 31;
    } else if (first >= 0x80 && first < 0xa0) {
      expected += first < 0x90 ? 2 * (first & 15u) : first & 15u;
    } else if (first >= 0xc0 && first < 0xe0) {
      Form form = form_of(first);
      if (form.counts == Form::kWrong || static_cast<size_t>(end - at) < form.bytes)
        return 0;
      uint64_t count = form.counts == Form::kNothing ? 0 : big(at, form.bytes);
      at += form.bytes;
      expected += form.counts == Form::kItems ? count : form.counts == Form::kPairs ? 2 * count : 0;
      payload = form.counts != Form::kPayload    ? 0
                : first >= 0xc7 && first <= 0xc9 ? count + 1
                                                 : count;
    }
    if (static_cast<uint64_t>(end - at) < payload)
      return 0;
    at += payload;
  }
  return tokens;
}

// The number of tokens in all notes; 0 when a note is not sound.
inline uint64_t floor(const std::string &bytes)
{
  elf_version(EV_CURRENT);
  Elf *elf = elf_memory(const_cast<char *>(bytes.data()), bytes.size());
  uint64_t tokens = 0;
  bool fine = each_note(elf, [&](const char *note, size_t size) {
    uint64_t count = walk(reinterpret_cast<const unsigned char *>(note), size);
    tokens += count;
    return count != 0;
  });
  elf_end(elf);
  return fine ? tokens : 0;
}

} // namespace naive

#endif
