/* rawhal_spank.so: Slurm's hooks. The prolog makes a tenant of each job that was given GPUs or
 * shards of them, tasks get what leads to it, and the epilog removes it. */
#include <rawhal/limit.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fleet/slurm/environment.h"

#define EXPORTED __attribute__((visibility("default")))

/* What Slurm looks for: its macro would not say that they are seen from outside. */
EXPORTED extern const char plugin_name[], plugin_type[];
EXPORTED extern const unsigned int plugin_version, spank_plugin_version;
const char plugin_name[] = "rawhal";
const char plugin_type[] = "spank";
const unsigned int plugin_version = SLURM_VERSION_NUMBER;
const unsigned int spank_plugin_version = 1;

EXPORTED spank_f slurm_spank_init, slurm_spank_init_post_opt, slurm_spank_job_prolog,
    slurm_spank_job_epilog, slurm_spank_task_init_privileged;

/* ---- Options ---- */

static int check_option(rawhal_limit_t limit, const char *text, int remote)
{
  const rawhal_limit_device_t device = {.memory_bytes = UINT64_MAX / 2};
  rawhal_error_t error;
  uint64_t value;
  if (remote || rawhal_limit_parse(limit, text, &device, &value, &error) == RAWHAL_OK)
    return 0; /* the prolog reads it again, and knows the job */
  slurm_error("rawhal: %s", error.message);
  return -1;
}

static int check_share(int value, const char *text, int remote)
{
  (void)value;
  return check_option(RAWHAL_LIMIT_GPU_SHARE, text, remote);
}

static int check_memory(int value, const char *text, int remote)
{
  (void)value;
  return check_option(RAWHAL_LIMIT_MEMORY, text, remote);
}

static char share_name[] = "gpu-share", share_info[] = "PERCENT",
            share_usage[] = "device time of each GPU, at most; no more than was allotted",
            memory_name[] = "gpu-memory", memory_info[] = "BYTES",
            memory_usage[] = "memory of each GPU, at most; no more than was allotted";

static struct spank_option options[] = {
    {share_name, share_info, share_usage, 1, 0, check_share},
    {memory_name, memory_info, memory_usage, 1, 0, check_memory}};

/* A table of that name would be srun's alone: sbatch and salloc have what is registered. */
int slurm_spank_init(spank_t spank, int count, char *words[])
{
  (void)count;
  (void)words;
  if (spank_context() == S_CTX_SLURMD)
    return 0;
  for (size_t i = 0; i < sizeof(options) / sizeof(*options); ++i)
    if (spank_option_register(spank, &options[i]) != ESPANK_SUCCESS) {
      slurm_error("rawhal: --%s cannot be an option", options[i].name);
      return -1;
    }
  return 0;
}

static wish_t read_wish(spank_t spank)
{
  char *share = NULL, *memory = NULL;
  if (spank_option_getopt(spank, &options[0], &share) != ESPANK_SUCCESS)
    share = NULL;
  if (spank_option_getopt(spank, &options[1], &memory) != ESPANK_SUCCESS)
    memory = NULL;
  return (wish_t){.share = share, .memory = memory};
}

/* ---- What all hooks begin with ---- */

typedef struct call {
  spank_t spank;
  settings_t settings;
  const char *node;
  uint32_t job;
} call_t;

static rawhal_status_t begin_call(spank_t spank, int count, char **words, call_t *call,
                                  rawhal_error_t *error)
{
  const char *node = getenv("SLURMD_NODENAME");
  *call = (call_t){.spank = spank, .node = node ? node : ""};
  const rawhal_status_t status = settings_read(count, words, call->node, &call->settings, error);
  if (spank_get_item(spank, S_JOB_ID, &call->job) != ESPANK_SUCCESS)
    return refuse(error, RAWHAL_RUNTIME, "Slurm does not say which job this is");
  if (!*call->node)
    return refuse(error, RAWHAL_RUNTIME, "SLURMD_NODENAME is not set");
  return status;
}

/* ---- Prolog and epilog ---- */

static rawhal_status_t prolog(call_t *call, bool *refused, rawhal_error_t *error)
{
  const wish_t wish = read_wish(call->spank);
  job_t job;
  const rawhal_status_t status = job_ask(call->job, call->node, &job, error);
  return status == RAWHAL_OK ? job_begins(&call->settings, call->node, &job, &wish, refused, error)
                             : status;
}

