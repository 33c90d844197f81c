#include "hsaco/loadable.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "hsaco/note.h"

static const char *const texts[LOADABLE_RULES] = {
    [LOADABLE_LINKED] = "the object is relocatable (ET_REL): it must be linked first: e_type %llu, "
                        "not %llu",
    [LOADABLE_PROCESSOR] = "the processor is unknown: machine 0x%llx in e_flags 0x%llx",
    [LOADABLE_XNACK] = "the flags set xnack, which the processor does not have: e_flags 0x%llx, "
                       "machine 0x%llx",
    [LOADABLE_SRAMECC] = "the flags set sramecc, which the processor does not have: e_flags "
                         "0x%llx, machine 0x%llx",
    [LOADABLE_GENERIC_LACKS_VERSION] =
        "a generic target without a generic version: e_flags 0x%llx, machine 0x%llx",
    [LOADABLE_VERSION_LACKS_GENERIC] =
        "a generic version on a processor that is not generic: version %llu, machine 0x%llx",
    [LOADABLE_HAS_SECTIONS] = "there are no section headers: e_shnum %llu, e_shoff %llu",
    [LOADABLE_PLAIN_NUMBERING] =
        "extended numbering of sections or segments: %llu sections, %llu segments",
    [LOADABLE_SIZE_BY_SECTIONS] =
        "the section headers describe a file of another size: %llu bytes of %llu",
    [LOADABLE_FIRST_SECTION_EMPTY] = "section header 0 is not empty: type %llu, not %llu",
    [LOADABLE_NO_OTHER_EMPTY] = "an empty section header: number %llu of %llu",
    [LOADABLE_SECTION_INSIDE] = "a section lies outside of the file: it ends at byte %llu of %llu",
    [LOADABLE_NAMES_TABLE] =
        "e_shstrndx does not name a terminated string table: section %llu of %llu",
    [LOADABLE_NAME_INSIDE] =
        "a section's name lies outside of the string table: at byte %llu of %llu",
    [LOADABLE_NAME_FITS_TYPE] = "a section named .note, .symtab or .strtab is of another type: "
                                "type %llu of section %llu",
    [LOADABLE_NOTES_APART] = "note sections overlap: %llu bytes in a file with %llu left",
    [LOADABLE_NOTE_WHOLE] = "a note ends after its section: it starts at byte %llu of %llu",
    [LOADABLE_NOTES_PADDED] = "a note section's size is not a multiple of 4: %llu, not %llu",
    [LOADABLE_NOTE_NOT_HSAIL] =
        "a note that only code objects V1 and V2 have: type %llu (HSAIL) in V%llu",
    [LOADABLE_SEGMENT_SIZES] = "a segment is larger in the file than in memory: %llu bytes of the "
                               "file, %llu of memory",
    [LOADABLE_SEGMENT_INSIDE] = "a segment lies outside of the file: it ends at byte %llu of %llu",
    [LOADABLE_SEGMENT_ALIGNMENT] =
        "a segment's alignment is not a power of two: %llu in segment %llu",
    [LOADABLE_SEGMENT_ORDER] = "segments overlap or are not in order of address: 0x%llx after an "
                               "end at 0x%llx",
    [LOADABLE_SEGMENT_WRAP] = "a segment wraps around the address space: 0x%llx bytes at 0x%llx",
    [LOADABLE_HAS_SEGMENTS] = "there is nothing to load: %llu segments with %llu bytes",
    [LOADABLE_STARTS_AT_ZERO] = "the first segment is not at address 0: 0x%llx, not %llu",
    [LOADABLE_SPAN] = "the segments span more than 1 GiB: %llu bytes, at most %llu",
    [LOADABLE_TABLES_APART] = "symbol tables overlap: %llu bytes in a file with %llu left",
    [LOADABLE_TABLE_SOUND] =
        "a symbol table is malformed: %llu bytes, its names are in section %llu",
    [LOADABLE_SYMBOL_NAME_INSIDE] =
        "a symbol's name lies outside of the string table: at byte %llu of %llu",
    [LOADABLE_SYMBOL_0_EMPTY] = "symbol 0 is not empty: st_name %llu, st_info 0x%llx",
    [LOADABLE_SYMBOL_TYPE] =
        "a symbol of a type that only code objects V1 and V2 have: type %llu of symbol %llu",
    [LOADABLE_SYMBOL_PLACED] = "a common symbol, which a linker places: type %llu of symbol %llu",
    [LOADABLE_OBJECT_BINDING] =
        "an object symbol that is neither local, global nor weak: binding %llu of symbol %llu",
    [LOADABLE_OBJECT_NAMED] = "an object symbol without a name that can be read: at byte %llu of "
                              "the names, symbol %llu",
    [LOADABLE_OBJECT_HAS_SECTION] = "an object symbol is in no section: section %llu of %llu",
    [LOADABLE_OBJECT_IN_SECTION] =
        "an object symbol lies outside of its section: address 0x%llx, the section's is 0x%llx",
    [LOADABLE_OBJECT_LOADED] =
        "an object symbol lies outside of what is loaded: address 0x%llx, %llu bytes",
    [LOADABLE_OBJECT_ALIGNMENT] = "a variable's section has an alignment that does not fit "
                                  "32 bits: %llu, at most %llu",
    [LOADABLE_DESCRIPTOR_NAMED] =
        "a kernel descriptor without a kernel's name: at byte %llu of the "
        "names, symbol %llu",
    [LOADABLE_DESCRIPTOR_SIZE] = "a kernel descriptor is not 64 bytes of the file: %llu, not %llu",
    [LOADABLE_DESCRIPTOR_IN_FILE] =
        "a kernel descriptor is not in the file: address 0x%llx, section type %llu",
    [LOADABLE_DESCRIPTOR_SAME_BYTES] = "a kernel descriptor's section and segment disagree where "
                                       "it is: at byte %llu of the file, and at byte %llu",
    [LOADABLE_HAS_SYMTAB] =
        "there is no .symtab (stripped): %llu other symbol tables, %llu sections",
    [LOADABLE_ONE_SYMTAB] = "there is more than one .symtab: %llu, not %llu",
    [LOADABLE_SYMTAB_BY_NAME] =
        "the name .symtab leads to another section than the symbol table: %llu (0: none), not %llu",
    [LOADABLE_DEFINED_ONCE] = "a symbol is defined twice: symbol %llu like symbol %llu",
    [LOADABLE_RELOCATIONS_APART] =
        "relocation sections overlap: %llu bytes in a file with %llu left",
    [LOADABLE_RELOCATIONS_FORM] = "relocations of a form the loader skips (REL, RELR): section "
                                  "type %llu, not %llu",
    [LOADABLE_RELOCATIONS_DYNAMIC] =
        "relocations of what is loaded that the loader skips: for section %llu, not %llu",
    [LOADABLE_RELOCATIONS_SOUND] =
        "a relocation section is malformed: %llu bytes, its symbols are in section %llu",
    [LOADABLE_RELOCATION_TYPE] =
        "a relocation of a type the loader does not apply: type %llu at address 0x%llx",
    [LOADABLE_RELOCATION_SYMBOL] =
        "a relocation's symbol is not in the symbol table: symbol %llu of %llu",
    [LOADABLE_RELOCATION_PLACE] =
        "a relocation writes outside of what is loaded: address 0x%llx, %llu bytes",
    [LOADABLE_RELOCATION_NO_DESCRIPTOR] = "a relocation changes a kernel descriptor: it writes at "
                                          "0x%llx, the descriptor is at 0x%llx",
    [LOADABLE_RELOCATION_SYMBOL_TYPE] =
        "a relocation against a symbol that is neither an object nor a "
        "function: type %llu of symbol %llu",
    [LOADABLE_RELOCATION_DEFINED] =
        "a relocation against an object or a function that is in no section: section %llu of "
        "symbol %llu",
    [LOADABLE_RELOCATION_UNTYPED] =
        "a relocation against a symbol without a type, which the loader takes for an external "
        "one: section %llu of symbol %llu",
    [LOADABLE_RELOCATION_EXTERNAL] =
        "a relocation against an undefined symbol that is local or has "
        "no name: st_info 0x%llx of symbol %llu",
    [LOADABLE_RELOCATION_ADDEND] = "a relocation against an undefined symbol that the loader would "
                                   "resolve wrongly: addend 0x%llx, symbol %llu",
    [LOADABLE_RELOCATION_LOADED] =
        "a relocation's symbol lies outside of what is loaded: address 0x%llx of symbol %llu",
};

