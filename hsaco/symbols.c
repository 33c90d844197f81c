#include "hsaco/symbols.h"

#include "base/checked.h"
#include "base/error.h"
#include "hsaco/descriptor.h"

typedef struct joiner {
  rawhal_hsaco_t *hsaco;
  name_table_t variables; /* exported ones, to find one that is defined twice */
  uint32_t next;          /* kernel that comes next if symbols are in the metadata's order */
  size_t lacking;         /* kernels of the metadata without a descriptor so far */
  bool list;              /* fill in hsaco->symbols */
  size_t unnamed;         /* symbols whose name cannot be read */
} joiner_t;

bool strip_kd(rawhal_string_t symbol, rawhal_string_t *name)
{
  *name = symbol;
  if (symbol.size < 4 || memcmp(symbol.data + symbol.size - 3, ".kd", 3) != 0)
    return false;
  name->size = symbol.size - 3;
  return true;
}

static bool same_string(rawhal_string_t a, rawhal_string_t b)
{
  return a.size == b.size && (a.size == 0 || memcmp(a.data, b.data, a.size) == 0);
}

/* ---- Names of kernels ---- */

rawhal_status_t name_kernel(rawhal_hsaco_t *hsaco, uint32_t index, rawhal_error_t *error)
{
  const rawhal_kernel_t *kernel = &hsaco->kernels[index];
  rawhal_string_t base;
  bool regular = strip_kd(kernel->symbol, &base);
  name_slots_t *slots = NULL;
  if (regular) {
    slots = name_table_at(&hsaco->names, base);
    if (!slots)
      return arena_fail(&hsaco->arena, error);
    if (slots->by_symbol != NAME_NONE)
      return rawhal_fail_at(error, RAWHAL_MALFORMED, offset_in(hsaco, kernel->metadata.data),
                            "kernels %u and %u both have the symbol '%.*s'", slots->by_symbol,
                            index, RAWHAL_STRING_ARGS(kernel->symbol));
    slots->by_symbol = index;
  }
  if (kernel->name.size && !(regular && same_string(kernel->name, base))) {
    slots = name_table_at(&hsaco->names, kernel->name);
    if (!slots)
      return arena_fail(&hsaco->arena, error);
  }
  if (kernel->name.size && slots->by_name == NAME_NONE)
    slots->by_name = index;
  else if (kernel->name.size)
    diagnose_quirk(&hsaco->diagnostics, QUIRK_NAME_TWICE, kernel->name);
  return RAWHAL_OK;
}

const rawhal_kernel_t *rawhal_hsaco_find_kernel(const rawhal_hsaco_t *hsaco, rawhal_string_t name)
{
  if (!hsaco || !name.data)
    return NULL;
  const name_slots_t *slots = name_table_find(&hsaco->names, name);
  if (slots)
    return &hsaco->kernels[slots->by_name != NAME_NONE ? slots->by_name : slots->by_symbol];
  rawhal_string_t base;
  slots = strip_kd(name, &base) ? name_table_find(&hsaco->names, base) : NULL;
  return slots && slots->by_symbol != NAME_NONE ? &hsaco->kernels[slots->by_symbol] : NULL;
}

/* ---- Descriptors ---- */

/* Finds the file offset of an object symbol's bytes: sections hold them in relocatable objects,
 * segments in linked ones. */
static bool symbol_offset(const elf_view_t *elf, const Elf64_Sym *symbol, uint64_t *offset)
{
  if (elf->header.e_type != ET_REL)
    return elf_view_offset_of(elf, symbol->st_value, symbol->st_size, offset);
  if (symbol->st_shndx >= elf->section_count)
    return false;
  const Elf64_Shdr *section = &elf->sections[symbol->st_shndx];
  if (!elf_view_section(elf, section) ||
      !range_within(symbol->st_value, symbol->st_size, section->sh_size))
    return false;
  *offset = section->sh_offset + symbol->st_value;
  return true;
}

/* A kernel that is unreachable by its own words (__builtin_unreachable() alone) has no
 * instructions. As the last one it starts at the end of the code, which may be the start of another
 * segment. */
static bool ends_code(const elf_view_t *elf, uint64_t address)
{
  for (size_t i = 0; i < elf->segment_count; ++i) {
    const Elf64_Phdr *segment = &elf->segments[i];
    if (segment->p_type == PT_LOAD && segment->p_flags & PF_X && segment->p_filesz &&
        address - segment->p_vaddr == segment->p_filesz)
      return true;
  }
  return false;
}

/* Where the descriptor sends the hardware must be code of this file. The loader does not look
 * there: the other kernels can be used. */
