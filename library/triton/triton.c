/* Entries of Triton's cache: which files there are, and each pair of them. */
#include "library/triton/triton.h"

#include <stdio.h>
#include <sys/stat.h>

#include "base/cancel.h"
#include "base/error.h"
#include "base/sized.h"
#include "hsaco/file_bytes.h"
#include "library/files.h"
#include "library/triton/parts.h"

struct rawhal_triton {
  arena_t arena;
  rawhal_triton_options_t options;
  rawhal_hsaco_options_t hsaco;
  rawhal_triton_kernel_t *kernels;
  size_t count, capacity;
};

static const rawhal_string_t json_ending = {".json", 5}, hsaco_ending = {".hsaco", 6};

static bool ends_in(rawhal_string_t path, rawhal_string_t ending)
{
  return path.size > ending.size &&
         memcmp(path.data + path.size - ending.size, ending.data, ending.size) == 0 &&
         path.data[path.size - ending.size - 1] != '/';
}

/* ---- One entry ---- */

static rawhal_status_t read_json(rawhal_triton_t *triton, rawhal_triton_kernel_t *entry,
                                 rawhal_error_t *error)
{
  file_bytes_t bytes;
  const allocator_t *allocator = &triton->arena.allocator;
  rawhal_status_t status = file_bytes_open(entry->json_path.data, triton->options.max_json_bytes,
                                           true, allocator, &bytes, error);
  if (status == RAWHAL_OK)
    status = triton_read(bytes.data, bytes.size, &triton->arena, entry, error);
  file_bytes_close(&bytes, allocator);
  return status;
}

static rawhal_status_t check_object(rawhal_triton_t *triton, rawhal_triton_kernel_t *entry,
                                    rawhal_error_t *error)
{
  rawhal_hsaco_t *hsaco = NULL;
  rawhal_status_t status =
      rawhal_hsaco_open_file(entry->hsaco_path.data, &triton->hsaco, &hsaco, error);
  if (status == RAWHAL_OK)
    status = triton_check(hsaco, entry, error);
  rawhal_hsaco_close(hsaco);
  return status;
}

/* The paths of both files, of which `has_*` says that they are there. */
static rawhal_status_t name_files(rawhal_triton_t *triton, rawhal_string_t stem, bool has_json,
                                  bool has_hsaco, rawhal_triton_kernel_t *entry,
                                  rawhal_error_t *error)
{
  arena_t *arena = &triton->arena;
  const char *slash = memrchr(stem.data, '/', stem.size);
  size_t start = slash ? (size_t)(slash + 1 - stem.data) : 0;
  *entry = (rawhal_triton_kernel_t){.name = {"", 0}};
  if (has_json)
    entry->json_path = arena_print(arena, "%.*s.json", (int)stem.size, stem.data);
  if (has_hsaco)
    entry->hsaco_path = arena_print(arena, "%.*s.hsaco", (int)stem.size, stem.data);
  entry->name = arena_print(arena, "%.*s", (int)(stem.size - start), stem.data + start);
  return arena->status ? arena_fail(arena, error) : RAWHAL_OK;
}

/* What is wrong with the entry itself is its status; `error` says it, too. */
static rawhal_status_t read_entry(rawhal_triton_t *triton, rawhal_triton_kernel_t *entry,
                                  rawhal_error_t *error)
{
  rawhal_error_t why;
  rawhal_triton_kernel_t before = *entry;
  if (!entry->json_path.size)
    entry->status = rawhal_fail(&why, RAWHAL_NOT_FOUND, "no .json next to it");
  else
    entry->status = read_json(triton, entry, &why);
  if (entry->status != RAWHAL_OK) { /* nothing of what was read is to be believed */
    rawhal_status_t status = entry->status;
    *entry = before;
    entry->status = status;
  } else if (!entry->hsaco_path.size) {
    entry->status = rawhal_fail(&why, RAWHAL_NOT_FOUND, "no .hsaco next to it");
  } else {
    entry->status = check_object(triton, entry, &why);
  }
  if (entry->status == RAWHAL_OK)
    return RAWHAL_OK;
  const rawhal_string_t *path = entry->json_path.size ? &entry->json_path : &entry->hsaco_path;
  entry->why_not = arena_print(&triton->arena, "%.*s: %s", RAWHAL_STRING_ARGS(*path), why.message);
  if (triton->arena.status)
    return arena_fail(&triton->arena, error);
  rawhal_status_t status =
      rawhal_fail(error, entry->status, "%.*s: %s", RAWHAL_STRING_ARGS(*path), why.message);
  if (error)
    error->offset = why.offset;
  return status;
}

