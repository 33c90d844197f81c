#include "queue/limit/identity.h"

#include "base/cancel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What /proc/PID/stat tells, from the third field on. */
typedef struct facts {
  char state;
  uint64_t threads, start_time;
} facts_t;

enum { FIELD_STATE = 3, FIELD_THREADS = 20, FIELD_START_TIME = 22 };

static bool read_facts(const char *path, facts_t *facts)
{
  char text[1024];
  WITHOUT_CANCELLATION(); /* callers hold locks */
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  ssize_t size = read(fd, text, sizeof(text) - 1);
  close(fd);
  if (size <= 0)
    return false;
  text[size] = '\0';
  char *at = strrchr(text, ')'); /* the name before it may hold anything */
  *facts = (facts_t){0};
  for (int field = FIELD_STATE; at && field <= FIELD_START_TIME; ++field) {
    at = strchr(at, ' ');
    if (!at)
      return false;
    ++at;
    if (field == FIELD_STATE)
      facts->state = *at;
    else if (field == FIELD_THREADS)
      facts->threads = strtoull(at, NULL, 10);
    else if (field == FIELD_START_TIME)
      facts->start_time = strtoull(at, NULL, 10);
  }
  return at && facts->start_time;
}

static uint64_t inode_of(const char *path)
{
  struct stat facts;
  return stat(path, &facts) ? 0 : facts.st_ino;
}

/* A /proc of another PID namespace knows other processes by the same numbers. */
static bool proc_is_ours(uint64_t pid)
{
  char text[32];
  ssize_t size = readlink("/proc/self", text, sizeof(text) - 1);
  if (size <= 0)
    return false;
  text[size] = '\0';
  return strtoull(text, NULL, 10) == pid;
}

void identity_of_self(identity_t *self)
{
  facts_t facts;
  *self = (identity_t){.pid = (uint64_t)getpid(),
                       .pid_namespace = inode_of("/proc/self/ns/pid"),
                       .time_namespace = inode_of("/proc/self/ns/time")};
  if (proc_is_ours(self->pid) && read_facts("/proc/self/stat", &facts))
    self->start_time = facts.start_time;
}

/* Can its number be looked up here? */
static bool is_visible(const identity_t *self, const identity_t *other)
{
  return self->start_time && other->start_time && self->pid_namespace &&
         self->pid_namespace == other->pid_namespace &&
         self->time_namespace == other->time_namespace && other->pid && other->pid <= INT_MAX;
}

bool identity_is_gone(const identity_t *self, const identity_t *other)
{
  if (!is_visible(self, other))
    return false;
  if (kill((pid_t)other->pid, 0) && errno == ESRCH)
    return true;
  char path[64];
  facts_t facts;
  snprintf(path, sizeof(path), "/proc/%llu/stat", (unsigned long long)other->pid);
  if (!read_facts(path, &facts)) /* hidden from us, or gone this moment: the next look tells */
    return false;
  bool ended = (facts.state == 'Z' || facts.state == 'X') && facts.threads <= 1;
  return ended || facts.start_time != other->start_time;
}

bool identity_maps(const identity_t *self, const identity_t *other, uint64_t inode)
{
  char path[64], line[PATH_MAX + 256]; /* addresses, then a path */
  bool whole = true;
  if (!is_visible(self, other) || identity_is_gone(self, other))
    return false;
  WITHOUT_CANCELLATION(); /* callers hold locks */
  snprintf(path, sizeof(path), "/proc/%llu/maps", (unsigned long long)other->pid);
  FILE *maps = fopen(path, "re");
  unsigned more = other->pid == self->pid ? 2 : 1; /* one is of who asks */
  while (maps && more && fgets(line, sizeof(line), maps)) {
    unsigned long long found;
    more -= whole && sscanf(line, "%*s %*s %*s %*s %llu", &found) == 1 && found == inode;
    whole = strchr(line, '\n') != NULL;
  }
  if (maps)
    (void)fclose(maps);
  return !more;
}
