#include "debug/permit.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HOUR = 3600 };

/* What the file holds. Anything may stand there: a time that has not come yet is none. */
typedef struct permits {
  int64_t times[PERMIT_MOST]; /* of the latest, in any order; 0: free */
} permits_t;

/* The slot for one more; PERMIT_MOST: there have been enough. */
static uint32_t find_slot(const permits_t *permits, uint32_t most, int64_t now)
{
  uint32_t recent = 0, slot = PERMIT_MOST;
  for (uint32_t i = 0; i < PERMIT_MOST; ++i) {
    const int64_t time = permits->times[i];
    if (time <= now && time > now - HOUR)
      ++recent;
    else
      slot = i;
  }
  return recent < most ? slot : PERMIT_MOST;
}

/* Nobody else has made it, and it is no other file of ours. -1: it is not so. */
static int open_own(const char *path)
{
  struct stat about;
  const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
  if (file < 0 || (!fstat(file, &about) && S_ISREG(about.st_mode) && about.st_uid == geteuid() &&
                   about.st_nlink == 1))
    return file;
  close(file);
  return -1;
}

/* ---- Of this process alone ---- */

static permits_t own;
static atomic_bool own_taken;

static bool take_own(permit_t *permit, uint32_t most)
{
  if (atomic_exchange(&own_taken, true))
    return false;
  permit->slot = find_slot(&own, most, permit->now);
  permit->own = permit->slot < PERMIT_MOST;
  if (!permit->own)
    atomic_store(&own_taken, false);
  return permit->own;
}

static void end_own(const permit_t *permit, bool written)
{
  if (written)
    own.times[permit->slot] = permit->now;
  atomic_store(&own_taken, false);
}

/* ---- Of the user's processes ---- */

static bool take_file(permit_t *permit, uint32_t most)
{
  permits_t permits = {0};
  if (flock(permit->file, LOCK_EX | LOCK_NB) == 0) {
    if (pread(permit->file, &permits, sizeof(permits), 0) != (ssize_t)sizeof(permits))
      permits = (permits_t){0};
    permit->slot = find_slot(&permits, most, permit->now);
    if (permit->slot < PERMIT_MOST)
      return true;
  }
  close(permit->file);
  permit->file = -1;
  return false;
}

static void end_file(const permit_t *permit, bool written)
{
  if (written) { /* what cannot be noted here is not held against anybody */
    const off_t at = (off_t)(permit->slot * sizeof(permit->now));
    if (pwrite(permit->file, &permit->now, sizeof(permit->now), at) < 0)
      (void)!ftruncate(permit->file, 0);
    else if (lseek(permit->file, 0, SEEK_END) < (off_t)sizeof(permits_t))
      (void)!ftruncate(permit->file, sizeof(permits_t));
  }
  (void)flock(permit->file, LOCK_UN); /* a child of fork() may have it, too */
  close(permit->file);
}

bool permit_take(permit_t *permit, const char *folder, const char *program, uint32_t most,
                 int64_t now)
{
  char path[1400];
  *permit = (permit_t){.file = -1, .now = now};
  if (!most)
    return true;
  most = most < PERMIT_MOST ? most : PERMIT_MOST;
  const int length =
      snprintf(path, sizeof(path), "%s/.rawhal-core-%u-%s", folder, geteuid(), program);
  if (length >= 0 && (size_t)length < sizeof(path))
    permit->file = open_own(path);
  return permit->file >= 0 ? take_file(permit, most) : take_own(permit, most);
}

void permit_end(const permit_t *permit, bool written)
{
  if (permit->file >= 0)
    end_file(permit, written);
  else if (permit->own)
    end_own(permit, written);
}
