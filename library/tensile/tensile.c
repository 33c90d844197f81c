#include "library/tensile/tensile.h"

#include "base/cancel.h"
#include "base/error.h"
#include "base/sized.h"
#include "hsaco/file_bytes.h"
#include "library/tensile/read.h"
#include "library/tensile/unpack.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct rawhal_tensile {
  allocator_t allocator;
  arena_t arena;
  file_bytes_t file;      /* or what was unpacked; empty where the bytes are the caller's */
  rawhal_string_t folder; /* that the file stands in, with a slash; empty likewise */
  tensile_tables_t tables;
};

/* A record is some 400 bytes, and what an array has grown out of stays allocated; a solution that
 * is read has 150 bytes at least, a reference to a library 20. */
static uint64_t budget_of(size_t size)
{
  enum { LEAST = 1 << 16, TIMES = 16 };
  return LEAST + TIMES * (uint64_t)size;
}

/* Unpacked. */
static bool recognise(const void *bytes, size_t size)
{
  /* The root's first key, whichever it is; a map of less than 16 keys, or as a cautious writer has
   * it. */
  static const rawhal_string_t keys[] = {
      RAWHAL_STRING("\xa9solutions"), RAWHAL_STRING("\xa7library"), RAWHAL_STRING("\xa7version")};
  enum { FIXMAP = 0x80, MAP16 = 0xde, MAP32 = 0xdf };
  const unsigned char *start = bytes;
  if (!size)
    return false;
  size_t at = (start[0] & 0xf0) == FIXMAP ? 1 : start[0] == MAP16 ? 3 : start[0] == MAP32 ? 5 : 0;
  for (size_t i = 0; at && i < sizeof(keys) / sizeof(*keys); ++i)
    if (at <= size && keys[i].size <= size - at &&
        memcmp(start + at, keys[i].data, keys[i].size) == 0)
      return true;
  return false;
}

bool rawhal_tensile_recognise(const void *bytes, size_t size)
{
  unsigned char start[32];
  if (!bytes)
    return false;
  if (!tensile_is_packed(bytes, size))
    return recognise(bytes, size);
  return recognise(start, tensile_unpack_start(bytes, size, start, sizeof(start)));
}

/* ---- Where code objects are ---- */

static bool contains(rawhal_string_t text, const char *part)
{
  return text.size && memmem(text.data, text.size, part, strlen(part)) != NULL;
}

/* As PlaceholderLibrary::getCodeObjectFileName() of Tensile and of hipBLASLt. */
static rawhal_string_t object_of_source(rawhal_tensile_t *tensile, rawhal_string_t prefix,
                                        rawhal_string_t target)
{
  if (!contains(prefix, "fallback"))
    return arena_print(&tensile->arena, "%.*s.hsaco", (int)prefix.size, prefix.data);
  const char *qualifiers = target.size ? memchr(target.data, ':', target.size) : NULL;
  size_t processor = qualifiers ? (size_t)(qualifiers - target.data) : target.size;
  if (!processor)
    return (rawhal_string_t){NULL, 0};
  return arena_print(&tensile->arena, "%.*s_%.*s.hsaco", (int)prefix.size, prefix.data,
                     (int)processor, target.data);
}

static rawhal_status_t name_objects(rawhal_tensile_t *tensile,
                                    const rawhal_tensile_options_t *options, rawhal_error_t *error)
{
  const rawhal_string_t prefix = options->prefix, target = options->target;
  if (prefix.size > TENSILE_LONGEST || target.size > TENSILE_LONGEST)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "a prefix or a target has more than %d bytes", TENSILE_LONGEST);
  if (!prefix.size)
    return RAWHAL_OK;
  const rawhal_string_t assembled =
      arena_print(&tensile->arena, "%.*s.co", (int)prefix.size, prefix.data);
  const rawhal_string_t compiled = object_of_source(tensile, prefix, target);
  for (size_t i = 0; i < tensile->tables.solution_count; ++i) {
    rawhal_tensile_solution_t *solution = &tensile->tables.solutions[i];
    const bool by_tensile = !solution->arguments.known; /* hipBLASLt knows of one kind of files */
    solution->code_object = solution->source_kernel && by_tensile ? compiled : assembled;
  }
  return tensile->arena.status ? arena_fail(&tensile->arena, error) : RAWHAL_OK;
}

