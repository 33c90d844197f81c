/* Symbols, and the descriptors they join to kernels. Internal.
 *
 * `.symtab` is read when there is one (the loader reads only that), else `.dynsym`, else the table
 * PT_DYNAMIC points to in objects without section headers. Kernels that `.symtab` leaves without a
 * descriptor get one from `.dynsym`, for information: the loader does not find them. */
#ifndef RAWHAL_HSACO_SYMBOLS_H
#define RAWHAL_HSACO_SYMBOLS_H

#include "hsaco/object.h"

typedef struct symbol_table {
  const unsigned char *entries;
  uint64_t count;
  const char *names;
  uint64_t names_size;
} symbol_table_t;

/* Fills in the table of a SHT_SYMTAB or SHT_DYNSYM section; false when it is not sound. */
bool symbol_table_of_section(const elf_view_t *view, const Elf64_Shdr *section,
                             symbol_table_t *table);

/* From DT_SYMTAB, DT_STRTAB, DT_STRSZ and DT_HASH; false when there is no such table. */
bool symbol_table_of_dynamic(const elf_view_t *view, symbol_table_t *table);

Elf64_Sym symbol_at(const symbol_table_t *table, uint64_t index);

/* False when the name does not end inside the string table, or after 64 KiB; see
 * long_names_read(). */
bool symbol_name(long_names_t *names, const symbol_table_t *table, const Elf64_Sym *symbol,
                 rawhal_string_t *name, name_slots_t **known);

/* "NAME.kd" to "NAME"; false when it does not end so. */
bool strip_kd(rawhal_string_t symbol, rawhal_string_t *name);

/* Enters kernel `index` into hsaco->names. MALFORMED when another has its symbol. */
RAWHAL_CHECKED rawhal_status_t name_kernel(rawhal_hsaco_t *hsaco, uint32_t index,
                                           rawhal_error_t *error);

/* Joins descriptors to kernels, lists the kernels that only have a descriptor, and fills in
 * hsaco->symbols. */
RAWHAL_CHECKED rawhal_status_t symbols_read(rawhal_hsaco_t *hsaco, rawhal_error_t *error);

#endif
