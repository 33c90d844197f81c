/* What a loader takes for a code object. Internal. */
#ifndef RAWHAL_BASE_ELF_SPAN_H
#define RAWHAL_BASE_ELF_SPAN_H

#include <stddef.h>
#include <stdint.h>

/* Bytes from the first loaded segment's begin to the last one's end, as the program headers of a
 * 64-bit ELF file say; 0: it has none, or is none. */
uint64_t elf_load_span(const void *bytes, size_t size);

#endif
