#include "fleet/slurm/hooks.h"

#include <errno.h>
#include <fcntl.h>
#include <rawhal/limit.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fleet/slurm/account.h"
#include "fleet/slurm/allotment.h"
#include "fleet/slurm/gpus.h"
#include "fleet/slurm/regions.h"
#include "fleet/slurm/strays.h"
#include "fleet/slurm/tenants.h"

enum { LEAST_FD = 100 }; /* beyond those that shells and programs use by their numbers */

/* ---- What a job gets ---- */

static uint64_t part_of(uint64_t whole, const part_t *part)
{
  return whole / part->of * part->parts + whole % part->of * part->parts / part->of;
}

/* A user may ask for less than what was allotted. */
static rawhal_status_t wish_for(const char *option, const char *text, rawhal_limit_t limit,
                                const gpu_t *gpu, uint64_t *value, rawhal_error_t *error)
{
  const rawhal_limit_device_t device = {.memory_bytes = gpu->memory_bytes};
  char asked[32], given[32];
  uint64_t wanted;
  if (!text)
    return RAWHAL_OK;
  const rawhal_status_t status = rawhal_limit_parse(limit, text, &device, &wanted, error);
  if (status != RAWHAL_OK) {
    const rawhal_error_t reason = *error;
    return refuse(error, status, "--%s: %.500s", option, reason.message);
  }
  if (wanted <= *value) {
    *value = wanted;
    return RAWHAL_OK;
  }
  rawhal_limit_format(limit, wanted, asked, sizeof(asked));
  rawhal_limit_format(limit, *value, given, sizeof(given));
  return refuse(error, RAWHAL_QUOTA_EXCEEDED, "--%s=%s is more than what the job was allotted: %s",
                option, asked, given);
}

static rawhal_status_t fill(const settings_t *settings, const part_t *part, const wish_t *wish,
                            holding_t *holding, rawhal_error_t *error)
{
  if (part->gpu >= settings->gpu_count)
    return refuse(error, RAWHAL_NOT_FOUND,
                  "Slurm has given GPU %u, but this node has %u: do gres.conf and gpu= agree?",
                  part->gpu, settings->gpu_count);
  const gpu_t *gpu = &settings->gpus[part->gpu];
  *holding = (holding_t){.gpu = part->gpu,
                         .share_ppm = part_of(1000000, part),
                         .memory_bytes = part_of(gpu->memory_bytes, part)};
  snprintf(holding->device, sizeof(holding->device), "%s", gpu->name);
  rawhal_status_t status =
      wish_for("gpu-share", wish->share, RAWHAL_LIMIT_GPU_SHARE, gpu, &holding->share_ppm, error);
  if (status == RAWHAL_OK)
    status = wish_for("gpu-memory", wish->memory, RAWHAL_LIMIT_MEMORY, gpu, &holding->memory_bytes,
                      error);
  return status;
}

static rawhal_status_t reckon(settings_t *settings, const job_t *job, const wish_t *wish,
                              record_t *record, rawhal_error_t *error)
{
  allotment_t allotment;
  rawhal_status_t status = allotment_read(job->gres, settings->shards, &allotment, error);
  if (status == RAWHAL_OK && allotment.count)
    status = gpus_find(settings, error);
  for (uint32_t i = 0; status == RAWHAL_OK && i < allotment.count; ++i) {
    status = fill(settings, &allotment.parts[i], wish, &record->holdings[i], error);
    record->count = status == RAWHAL_OK ? i + 1 : 0;
  }
  if (status == RAWHAL_OK && !allotment.count && (wish->share || wish->memory))
    status =
        refuse(error, RAWHAL_QUOTA_EXCEEDED,
               "--gpu-share and --gpu-memory are for jobs with a part of a GPU: --gres=shard:N");
  return status;
}

/* ---- Who uses a GPU ---- */

typedef struct users {
  uint32_t gpu, but, count; /* but that job */
} users_t;

static void count_user(const settings_t *settings, const record_t *record, void *context)
{
  users_t *users = context;
  (void)settings;
  for (uint32_t i = 0; i < record->count && record->job != users->but; ++i)
    users->count += record->holdings[i].gpu == users->gpu;
}

static bool in_use(const settings_t *settings, uint32_t gpu, uint32_t but)
{
  users_t users = {.gpu = gpu, .but = but};
  records_visit(settings, count_user, &users);
  return users.count > 0;
}

