#include "base/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* False, with errno. */
static bool invent_name(new_file_t *file)
{
  uint64_t number;
  if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != (ssize_t)sizeof(number))
    return false;
  const int length = snprintf(file->temporary, sizeof(file->temporary), "%s.%016" PRIx64 ".part",
                              file->path, number);
  if (length >= 0 && (size_t)length < sizeof(file->temporary))
    return true;
  file->temporary[0] = '\0';
  errno = ENAMETOOLONG;
  return false;
}

/* ---- Without a name ---- */

typedef struct link {
  char text[32];
} link_t;

/* By which it can be given a name: its descriptor alone needs a privilege for that. */
static link_t link_of(const new_file_t *file)
{
  link_t link;
  snprintf(link.text, sizeof(link.text), "/proc/self/fd/%d", file->descriptor);
  return link;
}

static bool open_nameless(new_file_t *file)
{
  char folder[NEW_FILE_PATH_BYTES];
  const char *slash = strrchr(file->path, '/');
  const int length = slash ? (int)(slash + 1 - file->path) : 2;
  if ((size_t)length >= sizeof(folder))
    return false;
  snprintf(folder, sizeof(folder), "%.*s", length, slash ? file->path : "./");
  file->descriptor = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
  if (file->descriptor < 0 || access(link_of(file).text, F_OK) == 0)
    return file->descriptor >= 0;
  (void)close(file->descriptor);
  file->descriptor = -1;
  return false;
}

static bool link_to(const new_file_t *file, const char *path)
{
  return linkat(AT_FDCWD, link_of(file).text, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0;
}

/* A name that is taken can only be taken over by another name. */
static bool give_name(new_file_t *file, bool replace)
{
  if (link_to(file, file->path))
    return true;
  if (errno != EEXIST || !replace || !invent_name(file))
    return false;
  if (link_to(file, file->temporary))
    return true;
  file->temporary[0] = '\0';
  return false;
}

/* ---- With one ---- */

static bool open_named(new_file_t *file)
{
  if (!invent_name(file))
    return false;
  file->descriptor =
      open(file->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file->descriptor < 0)
    file->temporary[0] = '\0'; /* nothing of it is ours */
  return file->descriptor >= 0;
}

static bool take_name(const new_file_t *file, bool replace)
{
  const char *from = file->temporary, *to = file->path;
  if (!replace && renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
    return true;
  if (!replace && (errno != EINVAL || access(to, F_OK) == 0)) {
    errno = errno == EINVAL ? EEXIST : errno;
    return false;
  }
  return rename(from, to) == 0; /* the file system knows no other way */
}

/* ---- Either ---- */

/* False, with errno: what is there is not to be replaced. */
static bool may_replace(const char *path)
{
  struct stat about;
  if (stat(path, &about) || S_ISREG(about.st_mode))
    return true;
  errno = S_ISDIR(about.st_mode) ? EISDIR : ENOTSUP;
  return false;
}

bool new_file_open(new_file_t *file, const char *path)
{
  *file = (new_file_t){.descriptor = -1, .path = path};
  return may_replace(path) && (open_nameless(file) || open_named(file));
}

void new_file_drop(new_file_t *file)
{
  if (file->descriptor >= 0)
    (void)close(file->descriptor);
  if (*file->temporary)
    (void)unlink(file->temporary);
  *file = (new_file_t){.descriptor = -1};
}

bool new_file_keep(new_file_t *file, bool replace)
{
  bool kept = *file->temporary || give_name(file, replace);
  int problem = kept ? 0 : errno;
  if (close(file->descriptor) && kept) { /* some say only here that there was no room */
    problem = errno;
    kept = false;
  }
  file->descriptor = -1;
  if (kept && *file->temporary && !take_name(file, replace)) {
    problem = errno;
    kept = false;
  }
  if (kept)
    file->temporary[0] = '\0';
  new_file_drop(file);
  errno = problem;
  return kept;
}
