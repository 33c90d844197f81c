/* A loader copies segments to where they belong, and the first one begins with the ELF header and
 * has the notes: the file's headers are there, and with them where in the file a segment was. */
#include "softgpu/probes/image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

enum { PAGE = 4096, MOST_PAGES = 1 << 18, MOST_SEGMENTS = 64 };
static const uint64_t most_bytes = UINT64_C(1) << 30;

typedef struct loaded {
  const softgpu_prober_device_t *device;
  uint32_t node;
  uint64_t base;
  Elf64_Ehdr header;
  Elf64_Phdr segments[MOST_SEGMENTS];
} loaded_t;

static bool copy(const loaded_t *loaded, uint64_t address, void *to, uint64_t size)
{
  const void *from = size ? loaded->device->reach(loaded->node, address, size, false) : NULL;
  if (from)
    memcpy(to, from, size);
  return from || !size;
}

static bool is_header(const Elf64_Ehdr *header)
{
  return memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_machine == EM_AMDGPU &&
         header->e_ident[EI_CLASS] == ELFCLASS64 && header->e_phentsize == sizeof(Elf64_Phdr) &&
         header->e_phnum <= MOST_SEGMENTS;
}

/* The nearest page before `address` with an ELF header. */
static bool find_header(loaded_t *loaded, uint64_t address)
{
  uint64_t base, size;
  if (!loaded->device->allocation(address, &base, &size))
    return false;
  loaded->base = address & ~(uint64_t)(PAGE - 1);
  for (int i = 0; i < MOST_PAGES && loaded->base >= base && loaded->base <= address; ++i) {
    if (copy(loaded, loaded->base, &loaded->header, sizeof(loaded->header)) &&
        is_header(&loaded->header))
      return true;
    loaded->base -= PAGE;
  }
  return false;
}

/* How large the file is, and what is loaded. */
static bool measure(const loaded_t *loaded, image_t *image)
{
  const Elf64_Ehdr *header = &loaded->header;
  uint64_t count = 0, end;
  for (unsigned i = 0; i < header->e_phnum; ++i) {
    const Elf64_Phdr *segment = &loaded->segments[i];
    if (segment->p_type != PT_LOAD)
      continue;
    if (!checked_add_u64(segment->p_offset, segment->p_filesz, &end) || end > most_bytes)
      return false;
    count = end > count ? end : count;
    if (!checked_add_u64(segment->p_vaddr, segment->p_memsz, &end) || end > most_bytes)
      return false;
    image->size = end > image->size ? end : image->size;
  }
  image->count = count;
  return count >= sizeof(*header) &&
         range_within(header->e_phoff, header->e_phnum * sizeof(Elf64_Phdr), count);
}

static bool copy_segments(const loaded_t *loaded, image_t *image)
{
  for (unsigned i = 0; i < loaded->header.e_phnum; ++i) {
    const Elf64_Phdr *segment = &loaded->segments[i];
    if (segment->p_type == PT_LOAD && !copy(loaded, loaded->base + segment->p_vaddr,
                                            image->bytes + segment->p_offset, segment->p_filesz))
      return false;
  }
  return true;
}

bool image_take(const softgpu_prober_device_t *device, uint32_t node, uint64_t address,
                image_t *image, const char **why)
{
  loaded_t loaded = {.device = device, .node = node};
  *image = (image_t){0};
  *why = "there is no code object around it";
  if (!find_header(&loaded, address) ||
      !copy(&loaded, loaded.base + loaded.header.e_phoff, loaded.segments,
            loaded.header.e_phnum * sizeof(Elf64_Phdr)))
    return false;
  *why = "the code object around it is damaged";
  if (!measure(&loaded, image) || address - loaded.base >= image->size)
    return false;
  *why = "no memory for its code object";
  image->base = loaded.base;
  image->bytes = calloc(1, image->count);
  if (!image->bytes)
    return false;
  *why = "its code object is not all there";
  if (!copy_segments(&loaded, image)) {
    free(image->bytes);
    return false;
  }
  Elf64_Ehdr header = loaded.header; /* and nothing names sections that are not there */
  header.e_shoff = 0;
  header.e_shentsize = header.e_shnum = header.e_shstrndx = 0;
  memcpy(image->bytes, &header, sizeof(header));
  return true;
}
