#include "hsaco/elf_view.h"

#include <libelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"

enum { ABI_VERSION_V2 = 0, ABI_VERSION_V6 = 4 };

rawhal_status_t elf_header_check(const void *bytes, size_t size, Elf64_Ehdr *header,
                                 rawhal_error_t *error)
{
  *header = (Elf64_Ehdr){0};
  if (size < EI_NIDENT || memcmp(bytes, ELFMAG, SELFMAG) != 0)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, 0, "not an ELF file (%zu bytes)", size);
  const unsigned char *ident = bytes;
  if (ident[EI_CLASS] != ELFCLASS64)
    return rawhal_fail_at(error, RAWHAL_UNSUPPORTED, EI_CLASS,
                          "ELF class %u: code objects are 64-bit", ident[EI_CLASS]);
  if (ident[EI_DATA] != ELFDATA2LSB)
    return rawhal_fail_at(error, RAWHAL_UNSUPPORTED, EI_DATA,
                          "ELF data encoding %u: code objects are little-endian", ident[EI_DATA]);
  if (size < sizeof(*header))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, size,
                          "the ELF header is truncated at byte %zu of %zu", size, sizeof(*header));
  memcpy(header, bytes, sizeof(*header));
  if (header->e_machine != ELF_MACHINE_AMDGPU)
    return rawhal_fail_at(error, RAWHAL_UNSUPPORTED, offsetof(Elf64_Ehdr, e_machine),
                          "ELF machine %u is not AMDGPU (%d)", header->e_machine,
                          ELF_MACHINE_AMDGPU);
  if (ident[EI_OSABI] != ELF_OSABI_AMDGPU_HSA)
    return rawhal_fail_at(error, RAWHAL_UNSUPPORTED, EI_OSABI,
                          "ELF OS ABI %u%s is not AMDGPU HSA (%d)", ident[EI_OSABI],
                          ident[EI_OSABI] == ELF_OSABI_AMDGPU_PAL      ? " (PAL)"
                          : ident[EI_OSABI] == ELF_OSABI_AMDGPU_MESA3D ? " (Mesa)"
                                                                       : "",
                          ELF_OSABI_AMDGPU_HSA);
  if (ident[EI_ABIVERSION] == ABI_VERSION_V2)
    return rawhal_fail_at(error, RAWHAL_UNSUPPORTED, EI_ABIVERSION,
                          "code object V2 (ELF ABI version 0) is not supported; V3 to V6 are");
  if (ident[EI_ABIVERSION] > ABI_VERSION_V6)
    return rawhal_fail_at(error, RAWHAL_UNSUPPORTED, EI_ABIVERSION,
                          "ELF ABI version %u is unknown: 1 (V3) to 4 (V6) are supported",
                          ident[EI_ABIVERSION]);
  if (ident[EI_VERSION] != EV_CURRENT || header->e_version != EV_CURRENT)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, EI_VERSION, "ELF version is not 1");
  if (header->e_type != ET_DYN && header->e_type != ET_REL)
    return rawhal_fail_at(error, RAWHAL_UNSUPPORTED, offsetof(Elf64_Ehdr, e_type),
                          "ELF type %u is neither a shared (3) nor a relocatable object (1)",
                          header->e_type);
  return RAWHAL_OK;
}

/* ---- Header tables ---- */

typedef struct table_counts {
  uint64_t segments, sections, names_index;
  bool extended;
} table_counts_t;

static bool table_within(uint64_t offset, uint64_t count, uint64_t entry, size_t size)
{
  uint64_t bytes;
  return checked_mul_u64(count, entry, &bytes) && range_within(offset, bytes, size);
}

/* Counts as they are meant: 0 sections with a table, 0xffff segments and 0xffff as names index all
 * send to section 0. */
static bool count_tables(const unsigned char *bytes, size_t size, const Elf64_Ehdr *header,
                         table_counts_t *counts)
{
  *counts = (table_counts_t){header->e_phnum, header->e_shnum, header->e_shstrndx, false};
  bool none = header->e_shnum == 0 && header->e_shoff != 0;
  counts->extended = none || header->e_phnum == PN_XNUM || header->e_shstrndx == SHN_XINDEX;
  if (!counts->extended)
    return true;
  if (header->e_shoff == 0 || header->e_shentsize != sizeof(Elf64_Shdr) ||
      !range_within(header->e_shoff, sizeof(Elf64_Shdr), size))
    return false;
  Elf64_Shdr first;
  memcpy(&first, bytes + header->e_shoff, sizeof(first));
  if (none)
    counts->sections = first.sh_size;
  if (header->e_phnum == PN_XNUM)
    counts->segments = first.sh_info;
  if (header->e_shstrndx == SHN_XINDEX)
    counts->names_index = first.sh_link;
  return true;
}

