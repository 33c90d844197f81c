#include "hsaco/scan.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"

/* What clang-offload-packager writes, and clang with --offload-new-driver puts into host objects
 * (sections .llvm.offloading): an image for one device, and texts about it. Offsets count from its
 * first byte. Facts: LLVM, "llvm/Object/OffloadBinary.h", version 1. */
typedef struct binary_header {
  uint8_t magic[4];
  uint32_t version;
  uint64_t size, entry, entry_size;
} binary_header_t;

typedef struct binary_entry {
  uint16_t image_kind, offload_kind;
  uint32_t flags;
  uint64_t strings, string_count, image, image_size;
} binary_entry_t;

typedef struct string_entry {
  uint64_t key, value;
} string_entry_t;

enum { MOST_STRINGS = 64, LONGEST_STRING = 4096 };

_Static_assert(sizeof(binary_header_t) == 32, "as in the file");
_Static_assert(sizeof(binary_entry_t) == 40, "as in the file");

static rawhal_status_t read_text(scan_t *scan, const scan_part_t *binary, uint64_t offset,
                                 rawhal_string_t *text, rawhal_error_t *error)
{
  const char *bytes = (const char *)scan->space.bytes + binary->offset;
  uint64_t left = offset < binary->size ? binary->size - offset : 0;
  size_t most = left < LONGEST_STRING ? (size_t)left : LONGEST_STRING;
  size_t size = most ? strnlen(bytes + offset, most) : 0;
  if (size == most)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, binary->offset,
                          "a text of an offload binary (offset %llu) does not end within it",
                          (unsigned long long)offset);
  *text = (rawhal_string_t){bytes + offset, size};
  return scan_work(scan, binary->offset, size, error);
}

static bool is_text(rawhal_string_t text, const char *wanted)
{
  return text.size == strlen(wanted) && memcmp(text.data, wanted, text.size) == 0;
}

/* The id as a bundle has it: "triple--processor:feature+". */
static rawhal_status_t read_id(scan_t *scan, const scan_part_t *binary, const binary_entry_t *entry,
                               rawhal_string_t *id, rawhal_error_t *error)
{
  rawhal_string_t triple = {0}, processor = {0};
  if (entry->string_count > MOST_STRINGS ||
      !range_within(entry->strings, entry->string_count * sizeof(string_entry_t), binary->size))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, binary->offset,
                          "the %llu texts of an offload binary end after its %llu bytes",
                          (unsigned long long)entry->string_count,
                          (unsigned long long)binary->size);
  for (uint64_t i = 0; i < entry->string_count; ++i) {
    string_entry_t string;
    rawhal_string_t key = {0}, value = {0};
    memcpy(&string,
           scan->space.bytes + binary->offset + entry->strings + i * sizeof(string_entry_t),
           sizeof(string));
    rawhal_status_t status = read_text(scan, binary, string.key, &key, error);
    if (status == RAWHAL_OK)
      status = read_text(scan, binary, string.value, &value, error);
    if (status != RAWHAL_OK)
      return status;
    if (is_text(key, "triple"))
      triple = value;
    if (is_text(key, "arch"))
      processor = value;
  }
  *id = arena_print(&scan->arena, "%.*s--%.*s", (int)triple.size, triple.data, (int)processor.size,
                    processor.data);
  return RAWHAL_OK;
}

static rawhal_status_t scan_image(scan_t *scan, const scan_part_t *binary,
                                  const binary_entry_t *entry, rawhal_error_t *error)
{
  scan_part_t image = {.offset = binary->offset + entry->image,
                       .size = entry->image_size,
                       .depth = binary->depth + 1};
  rawhal_status_t status = read_id(scan, binary, entry, &image.id, error);
  if (status != RAWHAL_OK || !image.size)
    return status;
  if (image.id.size < 6 || memcmp(image.id.data, "amdgcn", 6) != 0)
    return scan_add(scan, image, rawhal_string("for another vendor's device"), error);
  return scan_range(scan, image, error);
}

static rawhal_status_t read_header(const scan_t *scan, const scan_part_t *part,
                                   binary_header_t *header, rawhal_error_t *error)
{
  *header = (binary_header_t){0};
  if (part->size < sizeof(*header))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, part->offset,
                          "the header of an offload binary is cut");
  memcpy(header, scan->space.bytes + part->offset, sizeof(*header));
  if (header->size < sizeof(*header) || header->size > part->size)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, part->offset,
                          "an offload binary of %llu bytes, of which there are %llu",
                          (unsigned long long)header->size, (unsigned long long)part->size);
  return RAWHAL_OK;
}

rawhal_status_t measure_offload_binary(scan_t *scan, scan_part_t part, uint64_t *end,
                                       rawhal_error_t *error)
{
  binary_header_t header;
  rawhal_status_t status = read_header(scan, &part, &header, error);
  *end = part.offset + (status ? 0 : header.size);
  return status;
}

rawhal_status_t scan_offload_binary(scan_t *scan, scan_part_t part, uint64_t *end,
                                    rawhal_error_t *error)
{
  binary_header_t header;
  binary_entry_t entry;
  *end = part.offset;
  rawhal_status_t status = read_header(scan, &part, &header, error);
  if (status != RAWHAL_OK)
    return status;
  *end = part.offset + header.size;
  part.size = header.size;
  if (header.version != 1)
    return scan_refuse(scan, part, "an offload binary of another version than 1", error);
  if (header.entry_size < sizeof(entry) ||
      !range_within(header.entry, header.entry_size, part.size))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, part.offset,
                          "the entry of an offload binary (offset %llu, size %llu) is not within "
                          "its %llu bytes",
                          (unsigned long long)header.entry, (unsigned long long)header.entry_size,
                          (unsigned long long)part.size);
  memcpy(&entry, scan->space.bytes + part.offset + header.entry, sizeof(entry));
  if (!range_within(entry.image, entry.image_size, part.size))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, part.offset,
                          "the image of an offload binary (offset %llu, size %llu) ends after its "
                          "%llu bytes",
                          (unsigned long long)entry.image, (unsigned long long)entry.image_size,
                          (unsigned long long)part.size);
  return scan_image(scan, &part, &entry, error);
}
