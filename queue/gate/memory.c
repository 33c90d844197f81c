#include "queue/gate/memory.h"

#include <elf.h>
#include <string.h>

uint64_t memory_left(const rawhal_limiter_t *limiter, uint64_t left, uint64_t *total)
{
  uint64_t quota, used;
  rawhal_limiter_memory(limiter, &quota, &used);
  const uint64_t below = quota > used ? quota - used : 0;
  *total = quota < *total ? quota : *total;
  return below < left ? below : left;
}

uint64_t memory_of_code(const void *elf, size_t size)
{
  Elf64_Ehdr header;
  uint64_t end = 0;
  if (size < sizeof(header))
    return 0;
  memcpy(&header, elf, sizeof(header));
  for (uint32_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    uint64_t at = header.e_phoff + (uint64_t)i * sizeof(segment);
    if (at > size || size - at < sizeof(segment))
      break;
    memcpy(&segment, (const char *)elf + at, sizeof(segment));
    if (segment.p_type != PT_LOAD || segment.p_memsz > UINT64_MAX - segment.p_vaddr)
      continue;
    end = segment.p_vaddr + segment.p_memsz > end ? segment.p_vaddr + segment.p_memsz : end;
  }
  return end;
}
