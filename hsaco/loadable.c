#include "hsaco/loadable.h"

#include <string.h>

#include "base/checked.h"
#include "hsaco/descriptor.h"
#include "hsaco/note.h"
#include "hsaco/relocations.h"
#include "hsaco/symbols.h"

/* Each check returns NULL, or what is wrong at *offset. */
typedef const char *check_fn(const struct rawhal_hsaco *hsaco, uint64_t *offset);

static uint64_t section_header_at(const struct elf_view *elf, size_t index)
{
  return elf->header.e_shoff + index * sizeof(Elf64_Shdr);
}

static const char *check_target(const struct rawhal_hsaco *hsaco, uint64_t *offset)
{
  const rawhal_target_t *target = &hsaco->info.target;
  const struct processor *processor = hsaco->processor;
  *offset = offsetof(Elf64_Ehdr, e_flags);
  if (hsaco->elf.header.e_type != ET_DYN)
    return "the object is relocatable (ET_REL): it must be linked first";
  if (!processor)
    return "the processor is unknown";
  if (target->xnack >= RAWHAL_FEATURE_OFF && !(processor->flags & PROCESSOR_XNACK))
    return "the flags set xnack, which the processor does not have";
  if (target->sramecc >= RAWHAL_FEATURE_OFF && !(processor->flags & PROCESSOR_SRAMECC))
    return "the flags set sramecc, which the processor does not have";
  bool generic = processor->flags & PROCESSOR_GENERIC;
  if (generic != (target->generic_version != 0))
    return generic ? "a generic target without a generic version"
                   : "a generic version on a processor that is not generic";
  return NULL;
}

/* The loader is given no size: it computes one from the section headers, like this. */
static uint64_t size_by_sections(const struct elf_view *elf)
{
  uint64_t furthest = elf->header.e_shoff;
  uint64_t size = furthest + elf->section_count * sizeof(Elf64_Shdr);
  for (size_t i = 0; i < elf->section_count; ++i) {
    const Elf64_Shdr *section = &elf->sections[i];
    if (section->sh_offset <= furthest)
      continue;
    furthest = size = section->sh_offset;
    if (section->sh_type != SHT_NOBITS && !checked_add_u64(size, section->sh_size, &size))
      return UINT64_MAX;
  }
  return size;
}

static const char *check_sections(const struct rawhal_hsaco *hsaco, uint64_t *offset)
{
  const struct elf_view *elf = &hsaco->elf;
  *offset = offsetof(Elf64_Ehdr, e_shoff);
  if (!elf->section_count)
    return "there are no section headers";
  if (elf->extended_numbering)
    return "extended numbering of sections or segments";
  if (elf->header.e_shentsize != sizeof(Elf64_Shdr) ||
      elf->header.e_phentsize != sizeof(Elf64_Phdr) || elf->header.e_ehsize != sizeof(Elf64_Ehdr))
    return "unusual header sizes";
  uint64_t size = size_by_sections(elf);
  uint64_t tables = elf->header.e_shoff + elf->section_count * sizeof(Elf64_Shdr);
  if (size > elf->size || tables > size ||
      elf->header.e_phoff + elf->segment_count * sizeof(Elf64_Phdr) > size)
    return "the section headers describe a file of another size";
  for (size_t i = 0; i < elf->section_count; ++i) {
    const Elf64_Shdr *section = &elf->sections[i];
    *offset = section_header_at(elf, i);
    if ((section->sh_type == SHT_NULL) != (i == 0))
      return i ? "an empty section header" : "section header 0 is not empty";
    if (section->sh_type == SHT_NOBITS ? section->sh_offset > size
                                       : !range_within(section->sh_offset, section->sh_size, size))
      return "a section lies outside of the file";
  }
  return NULL;
}

static bool is_string_table(const struct elf_view *elf, size_t index)
{
  if (index == 0 || index >= elf->section_count)
    return false;
  const Elf64_Shdr *section = &elf->sections[index];
  const char *text = elf_view_section(elf, section);
  return section->sh_type == SHT_STRTAB && section->sh_size && text &&
         text[section->sh_size - 1] == 0;
}

/* The loader finds these sections by their names alone and takes their type for granted. It can do
 * without any of them. */
