/* The part of the loadability verdict that is about relocations. */
#include "base/checked.h"
#include "hsaco/descriptor.h"
#include "hsaco/loadable.h"
#include "hsaco/relocations.h"
#include "hsaco/symbols.h"

#include <stdlib.h>
#include <string.h>

/* Where the kernels' descriptors are, in order. */
typedef struct descriptors {
  uint64_t *addresses;
  size_t count;
} descriptors_t;

/* What ROCr applies (AMDGPUUsage, "Relocation Records"), and how many bytes each writes. */
static const struct {
  uint8_t type, width;
} applied[] = {
    {1, 4}, /* R_AMDGPU_ABS32_LO */
    {2, 4}, /* R_AMDGPU_ABS32_HI */
    {3, 8}, /* R_AMDGPU_ABS64 */
    {6, 4}, /* R_AMDGPU_ABS32: by ROCr 6.2 and later */
    {R_AMDGPU_RELATIVE64, 8},
};

static uint64_t width_of(uint32_t type)
{
  for (size_t i = 0; i < sizeof(applied) / sizeof(*applied); ++i)
    if (applied[i].type == type)
      return applied[i].width;
  return 0;
}

/* A symbol without a type is looked up by its name among what the program has supplied and this
 * object defines; what is not found has the address 0. */
static bool check_untyped(judge_t *judge, uint64_t offset, const symbol_table_t *symbols,
                          const Elf64_Rela *relocation)
{
  const uint64_t index = ELF64_R_SYM(relocation->r_info);
  const Elf64_Sym symbol = symbol_at(symbols, index);
  rawhal_string_t name;
  name_slots_t *known;
  if (ELF64_R_TYPE(relocation->r_info) == R_AMDGPU_RELATIVE64)
    return true;
  if (!symbol_is_external(&judge->hsaco->elf, &symbol))
    return loadable_refuse(judge, LOADABLE_RELOCATION_UNTYPED, offset, symbol.st_shndx, index);
  if (index &&
      (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL ||
       !symbol_name(judge->hsaco->long_names, symbols, &symbol, &name, &known) || !name.size))
    return loadable_refuse(judge, LOADABLE_RELOCATION_EXTERNAL, offset, symbol.st_info, index);
  /* Symbol 0 stands for the address 0, which only an addend makes an address that is applied. */
  if (!index && !relocation->r_addend)
    return loadable_refuse(judge, LOADABLE_RELOCATION_ADDEND, offset, 0, index);
  /* Of an external one, an addend would hide that it is missing. */
  if (index && relocation->r_addend && !judge->when_supplied.symbol)
    judge->when_supplied = (when_supplied_t){offset, (uint64_t)relocation->r_addend, index};
  return true;
}

static bool check_symbol(judge_t *judge, uint64_t offset, const symbol_table_t *symbols,
                         const Elf64_Rela *relocation)
{
  const elf_view_t *elf = &judge->hsaco->elf;
  const uint64_t index = ELF64_R_SYM(relocation->r_info);
  const Elf64_Sym symbol = symbol_at(symbols, index);
  const unsigned type = ELF64_ST_TYPE(symbol.st_info);
  if (type == STT_NOTYPE)
    return check_untyped(judge, offset, symbols, relocation);
  if (type != STT_OBJECT && type != STT_FUNC)
    return loadable_refuse(judge, LOADABLE_RELOCATION_SYMBOL_TYPE, offset, type, index);
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= elf->section_count)
    return loadable_refuse(judge, LOADABLE_RELOCATION_DEFINED, offset, symbol.st_shndx, index);
  if (!elf_view_segment_at(elf, symbol.st_value))
    return loadable_refuse(judge, LOADABLE_RELOCATION_LOADED, offset, symbol.st_value, index);
  return true;
}

/* ---- Descriptors ---- */

static int by_value(const void *a, const void *b)
{
  const uint64_t *left = a, *right = b;
  return (*left > *right) - (*left < *right);
}

/* Without memory there are none: opening fails then, whatever the verdict. */
static descriptors_t find_descriptors(rawhal_hsaco_t *hsaco)
{
  descriptors_t found = {NULL, 0};
  found.addresses = arena_alloc(&hsaco->arena, hsaco->info.kernel_count * sizeof(uint64_t));
  for (size_t i = 0; found.addresses && i < hsaco->info.kernel_count; ++i)
    if (hsaco->kernels[i].descriptor)
      found.addresses[found.count++] = hsaco->kernels[i].descriptor->address;
  if (found.count)
    qsort(found.addresses, found.count, sizeof(uint64_t), by_value);
  return found;
}