/* ---- Ending ---- */

/* Processes of it are alive, or a member has the region's lock and does not give it back. */
static bool is_to_be_continued(rawhal_status_t status)
{
  return status == RAWHAL_WOULD_BLOCK || status == RAWHAL_TIMED_OUT;
}

/* If it is not to be continued nothing of it is left there, though what it had may not have been
 * written down. */
static rawhal_status_t end_holding(const settings_t *settings, const char *node,
                                   const record_t *record, const holding_t *holding,
                                   rawhal_error_t *error)
{
  int region;
  usage_t usage;
  rawhal_status_t status = regions_open(settings, holding->gpu, &region, error);
  if (status == RAWHAL_NOT_FOUND) /* processes may have it that nobody else knows of */
    status = regions_make(settings, holding->gpu, true, &region, error);
  if (status == RAWHAL_OK) {
    status = tenant_remove(region, record->tenant, holding, &usage, error);
    if (is_to_be_continued(status)) {
      strays_end(region, record, holding);
      status = tenant_remove(region, record->tenant, holding, &usage, error);
    }
    close(region);
  }
  if (status == RAWHAL_OK)
    return account_write(settings, node, record, holding, &usage, error);
  if (status != RAWHAL_NOT_FOUND || *record->refused) /* it never was there */
    return status == RAWHAL_NOT_FOUND ? RAWHAL_OK : status;
  status = account_write(settings, node, record, holding, NULL, error);
  return status != RAWHAL_OK
             ? status
             : refuse(error, RAWHAL_RUNTIME,
                      "what it had of GPU %u is not known: its region is gone", holding->gpu);
}

/* What is left of it is looked at again when another job begins or ends. */
static rawhal_status_t end_record(const settings_t *settings, const char *node,
                                  const record_t *record, rawhal_error_t *error)
{
  rawhal_error_t first = {0};
  record_t left = *record;
  left.ended = true;
  left.count = 0;
  for (uint32_t i = 0; i < record->count; ++i) {
    const rawhal_status_t status = end_holding(settings, node, record, &record->holdings[i], error);
    if (is_to_be_continued(status))
      left.holdings[left.count++] = record->holdings[i];
    if (status != RAWHAL_OK && first.status == RAWHAL_OK)
      first = *error;
  }
  if (!left.count)
    record_remove(settings, record->job);
  else if (record_write(settings, &left, error) != RAWHAL_OK && first.status == RAWHAL_OK)
    first = *error;
  for (uint32_t i = 0; i < record->count; ++i)
    if (!in_use(settings, record->holdings[i].gpu, UINT32_MAX))
      regions_end(settings, record->holdings[i].gpu);
  *error = first;
  return first.status;
}

typedef struct sweep {
  const char *node;
  bool stuck; /* at a lock, each try of which takes a second */
} sweep_t;

static void sweep_one(const settings_t *settings, const record_t *record, void *context)
{
  sweep_t *sweep = context;
  rawhal_error_t error;
  if (record->ended && !sweep->stuck) /* if a process of it still lives, the next one does it */
    sweep->stuck = end_record(settings, sweep->node, record, &error) == RAWHAL_TIMED_OUT;
}

rawhal_status_t job_ends(const settings_t *settings, const char *node, uint32_t id,
                         rawhal_error_t *error)
{
  int lock;
  record_t record;
  sweep_t sweep = {.node = node};
  rawhal_status_t status = node_lock(settings, &lock, error);
  if (status != RAWHAL_OK)
    return status;
  records_visit(settings, sweep_one, &sweep);
  status = record_read(settings, id, &record, error);
  if (status == RAWHAL_OK)
    status = end_record(settings, node, &record, error);
  node_unlock(lock);
  return status == RAWHAL_NOT_FOUND ? RAWHAL_OK : status;
}

/* ---- Beginning ---- */

static rawhal_status_t begin_holding(const settings_t *settings, const record_t *record,
                                     const holding_t *holding, rawhal_error_t *error)
{
  int region;
  rawhal_status_t status = regions_make(
      settings, holding->gpu, in_use(settings, holding->gpu, record->job), &region, error);
  if (status != RAWHAL_OK)
    return status;
  status = tenant_make(region, record->tenant, holding, error);
  close(region);
  return status;
}

