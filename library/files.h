/* What lies below a path: the files, with what tells that one has changed. Internal. */
#ifndef RAWHAL_LIBRARY_FILES_H
#define RAWHAL_LIBRARY_FILES_H

#include "base/list.h"
#include "library/library.h"

#include <sys/stat.h>
#include <time.h>

/* Names that live until all of them go: those who were given one may keep it. */
typedef struct path_name {
  struct path_name *next; /* of the same slot */
  size_t size;
  char text[]; /* NUL-terminated */
} path_name_t;

typedef struct path_names {
  const allocator_t *allocator;
  path_name_t **slots;
  size_t slot_count, count;
} path_names_t;

void path_names_begin(path_names_t *names, const allocator_t *allocator);
void path_names_free(path_names_t *names);
/* The same pointer for the same text. NULL: no memory. */
const path_name_t *path_names_get(path_names_t *names, rawhal_string_t text);

/* Whether it ends in those parts, or is the same. */
bool path_ends_in(const path_name_t *path, rawhal_string_t parts);

/* A file that has all of these as they were is taken to be as it was. */
typedef struct file_stamp {
  uint64_t size, inode;
  int64_t changed_s, modified_s;
  uint32_t changed_ns, modified_ns;
} file_stamp_t;
/* False: there is no such regular file. */
bool file_stamp_of(const char *path, file_stamp_t *stamp);
static inline bool file_stamp_equal(const file_stamp_t *a, const file_stamp_t *b)
{
  return a->size == b->size && a->inode == b->inode && a->changed_s == b->changed_s &&
         a->changed_ns == b->changed_ns && a->modified_s == b->modified_s &&
         a->modified_ns == b->modified_ns;
}

/* How many of its first bytes there are. */
size_t file_start(const char *path, void *bytes, size_t size);

typedef struct listed_file {
  const path_name_t *path;
  file_stamp_t stamp;
} listed_file_t;

/* Adds everything at or below `path`, which is absolute, as listed_file_t, in an order that depends
 * on names alone. What cannot be looked into is passed over, but for `path` itself. The list, which
 * comes empty, is so on failure:
 * NOT_FOUND, INVALID_ARGUMENT, OUT_OF_MEMORY. */
RAWHAL_CHECKED rawhal_status_t files_list(const char *path, path_names_t *names, list_t *list,
                                          rawhal_error_t *error);
static inline listed_file_t *files_at(const list_t *list, size_t index)
{
  return (listed_file_t *)list->items + index;
}
/* Whether one has changed so lately that its next change may not show in its times. */
bool files_are_fresh(const list_t *list, const struct timespec *now);

#endif
