#include "hsaco/scan.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "hsaco/elf_view.h"

enum { PAGE = 4096 };

static scan_reader refuse_pointer, refuse_bitcode, refuse_thin, refuse_spirv;

/* How each carrier starts, what reads it, and what finds its end where it says so by itself. */
static const struct recogniser {
  char magic[25];
  uint8_t size;
  scan_reader *read, *measure;
} recognisers[] = {
    {ELFMAG, SELFMAG, scan_elf, measure_elf},
    {"__CLANG_OFFLOAD_BUNDLE__", 24, scan_bundle, measure_bundle},
    {"CCOB", 4, scan_compressed, measure_compressed},
    {"FPIH", 4, refuse_pointer, NULL}, /* HIPF, HIPK: wrappers that hold a pointer */
    {"HIPK", 4, refuse_pointer, NULL},
    {"\xce\xfa\x55\xba", 4, refuse_pointer, NULL},
    {"KPAK", 4, scan_kpack, NULL},
    {"\x10\xff\x10\xad", 4, scan_offload_binary, measure_offload_binary},
    {"!<arch>\n", 8, scan_archive, NULL},
    {"!<thin>\n", 8, refuse_thin, NULL},
    {"BC\xc0\xde", 4, refuse_bitcode, NULL},
    {"\xde\xc0\x17\x0b", 4, refuse_bitcode, NULL}, /* in a wrapper */
    {"\x03\x02\x23\x07", 4, refuse_spirv, NULL},
    {"MZ", 2, scan_pe, NULL},
    {"\x64\x86", 2, scan_coff, NULL}, /* an object for x86-64 */
};

bool scan_starts(const scan_t *scan, const scan_part_t *part, const char *magic, size_t size)
{
  return part->size >= size && memcmp(scan->space.bytes + part->offset, magic, size) == 0;
}

static const struct recogniser *recognise_start(const void *bytes, uint64_t size)
{
  for (size_t i = 0; i < sizeof(recognisers) / sizeof(*recognisers); ++i)
    if (size >= recognisers[i].size &&
        memcmp(bytes, recognisers[i].magic, recognisers[i].size) == 0)
      return &recognisers[i];
  return NULL;
}

static const struct recogniser *recognise(const scan_t *scan, const scan_part_t *part)
{
  return recognise_start(scan->space.bytes + part->offset, part->size);
}

bool scan_knows(const scan_t *scan, const scan_part_t *part)
{
  return recognise(scan, part) != NULL;
}

bool scan_knows_start(const void *bytes, size_t size)
{
  return recognise_start(bytes, size) != NULL;
}

/* ---- Work ---- */

rawhal_status_t scan_fail_work(uint64_t offset, rawhal_error_t *error)
{
  return rawhal_fail_at(error, RAWHAL_CAP_EXCEEDED, offset,
                        "reading it would take more than %d steps for each of its bytes: too many "
                        "entries or sections name the same bytes, or are nearly empty",
                        WORK_A_BYTE);
}

rawhal_status_t scan_work(scan_t *scan, uint64_t offset, uint64_t steps, rawhal_error_t *error)
{
  return work_take(&scan->work, steps) ? RAWHAL_OK : scan_fail_work(offset, error);
}

uint64_t scan_zeros_end(const unsigned char *bytes, uint64_t from, uint64_t to)
{
  uint64_t words[8]; /* as many bytes at once as the machine likes to look at */
  for (; to - from >= sizeof(words); from += sizeof(words)) {
    memcpy(words, bytes + from, sizeof(words));
    uint64_t any = 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); ++i)
      any |= words[i];
    if (any)
      break;
  }
  while (from < to && !bytes[from])
    ++from;
  return from;
}

/* ---- Listing ---- */

