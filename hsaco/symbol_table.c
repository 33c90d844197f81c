#include <string.h>

#include "hsaco/symbols.h"

bool symbol_table_of_section(const elf_view_t *view, const Elf64_Shdr *section,
                             symbol_table_t *table)
{
  *table = (symbol_table_t){0};
  if (section->sh_link >= view->section_count || section->sh_entsize != sizeof(Elf64_Sym))
    return false;
  const Elf64_Shdr *names = &view->sections[section->sh_link];
  table->entries = elf_view_section(view, section);
  table->count = section->sh_size / sizeof(Elf64_Sym);
  table->names = names->sh_type == SHT_STRTAB ? elf_view_section(view, names) : NULL;
  table->names_size = names->sh_size;
  return table->entries && table->names;
}

/* The values of the tags that lead to the symbols; 0 when absent. */
typedef struct dynamic_facts {
  uint64_t symbols, names, names_size, hash, gnu_hash;
} dynamic_facts_t;

static bool read_dynamic(const elf_view_t *view, dynamic_facts_t *facts)
{
  *facts = (dynamic_facts_t){0};
  for (size_t i = 0; i < view->segment_count; ++i) {
    const Elf64_Phdr *segment = &view->segments[i];
    if (segment->p_type != PT_DYNAMIC)
      continue;
    const unsigned char *at = elf_view_range(view, segment->p_offset, segment->p_filesz);
    for (uint64_t left = at ? segment->p_filesz / sizeof(Elf64_Dyn) : 0; left; --left) {
      Elf64_Dyn entry;
      memcpy(&entry, at, sizeof(entry));
      at += sizeof(entry);
      if (entry.d_tag == DT_NULL)
        break;
      uint64_t *fact = entry.d_tag == DT_SYMTAB     ? &facts->symbols
                       : entry.d_tag == DT_STRTAB   ? &facts->names
                       : entry.d_tag == DT_STRSZ    ? &facts->names_size
                       : entry.d_tag == DT_HASH     ? &facts->hash
                       : entry.d_tag == DT_GNU_HASH ? &facts->gnu_hash
                                                    : NULL;
      if (fact)
        *fact = entry.d_un.d_val;
    }
    break; /* there is one */
  }
  return facts->symbols && facts->names && facts->names_size;
}

/* DT_HASH says how many symbols there are: its chain has one link for each. */
static bool count_by_hash(const elf_view_t *view, uint64_t address, uint64_t *count)
{
  uint64_t offset;
  uint32_t header[2]; /* nbucket, nchain */
  if (!address || !elf_view_offset_of(view, address, sizeof(header), &offset))
    return false;
  memcpy(header, view->bytes + offset, sizeof(header));
  *count = header[1];
  return true;
}

/* DT_GNU_HASH does not say it: the last chain ends at the last symbol. Every word is looked at once
 * at most. */
static bool count_by_gnu_hash(const elf_view_t *view, uint64_t address, uint64_t *count)
{
  uint64_t offset, at;
  uint32_t header[4]; /* nbuckets, symoffset, bloom_size, bloom_shift */
  if (!address || !elf_view_offset_of(view, address, sizeof(header), &offset))
    return false;
  memcpy(header, view->bytes + offset, sizeof(header));
  at = offset + sizeof(header) + (uint64_t)header[2] * 8;
  const unsigned char *buckets = elf_view_range(view, at, (uint64_t)header[0] * 4);
  if (!buckets)
    return false;
  uint32_t last = 0, word;
  for (uint32_t i = 0; i < header[0]; ++i) {
    memcpy(&word, buckets + (uint64_t)i * 4, sizeof(word));
    last = word > last ? word : last;
  }
  if (last < header[1]) { /* all buckets are empty */
    *count = header[1];
    return true;
  }
  at += (uint64_t)header[0] * 4;
  for (uint64_t index = last;; ++index) {
    const void *link = elf_view_range(view, at + (index - header[1]) * 4, sizeof(word));
    if (!link)
      return false;
    memcpy(&word, link, sizeof(word));
    if (word & 1) {
      *count = index + 1;
      return true;
    }
  }
}

bool symbol_table_of_dynamic(const elf_view_t *view, symbol_table_t *table)
{
  *table = (symbol_table_t){0};
  dynamic_facts_t facts;
  uint64_t count, entries, names;
  if (!read_dynamic(view, &facts) || (!count_by_hash(view, facts.hash, &count) &&
                                      !count_by_gnu_hash(view, facts.gnu_hash, &count)))
    return false;
  if (!elf_view_offset_of(view, facts.symbols, count * sizeof(Elf64_Sym), &entries) ||
      !elf_view_offset_of(view, facts.names, facts.names_size, &names))
    return false;
  table->entries = view->bytes + entries;
  table->count = count;
  table->names = (const char *)view->bytes + names;
  table->names_size = facts.names_size;
  return true;
}

Elf64_Sym symbol_at(const symbol_table_t *table, uint64_t index)
{
  Elf64_Sym symbol;
  memcpy(&symbol, table->entries + index * sizeof(symbol), sizeof(symbol));
  return symbol;
}

bool symbol_name(long_names_t *names, const symbol_table_t *table, const Elf64_Sym *symbol,
                 rawhal_string_t *name, name_slots_t **known)
{
  *name = (rawhal_string_t){0};
  *known = NULL;
  return symbol->st_name < table->names_size &&
         long_names_read(names, table->names + symbol->st_name, table->names_size - symbol->st_name,
                         name, known);
}
