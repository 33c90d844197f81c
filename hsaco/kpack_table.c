#include <string.h>

#include "base/error.h"
#include "hsaco/kpack.h"
#include "hsaco/name_table.h"
#include "hsaco/pack_reader.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* The lists of a table at its caps: 65,536 entries, as many blobs, and their names. */
enum { TABLE_BUDGET = 64 << 20 };

struct table_reader {
  struct kpack_table *table;
  uint32_t most; /* entries, and blobs */
  struct name_table binaries;
  struct name_table arches; /* the slot holds the number of the binary that had it last */
  uint32_t binary_count;
};

static bool fail_arena(struct pack_reader *reader, const struct kpack_table *table)
{
  reader->status = arena_fail(&table->arena, reader->error);
  return false;
}

static bool fail_cap(struct pack_reader *reader, const struct table_reader *tables,
                     const char *things)
{
  reader->status =
      rawhal_fail_at(reader->error, RAWHAL_CAP_EXCEEDED, pack_place(reader),
                     "%s has more %s than max_objects (%u)", reader->what, things, tables->most);
  return false;
}

/* ---- Scalars: each goes to a member of the record at hand ---- */

#define FIELD(reader_name, read, record, field)                                                    \
  static bool reader_name(struct pack_reader *reader, const char *name, void *context)             \
  {                                                                                                \
    return read(reader, name, &((record *)context)->field);                                        \
  }

FIELD(read_blob_offset, pack_number, struct kpack_range, offset)
FIELD(read_blob_size, pack_number, struct kpack_range, size)
FIELD(read_type, pack_text, struct kpack_entry, type)
FIELD(read_ordinal, pack_number, struct kpack_entry, ordinal)
FIELD(read_original_size, pack_number, struct kpack_entry, original_size)
FIELD(read_version, pack_number, struct table_reader, table->version)
FIELD(read_scheme, pack_text, struct table_reader, table->scheme)
FIELD(read_zstd_offset, pack_number, struct table_reader, table->zstd.offset)
FIELD(read_zstd_size, pack_number, struct table_reader, table->zstd.size)

/* ---- blobs: [{offset, size}...] ---- */

static bool read_blobs(struct pack_reader *reader, const char *name, void *context)
{
  static const struct pack_key keys[] = {{"offset", read_blob_offset}, {"size", read_blob_size}};
  struct table_reader *tables = context;
  struct kpack_table *table = tables->table;
  uint32_t count, seen;
  if (!pack_enter(reader, HEADER_ARRAY, name, &count))
    return false;
  for (uint32_t i = 0; i < count; ++i) { /* each takes bytes: a claimed count ends with them */
    uint64_t place = pack_place(reader);
    struct kpack_range blob = {0};
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

static bool read_name(struct pack_reader *reader, const char *what, rawhal_string_t *name)
{
  enum { LONGEST = 4096 }; /* as of a bundle entry's id */
  uint64_t place = pack_place(reader);
  if (!pack_text(reader, what, name))
    return false;
  return name->size <= LONGEST ||
         pack_fail(reader, place, "%s is %zu bytes long", what, name->size);
}

/* The first of this arch for the binary at hand? */
static bool note_arch(struct pack_reader *reader, struct table_reader *tables,
                      const struct kpack_entry *entry)
{
  struct name_slots *slots = name_table_at(&tables->arches, entry->arch);
  if (!slots)
    return fail_arena(reader, tables->table);
  if (slots->by_name == tables->binary_count)
    return pack_fail(reader, entry->place, "'%.*s' has '%.*s' twice",
                     (int)(entry->binary.size < 100 ? entry->binary.size : 100), entry->binary.data,
                     (int)(entry->arch.size < 100 ? entry->arch.size : 100), entry->arch.data);
  slots->by_name = tables->binary_count;
  return true;
}

static bool read_entry(struct pack_reader *reader, struct table_reader *tables,
                       rawhal_string_t binary)
{
  enum { HAS_ORDINAL = 1, HAS_TYPE = 2 };
  static const struct pack_key keys[] = {
      {"ordinal", read_ordinal}, {"type", read_type}, {"original_size", read_original_size}};
  struct kpack_table *table = tables->table;
  struct kpack_entry entry = {
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

static bool read_binary(struct pack_reader *reader, struct table_reader *tables)
{
  uint64_t place = pack_place(reader);
  rawhal_string_t name;
  uint32_t count;
  if (!read_name(reader, "the name of a binary", &name))
    return false;
  if (!name.size) /* an object of an archive is known by having one */
    return pack_fail(reader, place, "the name of a binary is empty");
  struct name_slots *slots = name_table_at(&tables->binaries, name);
  if (!slots)
    return fail_arena(reader, tables->table);
  if (slots->by_name != NAME_NONE)
    return pack_fail(reader, place, "`toc` has '%.*s' twice",
                     (int)(name.size < 200 ? name.size : 200), name.data);
  slots->by_name = tables->binary_count;
  if (!pack_enter(reader, HEADER_MAP, "what `toc` says of a binary", &count))
    return false;
  for (uint32_t i = 0; i < count; ++i)
    if (!read_entry(reader, tables, name))
      return false;
  ++tables->binary_count;
  pack_leave(reader);
  return true;
}

static bool read_toc(struct pack_reader *reader, const char *name, void *context)
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

rawhal_status_t kpack_table_read(struct scan *scan, const struct scan_part *archive,
                                 uint64_t offset, struct kpack_table *table, rawhal_error_t *error)
{
  enum { HAS_TOC = 1, HAS_ZSTD_OFFSET = 2, HAS_ZSTD_SIZE = 4 };
  static const struct pack_key keys[] = {
      {"toc", read_toc},     {"zstd_offset", read_zstd_offset},   {"zstd_size", read_zstd_size},
      {"blobs", read_blobs}, {"compression_scheme", read_scheme}, {"format_version", read_version},
  };
  struct table_reader tables = {.table = table, .most = scan->options.max_objects};
  struct pack_reader reader;
  uint32_t seen;
  /* ROCm's readers take "none" where no scheme is named, and do not look at the version. */
  *table = (struct kpack_table){.version = 1, .scheme = {"none", 4}};
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
  table->extent = (struct kpack_range){offset, reader.offset};
  return reader.status;
}

void kpack_table_free(struct kpack_table *table)
{
  arena_free(&table->arena);
}
