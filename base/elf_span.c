#include "base/elf_span.h"

#include <elf.h>
#include <string.h>

uint64_t elf_load_span(const void *bytes, size_t size)
{
  Elf64_Ehdr header;
  uint64_t low = UINT64_MAX, high = 0;
  if (size < sizeof(header))
    return 0;
  memcpy(&header, bytes, sizeof(header));
  for (uint32_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    uint64_t at = header.e_phoff + (uint64_t)i * sizeof(segment);
    if (at > size || size - at < sizeof(segment))
      break;
    memcpy(&segment, (const char *)bytes + at, sizeof(segment));
    if (segment.p_type != PT_LOAD || segment.p_memsz > UINT64_MAX - segment.p_vaddr)
      continue;
    low = segment.p_vaddr < low ? segment.p_vaddr : low;
    high = segment.p_vaddr + segment.p_memsz > high ? segment.p_vaddr + segment.p_memsz : high;
  }
  return high > low ? high - low : 0;
}
