#include <elf.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "hsaco/elf_view.h"
#include "hsaco/kpack.h"
#include "hsaco/scan.h"

/* ELF files: code objects as they are, and host programs, libraries and objects that carry them in
 * sections. */

typedef struct host {
  scan_t *scan;
  scan_part_t part;
  const unsigned char *bytes; /* of the file */
  Elf64_Ehdr header;
} host_t;

static bool is_code_object(const Elf64_Ehdr *header)
{
  /* One mark is enough: a damaged code object is reported as such, not as a host file. */
  return header->e_machine == ELF_MACHINE_AMDGPU ||
         header->e_ident[EI_OSABI] == ELF_OSABI_AMDGPU_HSA;
}

/* Section header `index`; the table's range is checked with each. */
static bool section_at(const host_t *host, uint64_t index, Elf64_Shdr *section)
{
  uint64_t at;
  if (!checked_add_u64(host->header.e_shoff, index * sizeof(*section), &at) ||
      !range_within(at, sizeof(*section), host->part.size))
    return false;
  memcpy(section, host->bytes + at, sizeof(*section));
  return true;
}

/* A section's name; empty when it is longer than those that matter here, or none. */
static rawhal_string_t name_of(const host_t *host, const Elf64_Shdr *names, uint32_t name)
{
  enum { LONGEST = 160 };
  if (names->sh_type != SHT_STRTAB ||
      !range_within(names->sh_offset, names->sh_size, host->part.size) || name >= names->sh_size)
    return (rawhal_string_t){0};
  uint64_t left = names->sh_size - name, most = left < LONGEST ? left : LONGEST;
  const char *text = (const char *)host->bytes + names->sh_offset + name;
  size_t size = strnlen(text, (size_t)most);
  return size < most ? (rawhal_string_t){text, size} : (rawhal_string_t){0};
}

/* ---- Sections ---- */

enum { SHT_OFFLOADING = 0x6fff4c0b }; /* LLVM's SHT_LLVM_OFFLOADING */

typedef rawhal_status_t section_reader(scan_t *scan, scan_part_t part, rawhal_error_t *error);

/* For each translation unit a bundle, at a page boundary or directly after the one before. */
static rawhal_status_t read_fatbin(scan_t *scan, scan_part_t part, rawhal_error_t *error)
{
  return scan_pages(scan, part, error);
}

/* One after the other, with zeros between. */
static rawhal_status_t read_offload(scan_t *scan, scan_part_t part, rawhal_error_t *error)
{
  return part.size ? scan_apart(scan, part, error) : RAWHAL_OK;
}

/* What clang-offload-bundler --type=o makes of a host object: a section for each device. */
static rawhal_status_t read_bundled(scan_t *scan, scan_part_t part, rawhal_error_t *error)
{
  if (!part.size || scan_is_host(part.id))
    return RAWHAL_OK;
  const char *why_not = scan_foreign(part.id);
  return why_not ? scan_add(scan, part, rawhal_string(why_not), error)
                 : scan_apart(scan, part, error);
}

/* The name, or how it begins and an id follows; and the type. An empty name is any: linkers rename
 * what they keep (.llvm.offloading.relocatable). */
static const struct carrier_section {
  const char *name;
  uint32_t type;
  bool with_id;
  section_reader *read;
} carriers[] = {
    {".hip_fatbin", SHT_PROGBITS, false, read_fatbin},
    {"", SHT_OFFLOADING, true, read_offload},
    {"__CLANG_OFFLOAD_BUNDLE__", SHT_PROGBITS, true, read_bundled},
    {".rocm_kpack_ref", SHT_PROGBITS, false, kpack_reference_note},
    {"", SHT_PROGBITS, true, scan_embedded}, /* what hipModuleLoadData() is given */
};

static const struct carrier_section *carrier_of(const Elf64_Shdr *section, rawhal_string_t name)
{
  for (size_t i = 0; i < sizeof(carriers) / sizeof(*carriers); ++i) {
    const struct carrier_section *carrier = &carriers[i];
    size_t size = strlen(carrier->name);
    if (section->sh_type == carrier->type && name.size >= size &&
        (carrier->with_id || name.size == size) &&
        (!size || memcmp(name.data, carrier->name, size) == 0))
      return carrier;
  }
  return NULL;
}

/* Data that a program has when it runs. */
static bool holds_constants(const host_t *host, const Elf64_Shdr *section)
{
  return section->sh_flags & SHF_ALLOC && !(section->sh_flags & SHF_EXECINSTR) &&
         range_within(section->sh_offset, section->sh_size, host->part.size);
}

/* Reads one section, if it is one that code objects are in, or one that says where they are. */
static rawhal_status_t scan_section(const host_t *host, const Elf64_Shdr *names,
                                    const Elf64_Shdr *section, rawhal_error_t *error)
{
  rawhal_string_t name = name_of(host, names, section->sh_name);
  const struct carrier_section *carrier = carrier_of(section, name);
  if (!carrier || (carrier->read == scan_embedded && !holds_constants(host, section)))
    return RAWHAL_OK;
  if (!range_within(section->sh_offset, section->sh_size, host->part.size))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, host->part.offset + host->header.e_shoff,
                          "%.*s (offset %llu, size %llu) ends after the file", (int)name.size,
                          name.data, (unsigned long long)section->sh_offset,
                          (unsigned long long)section->sh_size);
  scan_part_t part = {.offset = host->part.offset + section->sh_offset,
                      .size = section->sh_size,
                      .depth = host->part.depth + 1};
  size_t size = strlen(carrier->name);
  if (carrier->with_id && size)
    part.id = (rawhal_string_t){name.data + size, name.size - size};
  return carrier->read(host->scan, part, error);
}