const char *loadable_text(loadable_rule_t rule)
{
  return texts[rule];
}

bool loadable_refuse(judge_t *judge, loadable_rule_t rule, uint64_t offset, uint64_t found,
                     uint64_t bound)
{
  judge->broken = rule;
  judge->offset = offset;
  judge->found = found;
  judge->bound = bound;
  return false;
}

/* Where a range ends, for a text; the largest number when it wraps. */
static uint64_t end_of(uint64_t offset, uint64_t size)
{
  uint64_t end;
  return checked_add_u64(offset, size, &end) ? end : UINT64_MAX;
}

/* ---- The object ---- */

static bool check_target(judge_t *judge)
{
  const rawhal_hsaco_t *hsaco = judge->hsaco;
  const rawhal_target_t *target = &hsaco->info.target;
  const processor_t *processor = hsaco->processor;
  const uint64_t at = offsetof(Elf64_Ehdr, e_flags), flags = hsaco->elf.header.e_flags;
  if (hsaco->elf.header.e_type != ET_DYN)
    return loadable_refuse(judge, LOADABLE_LINKED, offsetof(Elf64_Ehdr, e_type),
                           hsaco->elf.header.e_type, ET_DYN);
  if (!processor)
    return loadable_refuse(judge, LOADABLE_PROCESSOR, at, target->machine, flags);
  if (target->xnack >= RAWHAL_FEATURE_OFF && !(processor->flags & PROCESSOR_XNACK))
    return loadable_refuse(judge, LOADABLE_XNACK, at, flags, target->machine);
  if (target->sramecc >= RAWHAL_FEATURE_OFF && !(processor->flags & PROCESSOR_SRAMECC))
    return loadable_refuse(judge, LOADABLE_SRAMECC, at, flags, target->machine);
  bool generic = processor->flags & PROCESSOR_GENERIC;
  if (generic && !target->generic_version)
    return loadable_refuse(judge, LOADABLE_GENERIC_LACKS_VERSION, at, flags, target->machine);
  if (!generic && target->generic_version)
    return loadable_refuse(judge, LOADABLE_VERSION_LACKS_GENERIC, at, target->generic_version,
                           target->machine);
  return true;
}

