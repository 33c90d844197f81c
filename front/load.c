/* The doors by which the HSA runtime comes in: HSA_TOOLS_LIB names this library. */
#include "front/copying.h"
#include "front/watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FRONT_EXPORT __attribute__((visibility("default")))

front_t front;
static pid_t loaded_in; /* the process that OnLoad() was called in; its children have no runtime */

FRONT_EXPORT bool OnLoad(table_root_t *root, uint64_t version, uint64_t failed_count,
                         const char *const *failed);
FRONT_EXPORT void OnUnload(void);

/* ---- Refusing ---- */

/* The call of hsa_init() that brought us here cannot be stopped from here; so what follows it
 * fails: no device is listed, and no queue is made. Later calls of hsa_init() fail, too. */
static char refusal[1024];

static hsa_status_t refuse_init(void)
{
  front_report("%s", refusal);
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

static hsa_status_t refuse_agents(hsa_status_t (*callback)(hsa_agent_t, void *), void *data)
{
  (void)callback, (void)data;
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

static hsa_status_t refuse_queue(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                                 void (*callback)(hsa_status_t, hsa_queue_t *, void *), void *data,
                                 uint32_t private_bytes, uint32_t group_bytes, hsa_queue_t **queue)
{
  (void)agent, (void)size, (void)type, (void)callback, (void)data, (void)private_bytes;
  (void)group_bytes;
  if (queue)
    *queue = NULL;
  return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

static const front_calls_t refusing = {
    .init = refuse_init, .iterate_agents = refuse_agents, .queue_create = refuse_queue};

static void refuse(const table_root_t *root, const rawhal_error_t *error)
{
  snprintf(refusal, sizeof(refusal), "%s", error->message);
  front_report("there is no device: %s", error->message);
  tables_refuse(root, &refusing);
}

/* ---- The end ---- */

/* Registered after the runtime's own handlers, and so called before them. */
static void at_exit(void)
{
  if (loaded_in != getpid())
    return;
  if (front.timed) {
    queues_end();
    copying_stop();
  }
  if (front.watched)
    watch_summary();
}

/* ---- Doors ---- */

static rawhal_status_t open_front(const table_root_t *root, rawhal_error_t *error)
{
  memset(&front, 0, sizeof(front));
  rawhal_status_t status = tables_read(root, &front.tables, &front.hsa, error);
  if (status == RAWHAL_OK)
    status = devices_clock(error);
  if (status == RAWHAL_OK)
    status = watch_open(error);
  return status == RAWHAL_OK ? devices_open(error) : status;
}

bool OnLoad(table_root_t *root, uint64_t version, uint64_t failed_count, const char *const *failed)
{
  static bool registered;
  (void)version, (void)failed_count, (void)failed;
  rawhal_error_t error;
  loaded_in = getpid();
  if (open_front(root, &error) != RAWHAL_OK) {
    watch_close();
    devices_close();
    if (error.status != RAWHAL_UNSUPPORTED || devices_limits_wanted() || watch_wanted())
      refuse(root, &error);
    return true;
  }
  if (front.limited) {
    memory_hooks(&front.hooks);
    code_hooks(&front.hooks);
  }
  if (front.timed) {
    queues_hooks(&front.hooks);
    copies_hooks(&front.hooks);
    if (!registered && atexit(at_exit) == 0)
      registered = true;
  }
  front.inner = front.hsa;
  calls_overlay(&front.inner, &front.hooks);
  if (front.watched) {
    objects_hooks(&front.hooks);
    watch_memory_hooks(&front.hooks);
  }
  tables_replace(&front.tables, &front.hooks);
  return true;
}

void OnUnload(void)
{
  if (loaded_in != getpid() || !(front.limited || front.watched))
    return;
  if (front.timed) {
    copying_forget();
    queues_forget();
  }
  tables_restore(&front.tables, &front.hooks);
  memory_forget();
  if (front.watched) {
    watch_summary();
    watch_close();
  }
  devices_close();
}