rawhal_string_t scan_keep(scan_t *scan, rawhal_string_t text)
{
  if (!text.size || !scan->space.unpacked || !scan_holds_one(scan))
    return text;
  char *copy = arena_alloc(&scan->arena, text.size);
  return copy ? (rawhal_string_t){memcpy(copy, text.data, text.size), text.size}
              : (rawhal_string_t){0}; /* the arena remembers */
}

rawhal_status_t scan_add(scan_t *scan, scan_part_t part, rawhal_string_t why_not,
                         rawhal_error_t *error)
{
  if (scan->count >= scan->options.max_objects)
    return rawhal_fail_at(error, RAWHAL_CAP_EXCEEDED, part.offset,
                          "more code objects than max_objects (%u)", scan->options.max_objects);
  rawhal_status_t status = scan_work(scan, part.offset, WORK_OBJECT + part.size / 8, error);
  if (status != RAWHAL_OK)
    return status;
  if (!arena_reserve(&scan->arena, &scan->objects, &scan->capacity, scan->count,
                     sizeof(*scan->objects), 8))
    return arena_fail(&scan->arena, error);
  if (!arena_reserve(&scan->arena, &scan->origins, &scan->origin_capacity, scan->count,
                     sizeof(*scan->origins), 8))
    return arena_fail(&scan->arena, error);
  rawhal_container_object_t object = {
      .bytes = {scan->space.bytes + part.offset, (size_t)part.size},
      .offset = scan->space.unpacked ? scan->space.offset : part.offset,
      .unpacked = scan->space.unpacked,
      .id = scan_keep(scan, part.id),
      .readable = !why_not.size,
      .why_not = why_not,
  };
  Elf64_Ehdr header;
  rawhal_error_t why;
  if (object.readable && elf_header_check(object.bytes.data, object.bytes.size, &header, &why)) {
    object.readable = false;
    object.why_not = arena_print(&scan->arena, "%s", why.message);
  }
  if (object.readable)
    rawhal_target_from_flags(header.e_flags, header.e_ident[EI_ABIVERSION], &object.target);
  if (object.unpacked && scan_holds_one(scan))
    object.bytes.data = NULL; /* see rawhal_container_read() */
  scan->origins[scan->count] = (scan_origin_t){scan->space.unpacked, part.offset};
  scan->objects[scan->count++] = object;
  return RAWHAL_OK;
}

/* ---- Recognised, but not read ---- */

rawhal_status_t scan_refuse(scan_t *scan, scan_part_t part, const char *why, rawhal_error_t *error)
{
  rawhal_string_t text = {why, strlen(why)};
  scan->refused = text;
  scan->refused_status = RAWHAL_UNSUPPORTED;
  scan->refused_at = part.offset;
  return scan_add(scan, part, text, error);
}

static rawhal_status_t refuse_pointer(scan_t *scan, scan_part_t part, uint64_t *end,
                                      rawhal_error_t *error)
{
  *end = part.offset + part.size;
  return scan_refuse(
      scan, part, "a fat binary wrapper (HIPF/HIPK) holds a pointer of its own process, not bytes",
      error);
}

static rawhal_status_t refuse_bitcode(scan_t *scan, scan_part_t part, uint64_t *end,
                                      rawhal_error_t *error)
{
  *end = part.offset + part.size;
  return scan_refuse(
      scan, part, "LLVM bitcode (-fgpu-rdc): a code object only when the program is linked", error);
}

static rawhal_status_t refuse_thin(scan_t *scan, scan_part_t part, uint64_t *end,
                                   rawhal_error_t *error)
{
  *end = part.offset + part.size;
  return scan_refuse(scan, part, "a thin archive names files and holds none of their bytes", error);
}

static rawhal_status_t refuse_spirv(scan_t *scan, scan_part_t part, uint64_t *end,
                                    rawhal_error_t *error)
{
  *end = part.offset + part.size;
  return scan_refuse(scan, part, "SPIR-V, not machine code", error);
}

/* ---- Ranges ---- */

