/* Loaders copy a code object's segments as they are, and the first one begins with the ELF header
 * and has the dynamic symbols. All of it is a program's memory that may hold anything: whatever is
 * read is checked against the allocation it is in, and numbers of symbols against its size. */
#include "softgpu/cp/kernel_name.h"

#include <elf.h>
#include <string.h>

#include "softgpu/device/memory.h"

enum { PAGE = 4096, MOST_PAGES = 65536 };
/* No more than this is searched for a name: threads that wait for the report would wait for that.
 */
enum { MOST_SYMBOLS = 1 << 20, MOST_DYNAMIC = 1024 };

typedef struct image {
  uint64_t base, size; /* from the ELF header to the allocation's end */
} image_t;

typedef struct symbols {
  uint64_t table, count, strings, strings_size; /* offsets in the image, bytes */
} symbols_t;

/* Copies out of device memory. False when it is not there. */
static bool image_read(const image_t *image, uint64_t offset, void *to, uint64_t size)
{
  if (offset > image->size || size > image->size - offset)
    return false;
  const void *from = softgpu_memory_reach(0, image->base + offset, size, false);
  if (from)
    memcpy(to, from, size);
  return from != NULL;
}

/* The nearest page before `address`, in the same allocation, that starts with an ELF header. */
static bool image_find(uint64_t address, image_t *image)
{
  softgpu_allocation_t found;
  if (!softgpu_memory_find(address, &found))
    return false;
  uint64_t page = address & ~(uint64_t)(PAGE - 1);
  for (int i = 0; i < MOST_PAGES && page >= found.base; ++i, page -= PAGE) {
    Elf64_Ehdr header;
    *image = (image_t){page, found.base + found.size - page};
    if (image_read(image, 0, &header, sizeof(header)) &&
        memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_machine == EM_AMDGPU &&
        header.e_ident[EI_CLASS] == ELFCLASS64)
      return true;
    if (page < PAGE)
      break;
  }
  return false;
}

/* How many symbols the hash table says there are, or else how many fit before the next table. */
static uint64_t symbol_count(const image_t *image, const symbols_t *symbols, uint64_t hash)
{
  uint32_t words[2];
  if (hash != 0 && image_read(image, hash, words, sizeof(words)))
    return words[1];
  return symbols->strings > symbols->table ? (symbols->strings - symbols->table) / sizeof(Elf64_Sym)
                                           : 0;
}

static bool dynamic_read(const image_t *image, const Elf64_Phdr *dynamic, symbols_t *symbols)
{
  *symbols = (symbols_t){0};
  uint64_t hash = 0;
  uint64_t entries = dynamic->p_memsz / sizeof(Elf64_Dyn);
  for (uint64_t i = 0; i < entries && i < MOST_DYNAMIC; ++i) {
    const uint64_t at = i * sizeof(Elf64_Dyn);
    Elf64_Dyn entry;
    if (!image_read(image, dynamic->p_vaddr + at, &entry, sizeof(entry)) || entry.d_tag == DT_NULL)
      break;
    if (entry.d_tag == DT_SYMTAB)
      symbols->table = entry.d_un.d_ptr;
    else if (entry.d_tag == DT_STRTAB)
      symbols->strings = entry.d_un.d_ptr;
    else if (entry.d_tag == DT_STRSZ)
      symbols->strings_size = entry.d_un.d_val;
    else if (entry.d_tag == DT_HASH)
      hash = entry.d_un.d_ptr;
  }
  if (symbols->table == 0 || symbols->strings == 0 || symbols->table > image->size)
    return false;
  symbols->count = symbol_count(image, symbols, hash);
  uint64_t most = (image->size - symbols->table) / sizeof(Elf64_Sym);
  if (symbols->count > most)
    symbols->count = most;
  if (symbols->count > MOST_SYMBOLS)
    symbols->count = MOST_SYMBOLS;
  return true;
}

static bool symbols_find(const image_t *image, symbols_t *symbols)
{
  Elf64_Ehdr header;
  if (!image_read(image, 0, &header, sizeof(header)) || header.e_phentsize != sizeof(Elf64_Phdr))
    return false;
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!image_read(image, header.e_phoff + i * sizeof(segment), &segment, sizeof(segment)))
      return false;
    if (segment.p_type == PT_DYNAMIC)
      return dynamic_read(image, &segment, symbols);
  }
  return false;
}

/* Copies a name without its suffix ".kd", and nothing that a terminal would take for an order. */
static bool name_copy(const image_t *image, const symbols_t *symbols, uint32_t at, char *text,
                      size_t size)
{
  size_t length = 0;
  char c = '\0';
  for (uint64_t i = at; i < symbols->strings_size && length + 1 < size; ++i) {
    if (!image_read(image, symbols->strings + i, &c, 1) || c == '\0')
      break;
    text[length++] = c > ' ' && c < 0x7f ? c : '?';
  }
  text[length] = '\0';
  if (length > 3 && strcmp(text + length - 3, ".kd") == 0)
    text[length - 3] = '\0';
  return text[0] != '\0';
}

bool softgpu_kernel_name(uint64_t kernel_object, char *text, size_t size)
{
  image_t image;
  symbols_t symbols;
  text[0] = '\0';
  if (!image_find(kernel_object, &image) || !symbols_find(&image, &symbols))
    return false;
  for (uint64_t i = 0; i < symbols.count; ++i) {
    Elf64_Sym symbol;
    if (!image_read(&image, symbols.table + i * sizeof(symbol), &symbol, sizeof(symbol)))
      return false;
    if (symbol.st_shndx != SHN_UNDEF && symbol.st_value == kernel_object - image.base)
      return name_copy(&image, &symbols, symbol.st_name, text, size);
  }
  return false;
}
