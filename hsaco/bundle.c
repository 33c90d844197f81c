#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "hsaco/scan.h"

/* clang offload bundle: magic, u64 number of entries, then for each u64 offset, size and id length
 * followed by the id; offsets count from the bundle's start (ClangOffloadBundler, "Bundled Binary
 * File Layout"). */
enum { HEADER_SIZE = 32, ENTRY_SIZE = 24, LONGEST_ID = 4096 };

typedef struct entry {
  uint64_t offset, size;
  rawhal_string_t id;
} entry_t;

/* Reads the entry at *at, relative to the bundle, and moves past it. */
static rawhal_status_t read_entry(const scan_t *scan, const scan_part_t *bundle, uint64_t *at,
                                  entry_t *entry, rawhal_error_t *error)
{
  *entry = (entry_t){0};
  uint64_t fields[3];
  const unsigned char *bytes = scan->space.bytes + bundle->offset;
  if (!range_within(*at, ENTRY_SIZE, bundle->size))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, bundle->offset + *at,
                          "the bundle's entry table is truncated");
  memcpy(fields, bytes + *at, sizeof(fields));
  const bool fits = range_within(*at + ENTRY_SIZE, fields[2], bundle->size);
  if (fields[2] > LONGEST_ID || !fits)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, bundle->offset + *at + 16,
                          "a bundle entry's id of %llu bytes is %s", (unsigned long long)fields[2],
                          fits ? "too long" : "truncated");
  *entry =
      (entry_t){fields[0], fields[1], {(const char *)bytes + *at + ENTRY_SIZE, (size_t)fields[2]}};
  if (!range_within(entry->offset, entry->size, bundle->size))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, bundle->offset + *at,
                          "bundle entry '%.*s' (offset %llu, size %llu) ends after the bundle's "
                          "%llu bytes",
                          (int)(entry->id.size < 100 ? entry->id.size : 100), entry->id.data,
                          (unsigned long long)entry->offset, (unsigned long long)entry->size,
                          (unsigned long long)bundle->size);
  *at += ENTRY_SIZE + fields[2];
  return RAWHAL_OK;
}

const char *scan_foreign_triple(rawhal_string_t triple)
{
  static const struct {
    const char *prefix, *why; /* of the architecture */
  } others[] = {
      {"spir", "SPIR-V, not machine code"}, /* spir64 and spirv64 */
      {"nvptx", "for another vendor's device"},
      {"native_cpu", "for the host's processor"},
  };
  for (size_t i = 0; i < sizeof(others) / sizeof(*others); ++i) {
    size_t size = strlen(others[i].prefix);
    if (triple.size >= size && memcmp(triple.data, others[i].prefix, size) == 0)
      return others[i].why;
  }
  return NULL;
}

/* "kind-triple-..." */
const char *scan_foreign(rawhal_string_t id)
{
  const char *dash = id.size ? memchr(id.data, '-', id.size) : NULL;
  if (!dash)
    return NULL;
  return scan_foreign_triple((rawhal_string_t){dash + 1, id.size - (size_t)(dash + 1 - id.data)});
}

bool scan_is_host(rawhal_string_t id)
{
  return id.size >= 5 && memcmp(id.data, "host-", 5) == 0;
}

static rawhal_status_t read_payload(scan_t *scan, const scan_part_t *bundle, const entry_t *entry,
                                    rawhal_error_t *error)
{
  scan_part_t payload = {.offset = bundle->offset + entry->offset,
                         .size = entry->size,
                         .id = entry->id,
                         .depth = bundle->depth + 1};
  if (!entry->size || scan_is_host(entry->id))
    return RAWHAL_OK;
  const char *why_not = scan_foreign(entry->id);
  if (why_not)
    return scan_add(scan, payload, rawhal_string(why_not), error);
  return scan_apart(scan, payload, error);
}

static rawhal_status_t read_count(const scan_t *scan, const scan_part_t *bundle, uint64_t *count,
                                  rawhal_error_t *error)
{
  *count = 0;
  if (bundle->size < HEADER_SIZE)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, bundle->offset,
                          "the bundle's header is truncated");
  memcpy(count, scan->space.bytes + bundle->offset + 24, sizeof(*count));
  if (*count > scan->options.max_bundle_entries)
    return rawhal_fail_at(error, RAWHAL_CAP_EXCEEDED, bundle->offset + 24,
                          "a bundle of %llu entries: more than max_bundle_entries (%u)",
                          (unsigned long long)*count, scan->options.max_bundle_entries);
  return RAWHAL_OK;
}

/* Empty entries count here: reading asks for their places, too. */
rawhal_status_t measure_bundle(scan_t *scan, scan_part_t part, uint64_t *end, rawhal_error_t *error)
{
  uint64_t count, at = HEADER_SIZE, furthest = 0;
  *end = part.offset;
  rawhal_status_t status = read_count(scan, &part, &count, error);
  for (uint64_t i = 0; status == RAWHAL_OK && i < count; ++i) {
    entry_t entry;
    status = read_entry(scan, &part, &at, &entry, error);
    uint64_t entry_end = entry.offset + entry.size; /* within the part */
    furthest = entry_end > furthest ? entry_end : furthest;
  }
  *end = part.offset + (furthest > at ? furthest : at);
  return status;
}

rawhal_status_t scan_bundle(scan_t *scan, scan_part_t part, uint64_t *end, rawhal_error_t *error)
{
  uint64_t count, at = HEADER_SIZE;
  *end = part.offset;
  rawhal_status_t counted = read_count(scan, &part, &count, error);
  if (counted != RAWHAL_OK)
    return counted;
  uint64_t furthest = 0;
  for (uint64_t i = 0; i < count; ++i) {
    entry_t entry;
    rawhal_status_t status = read_entry(scan, &part, &at, &entry, error);
    if (status == RAWHAL_OK)
      status = scan_work(scan, part.offset + at, WORK_PART + entry.id.size, error);
    if (status == RAWHAL_OK)
      status = read_payload(scan, &part, &entry, error);
    if (status != RAWHAL_OK)
      return status;
    uint64_t entry_end = entry.size ? entry.offset + entry.size : 0;
    furthest = entry_end > furthest ? entry_end : furthest;
  }
  *end = part.offset + (furthest > at ? furthest : at);
  return RAWHAL_OK;
}