rawhal_status_t scan_one(scan_t *scan, scan_part_t part, uint64_t *end, rawhal_error_t *error)
{
  *end = part.offset;
  rawhal_status_t status = scan_work(scan, part.offset, WORK_PART, error);
  if (status != RAWHAL_OK)
    return status;
  const struct recogniser *recogniser = recognise(scan, &part);
  if (!recogniser)
    return rawhal_fail_at(
        error, RAWHAL_MALFORMED, part.offset,
        "%llu bytes at offset %llu are neither a code object nor a known container of code objects",
        (unsigned long long)part.size, (unsigned long long)part.offset);
  if (part.depth >= SCAN_MOST_DEPTH)
    return rawhal_fail_at(error, RAWHAL_CAP_EXCEEDED, part.offset,
                          "containers nest more than %d deep", SCAN_MOST_DEPTH);
  return recogniser->read(scan, part, end, error);
}

rawhal_status_t scan_measure(scan_t *scan, scan_part_t part, uint64_t *end, rawhal_error_t *error)
{
  *end = part.offset;
  const struct recogniser *recogniser = recognise(scan, &part);
  if (!recogniser)
    return rawhal_fail_at(
        error, RAWHAL_MALFORMED, part.offset,
        "what starts there is neither a code object nor a known container of code objects");
  if (!recogniser->measure)
    return rawhal_fail_at(error, RAWHAL_UNSUPPORTED, part.offset,
                          "an image without a size must say where it ends: a code object, an "
                          "offload bundle or an offload binary does");
  return recogniser->measure(scan, part, end, error);
}

/* Moves the part past the zeros that start at `next`. */
static rawhal_status_t skip_zeros(scan_t *scan, scan_part_t *part, uint64_t next,
                                  rawhal_error_t *error)
{
  uint64_t end = part->offset + part->size;
  part->offset = scan_zeros_end(scan->space.bytes, next, end);
  part->size = end - part->offset;
  return scan_work(scan, next, part->offset - next, error);
}

rawhal_status_t scan_range(scan_t *scan, scan_part_t part, rawhal_error_t *error)
{
  do {
    uint64_t next;
    rawhal_status_t status = scan_one(scan, part, &next, error);
    if (status == RAWHAL_OK)
      status = skip_zeros(scan, &part, next, error);
    if (status != RAWHAL_OK)
      return status;
  } while (part.size);
  return RAWHAL_OK;
}

rawhal_status_t scan_apart(scan_t *scan, scan_part_t part, rawhal_error_t *error)
{
  rawhal_error_t why = {0};
  rawhal_status_t status = scan_range(scan, part, &why);
  if (status == RAWHAL_MALFORMED || status == RAWHAL_UNSUPPORTED) {
    scan->refused = arena_print(&scan->arena, "%s", why.message);
    scan->refused_status = status;
    scan->refused_at = scan->space.unpacked ? scan->space.offset : why.offset;
    return scan_add(scan, part, scan->refused, error);
  }
  if (status != RAWHAL_OK && error)
    *error = why;
  return status;
}

rawhal_status_t scan_pages(scan_t *scan, scan_part_t part, rawhal_error_t *error)
{
  uint64_t start = part.offset, end = part.offset + part.size;
  rawhal_status_t status = scan_work(scan, start, part.size, error);
  if (status != RAWHAL_OK)
    return status;
  while (part.size) {
    if (recognise(scan, &part)) {
      uint64_t next;
      status = scan_one(scan, part, &next, error);
      if (status == RAWHAL_OK)
        status = skip_zeros(scan, &part, next, error);
      if (status != RAWHAL_OK)
        return status;
      if (!part.size || recognise(scan, &part))
        continue;
    }
    uint64_t page = ((part.offset - start) / PAGE + 1) * PAGE;
    part.offset = page < end - start ? start + page : end;
    part.size = end - part.offset;
  }
  return RAWHAL_OK;
}
