#include "front/descriptors.h"

#include "front/held.h"

#include "base/cancel.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

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

static bool each_open(void (*visit)(const held_key_t *key, void *data), void *data)
{
  DIR *folder = opendir("/proc/self/fd");
  if (!folder)
    return false;
  for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
    held_key_t key;
    char *end;
    const long fd = strtol(entry->d_name, &end, 10);
    if (end != entry->d_name && !*end && descriptor_key((int)fd, &key))
      visit(&key, data);
  }
  (void)closedir(folder);
  return true;
}

static bool each_mapped(void (*visit)(const held_key_t *key, void *data), void *data)
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
