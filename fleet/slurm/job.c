#include "fleet/slurm/job.h"

#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_set(uint32_t number)
{
  return number && number != NO_VAL && number != INFINITE;
}

/* As squeue shows it. */
static void name_tenant(const job_info_t *from, job_t *job)
{
  char *to = job->tenant;
  if (is_set(from->array_job_id) && from->array_task_id != NO_VAL)
    snprintf(to, TENANT_NAME_BYTES, "slurm-%u_%u", from->array_job_id, from->array_task_id);
  else if (is_set(from->het_job_id))
    snprintf(to, TENANT_NAME_BYTES, "slurm-%u+%u", from->het_job_id, from->het_job_offset);
  else
    snprintf(to, TENANT_NAME_BYTES, "slurm-%u", from->job_id);
}

/* Where the node stands among the job's; -1: it is none of them. */
static int place_of(const char *nodes, const char *node)
{
  __auto_type list = slurm_hostlist_create(nodes); /* a pointer, or to one: by Slurm's version */
  if (!list)
    return -1;
  const int place = slurm_hostlist_find(list, node);
  slurm_hostlist_destroy(list);
  return place;
}

static rawhal_status_t take(const job_info_t *from, const char *node, job_t *job,
                            rawhal_error_t *error)
{
  const int place = from->nodes ? place_of(from->nodes, node) : -1;
  job->id = from->job_id;
  job->user = from->user_id;
  name_tenant(from, job);
  if (place < 0)
    return refuse(error, RAWHAL_NOT_FOUND, "Slurm's controller has job %u on '%.100s', not on %s",
                  from->job_id, from->nodes ? from->nodes : "", node);
  const char *gres = (uint32_t)place < from->gres_detail_cnt ? from->gres_detail_str[place] : NULL;
  if (gres && strlen(gres) >= sizeof(job->gres))
    return refuse(error, RAWHAL_UNSUPPORTED, "job %u has too many generic resources", from->job_id);
  snprintf(job->gres, sizeof(job->gres), "%s", gres ? gres : "");
  return RAWHAL_OK;
}

rawhal_status_t job_ask(uint32_t id, const char *node, job_t *job, rawhal_error_t *error)
{
  job_info_msg_t *answer = NULL;
  *job = (job_t){0};
  if (slurm_load_job(&answer, id, SHOW_DETAIL) || !answer)
    return refuse(error, RAWHAL_RUNTIME, "asking Slurm's controller for job %u: %s", id,
                  slurm_strerror(errno));
  rawhal_status_t status =
      refuse(error, RAWHAL_NOT_FOUND, "Slurm's controller does not know job %u", id);
  for (uint32_t i = 0; i < answer->record_count; ++i)
    if (answer->job_array[i].job_id == id)
      status = take(&answer->job_array[i], node, job, error);
  slurm_free_job_info_msg(answer);
  return status;
}
