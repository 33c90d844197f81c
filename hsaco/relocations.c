#include "hsaco/relocations.h"

#include <string.h>

#include "base/checked.h"
#include "hsaco/symbols.h"

/* What ROCr applies (AMDGPUUsage, "Relocation Records"), and how many bytes each writes. */
static const struct {
  uint8_t type, width;
} applied[] = {
    {1, 4},  /* R_AMDGPU_ABS32_LO */
    {2, 4},  /* R_AMDGPU_ABS32_HI */
    {3, 8},  /* R_AMDGPU_ABS64 */
    {6, 4},  /* R_AMDGPU_ABS32 */
    {13, 8}, /* R_AMDGPU_RELATIVE64 */
};

static uint64_t width_of(uint32_t type)
{
  for (size_t i = 0; i < sizeof(applied) / sizeof(*applied); ++i)
    if (applied[i].type == type)
      return applied[i].width;
  return 0;
}

static const char *check_one(const struct elf_view *elf, const struct symbol_table *symbols,
                             const Elf64_Rela *relocation)
{
  uint64_t width = width_of(ELF64_R_TYPE(relocation->r_info));
  uint64_t index = ELF64_R_SYM(relocation->r_info);
  if (!width)
    return "a relocation of a type the loader does not apply";
  if (index >= symbols->count)
    return "a relocation's symbol is not in the symbol table";
  const Elf64_Phdr *segment = elf_view_segment_at(elf, relocation->r_offset);
  if (!segment || !range_within(relocation->r_offset - segment->p_vaddr, width, segment->p_memsz))
    return "a relocation writes outside of what is loaded";
  if (!index)
    return NULL;
  Elf64_Sym symbol = symbol_at(symbols, index);
  unsigned type = ELF64_ST_TYPE(symbol.st_info);
  if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= elf->section_count)
    return type != STT_NOTYPE || relocation->r_addend
               ? "a relocation against an undefined symbol that the loader would get wrong"
               : NULL;
  return elf_view_segment_at(elf, symbol.st_value)
             ? NULL
             : "a relocation's symbol lies outside of what is loaded";
}

const char *loadable_relocations(const struct elf_view *elf, size_t index, uint64_t *offset)
{
  const Elf64_Shdr *section = &elf->sections[index];
  *offset = elf->header.e_shoff + index * sizeof(*section);
  if (section->sh_type == SHT_REL || section->sh_type == ELF_SHT_RELR)
    return "relocations of a form the loader skips (REL, RELR)";
  if (section->sh_type != SHT_RELA)
    return NULL;
  if (section->sh_info)
    return "relocations kept for a linker, which the loader skips";
  struct symbol_table symbols;
  if (section->sh_entsize != sizeof(Elf64_Rela) || section->sh_size % sizeof(Elf64_Rela) ||
      section->sh_link >= elf->section_count ||
      (elf->sections[section->sh_link].sh_type != SHT_DYNSYM &&
       elf->sections[section->sh_link].sh_type != SHT_SYMTAB) ||
      !symbol_table_of_section(elf, &elf->sections[section->sh_link], &symbols))
    return "a relocation section is not sound";
  const unsigned char *entries = elf_view_section(elf, section);
  for (uint64_t i = 0; entries && i < section->sh_size / sizeof(Elf64_Rela); ++i) {
    Elf64_Rela relocation;
    memcpy(&relocation, entries + i * sizeof(relocation), sizeof(relocation));
    const char *wrong = check_one(elf, &symbols, &relocation);
    *offset = section->sh_offset + i * sizeof(relocation);
    if (wrong)
      return wrong;
  }
  return NULL;
}

/* ---- Listing ---- */

/* The entries of a section; NULL when it has none that can be read. */
static const unsigned char *entries_of(const struct elf_view *elf, const Elf64_Shdr *section,
                                       uint64_t *count)
{
  *count = section->sh_size / sizeof(Elf64_Rela);
  bool sound = section->sh_type == SHT_RELA && section->sh_entsize == sizeof(Elf64_Rela) && *count;
  return sound ? elf_view_section(elf, section) : NULL;
}

static void list_section(struct rawhal_hsaco *hsaco, const Elf64_Shdr *section,
                         const unsigned char *entries, uint64_t count)
{
  const struct elf_view *elf = &hsaco->elf;
  struct symbol_table symbols = {0};
  if (section->sh_link < elf->section_count &&
      !symbol_table_of_section(elf, &elf->sections[section->sh_link], &symbols))
    symbols.count = 0;
  for (uint64_t i = 0; i < count; ++i) {
    Elf64_Rela entry;
    memcpy(&entry, entries + i * sizeof(entry), sizeof(entry));
    rawhal_relocation_t *relocation = &hsaco->relocations[hsaco->info.relocation_count++];
    *relocation = (rawhal_relocation_t){.address = entry.r_offset,
                                        .addend = entry.r_addend,
                                        .type = (uint32_t)ELF64_R_TYPE(entry.r_info)};
    uint64_t index = ELF64_R_SYM(entry.r_info);
    if (!index || index >= symbols.count)
      continue;
    Elf64_Sym symbol = symbol_at(&symbols, index);
    if (!symbol_name(&symbols, &symbol, &relocation->symbol))
      relocation->symbol = (rawhal_string_t){0};
  }
}

rawhal_status_t relocations_read(struct rawhal_hsaco *hsaco, rawhal_error_t *error)
{
  const struct elf_view *elf = &hsaco->elf;
  uint64_t left = elf->size, total = 0, count;
  for (size_t i = 0; i < elf->section_count; ++i)
    if (entries_of(elf, &elf->sections[i], &count)) {
      total += count;
      if (!elf_view_spend(&left, elf->sections[i].sh_size))
        return RAWHAL_OK; /* they overlap: loadable_judge() says so */
    }
  if (!total)
    return RAWHAL_OK;
  hsaco->relocations = arena_alloc(&hsaco->arena, (size_t)total * sizeof(*hsaco->relocations));
  if (!hsaco->relocations)
    return arena_fail(&hsaco->arena, error);
  for (size_t i = 0; i < elf->section_count; ++i) {
    const unsigned char *entries = entries_of(elf, &elf->sections[i], &count);
    if (entries)
      list_section(hsaco, &elf->sections[i], entries, count);
  }
  return RAWHAL_OK;
}
