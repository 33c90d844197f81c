#include "fleet/slurm/regions.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <rawhal/limit.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "fleet/slurm/keeper.h"
#include "fleet/slurm/node.h"

/* Who keeps a region, and which file it is. */
typedef struct keeping {
  keeper_t keeper;
  uint64_t inode;
} keeping_t;

static void path_of(const settings_t *settings, uint32_t gpu, char path[PATH_MAX])
{
  snprintf(path, PATH_MAX, "%s/gpu%u", settings->directory, gpu);
}

/* By which `rawhal top` finds it. */
static void link_of(const settings_t *settings, uint32_t gpu, char path[PATH_MAX])
{
  snprintf(path, PATH_MAX, "%s/gpu%u.region", settings->directory, gpu);
}

static bool read_keeping(const settings_t *settings, uint32_t gpu, keeping_t *keeping)
{
  char path[PATH_MAX];
  path_of(settings, gpu, path);
  FILE *file = fopen(path, "re");
  if (!file)
    return false;
  const bool whole = fscanf(file, "%d %" SCNu64 " %d %" SCNu64, &keeping->keeper.pid,
                            &keeping->keeper.start_time, &keeping->keeper.fd, &keeping->inode) == 4;
  (void)fclose(file);
  return whole;
}

static bool put(FILE *file, const void *context)
{
  const keeping_t *keeping = context;
  return fprintf(file, "%d %" PRIu64 " %d %" PRIu64 "\n", keeping->keeper.pid,
                 keeping->keeper.start_time, keeping->keeper.fd, keeping->inode) > 0;
}

static bool write_keeping(const settings_t *settings, uint32_t gpu, const keeping_t *keeping)
{
  char path[PATH_MAX], target[64];
  path_of(settings, gpu, path);
  if (!node_write(settings, path, put, keeping))
    return false;
  snprintf(target, sizeof(target), "/proc/%d/fd/%d", keeping->keeper.pid, keeping->keeper.fd);
  link_of(settings, gpu, path);
  unlink(path);
  return symlink(target, path) == 0;
}

/* ---- Opening ---- */

static bool has_inode(int fd, uint64_t inode)
{
  struct stat facts;
  return fstat(fd, &facts) == 0 && facts.st_ino == inode;
}

/* -1: it is not there, or another file. */
static int open_of(int pid, int number, uint64_t inode)
{
  char path[64];
  snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, number);
  const int fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 || has_inode(fd, inode))
    return fd;
  close(fd);
  return -1;
}

static int open_kept(const keeping_t *keeping)
{
  return keeper_is_alive(&keeping->keeper)
             ? open_of(keeping->keeper.pid, keeping->keeper.fd, keeping->inode)
             : -1;
}

static rawhal_status_t check_version(int fd, rawhal_error_t *error)
{
  char name[32];
  rawhal_limit_view_t *view;
  snprintf(name, sizeof(name), "fd:%d", fd);
  const rawhal_status_t status = rawhal_limit_view_open(name, &view, error);
  rawhal_limit_view_close(view);
  return status;
}

rawhal_status_t regions_open(const settings_t *settings, uint32_t gpu, int *fd,
                             rawhal_error_t *error)
{
  keeping_t keeping;
  *fd = read_keeping(settings, gpu, &keeping) ? open_kept(&keeping) : -1;
  if (*fd < 0)
    return refuse(error, RAWHAL_NOT_FOUND, "GPU %u has no region on this node", gpu);
  const rawhal_status_t status = check_version(*fd, error);
  if (status == RAWHAL_OK)
    return RAWHAL_OK;
  close(*fd);
  *fd = -1;
  return status;
}

/* ---- Without its keeper ---- */