/* ---- Opening and closing ---- */

static rawhal_status_t create(const rawhal_tensile_options_t *given,
                              rawhal_tensile_options_t *options, rawhal_tensile_t **tensile,
                              rawhal_error_t *error)
{
  allocator_t allocator;
  if (!tensile)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "tensile is NULL");
  *tensile = NULL;
  rawhal_status_t status = SIZED_TAKE(options, given, allocator, error);
  if (status == RAWHAL_OK)
    status = allocator_take(options->allocator, &allocator, error);
  if (status != RAWHAL_OK)
    return status;
  *tensile = allocate_zeroed(&allocator, 1, sizeof(**tensile));
  if (!*tensile)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for a solution library");
  (*tensile)->allocator = allocator;
  return RAWHAL_OK;
}

/* In the place of the packed bytes, which are not needed any more. */
static rawhal_status_t unpack(rawhal_tensile_t *tensile, rawhal_bytes_t *bytes,
                              rawhal_error_t *error)
{
  file_bytes_t unpacked;
  rawhal_status_t status =
      tensile_unpack(bytes->data, bytes->size, &tensile->allocator, &unpacked, error);
  if (status != RAWHAL_OK)
    return status;
  file_bytes_close(&tensile->file, &tensile->allocator);
  tensile->file = unpacked;
  *bytes = (rawhal_bytes_t){unpacked.data, unpacked.size};
  return RAWHAL_OK;
}

static rawhal_status_t read_library(rawhal_tensile_t *tensile, rawhal_bytes_t bytes,
                                    const rawhal_tensile_options_t *options, rawhal_error_t *error)
{
  rawhal_status_t status = RAWHAL_OK;
  if (tensile_is_packed(bytes.data, bytes.size))
    status = unpack(tensile, &bytes, error);
  if (status != RAWHAL_OK)
    return status;
  arena_init(&tensile->arena, budget_of(bytes.size), &tensile->allocator);
  tensile->tables.arena = &tensile->arena;
  status = tensile_read(&tensile->tables, bytes.data ? bytes.data : "", bytes.size, error);
  return status == RAWHAL_OK ? name_objects(tensile, options, error) : status;
}

/* What has failed is closed. */
static rawhal_status_t opened(rawhal_tensile_t **tensile, rawhal_status_t status)
{
  if (status != RAWHAL_OK) {
    rawhal_tensile_close(*tensile);
    *tensile = NULL;
  }
  return status;
}

rawhal_status_t rawhal_tensile_open(const void *bytes, size_t size,
                                    const rawhal_tensile_options_t *options,
                                    rawhal_tensile_t **tensile, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  rawhal_tensile_options_t taken;
  rawhal_status_t status = create(options, &taken, tensile, error);
  if (status != RAWHAL_OK)
    return status;
  status = bytes || !size
               ? read_library(*tensile, (rawhal_bytes_t){bytes, size}, &taken, error)
               : rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "bytes is NULL and size is not 0");
  return opened(tensile, status);
}

static bool begins(rawhal_string_t text, const char *start)
{
  const size_t size = strlen(start);
  return text.size >= size && memcmp(text.data, start, size) == 0;
}

/* A library that is not lazy, or that only refers to others, has no code object of its own: the
 * loaders of rocBLAS and of hipBLASLt take all that are in its folder. TensileCreateLibrary.py
 * gives such files these names, and no others. */
static bool shares_objects(rawhal_string_t stem)
{
  static const char whole[] = "TensileLibrary";
  return begins(stem, "TensileLibrary_gfx") || begins(stem, "TensileLibrary_lazy_") ||
         (stem.size == sizeof(whole) - 1 && begins(stem, whole));
}

