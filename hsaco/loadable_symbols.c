/* The part of the loadability verdict that is about symbols. */
#include "base/checked.h"
#include "hsaco/descriptor.h"
#include "hsaco/loadable.h"
#include "hsaco/symbols.h"

#include <string.h>

/* A symbol under judgement. */
typedef struct witness {
  const symbol_table_t *table;
  uint64_t index, offset; /* number in the table, place in the file */
  Elf64_Sym symbol;
} witness_t;

static bool refuse(judge_t *judge, const witness_t *witness, loadable_rule_t rule, uint64_t found,
                   uint64_t bound)
{
  return loadable_refuse(judge, rule, witness->offset, found, bound);
}

static bool loaded(const elf_view_t *elf, uint64_t address, uint64_t size)
{
  const Elf64_Phdr *segment = elf_view_segment_at(elf, address);
  return segment && range_within(address - segment->p_vaddr, size, segment->p_memsz);
}

/* ---- One symbol ---- */

/* The loader takes the descriptor's sizes from its section, and the descriptor that the device
 * reads from its segment. */
static bool check_descriptor(judge_t *judge, const witness_t *witness, const Elf64_Shdr *section)
{
  const Elf64_Sym *symbol = &witness->symbol;
  uint64_t by_section = section->sh_offset + (symbol->st_value - section->sh_addr), by_segment;
  if (symbol->st_size != DESCRIPTOR_SIZE)
    return refuse(judge, witness, LOADABLE_DESCRIPTOR_SIZE, symbol->st_size, DESCRIPTOR_SIZE);
  if (section->sh_type == SHT_NOBITS ||
      !elf_view_offset_of(&judge->hsaco->elf, symbol->st_value, symbol->st_size, &by_segment))
    return refuse(judge, witness, LOADABLE_DESCRIPTOR_IN_FILE, symbol->st_value, section->sh_type);
  if (by_section != by_segment)
    return refuse(judge, witness, LOADABLE_DESCRIPTOR_SAME_BYTES, by_section, by_segment);
  return true;
}

/* The loader defines these, and looks up their section without asking whether there is one. */
static bool check_object(judge_t *judge, const witness_t *witness)
{
  const elf_view_t *elf = &judge->hsaco->elf;
  const Elf64_Sym *symbol = &witness->symbol;
  rawhal_string_t name;
  name_slots_t *known;
  if (ELF64_ST_BIND(symbol->st_info) > STB_WEAK)
    return refuse(judge, witness, LOADABLE_OBJECT_BINDING, ELF64_ST_BIND(symbol->st_info),
                  witness->index);
  if (!symbol_name(judge->hsaco->long_names, witness->table, symbol, &name, &known) || !name.size)
    return refuse(judge, witness, LOADABLE_OBJECT_NAMED, symbol->st_name, witness->index);
  const bool descriptor = name.size >= 3 && memcmp(name.data + name.size - 3, ".kd", 3) == 0;
  if (descriptor && name.size == 3)
    return refuse(judge, witness, LOADABLE_DESCRIPTOR_NAMED, symbol->st_name, witness->index);
  if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx >= elf->section_count)
    return refuse(judge, witness, LOADABLE_OBJECT_HAS_SECTION, symbol->st_shndx,
                  elf->section_count);
  const Elf64_Shdr *section = &elf->sections[symbol->st_shndx];
  if (symbol->st_value < section->sh_addr ||
      !range_within(symbol->st_value - section->sh_addr, symbol->st_size, section->sh_size))
    return refuse(judge, witness, LOADABLE_OBJECT_IN_SECTION, symbol->st_value, section->sh_addr);
  if (!loaded(elf, symbol->st_value, symbol->st_size))
    return refuse(judge, witness, LOADABLE_OBJECT_LOADED, symbol->st_value, symbol->st_size);
  if (!descriptor && section->sh_addralign >= UINT32_MAX) /* the loader asserts so much */
    return refuse(judge, witness, LOADABLE_OBJECT_ALIGNMENT, section->sh_addralign, UINT32_MAX - 1);
  return !descriptor || check_descriptor(judge, witness, section);
}

/* Of every table: relocations look at types and names of symbols, those of symbol 0 included. */
static bool check_any(judge_t *judge, const witness_t *witness)
{
  const symbol_table_t *table = witness->table;
  const Elf64_Sym *symbol = &witness->symbol;
  if (symbol->st_name >= table->names_size)
    return refuse(judge, witness, LOADABLE_SYMBOL_NAME_INSIDE, symbol->st_name, table->names_size);
  if (witness->index == 0 &&
      (ELF64_ST_TYPE(symbol->st_info) != STT_NOTYPE || table->names[symbol->st_name]))
    return refuse(judge, witness, LOADABLE_SYMBOL_0_EMPTY, symbol->st_name, symbol->st_info);
  return true;
}

