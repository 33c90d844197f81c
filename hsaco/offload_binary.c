#include "hsaco/scan.h"

#include <stddef.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"

/* What clang-offload-packager writes, and clang with --offload-new-driver puts into host objects
 * (sections of type SHT_LLVM_OFFLOADING): images for devices, and texts about each. Offsets count
 * from its first byte. Version 1 has one image; version 2 (LLVM 22) any number, and texts with
 * their lengths; version 3 (LLVM 23) may have all behind its header compressed. Facts: LLVM,
 * "llvm/Object/OffloadBinary.h". */
typedef struct binary_header {
  uint8_t magic[4];
  uint32_t version;
  uint64_t size, entries;
  uint64_t count;    /* of the entries; in version 1 the size of the only one */
  uint64_t unpacked; /* of version 3: the size with all unpacked, or 0 */
} binary_header_t;

typedef struct binary_entry {
  uint16_t image_kind, offload_kind;
  uint32_t flags;
  uint64_t strings, string_count, image, image_size;
} binary_entry_t;

typedef struct string_entry {
  uint64_t key, value, size; /* the last from version 2 on */
} string_entry_t;

enum { MOST_STRINGS = 64, LONGEST_STRING = 4096, LAST_VERSION = 3 };

/* By version, in bytes. */
static const uint8_t header_sizes[] = {32, 32, 32, 40}, string_sizes[] = {0, 16, 24, 24};

_Static_assert(sizeof(binary_header_t) == 40 && offsetof(binary_header_t, unpacked) == 32,
               "as in the file");
_Static_assert(sizeof(binary_entry_t) == 40, "as in the file");

typedef struct binary {
  scan_t *scan;
  scan_part_t part;
  binary_header_t header;
} binary_t;

static const unsigned char *bytes_of(const binary_t *binary)
{
  return binary->scan->space.bytes + binary->part.offset;
}

/* A text that ends with a zero, or has `size` bytes if that is not 0. */
static rawhal_status_t read_text(const binary_t *binary, uint64_t offset, uint64_t size,
                                 rawhal_string_t *text, rawhal_error_t *error)
{
  const scan_part_t *part = &binary->part;
  uint64_t left = offset < part->size ? part->size - offset : 0;
  size_t most = left < LONGEST_STRING ? (size_t)left : LONGEST_STRING;
  const char *bytes = left ? (const char *)bytes_of(binary) + offset : "";
  size_t length = size ? (size_t)size : most ? strnlen(bytes, most) : 0;
  if (length > most || (!size && length == most))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, part->offset,
                          "a string of an offload binary (offset %llu) does not end within it",
                          (unsigned long long)offset);
  *text = (rawhal_string_t){bytes, length};
  return scan_work(binary->scan, part->offset, length, error);
}

static bool is_text(rawhal_string_t text, const char *wanted)
{
  return text.size == strlen(wanted) && memcmp(text.data, wanted, text.size) == 0;
}

typedef struct texts {
  rawhal_string_t triple, processor;
} texts_t;

static rawhal_status_t read_texts(const binary_t *binary, const binary_entry_t *entry,
                                  texts_t *texts, rawhal_error_t *error)
{
  const scan_part_t *part = &binary->part;
  const uint8_t width = string_sizes[binary->header.version];
  *texts = (texts_t){0};
  if (entry->string_count > MOST_STRINGS ||
      !range_within(entry->strings, entry->string_count * width, part->size))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, part->offset,
                          "the %llu strings of an offload binary end after its %llu bytes",
                          (unsigned long long)entry->string_count, (unsigned long long)part->size);
  for (uint64_t i = 0; i < entry->string_count; ++i) {
    string_entry_t string = {0};
    rawhal_string_t key = {0}, value = {0};
    memcpy(&string, bytes_of(binary) + entry->strings + i * width, width);
    rawhal_status_t status = read_text(binary, string.key, 0, &key, error);
    if (status == RAWHAL_OK)
      status = read_text(binary, string.value, string.size, &value, error);
    if (status != RAWHAL_OK)
      return status;
    if (is_text(key, "triple"))
      texts->triple = value;
    if (is_text(key, "arch"))
      texts->processor = value;
  }
  return RAWHAL_OK;
}

static rawhal_status_t scan_image(const binary_t *binary, const binary_entry_t *entry,
                                  rawhal_error_t *error)
{
  scan_t *scan = binary->scan;
  const scan_part_t *part = &binary->part;
  texts_t texts;
  if (!range_within(entry->image, entry->image_size, part->size))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, part->offset,
                          "the image of an offload binary (offset %llu, size %llu) ends after its "
                          "%llu bytes",
                          (unsigned long long)entry->image, (unsigned long long)entry->image_size,
                          (unsigned long long)part->size);
  rawhal_status_t status = read_texts(binary, entry, &texts, error);
  if (status != RAWHAL_OK || !entry->image_size)
    return status;
  scan_part_t image = {
      .offset = part->offset + entry->image, .size = entry->image_size, .depth = part->depth + 1};
  /* The id as a bundle has it: "triple--processor:feature+". */
  image.id = arena_print(&scan->arena, "%.*s--%.*s", RAWHAL_STRING_ARGS(texts.triple),
                         RAWHAL_STRING_ARGS(texts.processor));
  const char *why_not = scan_foreign_triple(texts.triple);
  return why_not ? scan_add(scan, image, rawhal_string(why_not), error)
                 : scan_apart(scan, image, error);
}