/* Where a descriptor of the file is among those of a process. */
static int find_in(const char *pid, uint64_t inode)
{
  char path[300], target[64];
  int fd = -1;
  snprintf(path, sizeof(path), "/proc/%.32s/fd", pid);
  DIR *folder = opendir(path);
  for (const struct dirent *entry = folder ? readdir(folder) : NULL; entry && fd < 0;
       entry = readdir(folder)) {
    snprintf(path, sizeof(path), "/proc/%.32s/fd/%.32s", pid, entry->d_name);
    const ssize_t length = readlink(path, target, sizeof(target));
    if (length > 7 && strncmp(target, "/memfd:", 7) == 0) /* others may wait when they are opened */
      fd = open_of(atoi(pid), atoi(entry->d_name), inode);
  }
  if (folder)
    closedir(folder);
  return fd;
}

/* Somebody killed the keeper: the jobs have the region still. */
static int find_anywhere(uint64_t inode)
{
  DIR *processes = opendir("/proc");
  int fd = -1;
  for (const struct dirent *entry = processes ? readdir(processes) : NULL; entry && fd < 0;
       entry = readdir(processes))
    if (*entry->d_name >= '0' && *entry->d_name <= '9')
      fd = find_in(entry->d_name, inode);
  if (processes)
    closedir(processes);
  return fd;
}

/* ---- Making ---- */

static rawhal_status_t keep(const settings_t *settings, uint32_t gpu, int fd, rawhal_error_t *error)
{
  keeping_t keeping;
  struct stat facts;
  int line;
  if (fstat(fd, &facts) || !keeper_start(fd, &keeping.keeper, &line))
    return refuse(error, RAWHAL_RUNTIME, "starting a keeper of GPU %u's region: %s", gpu,
                  strerror(errno));
  keeping.inode = facts.st_ino;
  const bool written = write_keeping(settings, gpu, &keeping);
  const int code = errno;
  keeper_settle(line, written);
  return written ? RAWHAL_OK
                 : refuse(error, RAWHAL_RUNTIME, "writing %.300s: %s", settings->directory,
                          strerror(code));
}

static rawhal_status_t make_anew(const settings_t *settings, uint32_t gpu, int *fd,
                                 rawhal_error_t *error)
{
  regions_end(settings, gpu);
  rawhal_status_t status = rawhal_limit_region_create(fd, error);
  if (status == RAWHAL_OK)
    status = keep(settings, gpu, *fd, error);
  return status;
}

/* The one that jobs have, kept or not. */
static rawhal_status_t take_over(const settings_t *settings, uint32_t gpu, int *fd,
                                 rawhal_error_t *error)
{
  keeping_t keeping;
  if (!read_keeping(settings, gpu, &keeping))
    return RAWHAL_OK;
  *fd = open_kept(&keeping);
  if (*fd >= 0)
    return check_version(*fd, error);
  *fd = find_anywhere(keeping.inode);
  if (*fd < 0)
    return RAWHAL_OK;
  const rawhal_status_t status = check_version(*fd, error);
  return status == RAWHAL_OK ? keep(settings, gpu, *fd, error) : status;
}

rawhal_status_t regions_make(const settings_t *settings, uint32_t gpu, bool in_use, int *fd,
                             rawhal_error_t *error)
{
  *fd = -1;
  rawhal_status_t status = in_use ? take_over(settings, gpu, fd, error) : RAWHAL_OK;
  if (status != RAWHAL_OK) {
    const rawhal_error_t reason = *error;
    (void)refuse(error, status,
                 "jobs that use GPU %u began under another version of rawhal, and go on; others "
                 "can begin when they have ended: %.500s",
                 gpu, reason.message);
  } else if (*fd < 0) {
    status = make_anew(settings, gpu, fd, error);
  }
  if (status != RAWHAL_OK && *fd >= 0) {
    close(*fd);
    *fd = -1;
  }
  return status;
}

void regions_end(const settings_t *settings, uint32_t gpu)
{
  char path[PATH_MAX];
  keeping_t keeping;
  if (read_keeping(settings, gpu, &keeping))
    keeper_end(&keeping.keeper);
  path_of(settings, gpu, path);
  unlink(path);
  link_of(settings, gpu, path);
  unlink(path);
}
