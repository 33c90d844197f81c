#include <elf.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "hsaco/elf_view.h"
#include "hsaco/scan.h"

/* Code objects that stand anywhere: as constants of a program, which hands them to
 * hipModuleLoadData(), or in files whose format is not read otherwise, such as Windows'. The magic
 * of a format is also a constant of every program that reads it, so only what is whole by its own
 * headers counts. */

/* What must follow the magic; the end of what starts there, or 0. */
typedef uint64_t whole(scan_t *scan, scan_part_t part);

static uint64_t whole_object(scan_t *scan, scan_part_t part)
{
  Elf64_Ehdr header;
  uint64_t extent;
  if (part.size < sizeof(header))
    return 0;
  const unsigned char *bytes = scan->space.bytes + part.offset;
  memcpy(&header, bytes, sizeof(header));
  /* Extended numbering would make looking at it cost more than its header says. */
  if (header.e_machine != ELF_MACHINE_AMDGPU || !header.e_shnum || header.e_phnum == PN_XNUM ||
      !work_take(&scan->work, 8u * (uint64_t)(header.e_shnum + header.e_phnum)))
    return 0;
  return elf_extent(bytes, (size_t)part.size, &extent) ? extent : 0;
}

/* With entries, of which one has bytes behind the table. */
static uint64_t whole_bundle(scan_t *scan, scan_part_t part)
{
  enum { HEADER = 32, ENTRY = 24 };
  uint64_t end, count = 0;
  if (part.size >= HEADER)
    memcpy(&count, scan->space.bytes + part.offset + 24, sizeof(count));
  if (!count || count > scan->options.max_bundle_entries ||
      !work_take(&scan->work, WORK_PART * count) ||
      measure_bundle(scan, part, &end, NULL) != RAWHAL_OK)
    return 0;
  return end - part.offset > HEADER + ENTRY * count ? end - part.offset : 0;
}

/* Of a known version, whose payload starts as what it says it is. */
static uint64_t whole_compressed(scan_t *scan, scan_part_t part)
{
  static const uint8_t headers[] = {0, 20, 24, 32}; /* by version */
  const unsigned char *bytes = scan->space.bytes + part.offset;
  uint16_t version = 0, method = 0;
  uint64_t end;
  if (part.size > 36) {
    memcpy(&version, bytes + 4, sizeof(version));
    memcpy(&method, bytes + 6, sizeof(method));
  }
  if (version < 1 || version >= sizeof(headers) || method > 1)
    return 0;
  const unsigned char *payload = bytes + headers[version];
  if (method ? memcmp(payload, "\x28\xb5\x2f\xfd", 4) != 0 : (payload[0] & 0x0f) != 8)
    return 0;
  return measure_compressed(scan, part, &end, NULL) == RAWHAL_OK ? end - part.offset : 0;
}

static uint64_t whole_binary(scan_t *scan, scan_part_t part)
{
  uint64_t end, fields[3]; /* size, offset of the entries, their number or size */
  uint32_t version = 0;
  if (part.size >= 32) {
    memcpy(&version, scan->space.bytes + part.offset + 4, sizeof(version));
    memcpy(fields, scan->space.bytes + part.offset + 8, sizeof(fields));
  }
  if (version < 1 || version > 3 || fields[1] < 32 || fields[1] >= fields[0] || !fields[2])
    return 0;
  return measure_offload_binary(scan, part, &end, NULL) == RAWHAL_OK ? end - part.offset : 0;
}

static const struct format {
  const char *magic;
  size_t size;
  whole *whole;
} formats[] = {
    {ELFMAG "\2\1\1\x40", 8, whole_object}, /* 64 bits, little-endian, AMDGPU's HSA */
    {"__CLANG_OFFLOAD_BUNDLE__", 24, whole_bundle},
    {"CCOB", 4, whole_compressed},
    {"\x10\xff\x10\xad", 4, whole_binary},
};
enum { FORMATS = sizeof(formats) / sizeof(*formats) };

/* Where each magic stands next: a byte is looked at once for each of them. */
typedef struct search {
  uint64_t next[FORMATS]; /* `end` of the part: no more */
} search_t;