/* ---- Sections ---- */

/* The loader is given no size: it computes one from the section headers, like this. */
static uint64_t size_by_sections(const elf_view_t *elf)
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

/* The size that the loader works with lies within the file, and both header tables within it. */
static bool check_size(judge_t *judge, uint64_t size)
{
  const elf_view_t *elf = &judge->hsaco->elf;
  const uint64_t at = offsetof(Elf64_Ehdr, e_shoff);
  uint64_t sections = elf->header.e_shoff + elf->section_count * sizeof(Elf64_Shdr);
  uint64_t segments = elf->header.e_phoff + elf->segment_count * sizeof(Elf64_Phdr);
  uint64_t needed = sections > segments ? sections : segments;
  if (size > elf->size)
    return loadable_refuse(judge, LOADABLE_SIZE_BY_SECTIONS, at, size, elf->size);
  if (needed > size)
    return loadable_refuse(judge, LOADABLE_SIZE_BY_SECTIONS, at, size, needed);
  return true;
}

static bool check_sections(judge_t *judge)
{
  const elf_view_t *elf = &judge->hsaco->elf;
  const uint64_t at = offsetof(Elf64_Ehdr, e_shoff);
  if (!elf->section_count)
    return loadable_refuse(judge, LOADABLE_HAS_SECTIONS, at, elf->header.e_shnum,
                           elf->header.e_shoff);
  if (elf->extended_numbering)
    return loadable_refuse(judge, LOADABLE_PLAIN_NUMBERING, at, elf->section_count,
                           elf->segment_count);
  uint64_t size = size_by_sections(elf);
  if (!check_size(judge, size))
    return false;
  for (size_t i = 0; i < elf->section_count; ++i) {
    const Elf64_Shdr *section = &elf->sections[i];
    const uint64_t header = section_header_at(elf, i);
    if (i == 0 && section->sh_type != SHT_NULL)
      return loadable_refuse(judge, LOADABLE_FIRST_SECTION_EMPTY, header, section->sh_type,
                             SHT_NULL);
    if (i != 0 && section->sh_type == SHT_NULL)
      return loadable_refuse(judge, LOADABLE_NO_OTHER_EMPTY, header, i, elf->section_count);
    if (section->sh_type != SHT_NOBITS && /* whose offset is at most the size */
        !range_within(section->sh_offset, section->sh_size, size))
      return loadable_refuse(judge, LOADABLE_SECTION_INSIDE, header,
                             end_of(section->sh_offset, section->sh_size), size);
  }
  return true;
}

