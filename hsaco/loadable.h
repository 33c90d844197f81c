/* May this object be handed to the HSA loader? Internal.
 *
 * ROCr's loader trusts most of what it reads, refuses some of the rest, and takes some for another
 * thing than it is. The verdict demands the opposite of all three, so that what is called loadable
 * does not crash it, is accepted by it, and has the same facts there. hsaco.h says for what reasons
 * ROCr may still refuse an object. */
#ifndef RAWHAL_HSACO_LOADABLE_H
#define RAWHAL_HSACO_LOADABLE_H

#include "hsaco/object.h"

/* What the loader needs, in the order in which it is asked. loadable_text() says what each rule
 * says of an object that breaks it. */
typedef enum loadable_rule {
  LOADABLE_LINKED,
  LOADABLE_PROCESSOR,
  LOADABLE_XNACK,
  LOADABLE_SRAMECC,
  LOADABLE_GENERIC_LACKS_VERSION,
  LOADABLE_VERSION_LACKS_GENERIC,
  LOADABLE_HAS_SECTIONS,
  LOADABLE_PLAIN_NUMBERING,
  LOADABLE_SIZE_BY_SECTIONS,
  LOADABLE_FIRST_SECTION_EMPTY,
  LOADABLE_NO_OTHER_EMPTY,
  LOADABLE_SECTION_INSIDE,
  LOADABLE_NAMES_TABLE,
  LOADABLE_NAME_INSIDE,
  LOADABLE_NAME_FITS_TYPE,
  LOADABLE_NOTES_APART,
  LOADABLE_NOTE_WHOLE,
  LOADABLE_NOTES_PADDED,
  LOADABLE_NOTE_NOT_HSAIL,
  LOADABLE_SEGMENT_SIZES,
  LOADABLE_SEGMENT_INSIDE,
  LOADABLE_SEGMENT_ALIGNMENT,
  LOADABLE_SEGMENT_ORDER,
  LOADABLE_SEGMENT_WRAP,
  LOADABLE_HAS_SEGMENTS,
  LOADABLE_STARTS_AT_ZERO,
  LOADABLE_SPAN,
  LOADABLE_TABLES_APART,
  LOADABLE_TABLE_SOUND,
  LOADABLE_SYMBOL_NAME_INSIDE,
  LOADABLE_SYMBOL_0_EMPTY,
  LOADABLE_SYMBOL_TYPE,
  LOADABLE_SYMBOL_PLACED,
  LOADABLE_OBJECT_BINDING,
  LOADABLE_OBJECT_NAMED,
  LOADABLE_OBJECT_HAS_SECTION,
  LOADABLE_OBJECT_IN_SECTION,
  LOADABLE_OBJECT_LOADED,
  LOADABLE_OBJECT_ALIGNMENT,
  LOADABLE_DESCRIPTOR_NAMED,
  LOADABLE_DESCRIPTOR_SIZE,
  LOADABLE_DESCRIPTOR_IN_FILE,
  LOADABLE_DESCRIPTOR_SAME_BYTES,
  LOADABLE_HAS_SYMTAB,
  LOADABLE_ONE_SYMTAB,
  LOADABLE_SYMTAB_BY_NAME,
  LOADABLE_DEFINED_ONCE,
  LOADABLE_RELOCATIONS_APART,
  LOADABLE_RELOCATIONS_FORM,
  LOADABLE_RELOCATIONS_DYNAMIC,
  LOADABLE_RELOCATIONS_SOUND,
  LOADABLE_RELOCATION_TYPE,
  LOADABLE_RELOCATION_SYMBOL,
  LOADABLE_RELOCATION_PLACE,
  LOADABLE_RELOCATION_NO_DESCRIPTOR,
  LOADABLE_RELOCATION_SYMBOL_TYPE,
  LOADABLE_RELOCATION_DEFINED,
  LOADABLE_RELOCATION_UNTYPED,
  LOADABLE_RELOCATION_EXTERNAL,
  LOADABLE_RELOCATION_ADDEND,
  LOADABLE_RELOCATION_LOADED,
  LOADABLE_RULES
} loadable_rule_t;

/* A printf format that takes two unsigned long long: what was found, and what it must be, may be at
 * most, or is compared with. */
const char *loadable_text(loadable_rule_t rule);

/* The first relocation that the loader gets wrong unless its symbol is supplied. */
typedef struct when_supplied {
  uint64_t offset, addend, symbol; /* 0: there is none */
} when_supplied_t;

/* The first rule that is broken, and where. */
typedef struct judge {
  rawhal_hsaco_t *hsaco; /* for its arena: nothing else changes */
  loadable_rule_t broken;
  uint64_t offset; /* in the file, or RAWHAL_NO_OFFSET */
  uint64_t found, bound;
  when_supplied_t when_supplied;
} judge_t;

/* Notes what is wrong at `offset`; false, for the caller to return. */
bool loadable_refuse(judge_t *judge, loadable_rule_t rule, uint64_t offset, uint64_t found,
                     uint64_t bound);

/* Parts of the verdict: false when a rule is broken. */
bool loadable_symbols(judge_t *judge);
bool loadable_relocations(judge_t *judge);

static inline uint64_t section_header_at(const elf_view_t *elf, size_t index)
{
  return elf->header.e_shoff + index * sizeof(Elf64_Shdr);
}

/* Is this section a string table whose last string ends? */
bool loadable_string_table(const elf_view_t *elf, size_t index);

/* Sets info.loadable, or the reason and a diagnostic. */
void loadable_judge(rawhal_hsaco_t *hsaco);

/* Whether it is loadable once every symbol of an external relocation is supplied. */
bool loadable_when_supplied(const rawhal_hsaco_t *hsaco);

#endif
