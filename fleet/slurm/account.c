#include "fleet/slurm/account.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void format_time(uint64_t seconds, char text[32])
{
  const time_t at = (time_t)seconds;
  struct tm parts;
  if (!localtime_r(&at, &parts) || !strftime(text, 32, "%Y-%m-%dT%H:%M:%S", &parts))
    snprintf(text, 32, "Unknown");
}

static void format_usage(const usage_t *usage, char text[64])
{
  if (usage)
    snprintf(text, 64, "%" PRIu64 ".%06" PRIu64 "|%" PRIu64, usage->gpu_ns / 1000000000,
             usage->gpu_ns / 1000 % 1000000, usage->memory_peak);
  else
    snprintf(text, 64, "Unknown|Unknown");
}

/* JobID is squeue's: the tenant's name without what it begins with. */
static int format_line(const char *node, const record_t *record, const holding_t *holding,
                       const usage_t *usage, char *line, size_t size)
{
  char begun[32], ended[32], used[64];
  const char *dash = strchr(record->tenant, '-');
  format_time(record->begun, begun);
  format_time((uint64_t)time(NULL), ended);
  format_usage(usage, used);
  return snprintf(line, size, "%s|%u|%u|%s|%u|%s|%s|%s|%" PRIu64 ".%04" PRIu64 "|%" PRIu64 "|%s\n",
                  dash ? dash + 1 : record->tenant, record->job, record->user, node, holding->gpu,
                  holding->device, begun, ended, holding->share_ppm / 10000,
                  holding->share_ppm % 10000, holding->memory_bytes, used);
}

rawhal_status_t account_write(const settings_t *settings, const char *node, const record_t *record,
                              const holding_t *holding, const usage_t *usage, rawhal_error_t *error)
{
  static const char titles[] = "JobID|JobIDRaw|UID|Node|GPU|Device|Start|End|SharePercent|"
                               "MemoryQuota|DeviceSeconds|MemoryPeak\n";
  char line[1024];
  struct stat facts;
  if (!*settings->accounting)
    return RAWHAL_OK;
  const int fd = open(settings->accounting,
                      O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
  const int length = format_line(node, record, holding, usage, line, sizeof(line));
  bool written = fd >= 0 && fstat(fd, &facts) == 0 && length < (int)sizeof(line);
  if (written && facts.st_size == 0)
    written = write(fd, titles, sizeof(titles) - 1) == (ssize_t)sizeof(titles) - 1;
  written = written && write(fd, line, (size_t)length) == length;
  const int code = errno;
  if (fd >= 0)
    close(fd);
  return written ? RAWHAL_OK
                 : refuse(error, RAWHAL_RUNTIME, "writing %.300s: %s", settings->accounting,
                          strerror(code));
}