/* Where a reason can be recorded the tasks say it; a prolog that fails drains the node. */
static int begin_job(call_t *call, rawhal_status_t status, rawhal_error_t *error)
{
  rawhal_error_t other;
  bool refused = false;
  if (status == RAWHAL_OK)
    status = prolog(call, &refused, error);
  if (status == RAWHAL_OK && !refused)
    return 0;
  slurm_error("rawhal: job %u: %s", call->job, error->message);
  if (call->settings.on_error == ON_ERROR_RUN)
    return 0;
  if (call->settings.on_error == ON_ERROR_DRAIN)
    return -1;
  if (status != RAWHAL_OK)
    status = job_refuse(&call->settings, call->node, call->job, error->message, &other);
  if (status == RAWHAL_OK)
    return 0;
  slurm_error("rawhal: job %u: %s", call->job, other.message);
  return -1;
}

int slurm_spank_job_prolog(spank_t spank, int count, char *words[])
{
  call_t call;
  rawhal_error_t error;
  return begin_job(&call, begin_call(spank, count, words, &call, &error), &error);
}

/* Whatever is wrong with the settings now, the job's tenants are removed. */
int slurm_spank_job_epilog(spank_t spank, int count, char *words[])
{
  call_t call;
  rawhal_error_t error, other;
  rawhal_status_t status = begin_call(spank, count, words, &call, &error);
  if (job_ends(&call.settings, call.node, call.job, &other) != RAWHAL_OK && status == RAWHAL_OK) {
    status = other.status;
    error = other;
  }
  if (status == RAWHAL_OK)
    return 0;
  slurm_error("rawhal: the end of job %u: %s", call.job, error.message);
  return call.settings.on_error == ON_ERROR_DRAIN ? -1 : 0;
}

/* ---- Tasks ---- */

/* Of a step that was given GPUs: Slurm sets these, and takes away what its user set. */
static bool has_gpus(spank_t spank)
{
  static const char *const signs[] = {"SLURM_SHARDS_ON_NODE", "SLURM_GPUS_ON_NODE"};
  char text[2];
  for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); ++i)
    if (spank_getenv(spank, signs[i], text, sizeof(text)) != ESPANK_ENV_NOEXIST)
      return true;
  return false;
}

static rawhal_status_t begin_task(call_t *call, rawhal_error_t *error)
{
  task_t task;
  const wish_t wish = read_wish(call->spank);
  rawhal_status_t status = task_begins(&call->settings, call->job, &task, error);
  if (status == RAWHAL_NOT_FOUND && !has_gpus(call->spank))
    return RAWHAL_OK;
  if (status == RAWHAL_OK)
    status = environment_set(call->spank, &call->settings, &task, &wish, error);
  return status;
}

/* slurmd runs no prolog for a job that it has seen lately, as one that is requeued and begins again
 * at once. What fails here the tasks say. */
int slurm_spank_init_post_opt(spank_t spank, int count, char *words[])
{
  call_t call;
  rawhal_error_t error;
  record_t record;
  if (spank_context() != S_CTX_REMOTE || !has_gpus(spank) ||
      begin_call(spank, count, words, &call, &error) != RAWHAL_OK)
    return 0;
  if (record_read(&call.settings, call.job, &record, &error) == RAWHAL_NOT_FOUND)
    (void)begin_job(&call, RAWHAL_OK, &error);
  return 0;
}

/* In the task's process, as root, with its stderr: no log is read as soon. */
static void say(const char *message)
{
  char line[1200];
  const int length = snprintf(line, sizeof(line), "rawhal: this job does not start: %s\n", message);
  if (write(STDERR_FILENO, line, (size_t)length) != length)
    slurm_error("rawhal: the job was not told");
}

int slurm_spank_task_init_privileged(spank_t spank, int count, char *words[])
{
  call_t call;
  rawhal_error_t error;
  rawhal_status_t status = begin_call(spank, count, words, &call, &error);
  if (status == RAWHAL_OK)
    status = begin_task(&call, &error);
  if (status == RAWHAL_OK)
    return 0;
  slurm_error("rawhal: job %u: %s", call.job, error.message);
  if (call.settings.on_error == ON_ERROR_RUN)
    return 0;
  say(error.message);
  return -1;
}