/* ---- The binary ---- */

/* Of a version that is not known, only how long it is. */
static rawhal_status_t read_header(binary_t *binary, rawhal_error_t *error)
{
  binary_header_t *header = &binary->header;
  const scan_part_t *part = &binary->part;
  *header = (binary_header_t){0};
  if (part->size < header_sizes[1])
    return rawhal_fail_at(error, RAWHAL_MALFORMED, part->offset,
                          "the header of an offload binary is truncated");
  memcpy(header, bytes_of(binary), header_sizes[1]);
  const uint8_t size = header_sizes[header->version <= LAST_VERSION ? header->version : 1];
  if (header->size < size || header->size > part->size)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, part->offset,
                          "an offload binary of %llu bytes, of which only %llu are there",
                          (unsigned long long)header->size, (unsigned long long)part->size);
  memcpy(header, bytes_of(binary), size);
  binary->part.size = header->size;
  return RAWHAL_OK;
}

rawhal_status_t measure_offload_binary(scan_t *scan, scan_part_t part, uint64_t *end,
                                       rawhal_error_t *error)
{
  binary_t binary = {.scan = scan, .part = part};
  rawhal_status_t status = read_header(&binary, error);
  *end = part.offset + (status == RAWHAL_OK ? binary.header.size : 0);
  return status;
}

static rawhal_status_t scan_entries(const binary_t *binary, rawhal_error_t *error)
{
  const binary_header_t *header = &binary->header;
  const scan_part_t *part = &binary->part;
  const uint64_t count = header->version == 1 ? 1 : header->count;
  if (count > binary->scan->options.max_bundle_entries)
    return rawhal_fail_at(error, RAWHAL_CAP_EXCEEDED, part->offset,
                          "an offload binary of %llu entries: more than max_bundle_entries (%u)",
                          (unsigned long long)count, binary->scan->options.max_bundle_entries);
  const bool whole = header->version != 1 || header->count >= sizeof(binary_entry_t);
  if (!whole || !range_within(header->entries, count * sizeof(binary_entry_t), part->size) ||
      (header->version == 1 && !range_within(header->entries, header->count, part->size)))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, part->offset,
                          "the entries of an offload binary (offset %llu, %s %llu) are not within "
                          "its %llu bytes",
                          (unsigned long long)header->entries,
                          header->version == 1 ? "size" : "number",
                          (unsigned long long)header->count, (unsigned long long)part->size);
  rawhal_status_t status = RAWHAL_OK;
  for (uint64_t i = 0; i < count && status == RAWHAL_OK; ++i) {
    binary_entry_t entry;
    memcpy(&entry, bytes_of(binary) + header->entries + i * sizeof(entry), sizeof(entry));
    status = scan_work(binary->scan, part->offset, WORK_PART, error);
    if (status == RAWHAL_OK)
      status = scan_image(binary, &entry, error);
  }
  return status;
}

/* What it unpacks to is read in its place, with a header that says that nothing is compressed. */
static rawhal_status_t scan_compressed_binary(const binary_t *binary, rawhal_error_t *error)
{
  scan_t *scan = binary->scan;
  const scan_part_t *part = &binary->part;
  const unsigned char *payload = bytes_of(binary) + sizeof(binary->header);
  const uint64_t size = part->size - sizeof(binary->header);
  binary_header_t header = binary->header;
  if (header.unpacked < sizeof(header))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, part->offset,
                          "an offload binary that unpacks to %llu bytes, less than its header",
                          (unsigned long long)header.unpacked);
  scan_packed_t packed = {
      .what = "a compressed offload binary",
      .at = part->offset,
      .bytes = payload,
      .size = size,
      .unpacked_size = header.unpacked - sizeof(header),
      .zlib = size < 4 || memcmp(payload, "\x28\xb5\x2f\xfd", 4) != 0, /* zstd otherwise */
      .header = sizeof(header),
  };
  header.size = header.unpacked;
  header.unpacked = 0;
  memcpy(packed.header_bytes, &header, sizeof(header));
  scan_space_t space;
  uint64_t used;
  rawhal_status_t status = scan_unpack(scan, &packed, &space, &used, error);
  const scan_part_t inner = {.size = header.size, .depth = part->depth + 1};
  return status == RAWHAL_OK ? scan_inside(scan, &space, inner, packed.what, part->offset, error)
                             : status;
}

rawhal_status_t scan_offload_binary(scan_t *scan, scan_part_t part, uint64_t *end,
                                    rawhal_error_t *error)
{
  binary_t binary = {.scan = scan, .part = part};
  *end = part.offset;
  rawhal_status_t status = read_header(&binary, error);
  if (status != RAWHAL_OK)
    return status;
  *end = part.offset + binary.header.size;
  if (binary.header.version < 1 || binary.header.version > LAST_VERSION)
    return scan_refuse(scan, binary.part, "an offload binary of a version after 3, or of version 0",
                       error);
  return binary.header.unpacked ? scan_compressed_binary(&binary, error)
                                : scan_entries(&binary, error);
}