static void check_entry(rawhal_hsaco_t *hsaco, rawhal_kernel_t *kernel, uint64_t offset)
{
  uint64_t entry = kernel->descriptor->entry;
  const Elf64_Phdr *segment = elf_view_segment_at(&hsaco->elf, entry);
  const char *wrong = NULL;
  if (entry & (ENTRY_ALIGNMENT - 1))
    wrong = "is not a multiple of 256";
  else if (!segment || !(segment->p_flags & PF_X) || entry - segment->p_vaddr >= segment->p_filesz)
    wrong = ends_code(&hsaco->elf, entry) ? "is where the code ends: the kernel has no instructions"
                                          : "is not in an executable segment";
  if (!wrong)
    return;
  kernel_mark_unusable(
      hsaco, kernel, offset,
      arena_print(&hsaco->arena, "the entry address 0x%llx %s", (unsigned long long)entry, wrong));
}

static rawhal_status_t join(joiner_t *joiner, uint32_t index, const Elf64_Sym *symbol,
                            rawhal_error_t *error)
{
  static const char only_dynamic[] =
      "its descriptor's symbol is only in .dynsym: the loader looks in .symtab";
  rawhal_hsaco_t *hsaco = joiner->hsaco;
  rawhal_kernel_t *kernel = &hsaco->kernels[index];
  uint64_t offset;
  if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || symbol->st_size != DESCRIPTOR_SIZE) {
    kernel_mark_unusable(hsaco, kernel, RAWHAL_NO_OFFSET,
                         arena_print(&hsaco->arena,
                                     "its .kd symbol (type %u, %llu bytes) is not an "
                                     "object of 64 bytes",
                                     ELF64_ST_TYPE(symbol->st_info),
                                     (unsigned long long)symbol->st_size));
    return RAWHAL_OK;
  }
  if (!symbol_offset(&hsaco->elf, symbol, &offset)) {
    kernel_mark_unusable(hsaco, kernel, RAWHAL_NO_OFFSET,
                         arena_print(&hsaco->arena,
                                     "its descriptor at address 0x%llx is not in the file",
                                     (unsigned long long)symbol->st_value));
    return RAWHAL_OK;
  }
  rawhal_descriptor_t *descriptor = arena_alloc(&hsaco->arena, sizeof(*descriptor));
  if (!descriptor)
    return arena_fail(&hsaco->arena, error);
  if (!descriptor_decode(hsaco->elf.bytes + offset, symbol->st_value, hsaco->processor, descriptor))
    diagnose_quirk(&hsaco->diagnostics, QUIRK_DESCRIPTOR_RESERVED, kernel->name);
  kernel->descriptor = descriptor;
  if (kernel->has_metadata) {
    --joiner->lacking;
    descriptor_compare(hsaco, kernel);
  }
  if (hsaco->elf.header.e_type == ET_DYN)
    check_entry(hsaco, kernel, offset);
  if (!joiner->list) /* the second table, `.dynsym` */
    kernel_mark_unusable(hsaco, kernel, offset,
                         (rawhal_string_t){only_dynamic, sizeof(only_dynamic) - 1});
  return RAWHAL_OK;
}

/* A descriptor without metadata is a kernel all the same; its own descriptor is all that is known.
 */
static rawhal_status_t add_bare_kernel(rawhal_hsaco_t *hsaco, rawhal_string_t symbol,
                                       rawhal_string_t name, uint32_t *index, rawhal_error_t *error)
{
  static const char reason[] =
      "no metadata: usable only with RAWHAL_HSACO_DESCRIPTOR_KERNELS, by its descriptor alone";
  if (hsaco->info.kernel_count >= hsaco->options.max_kernels)
    return rawhal_fail(error, RAWHAL_CAP_EXCEEDED, "more kernels than max_kernels (%u)",
                       hsaco->options.max_kernels);
  if (!arena_reserve(&hsaco->arena, &hsaco->kernels, &hsaco->kernel_capacity,
                     hsaco->info.kernel_count, sizeof(rawhal_kernel_t), 4))
    return arena_fail(&hsaco->arena, error);
  *index = (uint32_t)hsaco->info.kernel_count++;
  bool allowed = hsaco->options.flags & RAWHAL_HSACO_DESCRIPTOR_KERNELS;
  hsaco->kernels[*index] = (rawhal_kernel_t){
      .object = hsaco,
      .name = name,
      .symbol = symbol,
      .usable = allowed,
      .unusable_reason = {allowed ? NULL : reason, allowed ? 0 : sizeof(reason) - 1},
  };
  return name_kernel(hsaco, *index, error);
}

