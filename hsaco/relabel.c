/* Facts: AMDGPUUsage, "ELF header" (EI_ABIVERSION, e_flags of V3 to V6). V5 and V6 differ in the
 * header only: V6 has the version of a generic target in bits 24 to 31 of e_flags. */
#include "hsaco/relabel.h"

#include "base/error.h"

#include <elf.h>
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

rawhal_status_t hsaco_relabel(const rawhal_hsaco_info_t *info, const rawhal_target_t *target,
                              uint8_t abi_version, const allocator_t *allocator,
                              unsigned char **bytes, rawhal_error_t *error)
{
  unsigned char *copy = allocate(allocator, info->bytes.size);
  *bytes = copy;
  if (!copy)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a copy of %zu bytes",
                       info->bytes.size);
  memcpy(copy, info->bytes.data, info->bytes.size);
  if (copy[EI_ABIVERSION] > abi_version)
    copy[EI_ABIVERSION] = abi_version;
  uint32_t flags = htole32((info->elf_flags & ~(MACHINE_BITS | GENERIC_BITS)) | target->machine);
  memcpy(copy + offsetof(Elf64_Ehdr, e_flags), &flags, sizeof(flags));
  rename_processor(info, info->metadata_target, target->processor, copy);
  return RAWHAL_OK;
}