/* The record first: whatever happens then, the epilog finds what was made. */
static rawhal_status_t begin(const settings_t *settings, record_t *record, bool *refused,
                             rawhal_error_t *error)
{
  rawhal_status_t status = record_write(settings, record, error);
  if (status != RAWHAL_OK)
    return status;
  for (uint32_t i = 0; status == RAWHAL_OK && i < record->count; ++i)
    status = begin_holding(settings, record, &record->holdings[i], error);
  if (status == RAWHAL_OK)
    return RAWHAL_OK;
  rawhal_error_t other;
  *refused = true;
  snprintf(record->refused, sizeof(record->refused), "%.500s", error->message);
  return record_write(settings, record, &other);
}

static rawhal_status_t locked_begin(const settings_t *settings, const char *node, record_t *record,
                                    bool *refused, rawhal_error_t *error)
{
  int lock;
  record_t earlier;
  rawhal_error_t other;
  sweep_t sweep = {.node = node};
  rawhal_status_t status = node_lock(settings, &lock, &other);
  if (status == RAWHAL_OK) {
    records_visit(settings, sweep_one, &sweep);
    status = record_read(settings, record->job, &earlier, &other);
  }
  if (status == RAWHAL_OK) /* it was requeued, and its epilog did not run */
    status = end_record(settings, node, &earlier, &other);
  if (status == RAWHAL_OK || status == RAWHAL_NOT_FOUND)
    status = begin(settings, record, refused, error);
  else
    *error = other;
  node_unlock(lock);
  return status;
}

rawhal_status_t job_begins(settings_t *settings, const char *node, const job_t *job,
                           const wish_t *wish, bool *refused, rawhal_error_t *error)
{
  record_t record = {.job = job->id, .user = job->user, .begun = (uint64_t)time(NULL)};
  snprintf(record.tenant, sizeof(record.tenant), "%s", job->tenant);
  *refused = reckon(settings, job, wish, &record, error) != RAWHAL_OK;
  if (*refused)
    snprintf(record.refused, sizeof(record.refused), "%.500s", error->message);
  else if (!record.count)
    return RAWHAL_OK;
  return locked_begin(settings, node, &record, refused, error);
}

rawhal_status_t job_refuse(const settings_t *settings, const char *node, uint32_t id,
                           const char *reason, rawhal_error_t *error)
{
  record_t record = {.job = id, .begun = (uint64_t)time(NULL)};
  bool refused = true;
  snprintf(record.tenant, sizeof(record.tenant), "slurm-%u", id);
  snprintf(record.refused, sizeof(record.refused), "%.500s", reason);
  return locked_begin(settings, node, &record, &refused, error);
}

/* ---- Tasks ---- */

static rawhal_status_t pass(const settings_t *settings, const holding_t *holding, task_t *task,
                            rawhal_error_t *error)
{
  int region;
  const rawhal_status_t status = regions_open(settings, holding->gpu, &region, error);
  if (status != RAWHAL_OK)
    return status;
  const int passed = fcntl(region, F_DUPFD, LEAST_FD);
  const int code = errno;
  close(region);
  if (passed < 0)
    return refuse(error, RAWHAL_RUNTIME, "passing a region on: %s", strerror(code));
  const size_t length = strlen(task->regions);
  snprintf(task->regions + length, sizeof(task->regions) - length, "%s%d",
           length ? "," : "fd:", passed);
  return RAWHAL_OK;
}

rawhal_status_t task_begins(const settings_t *settings, uint32_t job, task_t *task,
                            rawhal_error_t *error)
{
  record_t record;
  *task = (task_t){0};
  rawhal_status_t status = record_read(settings, job, &record, error);
  if (status == RAWHAL_OK && *record.refused)
    return refuse(error, RAWHAL_QUOTA_EXCEEDED, "%s", record.refused);
  for (uint32_t i = 0; status == RAWHAL_OK && i < record.count; ++i)
    status = pass(settings, &record.holdings[i], task, error);
  snprintf(task->tenant, sizeof(task->tenant), "%s", record.tenant);
  return status == RAWHAL_NOT_FOUND && record.count
             ? refuse(error, RAWHAL_RUNTIME, "a GPU of the job has no region on this node")
             : status;
}
