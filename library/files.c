#include "library/files.h"

#include "base/error.h"
#include "hsaco/content.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <string.h>
#include <unistd.h>

/* ---- Names ---- */

void path_names_begin(path_names_t *names, const allocator_t *allocator)
{
  *names = (path_names_t){.allocator = allocator};
}

void path_names_free(path_names_t *names)
{
  for (size_t i = 0; i < names->slot_count; ++i)
    for (path_name_t *name = names->slots[i], *next; name; name = next) {
      next = name->next;
      allocate_free(names->allocator, name);
    }
  allocate_free(names->allocator, names->slots);
  names->slots = NULL;
  names->slot_count = names->count = 0;
}

bool path_ends_in(const path_name_t *path, rawhal_string_t parts)
{
  if (parts.size > path->size)
    return false;
  const size_t before = path->size - parts.size;
  return !parts.size || (memcmp(path->text + before, parts.data, parts.size) == 0 &&
                         (before == 0 || path->text[before - 1] == '/'));
}

static path_name_t **slot_of(const path_names_t *names, const char *text, size_t size)
{
  return &names->slots[content_sum(text, size, 0) & (names->slot_count - 1)];
}

static bool more_slots(path_names_t *names)
{
  path_names_t wider = {names->allocator, NULL, names->slot_count ? names->slot_count * 2 : 64,
                        names->count};
  wider.slots = allocate_zeroed(names->allocator, wider.slot_count, sizeof(path_name_t *));
  if (!wider.slots)
    return false;
  for (size_t i = 0; i < names->slot_count; ++i)
    for (path_name_t *name = names->slots[i], *next; name; name = next) {
      path_name_t **slot = slot_of(&wider, name->text, name->size);
      next = name->next;
      name->next = *slot;
      *slot = name;
    }
  allocate_free(names->allocator, names->slots);
  *names = wider;
  return true;
}

const path_name_t *path_names_get(path_names_t *names, rawhal_string_t text)
{
  if (names->count == names->slot_count && !more_slots(names))
    return NULL;
  path_name_t **slot = slot_of(names, text.data, text.size);
  for (const path_name_t *name = *slot; name; name = name->next)
    if (name->size == text.size && (!text.size || memcmp(name->text, text.data, text.size) == 0))
      return name;
  path_name_t *name = allocate(names->allocator, sizeof(*name) + text.size + 1);
  if (!name)
    return NULL;
  name->size = text.size;
  if (text.size)
    memcpy(name->text, text.data, text.size);
  name->text[text.size] = '\0';
  name->next = *slot;
  *slot = name;
  ++names->count;
  return name;
}

/* ---- Stamps ---- */

static file_stamp_t stamp_of(const struct stat *facts)
{
  return (file_stamp_t){
      .size = (uint64_t)facts->st_size,
      .inode = facts->st_ino,
      .changed_s = facts->st_ctim.tv_sec,
      .changed_ns = (uint32_t)facts->st_ctim.tv_nsec,
      .modified_s = facts->st_mtim.tv_sec,
      .modified_ns = (uint32_t)facts->st_mtim.tv_nsec,
  };
}

bool file_stamp_of(const char *path, file_stamp_t *stamp)
{
  struct stat facts;
  if (stat(path, &facts) || !S_ISREG(facts.st_mode))
    return false;
  *stamp = stamp_of(&facts);
  return true;
}

size_t file_start(const char *path, void *bytes, size_t size)
{
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  ssize_t got = file < 0 ? -1 : pread(file, bytes, size, 0);
  if (file >= 0)
    (void)close(file);
  return got < 0 ? 0 : (size_t)got;
}

/* ---- Lists ---- */

static bool add(list_t *list, path_names_t *names, const FTSENT *entry, const file_stamp_t *stamp)
{
  listed_file_t file = {
      path_names_get(names, (rawhal_string_t){entry->fts_path, entry->fts_pathlen}), *stamp};
  return file.path && list_add(list, &file, sizeof(file));
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
  return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* OK for what is passed over. */
static rawhal_status_t look_at(list_t *list, path_names_t *names, const FTSENT *entry,
                               rawhal_error_t *error)
{
  file_stamp_t stamp;
  bool is_root = entry->fts_level == FTS_ROOTLEVEL, is_file = false;
  if (entry->fts_info == FTS_F) {
    stamp = stamp_of(entry->fts_statp);
    is_file = true;
  } else if (entry->fts_info == FTS_SL) {
    is_file = file_stamp_of(entry->fts_path, &stamp);
  }
  if (is_file && !add(list, names, entry, &stamp))
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "no memory for the files below '%s'",
                       entry->fts_path);
  if (is_file || !is_root || entry->fts_info == FTS_D || entry->fts_info == FTS_DP)
    return RAWHAL_OK;
  if (entry->fts_info == FTS_DEFAULT)
    return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT, "'%s' is neither a file nor a folder",
                       entry->fts_path);
  return rawhal_fail(error, RAWHAL_NOT_FOUND, "'%s' cannot be read: %s", entry->fts_path,
                     strerror(entry->fts_errno ? entry->fts_errno : ENOENT));
}

rawhal_status_t files_list(const char *path, path_names_t *names, list_t *list,
                           rawhal_error_t *error)
{
  char *const paths[] = {(char *)path, NULL}; /* which fts_open() leaves alone */
  FTS *tree = fts_open(paths, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_name);
  if (!tree)
    return rawhal_fail(error, RAWHAL_OUT_OF_MEMORY, "cannot look into '%s': %s", path,
                       strerror(errno));
  rawhal_status_t status = RAWHAL_OK;
  for (FTSENT *entry; status == RAWHAL_OK && (entry = fts_read(tree));)
    status = look_at(list, names, entry, error);
  (void)fts_close(tree);
  if (status != RAWHAL_OK)
    list_free(list);
  return status;
}

/* Filesystems count time in steps: of 4 to 10 ms where the kernel keeps it, up to 2 s elsewhere.
 * The time of change cannot be set by programs. */
bool files_are_fresh(const list_t *list, const struct timespec *now)
{
  for (size_t i = 0; i < list->count; ++i)
    if (files_at(list, i)->stamp.changed_s > now->tv_sec - 3)
      return true;
  return false;
}
