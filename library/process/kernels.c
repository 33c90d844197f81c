/* Kernels by the names that a host's symbol table has. */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "library/process/parts.h"

/* clang gives each kernel of a HIP program two symbols on the host: a function, whose name has
 * "__device_stub__" before the kernel's last part (after its length, when it is mangled), and an
 * object of the size of a pointer with the kernel's own name, which points to the function. */
static const char prefix[] = "__device_stub__";
enum { PREFIX = sizeof(prefix) - 1, HANDLE_SIZE = 8 };

typedef struct stub {
  const char *name; /* the kernel's */
  uint64_t address;
} stub_t;

static bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

/* How many names a stub's may stand for: where it is mangled, as many as there are digits before
 * its length and in it, as one cannot tell "3ab1" and "22" from "3ab" and "122". Only one has a
 * handle. */
static size_t count_names(const char *name)
{
  const char *at = strstr(name, prefix);
  size_t count = 0;
  while (at && at - count > name && is_digit(at[-1 - (ptrdiff_t)count]))
    ++count;
  return at && !count ? 1 : count;
}

/* "_ZN2ns22__device_stub__kernelEv" -> "_ZN2ns7kernelEv", taking so many digits to be its length.
 * NULL: the length cannot be that, or there is no memory. */
static const char *kernel_name(const char *name, size_t digits, arena_t *arena)
{
  const char *at = strstr(name, prefix), *rest = at + PREFIX;
  if (at == name || !is_digit(at[-1]))
    return arena_print(arena, "%.*s%s", (int)(at - name), name, rest).data;
  const char *number = at - digits;
  unsigned long length = *number == '0' ? 0 : strtoul(number, NULL, 10);
  if (length <= PREFIX || length - PREFIX > strlen(rest))
    return NULL;
  return arena_print(arena, "%.*s%lu%s", (int)(number - name), name, length - PREFIX, rest).data;
}

static int compare_names(const void *a, const void *b)
{
  return strcmp(((const stub_t *)a)->name, ((const stub_t *)b)->name);
}

/* A symbol table and its strings, in scratch memory. */
typedef struct symbols {
  const Elf64_Sym *table;
  size_t count;
  const char *names;
  size_t names_size;
} symbols_t;

static bool load_symbols(const elf_file_t *file, uint32_t type, symbols_t *symbols, arena_t *arena)
{
  const Elf64_Shdr *section = elf_file_section(file, NULL, type);
  if (!section || section->sh_link >= file->section_count)
    return false;
  const Elf64_Shdr *names = &file->sections[section->sh_link];
  symbols->table = elf_file_load(file, section, arena);
  symbols->names = elf_file_load(file, names, arena);
  symbols->count = (size_t)(section->sh_size / sizeof(*symbols->table));
  symbols->names_size = (size_t)names->sh_size;
  return symbols->table && symbols->names;
}

/* Its name when it is defined and of that type; it ends with a zero byte. */
static const char *symbol_name(const symbols_t *symbols, const Elf64_Sym *symbol, int type)
{
  return ELF64_ST_TYPE(symbol->st_info) == type && symbol->st_shndx != SHN_UNDEF &&
                 symbol->st_name < symbols->names_size
             ? symbols->names + symbol->st_name
             : NULL;
}

static size_t list_stubs(const symbols_t *symbols, stub_t *stubs, arena_t *arena)
{
  size_t count = 0;
  for (size_t i = 0; i < symbols->count; ++i) {
    const char *name = symbol_name(symbols, &symbols->table[i], STT_FUNC);
    for (size_t digits = name ? count_names(name) : 0; digits && !arena->status; --digits) {
      const char *kernel = kernel_name(name, digits, arena);
      if (kernel && *kernel)
        stubs[count++] = (stub_t){kernel, symbols->table[i].st_value};
    }
  }
  qsort(stubs, count, sizeof(*stubs), compare_names);
  return count;
}

static size_t count_stubs(const symbols_t *symbols)
{
  size_t count = 0;
  for (size_t i = 0; i < symbols->count; ++i) {
    const char *name = symbol_name(symbols, &symbols->table[i], STT_FUNC);
    count += name ? count_names(name) : 0;
  }
  return count;
}

