#include <string.h>

#include "base/error.h"
#include "hsaco/kpack.h"
#include "hsaco/name_table.h"
#include "hsaco/pack_reader.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* The lists of a table at its caps: 65,536 entries, as many blobs, and their names. */
enum { TABLE_BUDGET = 64 << 20 };

typedef struct table_reader {
  kpack_table_t *table;
  uint32_t most; /* entries, and blobs */
  name_table_t binaries;
  name_table_t arches; /* the slot holds the number of the binary that had it last */
  uint32_t binary_count;
} table_reader_t;

static bool fail_arena(pack_reader_t *reader, const kpack_table_t *table)
{
  reader->status = arena_fail(&table->arena, reader->error);
  return false;
}

static bool fail_cap(pack_reader_t *reader, const table_reader_t *tables, const char *things)
{
  reader->status =
      rawhal_fail_at(reader->error, RAWHAL_CAP_EXCEEDED, pack_place(reader),
                     "%s has more %s than max_objects (%u)", reader->what, things, tables->most);
  return false;
}

/* ---- Scalars: each goes to a member of the record at hand ---- */

#define FIELD(reader_name, read, record, field)                                                    \
  static bool reader_name(pack_reader_t *reader, const char *name, void *context)                  \
  {                                                                                                \
    return read(reader, name, &((record *)context)->field);                                        \
  }

FIELD(read_blob_offset, pack_number, kpack_range_t, offset)
FIELD(read_blob_size, pack_number, kpack_range_t, size)
FIELD(read_type, pack_text, kpack_entry_t, type)
FIELD(read_ordinal, pack_number, kpack_entry_t, ordinal)
FIELD(read_original_size, pack_number, kpack_entry_t, original_size)
FIELD(read_version, pack_number, table_reader_t, table->version)
FIELD(read_scheme, pack_text, table_reader_t, table->scheme)
FIELD(read_zstd_offset, pack_number, table_reader_t, table->zstd.offset)
FIELD(read_zstd_size, pack_number, table_reader_t, table->zstd.size)

/* ---- blobs: [{offset, size}...] ---- */

static bool read_blobs(pack_reader_t *reader, const char *name, void *context)
{
  static const pack_key_t keys[] = {{"offset", read_blob_offset}, {"size", read_blob_size}};
  table_reader_t *tables = context;
  kpack_table_t *table = tables->table;
  uint32_t count, seen;
  if (!pack_enter(reader, HEADER_ARRAY, name, &count))
    return false;
  for (uint32_t i = 0; i < count; ++i) { /* each takes bytes: a claimed count ends with them */
    uint64_t place = pack_place(reader);
    kpack_range_t blob = {0};
    if (table->blob_count >= tables->most)
      return fail_cap(reader, tables, "blobs");
    if (!pack_map(reader, "a blob", keys, COUNT(keys), &blob, &seen))
      return false;
    if (seen != 3)
      return pack_fail(reader, place, "blob %u has no %s", i, seen & 1 ? "size" : "offset");
    if (!arena_reserve(&table->arena, &table->blobs, &table->blob_capacity, table->blob_count,
                       sizeof(blob), 8))
      return fail_arena(reader, table);
    table->blobs[table->blob_count++] = blob;
  }
  table->has_blobs = true;
  pack_leave(reader);
  return true;
}

/* ---- toc: {binary: {arch: entry}} ---- */

static bool read_name(pack_reader_t *reader, const char *what, rawhal_string_t *name)
{
  enum { LONGEST = 4096 }; /* as of a bundle entry's id */
  uint64_t place = pack_place(reader);
  if (!pack_text(reader, what, name))
    return false;
  return name->size <= LONGEST ||
         pack_fail(reader, place, "%s is %zu bytes long", what, name->size);
}

/* The first of this arch for the binary at hand? */
static bool note_arch(pack_reader_t *reader, table_reader_t *tables, const kpack_entry_t *entry)
{
  name_slots_t *slots = name_table_at(&tables->arches, entry->arch);
  if (!slots)
    return fail_arena(reader, tables->table);
  if (slots->by_name == tables->binary_count)
    return pack_fail(reader, entry->place, "'%.*s' has '%.*s' twice",
                     (int)(entry->binary.size < 100 ? entry->binary.size : 100), entry->binary.data,
                     (int)(entry->arch.size < 100 ? entry->arch.size : 100), entry->arch.data);
  slots->by_name = tables->binary_count;
  return true;
}

