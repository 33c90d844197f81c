#include "fleet/slurm/strays.h"

#include <fcntl.h>
#include <poll.h>
#include <rawhal/limit.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fleet/slurm/tenants.h"

enum { MOST = 512, PATIENCE_MS = 1000 };

typedef struct strays {
  const record_t *record;
  uint64_t inode, pid_namespace;
  struct pollfd ends[MOST];
  uint32_t count;
} strays_t;

static uint64_t inode_of(const char *path)
{
  struct stat facts;
  return stat(path, &facts) == 0 ? facts.st_ino : 0;
}

static bool is_of_user(int pid, uint32_t user)
{
  char path[32];
  struct stat facts;
  snprintf(path, sizeof(path), "/proc/%d", pid);
  return stat(path, &facts) == 0 && facts.st_uid == user;
}

/* A line ends with the inode and the name of what is mapped. */
static bool has_mapped(int pid, uint64_t inode)
{
  char path[32], line[4096];
  unsigned long long found;
  bool mapped = false;
  snprintf(path, sizeof(path), "/proc/%d/maps", pid);
  FILE *file = fopen(path, "re");
  while (file && !mapped && fgets(line, sizeof(line), file))
    mapped = strstr(line, " /memfd:") && sscanf(line, "%*s %*s %*s %*s %llu", &found) == 1 &&
             found == inode;
  if (file)
    (void)fclose(file);
  return mapped;
}

/* The descriptor first: then it is this process that is looked at, and killed, or none. One that
 * has nothing mapped may be about to end: it is waited for like those that are killed. */
static void end_one(const rawhal_limit_row_t *row, void *context)
{
  strays_t *strays = context;
  const int pid = row->pid > 1 && row->pid <= INT_MAX ? (int)row->pid : 0;
  if (!pid || row->pid_namespace != strays->pid_namespace || strays->count == MOST)
    return;
  const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
  if (fd < 0)
    return;
  const bool is_theirs = is_of_user(pid, strays->record->user);
  if (is_theirs && has_mapped(pid, strays->inode))
    (void)syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
  if (is_theirs)
    strays->ends[strays->count++] = (struct pollfd){.fd = fd, .events = POLLIN};
  else
    close(fd);
}

static uint64_t now_ms(void)
{
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void strays_end(int region, const record_t *record, const holding_t *holding)
{
  char path[32];
  snprintf(path, sizeof(path), "/proc/self/fd/%d", region);
  strays_t strays = {
      .record = record, .inode = inode_of(path), .pid_namespace = inode_of("/proc/self/ns/pid")};
  tenant_processes(region, record->tenant, holding, end_one, &strays);
  const uint64_t begun = now_ms();
  for (uint32_t i = 0; i < strays.count; ++i) {
    const uint64_t passed = now_ms() - begun;
    (void)poll(&strays.ends[i], 1, passed < PATIENCE_MS ? PATIENCE_MS - (int)passed : 0);
    close(strays.ends[i].fd);
  }
}