static uint64_t find(const scan_t *scan, size_t format, uint64_t from, uint64_t end)
{
  const unsigned char *bytes = scan->space.bytes;
  const unsigned char *found =
      memmem(bytes + from, (size_t)(end - from), formats[format].magic, formats[format].size);
  return found ? (uint64_t)(found - bytes) : end;
}

static void go_on(const scan_t *scan, search_t *search, uint64_t from, uint64_t end)
{
  for (size_t i = 0; i < FORMATS; ++i)
    if (search->next[i] < from)
      search->next[i] = find(scan, i, from, end);
}

static size_t nearest(const search_t *search)
{
  size_t best = 0;
  for (size_t i = 1; i < FORMATS; ++i)
    best = search->next[i] < search->next[best] ? i : best;
  return best;
}

rawhal_status_t scan_embedded(scan_t *scan, scan_part_t part, rawhal_error_t *error)
{
  const uint64_t end = part.offset + part.size;
  search_t search;
  rawhal_status_t status = scan_work(scan, part.offset, FORMATS * part.size, error);
  for (size_t i = 0; i < FORMATS; ++i)
    search.next[i] = find(scan, i, part.offset, end);
  while (status == RAWHAL_OK) {
    const size_t format = nearest(&search);
    const uint64_t at = search.next[format];
    if (at >= end)
      break;
    scan_part_t found = {.offset = at, .size = end - at, .depth = part.depth};
    status = scan_work(scan, at, WORK_PART, error);
    const uint64_t size = status == RAWHAL_OK ? formats[format].whole(scan, found) : 0;
    found.size = size;
    if (size)
      status = scan_apart(scan, found, error);
    go_on(scan, &search, at + (size ? size : 1), end);
  }
  return status;
}

/* ---- Windows' files ---- */

static uint32_t little(const unsigned char *bytes, size_t width)
{
  uint32_t value = 0;
  memcpy(&value, bytes, width);
  return value;
}

static rawhal_status_t not_known(scan_part_t part, rawhal_error_t *error)
{
  return rawhal_fail_at(
      error, RAWHAL_MALFORMED, part.offset,
      "%llu bytes at offset %llu are neither a code object nor a known container of code objects",
      (unsigned long long)part.size, (unsigned long long)part.offset);
}

/* Their sections have names of eight characters (.hip_fat, .hipFatB), so that all of the file is
 * looked through. Facts: Microsoft, "PE Format". */
static rawhal_status_t scan_windows(scan_t *scan, scan_part_t part, uint64_t *end,
                                    rawhal_error_t *error)
{
  *end = part.offset + part.size;
  ++part.depth;
  return scan_embedded(scan, part, error);
}

rawhal_status_t scan_pe(scan_t *scan, scan_part_t part, uint64_t *end, rawhal_error_t *error)
{
  enum { HEADER = 64, PLACE = 60 };
  const unsigned char *bytes = scan->space.bytes + part.offset;
  const uint64_t at = part.size >= HEADER ? little(bytes + PLACE, 4) : part.size;
  *end = part.offset;
  if (!range_within(at, 4, part.size) || memcmp(bytes + at, "PE\0\0", 4) != 0)
    return not_known(part, error);
  return scan_windows(scan, part, end, error);
}

/* An object: no magic but the machine, so the header has to make sense. */
rawhal_status_t scan_coff(scan_t *scan, scan_part_t part, uint64_t *end, rawhal_error_t *error)
{
  enum { HEADER = 20, SECTION = 40, SYMBOL = 18 };
  const unsigned char *bytes = scan->space.bytes + part.offset;
  *end = part.offset;
  if (part.size < HEADER || little(bytes + 16, 2) || !little(bytes + 2, 2) ||
      !range_within(HEADER, SECTION * (uint64_t)little(bytes + 2, 2), part.size) ||
      !range_within(little(bytes + 8, 4), SYMBOL * (uint64_t)little(bytes + 12, 4), part.size))
    return not_known(part, error);
  return scan_windows(scan, part, end, error);
}
