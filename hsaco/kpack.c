#include "hsaco/kpack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "hsaco/elf_view.h"

/* The stored bytes of one ordinal: a code object, or a zstd frame that holds one. */
typedef struct piece {
  kpack_range_t range;
  bool read; /* an entry has named it: then the rest is known */
  scan_space_t space;
  uint64_t offset;       /* in the space */
  uint64_t size, extent; /* of what it holds, and of the code object in that */
} piece_t;

typedef struct archive {
  scan_t *scan;
  scan_part_t part;
  kpack_table_t table;
  bool zstd;
  piece_t *pieces;
  size_t piece_count;
  uint64_t end;
} archive_t;

static rawhal_status_t fail_range(const archive_t *archive, kpack_range_t range, const char *what,
                                  rawhal_error_t *error)
{
  return rawhal_fail_at(error, RAWHAL_MALFORMED,
                        archive->part.offset + archive->table.extent.offset,
                        "a kpack archive's %s (offset %llu, size %llu) ends after its %llu bytes",
                        what, (unsigned long long)range.offset, (unsigned long long)range.size,
                        (unsigned long long)archive->part.size);
}

/* ---- Header ---- */

static rawhal_status_t read_header(const archive_t *archive, uint32_t *version,
                                   uint64_t *table_offset, rawhal_error_t *error)
{
  const scan_part_t *part = &archive->part;
  if (part->size < KPACK_HEADER)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, part->offset + part->size,
                          "the header of a kpack archive is truncated at byte %llu of %d",
                          (unsigned long long)part->size, KPACK_HEADER);
  const unsigned char *header = archive->scan->space.bytes + part->offset;
  memcpy(version, header + 4, sizeof(*version));
  memcpy(table_offset, header + 8, sizeof(*table_offset));
  if (*version == 1 && (*table_offset < KPACK_HEADER || *table_offset >= part->size))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, part->offset + 8,
                          "a kpack archive's table of contents at offset %llu lies outside of its "
                          "%llu bytes, or in its header",
                          (unsigned long long)*table_offset, (unsigned long long)part->size);
  return RAWHAL_OK;
}

/* ---- No two things share bytes ---- */

static int by_offset(const void *left, const void *right)
{
  const kpack_range_t *a = left, *b = right;
  return (a->offset > b->offset) - (a->offset < b->offset);
}

/* With that, and each piece read once, reading is linear in the file. Also finds where the archive
 * ends. */
static rawhal_status_t check_overlap(archive_t *archive, rawhal_error_t *error)
{
  kpack_table_t *table = &archive->table;
  size_t blobs = archive->zstd ? 1 : table->blob_count, count = blobs + 2;
  kpack_range_t *all = arena_calloc(&table->arena, count, sizeof(*all));
  if (!all)
    return arena_fail(&table->arena, error);
  rawhal_status_t status =
      scan_work(archive->scan, archive->part.offset, WORK_PART * 2 * count, error);
  if (status != RAWHAL_OK)
    return status;
  all[0] = (kpack_range_t){0, KPACK_HEADER};
  all[1] = table->extent;
  if (blobs)
    memcpy(all + 2, archive->zstd ? &table->zstd : table->blobs, blobs * sizeof(*all));
  qsort(all, count, sizeof(*all), by_offset);
  for (size_t i = 1; i < count; ++i)
    if (all[i].offset - all[i - 1].offset < all[i - 1].size)
      return rawhal_fail_at(error, RAWHAL_MALFORMED, archive->part.offset + all[i].offset,
                            "a kpack archive's parts overlap: one at offset %llu, size %llu, the "
                            "next at offset %llu",
                            (unsigned long long)all[i - 1].offset,
                            (unsigned long long)all[i - 1].size, (unsigned long long)all[i].offset);
  archive->end = all[count - 1].offset + all[count - 1].size;
  return RAWHAL_OK;
}

/* ---- Pieces ---- */

static bool make_pieces(archive_t *archive, size_t count)
{
  archive->pieces = arena_calloc(&archive->table.arena, count, sizeof(*archive->pieces));
  archive->piece_count = count;
  return archive->pieces;
}