static rawhal_status_t add(rawhal_triton_t *triton, const rawhal_triton_kernel_t *entry,
                           rawhal_error_t *error)
{
  if (triton->count == triton->options.max_kernels)
    return rawhal_fail(error, RAWHAL_CAP_EXCEEDED, "more kernels than max_kernels (%u)",
                       triton->options.max_kernels);
  if (!arena_reserve(&triton->arena, &triton->kernels, &triton->capacity, triton->count,
                     sizeof(*entry), 4))
    return arena_fail(&triton->arena, error);
  triton->kernels[triton->count++] = *entry;
  return RAWHAL_OK;
}

/* ---- Files ---- */

static rawhal_string_t stem_of(rawhal_string_t path)
{
  path.size -= ends_in(path, json_ending)    ? json_ending.size
               : ends_in(path, hsaco_ending) ? hsaco_ending.size
                                             : 0;
  return path;
}

static bool is_there(rawhal_triton_t *triton, rawhal_string_t stem, rawhal_string_t ending)
{
  file_stamp_t stamp;
  arena_mark_t mark = arena_mark(&triton->arena);
  rawhal_string_t path = arena_print(&triton->arena, "%.*s%.*s", (int)stem.size, stem.data,
                                     (int)ending.size, ending.data);
  bool there = path.size && file_stamp_of(path.data, &stamp);
  if (!triton->arena.status)
    arena_rewind(&triton->arena, mark);
  return there;
}

static rawhal_status_t add_file(rawhal_triton_t *triton, rawhal_string_t path,
                                rawhal_error_t *error)
{
  rawhal_triton_kernel_t entry;
  rawhal_string_t stem = stem_of(path);
  if (stem.size == path.size)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                       "'%.*s' is not a folder, and neither NAME.json nor NAME.hsaco",
                       RAWHAL_STRING_ARGS(path));
  rawhal_status_t status = name_files(triton, stem, is_there(triton, stem, json_ending),
                                      is_there(triton, stem, hsaco_ending), &entry, error);
  if (status == RAWHAL_OK)
    status = read_entry(triton, &entry, error);
  return status == RAWHAL_OK ? add(triton, &entry, error) : status;
}

/* JSON without an object beside it is an entry's only if it reads as one. */
static rawhal_status_t add_listed(rawhal_triton_t *triton, rawhal_string_t path,
                                  rawhal_error_t *error)
{
  bool is_json = ends_in(path, json_ending);
  rawhal_triton_kernel_t entry;
  rawhal_string_t stem = stem_of(path);
  if (stem.size == path.size)
    return RAWHAL_OK;
  bool other = is_there(triton, stem, is_json ? hsaco_ending : json_ending);
  if (is_json && other) /* it is the .hsaco that is listed */
    return RAWHAL_OK;
  rawhal_error_t why;
  arena_mark_t mark = arena_mark(&triton->arena);
  rawhal_status_t status = name_files(triton, stem, is_json || other, !is_json, &entry, error);
  if (status != RAWHAL_OK)
    return status;
  status = read_entry(triton, &entry, &why);
  if (triton->arena.status || status == RAWHAL_OUT_OF_MEMORY)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "%s", why.message);
  if (is_json && !entry.num_warps) {
    arena_rewind(&triton->arena, mark);
    return RAWHAL_OK;
  }
  return add(triton, &entry, error);
}