static bool is_descriptor(const Elf64_Sym *symbol)
{
  return ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_size == DESCRIPTOR_SIZE;
}

/* The kernel that has the symbol "NAME.kd", NAME_NONE when there is none. */
static uint32_t find_symbol(const joiner_t *joiner, rawhal_string_t text, rawhal_string_t name)
{
  enum { AHEAD = 8 }; /* names in the metadata of a large object are far apart and long read */
  const rawhal_hsaco_t *hsaco = joiner->hsaco;
  uint32_t index = joiner->next;
  if (index + AHEAD < hsaco->info.kernel_count)
    __builtin_prefetch(hsaco->kernels[index + AHEAD].symbol.data);
  if (index < hsaco->info.kernel_count && same_string(hsaco->kernels[index].symbol, text))
    return index;
  const name_slots_t *slots = name_table_find(&hsaco->names, name);
  return slots ? slots->by_symbol : NAME_NONE;
}

/* A symbol that is called NAME.kd, and defined. */
typedef struct kernel_symbol {
  const Elf64_Sym *symbol;
  rawhal_string_t text, name;
  name_slots_t *known; /* of long names: the kernel's index */
} kernel_symbol_t;

static rawhal_status_t take_descriptor(joiner_t *joiner, const kernel_symbol_t *taken,
                                       rawhal_error_t *error)
{
  rawhal_hsaco_t *hsaco = joiner->hsaco;
  const Elf64_Sym *symbol = taken->symbol;
  uint32_t index = taken->known ? taken->known->by_name : NAME_NONE;
  if (index == NAME_NONE) {
    if (!long_names_may_look(hsaco->long_names, taken->text))
      return RAWHAL_OK;
    index = find_symbol(joiner, taken->text, taken->name);
  }
  bool bare = index == NAME_NONE;
  if (bare && !is_descriptor(symbol))
    return RAWHAL_OK;
  if (bare) {
    rawhal_status_t status = add_bare_kernel(hsaco, taken->text, taken->name, &index, error);
    if (status != RAWHAL_OK)
      return status;
  }
  if (taken->known)
    taken->known->by_name = index;
  if (bare)
    return join(joiner, index, symbol, error);
  joiner->next = index + 1;
  if (!hsaco->kernels[index].descriptor)
    return join(joiner, index, symbol, error);
  if (joiner->list && ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && !hsaco->loaded_twice.size)
    hsaco->loaded_twice = taken->text;
  return RAWHAL_OK;
}

/* An exported variable: is there another of that name? */
static rawhal_status_t take_variable(joiner_t *joiner, rawhal_string_t text, name_slots_t *known,
                                     rawhal_error_t *error)
{
  rawhal_hsaco_t *hsaco = joiner->hsaco;
  bool twice = known && known->by_name != NAME_NONE;
  if (!twice) {
    if (!long_names_may_look(hsaco->long_names, text))
      return RAWHAL_OK;
    name_slots_t *slots = name_table_at(&joiner->variables, text);
    if (!slots)
      return arena_fail(&hsaco->arena, error);
    twice = slots->by_name != NAME_NONE;
    slots->by_name = 0;
    if (known)
      known->by_name = 0;
  }
  if (twice && !hsaco->loaded_twice.size)
    hsaco->loaded_twice = text;
  return RAWHAL_OK;
}

/* ---- Tables ---- */

/* Undefined externals come as SHN_UNDEF, or as absolute symbols without a type. */
static bool is_defined(const Elf64_Sym *symbol)
{
  return symbol->st_shndx != SHN_UNDEF &&
         !(symbol->st_shndx == SHN_ABS && ELF64_ST_TYPE(symbol->st_info) == STT_NOTYPE);
}

static rawhal_symbol_kind_t kind_of(const Elf64_Sym *symbol, bool kernel, bool defined)
{
  unsigned type = ELF64_ST_TYPE(symbol->st_info);
  return kernel && is_descriptor(symbol)                          ? RAWHAL_SYMBOL_KERNEL
         : type == STT_FUNC                                       ? RAWHAL_SYMBOL_FUNCTION
         : type == STT_OBJECT || (type == STT_NOTYPE && !defined) ? RAWHAL_SYMBOL_VARIABLE
                                                                  : RAWHAL_SYMBOL_OTHER;
}