bool loadable_string_table(const elf_view_t *elf, size_t index)
{
  if (index == 0 || index >= elf->section_count)
    return false;
  const Elf64_Shdr *section = &elf->sections[index];
  const char *text = elf_view_section(elf, section);
  return section->sh_type == SHT_STRTAB && section->sh_size && text &&
         text[section->sh_size - 1] == 0;
}

/* The loader finds these sections by their names alone and takes their type for granted. It can do
 * without .note and .strtab. */
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

static bool check_section_names(judge_t *judge)
{
  const elf_view_t *elf = &judge->hsaco->elf;
  if (!loadable_string_table(elf, elf->names_index))
    return loadable_refuse(judge, LOADABLE_NAMES_TABLE, offsetof(Elf64_Ehdr, e_shstrndx),
                           elf->names_index, elf->section_count);
  const Elf64_Shdr *table = &elf->sections[elf->names_index];
  const char *names = elf_view_section(elf, table);
  for (size_t i = 1; i < elf->section_count; ++i) {
    const Elf64_Shdr *section = &elf->sections[i];
    if (section->sh_name >= table->sh_size)
      return loadable_refuse(judge, LOADABLE_NAME_INSIDE, section_header_at(elf, i),
                             section->sh_name, table->sh_size);
    if (!name_fits_type(names + section->sh_name, section->sh_type))
      return loadable_refuse(judge, LOADABLE_NAME_FITS_TYPE, section_header_at(elf, i),
                             section->sh_type, i);
  }
  return true;
}

/* ---- Notes ---- */

/* The loader would take the profile of the executable from such a note, at offset 8 of it. */
static bool is_hsail(const note_t *note)
{
  enum { NOTE_AMD_HSAIL = 2 };
  return note->type == NOTE_AMD_HSAIL && note->owner.size == 3 &&
         memcmp(note->owner.data, "AMD", 3) == 0;
}

static bool check_notes(judge_t *judge)
{
  const elf_view_t *elf = &judge->hsaco->elf;
  uint64_t left = elf->size;
  for (size_t i = 0; i < elf->section_count; ++i) {
    const Elf64_Shdr *section = &elf->sections[i];
    if (section->sh_type != SHT_NOTE)
      continue;
    if (!elf_view_spend(&left, section->sh_size))
      return loadable_refuse(judge, LOADABLE_NOTES_APART, section_header_at(elf, i),
                             section->sh_size, left);
    note_walk_t walk = {elf_view_section(elf, section), (size_t)section->sh_size, 0, 4};
    note_t note;
    const char *wrong = NULL;
    while (walk.bytes && note_next(&walk, &note, &wrong))
      if (is_hsail(&note))
        return loadable_refuse(judge, LOADABLE_NOTE_NOT_HSAIL, section->sh_offset, note.type,
                               judge->hsaco->info.code_object_version);
    /* The loader's walk has no end of its own: the last note must end with the section, padding
     * included. */
    if (wrong)
      return loadable_refuse(judge, LOADABLE_NOTE_WHOLE, section->sh_offset + walk.offset,
                             walk.offset, section->sh_size);
    if (section->sh_size % 4)
      return loadable_refuse(judge, LOADABLE_NOTES_PADDED, section_header_at(elf, i),
                             section->sh_size, section->sh_size + 4 - section->sh_size % 4);
  }
  return true;
}