static rawhal_status_t find_blobs(archive_t *archive, rawhal_error_t *error)
{
  const kpack_table_t *table = &archive->table;
  uint64_t place = archive->part.offset + table->extent.offset;
  if (!table->has_blobs)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, place,
                          "a kpack archive's table of contents has no `blobs`");
  if (!make_pieces(archive, table->blob_count))
    return arena_fail(&table->arena, error);
  for (size_t i = 0; i < table->blob_count; ++i) {
    char name[32];
    snprintf(name, sizeof(name), "blob %zu", i);
    if (!range_within(table->blobs[i].offset, table->blobs[i].size, archive->part.size))
      return fail_range(archive, table->blobs[i], name, error);
    if (!table->blobs[i].size)
      return rawhal_fail_at(error, RAWHAL_MALFORMED, place, "blob %zu of a kpack archive is empty",
                            i);
    archive->pieces[i].range = table->blobs[i];
  }
  return check_overlap(archive, error);
}

/* u32 count, then for each ordinal u32 size and the frame. */
static rawhal_status_t find_frames(archive_t *archive, rawhal_error_t *error)
{
  const kpack_range_t blob = archive->table.zstd;
  scan_t *scan = archive->scan;
  uint64_t start = archive->part.offset + blob.offset;
  if (!archive->table.has_zstd)
    return rawhal_fail_at(
        error, RAWHAL_MALFORMED, archive->part.offset + archive->table.extent.offset,
        "a kpack archive's table of contents has no `zstd_offset` or `zstd_size`");
  if (!range_within(blob.offset, blob.size, archive->part.size))
    return fail_range(archive, blob, "compressed part", error);
  rawhal_status_t status = check_overlap(archive, error);
  if (status != RAWHAL_OK)
    return status;
  const unsigned char *bytes = scan->space.bytes + start;
  uint32_t count = 0, size;
  if (blob.size >= sizeof(count))
    memcpy(&count, bytes, sizeof(count));
  if (blob.size < sizeof(count) || count > (blob.size - sizeof(count)) / sizeof(size))
    return rawhal_fail_at(error, RAWHAL_MALFORMED, start,
                          "a kpack archive's compressed part of %llu bytes has no room for the %u "
                          "frames it claims",
                          (unsigned long long)blob.size, count);
  if (count > scan->options.max_objects)
    return rawhal_fail_at(error, RAWHAL_CAP_EXCEEDED, start,
                          "a kpack archive of %u frames: more than max_objects (%u)", count,
                          scan->options.max_objects);
  if (!make_pieces(archive, count))
    return arena_fail(&archive->table.arena, error);
  uint64_t at = sizeof(count);
  for (uint32_t i = 0; i < count; ++i) {
    bool fits = range_within(at, sizeof(size), blob.size);
    if (fits)
      memcpy(&size, bytes + at, sizeof(size));
    if (!fits || !range_within(at + sizeof(size), size, blob.size))
      return rawhal_fail_at(
          error, RAWHAL_MALFORMED, start + at,
          "frame %u of a kpack archive is truncated: its compressed part ends after %llu "
          "bytes",
          i, (unsigned long long)blob.size);
    archive->pieces[i].range = (kpack_range_t){blob.offset + at + sizeof(size), size};
    at += sizeof(size) + size;
  }
  uint64_t zeros = scan_zeros_end(bytes, at, blob.size);
  if (zeros < blob.size)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, start + zeros,
                          "a kpack archive's compressed part goes on after its last frame");
  return scan_work(archive->scan, start, WORK_PART * (uint64_t)count + blob.size - at, error);
}

/* ---- Code objects ---- */

static bool contradict(rawhal_feature_t a, rawhal_feature_t b)
{
  return a >= RAWHAL_FEATURE_OFF && b >= RAWHAL_FEATURE_OFF && a != b;
}

/* The ELF's flags decide what an object runs on. One that the table lists for something else is not
 * what the table's maker meant: whatever went wrong there, it is not handed out. A name that is not
 * a target id known here, such as one of a processor to come, says nothing. */
static void check_target(scan_t *scan, rawhal_container_object_t *object)
{
  rawhal_target_t said;
  char text[64];
  if (!object->readable || rawhal_target_parse(object->id, &said, NULL) ||
      (said.machine == object->target.machine && !contradict(said.xnack, object->target.xnack) &&
       !contradict(said.sramecc, object->target.sramecc)))
    return;
  rawhal_target_format(&object->target, text, sizeof(text));
  object->readable = false;
  object->why_not = arena_print(&scan->arena, "the kpack archive lists it for %.*s, it is for %s",
                                RAWHAL_STRING_ARGS(object->id), text);
}

