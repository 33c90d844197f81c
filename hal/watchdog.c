/* librawhal's queues under RAWHAL_WATCHDOG. */
#include "hal/watchdog.h"

#include "hal/dump.h"
#include "hal/log.h"
#include "queue/fault.h"
#include "queue/hang.h"
#include "queue/snapshot.h"

#include <stdlib.h>

static watchdog_t watchdog = WATCHDOG_NONE;

static void dump(const queue_hang_t *hang)
{
  char said[DUMP_SAID];
  rawhal_error_t error = {0};
  if (queues_dump(&hal_cores, hang->queue, hang->message, -1, said, &error) == RAWHAL_OK)
    hal_log(RAWHAL_SEVERITY_ERROR, "%s", said);
  else if (*said)
    hal_log(RAWHAL_SEVERITY_ERROR, "%s", error.message);
}

/* A queue that is to fail has, and has told why. */
static void act(const queue_hang_t *hang)
{
  static const rawhal_fault_t fault = {.kind = RAWHAL_FAULT_TIME_LIMIT};
  if (hang->action < WATCHDOG_FAIL)
    hal_log(RAWHAL_SEVERITY_ERROR, "%s", hang->message);
  if (hang->action == WATCHDOG_DUMP)
    dump(hang);
  if (hang->action >= WATCHDOG_DEVICE)
    queue_fail_agent(hang->agent, RAWHAL_FAULT, &fault, hang->message);
  if (hang->action == WATCHDOG_ABORT)
    abort(); /* as RAWHAL_WATCHDOG asks for */
}

static void look(const watchdog_settings_t *settings, uint64_t now)
{
  queues_find_hangs(settings, now, act);
}

static bool has_front(const hal_runtime_t *runtime)
{
  uint32_t looks = 0;
  return runtime->device_count &&
         runtime->hsa.hsa_agent_get_info(runtime->devices->queue.agent,
                                         (hsa_agent_info_t)WATCHDOG_AGENT_INFO_FRONT,
                                         &looks) == HSA_STATUS_SUCCESS &&
         looks;
}

rawhal_status_t hal_watchdog_start(const hal_runtime_t *runtime, rawhal_error_t *error)
{
  watchdog_settings_t settings;
  const rawhal_status_t status = watchdog_read(&settings, error);
  return status == RAWHAL_OK && settings.limit && !has_front(runtime)
             ? watchdog_start(&watchdog, &settings, look, error)
             : status;
}

void hal_watchdog_stop(void)
{
  watchdog_stop(&watchdog);
}
