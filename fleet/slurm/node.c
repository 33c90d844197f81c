#include "fleet/slurm/node.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static rawhal_status_t refuse_errno(rawhal_error_t *error, const char *what, const char *path)
{
  const int code = errno;
  return refuse(error, RAWHAL_RUNTIME, "%s %.300s: %s", what, path, strerror(code));
}

/* ---- The folder ---- */

static rawhal_status_t make_folders(const char *path, rawhal_error_t *error)
{
  char part[PATH_MAX];
  struct stat facts;
  snprintf(part, sizeof(part), "%s", path);
  for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    if (mkdir(part, 0755) && errno != EEXIST)
      return refuse_errno(error, "making the folder", part);
    *slash = '/';
  }
  if (mkdir(path, 0700) && errno != EEXIST)
    return refuse_errno(error, "making the folder", path);
  if (lstat(path, &facts))
    return refuse_errno(error, "looking at the folder", path);
  if (S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() && !(facts.st_mode & 077))
    return RAWHAL_OK;
  return refuse(error, RAWHAL_UNSUPPORTED,
                "%.300s must be a folder of user %u with mode 0700: it has user %u and mode %04o",
                path, (unsigned)geteuid(), (unsigned)facts.st_uid,
                (unsigned)facts.st_mode & 07777u);
}

/* What is being written. */
static void next_of(const settings_t *settings, char path[PATH_MAX])
{
  snprintf(path, PATH_MAX, "%s/next", settings->directory);
}

rawhal_status_t node_lock(const settings_t *settings, int *lock, rawhal_error_t *error)
{
  char path[PATH_MAX];
  const rawhal_status_t status = make_folders(settings->directory, error);
  *lock = -1;
  if (status != RAWHAL_OK)
    return status;
  snprintf(path, sizeof(path), "%s/lock", settings->directory);
  const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0)
    return refuse_errno(error, "opening", path);
  if (TEMP_FAILURE_RETRY(flock(fd, LOCK_EX))) {
    (void)refuse_errno(error, "locking", path);
    close(fd);
    return RAWHAL_RUNTIME;
  }
  next_of(settings, path);
  (void)unlink(path); /* of a hook that was killed */
  *lock = fd;
  return RAWHAL_OK;
}

void node_unlock(int lock)
{
  if (lock >= 0)
    close(lock);
}

bool node_write(const settings_t *settings, const char *path, node_put_t *put, const void *context)
{
  char next[PATH_MAX];
  next_of(settings, next);
  FILE *file = fopen(next, "we");
  if (!file)
    return false;
  const bool written = put(file, context);
  if (fclose(file) == 0 && written && rename(next, path) == 0)
    return true;
  const int code = errno;
  unlink(next);
  errno = code;
  return false;
}

/* ---- Records ---- */

static void path_of(const settings_t *settings, uint32_t job, char path[PATH_MAX])
{
  snprintf(path, PATH_MAX, "%s/job.%u", settings->directory, job);
}

static bool put(FILE *file, const void *context)
{
  const record_t *record = context;
  fprintf(file, "tenant %s\nuser %u\nbegun %" PRIu64 "\n", record->tenant, record->user,
          record->begun);
  for (uint32_t i = 0; i < record->count; ++i) {
    const holding_t *holding = &record->holdings[i];
    fprintf(file, "gpu %u %" PRIu64 " %" PRIu64 " %s\n", holding->gpu, holding->share_ppm,
            holding->memory_bytes, holding->device);
  }
  if (*record->refused)
    fprintf(file, "refused %s\n", record->refused);
  if (record->ended)
    fprintf(file, "ended\n");
  return !ferror(file);
}

rawhal_status_t record_write(const settings_t *settings, const record_t *record,
                             rawhal_error_t *error)
{
  char path[PATH_MAX];
  path_of(settings, record->job, path);
  return node_write(settings, path, put, record) ? RAWHAL_OK : refuse_errno(error, "writing", path);
}

static bool read_holding(const char *line, record_t *record)
{
  if (record->count == SLURM_GPUS)
    return false;
  holding_t *holding = &record->holdings[record->count++];
  return sscanf(line, "gpu %u %" SCNu64 " %" SCNu64 " %63[^\n]", &holding->gpu, &holding->share_ppm,
                &holding->memory_bytes, holding->device) == 4;
}

static bool read_line(const char *line, record_t *record)
{
  if (strncmp(line, "gpu ", 4) == 0)
    return read_holding(line, record);
  if (strcmp(line, "ended\n") == 0)
    return record->ended = true;
  return sscanf(line, "tenant %63[^\n]", record->tenant) == 1 ||
         sscanf(line, "user %u", &record->user) == 1 ||
         sscanf(line, "begun %" SCNu64, &record->begun) == 1 ||
         sscanf(line, "refused %511[^\n]", record->refused) == 1;
}

rawhal_status_t record_read(const settings_t *settings, uint32_t job, record_t *record,
                            rawhal_error_t *error)
{
  char path[PATH_MAX], line[REASON_BYTES + 64];
  bool good = true;
  *record = (record_t){.job = job};
  path_of(settings, job, path);
  FILE *file = fopen(path, "re");
  if (!file && errno == ENOENT)
    return refuse(error, RAWHAL_NOT_FOUND, "job %u has no record on this node", job);
  if (!file)
    return refuse_errno(error, "reading", path);
  while (good && fgets(line, sizeof(line), file))
    good = read_line(line, record);
  good = good && !ferror(file) && *record->tenant;
  (void)fclose(file);
  return good ? RAWHAL_OK : refuse(error, RAWHAL_MALFORMED, "%.300s is damaged", path);
}

void record_remove(const settings_t *settings, uint32_t job)
{
  char path[PATH_MAX];
  path_of(settings, job, path);
  unlink(path);
}

void records_visit(const settings_t *settings, record_visitor_t *visit, void *context)
{
  DIR *folder = opendir(settings->directory);
  for (const struct dirent *entry = folder ? readdir(folder) : NULL; entry;
       entry = readdir(folder)) {
    record_t record;
    rawhal_error_t error;
    char *end;
    if (strncmp(entry->d_name, "job.", 4) != 0)
      continue;
    const unsigned long job = strtoul(entry->d_name + 4, &end, 10);
    if (*end || job > UINT32_MAX ||
        record_read(settings, (uint32_t)job, &record, &error) != RAWHAL_OK)
      continue;
    visit(settings, &record, context);
  }
  if (folder)
    closedir(folder);
}