/* What the table and the frame say its size is, while they agree. */
static rawhal_status_t frame_size(const archive_t *archive, const kpack_entry_t *entry,
                                  const piece_t *piece, uint64_t *size, rawhal_error_t *error)
{
  uint64_t place = archive->part.offset + piece->range.offset;
  const unsigned char *bytes = archive->scan->space.bytes + place;
  uint64_t length = scan_zstd_frame(bytes, piece->range.size, size);
  if (!length)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, place,
                          "frame %llu of a kpack archive is not zstd, or is truncated",
                          (unsigned long long)entry->ordinal);
  if (length != piece->range.size)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, place + length,
                          "frame %llu of a kpack archive ends after %llu of its %llu bytes",
                          (unsigned long long)entry->ordinal, (unsigned long long)length,
                          (unsigned long long)piece->range.size);
  if (*size == SCAN_SIZE_UNKNOWN) /* zstd need not say it, nor the table: one has to */
    *size = entry->original_size;
  if (*size == SCAN_SIZE_UNKNOWN)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, entry->place,
                          "neither a kpack archive's table nor frame %llu says what it unpacks to",
                          (unsigned long long)entry->ordinal);
  return RAWHAL_OK;
}

static rawhal_status_t check_size(const kpack_entry_t *entry, uint64_t size, rawhal_error_t *error)
{
  if (entry->original_size == SCAN_SIZE_UNKNOWN || entry->original_size == size)
    return RAWHAL_OK;
  return rawhal_fail_at(error, RAWHAL_MALFORMED, entry->place,
                        "a kpack archive's table says %llu bytes for ordinal %llu, which has %llu",
                        (unsigned long long)entry->original_size,
                        (unsigned long long)entry->ordinal, (unsigned long long)size);
}

static rawhal_status_t unpack_frame(const archive_t *archive, const kpack_entry_t *entry,
                                    piece_t *piece, rawhal_error_t *error)
{
  scan_t *scan = archive->scan;
  uint64_t place = archive->part.offset + piece->range.offset;
  char what[64];
  snprintf(what, sizeof(what), "frame %llu of a kpack archive", (unsigned long long)entry->ordinal);
  scan_packed_t packed = {
      .what = what, .at = place, .bytes = scan->space.bytes + place, .size = piece->range.size};
  uint64_t used;
  rawhal_status_t status = frame_size(archive, entry, piece, &packed.unpacked_size, error);
  if (status == RAWHAL_OK) /* before memory is taken for it */
    status = check_size(entry, packed.unpacked_size, error);
  if (status == RAWHAL_OK)
    status = scan_unpack(scan, &packed, &piece->space, &used, error);
  piece->offset = 0;
  piece->size = packed.unpacked_size;
  return status;
}

/* Finds where the code object ends. Zeros may follow; of a damaged one it takes all there is, and
 * opening it tells what is wrong. */
static rawhal_status_t measure(scan_t *scan, piece_t *piece, uint64_t place, rawhal_error_t *error)
{
  const unsigned char *bytes = piece->space.bytes + piece->offset;
  if (!elf_extent(bytes, (size_t)piece->size, &piece->extent))
    piece->extent = piece->size;
  if (scan_zeros_end(bytes, piece->extent, piece->size) < piece->size)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, place,
                          "a code object in a kpack archive ends after %llu bytes, and something "
                          "else follows in its %llu",
                          (unsigned long long)piece->extent, (unsigned long long)piece->size);
  return scan_work(scan, place, piece->size - piece->extent, error);
}

/* Several entries may name one piece: it is read once. */
static rawhal_status_t read_piece(const archive_t *archive, const kpack_entry_t *entry,
                                  piece_t *piece, rawhal_error_t *error)
{
  uint64_t place = archive->part.offset + piece->range.offset;
  rawhal_status_t status = RAWHAL_OK;
  if (piece->read)
    return check_size(entry, piece->size, error);
  piece->read = true;
  if (archive->zstd) {
    status = unpack_frame(archive, entry, piece, error);
  } else {
    piece->space = archive->scan->space;
    piece->offset = place;
    piece->size = piece->range.size;
    status = check_size(entry, piece->size, error);
  }
  return status != RAWHAL_OK ? status : measure(archive->scan, piece, place, error);
}