static rawhal_status_t check_tables(const unsigned char *bytes, size_t size,
                                    const Elf64_Ehdr *header, table_counts_t *counts,
                                    rawhal_error_t *error)
{
  if (!count_tables(bytes, size, header, counts))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, offsetof(Elf64_Ehdr, e_shoff),
                          "extended numbering without a readable section header 0");
  if (counts->segments && header->e_phentsize != sizeof(Elf64_Phdr))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, offsetof(Elf64_Ehdr, e_phentsize),
                          "program headers of %u bytes: they have 56", header->e_phentsize);
  if (counts->segments &&
      !table_within(header->e_phoff, counts->segments, sizeof(Elf64_Phdr), size))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, offsetof(Elf64_Ehdr, e_phoff),
                          "%llu program headers at offset %llu end after the file's %zu bytes",
                          (unsigned long long)counts->segments, (unsigned long long)header->e_phoff,
                          size);
  if (counts->sections && header->e_shentsize != sizeof(Elf64_Shdr))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, offsetof(Elf64_Ehdr, e_shentsize),
                          "section headers of %u bytes: they have 64", header->e_shentsize);
  if (counts->sections &&
      !table_within(header->e_shoff, counts->sections, sizeof(Elf64_Shdr), size))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, offsetof(Elf64_Ehdr, e_shoff),
                          "%llu section headers at offset %llu end after the file's %zu bytes",
                          (unsigned long long)counts->sections, (unsigned long long)header->e_shoff,
                          size);
  return RAWHAL_OK;
}

/* Copies `count` entries out of the file, whatever their alignment there. A handle of libelf's
 * (elf_memory) would do no more, and cost a fifth of the time of opening a small object. */
static bool read_table(const elf_view_t *view, uint64_t offset, Elf_Type type, void *table,
                       size_t bytes)
{
  if (!bytes) /* the offset of an empty table may be anything */
    return true;
  Elf_Data file = {.d_buf = (void *)(uintptr_t)(view->bytes + offset), /* libelf only reads it */
                   .d_type = type,
                   .d_version = EV_CURRENT,
                   .d_size = bytes};
  Elf_Data host = {.d_buf = table, .d_type = type, .d_version = EV_CURRENT, .d_size = bytes};
  return elf64_xlatetom(&host, &file, ELFDATA2LSB) != NULL;
}

/* The tables lie inside the file: check_tables(). */
static rawhal_status_t read_tables(elf_view_t *view, arena_t *arena, rawhal_error_t *error)
{
  const Elf64_Ehdr *header = &view->header;
  size_t segment_bytes = view->segment_count * sizeof(*view->segments);
  size_t section_bytes = view->section_count * sizeof(*view->sections);
  view->segments = arena_alloc(arena, segment_bytes);
  view->sections = arena_alloc(arena, section_bytes);
  if (!view->segments || !view->sections)
    return arena_fail(arena, error);
  if (!read_table(view, header->e_phoff, ELF_T_PHDR, view->segments, segment_bytes))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, header->e_phoff,
                          "the program headers cannot be read: %s", elf_errmsg(-1));
  if (!read_table(view, header->e_shoff, ELF_T_SHDR, view->sections, section_bytes))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, header->e_shoff,
                          "the section headers cannot be read: %s", elf_errmsg(-1));
  return RAWHAL_OK;
}

static int by_address(const void *a, const void *b)
{
  const Elf64_Phdr *left = a, *right = b;
  return (left->p_vaddr > right->p_vaddr) - (left->p_vaddr < right->p_vaddr);
}

static rawhal_status_t index_segments(elf_view_t *view, arena_t *arena, rawhal_error_t *error)
{
  size_t loads = 0;
  for (size_t i = 0; i < view->segment_count; ++i) {
    const Elf64_Phdr *segment = &view->segments[i];
    if (segment->p_type != PT_NULL && segment->p_filesz &&
        !range_within(segment->p_offset, segment->p_filesz, view->size))
      return rawhal_fail_at(
          error, RAWHAL_MALFORMED, view->header.e_phoff + i * sizeof(*segment),
          "segment %zu (type %u) has %llu bytes at offset %llu: beyond the file's %zu", i,
          segment->p_type, (unsigned long long)segment->p_filesz,
          (unsigned long long)segment->p_offset, view->size);
    loads += segment->p_type == PT_LOAD;
  }
  view->loads = arena_alloc(arena, loads * sizeof(*view->loads));
  if (!view->loads)
    return arena_fail(arena, error);
  bool sorted = true;
  for (size_t i = 0; i < view->segment_count; ++i) {
    if (view->segments[i].p_type != PT_LOAD)
      continue;
    size_t at = view->load_count++;
    view->loads[at] = view->segments[i];
    sorted &= at == 0 || view->loads[at - 1].p_vaddr <= view->loads[at].p_vaddr;
  }
  if (!sorted)
    qsort(view->loads, view->load_count, sizeof(*view->loads), by_address);
  return RAWHAL_OK;
}