static rawhal_status_t take_symbol(joiner_t *joiner, const symbol_table_t *table,
                                   const Elf64_Sym *symbol, rawhal_error_t *error)
{
  rawhal_hsaco_t *hsaco = joiner->hsaco;
  rawhal_string_t text, name;
  name_slots_t *known;
  if (ELF64_ST_BIND(symbol->st_info) != STB_GLOBAL && ELF64_ST_BIND(symbol->st_info) != STB_WEAK)
    return RAWHAL_OK;
  if (!symbol_name(hsaco->long_names, table, symbol, &text, &known)) {
    ++joiner->unnamed;
    return RAWHAL_OK;
  }
  if (!text.size)
    return RAWHAL_OK;
  bool defined = is_defined(symbol), kernel = defined && strip_kd(text, &name);
  rawhal_symbol_kind_t kind = kind_of(symbol, kernel, defined);
  if (joiner->list)
    hsaco->symbols[hsaco->info.symbol_count++] =
        (rawhal_symbol_t){text, symbol->st_value, symbol->st_size, kind, defined};
  if (kernel)
    return take_descriptor(joiner, &(kernel_symbol_t){symbol, text, name, known}, error);
  bool exported = joiner->list && defined && kind == RAWHAL_SYMBOL_VARIABLE;
  return exported ? take_variable(joiner, text, known, error) : RAWHAL_OK;
}

static rawhal_status_t take_table(joiner_t *joiner, const symbol_table_t *table,
                                  rawhal_error_t *error)
{
  rawhal_status_t status = RAWHAL_OK;
  joiner->next = 0;
  for (uint64_t i = 1; i < table->count && status == RAWHAL_OK; ++i) { /* 0 is the null symbol */
    Elf64_Sym symbol = symbol_at(table, i);
    status = take_symbol(joiner, table, &symbol, error);
  }
  return status;
}

/* The tables to read, in order; 0 to 2. */
static size_t find_tables(const rawhal_hsaco_t *hsaco, symbol_table_t tables[2])
{
  static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
  const elf_view_t *elf = &hsaco->elf;
  size_t count = 0;
  for (size_t t = 0; t < 2; ++t)
    for (size_t i = elf->section_count; i-- > 0;) /* the loader takes the last */
      if (elf->sections[i].sh_type == types[t]) {
        count += symbol_table_of_section(elf, &elf->sections[i], &tables[count]);
        break;
      }
  if (!count)
    count += symbol_table_of_dynamic(elf, &tables[0]);
  return count;
}

/* Kernels nothing was found for. */
static void check_kernels(rawhal_hsaco_t *hsaco)
{
  static const char no_symbol[] = "no global symbol of this name with a descriptor";
  static const char relocatable[] = "the object is relocatable (ET_REL): it must be linked first";
  bool linked = hsaco->elf.header.e_type == ET_DYN;
  for (size_t i = 0; i < hsaco->info.kernel_count; ++i) {
    rawhal_kernel_t *kernel = &hsaco->kernels[i];
    if (!kernel->usable || (linked && kernel->descriptor))
      continue;
    kernel->usable = false;
    kernel->unusable_reason = linked ? (rawhal_string_t){no_symbol, sizeof(no_symbol) - 1}
                                     : (rawhal_string_t){relocatable, sizeof(relocatable) - 1};
    if (linked)
      diagnose_quirk(&hsaco->diagnostics, QUIRK_NO_DESCRIPTOR_SYMBOL, kernel->name);
  }
}

rawhal_status_t symbols_read(rawhal_hsaco_t *hsaco, rawhal_error_t *error)
{
  symbol_table_t tables[2];
  size_t table_count = find_tables(hsaco, tables);
  rawhal_status_t status = RAWHAL_OK;
  joiner_t joiner = {.hsaco = hsaco, .lacking = hsaco->info.kernel_count, .list = true};
  name_table_init(&joiner.variables, &hsaco->arena, 8);
  if (table_count) {
    hsaco->symbols = arena_alloc(&hsaco->arena, (size_t)tables[0].count * sizeof(rawhal_symbol_t));
    if (!hsaco->symbols)
      return arena_fail(&hsaco->arena, error);
    status = take_table(&joiner, &tables[0], error);
  }
  joiner.list = false;
  if (status == RAWHAL_OK && table_count == 2 && joiner.lacking)
    status = take_table(&joiner, &tables[1], error);
  if (joiner.unnamed)
    diagnose_print(&hsaco->diagnostics, RAWHAL_SEVERITY_WARNING, (rawhal_string_t){0},
                   RAWHAL_NO_OFFSET, "%zu symbols have names that cannot be read", joiner.unnamed);
  if (joiner.lacking || hsaco->elf.header.e_type != ET_DYN)
    check_kernels(hsaco);
  return status;
}
