#include "front/descriptors.h"

#include "front/held.h"

#include "base/cancel.h"

#include <dirent.h>
#include <errno.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { VISITED = 16 }; /* threads with descriptors of their own that are remembered */

typedef void visit_t(const held_key_t *key, void *data);

static held_key_t key_of(uint64_t inode, uint64_t device)
{
  return (held_key_t){HELD_DESCRIPTOR, inode, device};
}

bool descriptor_key(int fd, held_key_t *key)
{
  struct stat facts;
  if (fstat(fd, &facts))
    return false;
  *key = key_of(facts.st_ino, facts.st_dev);
  return true;
}

/* A dma-buf's stat() does not tell; it has no place, as far as reading is concerned. */
uint64_t descriptor_size(int fd)
{
  const off_t at = lseek(fd, 0, SEEK_CUR), end = lseek(fd, 0, SEEK_END);
  if (at >= 0)
    (void)lseek(fd, at, SEEK_SET);
  return end > 0 ? (uint64_t)end : 0;
}

/* Threads whose descriptors were visited. */
typedef struct visited {
  pid_t threads[VISITED];
  size_t count;
} visited_t;

/* Most threads have the same ones. Where the kernel does not tell they are visited again. */
static bool was_visited(visited_t *visited, pid_t thread)
{
  for (size_t i = 0; i < visited->count; ++i)
    if (syscall(SYS_kcmp, visited->threads[i], thread, KCMP_FILES, 0, 0) == 0)
      return true;
  if (visited->count < VISITED)
    visited->threads[visited->count++] = thread;
  return false;
}

static bool to_number(const char *name, long *number)
{
  char *end;
  *number = strtol(name, &end, 10);
  return end != name && !*end;
}

/* A thread that has ended has none. */
static bool each_of_thread(long thread, visit_t *visit, void *data)
{
  char path[64];
  (void)snprintf(path, sizeof(path), "/proc/self/task/%ld/fd", thread);
  DIR *folder = opendir(path);
  if (!folder)
    return errno == ENOENT || errno == ESRCH;
  for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
    struct stat facts;
    long fd;
    if (!to_number(entry->d_name, &fd) || fstatat(dirfd(folder), entry->d_name, &facts, 0))
      continue;
    const held_key_t key = key_of(facts.st_ino, facts.st_dev);
    visit(&key, data);
  }
  (void)closedir(folder);
  return true;
}

/* Threads may have descriptors of their own (unshare(), clone()). */
static bool each_open(visit_t *visit, void *data)
{
  DIR *folder = opendir("/proc/self/task");
  visited_t visited = {.count = 0};
  bool whole = folder != NULL;
  for (const struct dirent *entry = NULL; whole && (entry = readdir(folder));) {
    long thread;
    if (to_number(entry->d_name, &thread) && !was_visited(&visited, (pid_t)thread))
      whole = each_of_thread(thread, visit, data);
  }
  if (folder)
    (void)closedir(folder);
  return whole;
}

static bool each_mapped(visit_t *visit, void *data)
{
  FILE *maps = fopen("/proc/self/maps", "re");
  if (!maps)
    return false;
  char *line = NULL;
  size_t room = 0;
  while (getline(&line, &room, maps) > 0) {
    unsigned major, minor;
    unsigned long long inode;
    if (sscanf(line, "%*s %*s %*s %x:%x %llu", &major, &minor, &inode) != 3 || !inode)
      continue;
    const held_key_t key = key_of(inode, makedev(major, minor));
    visit(&key, data);
  }
  free(line);
  bool whole = feof(maps) != 0;
  (void)fclose(maps);
  return whole;
}

bool descriptors_each(void (*visit)(const held_key_t *key, void *data), void *data)
{
  WITHOUT_CANCELLATION();
  return each_open(visit, data) && each_mapped(visit, data);
}