static rawhal_status_t keep(rawhal_process_t *process, const char *name,
                            rawhal_process_kernel_t kernel, rawhal_error_t *error)
{
  size_t size = strlen(name) + 1;
  if (process->kernel_count == process->options.max_kernels)
    return rawhal_fail(error, RAWHAL_CAP_EXCEEDED, "more than %u kernels (max_kernels)",
                       process->options.max_kernels);
  char *copy = arena_alloc(&process->arena, size);
  if (!copy || !arena_reserve(&process->arena, &process->kernels, &process->kernel_capacity,
                              process->kernel_count, sizeof(*process->kernels), 64))
    return arena_fail(&process->arena, error);
  memcpy(copy, name, size);
  kernel.name = (rawhal_string_t){copy, size - 1};
  process->kernels[process->kernel_count++] = kernel;
  return RAWHAL_OK;
}

rawhal_status_t process_add_kernels(rawhal_process_t *process, const elf_file_t *file, size_t index,
                                    rawhal_error_t *error)
{
  arena_t *arena = &process->scratch;
  rawhal_process_module_t *module = &process->modules[index];
  symbols_t symbols = {0};
  if (load_symbols(file, SHT_SYMTAB, &symbols, arena))
    module->names = RAWHAL_NAMES_ALL;
  else if (load_symbols(file, SHT_DYNSYM, &symbols, arena))
    module->names = RAWHAL_NAMES_DYNAMIC;
  else
    return arena->status ? arena_fail(arena, error) : RAWHAL_OK;
  stub_t *stubs = arena_calloc(arena, count_stubs(&symbols) + 1, sizeof(*stubs));
  size_t count = stubs ? list_stubs(&symbols, stubs, arena) : 0;
  if (arena->status)
    return arena_fail(arena, error);
  rawhal_status_t status = RAWHAL_OK;
  for (size_t i = 0; count && status == RAWHAL_OK && i < symbols.count; ++i) {
    const Elf64_Sym *symbol = &symbols.table[i];
    stub_t wanted = {symbol_name(&symbols, symbol, STT_OBJECT), 0};
    const stub_t *stub = wanted.name && symbol->st_size == HANDLE_SIZE
                             ? bsearch(&wanted, stubs, count, sizeof(*stubs), compare_names)
                             : NULL;
    if (stub)
      status = keep(process, stub->name,
                    (rawhal_process_kernel_t){.module = index,
                                              .handle = module->base + symbol->st_value,
                                              .stub = module->base + stub->address},
                    error);
  }
  return status;
}

/* ---- In order ---- */

static int compare_text(rawhal_string_t a, rawhal_string_t b)
{
  return strcmp(a.data, b.data);
}

static int compare_kernels(const void *a, const void *b)
{
  const rawhal_process_kernel_t *first = a, *second = b;
  if (first->module != second->module)
    return first->module < second->module ? -1 : 1;
  int names = compare_text(first->name, second->name);
  return names ? names : (first->handle > second->handle) - (first->handle < second->handle);
}

static int compare_handles(const void *a, const void *b, void *kernels)
{
  const rawhal_process_kernel_t *all = kernels;
  uint64_t first = all[*(const size_t *)a].handle, second = all[*(const size_t *)b].handle;
  return (first > second) - (first < second);
}

rawhal_status_t process_sort_kernels(rawhal_process_t *process, rawhal_error_t *error)
{
  size_t count = process->kernel_count;
  process->by_handle = arena_calloc(&process->arena, count + 1, sizeof(*process->by_handle));
  if (!process->by_handle)
    return arena_fail(&process->arena, error);
  if (count)
    qsort(process->kernels, count, sizeof(*process->kernels), compare_kernels);
  for (size_t i = 0; i < count; ++i)
    process->by_handle[i] = i;
  if (count)
    qsort_r(process->by_handle, count, sizeof(*process->by_handle), compare_handles,
            process->kernels);
  return RAWHAL_OK;
}

const rawhal_process_kernel_t *rawhal_process_find_handle(const rawhal_process_t *process,
                                                          uint64_t handle)
{
  size_t low = 0, high = process->kernel_count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (process->kernels[process->by_handle[middle]].handle < handle)
      low = middle + 1;
    else
      high = middle;
  }
  const rawhal_process_kernel_t *found =
      low < process->kernel_count ? &process->kernels[process->by_handle[low]] : NULL;
  return found && found->handle == handle ? found : NULL;
}