static bool read_entry(pack_reader_t *reader, table_reader_t *tables, rawhal_string_t binary)
{
  enum { HAS_ORDINAL = 1, HAS_TYPE = 2 };
  static const pack_key_t keys[] = {
      {"ordinal", read_ordinal}, {"type", read_type}, {"original_size", read_original_size}};
  kpack_table_t *table = tables->table;
  kpack_entry_t entry = {
      .binary = binary, .original_size = SCAN_SIZE_UNKNOWN, .place = pack_place(reader)};
  uint32_t seen;
  if (table->entry_count >= tables->most)
    return fail_cap(reader, tables, "code objects");
  if (!read_name(reader, "the name of a target", &entry.arch) ||
      !note_arch(reader, tables, &entry) ||
      !pack_map(reader, "an entry of `toc`", keys, COUNT(keys), &entry, &seen))
    return false;
  if (!(seen & HAS_ORDINAL))
    return pack_fail(reader, entry.place, "an entry of `toc` has no ordinal");
  entry.has_type = seen & HAS_TYPE;
  if (!arena_reserve(&table->arena, &table->entries, &table->entry_capacity, table->entry_count,
                     sizeof(entry), 8))
    return fail_arena(reader, table);
  table->entries[table->entry_count++] = entry;
  return true;
}

static bool read_binary(pack_reader_t *reader, table_reader_t *tables)
{
  uint64_t place = pack_place(reader);
  rawhal_string_t name;
  uint32_t count;
  if (!read_name(reader, "the name of a binary", &name))
    return false;
  if (!name.size) /* an object of an archive is known by having one */
    return pack_fail(reader, place, "the name of a binary is empty");
  name_slots_t *slots = name_table_at(&tables->binaries, name);
  if (!slots)
    return fail_arena(reader, tables->table);
  if (slots->by_name != NAME_NONE)
    return pack_fail(reader, place, "`toc` has '%.*s' twice",
                     (int)(name.size < 200 ? name.size : 200), name.data);
  slots->by_name = tables->binary_count;
  if (!pack_enter(reader, HEADER_MAP, "the value of a binary in `toc`", &count))
    return false;
  for (uint32_t i = 0; i < count; ++i)
    if (!read_entry(reader, tables, name))
      return false;
  ++tables->binary_count;
  pack_leave(reader);
  return true;
}

static bool read_toc(pack_reader_t *reader, const char *name, void *context)
{
  uint32_t count;
  if (!pack_enter(reader, HEADER_MAP, name, &count))
    return false;
  for (uint32_t i = 0; i < count; ++i)
    if (!read_binary(reader, context))
      return false;
  pack_leave(reader);
  return true;
}

/* ---- The root ---- */

rawhal_status_t kpack_table_read(scan_t *scan, const scan_part_t *archive, uint64_t offset,
                                 kpack_table_t *table, rawhal_error_t *error)
{
  enum { HAS_TOC = 1, HAS_ZSTD_OFFSET = 2, HAS_ZSTD_SIZE = 4 };
  static const pack_key_t keys[] = {
      {"toc", read_toc},     {"zstd_offset", read_zstd_offset},   {"zstd_size", read_zstd_size},
      {"blobs", read_blobs}, {"compression_scheme", read_scheme}, {"format_version", read_version},
  };
  table_reader_t tables = {.table = table, .most = scan->options.max_objects};
  pack_reader_t reader;
  uint32_t seen;
  /* ROCm's readers take "none" where no scheme is named, and do not look at the version. */
  *table = (kpack_table_t){.version = 1, .scheme = {"none", 4}};
  arena_init(&table->arena, TABLE_BUDGET, &scan->allocator);
  name_table_init(&tables.binaries, &table->arena, 8);
  name_table_init(&tables.arches, &table->arena, 8);
  pack_reader_init(&reader, scan->space.bytes + archive->offset + offset,
                   (size_t)(archive->size - offset), archive->offset + offset,
                   "a kpack archive's table of contents", error);
  reader.work = &scan->work;
  if (!pack_map(&reader, "it", keys, COUNT(keys), &tables, &seen))
    return reader.status;
  if (!(seen & HAS_TOC))
    (void)pack_fail(&reader, reader.origin, "it has no `toc`");
  table->has_zstd = (seen & HAS_ZSTD_OFFSET) && (seen & HAS_ZSTD_SIZE);
  table->extent = (kpack_range_t){offset, reader.offset};
  return reader.status;
}

void kpack_table_free(kpack_table_t *table)
{
  arena_free(&table->arena);
}
