#include "queue/limit/inherited.h"

#include "queue/limit/places.h"
#include "queue/limit/region_find.h"

#include "base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 16, ANCESTORS = 64, PARENT_FIELD = 4 };

static const char prefix[] = "fd:";

bool inherited_is(const char *text)
{
  return strncmp(text, prefix, sizeof(prefix) - 1) == 0;
}

bool inherited_is_named(const rawhal_limit_config_t *config)
{
  return !config->has_region_fd && inherited_is(config->region.text);
}

/* ---- The list ---- */

typedef struct list {
  int fds[MOST];
  size_t count;
} list_t;

static bool read_number(const char **at, int *number)
{
  char *end;
  if (**at < '0' || **at > '9')
    return false;
  errno = 0;
  const unsigned long value = strtoul(*at, &end, 10);
  *at = end;
  *number = (int)value;
  return !errno && value <= INT_MAX;
}

static rawhal_status_t read_list(const char *text, list_t *list, rawhal_error_t *error)
{
  const char *at = text + sizeof(prefix) - 2;
  bool good;
  list->count = 0;
  do {
    ++at; /* the colon, a comma */
    good = list->count < MOST && read_number(&at, &list->fds[list->count]);
    ++list->count;
  } while (good && *at == ',');
  if (good && !*at)
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_INVALID_ARGUMENT,
                     "'%.100s' is not a list of descriptors; expected up to %d, as in fd:9 or "
                     "fd:9,12",
                     text, MOST);
}

/* ---- One of them ---- */

/* 0: there is none, or it cannot be seen. */
static int parent_of(int pid)
{
  char path[32], text[1024];
  snprintf(path, sizeof(path), "/proc/%d/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return 0;
  const ssize_t size = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (size <= 0)
    return 0;
  text[size] = '\0';
  const char *at = strrchr(text, ')'); /* the name before it may hold anything */
  return at && strlen(at) > PARENT_FIELD ? atoi(at + PARENT_FIELD) : 0;
}

/* Is it there, and a region's? Its number may have been given to another file since. */
static bool is_there(const char *path)
{
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0)
    return false;
  const bool begun = region_is_begun(fd);
  close(fd);
  return begun;
}

static rawhal_status_t find(int number, char path[300], rawhal_error_t *error)
{
  snprintf(path, 300, "/proc/self/fd/%d", number);
  bool found = is_there(path);
  int pid = getppid();
  for (int i = 0; !found && pid > 1 && i < ANCESTORS; ++i) {
    snprintf(path, 300, "/proc/%d/fd/%d", pid, number);
    found = is_there(path);
    pid = found ? 0 : parent_of(pid);
  }
  if (found)
    return RAWHAL_OK;
  return rawhal_fail(error, RAWHAL_NOT_FOUND,
                     "descriptor %d is no region of rawhal's limits, here or in a process that "
                     "started this one",
                     number);
}

/* ---- Which of them ---- */

static rawhal_status_t has_device(const char *path, const char *device, bool *has,
                                  rawhal_error_t *error)
{
  region_t region;
  const rawhal_status_t status = region_view(path, &region, error);
  if (status != RAWHAL_OK)
    return status;
  *has = place_of_device(region.data, device) != REGION_NO_INDEX;
  region_view_close(&region);
  return RAWHAL_OK;
}

static rawhal_status_t choose(const char *text, const char *device, char path[300],
                              rawhal_error_t *error)
{
  list_t list;
  bool has = false;
  rawhal_status_t status = read_list(text, &list, error);
  for (size_t i = 0; status == RAWHAL_OK && !has && i < list.count; ++i) {
    status = find(list.fds[i], path, error);
    if (!device)
      return status;
    if (status == RAWHAL_OK)
      status = has_device(path, device, &has, error);
  }
  if (status != RAWHAL_OK || has)
    return status;
  return rawhal_fail(error, RAWHAL_NOT_FOUND,
                     "no region of %.100s has the device '%.100s': it is not one that this process "
                     "was given",
                     text, device);
}

rawhal_status_t inherited_open(const char *text, const char *device, int access, char path[300],
                               int *fd, rawhal_error_t *error)
{
  *fd = -1;
  rawhal_status_t status = choose(text, device, path, error);
  if (status != RAWHAL_OK)
    return status;
  *fd = open(path, access | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  return *fd >= 0 ? RAWHAL_OK : region_fail(error, "opening the region", path);
}