static void drop_ending(rawhal_string_t *name, rawhal_string_t ending)
{
  if (name->size > ending.size &&
      memcmp(name->data + name->size - ending.size, ending.data, ending.size) == 0)
    name->size -= ending.size;
}

static rawhal_string_t prefix_of(const char *path)
{
  const char *slash = strrchr(path, '/');
  rawhal_string_t name = rawhal_string(slash ? slash + 1 : path);
  drop_ending(&name, RAWHAL_STRING(".zlib"));
  drop_ending(&name, RAWHAL_STRING(".dat"));
  return shares_objects(name) ? (rawhal_string_t){NULL, 0} : name;
}

/* As a rawhal_library_t knows it: absolute, without links. */
static rawhal_status_t note_folder(rawhal_tensile_t *tensile, const char *path,
                                   rawhal_error_t *error)
{
  char given[PATH_MAX], absolute[PATH_MAX];
  const char *slash = strrchr(path, '/');
  const size_t size = slash ? (size_t)(slash - path) + 1 : 0;
  if (size >= sizeof(given))
    return RAWHAL_OK; /* no file has such a path */
  memcpy(given, path, size);
  given[size] = 0;
  if (!realpath(size ? given : ".", absolute))
    return RAWHAL_OK; /* it went away meanwhile */
  tensile->folder =
      arena_print(&tensile->arena, "%s%s", absolute, strcmp(absolute, "/") == 0 ? "" : "/");
  return tensile->arena.status ? arena_fail(&tensile->arena, error) : RAWHAL_OK;
}

rawhal_status_t rawhal_tensile_open_file(const char *path, const rawhal_tensile_options_t *options,
                                         rawhal_tensile_t **tensile, rawhal_error_t *error)
{
  enum { COPY = true }; /* a file that shrinks under its reader ends the process */
  WITHOUT_CANCELLATION();
  rawhal_tensile_options_t taken;
  rawhal_status_t status = create(options, &taken, tensile, error);
  if (status != RAWHAL_OK)
    return status;
  if (!path)
    return opened(tensile, rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "path is NULL"));
  if (!taken.prefix.size)
    taken.prefix = prefix_of(path);
  file_bytes_t *file = &(*tensile)->file;
  status = file_bytes_open(path, UINT32_MAX, COPY, &(*tensile)->allocator, file, error);
  if (status == RAWHAL_OK)
    status = read_library(*tensile, (rawhal_bytes_t){file->data, file->size}, &taken, error);
  if (status == RAWHAL_OK)
    status = note_folder(*tensile, path, error);
  return opened(tensile, status);
}

void rawhal_tensile_close(rawhal_tensile_t *tensile)
{
  if (!tensile)
    return;
  const allocator_t allocator = tensile->allocator;
  arena_free(&tensile->arena);
  file_bytes_close(&tensile->file, &allocator);
  allocate_free(&allocator, tensile);
}

/* ---- What it says ---- */

rawhal_string_t tensile_folder(const rawhal_tensile_t *tensile)
{
  return tensile->folder;
}

rawhal_string_t rawhal_tensile_version(const rawhal_tensile_t *tensile)
{
  return tensile->tables.version;
}

size_t rawhal_tensile_count(const rawhal_tensile_t *tensile)
{
  return tensile->tables.solution_count;
}

const rawhal_tensile_solution_t *rawhal_tensile_solution(const rawhal_tensile_t *tensile,
                                                         size_t number)
{
  return number < tensile->tables.solution_count ? &tensile->tables.solutions[number] : NULL;
}

size_t rawhal_tensile_library_count(const rawhal_tensile_t *tensile)
{
  return tensile->tables.library_count;
}

rawhal_string_t rawhal_tensile_library(const rawhal_tensile_t *tensile, size_t number)
{
  return number < tensile->tables.library_count ? tensile->tables.libraries[number]
                                                : (rawhal_string_t){NULL, 0};
}