static bool name_fits_type(const char *name, uint32_t type)
{
  if (name[0] != '.' || (name[1] != 'n' && name[1] != 's')) /* most sections */
    return true;
  if (!strcmp(name, ".note"))
    return type == SHT_NOTE;
  if (!strcmp(name, ".symtab"))
    return type == SHT_SYMTAB || type == SHT_DYNSYM;
  if (!strcmp(name, ".strtab"))
    return type == SHT_STRTAB;
  return true;
}

static const char *check_section_names(const struct rawhal_hsaco *hsaco, uint64_t *offset)
{
  const struct elf_view *elf = &hsaco->elf;
  *offset = offsetof(Elf64_Ehdr, e_shstrndx);
  if (!is_string_table(elf, elf->names_index))
    return "e_shstrndx does not name a terminated string table";
  const char *names = elf_view_section(elf, &elf->sections[elf->names_index]);
  for (size_t i = 0; i < elf->section_count; ++i) {
    *offset = section_header_at(elf, i);
    if (elf->sections[i].sh_name >= elf->sections[elf->names_index].sh_size)
      return "a section's name lies outside of the string table";
    if (!name_fits_type(names + elf->sections[i].sh_name, elf->sections[i].sh_type))
      return "a section named .note, .symtab or .strtab is of another type";
  }
  return NULL;
}

static const char *check_notes(const struct rawhal_hsaco *hsaco, uint64_t *offset)
{
  const struct elf_view *elf = &hsaco->elf;
  uint64_t left = elf->size;
  for (size_t i = 0; i < elf->section_count; ++i) {
    const Elf64_Shdr *section = &elf->sections[i];
    if (section->sh_type != SHT_NOTE)
      continue;
    *offset = section_header_at(elf, i);
    if (!elf_view_spend(&left, section->sh_size))
      return "note sections overlap";
    struct note_walk walk = {elf_view_section(elf, section), (size_t)section->sh_size, 0, 4};
    struct note note;
    const char *wrong = NULL;
    while (walk.bytes && note_next(&walk, &note, &wrong))
      ;
    *offset = section->sh_offset + walk.offset;
    /* The loader's walk has no end of its own: the last note must end with the section, padding
     * included. */
    if (wrong || section->sh_size % 4)
      return wrong ? wrong : "a note section's size is not a multiple of 4";
  }
  return NULL;
}

/* ---- Segments ---- */

static const char *check_segments(const struct rawhal_hsaco *hsaco, uint64_t *offset)
{
  const uint64_t most = (uint64_t)1 << 30; /* bytes the loader would allocate and clear */
  const struct elf_view *elf = &hsaco->elf;
  uint64_t end = 0, first = 0;
  size_t loads = 0;
  for (size_t i = 0; i < elf->segment_count; ++i) {
    const Elf64_Phdr *segment = &elf->segments[i];
    if (segment->p_type != PT_LOAD)
      continue;
    *offset = elf->header.e_phoff + i * sizeof(*segment);
    if (segment->p_memsz == 0 || segment->p_filesz > segment->p_memsz)
      return "a segment is empty or larger in the file than in memory";
    if (!range_within(segment->p_offset, segment->p_filesz, elf->size))
      return "a segment lies outside of the file";
    if (segment->p_align > 1 && !is_power_of_two(segment->p_align))
      return "a segment's alignment is not a power of two";
    if (loads && segment->p_vaddr < end)
      return "segments overlap or are not in order of address";
    if (!checked_add_u64(segment->p_vaddr, segment->p_memsz, &end))
      return "a segment wraps around the address space";
    first = loads++ ? first : segment->p_vaddr;
  }
  *offset = elf->header.e_phoff;
  if (!loads)
    return "there are no segments to load";
  if (first) /* the loader asserts that address 0 is part of what it loads */
    return "the first segment is not at address 0";
  return end > most ? "the segments span more than 1 GiB" : NULL;
}

/* ---- Symbols ---- */

static bool loaded(const struct elf_view *elf, uint64_t address, uint64_t size)
{
  const Elf64_Phdr *segment = elf_view_segment_at(elf, address);
  return segment && range_within(address - segment->p_vaddr, size, segment->p_memsz);
}

/* The loader defines global objects, and looks up their section without asking whether there is
 * one. */