/* ---- Segments ---- */

static bool check_segment(judge_t *judge, size_t index, uint64_t previous_end)
{
  const elf_view_t *elf = &judge->hsaco->elf;
  const Elf64_Phdr *segment = &elf->segments[index];
  const uint64_t at = elf->header.e_phoff + index * sizeof(*segment);
  uint64_t end;
  if (segment->p_filesz > segment->p_memsz)
    return loadable_refuse(judge, LOADABLE_SEGMENT_SIZES, at, segment->p_filesz, segment->p_memsz);
  if (!range_within(segment->p_offset, segment->p_filesz, elf->size))
    return loadable_refuse(judge, LOADABLE_SEGMENT_INSIDE, at,
                           end_of(segment->p_offset, segment->p_filesz), elf->size);
  if (segment->p_align > 1 && !is_power_of_two(segment->p_align))
    return loadable_refuse(judge, LOADABLE_SEGMENT_ALIGNMENT, at, segment->p_align, index);
  if (segment->p_vaddr < previous_end)
    return loadable_refuse(judge, LOADABLE_SEGMENT_ORDER, at, segment->p_vaddr, previous_end);
  if (!checked_add_u64(segment->p_vaddr, segment->p_memsz, &end))
    return loadable_refuse(judge, LOADABLE_SEGMENT_WRAP, at, segment->p_memsz, segment->p_vaddr);
  return true;
}

static bool check_segments(judge_t *judge)
{
  const uint64_t most = (uint64_t)1 << 30; /* bytes the loader would allocate and clear */
  const elf_view_t *elf = &judge->hsaco->elf;
  const uint64_t at = elf->header.e_phoff;
  uint64_t end = 0, first = 0;
  size_t loads = 0;
  for (size_t i = 0; i < elf->segment_count; ++i) {
    const Elf64_Phdr *segment = &elf->segments[i];
    if (segment->p_type != PT_LOAD)
      continue;
    if (!check_segment(judge, i, end))
      return false;
    end = segment->p_vaddr + segment->p_memsz;
    first = loads++ ? first : segment->p_vaddr;
  }
  if (!end)
    return loadable_refuse(judge, LOADABLE_HAS_SEGMENTS, at, loads, end);
  if (first) /* the loader asserts that address 0 is part of what it loads */
    return loadable_refuse(judge, LOADABLE_STARTS_AT_ZERO, at, first, 0);
  if (end > most)
    return loadable_refuse(judge, LOADABLE_SPAN, at, end, most);
  return true;
}

/* ---- The verdict ---- */

void loadable_judge(rawhal_hsaco_t *hsaco)
{
  static bool (*const parts[])(judge_t *) = {
      check_target,   check_sections,   check_section_names,  check_notes,
      check_segments, loadable_symbols, loadable_relocations,
  };
  judge_t judge = {.hsaco = hsaco};
  hsaco->info.loadable = true;
  for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && hsaco->info.loadable; ++i)
    hsaco->info.loadable = parts[i](&judge);
  hsaco->loadable_when_supplied = hsaco->info.loadable;
  const when_supplied_t *when = &judge.when_supplied;
  if (hsaco->info.loadable && when->symbol)
    hsaco->info.loadable = loadable_refuse(&judge, LOADABLE_RELOCATION_ADDEND, when->offset,
                                           when->addend, when->symbol);
  if (hsaco->info.loadable)
    return;
  hsaco->info.not_loadable_reason =
      arena_print(&hsaco->arena, texts[judge.broken], (unsigned long long)judge.found,
                  (unsigned long long)judge.bound);
  diagnose_print(&hsaco->diagnostics, RAWHAL_SEVERITY_ERROR, (rawhal_string_t){0}, judge.offset,
                 "not loadable: %.*s", RAWHAL_STRING_ARGS(hsaco->info.not_loadable_reason));
}

bool loadable_when_supplied(const rawhal_hsaco_t *hsaco)
{
  return hsaco->loadable_when_supplied;
}