static rawhal_status_t add_object(const archive_t *archive, const kpack_entry_t *entry,
                                  piece_t *piece, rawhal_error_t *error)
{
  scan_t *scan = archive->scan;
  const scan_space_t outer = scan->space;
  rawhal_status_t status = read_piece(archive, entry, piece, error);
  if (status == RAWHAL_OK)
    status = scan_hold(scan, &piece->space, error);
  if (status != RAWHAL_OK)
    return status;
  scan->space = piece->space;
  status = scan_add(
      scan, (scan_part_t){.offset = piece->offset, .size = piece->extent, .id = entry->arch},
      (rawhal_string_t){0}, error);
  scan->space = outer;
  if (status == RAWHAL_OK)
    check_target(scan, &scan->objects[scan->count - 1]);
  return status;
}

/* Lists the stored bytes of something that is not a code object, whatever the table says. */
static rawhal_status_t add_other(const archive_t *archive, const kpack_entry_t *entry,
                                 const piece_t *piece, rawhal_error_t *error)
{
  scan_t *scan = archive->scan;
  rawhal_string_t why_not =
      arena_print(&scan->arena, "the kpack archive says its type is '%.*s', not 'hsaco'",
                  (int)(entry->type.size < 100 ? entry->type.size : 100), entry->type.data);
  if (!why_not.size)
    return arena_fail(&scan->arena, error);
  return scan_add(scan,
                  (scan_part_t){.offset = archive->part.offset + piece->range.offset,
                                .size = piece->range.size,
                                .id = entry->arch},
                  why_not, error);
}

static bool is(rawhal_string_t text, const char *word)
{
  return text.size == strlen(word) && memcmp(text.data, word, text.size) == 0;
}

static rawhal_status_t add_entry(const archive_t *archive, const kpack_entry_t *entry,
                                 rawhal_error_t *error)
{
  scan_t *scan = archive->scan;
  if (entry->ordinal >= archive->piece_count)
    return rawhal_fail_at(error, RAWHAL_MALFORMED, entry->place,
                          "a kpack archive's table names ordinal %llu, and there are %zu",
                          (unsigned long long)entry->ordinal, archive->piece_count);
  piece_t *piece = &archive->pieces[entry->ordinal];
  rawhal_status_t status = entry->has_type && !is(entry->type, "hsaco")
                               ? add_other(archive, entry, piece, error)
                               : add_object(archive, entry, piece, error);
  if (status != RAWHAL_OK)
    return status;
  scan->objects[scan->count - 1].binary = scan_keep(scan, entry->binary);
  scan->objects[scan->count - 1].ordinal = (uint32_t)entry->ordinal;
  return RAWHAL_OK;
}

/* ---- The archive ---- */

static rawhal_status_t read_archive(archive_t *archive, uint64_t table_offset,
                                    rawhal_error_t *error)
{
  kpack_table_t *table = &archive->table;
  rawhal_status_t status =
      kpack_table_read(archive->scan, &archive->part, table_offset, table, error);
  if (status != RAWHAL_OK)
    return status;
  archive->end = archive->part.size;
  archive->zstd = is(table->scheme, "zstd-per-kernel");
  if (table->version != 1)
    return scan_refuse(archive->scan, archive->part,
                       "a kpack archive (KPAK) whose table is of a version not known here", error);
  if (!archive->zstd && !is(table->scheme, "none"))
    return scan_refuse(archive->scan, archive->part,
                       "a kpack archive (KPAK) of a compression scheme not known here", error);
  status = archive->zstd ? find_frames(archive, error) : find_blobs(archive, error);
  for (size_t i = 0; i < table->entry_count && status == RAWHAL_OK; ++i)
    status = add_entry(archive, &table->entries[i], error);
  return status;
}

rawhal_status_t scan_kpack(scan_t *scan, scan_part_t part, uint64_t *end, rawhal_error_t *error)
{
  archive_t archive = {.scan = scan, .part = part};
  uint32_t version;
  uint64_t table_offset;
  *end = part.offset + part.size;
  rawhal_status_t status = read_header(&archive, &version, &table_offset, error);
  if (status != RAWHAL_OK)
    return status;
  if (version != 1)
    return scan_refuse(scan, part, "a kpack archive (KPAK) of a version not known here", error);
  status = read_archive(&archive, table_offset, error);
  *end = part.offset + archive.end;
  kpack_table_free(&archive.table);
  return status;
}
