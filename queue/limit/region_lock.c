/* The region's locks: bytes of its file, which the kernel unlocks when their holder dies. */
#include "queue/limit/region_lock.h"

#include "base/cancel.h"
#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* Where the lock bytes lie: far beyond the data, so that they mean nothing else. */
static const off_t structure_byte = (off_t)1 << 40;

static bool file_lock(int fd, short type, off_t byte)
{
  struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1};
  return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

static rawhal_status_t lock_bytes(int fd, region_tries_t tries, rawhal_error_t *error)
{
  const struct timespec pause = {.tv_nsec = 200000};
  char text[128];
  WITHOUT_CANCELLATION(); /* a thread that is cancelled here would keep what its caller holds */
  for (int i = 0; i < (int)tries; ++i) {
    if (file_lock(fd, F_WRLCK, structure_byte))
      return RAWHAL_OK;
    if (errno != EAGAIN && errno != EACCES && errno != EINTR)
      return rawhal_fail(error, RAWHAL_RUNTIME, "locking the region: %s",
                         strerror_r(errno, text, sizeof(text)));
    if (i + 1 < (int)tries)
      nanosleep(&pause, NULL);
  }
  return rawhal_fail(error, RAWHAL_TIMED_OUT,
                     "another process holds the region's lock; it must have been stopped");
}

rawhal_status_t region_lock(const region_t *region, region_tries_t tries, rawhal_error_t *error)
{
  return region->fd < 0 ? RAWHAL_OK : lock_bytes(region->fd, tries, error);
}

void region_unlock(const region_t *region)
{
  if (region->fd >= 0)
    (void)file_lock(region->fd, F_UNLCK, structure_byte);
}

bool region_slot_take(const region_t *region, uint32_t slot)
{
  return region->fd < 0 || file_lock(region->fd, F_WRLCK, structure_byte + 1 + slot);
}

void region_slot_drop(const region_t *region, uint32_t slot)
{
  if (region->fd >= 0)
    (void)file_lock(region->fd, F_UNLCK, structure_byte + 1 + slot);
}

bool region_slot_held(const region_t *region, uint32_t slot)
{
  struct flock lock = {
      .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = structure_byte + 1 + slot, .l_len = 1};
  if (region->fd < 0)
    return false;
  /* When in doubt, alive: nothing is taken from a process that may be there. */
  return fcntl(region->fd, F_OFD_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

bool region_slot_dead(const region_t *region, const identity_t *self, uint32_t slot)
{
  if (region->fd < 0)
    return false;
  struct stat file;
  const region_member_t *member = &region->data->members[slot];
  const identity_t holder = {.pid = atomic_load(&member->pid),
                             .pid_namespace = atomic_load(&member->pid_namespace),
                             .time_namespace = atomic_load(&member->time_namespace),
                             .start_time = atomic_load(&member->start_time)};
  if (region_slot_held(region, slot))
    return identity_is_gone(self, &holder);
  return fstat(region->fd, &file) || !identity_maps(self, &holder, file.st_ino);
}

static off_t reclaim_byte(uint32_t slot)
{
  return structure_byte + 1 + REGION_MEMBERS + slot;
}

bool region_reclaim_take(const region_t *region, uint32_t slot)
{
  return region->fd < 0 || file_lock(region->fd, F_WRLCK, reclaim_byte(slot));
}

void region_reclaim_drop(const region_t *region, uint32_t slot)
{
  if (region->fd >= 0)
    (void)file_lock(region->fd, F_UNLCK, reclaim_byte(slot));
}
