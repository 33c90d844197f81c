#include "library/cache.h"

#include "base/file_signals.h"
#include "hsaco/content.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#define SUFFIX     ".index"
#define UNFINISHED ".unfinished"

enum { NAME = 64 };

/* ---- Which folder ---- */

/* The folder of caches, and whether it is ours alone: it says where it stands. */
static void join(cache_t *cache, const char *folder, const char *rest)
{
  int length = snprintf(cache->folder, sizeof(cache->folder), "%s%s", folder, rest);
  if (length < 0 || (size_t)length >= sizeof(cache->folder) || *folder != '/')
    cache->folder[0] = '\0';
}

void cache_choose(cache_t *cache, const char *given)
{
  const char *home;
  cache->folder[0] = '\0';
  if (!given)
    given = secure_getenv("RAWHAL_CACHE");
  if (given && *given) {
    if (strcmp(given, "off") != 0)
      join(cache, given, "");
  } else if ((home = secure_getenv("XDG_CACHE_HOME")) && *home == '/') {
    join(cache, home, "/rawhal");
  } else if ((home = secure_getenv("HOME"))) {
    join(cache, home, "/.cache/rawhal");
  }
}

/* As `mkdir -p`; what it fails with shows when the folder is opened. */
static void make_folders(char *path)
{
  for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    (void)mkdir(path, 0700);
    *slash = '/';
  }
  (void)mkdir(path, 0700);
}

static bool is_ours(const struct stat *facts)
{
  return facts->st_uid == geteuid() && !(facts->st_mode & (S_IWGRP | S_IWOTH));
}

static int open_folder(const cache_t *cache, bool make)
{
  if (!*cache->folder)
    return -1;
  if (make) {
    char path[sizeof(cache->folder)];
    memcpy(path, cache->folder, sizeof(path));
    make_folders(path);
  }
  struct stat facts;
  int folder = open(cache->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0 || (fstat(folder, &facts) == 0 && is_ours(&facts)))
    return folder;
  (void)close(folder);
  return -1;
}

/* ---- Which file ---- */

static void name_of(const char *path, const rawhal_target_t *target, char name[NAME])
{
  char text[96], both[CONTENT_TEXT];
  rawhal_target_format(target, text, sizeof(text));
  rawhal_content_hash_t hash = rawhal_content_hash(path, strlen(path));
  hash.low = content_sum(text, strlen(text), hash.low);
  content_text(hash, both);
  (void)snprintf(name, NAME, "%s" SUFFIX, both);
}

int cache_open(const cache_t *cache, const char *path, const rawhal_target_t *target,
               uint64_t *pages)
{
  char name[NAME];
  struct stat facts;
  int folder = open_folder(cache, false);
  if (folder < 0)
    return -1;
  name_of(path, target, name);
  int file = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  (void)close(folder);
  if (file < 0)
    return -1;
  if (fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && is_ours(&facts) && facts.st_size > 0 &&
      facts.st_size % IMAGE_PAGE == 0) {
    *pages = (uint64_t)facts.st_size / IMAGE_PAGE;
    if (facts.st_mtim.tv_sec < time(NULL) - 24 * 3600)
      (void)futimens(file, NULL); /* still in use, see sweep() */
    return file;
  }
  (void)close(file);
  return -1;
}

/* ---- Writing ---- */

/* How long a file of that name is kept: 0, for ever, if it is not called as by name_of(). The
 * folder may be one where others keep what is theirs. */
static time_t most_age(const char *name)
{
  const char *dot = strrchr(name, '.');
  if (strspn(name, "0123456789abcdef") != 32 || strncmp(name + 32, SUFFIX, strlen(SUFFIX)) != 0)
    return 0;
  if (strcmp(name + 32, SUFFIX) == 0)
    return 60 * 24 * 3600;
  return strcmp(dot, UNFINISHED) == 0 ? 3600 : 0;
}

/* What killed processes have left, and indexes that have not been read for two months. */
static void sweep(int folder)
{
  int listed = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *entries = listed < 0 ? NULL : fdopendir(listed);
  if (!entries) {
    if (listed >= 0)
      (void)close(listed);
    return;
  }
  const time_t now = time(NULL);
  for (struct dirent *entry; (entry = readdir(entries));) {
    struct stat facts;
    time_t kept = most_age(entry->d_name);
    if (kept && fstatat(folder, entry->d_name, &facts, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(facts.st_mode) && facts.st_mtim.tv_sec < now - kept)
      (void)unlinkat(folder, entry->d_name, 0);
  }
  (void)closedir(entries);
}

static bool write_in(int folder, const char *name, const image_t *image)
{
  uint64_t number;
  rawhal_bytes_t bytes = image_bytes(image);
  char unfinished[NAME + 64];
  if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != sizeof(number))
    return false;
  snprintf(unfinished, sizeof(unfinished), "%s.%016" PRIx64 UNFINISHED, name, number);
  int file = openat(folder, unfinished, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0)
    return false;
  bool whole = write_without_signals(file, bytes.data, bytes.size);
  whole = close(file) == 0 && whole; /* some filesystems say only here that there was no room */
  whole = whole && renameat(folder, unfinished, folder, name) == 0;
  if (!whole)
    (void)unlinkat(folder, unfinished, 0);
  return whole;
}

bool cache_write(const cache_t *cache, const char *path, const rawhal_target_t *target,
                 const image_t *image)
{
  char name[NAME];
  int folder = open_folder(cache, true);
  if (folder < 0)
    return false;
  name_of(path, target, name);
  sweep(folder);
  bool written = write_in(folder, name, image);
  (void)close(folder);
  return written;
}
