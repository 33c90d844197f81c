// Asking for the loadability verdict, and changing one thing of an object.
#ifndef RAWHAL_TESTS_HSACO_CHANGE_H
#define RAWHAL_TESTS_HSACO_CHANGE_H

#include <functional>

#include "hsaco_test.h"

namespace change {

using build::Object;
using build::plain_kernel;
using build::plain_object;

inline std::string verdict(const std::string &bytes)
{
  Opened opened(bytes);
  EXPECT_EQ(RAWHAL_OK, opened.status) << opened.error.message;
  if (opened.status)
    return "refused";
  EXPECT_EQ(opened.info().loadable, opened.reason().empty());
  EXPECT_EQ(opened.info().loadable, !contains(opened.diagnostics(), "not loadable: "));
  return opened.reason();
}

inline void set_symbol(Object &object, const std::function<void(Elf64_Sym &)> &change)
{
  size_t at = object.symbols + 2 * sizeof(Elf64_Sym); // kernel0.kd
  Elf64_Sym symbol = object.get<Elf64_Sym>(at);
  change(symbol);
  object.set(at, symbol);
}

inline void set_section(Object &object, unsigned index,
                        const std::function<void(Elf64_Shdr &)> &change)
{
  Elf64_Shdr section = object.section(index);
  change(section);
  object.set_section(index, section);
}

inline void set_segment(Object &object, unsigned index,
                        const std::function<void(Elf64_Phdr &)> &change)
{
  Elf64_Phdr segment = object.segment(index);
  change(segment);
  object.set_segment(index, segment);
}

inline void set_header(Object &object, const std::function<void(Elf64_Ehdr &)> &change)
{
  Elf64_Ehdr header = object.header();
  change(header);
  object.set_header(header);
}

inline Object relocated_object()
{
  Object object;
  object.kernels = {plain_kernel("k")};
  object.relocations = {{plain_object().text, ELF64_R_INFO(uint64_t{1}, 3), 0}};
  object.build();
  return object;
}

inline size_t relocation_at(const Object &object)
{
  return object.section(Object::kRela).sh_offset;
}

inline void set_relocation(Object &object, uint64_t symbol, uint32_t type, uint64_t address,
                           int64_t addend)
{
  object.set(relocation_at(object), Elf64_Rela{address, ELF64_R_INFO(symbol, type), addend});
}

} // namespace change

#endif