/* The last descriptor that starts before `end`, if it reaches beyond `start`. */
static const uint64_t *descriptor_within(const descriptors_t *descriptors, uint64_t start,
                                         uint64_t end)
{
  size_t low = 0, high = descriptors->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (descriptors->addresses[middle] < end)
      low = middle + 1;
    else
      high = middle;
  }
  const uint64_t *last = low ? &descriptors->addresses[low - 1] : NULL;
  return last && (*last >= start || start - *last < DESCRIPTOR_SIZE) ? last : NULL;
}

/* ---- Sections ---- */

static bool check_one(judge_t *judge, uint64_t offset, const symbol_table_t *symbols,
                      const descriptors_t *descriptors, const Elf64_Rela *relocation)
{
  const elf_view_t *elf = &judge->hsaco->elf;
  const uint32_t type = ELF64_R_TYPE(relocation->r_info);
  const uint64_t index = ELF64_R_SYM(relocation->r_info), width = width_of(type);
  if (!width)
    return loadable_refuse(judge, LOADABLE_RELOCATION_TYPE, offset, type, relocation->r_offset);
  if (index >= symbols->count)
    return loadable_refuse(judge, LOADABLE_RELOCATION_SYMBOL, offset, index, symbols->count);
  const Elf64_Phdr *segment = elf_view_segment_at(elf, relocation->r_offset);
  if (!segment || !range_within(relocation->r_offset - segment->p_vaddr, width, segment->p_memsz))
    return loadable_refuse(judge, LOADABLE_RELOCATION_PLACE, offset, relocation->r_offset, width);
  const uint64_t *descriptor =
      descriptor_within(descriptors, relocation->r_offset, relocation->r_offset + width);
  if (descriptor) /* the device would read another one than was judged */
    return loadable_refuse(judge, LOADABLE_RELOCATION_NO_DESCRIPTOR, offset, relocation->r_offset,
                           *descriptor);
  return check_symbol(judge, offset, symbols, relocation);
}

static bool check_section(judge_t *judge, size_t section_index, const descriptors_t *descriptors,
                          uint64_t *left)
{
  const elf_view_t *elf = &judge->hsaco->elf;
  const Elf64_Shdr *section = &elf->sections[section_index];
  const uint64_t at = section_header_at(elf, section_index);
  if (elf_view_is_static(section)) /* the loader, if it is a newer one, skips them: see hsaco.h */
    return true;
  if (section->sh_type == SHT_REL || section->sh_type == ELF_SHT_RELR)
    return loadable_refuse(judge, LOADABLE_RELOCATIONS_FORM, at, section->sh_type, SHT_RELA);
  if (section->sh_type != SHT_RELA)
    return true;
  if (!elf_view_spend(left, section->sh_size))
    return loadable_refuse(judge, LOADABLE_RELOCATIONS_APART, at, section->sh_size, *left);
  if (section->sh_info)
    return loadable_refuse(judge, LOADABLE_RELOCATIONS_DYNAMIC, at, section->sh_info, 0);
  symbol_table_t symbols;
  if (section->sh_entsize != sizeof(Elf64_Rela) || section->sh_size % sizeof(Elf64_Rela) ||
      section->sh_link >= elf->section_count ||
      (elf->sections[section->sh_link].sh_type != SHT_DYNSYM &&
       elf->sections[section->sh_link].sh_type != SHT_SYMTAB) ||
      !symbol_table_of_section(elf, &elf->sections[section->sh_link], &symbols))
    return loadable_refuse(judge, LOADABLE_RELOCATIONS_SOUND, at, section->sh_size,
                           section->sh_link);
  const unsigned char *entries = elf_view_section(elf, section);
  for (uint64_t i = 0; entries && i < section->sh_size / sizeof(Elf64_Rela); ++i) {
    Elf64_Rela relocation;
    memcpy(&relocation, entries + i * sizeof(relocation), sizeof(relocation));
    if (!check_one(judge, section->sh_offset + i * sizeof(relocation), &symbols, descriptors,
                   &relocation))
      return false;
  }
  return true;
}

bool loadable_relocations(judge_t *judge)
{
  const elf_view_t *elf = &judge->hsaco->elf;
  descriptors_t descriptors = {NULL, 0};
  if (judge->hsaco->info.relocation_count)
    descriptors = find_descriptors(judge->hsaco);
  uint64_t left = elf->size;
  for (size_t i = 0; i < elf->section_count; ++i)
    if (!check_section(judge, i, &descriptors, &left))
      return false;
  return true;
}