/* Reads every section that matters; *found says whether there was a section table to look in. */
static rawhal_status_t scan_sections(const host_t *host, bool *found, rawhal_error_t *error)
{
  Elf64_Shdr first, names, section;
  *found = host->header.e_shoff && host->header.e_shentsize == sizeof(Elf64_Shdr) &&
           section_at(host, 0, &first);
  if (!*found)
    return RAWHAL_OK;
  uint64_t count = host->header.e_shnum ? host->header.e_shnum : first.sh_size;
  uint64_t names_index =
      host->header.e_shstrndx == SHN_XINDEX ? first.sh_link : host->header.e_shstrndx;
  uint64_t table;
  if (!checked_mul_u64(count, sizeof(section), &table) ||
      !range_within(host->header.e_shoff, table, host->part.size) || names_index >= count)
    return rawhal_fail_at(error, RAWHAL_MALFORMED,
                          host->part.offset + offsetof(Elf64_Ehdr, e_shoff),
                          "the host file's section table (%llu headers at offset %llu) ends after "
                          "its %llu bytes",
                          (unsigned long long)count, (unsigned long long)host->header.e_shoff,
                          (unsigned long long)host->part.size);
  (void)section_at(host, names_index, &names);
  for (uint64_t i = 1; i < count; ++i) {
    (void)section_at(host, i, &section);
    if (section.sh_type != SHT_PROGBITS && section.sh_type != SHT_OFFLOADING)
      continue;
    rawhal_status_t status =
        scan_work(host->scan, host->part.offset + host->header.e_shoff, WORK_PART, error);
    if (status == RAWHAL_OK)
      status = scan_section(host, &names, &section, error);
    if (status != RAWHAL_OK)
      return status;
  }
  return RAWHAL_OK;
}

/* Stripped of its section headers, a file still has what was in its sections in its segments. */
static rawhal_status_t scan_segments(const host_t *host, rawhal_error_t *error)
{
  uint64_t table = (uint64_t)host->header.e_phnum * sizeof(Elf64_Phdr);
  if (host->header.e_phentsize != sizeof(Elf64_Phdr) ||
      !range_within(host->header.e_phoff, table, host->part.size))
    return RAWHAL_OK;
  uint64_t done = 0; /* bytes up to here are scanned: segments may overlap */
  rawhal_status_t status = RAWHAL_OK;
  for (uint64_t i = 0; i < host->header.e_phnum && status == RAWHAL_OK; ++i) {
    Elf64_Phdr segment;
    memcpy(&segment, host->bytes + host->header.e_phoff + i * sizeof(segment), sizeof(segment));
    if (segment.p_type != PT_LOAD ||
        !range_within(segment.p_offset, segment.p_filesz, host->part.size))
      continue;
    uint64_t end = segment.p_offset + segment.p_filesz;
    uint64_t start = segment.p_offset > done ? segment.p_offset : done;
    if (start >= end)
      continue;
    const scan_part_t part = {
        .offset = host->part.offset + start, .size = end - start, .depth = host->part.depth + 1};
    status = scan_embedded(host->scan, part, error);
    done = end;
  }
  return status;
}

/* A code object that is damaged so that its end is unknown takes the rest of its range: opening it
 * will say what is wrong. */
static rawhal_status_t scan_object(scan_t *scan, scan_part_t part, uint64_t *end,
                                   rawhal_error_t *error)
{
  uint64_t extent;
  if (!elf_extent(scan->space.bytes + part.offset, (size_t)part.size, &extent))
    extent = part.size;
  part.size = extent;
  *end = part.offset + extent;
  return scan_add(scan, part, (rawhal_string_t){0}, error);
}

rawhal_status_t scan_elf(scan_t *scan, scan_part_t part, uint64_t *end, rawhal_error_t *error)
{
  host_t host = {.scan = scan, .part = part, .bytes = scan->space.bytes + part.offset};
  *end = part.offset + part.size;
  if (part.size < sizeof(host.header))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, part.offset + part.size,
                          "the ELF header is truncated at byte %llu of %zu",
                          (unsigned long long)part.size, sizeof(host.header));
  memcpy(&host.header, host.bytes, sizeof(host.header));
  if (is_code_object(&host.header) || !part.is_file)
    return scan_object(scan, part, end, error);
  if (host.header.e_ident[EI_CLASS] != ELFCLASS64 || host.header.e_ident[EI_DATA] != ELFDATA2LSB)
    return rawhal_fail_at(error, RAWHAL_UNSUPPORTED, part.offset + EI_CLASS,
                          "a host file that is not 64-bit little-endian ELF");
  bool has_sections;
  rawhal_status_t status = scan_sections(&host, &has_sections, error);
  if (status == RAWHAL_OK && !has_sections)
    status = scan_segments(&host, error);
  return status;
}

/* By the headers of any ELF, a host's as well. */
rawhal_status_t measure_elf(scan_t *scan, scan_part_t part, uint64_t *end, rawhal_error_t *error)
{
  uint64_t extent;
  *end = part.offset;
  if (!elf_extent(scan->space.bytes + part.offset, (size_t)part.size, &extent))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, part.offset,
                          "an ELF whose headers, segments or sections end after the %llu bytes "
                          "that can be read, or that is not 64-bit little-endian",
                          (unsigned long long)part.size);
  *end = part.offset + extent;
  return RAWHAL_OK;
}