rawhal_status_t elf_view_open(elf_view_t *view, const void *bytes, size_t size, arena_t *arena,
                              rawhal_error_t *error)
{
  *view = (elf_view_t){.bytes = bytes, .size = size};
  table_counts_t counts;
  rawhal_status_t status = elf_header_check(bytes, size, &view->header, error);
  if (status == RAWHAL_OK)
    status = check_tables(bytes, size, &view->header, &counts, error);
  if (status != RAWHAL_OK)
    return status;
  view->extended_numbering = counts.extended;
  view->names_index = (size_t)counts.names_index;
  view->segment_count = (size_t)counts.segments;
  view->section_count = (size_t)counts.sections;
  status = read_tables(view, arena, error);
  return status != RAWHAL_OK ? status : index_segments(view, arena, error);
}

/* ---- Ranges ---- */

const void *elf_view_range(const elf_view_t *view, uint64_t offset, uint64_t size)
{
  return range_within(offset, size, view->size) ? view->bytes + offset : NULL;
}

const void *elf_view_section(const elf_view_t *view, const Elf64_Shdr *section)
{
  if (section->sh_type == SHT_NULL || section->sh_type == SHT_NOBITS)
    return NULL;
  return elf_view_range(view, section->sh_offset, section->sh_size);
}

const Elf64_Phdr *elf_view_segment_at(const elf_view_t *view, uint64_t address)
{
  size_t low = 0, high = view->load_count; /* the first segment that starts after `address` */
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (view->loads[middle].p_vaddr <= address)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0)
    return NULL;
  const Elf64_Phdr *segment = &view->loads[low - 1];
  return address - segment->p_vaddr < segment->p_memsz ? segment : NULL;
}

bool elf_view_offset_of(const elf_view_t *view, uint64_t address, uint64_t size, uint64_t *offset)
{
  *offset = 0;
  const Elf64_Phdr *segment = elf_view_segment_at(view, address);
  if (!segment || !range_within(address - segment->p_vaddr, size, segment->p_filesz))
    return false;
  *offset = segment->p_offset + (address - segment->p_vaddr);
  return true;
}

static bool extend(uint64_t *extent, uint64_t offset, uint64_t size)
{
  uint64_t end;
  if (!checked_add_u64(offset, size, &end))
    return false;
  if (end > *extent)
    *extent = end;
  return true;
}

bool elf_extent(const void *bytes, size_t size, uint64_t *extent)
{
  *extent = 0;
  const unsigned char *at = bytes;
  Elf64_Ehdr header;
  table_counts_t counts;
  if (size < sizeof(header) || memcmp(at, ELFMAG, SELFMAG) != 0 || at[EI_CLASS] != ELFCLASS64 ||
      at[EI_DATA] != ELFDATA2LSB)
    return false;
  memcpy(&header, bytes, sizeof(header));
  if (check_tables(at, size, &header, &counts, NULL) != RAWHAL_OK)
    return false;
  uint64_t end = sizeof(header);
  extend(&end, header.e_phoff, counts.segments * sizeof(Elf64_Phdr));
  uint64_t sections = counts.extended && !counts.sections ? 1 : counts.sections;
  extend(&end, header.e_shoff, sections * sizeof(Elf64_Shdr));
  for (uint64_t i = 0; i < counts.segments; ++i) {
    Elf64_Phdr segment;
    memcpy(&segment, at + header.e_phoff + i * sizeof(segment), sizeof(segment));
    if (segment.p_type != PT_NULL && segment.p_filesz &&
        !extend(&end, segment.p_offset, segment.p_filesz))
      return false;
  }
  for (uint64_t i = 0; i < counts.sections; ++i) {
    Elf64_Shdr section;
    memcpy(&section, at + header.e_shoff + i * sizeof(section), sizeof(section));
    if (section.sh_type != SHT_NULL && section.sh_type != SHT_NOBITS &&
        !extend(&end, section.sh_offset, section.sh_size))
      return false;
  }
  *extent = end <= size ? end : 0;
  return end <= size;
}