/* Of the table that the loader defines symbols from. */
static bool check_exported(judge_t *judge, const witness_t *witness)
{
  const unsigned type = ELF64_ST_TYPE(witness->symbol.st_info);
  if (type == STT_LOOS) /* 256 bytes are copied from there, of local symbols, too */
    return refuse(judge, witness, LOADABLE_SYMBOL_TYPE, type, witness->index);
  if (ELF64_ST_BIND(witness->symbol.st_info) == STB_LOCAL)
    return true;
  if (type == STT_COMMON)
    return refuse(judge, witness, LOADABLE_SYMBOL_PLACED, type, witness->index);
  return type != STT_OBJECT || check_object(judge, witness);
}

/* ---- Tables ---- */

static bool check_table(judge_t *judge, size_t section_index, uint64_t *left)
{
  const elf_view_t *elf = &judge->hsaco->elf;
  const Elf64_Shdr *section = &elf->sections[section_index];
  const uint64_t at = section_header_at(elf, section_index);
  symbol_table_t table;
  if (!elf_view_spend(left, section->sh_size))
    return loadable_refuse(judge, LOADABLE_TABLES_APART, at, section->sh_size, *left);
  if (!loadable_string_table(elf, section->sh_link) || section->sh_size % sizeof(Elf64_Sym) ||
      !symbol_table_of_section(elf, section, &table) || !table.count)
    return loadable_refuse(judge, LOADABLE_TABLE_SOUND, at, section->sh_size, section->sh_link);
  for (uint64_t i = 0; i < table.count; ++i) {
    const witness_t witness = {&table, i, section->sh_offset + i * sizeof(Elf64_Sym),
                               symbol_at(&table, i)};
    if (!check_any(judge, &witness))
      return false;
    if (section->sh_type == SHT_SYMTAB && !check_exported(judge, &witness))
      return false;
  }
  return true;
}

/* Which section the loader takes for the symbol table: the last one of this name; 0 for none. */
static size_t section_named_symtab(const elf_view_t *elf)
{
  static const char symtab[] = ".symtab";
  const Elf64_Shdr *table = &elf->sections[elf->names_index];
  const char *names = elf_view_section(elf, table); /* terminated, as is known by now */
  for (size_t i = elf->section_count; i-- > 1;)
    if (range_within(elf->sections[i].sh_name, sizeof(symtab), table->sh_size) &&
        memcmp(names + elf->sections[i].sh_name, symtab, sizeof(symtab)) == 0)
      return i;
  return 0;
}

/* The reader of symbols has found a name for the second time; these are the two symbols. */
static bool refuse_twice(judge_t *judge, size_t section_index)
{
  const elf_view_t *elf = &judge->hsaco->elf;
  const Elf64_Shdr *section = &elf->sections[section_index];
  const rawhal_string_t twice = judge->hsaco->loaded_twice;
  symbol_table_t table = {0};
  uint64_t first = 0, second = 0;
  bool readable = symbol_table_of_section(elf, section, &table);
  for (uint64_t i = 1; readable && i < table.count && !second; ++i) {
    Elf64_Sym symbol = symbol_at(&table, i);
    rawhal_string_t name;
    name_slots_t *known;
    if (ELF64_ST_BIND(symbol.st_info) == STB_LOCAL ||
        !symbol_name(judge->hsaco->long_names, &table, &symbol, &name, &known) ||
        name.size != twice.size || !long_names_may_look(judge->hsaco->long_names, name) ||
        memcmp(name.data, twice.data, twice.size) != 0)
      continue;
    second = first ? i : 0;
    first = first ? first : i;
  }
  return loadable_refuse(judge, LOADABLE_DEFINED_ONCE,
                         section->sh_offset + second * sizeof(Elf64_Sym), second, first);
}

bool loadable_symbols(judge_t *judge)
{
  const elf_view_t *elf = &judge->hsaco->elf;
  const uint64_t at = offsetof(Elf64_Ehdr, e_shoff);
  uint64_t left = elf->size;
  size_t tables = 0, others = 0, symtab = 0;
  for (size_t i = 0; i < elf->section_count; ++i) {
    const uint32_t type = elf->sections[i].sh_type;
    if (type != SHT_SYMTAB && type != SHT_DYNSYM)
      continue;
    if (!check_table(judge, i, &left))
      return false;
    tables += type == SHT_SYMTAB;
    others += type != SHT_SYMTAB;
    symtab = type == SHT_SYMTAB ? i : symtab;
  }
  if (!tables)
    return loadable_refuse(judge, LOADABLE_HAS_SYMTAB, at, others, elf->section_count);
  if (tables > 1)
    return loadable_refuse(judge, LOADABLE_ONE_SYMTAB, at, tables, 1);
  size_t named = section_named_symtab(elf);
  if (named != symtab)
    return loadable_refuse(judge, LOADABLE_SYMTAB_BY_NAME, section_header_at(elf, symtab), named,
                           symtab);
  return !judge->hsaco->loaded_twice.size || refuse_twice(judge, symtab);
}
