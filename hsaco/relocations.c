#include "base/checked.h"
#include "hsaco/loadable.h"
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
