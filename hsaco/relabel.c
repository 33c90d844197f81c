/* Facts: AMDGPUUsage, "ELF header" (EI_ABIVERSION, e_flags of V3 to V6). V5 and V6 differ in the
 * header only: V6 has the version of a generic target in bits 24 to 31 of e_flags. */
#include "hsaco/relabel.h"

#include "base/error.h"
#include "hsaco/object.h"

#include <endian.h>
#include <stddef.h>
#include <string.h>

#define MACHINE_BITS 0xffu
#define GENERIC_BITS 0xff000000u

/* `text` lies in the object. */
static void rename_processor(const rawhal_hsaco_info_t *info, rawhal_string_t text,
                             const char *name, unsigned char *copy)
{
  const char *from = info->target.processor;
  uintptr_t start = (uintptr_t)info->bytes.data, at = (uintptr_t)text.data;
  size_t length = strlen(from);
  if (length == 0 || length != strlen(name) || text.size < length || at < start ||
      at - start > info->bytes.size - text.size)
    return;
  const char *found = memmem(text.data, text.size, from, length);
  if (found)
    memcpy(copy + ((uintptr_t)found - start), name, length);
}

bool hsaco_has_static_relocations(const rawhal_hsaco_t *hsaco)
{
  const elf_view_t *elf = &hsaco->elf;
  bool has = false;
  for (size_t i = 0; i < elf->section_count && !has; ++i)
    has = elf_view_is_static(&elf->sections[i]);
  return has;
}

static void hide_static_relocations(const elf_view_t *elf, unsigned char *copy)
{
  for (size_t i = 0; i < elf->section_count; ++i)
    if (elf_view_is_static(&elf->sections[i])) {
      Elf64_Shdr hidden = elf->sections[i];
      hidden.sh_type = SHT_PROGBITS;
      hidden.sh_link = hidden.sh_info = 0;
      memcpy(copy + elf->header.e_shoff + i * sizeof(hidden), &hidden, sizeof(hidden));
    }
}

rawhal_status_t hsaco_relabel(const rawhal_hsaco_t *hsaco, const rawhal_target_t *target,
                              uint8_t abi_version, const allocator_t *allocator,
                              unsigned char **bytes, rawhal_error_t *error)
{
  const rawhal_hsaco_info_t *info = &hsaco->info;
  unsigned char *copy = allocate(allocator, info->bytes.size);
  *bytes = copy;
  if (!copy)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a copy of %zu bytes",
                       info->bytes.size);
  memcpy(copy, info->bytes.data, info->bytes.size);
  hide_static_relocations(&hsaco->elf, copy);
  if (!target)
    return RAWHAL_OK;
  if (copy[EI_ABIVERSION] > abi_version)
    copy[EI_ABIVERSION] = abi_version;
  uint32_t flags = htole32((info->elf_flags & ~(MACHINE_BITS | GENERIC_BITS)) | target->machine);
  memcpy(copy + offsetof(Elf64_Ehdr, e_flags), &flags, sizeof(flags));
  rename_processor(info, info->metadata_target, target->processor, copy);
  return RAWHAL_OK;
}