static const char *check_symbol(const struct elf_view *elf, const struct symbol_table *table,
                                const Elf64_Sym *symbol)
{
  rawhal_string_t name;
  if (symbol->st_name >= table->names_size)
    return "a symbol's name lies outside of the string table";
  if (ELF64_ST_TYPE(symbol->st_info) >= STT_LOOS)
    return "a symbol of a type that only code objects V1 and V2 have";
  if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT)
    return NULL;
  if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= elf->section_count)
    return "an object symbol is in no section";
  const Elf64_Shdr *section = &elf->sections[symbol->st_shndx];
  if (symbol->st_value < section->sh_addr ||
      !range_within(symbol->st_value - section->sh_addr, symbol->st_size, section->sh_size) ||
      !loaded(elf, symbol->st_value, symbol->st_size))
    return "an object symbol lies outside of its section or of what is loaded";
  if (section->sh_addralign >= UINT32_MAX) /* the loader asserts so much */
    return "an object symbol's section has an alignment that does not fit 32 bits";
  if (!symbol_name(table, symbol, &name) || !strip_kd(name, &name))
    return NULL;
  if (symbol->st_size != DESCRIPTOR_SIZE || section->sh_type == SHT_NOBITS)
    return "a kernel descriptor is not 64 bytes of the file";
  return NULL;
}

static const char *check_symbols(const struct rawhal_hsaco *hsaco, uint64_t *offset)
{
  const struct elf_view *elf = &hsaco->elf;
  uint64_t left = elf->size;
  size_t tables = 0;
  for (size_t i = 0; i < elf->section_count; ++i) {
    const Elf64_Shdr *section = &elf->sections[i];
    if (section->sh_type != SHT_SYMTAB && section->sh_type != SHT_DYNSYM)
      continue;
    *offset = section_header_at(elf, i);
    if (!elf_view_spend(&left, section->sh_size))
      return "symbol tables overlap";
    struct symbol_table table;
    if (!is_string_table(elf, section->sh_link) || section->sh_size % sizeof(Elf64_Sym) ||
        !symbol_table_of_section(elf, section, &table) || !table.count)
      return "a symbol table is not sound";
    tables += section->sh_type == SHT_SYMTAB;
    for (uint64_t s = 0; s < table.count; ++s) {
      Elf64_Sym symbol = symbol_at(&table, s);
      const char *wrong = check_symbol(elf, &table, &symbol);
      *offset = section->sh_offset + s * sizeof(symbol);
      if (wrong)
        return wrong;
    }
  }
  *offset = offsetof(Elf64_Ehdr, e_shoff);
  if (tables != 1)
    return tables ? "there is more than one .symtab" : "there is no .symtab (stripped)";
  return hsaco->loaded_twice.size ? "a symbol is defined twice" : NULL;
}

static const char *check_entries(const struct rawhal_hsaco *hsaco, uint64_t *offset)
{
  *offset = RAWHAL_NO_OFFSET;
  return hsaco->bad_entry.size ? "a kernel's entry is not in code" : NULL;
}

static const char *check_relocations(const struct rawhal_hsaco *hsaco, uint64_t *offset)
{
  const struct elf_view *elf = &hsaco->elf;
  uint64_t left = elf->size;
  for (size_t i = 0; i < elf->section_count; ++i) {
    *offset = section_header_at(elf, i);
    if (elf->sections[i].sh_type == SHT_RELA && !elf_view_spend(&left, elf->sections[i].sh_size))
      return "relocation sections overlap";
    const char *wrong = loadable_relocations(elf, i, offset);
    if (wrong)
      return wrong;
  }
  return NULL;
}

void loadable_judge(struct rawhal_hsaco *hsaco)
{
  static check_fn *const checks[] = {
      check_target,   check_sections, check_section_names, check_notes,
      check_segments, check_symbols,  check_entries,       check_relocations,
  };
  for (size_t i = 0; i < sizeof(checks) / sizeof(*checks); ++i) {
    uint64_t offset = RAWHAL_NO_OFFSET;
    const char *wrong = checks[i](hsaco, &offset);
    if (!wrong)
      continue;
    hsaco->info.not_loadable_reason = (rawhal_string_t){wrong, strlen(wrong)};
    diagnose_print(&hsaco->diagnostics, RAWHAL_ERROR, (rawhal_string_t){0}, offset,
                   "not loadable: %s", wrong);
    return;
  }
  hsaco->info.loadable = true;
}
