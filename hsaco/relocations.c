#include "hsaco/relocations.h"

#include <string.h>

#include "hsaco/symbols.h"

/* The entries of a section; NULL when it has none that can be read, or that are still to be
 * applied. */
static const unsigned char *entries_of(const elf_view_t *elf, const Elf64_Shdr *section,
                                       uint64_t *count)
{
  *count = section->sh_size / sizeof(Elf64_Rela);
  bool sound = section->sh_type == SHT_RELA && section->sh_entsize == sizeof(Elf64_Rela) && *count;
  if (elf->header.e_type != ET_REL && elf_view_is_static(section))
    return NULL;
  return sound ? elf_view_section(elf, section) : NULL;
}

bool symbol_is_external(const elf_view_t *elf, const Elf64_Sym *symbol)
{
  return ELF64_ST_TYPE(symbol->st_info) == STT_NOTYPE &&
         (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= elf->section_count);
}

static void list_section(rawhal_hsaco_t *hsaco, const Elf64_Shdr *section,
                         const unsigned char *entries, uint64_t count)
{
  const elf_view_t *elf = &hsaco->elf;
  symbol_table_t symbols = {0};
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
    name_slots_t *known;
    if (!symbol_name(hsaco->long_names, &symbols, &symbol, &relocation->symbol, &known))
      relocation->symbol = (rawhal_string_t){0};
    relocation->external = relocation->symbol.size && symbol_is_external(elf, &symbol) &&
                           relocation->type != R_AMDGPU_RELATIVE64;
  }
}

rawhal_status_t relocations_read(rawhal_hsaco_t *hsaco, rawhal_error_t *error)
{
  const elf_view_t *elf = &hsaco->elf;
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