static rawhal_status_t add_folder(rawhal_triton_t *triton, const char *path, rawhal_error_t *error)
{
  path_names_t names;
  list_t files = {.allocator = &triton->arena.allocator};
  path_names_begin(&names, &triton->arena.allocator);
  rawhal_status_t status = files_list(path, &names, &files, error);
  for (size_t i = 0; status == RAWHAL_OK && i < files.count; ++i) {
    const path_name_t *name = files_at(&files, i)->path;
    status = add_listed(triton, (rawhal_string_t){name->text, name->size}, error);
  }
  list_free(&files);
  path_names_free(&names);
  if (status == RAWHAL_OK && !triton->count)
    status = rawhal_fail(error, RAWHAL_NOT_FOUND, "no kernel of Triton's below '%s'", path);
  return status;
}

/* ---- The interface ---- */

static rawhal_status_t make(const rawhal_triton_options_t *options, rawhal_triton_t **triton,
                            rawhal_error_t *error)
{
  rawhal_triton_options_t taken;
  rawhal_hsaco_options_t hsaco;
  allocator_t allocator = {0};
  rawhal_status_t status = SIZED_TAKE(&taken, options, allocator, error);
  if (status == RAWHAL_OK)
    status = SIZED_TAKE(&hsaco, taken.hsaco, allocator, error);
  if (status == RAWHAL_OK)
    status = allocator_take(taken.allocator, &allocator, error);
  if (status != RAWHAL_OK)
    return status;
  rawhal_triton_t *made = allocate_zeroed(&allocator, 1, sizeof(*made));
  if (!made)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory to look for kernels");
  taken.max_kernels = taken.max_kernels ? taken.max_kernels : 65536;
  taken.max_json_bytes = taken.max_json_bytes ? taken.max_json_bytes : 1u << 20;
  made->options = taken;
  made->hsaco = hsaco;
  made->hsaco.flags |= RAWHAL_HSACO_COPY; /* cutting the file must not end the program */
  arena_init(&made->arena, UINT64_MAX, &allocator);
  if (!made->hsaco.allocator)
    made->hsaco.allocator = allocator_option(&made->arena.allocator);
  *triton = made;
  return RAWHAL_OK;
}

void rawhal_triton_close(rawhal_triton_t *triton)
{
  if (!triton)
    return;
  allocator_t allocator = triton->arena.allocator;
  arena_free(&triton->arena);
  allocate_free(&allocator, triton);
}

rawhal_status_t rawhal_triton_open_file(const char *path, const rawhal_triton_options_t *options,
                                        rawhal_triton_t **triton, rawhal_error_t *error)
{
  WITHOUT_CANCELLATION();
  if (!triton)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "triton is NULL");
  *triton = NULL;
  if (!path)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "path is NULL");
  struct stat facts;
  if (stat(path, &facts))
    return rawhal_fail(error, RAWHAL_NOT_FOUND, "there is no '%s'", path);
  if (!S_ISREG(facts.st_mode) && !S_ISDIR(facts.st_mode))
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "'%s' is neither a file nor a folder", path);
  rawhal_triton_t *made = NULL;
  rawhal_status_t status = make(options, &made, error);
  if (status != RAWHAL_OK)
    return status;
  status = S_ISDIR(facts.st_mode) ? add_folder(made, path, error)
                                  : add_file(made, rawhal_string(path), error);
  made->options.hsaco = NULL;
  made->options.allocator = NULL;
  if (status == RAWHAL_OK)
    *triton = made;
  else
    rawhal_triton_close(made);
  return status;
}

size_t rawhal_triton_kernel_count(const rawhal_triton_t *triton)
{
  return triton ? triton->count : 0;
}

const rawhal_triton_kernel_t *rawhal_triton_kernel(const rawhal_triton_t *triton, size_t index)
{
  return triton && index < triton->count ? &triton->kernels[index] : NULL;
}
