/* The ELF side of a code object: header, segments and sections, every range checked. Internal.
 *
 * libelf translates the header tables; before it does, they are known to lie inside the caller's
 * bytes. Everything else is reached through elf_view_range() and its kin, which never return a
 * byte outside of the object. Section contents may still lie outside of the file: only the
 * loadability verdict asks all of them. */
#ifndef RAWHAL_HSACO_ELF_VIEW_H
#define RAWHAL_HSACO_ELF_VIEW_H

#include <elf.h>

#include "hsaco/arena.h"
#include "hsaco/hsaco.h"

enum { /* facts newer than Debian's elf.h */
       ELF_MACHINE_AMDGPU = 224,
       ELF_OSABI_AMDGPU_HSA = 64,
       ELF_OSABI_AMDGPU_PAL = 65,
       ELF_OSABI_AMDGPU_MESA3D = 66,
       ELF_SHT_RELR = 19,
};

typedef struct elf_view {
  const unsigned char *bytes;
  size_t size;
  Elf64_Ehdr header;
  bool extended_numbering; /* a count or index that only section 0 holds */
  size_t segment_count, section_count, names_index;
  Elf64_Phdr *segments;
  Elf64_Shdr *sections;
  Elf64_Phdr *loads; /* PT_LOADs in order of address */
  size_t load_count;
} elf_view_t;

/* Is this an ELF64 little-endian AMDGPU HSA object of a known version? MALFORMED when it is not an
 * ELF or is truncated; otherwise UNSUPPORTED, with what it is. Reads the header only. */
RAWHAL_CHECKED rawhal_status_t elf_header_check(const void *bytes, size_t size, Elf64_Ehdr *header,
                                                rawhal_error_t *error);

/* The tables live in `arena`. Segments that hold file bytes lie inside the file. */
RAWHAL_CHECKED rawhal_status_t elf_view_open(elf_view_t *view, const void *bytes, size_t size,
                                             arena_t *arena, rawhal_error_t *error);

/* NULL unless [offset, offset + size) lies in the object. */
const void *elf_view_range(const elf_view_t *view, uint64_t offset, uint64_t size);

/* The bytes of a section; NULL when it has none or they lie outside. */
const void *elf_view_section(const elf_view_t *view, const Elf64_Shdr *section);

/* Relocations that the linker has applied, and kept for another linker (--emit-relocs): they name
 * the section that they are for, and are not loaded. */
static inline bool elf_view_is_static(const Elf64_Shdr *section)
{
  return (section->sh_type == SHT_RELA || section->sh_type == SHT_REL) && section->sh_info &&
         !(section->sh_flags & SHF_ALLOC);
}

/* Takes `size` from the bytes that are left to be read; false when there are not so many. Tables of
 * one kind that do not overlap have no more bytes than the file. */
static inline bool elf_view_spend(uint64_t *left, uint64_t size)
{
  bool enough = size <= *left;
  *left -= enough ? size : 0;
  return enough;
}

/* The segment that loads `address`; NULL when none does. */
const Elf64_Phdr *elf_view_segment_at(const elf_view_t *view, uint64_t address);

/* File offset of [address, address + size) if one segment fills all of it from the file. */
bool elf_view_offset_of(const elf_view_t *view, uint64_t address, uint64_t size, uint64_t *offset);

/* Where an ELF of any machine ends: the furthest end of its header, tables, segments and sections.
 * False when that lies outside of the bytes, or it is not a little-endian ELF64. */
bool elf_extent(const void *bytes, size_t size, uint64_t *extent);

#endif
