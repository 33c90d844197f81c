/* The region of an earlier broker. It lives as long as a process has it open, and those that are in
 * it must not get neighbours that are in another: each would have a share of the whole device. */
#include "tools/broker/broker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rawhal/limit.h>

#include "base/new_file.h"
#include "base/whole.h"
#include "tools/shared/tool.h"

/* ---- What is written down of it: "DEVICE INODE" ---- */

static bool note_path(const char *socket, char path[PATH_MAX], rawhal_error_t *error)
{
  const int used = snprintf(path, PATH_MAX, "%s.region", socket);
  return (used > 0 && used < PATH_MAX) ||
         tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "%.200s: the path is too long", socket);
}

bool broker_note(const char *socket, int fd, rawhal_error_t *error)
{
  char path[PATH_MAX], text[64];
  struct stat facts;
  new_file_t file;
  if (!note_path(socket, path, error))
    return false;
  if (fstat(fd, &facts) == 0 && new_file_open(&file, path)) {
    const int size =
        snprintf(text, sizeof(text), "%ju %ju\n", (uintmax_t)facts.st_dev, (uintmax_t)facts.st_ino);
    if (!write_whole(file.descriptor, text, (size_t)size))
      new_file_drop(&file);
    else if (new_file_keep(&file, true))
      return true;
  }
  return tool_refuse(error, RAWHAL_RUNTIME, "%.200s: %s", path, strerror(errno));
}

static bool read_note(const char *path, uintmax_t *device, uintmax_t *inode)
{
  char text[64];
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t size = fd < 0 ? -1 : read_whole(fd, text, sizeof(text) - 1);
  if (fd >= 0)
    close(fd);
  text[size > 0 ? size : 0] = '\0';
  return sscanf(text, "%ju %ju", device, inode) == 2;
}

/* ---- Who has it open ---- */

/* The number of a memory file may have been given to another since. */
static bool is_region(const char *path, int *fd)
{
  rawhal_error_t error;
  rawhal_limit_view_t *view = NULL;
  if (rawhal_limit_view_open(path, &view, &error))
    return false;
  rawhal_limit_view_close(view);
  *fd = open(path, O_RDWR | O_CLOEXEC);
  return *fd >= 0;
}

static bool find_in_process(const char *process, uintmax_t device, uintmax_t inode, int *fd)
{
  char path[PATH_MAX];
  struct stat facts;
  bool found = false;
  snprintf(path, sizeof(path), "/proc/%.20s/fd", process);
  DIR *files = opendir(path);
  for (const struct dirent *at; files && !found && (at = readdir(files));) {
    snprintf(path, sizeof(path), "/proc/%.20s/fd/%.20s", process, at->d_name);
    found = *at->d_name != '.' && stat(path, &facts) == 0 && facts.st_dev == device &&
            facts.st_ino == inode && is_region(path, fd);
  }
  if (files)
    closedir(files);
  return found;
}

static void find_in_processes(uintmax_t device, uintmax_t inode, int *fd)
{
  DIR *processes = opendir("/proc");
  for (const struct dirent *at; processes && *fd < 0 && (at = readdir(processes));)
    if (*at->d_name >= '1' && *at->d_name <= '9')
      (void)find_in_process(at->d_name, device, inode, fd);
  if (processes)
    closedir(processes);
}

bool broker_find(const char *socket, int *fd, rawhal_error_t *error)
{
  char path[PATH_MAX];
  uintmax_t device, inode;
  struct stat facts;
  *fd = -1;
  if (!note_path(socket, path, error))
    return false;
  if (lstat(socket, &facts) == 0 && !S_ISSOCK(facts.st_mode))
    return tool_refuse(error, RAWHAL_INVALID_ARGUMENT, "%.200s exists and is not a socket", socket);
  if (rawhal_limit_region_open(socket, fd, error) == RAWHAL_OK)
    return true;
  if (error->status == RAWHAL_TIMED_OUT || error->status == RAWHAL_UNSUPPORTED)
    return false; /* whoever listens there is not gone */
  if (read_note(path, &device, &inode))
    find_in_processes(device, inode, fd);
  return true;
}
